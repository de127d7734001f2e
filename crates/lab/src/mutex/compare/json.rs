//! A comparison for programs.

use super::costs::{Costs, Row, Side};
use super::field::LeftOut;
use super::{Book, Difference};
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
    /// How real processes spoke to each other, if there were any.
    links: Option<&'static str>,
    complete: bool,
    holds: bool,
    exact: bool,
    rows: Vec<Line<'a>>,
    /// Who cannot run in groups of some sizes.
    left_out: Vec<Absent>,
}

/// An algorithm that has no group of some size.
#[derive(Serialize)]
pub(super) struct Absent {
    algorithm: &'static str,
    nodes: usize,
    why: &'static str,
}

#[derive(Serialize)]
struct Line<'a> {
    algorithm: &'a str,
    nodes: usize,
    workload: String,
    /// Delays are in message times.
    #[serde(flatten)]
    counts: Counts,
    client_delay: Option<f64>,
    sync_delay: Option<f64>,
    expected: Expected,
    /// Whether every property holds, in both worlds.
    holds: bool,
    /// Whether every figure is the book's, in both worlds, where the book's is exact and there is something to judge.
    exact: Option<bool>,
    #[serde(flatten)]
    judged: Judged<'a>,
    real: Option<Real<'a>>,
}

/// What the book says: a number where it is exact, else the least and the most.
#[derive(Serialize)]
struct Expected {
    formula: &'static str,
    messages_per_entry: Extent,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_messages_per_entry: Option<u64>,
    client_delay: Extent,
    sync_delay: Extent,
    /// Whether every run must keep to that.
    binding: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Extent {
    Exactly(f64),
    Between { least: f64, most: Option<f64> },
}

impl Extent {
    fn new(least: f64, most: Option<f64>) -> Self {
        if most == Some(least) { Self::Exactly(least) } else { Self::Between { least, most } }
    }
}

impl From<Range> for Extent {
    fn from(range: Range) -> Self {
        Self::new(range.least as f64, range.most.map(|most| most as f64))
    }
}

fn expected(book: &Book, entries: u64) -> Expected {
    let (least, most) = book.per_entry(entries);
    Expected {
        formula: book.messages,
        messages_per_entry: Extent::new(least, most),
        own_messages_per_entry: book.keeper.then_some(0),
        client_delay: book.client_delay.into(),
        sync_delay: book.sync_delay.into(),
        binding: book.binding,
    }
}

#[derive(Serialize)]
struct Real<'a> {
    #[serde(flatten)]
    counts: Counts,
    client_delay_ms: Option<f64>,
    sync_delay_ms: Option<f64>,
    holds: bool,
    exact: Option<bool>,
    #[serde(flatten)]
    judged: Judged<'a>,
    /// Where the run's journal is, if a property fails in it.
    journal: Option<&'a str>,
}

#[derive(Serialize)]
struct Counts {
    entries: u64,
    messages_per_entry: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_messages_per_entry: Option<f64>,
    client_delay_samples: u64,
    sync_delay_samples: u64,
    overtaken_max: u64,
    busiest_share: f64,
}

#[derive(Serialize)]
struct Judged<'a> {
    ending: Ending,
    differences: &'a [Difference],
    breaches: &'a [Verdict],
    command: &'a str,
}

pub(super) fn report(costs: &Costs) -> Report<'_> {
    Report {
        family: Family::Mutex,
        seed: costs.seed,
        links: costs.real.map(|links| links.name()),
        complete: costs.is_complete(),
        holds: costs.holds(),
        exact: costs.is_exact(),
        rows: costs.rows.iter().map(line).collect(),
        left_out: absent(&costs.left_out),
    }
}

pub(super) fn absent(left_out: &[LeftOut]) -> Vec<Absent> {
    let each = |LeftOut { algorithm, sizes, why }: &LeftOut| {
        let (algorithm, why) = (*algorithm, *why);
        sizes.iter().map(|nodes| Absent { algorithm, nodes: *nodes, why }).collect::<Vec<_>>()
    };
    left_out.iter().flat_map(each).collect()
}

fn line(row: &Row) -> Line<'_> {
    let measured = &row.simulated.measured;
    Line {
        algorithm: row.name(),
        nodes: row.heat.nodes,
        workload: row.heat.traffic.to_string(),
        counts: counts(&row.simulated),
        client_delay: mean(measured.client_delay),
        sync_delay: mean(measured.sync_delay),
        expected: expected(&row.book, measured.counted),
        holds: row.holds(),
        exact: row.is_exact(),
        judged: judged(&row.simulated),
        real: row.real.as_ref().map(|side| real(side, &row.book)),
    }
}

fn real<'a>(side: &'a Side, book: &Book) -> Real<'a> {
    Real {
        counts: counts(side),
        client_delay_ms: mean(side.measured.client_delay),
        sync_delay_ms: mean(side.measured.sync_delay),
        holds: side.measured.holds(),
        exact: side.measured.is_exact(book),
        judged: judged(side),
        journal: side.journal.as_deref(),
    }
}

fn counts(Side { measured, .. }: &Side) -> Counts {
    let samples = |delay: Option<Delay>| delay.map_or(0, |delay| delay.samples);
    Counts {
        entries: measured.entries,
        messages_per_entry: measured.messages_per_entry,
        own_messages_per_entry: measured.own_messages_per_entry,
        client_delay_samples: samples(measured.client_delay),
        sync_delay_samples: samples(measured.sync_delay),
        overtaken_max: measured.overtaken_max,
        busiest_share: measured.busiest_share,
    }
}

fn judged(Side { measured, again, .. }: &Side) -> Judged<'_> {
    Judged { ending: measured.ending, differences: &measured.differences, breaches: &measured.breaches, command: again }
}

fn mean(delay: Option<Delay>) -> Option<f64> {
    delay.map(|delay| delay.mean)
}
