//! `quorate bench net`: measures small messages between two processes, beside a bare tokio loop
//! between two processes.

mod bare;
mod nodes;
mod partner;

use super::{Steps, conclude, format_met_or_missed};
use crate::CommandOutcome;
use crate::args::BenchArgs;
use crate::output::output;
use crate::{paint, report};
use anyhow::Context;
use clap::ValueEnum;
use partner::{Certificates, Environment};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Number of one-way messages per run.
const MESSAGES: u64 = 2_000_000;
/// Number of round trips per run.
const ROUND_TRIPS: u64 = 20_000;
/// Target: minimum message rate, relative to the bare loop.
const MIN_RATE_RATIO: f64 = 0.6;
/// Target: maximum median round trip, relative to the bare loop.
const MAX_ROUND_TRIP_RATIO: f64 = 1.3;

/// The payload: about as long as a request or reply of the algorithms for mutual exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Payload {
    number: u64,
    value: u64,
}

impl Payload {
    fn new(number: u64) -> Self {
        // A large value, because the encoding of a small one is short.
        Self { number, value: 0x0123_4567_89AB_CDEF }
    }
}

/// A program to measure.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetContender {
    /// A tokio loop with buffers and length prefixes.
    Bare,
    /// The tokio loop over TLS.
    BareTls,
    /// Two nodes over plain TCP.
    Node,
    /// Two nodes over TLS.
    NodeTls,
}

impl NetContender {
    const ALL: [Self; 4] = [Self::Bare, Self::Node, Self::BareTls, Self::NodeTls];

    fn is_encrypted(self) -> bool {
        matches!(self, Self::BareTls | Self::NodeTls)
    }

    fn is_bare(self) -> bool {
        matches!(self, Self::Bare | Self::BareTls)
    }
}

/// The figures of one run of one contender.
struct Figures {
    /// One-way messages per second.
    messages_per_second: f64,
    /// Durations of the round trips in nanoseconds.
    round_trips_ns: Vec<u64>,
}

/// The best figures over a contender's runs: the highest rate, and the round trips of the run with
/// the lowest median.
#[derive(Clone, Copy, Default, Serialize)]
struct BestFigures {
    messages_per_second: f64,
    /// Median round trip; 0 before the first run.
    p50_ns: u64,
    p99_ns: u64,
}

impl BestFigures {
    fn update(&mut self, mut figures: Figures) {
        figures.round_trips_ns.sort_unstable();
        let (p50, p99) = (percentile(&figures.round_trips_ns, 50), percentile(&figures.round_trips_ns, 99));
        self.messages_per_second = self.messages_per_second.max(figures.messages_per_second);
        if self.p50_ns == 0 || p50 < self.p50_ns {
            (self.p50_ns, self.p99_ns) = (p50, p99);
        }
    }
}

/// Returns a percentile of sorted values.
pub(super) fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let index = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(index).copied().unwrap_or_default()
}

#[derive(Serialize)]
struct SecurityRow {
    security: &'static str,
    bare: BestFigures,
    quorate: BestFigures,
    /// Message rate relative to that of the bare loop.
    #[serde(rename = "share")]
    rate_ratio: f64,
    /// Median round trip relative to that of the bare loop.
    #[serde(rename = "times")]
    round_trip_ratio: f64,
}

#[derive(Serialize)]
struct NetBenchReport {
    messages: u64,
    round_trips: u64,
    rows: Vec<SecurityRow>,
    /// Whether the targets are met over plain TCP.
    holds: bool,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    // A benchmark started this process as the second one of a run.
    if let Some(contender) = args.partner {
        partner::serve(contender, args)?;
        return Ok(CommandOutcome::Holds);
    }
    let cores = partner::cores();
    let environment = Environment { certificates: Certificates::make()?, second_core: cores.map(|(_, last)| last) };
    if let Some((first, _)) = cores {
        partner::pin(first);
    }
    let steps = Steps::new(args.runs().saturating_mul(NetContender::ALL.len() as u64));
    let mut best = [BestFigures::default(); NetContender::ALL.len()];
    for _ in 0..args.runs() {
        for (index, contender) in NetContender::ALL.into_iter().enumerate() {
            let security = if contender.is_encrypted() { "TLS" } else { "plain" };
            let name = if contender.is_bare() { "bare loop" } else { "nodes" };
            let figures = steps.perform(format!("{name}, {security}"), || {
                let measure = if contender.is_bare() { bare::measure } else { nodes::measure };
                measure(contender, &environment).context("the measurement failed")
            })?;
            if let Some(best) = best.get_mut(index) {
                best.update(figures);
            }
        }
    }
    let [bare, quorate, bare_tls, quorate_tls] = best;
    let rows = vec![build_row("plain", bare, quorate), build_row("TLS", bare_tls, quorate_tls)];
    let holds = rows
        .first()
        .is_some_and(|row| row.rate_ratio >= MIN_RATE_RATIO && row.round_trip_ratio <= MAX_ROUND_TRIP_RATIO);
    let report = NetBenchReport { messages: MESSAGES, round_trips: ROUND_TRIPS, rows, holds };
    conclude(&report, args, |report| print(report, args.runs()), holds)
}

fn build_row(security: &'static str, bare: BestFigures, quorate: BestFigures) -> SecurityRow {
    let rate_ratio = quorate.messages_per_second / bare.messages_per_second;
    let round_trip_ratio = quorate.p50_ns as f64 / bare.p50_ns.max(1) as f64;
    SecurityRow { security, bare, quorate, rate_ratio, round_trip_ratio }
}

fn print(report: &NetBenchReport, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "Payload messages between two processes on loopback, one thread and one core each")?;
    let runs = report::format_count(runs, "run");
    writeln!(
        out,
        "(best of {runs} each; bare: tokio's BufWriter and BufReader, a length before each message, the same encoding)\n"
    )?;
    let heading =
        format!("{:<8}{:<12}{:>16}{:>8}{:>12}{:>10}{:>8}", "", "", "one way", "ratio", "round trip", "p99", "ratio");
    writeln!(out, "{}", paint::bold(&heading))?;
    let micros = |nanos: u64| format!("{:.1} µs", nanos as f64 / 1_000.0);
    for SecurityRow { security, bare, quorate, rate_ratio, round_trip_ratio } in &report.rows {
        let line = |program: &str, best: &BestFigures, rate_ratio: String, round_trip_ratio: String| {
            let rate = format!("{:.2} M/s", best.messages_per_second / 1e6);
            let (p50, p99) = (micros(best.p50_ns), micros(best.p99_ns));
            format!("{program:<12}{rate:>16}{rate_ratio:>8}{p50:>12}{p99:>10}{round_trip_ratio:>8}")
        };
        writeln!(out, "{security:<8}{}", line("bare loop", bare, String::new(), String::new()))?;
        let quorate = line("quorate", quorate, format!("{rate_ratio:.2}"), format!("{round_trip_ratio:.2}"));
        writeln!(out, "{:<8}{quorate}", "")?;
    }
    let Some(plain) = report.rows.first() else { return Ok(()) };
    writeln!(
        out,
        "\nPlain: at least {MIN_RATE_RATIO} times the bare loop's message rate {}, at most {MAX_ROUND_TRIP_RATIO} times its round trip {}",
        format_met_or_missed(plain.rate_ratio >= MIN_RATE_RATIO),
        format_met_or_missed(plain.round_trip_ratio <= MAX_ROUND_TRIP_RATIO)
    )?;
    Ok(())
}
