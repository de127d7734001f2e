//! `quorate bench sim`: measures the simulator beside a bare event loop, which does the same work
//! with a binary heap and no simulator.

use super::bare::BareLoop;
use super::{Steps, conclude, format_met_or_missed, ring};
use crate::CommandOutcome;
use crate::args::BenchArgs;
use crate::output::output;
use crate::{memory, paint, report};
use anyhow::Context;
use quorate_core::Duration;
use quorate_journal::settings::Latency;
use serde::Serialize;
use std::io::Write;
use std::process::Command;
use std::time::Instant;

/// Numbers of nodes of the two rings.
const SMALL_RING_NODES: usize = 1_000;
const LARGE_RING_NODES: usize = 1_000_000;
/// Default number of events of each loop in the small ring.
const DEFAULT_EVENTS: u64 = 20_000_000;
/// Divisor of the number of events in the large ring, where each costs several times as much.
const LARGE_RING_EVENT_DIVISOR: u64 = 4;

/// Targets: rate relative to the bare loop in the small and the large ring, cost of an event in the
/// large ring relative to the small one, and bytes per node of the large ring.
const MIN_RATE_RATIO_SMALL: f64 = 0.4;
const MIN_RATE_RATIO_LARGE: f64 = 1.0;
const MAX_COST_GROWTH: f64 = 6.0;
const MAX_BYTES_PER_NODE: f64 = 400.0;

#[derive(Serialize)]
struct SimBenchReport {
    /// Number of events of each loop in the small ring.
    events: u64,
    small: RingComparison,
    large: RingComparison,
    /// Cost of an event in the large ring relative to the small one.
    cost_growth: f64,
    /// Null if the measurement failed.
    bytes_per_node: Option<f64>,
    /// Why the memory was not measured.
    #[serde(skip)]
    memory_error: Option<anyhow::Error>,
    /// Whether all targets are met.
    holds: bool,
}

#[derive(Serialize)]
struct RingComparison {
    nodes: usize,
    bare_events_per_second: f64,
    sim_events_per_second: f64,
    /// The simulator's rate relative to the bare loop's.
    #[serde(rename = "share")]
    rate_ratio: f64,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    if let Some(nodes) = args.memory_of {
        writeln!(output(), "{}", measure_bytes_per_node(nodes)?)?;
        return Ok(CommandOutcome::Holds);
    }
    let (events, runs) = (args.events.unwrap_or(DEFAULT_EVENTS), args.runs());
    anyhow::ensure!(events >= 1_000, "--events must be at least 1000; got {events}.");
    // Each run measures two loops on two rings. The memory is measured once, after all runs.
    let steps = Steps::new(runs.saturating_mul(4).saturating_add(1));
    let small = compare(SMALL_RING_NODES, events, runs, &steps)?;
    let large = compare(LARGE_RING_NODES, events / LARGE_RING_EVENT_DIVISOR, runs, &steps)?;
    let bytes_per_node =
        steps.perform("memory of a million nodes".into(), || Ok(measure_bytes_per_node_in_child(LARGE_RING_NODES)))?;
    let cost_growth = small.sim_events_per_second / large.sim_events_per_second;
    let holds = small.rate_ratio >= MIN_RATE_RATIO_SMALL
        && large.rate_ratio >= MIN_RATE_RATIO_LARGE
        && cost_growth <= MAX_COST_GROWTH
        && bytes_per_node.as_ref().is_ok_and(|bytes| *bytes <= MAX_BYTES_PER_NODE);
    let (bytes_per_node, memory_error) = match bytes_per_node {
        Ok(bytes) => (Some(bytes), None),
        Err(error) => (None, Some(error)),
    };
    let report = SimBenchReport { events, small, large, cost_growth, bytes_per_node, memory_error, holds };
    conclude(&report, args, |report| print(report, runs), holds)
}

/// Returns the delay of a message, the same in both loops.
fn message_latency() -> Latency {
    Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(5) }
}

/// Measures both loops alternately on a ring of this size, with one message in flight per node.
fn compare(nodes: usize, events: u64, runs: u64, steps: &Steps) -> anyhow::Result<RingComparison> {
    let mut bare = BareLoop::new(nodes, message_latency());
    let mut world = ring::start_world(nodes, message_latency());
    let (mut bare_seconds, mut sim_seconds) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..runs {
        let measure = |best: &mut f64, advance: &mut dyn FnMut() -> bool| {
            steps.perform(format!("{nodes} nodes"), || {
                *best = best.min(measure_seconds(events, advance));
                Ok(())
            })
        };
        measure(&mut bare_seconds, &mut || bare.advance())?;
        measure(&mut sim_seconds, &mut || world.advance())?;
    }
    let [bare_rate, sim_rate] = [bare_seconds, sim_seconds].map(|seconds| events as f64 / seconds);
    Ok(RingComparison {
        nodes,
        bare_events_per_second: bare_rate,
        sim_events_per_second: sim_rate,
        rate_ratio: sim_rate / bare_rate,
    })
}

/// Returns the time in which a loop handles this number of events.
fn measure_seconds(events: u64, mut advance: impl FnMut() -> bool) -> f64 {
    let started = Instant::now();
    for _ in 0..events {
        if !advance() {
            break;
        }
    }
    started.elapsed().as_secs_f64()
}

/// Measures the memory of a simulation in a separate process, which holds nothing else.
fn measure_bytes_per_node_in_child(nodes: usize) -> anyhow::Result<f64> {
    let output =
        Command::new(std::env::current_exe()?).args(["bench", "sim", "--memory-of", &nodes.to_string()]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "the process that measures memory failed: {}", errors.trim());
    let text = String::from_utf8(output.stdout)?;
    text.trim().parse().context("the process that measures memory did not print a number")
}

/// Returns the growth of this process's peak memory per node while it simulates a ring.
fn measure_bytes_per_node(nodes: usize) -> anyhow::Result<f64> {
    let before = memory::peak_bytes()?;
    let mut world = ring::start_world(nodes, message_latency());
    // Every token travels about three hops, so queues reach their final size.
    for _ in 0..3 * nodes {
        world.advance();
    }
    let after = memory::peak_bytes()?;
    Ok((after - before) as f64 / nodes as f64)
}

fn print(report: &SimBenchReport, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "A ring with one message in flight per node, with metrics and without a journal")?;
    let runs = report::format_count(runs, "run");
    writeln!(out, "(best of {runs} each, the two loops alternately)\n")?;
    let heading = format!("{:>10}{:>18}{:>18}{:>9}{:>9}", "nodes", "bare loop", "simulator", "ratio", "at least");
    writeln!(out, "{}", paint::bold(&heading))?;
    for (row, min) in [(&report.small, MIN_RATE_RATIO_SMALL), (&report.large, MIN_RATE_RATIO_LARGE)] {
        writeln!(
            out,
            "{:>10}{:>14.1} M/s{:>14.1} M/s{:>9.2}{min:>9.1}  {}",
            row.nodes,
            row.bare_events_per_second / 1e6,
            row.sim_events_per_second / 1e6,
            row.rate_ratio,
            format_met_or_missed(row.rate_ratio >= min)
        )?;
    }
    let growth = report.cost_growth;
    writeln!(
        out,
        "\ncost of an event, large ring relative to small: {growth:.1} (at most {MAX_COST_GROWTH})  {}",
        format_met_or_missed(growth <= MAX_COST_GROWTH)
    )?;
    if let Some(bytes) = report.bytes_per_node {
        writeln!(
            out,
            "memory: {bytes:.0} bytes per node (at most {MAX_BYTES_PER_NODE})  {}",
            format_met_or_missed(bytes <= MAX_BYTES_PER_NODE)
        )?;
    }
    if let Some(error) = &report.memory_error {
        writeln!(out, "memory: not measured: {error:#}")?;
    }
    Ok(())
}
