//! Which plots a comparison is drawn in.

use crate::compare::Axis;
use crate::mutex::MutexEntry;
use crate::mutex::compare::costs::{Costs, Side};
use crate::mutex::compare::table::{busiest_traffic, heaviness, idlest_traffic, mean, traffic_name};
use crate::mutex::compare::{Book, Measured, Traffic};
use quorate_journal::metrics::Delay;

/// One plot.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) y: Axis,
    pub(super) over: Over,
    /// What the simulator says, if that can be compared with the book, and the longest of it.
    pub(super) simulated: Option<Reading>,
    pub(super) real: Option<Reading>,
    pub(super) book: Option<Formula>,
    /// Whether what has no line in the book is joined by one.
    pub(super) is_joined: bool,
}

/// What stands to the right.
#[derive(Clone, Copy)]
pub(super) enum Over {
    /// The sizes of groups, under one workload or all of them.
    Sizes(Option<Traffic>),
    /// The workloads in which everyone asks, in groups of one size.
    Loads(usize),
}

/// A figure of some runs, with the longest of what it is the mean of; nothing if they do not have it.
pub(super) type Reading = fn(&[&Side]) -> Option<(f64, f64)>;

/// What the book says.
pub(super) struct Formula {
    pub(super) value: fn(&Book, u64) -> Option<f64>,
    pub(super) text: fn(&MutexEntry) -> &'static str,
}

pub(super) fn panels(costs: &Costs) -> Vec<Panel> {
    let (idlest, busiest) = (idlest_traffic(costs), busiest_traffic(costs));
    let over_sizes = |title, traffic: Traffic| messages(title, &traffic_name(traffic), Over::Sizes(Some(traffic)));
    let mut panels = Vec::new();
    panels.extend(idlest.map(|traffic| over_sizes("Messages", traffic)));
    // What the book says need not be written down again.
    let others = [("Messages, saturated", busiest), ("Messages, contended by two", pair(costs))];
    let others = others.into_iter().filter(|(_, traffic)| *traffic != idlest);
    panels.extend(others.filter_map(|(title, traffic)| Some(over_sizes(title, traffic?).without_text())));
    if let Some(nodes) = middle(&costs.sizes).filter(|_| loads(costs).len() > 2) {
        panels.push(messages("Messages over load", &format!("{nodes} nodes"), Over::Loads(nodes)).without_text());
    }
    panels.extend([client(), sync(), overtaken()]);
    panels.extend(busiest.map(load));
    if costs.real.is_some() {
        panels.extend([real("Client delay, real", CLIENT, client_of), real("Sync delay, real", SYNC, sync_of)]);
    }
    panels
}

const CLIENT: &str = "from asking to entering when nobody else wants in";
const SYNC: &str = "from a leave to the next entry";

fn client_of(sides: &[&Side]) -> Option<(f64, f64)> {
    delay_of(sides, |measured| measured.client_delay)
}

fn sync_of(sides: &[&Side]) -> Option<(f64, f64)> {
    delay_of(sides, |measured| measured.sync_delay)
}

/// The mean of all runs, and the longest.
fn delay_of(sides: &[&Side], delay: fn(&Measured) -> Option<Delay>) -> Option<(f64, f64)> {
    let delays = || sides.iter().filter_map(|side| delay(&side.measured));
    Some((mean(delays())?, delays().map(|delay| delay.max).fold(0.0, f64::max)))
}

/// Two in turn, if that was measured and is not all that was.
fn pair(costs: &Costs) -> Option<Traffic> {
    costs.traffics.iter().copied().find(|traffic| *traffic == Traffic::Pair && costs.traffics.len() > 2)
}

/// The workloads in which everyone asks, more and more often.
pub(super) fn loads(costs: &Costs) -> Vec<Traffic> {
    let everyone = |traffic: &Traffic| match traffic {
        Traffic::Single | Traffic::Pair => false,
        Traffic::Random(_) | Traffic::All => true,
    };
    let mut loads: Vec<_> = costs.traffics.iter().copied().filter(everyone).collect();
    loads.sort_by_key(heaviness);
    loads
}

fn middle(sizes: &[usize]) -> Option<usize> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied()
}

impl Panel {
    fn without_text(mut self) -> Self {
        self.book = self.book.map(|law| Formula { text: |_| "", ..law });
        self
    }
}

fn messages(title: &str, when: &str, over: Over) -> Panel {
    let reading: Reading = |sides| {
        let messages = sides.first()?.measured.messages_per_entry?;
        Some((messages, messages))
    };
    Panel {
        title: title.into(),
        y: Axis::log(format!("messages an entry, {when}")),
        over,
        simulated: Some(reading),
        real: Some(reading),
        book: Some(Formula {
            value: |book, entries| book.total(entries).exact().map(|total| total as f64 / entries as f64),
            text: |entry| entry.facts.cost.messages,
        }),
        is_joined: true,
    }
}

fn client() -> Panel {
    Panel {
        title: "Client delay".into(),
        y: Axis { unit: "T", ..Axis::log(CLIENT) },
        over: Over::Sizes(None),
        simulated: Some(client_of),
        real: None,
        book: Some(Formula {
            value: |book, _| book.client_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.client,
        }),
        is_joined: true,
    }
}

fn sync() -> Panel {
    Panel {
        title: "Sync delay".into(),
        y: Axis { unit: "T", ..Axis::log(SYNC) },
        simulated: Some(sync_of),
        book: Some(Formula {
            value: |book, _| book.sync_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.sync,
        }),
        ..client()
    }
}

fn overtaken() -> Panel {
    let reading: Reading = |sides| {
        let most = sides.iter().map(|side| side.measured.overtaken_max).max()? as f64;
        Some((most, most))
    };
    Panel {
        title: "Overtaking".into(),
        y: Axis { shown: vec![0.0], ..Axis::log("the most later requests that went first") },
        over: Over::Sizes(None),
        simulated: Some(reading),
        real: Some(reading),
        book: None,
        is_joined: false,
    }
}

fn load(busiest: Traffic) -> Panel {
    let reading: Reading = |sides| {
        let share = 100.0 * sides.first()?.measured.busiest_share;
        Some((share, share))
    };
    Panel {
        title: "Load".into(),
        y: Axis {
            unit: "%",
            shown: vec![0.0, 100.0],
            ..Axis::linear(format!("the busiest node's share of messages, {}", traffic_name(busiest)))
        },
        over: Over::Sizes(Some(busiest)),
        simulated: Some(reading),
        real: Some(reading),
        book: None,
        is_joined: false,
    }
}

fn real(title: &str, what: &str, reading: Reading) -> Panel {
    Panel {
        title: title.into(),
        y: Axis { unit: "ms", shown: vec![0.0], ..Axis::linear(what) },
        over: Over::Sizes(None),
        simulated: None,
        real: Some(reading),
        book: None,
        is_joined: false,
    }
}
