//! A costs for people: who costs what in groups of every size, from idle to saturated, with the book beside it.

use super::costs::{Costs, Row, Side, World};
use super::{Book, Figure, Measured, OfferedLoad, Traffic};
use crate::compare::{BAD, Column, GOOD, Group, SAME, Section, Table, UNKNOWN};
use crate::figures::count;
use crate::mutex::MutexEntry;
use quorate_journal::metrics::Delay;

pub(super) fn tables(costs: &Costs) -> Vec<Table> {
    vec![Table::Blocks(messages(costs)), Table::Blocks(rest(costs))]
}

pub(super) fn conditions(costs: &Costs) -> String {
    let entries = count(costs.entries, "request");
    let real = costs.real.map(|links| format!(" · real: {} on loopback", links.name().to_uppercase()));
    format!("{entries} a run · seed {}{}", costs.seed, real.unwrap_or_default())
}

/// When nodes ask, in a few words.
pub(super) fn traffic_name(traffic: Traffic) -> String {
    match traffic {
        Traffic::Single => "one asks alone".into(),
        Traffic::Pair => "two in turn".into(),
        Traffic::Random(load) => format!("{}% load", load.in_percent()),
        Traffic::All => "all ask".into(),
    }
}

/// The workload that keeps the group busiest, in which it shows who does most of the work.
pub(super) fn busiest_traffic(costs: &Costs) -> Option<Traffic> {
    costs.traffics.iter().copied().max_by_key(heaviness)
}

/// The workload that leaves the group alone most.
pub(super) fn idlest_traffic(costs: &Costs) -> Option<Traffic> {
    costs.traffics.iter().copied().min_by_key(heaviness)
}

/// How busy a workload keeps the group.
pub(super) fn heaviness(traffic: &Traffic) -> (u8, Option<OfferedLoad>) {
    match traffic {
        Traffic::Single => (0, None),
        Traffic::Pair => (1, None),
        Traffic::Random(load) => (2, Some(*load)),
        Traffic::All => (3, None),
    }
}

/// Everything in one world that has to do with one algorithm.
struct Lane<'a> {
    costs: &'a Costs,
    entry: &'static MutexEntry,
    world: World,
}

impl<'a> Lane<'a> {
    fn rows(&self) -> impl Iterator<Item = (&'a Row, &'a Side)> + '_ {
        let own = self.costs.rows.iter().filter(|row| row.name() == self.entry.facts.profile.name);
        own.filter_map(|row| Some((row, row.side(self.world)?)))
    }

    fn at(&self, nodes: usize) -> impl Iterator<Item = (&'a Row, &'a Side)> + '_ {
        self.rows().filter(move |(row, _)| row.heat.nodes == nodes)
    }

    fn under(&self, traffic: Traffic) -> impl Iterator<Item = (&'a Row, &'a Side)> + '_ {
        self.rows().filter(move |(row, _)| row.heat.traffic == traffic)
    }

    /// How figures stand to the book's: the very same, within its bounds, neither, or nobody can say.
    fn mark(
        &self,
        traffic: Option<Traffic>,
        figures: &[Figure],
        is_exact: impl Fn(&Book, &Measured) -> Option<bool>,
    ) -> String {
        let rows: Vec<_> =
            self.rows().filter(|(row, _)| traffic.is_none_or(|traffic| row.heat.traffic == traffic)).collect();
        let judged = rows.iter().filter(|(row, side)| side.measured.is_exact(&row.book).is_some());
        let exact: Vec<_> = judged.filter_map(|(row, side)| is_exact(&row.book, &side.measured)).collect();
        let differs =
            |(_, side): &(&Row, &Side)| side.measured.differences.iter().any(|found| figures.contains(&found.figure));
        match &exact[..] {
            _ if rows.iter().any(differs) => BAD,
            [] => UNKNOWN,
            exact if exact.iter().all(|is_exact| *is_exact) => SAME,
            _ => GOOD,
        }
        .into()
    }
}

/// The worlds that there are, with what stands behind the name of what was measured there.
fn worlds(costs: &Costs) -> impl Iterator<Item = (World, &'static str)> + use<> {
    let real = costs.real.is_some().then_some((World::Real, " · real"));
    std::iter::once((World::Simulated, "")).chain(real)
}

fn lanes(costs: &Costs, world: World) -> Vec<Lane<'_>> {
    costs.contenders.iter().map(|entry| Lane { costs, entry, world }).collect()
}

fn names(costs: &Costs) -> Column {
    let names = costs.contenders.iter().map(|entry| entry.facts.profile.name.to_owned());
    Column::words("algorithm", names.collect())
}

fn book(costs: &Costs, text: fn(&MutexEntry) -> &'static str) -> Column {
    Column::words("book", costs.contenders.iter().map(|entry| text(entry).to_owned()).collect())
}

fn by_size(lanes: &[Lane<'_>], sizes: &[usize], cell: impl Fn(&Lane<'_>, usize) -> String) -> Vec<Column> {
    let column =
        |nodes: &usize| Column::figures(nodes.to_string(), lanes.iter().map(|lane| cell(lane, *nodes)).collect());
    sizes.iter().map(column).collect()
}

fn messages(costs: &Costs) -> Section {
    let mut groups = Vec::new();
    for traffic in costs.traffics.iter().copied() {
        for (world, suffix) in worlds(costs) {
            let lanes = lanes(costs, world);
            let cell = |lane: &Lane<'_>, nodes: usize| {
                let row = lane.under(traffic).find(|(row, _)| row.heat.nodes == nodes);
                row.and_then(|(_, side)| side.measured.messages_per_entry).map_or(UNKNOWN.into(), short)
            };
            let is_exact = |book: &Book, measured: &Measured| {
                measured.messages_per_entry.map(|_| book.total_in(world.delays(), measured.counted).exact().is_some())
            };
            let mark = |lane: &Lane<'_>| lane.mark(Some(traffic), &[Figure::Messages, Figure::OwnMessages], is_exact);
            groups.push(Group {
                name: format!("{}{suffix}", traffic_name(traffic)),
                figures: by_size(&lanes, &costs.sizes, cell),
                tail: vec![Column::words("", lanes.iter().map(mark).collect())],
                ..Group::default()
            });
        }
    }
    let stub = vec![names(costs), book(costs, |entry| entry.facts.cost.messages)];
    Section { title: "messages an entry", stub, groups }
}

fn rest(costs: &Costs) -> Section {
    let mut groups = Vec::new();
    for (world, suffix) in worlds(costs) {
        groups.push(delays(costs, world, &Wait { suffix, ..Wait::CLIENT }));
        groups.push(delays(costs, world, &Wait { suffix, ..Wait::SYNC }));
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
struct Wait {
    name: &'static str,
    suffix: &'static str,
    figure: Figure,
    measured: fn(&Measured) -> Option<Delay>,
    book: fn(&MutexEntry) -> &'static str,
    is_exact: fn(&Book, &Measured) -> Option<bool>,
}

impl Wait {
    const CLIENT: Self = Self {
        name: "client delay",
        suffix: "",
        figure: Figure::ClientDelay,
        measured: |measured| measured.client_delay,
        book: |entry| entry.facts.cost.client,
        is_exact: |book, measured| measured.client_delay.map(|_| book.client_delay.exact().is_some()),
    };
    const SYNC: Self = Self {
        name: "sync delay",
        suffix: "",
        figure: Figure::SyncDelay,
        measured: |measured| measured.sync_delay,
        book: |entry| entry.facts.cost.sync,
        is_exact: |book, measured| measured.sync_delay.map(|_| book.sync_delay.exact().is_some()),
    };
}

/// Delays have conditions of their own, so that they are the same under every workload in which these come about.
fn delays(costs: &Costs, world: World, wait: &Wait) -> Group {
    let lanes = lanes(costs, world);
    let cell = |lane: &Lane<'_>, nodes: usize| {
        let delays = lane.at(nodes).filter_map(|(_, side)| (wait.measured)(&side.measured));
        mean(delays).map_or(UNKNOWN.into(), short)
    };
    let mark = |lane: &Lane<'_>| lane.mark(None, &[wait.figure], wait.is_exact);
    let figures = by_size(&lanes, &costs.sizes, cell);
    let (unit, lead, tail) = match world {
        World::Simulated => {
            let marks = Column::words("", lanes.iter().map(mark).collect());
            ("T", vec![book(costs, wait.book)], vec![marks])
        }
        World::Real => ("ms", Vec::new(), Vec::new()),
    };
    Group { name: format!("{}, in {unit}{}", wait.name, wait.suffix), lead, figures, tail }
}

pub(super) fn mean(delays: impl Iterator<Item = Delay>) -> Option<f64> {
    let (samples, sum) = delays
        .fold((0, 0.0), |(samples, sum), delay| (samples + delay.samples, sum + delay.mean * delay.samples as f64));
    (samples > 0).then(|| sum / samples as f64)
}

fn overtaken(costs: &Costs, world: World, suffix: &str) -> Group {
    let cell = |lane: &Lane<'_>, nodes: usize| {
        let most = lane.at(nodes).map(|(_, side)| side.measured.overtaken_max).max();
        most.map_or(UNKNOWN.into(), |most| most.to_string())
    };
    let figures = by_size(&lanes(costs, world), &costs.sizes, cell);
    Group { name: format!("overtaken{suffix}"), figures, ..Group::default() }
}

fn busiest(costs: &Costs, world: World, suffix: &str) -> Group {
    let heaviest = busiest_traffic(costs);
    let cell = |lane: &Lane<'_>, nodes: usize| {
        let row = lane.at(nodes).find(|(row, _)| Some(row.heat.traffic) == heaviest);
        row.map_or(UNKNOWN.into(), |(_, side)| format!("{:.0}%", 100.0 * side.measured.busiest_share))
    };
    let figures = by_size(&lanes(costs, world), &costs.sizes, cell);
    let when = heaviest.map(traffic_name).unwrap_or_default();
    Group { name: format!("busiest, {when}{suffix}"), figures, ..Group::default() }
}

/// A figure in as few digits as tell it from its neighbours.
fn short(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

pub(super) fn notes(costs: &Costs) -> Vec<String> {
    let has_load = costs.traffics.iter().any(|traffic| matches!(traffic, Traffic::Random(_)));
    let has_keeper = costs.rows.iter().any(|row| row.book.keeper);
    let mut notes = vec![
        format!(
            "behind the figures: {SAME} exactly the book's   {GOOD} within its bounds   {BAD} neither   {UNKNOWN} nothing to judge"
        ),
        match costs.real {
            Some(_) => "T: one message time, 1 ms in the simulator; real delays are means in milliseconds".into(),
            None => "T: one message time, 1 ms in the simulator".into(),
        },
        "client: from asking to entering when nobody else wants in   sync: from a leave to the next entry".into(),
        "overtaken: the most later requests that went first   busiest: the busiest node's share of all messages".into(),
    ];
    if has_load {
        notes.push("10% load: somebody would be inside a tenth of the time if nobody ever had to wait".into());
    }
    if has_keeper {
        notes.push("own 0: entries of the coordinator itself cost nothing, and are counted apart".into());
    }
    notes.extend(costs.left_out.iter().map(|left_out| left_out.sentence()));
    notes
}
