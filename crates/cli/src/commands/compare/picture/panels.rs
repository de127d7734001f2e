//! Which plots a comparison is drawn in.

use super::super::table::{busiest_traffic, heaviness, idlest_traffic, mean, traffic_name};
use super::super::{Comparison, Side};
use crate::args::Plan;
use quorate_draw::plot::Axis;
use quorate_journal::metrics::Delay;
use quorate_lab::compare::{Book, Measured, Traffic};
use quorate_lab::mutex::MutexEntry;

/// One plot.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) y: Axis,
    pub(super) over: Over,
    /// What the simulator says, if that can be compared with the book, and the longest of it.
    pub(super) simulated: Option<Reading>,
    /// What real processes say.
    pub(super) real: Option<Reading>,
    pub(super) book: Option<Law>,
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
pub(super) struct Law {
    pub(super) value: fn(&Book, u64) -> Option<f64>,
    /// As the book writes it.
    pub(super) text: fn(&MutexEntry) -> &'static str,
}

pub(super) fn panels(comparison: &Comparison<'_>) -> Vec<Panel> {
    let plan = comparison.plan;
    let (idlest, busiest) = (idlest_traffic(comparison), busiest_traffic(comparison));
    let over_sizes = |title, traffic: Traffic| messages(title, &traffic_name(traffic), Over::Sizes(Some(traffic)));
    let mut panels = Vec::new();
    panels.extend(idlest.map(|traffic| over_sizes("Messages", traffic)));
    // What the book says need not be written down again.
    let others = [("Messages, saturated", busiest), ("Messages, contended by two", pair(plan))];
    let others = others.into_iter().filter(|(_, traffic)| *traffic != idlest);
    panels.extend(others.filter_map(|(title, traffic)| Some(over_sizes(title, traffic?).without_text())));
    if let Some(nodes) = middle(&plan.sizes).filter(|_| loads(plan).len() > 2) {
        panels.push(messages("Messages over load", &format!("{nodes} nodes"), Over::Loads(nodes)).without_text());
    }
    panels.extend([client(), sync(), overtaken()]);
    panels.extend(busiest.map(load));
    if plan.reality.is_some() {
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
fn pair(plan: &Plan) -> Option<Traffic> {
    plan.traffics.iter().copied().find(|traffic| *traffic == Traffic::Pair && plan.traffics.len() > 2)
}

/// The workloads in which everyone asks, more and more often.
pub(super) fn loads(plan: &Plan) -> Vec<Traffic> {
    let everyone = |traffic: &Traffic| match traffic {
        Traffic::Single | Traffic::Pair => false,
        Traffic::Random(_) | Traffic::All => true,
    };
    let mut loads: Vec<_> = plan.traffics.iter().copied().filter(everyone).collect();
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
        self.book = self.book.map(|law| Law { text: |_| "", ..law });
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
        book: Some(Law {
            value: |book, entries| book.total(entries).exact().map(|total| total as f64 / entries as f64),
            text: |entry| entry.facts.cost.messages,
        }),
        is_joined: true,
    }
}

fn client() -> Panel {
    Panel {
        title: "Client delay".into(),
        y: Axis::log(CLIENT).unit("T"),
        over: Over::Sizes(None),
        simulated: Some(client_of),
        real: None,
        book: Some(Law {
            value: |book, _| book.client_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.client,
        }),
        is_joined: true,
    }
}

fn sync() -> Panel {
    Panel {
        title: "Sync delay".into(),
        y: Axis::log(SYNC).unit("T"),
        simulated: Some(sync_of),
        book: Some(Law {
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
        y: Axis::log("the most later requests that went first").showing(0.0),
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
        y: Axis::linear(format!("the busiest node's share of messages, {}", traffic_name(busiest)))
            .unit("%")
            .showing(0.0)
            .showing(100.0),
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
        y: Axis::linear(what).unit("ms").showing(0.0),
        over: Over::Sizes(None),
        simulated: None,
        real: Some(reading),
        book: None,
        is_joined: false,
    }
}
