//! `quorate bench sim`: the simulator beside a bare loop.

use super::bare::Bare;
use super::{progress_bar, ring, word};
use crate::Verdict;
use crate::args::BenchArgs;
use crate::output::output;
use crate::{memory, paint, report};
use anyhow::Context;
use indicatif::ProgressBar;
use quorate_core::Duration;
use quorate_journal::settings::Latency;
use serde::Serialize;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

const SMALL: usize = 1_000;
const LARGE: usize = 1_000_000;
/// How many events each loop handles unless told otherwise.
const EVENTS: u64 = 20_000_000;

/// What the simulator must reach.
const LEAST_SHARE_SMALL: f64 = 0.4;
const LEAST_SHARE_LARGE: f64 = 1.0;
const MOST_GROWTH: f64 = 6.0;
const MOST_BYTES: f64 = 400.0;

#[derive(Serialize)]
struct Report {
    events: u64,
    small: Contest,
    large: Contest,
    /// How many times dearer an event is in the large ring than in the small one.
    cost_growth: f64,
    bytes_per_node: Option<f64>,
    holds: bool,
}

#[derive(Serialize)]
struct Contest {
    nodes: usize,
    bare_events_per_second: f64,
    sim_events_per_second: f64,
    /// The simulator's rate over the bare loop's.
    share: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Verdict> {
    if let Some(nodes) = args.memory_of {
        writeln!(output(), "{}", bytes_per_node(nodes)?)?;
        return Ok(Verdict::Holds);
    }
    let (events, turns) = (args.events.unwrap_or(EVENTS), args.turns);
    anyhow::ensure!(events >= 1_000, "A measurement needs at least 1000 events: --events {EVENTS}.");
    let bar = progress_bar(turns.saturating_mul(4).saturating_add(1));
    let small = contest(SMALL, events, turns, &bar);
    let large = contest(LARGE, events / 4, turns, &bar);
    bar.set_message("memory of a million nodes");
    let bytes_per_node = memory_of_child(LARGE);
    bar.finish_and_clear();
    let cost_growth = small.sim_events_per_second / large.sim_events_per_second;
    let holds = small.share >= LEAST_SHARE_SMALL
        && large.share >= LEAST_SHARE_LARGE
        && cost_growth <= MOST_GROWTH
        && bytes_per_node.as_ref().is_ok_and(|bytes| *bytes <= MOST_BYTES);
    let found = Report { events, small, large, cost_growth, bytes_per_node: bytes_per_node.ok(), holds };
    if args.json {
        report::json(&found)?;
    } else {
        print(&found, turns)?;
    }
    Ok(Verdict::of(holds))
}

fn latency() -> Latency {
    Latency::Uniform { least: Duration::from_millis(1), most: Duration::from_millis(5) }
}

/// Both loops in turns on a ring of this size with as many messages in flight.
fn contest(nodes: usize, events: u64, turns: u64, bar: &ProgressBar) -> Contest {
    let mut bare = Bare::new(nodes, latency());
    let mut world = ring::world(nodes, latency());
    let mut best = [f64::INFINITY; 2];
    for _ in 0..turns {
        bar.set_message(format!("{nodes} nodes"));
        best[0] = best[0].min(seconds(events, || bare.advance()));
        bar.inc(1);
        best[1] = best[1].min(seconds(events, || world.advance()));
        bar.inc(1);
    }
    let [bare_rate, sim_rate] = best.map(|seconds| events as f64 / seconds);
    Contest { nodes, bare_events_per_second: bare_rate, sim_events_per_second: sim_rate, share: sim_rate / bare_rate }
}

fn seconds(events: u64, mut advance: impl FnMut() -> bool) -> f64 {
    let begin = Instant::now();
    for _ in 0..events {
        if !advance() {
            break;
        }
    }
    begin.elapsed().as_secs_f64()
}

/// A process of its own, so that nothing else is in its memory.
fn memory_of_child(nodes: usize) -> anyhow::Result<f64> {
    let output =
        Command::new(std::env::current_exe()?).args(["bench", "sim", "--memory-of", &nodes.to_string()]).output()?;
    let text = String::from_utf8(output.stdout)?;
    text.trim().parse().context("The measurement of memory printed no number")
}

/// The growth of this process's memory at its peak while it runs a ring, a node.
fn bytes_per_node(nodes: usize) -> anyhow::Result<f64> {
    let before = memory::peak()?;
    let mut world = ring::world(nodes, latency());
    for _ in 0..3 * nodes {
        world.advance();
    }
    let after = memory::peak()?;
    Ok((after - before) as f64 / nodes as f64)
}

fn print(report: &Report, turns: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "A ring with one message in flight for each node, metrics on, journal off")?;
    writeln!(out, "(best of {turns} rounds each, the two loops in turns)\n")?;
    let heading = format!("{:>10}{:>18}{:>18}{:>9}{:>9}", "nodes", "bare heap", "simulator", "share", "at least");
    writeln!(out, "{}", paint::bold(&heading))?;
    for (contest, least) in [(&report.small, LEAST_SHARE_SMALL), (&report.large, LEAST_SHARE_LARGE)] {
        writeln!(
            out,
            "{:>10}{:>14.1} M/s{:>14.1} M/s{:>9.2}{least:>9.1}  {}",
            contest.nodes,
            contest.bare_events_per_second / 1e6,
            contest.sim_events_per_second / 1e6,
            contest.share,
            word(contest.share >= least)
        )?;
    }
    let growth = report.cost_growth;
    writeln!(
        out,
        "\ncost of an event, large over small: {growth:.1} (at most {MOST_GROWTH})  {}",
        word(growth <= MOST_GROWTH)
    )?;
    match report.bytes_per_node {
        Some(bytes) => {
            writeln!(out, "memory: {bytes:.0} bytes a node (at most {MOST_BYTES})  {}", word(bytes <= MOST_BYTES))?;
        }
        None => writeln!(out, "memory: not measured on this system")?,
    }
    Ok(())
}
