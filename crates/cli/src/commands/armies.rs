//! `armies`: two armies that must attack together. `sim` runs them once, `check` explores every run
//! in either model of time, and `explain` explains them.

mod json;

use super::explain::{self, Example};
use crate::args::{ArmiesCheckArgs, ArmiesSimArgs, ExplainArgs};
use crate::output::output;
use crate::report::{count, grouped};
use crate::{CommandOutcome, paint, report};
use json::{CheckReport, RunReport};
use quorate_core::{Duration, NodeId, Span, Time};
use quorate_demos::armies;
use quorate_demos::armies::ARMIES;
use quorate_demos::armies::Entry;
use quorate_demos::armies::Judged;
use quorate_demos::armies::Outcome;
use quorate_demos::armies::PROFILE;
use quorate_demos::armies::Timeline;
use quorate_demos::armies::Violation;
use quorate_demos::armies::War;
use quorate_demos::armies::What;
use quorate_journal::settings::DurationRange;
use quorate_journal::settings::Length;
use std::fmt;
use std::io::Write;

pub(crate) fn check(args: &ArmiesCheckArgs) -> anyhow::Result<CommandOutcome> {
    let (war, within) = (args.war(), args.within());
    let outcome = armies::check(&war, within)?;
    if args.war.json {
        report::print_json(&CheckReport::new(&war, within, &outcome))?;
    } else {
        print(&war, within, &outcome)?;
    }
    Ok(CommandOutcome::from_holds(outcome.holds()))
}

fn print(war: &War, within: Option<Duration>, outcome: &Outcome) -> anyhow::Result<()> {
    let mut out = output();
    let clocks = if war.drift_ppm > 0 { format!(" · clocks off by {}ppm", war.drift_ppm) } else { String::new() };
    writeln!(out, "{}{clocks}\n", heading(war))?;
    for Judged { name, violation } in &outcome.verdicts {
        let verdict = match violation {
            None => paint::good(&format!("{:<19}", "holds")),
            Some(Violation { steps, .. }) => {
                paint::bad(&format!("{:<19}", format!("FAILS in {}", count(*steps as u64, "step"))))
            }
        };
        writeln!(out, "  {name:<13}{verdict}{}", paint::dim(&meaning(name, within)))?;
    }
    for Judged { name, violation } in &outcome.verdicts {
        let Some(Violation { timeline, .. }) = violation else { continue };
        writeln!(out, "\n{}\n", paint::bold(&format!("A shortest run that violates '{name}':")))?;
        write!(out, "{}", Columns(timeline))?;
        writeln!(out, "\n  {}", paint::bad(&describe_attacks(timeline, within)))?;
    }
    let completeness = if outcome.complete { "complete: every state was explored" } else { "not finished" };
    writeln!(out, "\n{completeness}, {} in total", grouped(outcome.states))?;
    if within.is_none() {
        let hint =
            format!("To check a bound on the time between the attacks: quorate check {} --within 1s", PROFILE.name);
        writeln!(out, "{}", paint::dim(&hint))?;
    }
    Ok(())
}

/// Describes the armies and the delays of their messages.
fn heading(war: &War) -> String {
    let [first, second] = war.strengths;
    let delay = match war.delay {
        Some(span) => format!("synchronous: messages take {}", DurationRange(span)),
        None => "asynchronous: messages take any time".into(),
    };
    let links = if war.fifo { "in order" } else { "in any order" };
    format!("{} · strengths {first} and {second} · {delay}, {links}", paint::bold(PROFILE.name))
}

/// Describes what a property requires.
fn meaning(name: &str, within: Option<Duration>) -> String {
    match (name, within) {
        ("who", _) => "armies that know a leader know the same one".into(),
        ("both-know", _) => "eventually both know who leads".into(),
        ("both-attack", _) => "eventually both attack".into(),
        (_, Some(within)) => format!("the second attack comes at most {} after the first", Length(within)),
        (_, None) => String::new(),
    }
}

/// Describes the time between the attacks.
fn describe_attacks(timeline: &Timeline, within: Option<Duration>) -> String {
    let (Some(gap), [Some(one), Some(other)]) = (timeline.gap(), timeline.attacks()) else {
        return "Not both armies attack.".into();
    };
    let excess =
        within.and_then(|within| Some((within, Duration::from_nanos(gap.nanos().checked_sub(within.nanos())?))));
    let excess = excess.filter(|(_, excess)| *excess > Duration::ZERO);
    let remark = excess.map_or(String::new(), |(within, excess)| {
        format!(", which is {} more than {}", Length(excess), Length(within))
    });
    let ([first, second], [sooner, later]) =
        if one <= other { (ARMIES, [one, other]) } else { ([ARMIES[1], ARMIES[0]], [other, one]) };
    format!(
        "Army {first} attacks at {}, army {second} at {}: {} later{remark}.",
        instant(sooner),
        instant(later),
        Length(gap)
    )
}

/// Returns the time since the start, printed to the nanosecond.
fn instant(time: Time) -> Length {
    Length(time.since(Time::ZERO))
}

pub(crate) fn sim(args: &ArmiesSimArgs) -> anyhow::Result<CommandOutcome> {
    let war = args.war.war();
    let timeline = armies::simulate(&war, args.seed)?;
    let is_correct = is_as_guaranteed(&war, &timeline);
    if args.war.json {
        report::print_json(&RunReport::new(&war, args.seed, &timeline))?;
        return Ok(CommandOutcome::from_holds(is_correct));
    }
    let mut out = output();
    writeln!(out, "{} · seed {}\n", heading(&war), args.seed)?;
    write!(out, "{}", Columns(&timeline))?;
    let attacks = describe_attacks(&timeline, war.guarantee());
    writeln!(out, "\n  {}", if is_correct { paint::good(&attacks) } else { paint::bad(&attacks) })?;
    let hint = match war.guarantee() {
        Some(guarantee) => format!(
            "In no run are the attacks further apart than {}: quorate check {} --delay {}",
            Length(guarantee),
            PROFILE.name,
            delay(&war)
        ),
        None => format!("The time between the attacks has no bound: quorate check {} --within 1h", PROFILE.name),
    };
    writeln!(out, "{}", paint::dim(&hint))?;
    Ok(CommandOutcome::from_holds(is_correct))
}

fn delay(war: &War) -> DurationRange {
    DurationRange(war.delay.unwrap_or(Span::exactly(Duration::ZERO)))
}

/// Whether both armies attacked under the same leader, within the guaranteed time of each other.
fn is_as_guaranteed(war: &War, timeline: &Timeline) -> bool {
    let [one, other] = timeline.leaders();
    let is_close = |gap: Duration| war.guarantee().is_none_or(|guarantee| gap <= guarantee);
    one.is_some() && one == other && timeline.gap().is_some_and(is_close)
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
    let war = War { delay: Some(Span::between(ms(2), ms(5))), ..War::new([3, 5].map(armies::Strength)) };
    let timeline = armies::simulate(&war, 1)?;
    let example = Example {
        title: "Army 2 is stronger and leads; messages take between 2 and 5 ms",
        lines: Columns(&timeline).to_string().lines().map(str::to_owned).collect(),
        command: format!("quorate sim {} --delay {}", PROFILE.name, delay(&war)),
    };
    explain::explain_demo(args, &PROFILE, &example)
}

/// Prints a timeline as a table with one column per army.
struct Columns<'a>(&'a Timeline);

/// Whether the table shows an entry. An attack has no line of its own, because the rule before it
/// mentions it.
fn is_shown(entry: &&Entry) -> bool {
    !matches!(entry.what, What::Attacks)
}

impl fmt::Display for Columns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<&Entry> = self.0.entries.iter().filter(is_shown).collect();
        let title = |army: NodeId| format!("army {army}");
        let width = |army: NodeId| {
            let entries_of_army = entries.iter().filter(|entry| entry.army == army);
            entries_of_army.map(|entry| entry.to_string().chars().count()).max().unwrap_or(0).max(title(army).len()) + 3
        };
        let time_width = entries.iter().map(|entry| instant(entry.time).to_string().len()).max().unwrap_or(0).max(4);
        let row = |time: String, cell: &dyn Fn(NodeId) -> String| {
            let cells: String = ARMIES.iter().map(|army| format!("{:<1$}", cell(*army), width(*army))).collect();
            format!("  {time:>time_width$}   {}", cells.trim_end())
        };
        writeln!(f, "{}", row("time".into(), &title))?;
        for entry in &entries {
            let cell = |army: NodeId| if army == entry.army { entry.to_string() } else { String::new() };
            writeln!(f, "{}", row(instant(entry.time).to_string(), &cell))?;
        }
        Ok(())
    }
}
