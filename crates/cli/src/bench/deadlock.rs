//! `quorate bench deadlock`: the incremental wait-for graph beside a fresh search with petgraph before each wait.

mod load;
mod turn;

use super::{progress_bar, word};
use crate::Verdict;
use crate::args::BenchArgs;
use crate::output::output;
use crate::report::grouped;
use crate::{paint, report};
use indicatif::ProgressBar;
use load::Shape;
use serde::Serialize;
use std::io::Write;

/// How many wait in the end, unless told otherwise.
const WAITERS: [u64; 3] = [1_000, 10_000, 100_000];
const MOST_WAITERS: u64 = 1_000_000;

/// What the answers of the largest graphs must keep to, in microseconds.
const MOST_MEDIAN: f64 = 5.0;
const MOST_OF_99: f64 = 100.0;

#[derive(Serialize)]
struct Report {
    graphs: Vec<Row>,
    holds: bool,
}

/// One graph, from nobody to so many who wait.
#[derive(Serialize)]
struct Row {
    shape: Shape,
    waiters: u64,
    /// How many asked to wait, those included who were refused.
    asked: usize,
    refused: usize,
    insertions_per_second: f64,
    petgraph_insertions_per_second: f64,
    /// Our rate over that of a fresh search.
    times_petgraph: f64,
    answer_median_us: f64,
    answer_99_percent_us: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Verdict> {
    let waiters = if args.waiters.is_empty() { &WAITERS[..] } else { &args.waiters };
    for count in waiters {
        let fits = (1..=MOST_WAITERS).contains(count);
        anyhow::ensure!(fits, "A graph has between 1 and {MOST_WAITERS} waiters: --waiters 1000,10000.");
    }
    let bar = progress_bar(args.turns.saturating_mul((waiters.len() * Shape::ALL.len()) as u64));
    let mut graphs = Vec::new();
    for shape in Shape::ALL {
        for count in waiters {
            graphs.push(contest(shape, *count, args.turns, &bar)?);
        }
    }
    bar.finish_and_clear();
    let mut found = Report { graphs, holds: false };
    found.holds = found.marks().iter().all(|(_, reached)| *reached);
    if args.json {
        report::json(&found)?;
    } else {
        print(&found, args.turns)?;
    }
    Ok(Verdict::of(found.holds))
}

/// Both in turns with the same asks. The best turn of each counts.
fn contest(shape: Shape, waiters: u64, turns: u64, bar: &ProgressBar) -> anyhow::Result<Row> {
    let asks = load::asks(shape, waiters as u32);
    let [mut ours, mut theirs, mut median, mut of_99] = [f64::INFINITY; 4];
    let mut refused = 0;
    for _ in 0..turns {
        bar.set_message(format!("{}, {} waiters", shape.name(), grouped(waiters)));
        let turn = turn::ours(&asks);
        ours = ours.min(turn.seconds);
        theirs = theirs.min(turn::theirs(&asks, &turn.refused)?);
        let answers = turn::answers(&asks, &turn.refused)?;
        median = median.min(share(&answers, 0.5));
        of_99 = of_99.min(share(&answers, 0.99));
        refused = turn.refused.iter().filter(|refused| **refused).count();
        bar.inc(1);
    }
    Ok(Row {
        shape,
        waiters,
        asked: asks.len(),
        refused,
        insertions_per_second: asks.len() as f64 / ours.max(1e-9),
        petgraph_insertions_per_second: asks.len() as f64 / theirs.max(1e-9),
        times_petgraph: theirs / ours.max(1e-9),
        answer_median_us: median * 1e6,
        answer_99_percent_us: of_99 * 1e6,
    })
}

/// The value that this share of all does not exceed, of values in order.
fn share(values: &[f64], share: f64) -> f64 {
    let place = (values.len().saturating_sub(1) as f64 * share) as usize;
    values.get(place).copied().unwrap_or(f64::INFINITY)
}

impl Report {
    /// What must be reached in the largest graphs.
    fn marks(&self) -> Vec<(String, bool)> {
        let most = self.graphs.iter().map(|row| row.waiters).max().unwrap_or(0);
        let largest = || self.graphs.iter().filter(|row| row.waiters == most);
        let slowest = |time: fn(&Row) -> f64| largest().map(time).fold(0.0, f64::max);
        let (median, of_99) = (slowest(|row| row.answer_median_us), slowest(|row| row.answer_99_percent_us));
        let waiters = grouped(most);
        let mark = |what: &str, time: f64, most: f64| {
            (format!("an answer with {waiters} waiters, {what}: {time:.1} µs (at most {most})"), time <= most)
        };
        vec![mark("median", median, MOST_MEDIAN), mark("99 of 100", of_99, MOST_OF_99)]
    }
}

fn print(report: &Report, turns: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "Who waits for whom, from nobody to so many; one wait in 32 would close a deadlock and is refused")?;
    writeln!(
        out,
        "(insertions by the processor's time, best of {turns} turns each; petgraph searches afresh before each"
    )?;
    writeln!(
        out,
        "wait, measured on 400 of them; both give the same answers; on the right, how long ours takes to say"
    )?;
    writeln!(out, "whether a wait would close a cycle)\n")?;
    let heading = format!(
        "{:<20}{:>9}{:>14}{:>14}{:>9}{:>11}{:>12}",
        "graph", "waiters", "ours", "petgraph", "times", "median", "99 of 100"
    );
    writeln!(out, "{}", paint::bold(&heading))?;
    for row in &report.graphs {
        let rate = |rate: f64| format!("{}/s", grouped(rate as u64));
        let (ours, theirs) = (rate(row.insertions_per_second), rate(row.petgraph_insertions_per_second));
        let (median, of_99) = (row.answer_median_us, row.answer_99_percent_us);
        writeln!(
            out,
            "{:<20}{:>9}{ours:>14}{theirs:>14}{:>9.1}{median:>8.2} µs{of_99:>9.2} µs",
            row.shape.name(),
            grouped(row.waiters),
            row.times_petgraph,
        )?;
    }
    writeln!(out)?;
    for (what, reached) in report.marks() {
        writeln!(out, "{what}  {}", word(reached))?;
    }
    Ok(())
}
