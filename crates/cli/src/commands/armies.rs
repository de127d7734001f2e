//! `armies`: two armies that must attack together. `sim` runs them once, `check` explores every run
//! in the synchronous or the asynchronous model, and `explain` explains the algorithm.

mod json;

use super::explain::{self, Example};
use crate::args::{ArmiesCheckArgs, ArmiesSimArgs, ExplainArgs};
use crate::output::output;
use crate::report::{format_count, format_thousands};
use crate::{CommandOutcome, paint, report};
use json::{ArmiesCheckReport, ArmiesRunReport};
use quorate_core::{Duration, NodeId, Span, Time};
use quorate_demos::armies;
use quorate_demos::armies::ARMIES;
use quorate_demos::armies::Occurrence;
use quorate_demos::armies::OccurrenceKind;
use quorate_demos::armies::Outcome;
use quorate_demos::armies::PROFILE;
use quorate_demos::armies::PropertyVerdict;
use quorate_demos::armies::Scenario;
use quorate_demos::armies::Timeline;
use quorate_demos::armies::Violation;
use quorate_journal::settings::DurationRange;
use quorate_journal::settings::Length;
use std::fmt;
use std::io::Write;

pub(crate) fn check(args: &ArmiesCheckArgs) -> anyhow::Result<CommandOutcome> {
    let (scenario, max_gap) = (args.scenario(), args.max_attack_gap());
    let outcome = armies::check(&scenario, max_gap)?;
    if args.scenario_args.json {
        report::print_json(&ArmiesCheckReport::new(&scenario, max_gap, &outcome))?;
    } else {
        print_check(&scenario, max_gap, &outcome)?;
    }
    Ok(CommandOutcome::from_holds(outcome.holds()))
}

fn print_check(scenario: &Scenario, max_gap: Option<Duration>, outcome: &Outcome) -> anyhow::Result<()> {
    let mut out = output();
    let clocks =
        if scenario.drift_ppm > 0 { format!(" · clocks off by {}ppm", scenario.drift_ppm) } else { String::new() };
    writeln!(out, "{}{clocks}\n", describe_scenario(scenario))?;
    for PropertyVerdict { name, violation } in &outcome.verdicts {
        let verdict = match violation {
            None => paint::good(&format!("{:<19}", "holds")),
            Some(Violation { steps, .. }) => {
                paint::bad(&format!("{:<19}", format!("FAILS in {}", format_count(*steps as u64, "step"))))
            }
        };
        writeln!(out, "  {name:<14}{verdict}{}", paint::dim(&describe_requirement(name, max_gap)))?;
    }
    for PropertyVerdict { name, violation } in &outcome.verdicts {
        let Some(Violation { timeline, .. }) = violation else { continue };
        writeln!(out, "\n{}\n", paint::bold(&format!("A shortest run that violates '{name}':")))?;
        write!(out, "{}", TimelineTable(timeline))?;
        writeln!(out, "\n  {}", paint::bad(&describe_attacks(timeline, max_gap)))?;
    }
    let states = format_thousands(outcome.states);
    if outcome.is_complete {
        writeln!(out, "\ncomplete: every state was explored, {states} in total")?;
    } else {
        writeln!(out, "\nnot finished: {states} states were explored")?;
    }
    if max_gap.is_none() {
        let hint =
            format!("To check a bound on the time between the attacks: quorate check {} --within 1s", PROFILE.name);
        writeln!(out, "{}", paint::dim(&hint))?;
    }
    Ok(())
}

/// Describes the armies and the delays of their messages.
fn describe_scenario(scenario: &Scenario) -> String {
    let [first, second] = scenario.strengths;
    let delay = match scenario.delay {
        Some(span) => format!("synchronous: messages take {}", DurationRange(span)),
        None => "asynchronous: messages take any time".into(),
    };
    let links = if scenario.is_fifo { "in order" } else { "in any order" };
    format!("{} · strengths {first} and {second} · {delay}, {links}", paint::bold(PROFILE.name))
}

/// Describes what a property requires. `max_gap` is the longest accepted time between the attacks.
fn describe_requirement(name: &str, max_gap: Option<Duration>) -> String {
    match (name, max_gap) {
        ("same-leader", _) => "armies that know a leader know the same one".into(),
        ("both-know", _) => "eventually both know who leads".into(),
        ("both-attack", _) => "eventually both attack".into(),
        (_, Some(max_gap)) => format!("the second attack comes at most {} after the first", Length(max_gap)),
        (_, None) => String::new(),
    }
}

/// Describes the time between the attacks, if both armies attack, and by how much it exceeds
/// `max_gap`.
fn describe_attacks(timeline: &Timeline, max_gap: Option<Duration>) -> String {
    let (Some(gap), [Some(one), Some(other)]) = (timeline.attack_gap(), timeline.attack_times()) else {
        return "At most one army attacks.".into();
    };
    let excess =
        max_gap.and_then(|max_gap| Some((max_gap, Duration::from_nanos(gap.nanos().checked_sub(max_gap.nanos())?))));
    let excess = excess.filter(|(_, excess)| *excess > Duration::ZERO);
    let remark = excess.map_or(String::new(), |(max_gap, excess)| {
        format!(", {} more than the accepted {}", Length(excess), Length(max_gap))
    });
    let ([first, second], [sooner, later]) =
        if one <= other { (ARMIES, [one, other]) } else { ([ARMIES[1], ARMIES[0]], [other, one]) };
    format!(
        "Army {first} attacks at {}, army {second} at {}: {} later{remark}.",
        since_start(sooner),
        since_start(later),
        Length(gap)
    )
}

/// Returns the time since the start as a length, which prints without rounding.
fn since_start(time: Time) -> Length {
    Length(time.since(Time::ZERO))
}

pub(crate) fn sim(args: &ArmiesSimArgs) -> anyhow::Result<CommandOutcome> {
    let scenario = args.scenario_args.scenario();
    let timeline = armies::simulate(&scenario, args.seed)?;
    let is_correct = meets_guarantee(&scenario, &timeline);
    if args.scenario_args.json {
        report::print_json(&ArmiesRunReport::new(&scenario, args.seed, &timeline))?;
        return Ok(CommandOutcome::from_holds(is_correct));
    }
    let mut out = output();
    writeln!(out, "{} · seed {}\n", describe_scenario(&scenario), args.seed)?;
    write!(out, "{}", TimelineTable(&timeline))?;
    let attacks = describe_attacks(&timeline, scenario.guaranteed_gap());
    writeln!(out, "\n  {}", if is_correct { paint::good(&attacks) } else { paint::bad(&attacks) })?;
    let hint = match scenario.guaranteed_gap() {
        Some(guarantee) => format!(
            "In no run are the attacks further apart than {}: quorate check {} --delay {}",
            Length(guarantee),
            PROFILE.name,
            delay_range(&scenario)
        ),
        None => format!("The time between the attacks has no bound: quorate check {} --within 1h", PROFILE.name),
    };
    writeln!(out, "{}", paint::dim(&hint))?;
    Ok(CommandOutcome::from_holds(is_correct))
}

/// Returns the range of message delays in the synchronous model.
fn delay_range(scenario: &Scenario) -> DurationRange {
    DurationRange(scenario.delay.unwrap_or(Span::exactly(Duration::ZERO)))
}

/// Whether both armies attacked under the same leader, and not further apart than guaranteed.
fn meets_guarantee(scenario: &Scenario, timeline: &Timeline) -> bool {
    let [one, other] = timeline.leaders();
    let is_close = |gap: Duration| scenario.guaranteed_gap().is_none_or(|guarantee| gap <= guarantee);
    one.is_some() && one == other && timeline.attack_gap().is_some_and(is_close)
}

/// `quorate explain armies`.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<CommandOutcome> {
    anyhow::ensure!(
        !args.picture.is_wanted(),
        "there is no picture of '{}'; 'quorate sim {}' prints a run.",
        PROFILE.name,
        PROFILE.name
    );
    let ms = Duration::from_millis;
    let scenario = Scenario { delay: Some(Span::between(ms(2), ms(5))), ..Scenario::new([3, 5].map(armies::Strength)) };
    // The command below needs neither the seed nor the strengths: these are the defaults.
    let seed = 1;
    let timeline = armies::simulate(&scenario, seed)?;
    let example = Example {
        title: "Army 2 is stronger and leads; messages take between 2 and 5 ms",
        lines: TimelineTable(&timeline).to_string().lines().map(str::to_owned).collect(),
        command: format!("quorate sim {} --delay {}", PROFILE.name, delay_range(&scenario)),
    };
    explain::explain_demo(args, &PROFILE, &example)
}

/// Prints a timeline as a table with one column per army.
struct TimelineTable<'a>(&'a Timeline);

/// Whether the table shows an occurrence. An attack has no line of its own, because the line of
/// the rule before it mentions the attack.
fn is_shown(occurrence: &&Occurrence) -> bool {
    !matches!(occurrence.kind, OccurrenceKind::Attacks)
}

impl fmt::Display for TimelineTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let occurrences: Vec<&Occurrence> = self.0.occurrences.iter().filter(is_shown).collect();
        let title = |army: NodeId| format!("army {army}");
        let width = |army: NodeId| {
            let occurrences_of_army = occurrences.iter().filter(|occurrence| occurrence.army == army);
            occurrences_of_army
                .map(|occurrence| occurrence.to_string().chars().count())
                .max()
                .unwrap_or(0)
                .max(title(army).len())
                + 3
        };
        let time_width = occurrences
            .iter()
            .map(|occurrence| since_start(occurrence.time).to_string().len())
            .max()
            .unwrap_or(0)
            .max(4);
        let row = |time: String, cell: &dyn Fn(NodeId) -> String| {
            let cells: String = ARMIES.iter().map(|army| format!("{:<1$}", cell(*army), width(*army))).collect();
            format!("  {time:>time_width$}   {}", cells.trim_end())
        };
        writeln!(f, "{}", row("time".into(), &title))?;
        for occurrence in &occurrences {
            let cell = |army: NodeId| if army == occurrence.army { occurrence.to_string() } else { String::new() };
            writeln!(f, "{}", row(since_start(occurrence.time).to_string(), &cell))?;
        }
        Ok(())
    }
}
