//! The plots of a comparison.

use crate::compare::Axis;
use crate::mutex::MutexEntry;
use crate::mutex::compare::costs::{Costs, WorldResult};
use crate::mutex::compare::table::{busiest_traffic, heaviness, idlest_traffic, mean, traffic_name};
use crate::mutex::compare::{ExpectedCost, Measured, Traffic};
use quorate_journal::metrics::Delay;

pub(super) struct Panel {
    pub(super) title: String,
    pub(super) y: Axis,
    pub(super) over: Over,
    /// The simulated figure and its maximum, if it can be compared with the expected one.
    pub(super) simulated: Option<Reading>,
    pub(super) real: Option<Reading>,
    pub(super) expected: Option<Formula>,
    /// Whether a line joins the dots of an algorithm without an expected curve.
    pub(super) is_joined: bool,
}

/// The horizontal axis.
#[derive(Clone, Copy)]
pub(super) enum Over {
    /// The sizes of groups, under one workload or all of them.
    Sizes(Option<Traffic>),
    /// The workloads in which all nodes send requests, in groups of one size.
    Loads(usize),
}

/// A figure of some runs, and the maximum of its samples; `None` if they do not have it.
pub(super) type Reading = fn(&[&WorldResult]) -> Option<(f64, f64)>;

/// The expected figure.
pub(super) struct Formula {
    pub(super) value: fn(&ExpectedCost, u64) -> Option<f64>,
    pub(super) text: fn(&MutexEntry) -> &'static str,
}

pub(super) fn panels(costs: &Costs) -> Vec<Panel> {
    let (idlest, busiest) = (idlest_traffic(costs), busiest_traffic(costs));
    let over_sizes =
        |title, traffic: Traffic| messages_panel(title, &traffic_name(traffic), Over::Sizes(Some(traffic)));
    let mut panels = Vec::new();
    panels.extend(idlest.map(|traffic| over_sizes("Messages", traffic)));
    // The formulas are already in the first panel.
    let others = [("Messages, saturated", busiest), ("Messages, contended by two", pair(costs))];
    let others = others.into_iter().filter(|(_, traffic)| *traffic != idlest);
    panels.extend(others.filter_map(|(title, traffic)| Some(over_sizes(title, traffic?).without_text())));
    if let Some(nodes) = middle(&costs.sizes).filter(|_| loads(costs).len() > 2) {
        panels.push(messages_panel("Messages over load", &format!("{nodes} nodes"), Over::Loads(nodes)).without_text());
    }
    panels.extend([client_delay_panel(), sync_delay_panel(), overtaking_panel()]);
    panels.extend(busiest.map(load_panel));
    if costs.real.is_some() {
        panels.extend([
            real_delay_panel("Client delay, real", CLIENT, client_delay_of),
            real_delay_panel("Sync delay, real", SYNC, sync_delay_of),
        ]);
    }
    panels
}

const CLIENT: &str = "from request to entry, without contention";
const SYNC: &str = "from a release to the next entry";

fn client_delay_of(results: &[&WorldResult]) -> Option<(f64, f64)> {
    delay_of(results, |measured| measured.client_delay)
}

fn sync_delay_of(results: &[&WorldResult]) -> Option<(f64, f64)> {
    delay_of(results, |measured| measured.sync_delay)
}

/// The mean of all runs, and the maximum.
fn delay_of(results: &[&WorldResult], delay: fn(&Measured) -> Option<Delay>) -> Option<(f64, f64)> {
    let delays = || results.iter().filter_map(|result| delay(&result.measured));
    Some((mean(delays())?, delays().map(|delay| delay.max).fold(0.0, f64::max)))
}

/// The alternating pair, if it was measured besides at least two other workloads.
fn pair(costs: &Costs) -> Option<Traffic> {
    costs.traffics.iter().copied().find(|traffic| *traffic == Traffic::Pair && costs.traffics.len() > 2)
}

/// The workloads in which all nodes send requests, in order of increasing load.
pub(super) fn loads(costs: &Costs) -> Vec<Traffic> {
    let is_requested_by_all = |traffic: &Traffic| match traffic {
        Traffic::Single | Traffic::Pair => false,
        Traffic::Random(_) | Traffic::All => true,
    };
    let mut loads: Vec<_> = costs.traffics.iter().copied().filter(is_requested_by_all).collect();
    loads.sort_by_key(heaviness);
    loads
}

fn middle(sizes: &[usize]) -> Option<usize> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied()
}

impl Panel {
    /// Leaves out the texts of the formulas.
    fn without_text(mut self) -> Self {
        self.expected = self.expected.map(|formula| Formula { text: |_| "", ..formula });
        self
    }
}

fn messages_panel(title: &str, when: &str, over: Over) -> Panel {
    let reading: Reading = |results| {
        let messages = results.first()?.measured.messages_per_entry?;
        Some((messages, messages))
    };
    Panel {
        title: title.into(),
        y: Axis::log(format!("messages per entry, {when}")),
        over,
        simulated: Some(reading),
        real: Some(reading),
        expected: Some(Formula {
            value: |expected, entries| expected.total(entries).exact().map(|total| total as f64 / entries as f64),
            text: |entry| entry.facts.cost.messages,
        }),
        is_joined: true,
    }
}

fn client_delay_panel() -> Panel {
    Panel {
        title: "Client delay".into(),
        y: Axis { unit: "T", ..Axis::log(CLIENT) },
        over: Over::Sizes(None),
        simulated: Some(client_delay_of),
        real: None,
        expected: Some(Formula {
            value: |expected, _| expected.client_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.client,
        }),
        is_joined: true,
    }
}

fn sync_delay_panel() -> Panel {
    Panel {
        title: "Sync delay".into(),
        y: Axis { unit: "T", ..Axis::log(SYNC) },
        simulated: Some(sync_delay_of),
        expected: Some(Formula {
            value: |expected, _| expected.sync_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.sync,
        }),
        ..client_delay_panel()
    }
}

fn overtaking_panel() -> Panel {
    let reading: Reading = |results| {
        let maximum = results.iter().map(|result| result.measured.overtaken_max).max()? as f64;
        Some((maximum, maximum))
    };
    Panel {
        title: "Overtaking".into(),
        y: Axis { shown: vec![0.0], ..Axis::log("most later requests granted first") },
        over: Over::Sizes(None),
        simulated: Some(reading),
        real: Some(reading),
        expected: None,
        is_joined: false,
    }
}

fn load_panel(busiest: Traffic) -> Panel {
    let reading: Reading = |results| {
        let share = 100.0 * results.first()?.measured.busiest_share;
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
        expected: None,
        is_joined: false,
    }
}

fn real_delay_panel(title: &str, axis_name: &str, reading: Reading) -> Panel {
    Panel {
        title: title.into(),
        y: Axis { unit: "ms", shown: vec![0.0], ..Axis::linear(axis_name) },
        over: Over::Sizes(None),
        simulated: None,
        real: Some(reading),
        expected: None,
        is_joined: false,
    }
}
