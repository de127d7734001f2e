//! `quorate sweep`: runs an algorithm with many seeds.

mod family;

use crate::CommandOutcome;
use crate::args::{PictureArgs, SweepArgs, threads};
use crate::output::output;
use crate::picture::{self, CommandIo, Picture};
use crate::report::count;
use crate::{interrupt, paint, progress, report};
use quorate_journal::property::{self, Kind};
use quorate_lab::experiment::{self, Outcome, header};
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::sweep::{self, Summary, Sweep, Tally};
use quorate_lab::{FamilyLab, Spec};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Instant;

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'a str,
    nodes: usize,
    first_seed: u64,
    seeds: u64,
    failed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    undecided: u64,
    events: u64,
    seconds: f64,
    properties: Vec<PropertyRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
struct PropertyRow {
    name: &'static str,
    kind: Kind,
    /// Null if it fails with no seed, and some seeds leave it undecided.
    holds: Option<bool>,
    /// Number of seeds with which it held or happened.
    seeds: u64,
    #[serde(skip_serializing_if = "is_zero")]
    undecided: u64,
}

#[derive(Serialize)]
struct Failure {
    seed: u64,
    property: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken_assumptions: Vec<&'static str>,
    replay: String,
}

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<CommandOutcome> {
    if let Some(family) = &args.family {
        return family::run(args, family);
    }
    dispatch_to_family(args.run.entry()?, args)
}

impl Task for &SweepArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        sweep::<F>(self)
    }
}

fn sweep<F: FamilyLab>(args: &SweepArgs) -> anyhow::Result<CommandOutcome> {
    let spec = args.run.spec::<F>()?;
    let (stdout_option, inputs) = (args.json.then_some("json"), [("script", args.run.script())]);
    args.picture.validate(&CommandIo { stdout_option, inputs: &inputs, ..CommandIo::default() })?;
    anyhow::ensure!(args.seeds > 0, "--seeds must be at least 1; got 0.");
    let threads = threads(args.threads)?;
    let sweep = Sweep { spec, seeds: args.seeds, threads, keep_going: args.keep_going };
    let bar = progress::bar(args.seeds, "{pos}/{len} seeds, {per_sec}, {eta} left{msg}");
    let started = Instant::now();
    interrupt::install_handler();
    let summary = sweep::run(&sweep, |summary| {
        bar.set_position(summary.seeds);
        if summary.failed > 0 {
            bar.set_message(format!(", {} failed", summary.failed));
        }
        !interrupt::was_requested()
    })?;
    bar.finish_and_clear();
    let seconds = started.elapsed().as_secs_f64();
    let failure = match &summary.first_failure {
        Some((seed, _)) if !args.json || args.picture.is_wanted() => {
            Some(repeat_failed_run(with_seed(&sweep.spec, *seed), &args.picture)?)
        }
        Some(_) | None => None,
    };
    // Print the verdicts even if the picture could not be written.
    let drawn = failure.as_ref().and_then(|failure| failure.pictures.as_deref().ok()).unwrap_or_default();
    if args.json {
        report::print_json(&json_report(&sweep.spec, &summary, seconds, drawn))?;
    } else if args.picture.takes_stdout() {
        note_nothing_to_draw(args, &summary, &mut io::stderr())?;
    } else {
        print(&sweep, &summary, seconds, failure.as_ref(), args)?;
    }
    if let Some(failure) = failure {
        failure.pictures?;
    }
    let is_unfinished = is_interrupted(&sweep, &summary) || summary.failed == 0 && summary.undecided > 0;
    Ok(if is_unfinished { CommandOutcome::Unfinished } else { CommandOutcome::from_holds(summary.holds()) })
}

/// The repeated run of the first failing seed.
struct FailedRun<F: FamilyLab> {
    spec: Spec<F>,
    outcome: Outcome<F>,
    pictures: anyhow::Result<Vec<Picture>>,
}

fn repeat_failed_run<F: FamilyLab>(spec: Spec<F>, args: &PictureArgs) -> anyhow::Result<FailedRun<F>> {
    let (outcome, pictures) = picture::draw::<F, _>(args, &header(&spec)?, |pictures| {
        Ok(experiment::run_with(&spec, io::sink(), pictures)?.0)
    })?;
    Ok(FailedRun { spec, outcome, pictures })
}

/// Notes that there is no failing run to draw, if a picture was requested.
fn note_nothing_to_draw(args: &SweepArgs, summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    if args.picture.is_wanted() && summary.first_failure.is_none() {
        writeln!(out, "\nno seed failed, so no picture was drawn and existing files are unchanged")?;
    }
    Ok(())
}

/// Whether the sweep stopped early without a failure.
fn is_interrupted<F: FamilyLab>(sweep: &Sweep<F>, summary: &Summary) -> bool {
    summary.seeds < sweep.seeds && summary.failed == 0
}

fn json_report<'a, F: FamilyLab>(
    spec: &'a Spec<F>,
    summary: &Summary,
    seconds: f64,
    pictures: &'a [Picture],
) -> Report<'a> {
    let row = |tally: &Tally| PropertyRow {
        name: tally.name,
        kind: tally.kind,
        holds: tally.holds(summary.seeds),
        seeds: tally.held,
        undecided: tally.undecided,
    };
    let failure = summary.first_failure.as_ref().map(|(seed, verdict)| Failure {
        seed: *seed,
        property: verdict.name,
        text: verdict.violation.as_ref().map(|violation| violation.text.clone()).unwrap_or_default(),
        broken_assumptions: with_seed(spec, *seed).broken_assumptions(),
        replay: with_seed(spec, *seed).command("sim"),
    });
    Report {
        algorithm: spec.algorithm.name(),
        nodes: spec.nodes,
        first_seed: spec.seed,
        seeds: summary.seeds,
        failed: summary.failed,
        undecided: summary.undecided,
        events: summary.events,
        seconds,
        properties: summary.properties.iter().map(row).collect(),
        failure,
        pictures,
    }
}

fn print<F: FamilyLab>(
    sweep: &Sweep<F>,
    summary: &Summary,
    seconds: f64,
    failure: Option<&FailedRun<F>>,
    args: &SweepArgs,
) -> anyhow::Result<()> {
    let mut out = output();
    let spec = &sweep.spec;
    writeln!(
        out,
        "{} · {} · {} from {} · {} in {seconds:.1} s\n",
        paint::bold(spec.algorithm.name()),
        count(spec.nodes as u64, "node"),
        count(summary.seeds, "seed"),
        spec.seed,
        count(summary.events, "event")
    )?;
    for tally in &summary.properties {
        report::print_property(tally.kind, tally.name, &describe(tally, summary.seeds), &mut out)?;
    }
    if let Some((seed, property::Verdict { name, undecided: Some(why), .. })) = &summary.first_undecided {
        writeln!(out, "\nWith seed {seed}, '{name}' is undecided: {why}.")?;
    }
    if let (Some((seed, verdict)), Some(FailedRun { spec, outcome, pictures })) = (&summary.first_failure, failure) {
        let text = verdict.violation.as_ref().map(|violation| violation.text.as_str()).unwrap_or_default();
        writeln!(out, "\nWith seed {seed}, '{}' fails: {text}.", verdict.name)?;
        report::print_broken_assumptions(spec, &mut out)?;
        if let Some(failure) = outcome.violated().next() {
            report::print_steps_to_violation(spec, failure, &mut out)?;
        }
        writeln!(out)?;
        for picture in pictures.as_deref().unwrap_or_default() {
            writeln!(out, "{}", paint::dim(&picture.line()))?;
        }
        picture::print_hints(spec, verdict, outcome.events, &args.picture, &mut out)?;
        if !sweep.keep_going && summary.seeds < sweep.seeds {
            writeln!(out, "{}", paint::dim("The sweep stops at the first failure; --keep-going counts all failures."))?;
        }
    }
    note_nothing_to_draw(args, summary, &mut out)?;
    if is_interrupted(sweep, summary) {
        writeln!(out, "\nInterrupted: {} of {} seeds were run.", summary.seeds, sweep.seeds)?;
        return Ok(());
    }
    // A sweep that stopped at a failure may not have run enough seeds for everything to happen.
    for name in summary.never_happened().filter(|_| summary.first_failure.is_none()) {
        writeln!(out, "\n'{name}' happened with no seed, so the sweep shows little: try {}.", F::ADVICE)?;
    }
    Ok(())
}

fn describe(tally: &Tally, seeds: u64) -> String {
    let Tally { kind, held, undecided, .. } = *tally;
    match (kind, tally.holds(seeds)) {
        (_, None) => paint::warn(&undecided_in(undecided, seeds)),
        (Kind::Sometimes, Some(true)) => paint::good(&format!("happened with {held} of {seeds} seeds")),
        (Kind::Sometimes, Some(false)) => paint::bad("never happened"),
        (Kind::Always | Kind::Eventually, Some(true)) => paint::good("holds with every seed"),
        (Kind::Always | Kind::Eventually, Some(false)) => {
            paint::bad(&format!("FAILS with {} of {seeds} seeds", seeds - held - undecided))
        }
    }
}

/// Describes a property that fails with no seed, but is undecided with some.
fn undecided_in(undecided: u64, seeds: u64) -> String {
    if undecided >= seeds {
        return "undecided with every seed".into();
    }
    format!("undecided with {undecided} of {seeds} seeds, holds with the others")
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn with_seed<F: FamilyLab>(spec: &Spec<F>, seed: u64) -> Spec<F> {
    Spec { seed, ..spec.clone() }
}
