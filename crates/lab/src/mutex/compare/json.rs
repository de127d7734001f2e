//! The JSON report of a comparison of costs.

use super::compared::UnsupportedSizes;
use super::costs::{CostComparison, CostRow, RunResult};
use super::{Difference, ExpectedCost};
use crate::compare::Comparison;
use crate::registry::Family;
use quorate_core::mutex::Range;
use quorate_journal::metrics::Delay;
use quorate_journal::property::Verdict;
use quorate_journal::workload::Ending;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report<'a> {
    family: Family,
    seed: u64,
    /// `tcp` or `tls`, the links between real processes; `None` if all runs were simulated.
    links: Option<&'static str>,
    complete: bool,
    holds: bool,
    /// Whether all figures that can be judged are as expected.
    #[serde(rename = "exact")]
    is_as_expected: bool,
    rows: Vec<ReportRow<'a>>,
    /// Algorithms that do not support some sizes.
    left_out: Vec<UnsupportedSize>,
}

/// An algorithm that does not support some size.
#[derive(Serialize)]
pub(super) struct UnsupportedSize {
    algorithm: &'static str,
    nodes: usize,
    #[serde(rename = "why")]
    reason: &'static str,
}

#[derive(Serialize)]
struct ReportRow<'a> {
    algorithm: &'a str,
    nodes: usize,
    workload: String,
    #[serde(flatten)]
    counts: Counts,
    /// Mean in message times, like all delays of simulated runs.
    client_delay: Option<f64>,
    sync_delay: Option<f64>,
    expected: Expected,
    /// Whether every property holds, simulated and real.
    holds: bool,
    /// Whether every figure is as expected, simulated and real; `None` if no figure can be judged.
    #[serde(rename = "exact")]
    is_as_expected: Option<bool>,
    /// The judgement of the simulated run.
    #[serde(flatten)]
    judged: Judged<'a>,
    real: Option<RealReport<'a>>,
}

/// The expected figures: a single number, or the minimum and the maximum.
#[derive(Serialize)]
struct Expected {
    formula: &'static str,
    messages_per_entry: ExpectedRange,
    /// 0 if there is a coordinator, whose own entries cost no messages.
    #[serde(rename = "own_messages_per_entry", skip_serializing_if = "Option::is_none")]
    coordinator_messages_per_entry: Option<u64>,
    client_delay: ExpectedRange,
    sync_delay: ExpectedRange,
    /// Whether every run must have these figures.
    binding: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ExpectedRange {
    Exactly(f64),
    Between {
        #[serde(rename = "least")]
        min: f64,
        #[serde(rename = "most")]
        max: Option<f64>,
    },
}

impl ExpectedRange {
    fn new(min: f64, max: Option<f64>) -> Self {
        if max == Some(min) { Self::Exactly(min) } else { Self::Between { min, max } }
    }
}

impl From<Range> for ExpectedRange {
    fn from(range: Range) -> Self {
        Self::new(range.min as f64, range.max.map(|maximum| maximum as f64))
    }
}

fn expected(expected_cost: &ExpectedCost, entries: u64) -> Expected {
    let (min, max) = expected_cost.messages_per_entry(entries);
    Expected {
        formula: expected_cost.messages_formula,
        messages_per_entry: ExpectedRange::new(min, max),
        coordinator_messages_per_entry: expected_cost.has_coordinator.then_some(0),
        client_delay: expected_cost.client_delay.into(),
        sync_delay: expected_cost.sync_delay.into(),
        binding: expected_cost.is_binding,
    }
}

#[derive(Serialize)]
struct RealReport<'a> {
    #[serde(flatten)]
    counts: Counts,
    client_delay_ms: Option<f64>,
    sync_delay_ms: Option<f64>,
    holds: bool,
    #[serde(rename = "exact")]
    is_as_expected: Option<bool>,
    #[serde(flatten)]
    judged: Judged<'a>,
    /// Path of the journal, if a property was violated.
    journal: Option<&'a str>,
}

#[derive(Serialize)]
struct Counts {
    entries: u64,
    /// Without the coordinator's entries if there is a coordinator.
    messages_per_entry: Option<f64>,
    /// Messages per entry of the coordinator; `None` if there is none or it never entered.
    #[serde(rename = "own_messages_per_entry", skip_serializing_if = "Option::is_none")]
    coordinator_messages_per_entry: Option<f64>,
    client_delay_samples: u64,
    sync_delay_samples: u64,
    overtaken_max: u64,
    /// Share of all messages that the busiest node sent or received.
    busiest_share: f64,
}

#[derive(Serialize)]
struct Judged<'a> {
    ending: Ending,
    differences: &'a [Difference],
    #[serde(rename = "breaches")]
    violations: &'a [Verdict],
    command: &'a str,
}

pub(super) fn report(costs: &CostComparison) -> Report<'_> {
    Report {
        family: Family::Mutex,
        seed: costs.seed,
        links: costs.process_links.map(|links| links.name()),
        complete: costs.is_complete(),
        holds: costs.holds(),
        is_as_expected: costs.is_as_expected(),
        rows: costs.rows.iter().map(report_row).collect(),
        left_out: unsupported_sizes(&costs.unsupported_sizes),
    }
}

pub(super) fn unsupported_sizes(unsupported: &[UnsupportedSizes]) -> Vec<UnsupportedSize> {
    let rows_of = |UnsupportedSizes { algorithm, sizes, reason }: &UnsupportedSizes| {
        let (algorithm, reason) = (*algorithm, *reason);
        sizes.iter().map(|nodes| UnsupportedSize { algorithm, nodes: *nodes, reason }).collect::<Vec<_>>()
    };
    unsupported.iter().flat_map(rows_of).collect()
}

fn report_row(row: &CostRow) -> ReportRow<'_> {
    let measured = &row.simulated.measured;
    ReportRow {
        algorithm: row.name(),
        nodes: row.case.nodes,
        workload: row.case.traffic.to_string(),
        counts: counts(&row.simulated),
        client_delay: mean(measured.client_delay),
        sync_delay: mean(measured.sync_delay),
        expected: expected(&row.expected, measured.counted_entries),
        holds: row.holds(),
        is_as_expected: row.is_as_expected(),
        judged: judged(&row.simulated),
        real: row.real.as_ref().map(|result| real(result, &row.expected)),
    }
}

fn real<'a>(result: &'a RunResult, expected_cost: &ExpectedCost) -> RealReport<'a> {
    RealReport {
        counts: counts(result),
        client_delay_ms: mean(result.measured.client_delay),
        sync_delay_ms: mean(result.measured.sync_delay),
        holds: result.measured.holds(),
        is_as_expected: result.measured.is_as_expected(expected_cost),
        judged: judged(result),
        journal: result.journal.as_deref(),
    }
}

fn counts(RunResult { measured, .. }: &RunResult) -> Counts {
    let samples = |delay: Option<Delay>| delay.map_or(0, |delay| delay.samples);
    Counts {
        entries: measured.entries,
        messages_per_entry: measured.messages_per_entry,
        coordinator_messages_per_entry: measured.coordinator_messages_per_entry,
        client_delay_samples: samples(measured.client_delay),
        sync_delay_samples: samples(measured.sync_delay),
        overtaken_max: measured.max_overtaken,
        busiest_share: measured.busiest_share,
    }
}

fn judged(RunResult { measured, repeat_command, .. }: &RunResult) -> Judged<'_> {
    Judged {
        ending: measured.ending,
        differences: &measured.differences,
        violations: &measured.violations,
        command: repeat_command,
    }
}

fn mean(delay: Option<Delay>) -> Option<f64> {
    delay.map(|delay| delay.mean)
}
