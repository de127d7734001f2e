//! The plots of a comparison.

use crate::compare::VerticalAxis;
use crate::mutex::MutexEntry;
use crate::mutex::compare::costs::{CostComparison, RunResult};
use crate::mutex::compare::table::{heaviest_traffic, heaviness, lightest_traffic, mean, traffic_name};
use crate::mutex::compare::{ExpectedCost, Measured, Traffic};
use quorate_journal::metrics::Delay;

/// A plot as planned: its axes and figures.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) vertical_axis: VerticalAxis,
    pub(super) horizontal_axis: PanelAxis,
    /// Reads the figure of simulated runs; `None` if the panel shows only real runs.
    pub(super) simulated: Option<ReadFigure>,
    /// Reads the figure of real runs; `None` if the panel shows only simulated runs.
    pub(super) real: Option<ReadFigure>,
    pub(super) expected: Option<Formula>,
    /// Whether a line joins the dots of an algorithm that has no expected curve.
    pub(super) is_joined: bool,
}

/// The horizontal axis.
#[derive(Clone, Copy)]
pub(super) enum PanelAxis {
    /// The sizes of groups, under one workload or all of them.
    Sizes(Option<Traffic>),
    /// The workloads in which all nodes send requests, in groups of one size.
    Loads(usize),
}

/// Reads a figure of some runs and the maximum of its samples; `None` if they do not have it.
pub(super) type ReadFigure = fn(&[&RunResult]) -> Option<(f64, f64)>;

/// The expected figure.
pub(super) struct Formula {
    /// Computes the figure for this number of entries; `None` if it is not exact.
    pub(super) value: fn(&ExpectedCost, u64) -> Option<f64>,
    pub(super) text: fn(&MutexEntry) -> &'static str,
}

pub(super) fn panels(costs: &CostComparison) -> Vec<Panel> {
    let (lightest, heaviest) = (lightest_traffic(costs), heaviest_traffic(costs));
    let messages_over_sizes =
        |title, traffic: Traffic| messages_panel(title, &traffic_name(traffic), PanelAxis::Sizes(Some(traffic)));
    let mut panels = Vec::new();
    panels.extend(lightest.map(|traffic| messages_over_sizes("Messages", traffic)));
    // The formulas are already in the first panel.
    let further_panels = [("Messages, heaviest load", heaviest), ("Messages, contended by two", find_pair(costs))];
    let others = further_panels.into_iter().filter(|(_, traffic)| *traffic != lightest);
    panels.extend(others.filter_map(|(title, traffic)| Some(messages_over_sizes(title, traffic?).without_formulas())));
    if let Some(nodes) = median_size(&costs.sizes).filter(|_| loads(costs).len() > 2) {
        panels.push(
            messages_panel("Messages over load", &format!("{nodes} nodes"), PanelAxis::Loads(nodes)).without_formulas(),
        );
    }
    panels.extend([client_delay_panel(), sync_delay_panel(), overtaking_panel()]);
    panels.extend(heaviest.map(busiest_share_panel));
    if costs.process_links.is_some() {
        panels.extend([
            real_delay_panel("Client delay, real", CLIENT_DELAY_LABEL, client_delay_of),
            real_delay_panel("Sync delay, real", SYNC_DELAY_LABEL, sync_delay_of),
        ]);
    }
    panels
}

const CLIENT_DELAY_LABEL: &str = "from request to entry, without contention";
const SYNC_DELAY_LABEL: &str = "from a release to the next entry";

fn client_delay_of(results: &[&RunResult]) -> Option<(f64, f64)> {
    delay_of(results, |measured| measured.client_delay)
}

fn sync_delay_of(results: &[&RunResult]) -> Option<(f64, f64)> {
    delay_of(results, |measured| measured.sync_delay)
}

/// The mean of all runs, and the maximum.
fn delay_of(results: &[&RunResult], delay: fn(&Measured) -> Option<Delay>) -> Option<(f64, f64)> {
    let delays = || results.iter().filter_map(|result| delay(&result.measured));
    Some((mean(delays())?, delays().map(|delay| delay.max).fold(0.0, f64::max)))
}

/// The alternating pair, if it was measured besides at least two other workloads.
fn find_pair(costs: &CostComparison) -> Option<Traffic> {
    costs.traffics.iter().copied().find(|traffic| *traffic == Traffic::Pair && costs.traffics.len() > 2)
}

/// The workloads in which all nodes send requests, in order of increasing load.
pub(super) fn loads(costs: &CostComparison) -> Vec<Traffic> {
    let is_requested_by_all = |traffic: &Traffic| match traffic {
        Traffic::Single | Traffic::Pair => false,
        Traffic::Random(_) | Traffic::All => true,
    };
    let mut loads: Vec<_> = costs.traffics.iter().copied().filter(is_requested_by_all).collect();
    loads.sort_by_key(heaviness);
    loads
}

fn median_size(sizes: &[usize]) -> Option<usize> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied()
}

impl Panel {
    /// Leaves out the texts of the formulas.
    fn without_formulas(mut self) -> Self {
        self.expected = self.expected.map(|formula| Formula { text: |_| "", ..formula });
        self
    }
}

fn messages_panel(title: &str, when: &str, axis: PanelAxis) -> Panel {
    let read: ReadFigure = |results| {
        let messages = results.first()?.measured.messages_per_entry?;
        Some((messages, messages))
    };
    Panel {
        title: title.into(),
        vertical_axis: VerticalAxis::log(format!("messages per entry, {when}")),
        horizontal_axis: axis,
        simulated: Some(read),
        real: Some(read),
        expected: Some(Formula {
            value: |expected, entries| {
                expected.total_messages(entries).exact().map(|total| total as f64 / entries as f64)
            },
            text: |entry| entry.facts.cost.messages_formula,
        }),
        is_joined: true,
    }
}

fn client_delay_panel() -> Panel {
    Panel {
        title: "Client delay".into(),
        vertical_axis: VerticalAxis { unit: "T", ..VerticalAxis::log(CLIENT_DELAY_LABEL) },
        horizontal_axis: PanelAxis::Sizes(None),
        simulated: Some(client_delay_of),
        real: None,
        expected: Some(Formula {
            value: |expected, _| expected.client_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.client_delay_formula,
        }),
        is_joined: true,
    }
}

fn sync_delay_panel() -> Panel {
    Panel {
        title: "Sync delay".into(),
        vertical_axis: VerticalAxis { unit: "T", ..VerticalAxis::log(SYNC_DELAY_LABEL) },
        simulated: Some(sync_delay_of),
        expected: Some(Formula {
            value: |expected, _| expected.sync_delay.exact().map(|delay| delay as f64),
            text: |entry| entry.facts.cost.sync_delay_formula,
        }),
        ..client_delay_panel()
    }
}

fn overtaking_panel() -> Panel {
    let read: ReadFigure = |results| {
        let maximum = results.iter().map(|result| result.measured.max_overtaken).max()? as f64;
        Some((maximum, maximum))
    };
    Panel {
        title: "Overtaking".into(),
        vertical_axis: VerticalAxis {
            // A logarithmic axis shows zero in a place of its own.
            included_values: vec![0.0],
            ..VerticalAxis::log("maximum number of later requests granted first")
        },
        horizontal_axis: PanelAxis::Sizes(None),
        simulated: Some(read),
        real: Some(read),
        expected: None,
        is_joined: false,
    }
}

fn busiest_share_panel(traffic: Traffic) -> Panel {
    let read: ReadFigure = |results| {
        let share = 100.0 * results.first()?.measured.busiest_share;
        Some((share, share))
    };
    Panel {
        title: "Busiest node".into(),
        vertical_axis: VerticalAxis {
            unit: "%",
            included_values: vec![0.0, 100.0],
            ..VerticalAxis::linear(format!("the busiest node's share of messages, {}", traffic_name(traffic)))
        },
        horizontal_axis: PanelAxis::Sizes(Some(traffic)),
        simulated: Some(read),
        real: Some(read),
        expected: None,
        is_joined: false,
    }
}

fn real_delay_panel(title: &str, axis_name: &str, read: ReadFigure) -> Panel {
    Panel {
        title: title.into(),
        vertical_axis: VerticalAxis { unit: "ms", included_values: vec![0.0], ..VerticalAxis::linear(axis_name) },
        horizontal_axis: PanelAxis::Sizes(None),
        simulated: None,
        real: Some(read),
        expected: None,
        is_joined: false,
    }
}
