//! Tables of costs for people: each algorithm in groups of every size, from idle to saturated,
//! beside the expected cost.

use super::costs::{Costs, Row, World, WorldResult};
use super::{ExpectedCost, Figure, Measured, OfferedLoad, Traffic};
use crate::compare::{BAD, Column, GOOD, Group, SAME, Section, Table, UNKNOWN};
use crate::figures::count;
use crate::mutex::MutexEntry;
use quorate_journal::metrics::Delay;

pub(super) fn tables(costs: &Costs) -> Vec<Table> {
    vec![Table::Blocks(messages(costs)), Table::Blocks(delays_and_load(costs))]
}

pub(super) fn conditions(costs: &Costs) -> String {
    let entries = count(costs.entries, "request");
    let real = costs.real.map(|links| format!(" · real: {} on loopback", links.name().to_uppercase()));
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
pub(super) fn busiest_traffic(costs: &Costs) -> Option<Traffic> {
    costs.traffics.iter().copied().max_by_key(heaviness)
}

/// The lightest workload.
pub(super) fn idlest_traffic(costs: &Costs) -> Option<Traffic> {
    costs.traffics.iter().copied().min_by_key(heaviness)
}

/// Orders workloads by load.
pub(super) fn heaviness(traffic: &Traffic) -> (u8, Option<OfferedLoad>) {
    match traffic {
        Traffic::Single => (0, None),
        Traffic::Pair => (1, None),
        Traffic::Random(load) => (2, Some(*load)),
        Traffic::All => (3, None),
    }
}

/// All results of one algorithm in one environment.
struct AlgorithmResults<'a> {
    costs: &'a Costs,
    entry: &'static MutexEntry,
    world: World,
}

impl<'a> AlgorithmResults<'a> {
    fn rows(&self) -> impl Iterator<Item = (&'a Row, &'a WorldResult)> + '_ {
        let rows = self.costs.rows.iter().filter(|row| row.name() == self.entry.facts.profile.name);
        rows.filter_map(|row| Some((row, row.result(self.world)?)))
    }

    fn with_size(&self, nodes: usize) -> impl Iterator<Item = (&'a Row, &'a WorldResult)> + '_ {
        self.rows().filter(move |(row, _)| row.case.nodes == nodes)
    }

    fn with_traffic(&self, traffic: Traffic) -> impl Iterator<Item = (&'a Row, &'a WorldResult)> + '_ {
        self.rows().filter(move |(row, _)| row.case.traffic == traffic)
    }

    /// How the figures compare with the expected ones: equal, within bounds, different, or not
    /// judged.
    fn mark(
        &self,
        traffic: Option<Traffic>,
        figures: &[Figure],
        is_exact: impl Fn(&ExpectedCost, &Measured) -> Option<bool>,
    ) -> String {
        let rows: Vec<_> =
            self.rows().filter(|(row, _)| traffic.is_none_or(|traffic| row.case.traffic == traffic)).collect();
        let judged = rows.iter().filter(|(row, result)| result.measured.is_exact(&row.expected).is_some());
        let exact: Vec<_> = judged.filter_map(|(row, result)| is_exact(&row.expected, &result.measured)).collect();
        let differs = |(_, result): &(&Row, &WorldResult)| {
            result.measured.differences.iter().any(|found| figures.contains(&found.figure))
        };
        match &exact[..] {
            _ if rows.iter().any(differs) => BAD,
            [] => UNKNOWN,
            exact if exact.iter().all(|is_exact| *is_exact) => SAME,
            _ => GOOD,
        }
        .into()
    }
}

/// The measured environments, with the suffix of their columns.
fn worlds(costs: &Costs) -> impl Iterator<Item = (World, &'static str)> + use<> {
    let real = costs.real.is_some().then_some((World::Real, " · real"));
    std::iter::once((World::Simulated, "")).chain(real)
}

fn algorithms(costs: &Costs, world: World) -> Vec<AlgorithmResults<'_>> {
    costs.contenders.iter().map(|entry| AlgorithmResults { costs, entry, world }).collect()
}

fn names(costs: &Costs) -> Column {
    let names = costs.contenders.iter().map(|entry| entry.facts.profile.name.to_owned());
    Column::words("algorithm", names.collect())
}

fn expected(costs: &Costs, text: fn(&MutexEntry) -> &'static str) -> Column {
    Column::words("expected", costs.contenders.iter().map(|entry| text(entry).to_owned()).collect())
}

fn by_size(
    algorithms: &[AlgorithmResults<'_>],
    sizes: &[usize],
    cell: impl Fn(&AlgorithmResults<'_>, usize) -> String,
) -> Vec<Column> {
    let column = |nodes: &usize| {
        Column::figures(nodes.to_string(), algorithms.iter().map(|algorithm| cell(algorithm, *nodes)).collect())
    };
    sizes.iter().map(column).collect()
}

fn messages(costs: &Costs) -> Section {
    let mut groups = Vec::new();
    for traffic in costs.traffics.iter().copied() {
        for (world, suffix) in worlds(costs) {
            let algorithms = algorithms(costs, world);
            let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
                let row = algorithm.with_traffic(traffic).find(|(row, _)| row.case.nodes == nodes);
                row.and_then(|(_, result)| result.measured.messages_per_entry).map_or(UNKNOWN.into(), format_short)
            };
            let is_exact = |expected: &ExpectedCost, measured: &Measured| {
                measured
                    .messages_per_entry
                    .map(|_| expected.total_in(world.delays(), measured.counted).exact().is_some())
            };
            let mark = |algorithm: &AlgorithmResults<'_>| {
                algorithm.mark(Some(traffic), &[Figure::Messages, Figure::OwnMessages], is_exact)
            };
            groups.push(Group {
                name: format!("{}{suffix}", traffic_name(traffic)),
                figures: by_size(&algorithms, &costs.sizes, cell),
                tail: vec![Column::words("", algorithms.iter().map(mark).collect())],
                ..Group::default()
            });
        }
    }
    let stub = vec![names(costs), expected(costs, |entry| entry.facts.cost.messages)];
    Section { title: "messages per entry", stub, groups }
}

fn delays_and_load(costs: &Costs) -> Section {
    let mut groups = Vec::new();
    for (world, suffix) in worlds(costs) {
        groups.push(delays(costs, world, &DelayKind { suffix, ..DelayKind::CLIENT }));
        groups.push(delays(costs, world, &DelayKind { suffix, ..DelayKind::SYNC }));
    }
    for (world, suffix) in worlds(costs) {
        groups.push(overtaken(costs, world, suffix));
        groups.push(busiest(costs, world, suffix));
    }
    let holds = |entry: &&'static MutexEntry| {
        let mut rows = costs.rows.iter().filter(|row| row.name() == entry.facts.profile.name);
        if rows.all(Row::holds) { GOOD.into() } else { BAD.into() }
    };
    let holds = costs.contenders.iter().map(holds).collect();
    groups.push(Group { lead: vec![Column::figures("holds", holds)], ..Group::default() });
    Section { title: "delays, fairness, load", stub: vec![names(costs)], groups }
}

/// A kind of delay.
struct DelayKind {
    name: &'static str,
    suffix: &'static str,
    figure: Figure,
    measured: fn(&Measured) -> Option<Delay>,
    expected: fn(&MutexEntry) -> &'static str,
    is_exact: fn(&ExpectedCost, &Measured) -> Option<bool>,
}

impl DelayKind {
    const CLIENT: Self = Self {
        name: "client delay",
        suffix: "",
        figure: Figure::ClientDelay,
        measured: |measured| measured.client_delay,
        expected: |entry| entry.facts.cost.client,
        is_exact: |expected, measured| measured.client_delay.map(|_| expected.client_delay.exact().is_some()),
    };
    const SYNC: Self = Self {
        name: "sync delay",
        suffix: "",
        figure: Figure::SyncDelay,
        measured: |measured| measured.sync_delay,
        expected: |entry| entry.facts.cost.sync,
        is_exact: |expected, measured| measured.sync_delay.map(|_| expected.sync_delay.exact().is_some()),
    };
}

/// Delays are measured only under specific conditions, so they are the same under every workload
/// that meets these.
fn delays(costs: &Costs, world: World, kind: &DelayKind) -> Group {
    let algorithms = algorithms(costs, world);
    let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
        let delays = algorithm.with_size(nodes).filter_map(|(_, result)| (kind.measured)(&result.measured));
        mean(delays).map_or(UNKNOWN.into(), format_short)
    };
    let mark = |algorithm: &AlgorithmResults<'_>| algorithm.mark(None, &[kind.figure], kind.is_exact);
    let figures = by_size(&algorithms, &costs.sizes, cell);
    let (unit, lead, tail) = match world {
        World::Simulated => {
            let marks = Column::words("", algorithms.iter().map(mark).collect());
            ("T", vec![expected(costs, kind.expected)], vec![marks])
        }
        World::Real => ("ms", Vec::new(), Vec::new()),
    };
    Group { name: format!("{}, in {unit}{}", kind.name, kind.suffix), lead, figures, tail }
}

pub(super) fn mean(delays: impl Iterator<Item = Delay>) -> Option<f64> {
    let (samples, sum) = delays
        .fold((0, 0.0), |(samples, sum), delay| (samples + delay.samples, sum + delay.mean * delay.samples as f64));
    (samples > 0).then(|| sum / samples as f64)
}

fn overtaken(costs: &Costs, world: World, suffix: &str) -> Group {
    let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
        let maximum = algorithm.with_size(nodes).map(|(_, result)| result.measured.overtaken_max).max();
        maximum.map_or(UNKNOWN.into(), |maximum| maximum.to_string())
    };
    let figures = by_size(&algorithms(costs, world), &costs.sizes, cell);
    Group { name: format!("overtaken{suffix}"), figures, ..Group::default() }
}

fn busiest(costs: &Costs, world: World, suffix: &str) -> Group {
    let heaviest = busiest_traffic(costs);
    let cell = |algorithm: &AlgorithmResults<'_>, nodes: usize| {
        let row = algorithm.with_size(nodes).find(|(row, _)| Some(row.case.traffic) == heaviest);
        row.map_or(UNKNOWN.into(), |(_, result)| format!("{:.0}%", 100.0 * result.measured.busiest_share))
    };
    let figures = by_size(&algorithms(costs, world), &costs.sizes, cell);
    let when = heaviest.map(traffic_name).unwrap_or_default();
    Group { name: format!("busiest, {when}{suffix}"), figures, ..Group::default() }
}

/// Formats a figure with as few digits as distinguish it from its neighbours.
fn format_short(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

pub(super) fn notes(costs: &Costs) -> Vec<String> {
    let has_load = costs.traffics.iter().any(|traffic| matches!(traffic, Traffic::Random(_)));
    let has_coordinator = costs.rows.iter().any(|row| row.expected.has_coordinator);
    let mut notes = vec![
        format!(
            "after the figures: {SAME} exactly as expected   {GOOD} within the expected bounds   {BAD} unexpected   {UNKNOWN} not judged"
        ),
        match costs.real {
            Some(_) => "T: one message time, 1 ms in the simulator; real delays are means in milliseconds".into(),
            None => "T: one message time, 1 ms in the simulator".into(),
        },
        "client: from request to entry, without contention   sync: from a release to the next entry".into(),
        "overtaken: most later requests granted first   busiest: the busiest node's share of all messages".into(),
    ];
    if has_load {
        notes.push("10% load: without waiting, the lock would be held a tenth of the time".into());
    }
    if has_coordinator {
        notes.push("own 0: the coordinator's own entries cost nothing, and are counted separately".into());
    }
    notes.extend(costs.left_out.iter().map(|left_out| left_out.sentence()));
    notes
}
