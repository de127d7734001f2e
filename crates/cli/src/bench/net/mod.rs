//! `quorate bench net`: small messages between two processes, beside a bare tokio loop between two processes.

mod bare;
mod nodes;
mod partner;

use super::{progress_bar, word};
use crate::Verdict;
use crate::args::BenchArgs;
use crate::output::output;
use crate::{interrupt, paint, report};
use clap::ValueEnum;
use partner::{Certificates, Ground};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// How many messages go one way in a turn.
const MESSAGES: u64 = 2_000_000;
/// How many go there and back.
const ROUND_TRIPS: u64 = 20_000;
/// What must be reached of the bare loop's messages a second.
const LEAST_SHARE: f64 = 0.6;
/// How much longer than on the bare loop the median round trip may take.
const MOST_TIMES: f64 = 1.3;

/// What is sent: about as long as a request or a reply of the book's algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Small {
    number: u64,
    value: u64,
}

impl Small {
    fn new(number: u64) -> Self {
        Self { number, value: 0x0123_4567_89AB_CDEF }
    }
}

/// Who is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// A tokio loop with buffers and length prefixes.
    Bare,
    /// The same, encrypted.
    BareTls,
    /// Two nodes.
    Node,
    /// Two nodes with certificates.
    NodeTls,
}

impl Contender {
    const ALL: [Self; 4] = [Self::Bare, Self::Node, Self::BareTls, Self::NodeTls];

    fn is_encrypted(self) -> bool {
        matches!(self, Self::BareTls | Self::NodeTls)
    }

    fn is_bare(self) -> bool {
        matches!(self, Self::Bare | Self::BareTls)
    }
}

/// One turn of one contender.
struct Turn {
    /// Messages a second, one way.
    messages_per_second: f64,
    /// Each round trip, in nanoseconds.
    round_trips: Vec<u64>,
}

/// The best of a contender's turns.
#[derive(Clone, Copy, Default, Serialize)]
struct Best {
    messages_per_second: f64,
    p50_ns: u64,
    p99_ns: u64,
}

impl Best {
    fn take(&mut self, mut turn: Turn) {
        turn.round_trips.sort_unstable();
        let (p50, p99) = (percentile(&turn.round_trips, 50), percentile(&turn.round_trips, 99));
        self.messages_per_second = self.messages_per_second.max(turn.messages_per_second);
        if self.p50_ns == 0 || p50 < self.p50_ns {
            (self.p50_ns, self.p99_ns) = (p50, p99);
        }
    }
}

/// The value below which so many hundredths of the sorted ones lie.
fn percentile(sorted: &[u64], hundredths: usize) -> u64 {
    let place = sorted.len().saturating_sub(1) * hundredths / 100;
    sorted.get(place).copied().unwrap_or_default()
}

#[derive(Serialize)]
struct Row {
    security: &'static str,
    bare: Best,
    quorate: Best,
    /// Messages a second over those of the bare loop.
    share: f64,
    /// The median round trip over that of the bare loop.
    times: f64,
}

#[derive(Serialize)]
struct Report {
    messages: u64,
    round_trips: u64,
    rows: Vec<Row>,
    holds: bool,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Verdict> {
    if let Some(contender) = args.partner {
        partner::be(contender, args)?;
        return Ok(Verdict::Holds);
    }
    let cores = partner::cores();
    let ground = Ground { certificates: Certificates::make()?, core: cores.map(|(_, last)| last) };
    if let Some((first, _)) = cores {
        partner::settle(first);
    }
    let bar = progress_bar(args.turns.saturating_mul(Contender::ALL.len() as u64));
    let mut best = [Best::default(); Contender::ALL.len()];
    // The certificates' folder must go, whoever loses patience.
    interrupt::watch();
    for _ in 0..args.turns {
        for (place, contender) in Contender::ALL.into_iter().enumerate() {
            if interrupt::came() {
                bar.finish_and_clear();
                return Ok(Verdict::Unfinished);
            }
            let security = if contender.is_encrypted() { "TLS" } else { "plain" };
            bar.set_message(format!("{}, {security}", if contender.is_bare() { "bare loop" } else { "nodes" }));
            let turn = if contender.is_bare() {
                bare::measure(contender, &ground)
            } else {
                nodes::measure(contender, &ground)
            };
            // Said here, because an error of a socket, further up, is taken for one of the output.
            let turn = turn.map_err(|error| anyhow::anyhow!("The measurement failed: {error:#}."))?;
            if let Some(best) = best.get_mut(place) {
                best.take(turn);
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let [bare, quorate, bare_tls, quorate_tls] = best;
    let rows = vec![row("plain", bare, quorate), row("TLS", bare_tls, quorate_tls)];
    let holds = rows.first().is_some_and(|row| row.share >= LEAST_SHARE && row.times <= MOST_TIMES);
    let found = Report { messages: MESSAGES, round_trips: ROUND_TRIPS, rows, holds };
    if args.json {
        report::json(&found)?;
    } else {
        print(&found, args.turns)?;
    }
    Ok(Verdict::of(holds))
}

fn row(security: &'static str, bare: Best, quorate: Best) -> Row {
    let share = quorate.messages_per_second / bare.messages_per_second;
    Row { security, bare, quorate, share, times: quorate.p50_ns as f64 / bare.p50_ns.max(1) as f64 }
}

fn print(found: &Report, turns: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "Small messages between two processes on loopback, one thread and one core each")?;
    let turns = report::count(turns, "turn");
    writeln!(
        out,
        "(best of {turns} each; bare: tokio's BufWriter and BufReader, a length before each message, the same encoding)\n"
    )?;
    let heading =
        format!("{:<8}{:<12}{:>16}{:>8}{:>12}{:>10}{:>8}", "", "", "one way", "share", "round trip", "p99", "times");
    writeln!(out, "{}", paint::bold(&heading))?;
    let micros = |nanos: u64| format!("{:.1} µs", nanos as f64 / 1_000.0);
    for Row { security, bare, quorate, share, times } in &found.rows {
        let line = |who: &str, best: &Best, share: String, times: String| {
            let rate = format!("{:.2} M/s", best.messages_per_second / 1e6);
            let (p50, p99) = (micros(best.p50_ns), micros(best.p99_ns));
            format!("{who:<12}{rate:>16}{share:>8}{p50:>12}{p99:>10}{times:>8}")
        };
        writeln!(out, "{security:<8}{}", line("bare loop", bare, String::new(), String::new()))?;
        let quorate = line("quorate", quorate, format!("{share:.2}"), format!("{times:.2}"));
        writeln!(out, "{:<8}{quorate}", "")?;
    }
    let Some(plain) = found.rows.first() else { return Ok(()) };
    writeln!(
        out,
        "\nPlain: at least {LEAST_SHARE} of the bare loop's messages {}, at most {MOST_TIMES} times its round trip {}",
        word(plain.share >= LEAST_SHARE),
        word(plain.times <= MOST_TIMES)
    )?;
    Ok(())
}
