//! `quorate bench deadlock`: measures the incremental wait-for graph beside a fresh search with
//! petgraph before each wait.

mod load;
mod measure;

use super::{Steps, conclude, format_met_or_missed};
use crate::CommandOutcome;
use crate::args::BenchArgs;
use crate::output::output;
use crate::report::format_thousands;
use crate::{paint, report};
use load::Shape;
use serde::Serialize;
use std::io::Write;

/// Default numbers of waiters.
const DEFAULT_WAITERS: [u64; 3] = [1_000, 10_000, 100_000];
const MAX_WAITERS: u64 = 1_000_000;

/// Targets for the time in which the largest graphs answer whether a wait would close a cycle, in
/// microseconds: median and 99th percentile.
const MAX_MEDIAN_US: f64 = 5.0;
const MAX_P99_US: f64 = 100.0;

#[derive(Serialize)]
struct DeadlockBenchReport {
    graphs: Vec<GraphRow>,
    /// Whether all targets are met.
    holds: bool,
}

/// The figures of one graph, which grows from no waiter to `waiters` waiters.
#[derive(Serialize)]
struct GraphRow {
    shape: Shape,
    waiters: u64,
    /// Number of requests to wait, including refused ones.
    asked: usize,
    refused: usize,
    insertions_per_second: f64,
    petgraph_insertions_per_second: f64,
    /// Insertions per second relative to those of petgraph.
    times_petgraph: f64,
    answer_median_us: f64,
    answer_99_percent_us: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    let waiters = if args.waiters.is_empty() { &DEFAULT_WAITERS[..] } else { &args.waiters };
    for count in waiters {
        let is_in_range = (1..=MAX_WAITERS).contains(count);
        anyhow::ensure!(is_in_range, "--waiters must be between 1 and {MAX_WAITERS}; got {count}.");
    }
    let steps = Steps::new(args.runs().saturating_mul((waiters.len() * Shape::ALL.len()) as u64));
    let mut graphs = Vec::new();
    for shape in Shape::ALL {
        for count in waiters {
            graphs.push(compare(shape, *count, args.runs(), &steps)?);
        }
    }
    let mut report = DeadlockBenchReport { graphs, holds: false };
    report.holds = report.targets().iter().all(|(_, is_met)| *is_met);
    conclude(&report, args, |report| print(report, args.runs()), report.holds)
}

/// Measures both graphs alternately with the same waits. The best run of each counts.
fn compare(shape: Shape, waiters: u64, runs: u64, steps: &Steps) -> anyhow::Result<GraphRow> {
    let waits = load::generate_waits(shape, waiters as u32);
    let [mut our_seconds, mut petgraph_seconds, mut median, mut p99] = [f64::INFINITY; 4];
    let mut refused = 0;
    for _ in 0..runs {
        let name = format!("{}, {} waiters", shape.name(), format_thousands(waiters));
        steps.perform(name, || {
            let insertions = measure::measure_insertions(&waits);
            our_seconds = our_seconds.min(insertions.seconds);
            petgraph_seconds = petgraph_seconds.min(measure::estimate_petgraph_seconds(&waits, &insertions.refused)?);
            let answers = measure::measure_answer_seconds(&waits, &insertions.refused)?;
            median = median.min(quantile(&answers, 0.5));
            p99 = p99.min(quantile(&answers, 0.99));
            refused = insertions.refused.iter().filter(|refused| **refused).count();
            Ok(())
        })?;
    }
    Ok(GraphRow {
        shape,
        waiters,
        asked: waits.len(),
        refused,
        insertions_per_second: waits.len() as f64 / our_seconds.max(1e-9),
        petgraph_insertions_per_second: waits.len() as f64 / petgraph_seconds.max(1e-9),
        times_petgraph: petgraph_seconds / our_seconds.max(1e-9),
        answer_median_us: median * 1e6,
        answer_99_percent_us: p99 * 1e6,
    })
}

/// Returns the quantile of sorted values; `fraction` 0.5 is the median.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let index = (sorted.len().saturating_sub(1) as f64 * fraction) as usize;
    sorted.get(index).copied().unwrap_or(f64::INFINITY)
}

impl DeadlockBenchReport {
    /// Returns the targets, which apply to the largest graphs, and whether each is met.
    fn targets(&self) -> Vec<(String, bool)> {
        let max_waiters = self.graphs.iter().map(|row| row.waiters).max().unwrap_or(0);
        let largest = || self.graphs.iter().filter(|row| row.waiters == max_waiters);
        let slowest = |time: fn(&GraphRow) -> f64| largest().map(time).fold(0.0, f64::max);
        let (median, p99) = (slowest(|row| row.answer_median_us), slowest(|row| row.answer_99_percent_us));
        let waiters = format_thousands(max_waiters);
        let target = |figure: &str, time: f64, max: f64| {
            (format!("time of an answer with {waiters} waiters, {figure}: {time:.1} µs (at most {max})"), time <= max)
        };
        vec![target("median", median, MAX_MEDIAN_US), target("99th percentile", p99, MAX_P99_US)]
    }
}

fn print(report: &DeadlockBenchReport, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    let runs = report::format_count(runs, "run");
    writeln!(out, "Wait-for graphs that grow to the given number of waiters; one wait in 33 would close a cycle")?;
    writeln!(out, "and is refused")?;
    writeln!(out, "(ours, petgraph: insertions per second of CPU time, best of {runs} each; petgraph searches")?;
    writeln!(
        out,
        "afresh before each wait, measured on about 400 waits; both give the same answers; median, p99: time in"
    )?;
    writeln!(out, "which ours answers whether a wait would close a cycle)\n")?;
    let heading = format!(
        "{:<20}{:>9}{:>14}{:>14}{:>9}{:>11}{:>12}",
        "graph", "waiters", "ours", "petgraph", "times", "median", "p99"
    );
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in &report.graphs {
        let rate = |rate: f64| format!("{}/s", format_thousands(rate as u64));
        let (ours, theirs) = (rate(row.insertions_per_second), rate(row.petgraph_insertions_per_second));
        let (median, p99) = (row.answer_median_us, row.answer_99_percent_us);
        writeln!(
            out,
            "{:<20}{:>9}{ours:>14}{theirs:>14}{:>9.1}{median:>8.2} µs{p99:>9.2} µs",
            row.shape.name(),
            format_thousands(row.waiters),
            row.times_petgraph,
        )?;
    }
    writeln!(out)?;
    for (text, is_met) in report.targets() {
        writeln!(out, "{text}  {}", format_met_or_missed(is_met))?;
    }
    Ok(())
}
