//! `quorate sim berkeley`: an elected leader synchronizes the clocks of its group.

use crate::args::BerkeleyArgs;
use crate::output::output;
use crate::report::{self, count, grouped};
use crate::{CommandOutcome, paint};
use quorate_core::{Duration, Group, Time};
use quorate_demos::berkeley::{self, Milestone, Report, RoundReport, Scenario, What};
use quorate_draw::plot::{Axis, Figure, Key, Plot, Point, Series};
use quorate_journal::settings::Length;
use serde::Serialize;
use std::io::{self, Write};

/// The scenario with its result, as `--json` prints it.
#[derive(Serialize)]
struct JsonReport<'a> {
    scenario: &'static str,
    #[serde(flatten)]
    settings: &'a Scenario,
    /// Largest possible difference between two clocks after a round.
    uncertainty_ns: Duration,
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn run(args: &BerkeleyArgs) -> anyhow::Result<CommandOutcome> {
    let scenario = args.scenario();
    scenario.validate()?;
    let picture = args.picture()?;
    let report = berkeley::run(&scenario)?;
    if args.json {
        let uncertainty_ns = scenario.uncertainty();
        report::print_json(&JsonReport { scenario: "berkeley", settings: &scenario, uncertainty_ns, report: &report })?;
    } else if picture.as_ref().is_none_or(|picture| !picture.is_on_stdout()) {
        print(&scenario, &report)?;
    }
    if let Some(plan) = &picture {
        plan.write(&figure(&scenario, &report), args.json)?;
    }
    Ok(CommandOutcome::Holds)
}

fn print(scenario: &Scenario, report: &Report) -> io::Result<()> {
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold("berkeley"), conditions(scenario))?;
    let head = format!("  {:<56}{:>12}{:>12}", "event", "time", "spread");
    writeln!(out, "{}", paint::bold(&head))?;
    for Milestone { at, spread, what } in &report.milestones {
        writeln!(out, "  {:<56}{:>12}{:>12}", describe(what), at.to_string(), spread.to_string())?;
    }
    writeln!(out, "\n  {:<12}{}", "elections", elections(report))?;
    let averages = count(report.rounds.len() as u64, "average");
    writeln!(out, "  {:<12}{averages}; after a round, clocks differ by at most {}", "rounds", scenario.uncertainty())?;
    let messages = report.messages;
    let (rounds, elections) = (grouped(messages.rounds), grouped(messages.elections));
    writeln!(out, "  {:<12}{rounds} in rounds, {elections} in elections", "messages")?;
    let lines = left_out(&report.rounds);
    if lines.is_empty() {
        writeln!(out, "  {:<12}none", "left out")?;
    }
    for (index, line) in lines.iter().enumerate() {
        writeln!(out, "  {:<12}{line}", if index == 0 { "left out" } else { "" })?;
    }
    Ok(())
}

fn conditions(scenario: &Scenario) -> String {
    let Scenario { nodes, seed, latency, skew, drift, every, .. } = scenario;
    let (nodes, skew, every) = (count(*nodes as u64, "node"), Length(*skew), Length(*every));
    format!("{nodes} · seed {seed} · {latency} · skew up to {skew} · drift up to {drift} · a round every {every}")
}

fn describe(what: &What) -> String {
    match what {
        What::Begins => "start".into(),
        What::Elected { leader, epoch, without: None } => format!("node {leader} is elected in epoch {epoch}"),
        What::Elected { leader, epoch, without: Some(without) } => {
            format!("node {leader} is elected in epoch {epoch}, {without} leaderless")
        }
        What::FirstRound { leader, .. } => format!("after the first round of node {leader}"),
        What::Crashes { node, led: true } => format!("node {node}, the leader, crashes"),
        What::Crashes { node, led: false } => format!("node {node} crashes"),
        What::Returns { node } => format!("node {node} restarts, with its own clock"),
        What::Ends => "end".into(),
    }
}

fn elections(report: &Report) -> String {
    let elected = report.milestones.iter().filter_map(|Milestone { at, what, .. }| match what {
        What::Elected { leader, epoch, .. } => Some(format!("node {leader} in epoch {epoch} at {at}")),
        What::Begins | What::FirstRound { .. } | What::Crashes { .. } | What::Returns { .. } | What::Ends => None,
    });
    let elected: Vec<_> = elected.collect();
    if elected.is_empty() { "no leader was elected".into() } else { elected.join(", ") }
}

/// Lists the nodes that the leader left out of the average, one line per series of rounds with the
/// same nodes.
fn left_out(rounds: &[RoundReport]) -> Vec<String> {
    let is_same_series = |one: &RoundReport, other: &RoundReport| {
        (one.round.epoch, &one.far, &one.silent) == (other.round.epoch, &other.far, &other.silent)
    };
    let series =
        rounds.chunk_by(is_same_series).filter(|rounds| rounds.first().is_some_and(|round| !includes_all(round)));
    series.filter_map(|rounds| Some(describe_series(rounds.first()?, rounds.last()?))).collect()
}

fn includes_all(round: &RoundReport) -> bool {
    round.far.is_empty() && round.silent.is_empty()
}

fn describe_series(first: &RoundReport, last: &RoundReport) -> String {
    let (from, to) = (first.round.number, last.round.number);
    let rounds = if from == to { format!("round {from}") } else { format!("rounds {from} to {to}") };
    let reasons = [(&first.far, "too far off"), (&first.silent, "no answer")];
    let explained = reasons.into_iter().filter(|(nodes, _)| !nodes.is_empty()).map(|(nodes, why)| because(nodes, why));
    format!("{} ({rounds} of node {})", explained.collect::<Vec<_>>().join(", "), first.leader)
}

fn because(nodes: &Group, why: &str) -> String {
    format!("{}{nodes}: {why}", if nodes.len() == 1 { "node " } else { "nodes " })
}

/// Plots the spread over time, with the uncertainty of a round trip as a line, and marks elections,
/// crashes of leaders and restarts.
fn figure(scenario: &Scenario, report: &Report) -> Figure {
    let point = |at: Time, spread: Duration| Point::new(at.nanos() as f64 / 1e9, spread.nanos() as f64 / 1e6);
    let end = scenario.length.nanos() as f64 / 1e9;
    let limit = scenario.uncertainty().nanos() as f64 / 1e6;
    let spread = Series::new("spread of the clocks")
        .points(report.samples.iter().map(|sample| point(sample.at, sample.spread)))
        .joined()
        .formula("largest spread after a round", [(0.0, limit), (end, limit)]);
    let marked = |name: &str, is_marked: fn(&What) -> bool| {
        let milestones = report.milestones.iter().filter(|milestone| is_marked(&milestone.what));
        Series::new(name).points(milestones.map(|milestone| point(milestone.at, milestone.spread).ring()))
    };
    let marks = [
        marked("a leader is elected", |what| matches!(what, What::Elected { .. })),
        marked("the leader crashes", |what| matches!(what, What::Crashes { led: true, .. })),
        marked("a node restarts", |what| matches!(what, What::Returns { .. })),
    ];
    let plot = Plot::new("").x(Axis::linear("time").unit("s")).y(Axis::log("spread").unit("ms")).with(spread);
    let plot = marks.into_iter().filter(|series| !series.points.is_empty()).fold(plot, Plot::with);
    let key = Key { solid: String::new(), ring: String::new(), formula: String::new(), ..Key::default() };
    Figure::new("Clock synchronization by an elected leader").subtitle(conditions(scenario)).key(key).with(plot)
}
