//! `quorate bench`: how fast it is, beside something bare in the same run.

mod bare;
mod ring;

use crate::Verdict;
use crate::args::{BenchArgs, BenchSubject};
use crate::output::output;
use crate::{paint, report};
use anyhow::Context;
use bare::Bare;
use indicatif::{ProgressBar, ProgressStyle};
use quorate_core::Duration;
use quorate_sim::settings::Latency;
use serde::Serialize;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

const SMALL: usize = 1_000;
const LARGE: usize = 1_000_000;
/// Each loop runs this often, in turns with the other; its best round counts, since other work on the machine can
/// only make a round slower.
const ROUNDS: usize = 5;

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
    let BenchSubject::Sim = args.subject;
    if let Some(nodes) = args.memory_of {
        writeln!(output(), "{}", bytes_per_node(nodes)?)?;
        return Ok(Verdict::Holds);
    }
    anyhow::ensure!(args.events >= 1_000, "A measurement needs at least 1000 events: --events 20000000.");
    let bar = ProgressBar::new(4 * ROUNDS as u64 + 1);
    let style = ProgressStyle::with_template("  {bar:30} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let small = contest(SMALL, args.events, &bar);
    let large = contest(LARGE, args.events / 4, &bar);
    bar.set_message("memory of a million nodes");
    let bytes_per_node = memory_of_child(LARGE);
    bar.finish_and_clear();
    let cost_growth = small.sim_events_per_second / large.sim_events_per_second;
    let holds = small.share >= LEAST_SHARE_SMALL
        && large.share >= LEAST_SHARE_LARGE
        && cost_growth <= MOST_GROWTH
        && bytes_per_node.as_ref().is_ok_and(|bytes| *bytes <= MOST_BYTES);
    let found = Report { events: args.events, small, large, cost_growth, bytes_per_node: bytes_per_node.ok(), holds };
    if args.json {
        report::json(&found)?;
    } else {
        print(&found)?;
    }
    Ok(Verdict::of(holds))
}

fn latency() -> Latency {
    Latency::Uniform { least: Duration::from_millis(1), most: Duration::from_millis(5) }
}

/// Both loops in turns on a ring of this size with as many messages in flight.
fn contest(nodes: usize, events: u64, bar: &ProgressBar) -> Contest {
    let mut bare = Bare::new(nodes, latency());
    let mut world = ring::world(nodes, latency());
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
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
    let before = peak_memory()?;
    let mut world = ring::world(nodes, latency());
    for _ in 0..3 * nodes {
        world.advance();
    }
    let after = peak_memory()?;
    Ok((after - before) as f64 / nodes as f64)
}

/// The most memory this process ever had, in bytes, as Linux counts it.
fn peak_memory() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("Memory can be measured on Linux only")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("Linux does not say VmHWM")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1_024)
}

fn print(report: &Report) -> anyhow::Result<()> {
    let mut out = output();
    let word = |good: bool| if good { paint::good("ok") } else { paint::bad("MISSED") };
    writeln!(out, "A ring with one message in flight for each node, metrics on, journal off")?;
    writeln!(out, "(best of {ROUNDS} rounds each, the two loops in turns)\n")?;
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
