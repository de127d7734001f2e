//! Tables of costs for people: each algorithm in groups of every size, from idle to saturated,
//! beside the expected cost.

use super::costs::{CostComparison, CostRow, RunKind, RunResult};
use super::{ExpectedCost, Figure, Measured, OfferedLoad, Traffic};
use crate::compare::{Column, ColumnGroup, GroupedTable, MARK_CORRECT, MARK_EQUAL, MARK_NOT_JUDGED, MARK_WRONG, Table};
use crate::figures::format_count;
use crate::mutex::MutexEntry;
use quorate_journal::metrics::Delay;

pub(super) fn tables(costs: &CostComparison) -> Vec<Table> {
    vec![Table::Grouped(messages_table(costs)), Table::Grouped(delays_and_load_table(costs))]
}

pub(super) fn conditions(costs: &CostComparison) -> String {
    let entries = format_count(costs.entries, "request");
    let real = costs.process_links.map(|links| format!(" · real: {} on loopback", links.name().to_uppercase()));
    format!("{entries} a run · seed {}{}", costs.seed, real.unwrap_or_default())
}

/// Describes a workload in a few words.
pub(super) fn traffic_name(traffic: Traffic) -> String {
    match traffic {
        Traffic::Single => "single requester".into(),
        Traffic::Pair => "two alternate".into(),
        Traffic::Random(load) => format!("{}% load", load.in_percent()),
        Traffic::All => "all request".into(),
    }
}

/// The heaviest workload, which shows the busiest node best.
pub(super) fn heaviest_traffic(costs: &CostComparison) -> Option<Traffic> {
    costs.traffics.iter().copied().max_by_key(heaviness)
}

pub(super) fn lightest_traffic(costs: &CostComparison) -> Option<Traffic> {
    costs.traffics.iter().copied().min_by_key(heaviness)
}

/// Returns a key that orders workloads by load.
pub(super) fn heaviness(traffic: &Traffic) -> (u8, Option<OfferedLoad>) {
    match traffic {
        Traffic::Single => (0, None),
        Traffic::Pair => (1, None),
        Traffic::Random(load) => (2, Some(*load)),
        Traffic::All => (3, None),
    }
}

/// All results of one algorithm in one kind of run.
struct AlgorithmResults<'a> {
    costs: &'a CostComparison,
    algorithm: &'static MutexEntry,
    kind: RunKind,
}

impl<'a> AlgorithmResults<'a> {
    fn rows(&self) -> impl Iterator<Item = (&'a CostRow, &'a RunResult)> + '_ {
        let rows = self.costs.rows.iter().filter(|row| row.name() == self.algorithm.facts.profile.name);
        rows.filter_map(|row| Some((row, row.result(self.kind)?)))
    }

    fn with_size(&self, nodes: usize) -> impl Iterator<Item = (&'a CostRow, &'a RunResult)> + '_ {
        self.rows().filter(move |(row, _)| row.case.nodes == nodes)
    }

    fn with_traffic(&self, traffic: Traffic) -> impl Iterator<Item = (&'a CostRow, &'a RunResult)> + '_ {
        self.rows().filter(move |(row, _)| row.case.traffic == traffic)
    }

    /// How the figures compare with the expected ones: equal, within bounds, different, or not
    /// judged. `expects_one_value` says whether the expected figure is a single value rather than a
    /// range; it returns `None` if the run did not measure the figure.
    fn mark(
        &self,
        traffic: Option<Traffic>,
        figures: &[Figure],
        expects_one_value: impl Fn(&ExpectedCost, &Measured) -> Option<bool>,
    ) -> String {
        let rows: Vec<_> =
            self.rows().filter(|(row, _)| traffic.is_none_or(|traffic| row.case.traffic == traffic)).collect();
        let judged = rows.iter().filter(|(row, result)| result.measured.is_as_expected(&row.expected).is_some());
        let have_one_value: Vec<_> =
            judged.filter_map(|(row, result)| expects_one_value(&row.expected, &result.measured)).collect();
        let differs = |(_, result): &(&CostRow, &RunResult)| {
            result.measured.differences.iter().any(|found| figures.contains(&found.figure))
        };
        match &have_one_value[..] {
            _ if rows.iter().any(differs) => MARK_WRONG,
            [] => MARK_NOT_JUDGED,
            have_one_value if have_one_value.iter().all(|has_one_value| *has_one_value) => MARK_EQUAL,
            _ => MARK_CORRECT,
        }
        .into()
    }
}

/// The kinds of runs that were measured, with the suffix of their columns.
fn run_kinds(costs: &CostComparison) -> impl Iterator<Item = (RunKind, &'static str)> + use<> {
    let real = costs.process_links.is_some().then_some((RunKind::Real, " · real"));
    std::iter::once((RunKind::Simulated, "")).chain(real)
}

fn results_by_algorithm(costs: &CostComparison, kind: RunKind) -> Vec<AlgorithmResults<'_>> {
    costs.algorithms.iter().map(|algorithm| AlgorithmResults { costs, algorithm, kind }).collect()
}

fn names_column(costs: &CostComparison) -> Column {
    let names = costs.algorithms.iter().map(|entry| entry.facts.profile.name.to_owned());
    Column::words("algorithm", names.collect())
}

fn expected_column(costs: &CostComparison, text: fn(&MutexEntry) -> &'static str) -> Column {
    Column::words("expected", costs.algorithms.iter().map(|entry| text(entry).to_owned()).collect())
}

fn columns_by_size(
    algorithms: &[AlgorithmResults<'_>],
    sizes: &[usize],
    cell: impl Fn(&AlgorithmResults<'_>, usize) -> String,
) -> Vec<Column> {
    let column = |nodes: &usize| {
        Column::figures(nodes.to_string(), algorithms.iter().map(|algorithm| cell(algorithm, *nodes)).collect())
    };
    sizes.iter().map(column).collect()
}

fn messages_table(costs: &CostComparison) -> GroupedTable {
    let mut groups = Vec::new();
    for traffic in costs.traffics.iter().copied() {
        for (kind, suffix) in run_kinds(costs) {
            let algorithms = results_by_algorithm(costs, kind);
            let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
                let row = algorithm.with_traffic(traffic).find(|(row, _)| row.case.nodes == nodes);
                row.and_then(|(_, result)| result.measured.messages_per_entry)
                    .map_or(MARK_NOT_JUDGED.into(), format_short)
            };
            let expects_one_value = |expected: &ExpectedCost, measured: &Measured| {
                measured
                    .messages_per_entry
                    .map(|_| expected.total_messages_in(kind.delay_unit(), measured.counted_entries).exact().is_some())
            };
            let mark = |algorithm: &AlgorithmResults<'_>| {
                algorithm.mark(Some(traffic), &[Figure::Messages, Figure::CoordinatorMessages], expects_one_value)
            };
            groups.push(ColumnGroup {
                name: format!("{}{suffix}", traffic_name(traffic)),
                figures: columns_by_size(&algorithms, &costs.sizes, cell),
                tail: vec![Column::words("", algorithms.iter().map(mark).collect())],
                ..ColumnGroup::default()
            });
        }
    }
    let stub = vec![names_column(costs), expected_column(costs, |entry| entry.facts.cost.messages_formula)];
    GroupedTable { title: "messages per entry", stub, groups }
}

fn delays_and_load_table(costs: &CostComparison) -> GroupedTable {
    let mut groups = Vec::new();
    for (kind, suffix) in run_kinds(costs) {
        groups.push(delay_columns(costs, kind, &DelayKind { suffix, ..DelayKind::CLIENT }));
        groups.push(delay_columns(costs, kind, &DelayKind { suffix, ..DelayKind::SYNC }));
    }
    for (kind, suffix) in run_kinds(costs) {
        groups.push(overtaken_columns(costs, kind, suffix));
        groups.push(busiest_node_columns(costs, kind, suffix));
    }
    let holds = |entry: &&'static MutexEntry| {
        let mut rows = costs.rows.iter().filter(|row| row.name() == entry.facts.profile.name);
        if rows.all(CostRow::holds) { MARK_CORRECT.into() } else { MARK_WRONG.into() }
    };
    let holds = costs.algorithms.iter().map(holds).collect();
    groups.push(ColumnGroup { lead: vec![Column::figures("holds", holds)], ..ColumnGroup::default() });
    GroupedTable { title: "delays, fairness, load", stub: vec![names_column(costs)], groups }
}

/// A kind of delay.
struct DelayKind {
    name: &'static str,
    suffix: &'static str,
    figure: Figure,
    measured: fn(&Measured) -> Option<Delay>,
    expected: fn(&MutexEntry) -> &'static str,
    /// Whether the expected delay is a single value; `None` if the run did not measure the delay.
    expects_one_value: fn(&ExpectedCost, &Measured) -> Option<bool>,
}

impl DelayKind {
    const CLIENT: Self = Self {
        name: "client delay",
        suffix: "",
        figure: Figure::ClientDelay,
        measured: |measured| measured.client_delay,
        expected: |entry| entry.facts.cost.client_delay_formula,
        expects_one_value: |expected, measured| measured.client_delay.map(|_| expected.client_delay.exact().is_some()),
    };
    const SYNC: Self = Self {
        name: "sync delay",
        suffix: "",
        figure: Figure::SyncDelay,
        measured: |measured| measured.sync_delay,
        expected: |entry| entry.facts.cost.sync_delay_formula,
        expects_one_value: |expected, measured| measured.sync_delay.map(|_| expected.sync_delay.exact().is_some()),
    };
}

/// A delay is measured only under specific conditions, whatever the workload, so one column
/// combines the runs of all workloads.
fn delay_columns(costs: &CostComparison, run_kind: RunKind, delay_kind: &DelayKind) -> ColumnGroup {
    let algorithms = results_by_algorithm(costs, run_kind);
    let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
        let delays = algorithm.with_size(nodes).filter_map(|(_, result)| (delay_kind.measured)(&result.measured));
        mean(delays).map_or(MARK_NOT_JUDGED.into(), format_short)
    };
    let mark =
        |algorithm: &AlgorithmResults<'_>| algorithm.mark(None, &[delay_kind.figure], delay_kind.expects_one_value);
    let figures = columns_by_size(&algorithms, &costs.sizes, cell);
    let (unit, lead, tail) = match run_kind {
        RunKind::Simulated => {
            let marks = Column::words("", algorithms.iter().map(mark).collect());
            ("T", vec![expected_column(costs, delay_kind.expected)], vec![marks])
        }
        RunKind::Real => ("ms", Vec::new(), Vec::new()),
    };
    ColumnGroup { name: format!("{}, in {unit}{}", delay_kind.name, delay_kind.suffix), lead, figures, tail }
}

pub(super) fn mean(delays: impl Iterator<Item = Delay>) -> Option<f64> {
    let (samples, sum) = delays
        .fold((0, 0.0), |(samples, sum), delay| (samples + delay.samples, sum + delay.mean * delay.samples as f64));
    (samples > 0).then(|| sum / samples as f64)
}

fn overtaken_columns(costs: &CostComparison, kind: RunKind, suffix: &str) -> ColumnGroup {
    let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
        let maximum = algorithm.with_size(nodes).map(|(_, result)| result.measured.max_overtaken).max();
        maximum.map_or(MARK_NOT_JUDGED.into(), |maximum| maximum.to_string())
    };
    let figures = columns_by_size(&results_by_algorithm(costs, kind), &costs.sizes, cell);
    ColumnGroup { name: format!("overtaken{suffix}"), figures, ..ColumnGroup::default() }
}

fn busiest_node_columns(costs: &CostComparison, kind: RunKind, suffix: &str) -> ColumnGroup {
    let heaviest = heaviest_traffic(costs);
    let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
        let row = algorithm.with_size(nodes).find(|(row, _)| Some(row.case.traffic) == heaviest);
        row.map_or(MARK_NOT_JUDGED.into(), |(_, result)| format!("{:.0}%", 100.0 * result.measured.busiest_share))
    };
    let figures = columns_by_size(&results_by_algorithm(costs, kind), &costs.sizes, cell);
    let when = heaviest.map(traffic_name).unwrap_or_default();
    ColumnGroup { name: format!("busiest, {when}{suffix}"), figures, ..ColumnGroup::default() }
}

/// Formats a whole figure without decimals, and any other with about three significant digits.
fn format_short(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

pub(super) fn notes(costs: &CostComparison) -> Vec<String> {
    let has_load = costs.traffics.iter().any(|traffic| matches!(traffic, Traffic::Random(_)));
    let has_coordinator = costs.rows.iter().any(|row| row.expected.has_coordinator);
    let mut notes = vec![
        format!(
            "after the figures: {MARK_EQUAL} exactly as expected   {MARK_CORRECT} within the expected bounds   \
             {MARK_WRONG} unexpected   {MARK_NOT_JUDGED} not judged"
        ),
        match costs.process_links {
            Some(_) => "T: one message time, 1 ms in the simulator; real delays are means in milliseconds".into(),
            None => "T: one message time, 1 ms in the simulator".into(),
        },
        "client: from request to entry, without contention   sync: from a release to the next entry".into(),
        "overtaken: maximum number of later requests granted first   busiest: the busiest node's share of all messages"
            .into(),
    ];
    if has_load {
        notes.push("10% load: without waiting, the lock would be held a tenth of the time".into());
    }
    if has_coordinator {
        notes.push("own 0: the coordinator's own entries cost nothing, and are counted separately".into());
    }
    notes.extend(costs.unsupported_sizes.iter().map(|unsupported| unsupported.to_sentence()));
    notes
}
