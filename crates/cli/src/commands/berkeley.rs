//! `quorate sim berkeley`: an elected leader synchronizes the clocks of its group.

use crate::args::BerkeleyArgs;
use crate::output::output;
use crate::report::{self, format_count, format_thousands};
use crate::{CommandOutcome, paint};
use quorate_core::{Duration, Group, Time};
use quorate_demos::berkeley::{self, Milestone, MilestoneKind, Report, RoundReport, Scenario};
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
        plan.write(&plot_spread(&scenario, &report), args.json)?;
    }
    Ok(CommandOutcome::Holds)
}

fn print(scenario: &Scenario, report: &Report) -> io::Result<()> {
    let mut out = output();
    writeln!(out, "{} · {}\n", paint::bold("berkeley"), describe_conditions(scenario))?;
    let heading = format!("  {:<56}{:>12}{:>12}", "event", "time", "spread");
    writeln!(out, "{}", paint::bold(&heading))?;
    for Milestone { at, spread, kind } in &report.milestones {
        writeln!(out, "  {:<56}{:>12}{:>12}", describe_milestone(kind), at.to_string(), spread.to_string())?;
    }
    writeln!(out, "\n  {:<12}{}", "elections", describe_elections(report))?;
    let averages = format_count(report.rounds.len() as u64, "average");
    writeln!(out, "  {:<12}{averages}; after a round, clocks differ by at most {}", "rounds", scenario.uncertainty())?;
    let messages = report.messages;
    let (rounds, elections) = (format_thousands(messages.rounds), format_thousands(messages.elections));
    writeln!(out, "  {:<12}{rounds} in rounds, {elections} in elections", "messages")?;
    let lines = describe_left_out(&report.rounds);
    if lines.is_empty() {
        writeln!(out, "  {:<12}none", "left out")?;
    }
    for (index, line) in lines.iter().enumerate() {
        writeln!(out, "  {:<12}{line}", if index == 0 { "left out" } else { "" })?;
    }
    Ok(())
}

fn describe_conditions(scenario: &Scenario) -> String {
    let Scenario { nodes, seed, latency, max_skew, max_drift, period, .. } = scenario;
    let (nodes, skew, period) = (format_count(*nodes as u64, "node"), Length(*max_skew), Length(*period));
    format!("{nodes} · seed {seed} · {latency} · skew up to {skew} · drift up to {max_drift} · a round every {period}")
}

fn describe_milestone(kind: &MilestoneKind) -> String {
    match kind {
        MilestoneKind::Begins => "start".into(),
        MilestoneKind::Elected { leader, epoch, leaderless_time: None } => {
            format!("node {leader} is elected in epoch {epoch}")
        }
        MilestoneKind::Elected { leader, epoch, leaderless_time: Some(time) } => {
            format!("node {leader} is elected in epoch {epoch}, {time} leaderless")
        }
        MilestoneKind::FirstRound { leader, .. } => format!("after the first round of node {leader}"),
        MilestoneKind::Crashes { node, was_leader: true } => format!("node {node}, the leader, crashes"),
        MilestoneKind::Crashes { node, was_leader: false } => format!("node {node} crashes"),
        MilestoneKind::Restarts { node } => format!("node {node} restarts with its unadjusted clock"),
        MilestoneKind::Ends => "end".into(),
    }
}

fn describe_elections(report: &Report) -> String {
    let elected = report.milestones.iter().filter_map(|Milestone { at, kind, .. }| match kind {
        MilestoneKind::Elected { leader, epoch, .. } => Some(format!("node {leader} in epoch {epoch} at {at}")),
        MilestoneKind::Begins
        | MilestoneKind::FirstRound { .. }
        | MilestoneKind::Crashes { .. }
        | MilestoneKind::Restarts { .. }
        | MilestoneKind::Ends => None,
    });
    let elected: Vec<_> = elected.collect();
    if elected.is_empty() { "no leader was elected".into() } else { elected.join(", ") }
}

/// Lists the nodes that the leader left out of the average. One line stands for all consecutive
/// rounds in which the same leader left out the same nodes for the same reasons.
fn describe_left_out(rounds: &[RoundReport]) -> Vec<String> {
    let is_same_series = |one: &RoundReport, other: &RoundReport| {
        (one.round.epoch, &one.outliers, &one.silent) == (other.round.epoch, &other.outliers, &other.silent)
    };
    let series =
        rounds.chunk_by(is_same_series).filter(|rounds| rounds.first().is_some_and(|round| !includes_all(round)));
    series.filter_map(|rounds| Some(describe_series(rounds.first()?, rounds.last()?))).collect()
}

fn includes_all(round: &RoundReport) -> bool {
    round.outliers.is_empty() && round.silent.is_empty()
}

fn describe_series(first: &RoundReport, last: &RoundReport) -> String {
    let (from, to) = (first.round.number, last.round.number);
    let rounds = if from == to { format!("round {from}") } else { format!("rounds {from} to {to}") };
    let reasons = [(&first.outliers, "too far off"), (&first.silent, "no answer")];
    let explained =
        reasons.into_iter().filter(|(nodes, _)| !nodes.is_empty()).map(|(nodes, reason)| format_reason(nodes, reason));
    format!("{} ({rounds} of node {})", explained.collect::<Vec<_>>().join(", "), first.leader)
}

fn format_reason(nodes: &Group, reason: &str) -> String {
    format!("{}{nodes}: {reason}", if nodes.len() == 1 { "node " } else { "nodes " })
}

/// Plots the spread over time, with the largest possible spread after a round as a line, and marks
/// elections, crashes of leaders and restarts.
fn plot_spread(scenario: &Scenario, report: &Report) -> Figure {
    let point = |at: Time, spread: Duration| Point::new(at.nanos() as f64 / 1e9, spread.nanos() as f64 / 1e6);
    let end = scenario.run_length.nanos() as f64 / 1e9;
    let limit = scenario.uncertainty().nanos() as f64 / 1e6;
    let spread = Series::new("spread of the clocks")
        .points(report.samples.iter().map(|sample| point(sample.at, sample.spread)))
        .joined()
        .formula("largest spread after a round", [(0.0, limit), (end, limit)]);
    let marked = |name: &str, is_marked: fn(&MilestoneKind) -> bool| {
        let milestones = report.milestones.iter().filter(|milestone| is_marked(&milestone.kind));
        Series::new(name).points(milestones.map(|milestone| point(milestone.at, milestone.spread).ring()))
    };
    let marks = [
        marked("a leader is elected", |kind| matches!(kind, MilestoneKind::Elected { .. })),
        marked("the leader crashes", |kind| matches!(kind, MilestoneKind::Crashes { was_leader: true, .. })),
        marked("a node restarts", |kind| matches!(kind, MilestoneKind::Restarts { .. })),
    ];
    let plot = Plot::new("").x(Axis::linear("time").unit("s")).y(Axis::log("spread").unit("ms")).with_series(spread);
    let plot = marks.into_iter().filter(|series| !series.points.is_empty()).fold(plot, Plot::with_series);
    // The names of the series say what each kind of mark means, so the key need not.
    let key = Key { solid: String::new(), ring: String::new(), formula: String::new(), ..Key::default() };
    Figure::new("Clock synchronization by an elected leader")
        .subtitle(describe_conditions(scenario))
        .key(key)
        .with_plot(plot)
}
