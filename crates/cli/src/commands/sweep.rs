//! `quorate sweep`: runs an algorithm with many seeds.

mod family;

use crate::CommandOutcome;
use crate::args::{PictureArgs, SweepArgs, thread_count};
use crate::output::output;
use crate::picture::{self, CommandIo, Picture};
use crate::report::format_count;
use crate::{interrupt, paint, progress, report};
use quorate_journal::property::{self, PropertyKind};
use quorate_lab::experiment::{self, Outcome, header};
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::sweep::{self, PropertyTally, Sweep, SweepSummary};
use quorate_lab::{FamilyLab, Spec};
use serde::Serialize;
use std::io::{self, Write};
use std::time::Instant;

#[derive(Serialize)]
struct SweepReport<'a> {
    algorithm: &'a str,
    nodes: usize,
    first_seed: u64,
    seeds: u64,
    /// Number of seeds with which a property fails.
    failed: u64,
    /// Number of seeds without a failure that leave a property undecided.
    #[serde(skip_serializing_if = "is_zero")]
    undecided: u64,
    events: u64,
    seconds: f64,
    properties: Vec<PropertyRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FirstFailure>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

#[derive(Serialize)]
struct PropertyRow {
    name: &'static str,
    kind: PropertyKind,
    /// Null if the property fails with no seed, and some seeds leave it undecided. Never null for a
    /// property of the kind `sometimes`.
    holds: Option<bool>,
    /// Number of seeds with which the property held or happened.
    seeds: u64,
    /// Number of seeds that leave the property undecided.
    #[serde(skip_serializing_if = "is_zero")]
    undecided: u64,
}

#[derive(Serialize)]
struct FirstFailure {
    seed: u64,
    property: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken_assumptions: Vec<&'static str>,
    /// The command that repeats the run.
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
    let threads = thread_count(args.threads)?;
    let sweep = Sweep { spec, seeds: args.seeds, threads, keep_going: args.keep_going };
    let bar = progress::bar(args.seeds, "{pos}/{len} seeds, {per_sec}, {eta} left{msg}");
    let started = Instant::now();
    interrupt::install_handler();
    let summary = sweep::run(&sweep, |summary| {
        bar.set_position(summary.seeds);
        if summary.failed_seeds > 0 {
            bar.set_message(format!(", {} failed", summary.failed_seeds));
        }
        !interrupt::was_requested()
    })?;
    bar.finish_and_clear();
    let seconds = started.elapsed().as_secs_f64();
    // The sweep keeps no steps, so the run is repeated to print or draw them.
    let failure = match &summary.first_failure {
        Some((seed, _)) if !args.json || args.picture.is_wanted() => {
            Some(repeat_failed_run(with_seed(&sweep.spec, *seed), &args.picture)?)
        }
        Some(_) | None => None,
    };
    // Print the verdicts even if the picture could not be written.
    let written_pictures = failure.as_ref().and_then(|failure| failure.pictures.as_deref().ok()).unwrap_or_default();
    if args.json {
        report::print_json(&build_report(&sweep.spec, &summary, seconds, written_pictures))?;
    } else if args.picture.takes_stdout() {
        note_nothing_to_draw(args, &summary, &mut io::stderr())?;
    } else {
        print(&sweep, &summary, seconds, failure.as_ref(), args)?;
    }
    if let Some(failure) = failure {
        failure.pictures?;
    }
    let is_unfinished = is_interrupted(&sweep, &summary) || summary.failed_seeds == 0 && summary.undecided_seeds > 0;
    Ok(if is_unfinished { CommandOutcome::Unfinished } else { CommandOutcome::from_holds(summary.holds()) })
}

/// The repeated run of the first failing seed.
struct FailedRun<F: FamilyLab> {
    spec: Spec<F>,
    outcome: Outcome<F>,
    pictures: anyhow::Result<Vec<Picture>>,
}

/// Repeats a failing run, and draws it if the options ask for a picture.
fn repeat_failed_run<F: FamilyLab>(spec: Spec<F>, args: &PictureArgs) -> anyhow::Result<FailedRun<F>> {
    let (outcome, pictures) = picture::draw::<F, _>(args, &header(&spec)?, |pictures| {
        Ok(experiment::run_with(&spec, io::sink(), pictures)?.0)
    })?;
    Ok(FailedRun { spec, outcome, pictures })
}

/// Notes that there is no failing run to draw, if a picture was requested.
fn note_nothing_to_draw(args: &SweepArgs, summary: &SweepSummary, out: &mut impl Write) -> io::Result<()> {
    if args.picture.is_wanted() && summary.first_failure.is_none() {
        writeln!(out, "\nNo seed failed, so no picture was drawn and existing files are unchanged.")?;
    }
    Ok(())
}

/// Whether the sweep stopped early without a failure.
fn is_interrupted<F: FamilyLab>(sweep: &Sweep<F>, summary: &SweepSummary) -> bool {
    summary.seeds < sweep.seeds && summary.failed_seeds == 0
}

fn build_report<'a, F: FamilyLab>(
    spec: &'a Spec<F>,
    summary: &SweepSummary,
    seconds: f64,
    pictures: &'a [Picture],
) -> SweepReport<'a> {
    let row = |tally: &PropertyTally| PropertyRow {
        name: tally.name,
        kind: tally.kind,
        holds: tally.holds(summary.seeds),
        seeds: tally.held_seeds,
        undecided: tally.undecided_seeds,
    };
    let failure = summary.first_failure.as_ref().map(|(seed, verdict)| FirstFailure {
        seed: *seed,
        property: verdict.name,
        text: verdict.violation.as_ref().map(|violation| violation.text.clone()).unwrap_or_default(),
        broken_assumptions: with_seed(spec, *seed).broken_assumptions(),
        replay: with_seed(spec, *seed).command("sim"),
    });
    SweepReport {
        algorithm: spec.algorithm.name(),
        nodes: spec.nodes,
        first_seed: spec.seed,
        seeds: summary.seeds,
        failed: summary.failed_seeds,
        undecided: summary.undecided_seeds,
        events: summary.inputs,
        seconds,
        properties: summary.properties.iter().map(row).collect(),
        failure,
        pictures,
    }
}

fn print<F: FamilyLab>(
    sweep: &Sweep<F>,
    summary: &SweepSummary,
    seconds: f64,
    failure: Option<&FailedRun<F>>,
    args: &SweepArgs,
) -> anyhow::Result<()> {
    let mut out = output();
    let spec = &sweep.spec;
    let seeds = format_count(sweep.seeds, "seed");
    let seeds = if summary.seeds < sweep.seeds { format!("{} of {seeds}", summary.seeds) } else { seeds };
    writeln!(
        out,
        "{} · {} · {seeds} from {} · {} in {seconds:.1} s\n",
        paint::bold(spec.algorithm.name()),
        format_count(spec.nodes as u64, "node"),
        spec.seed,
        format_count(summary.inputs, "event")
    )?;
    for tally in &summary.properties {
        report::print_property(tally.kind, tally.name, &describe_tally(tally, summary.seeds), &mut out)?;
    }
    if let Some((seed, property::Verdict { name, undecided_reason: Some(reason), .. })) = &summary.first_undecided {
        writeln!(out, "\nWith seed {seed}, '{name}' is undecided: {reason}.")?;
    }
    if let (Some((seed, verdict)), Some(FailedRun { spec, outcome, pictures })) = (&summary.first_failure, failure) {
        let text = verdict.violation.as_ref().map(|violation| violation.text.as_str()).unwrap_or_default();
        writeln!(out, "\nWith seed {seed}, '{}' fails: {text}.", verdict.name)?;
        report::print_broken_assumptions(spec, &mut out)?;
        if let Some(failure) = outcome.violated_verdicts().next() {
            report::print_steps_to_violation(spec, failure, &mut out)?;
        }
        writeln!(out)?;
        for picture in pictures.as_deref().unwrap_or_default() {
            writeln!(out, "{}", paint::dim(&picture.report_line()))?;
        }
        picture::print_hints(spec, verdict, outcome.inputs, &args.picture, &mut out)?;
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
        writeln!(out, "\n'{name}' happened with no seed, so the sweep shows little: try {}.", F::ADVICE_IF_NEVER_HELD)?;
    }
    Ok(())
}

fn describe_tally(tally: &PropertyTally, seeds: u64) -> String {
    let PropertyTally { kind, held_seeds, undecided_seeds, .. } = *tally;
    match (kind, tally.holds(seeds)) {
        (_, None) => paint::bad(&describe_undecided(undecided_seeds, seeds)),
        (PropertyKind::Sometimes, Some(true)) => paint::good(&format!("happened with {held_seeds} of {seeds} seeds")),
        (PropertyKind::Sometimes, Some(false)) => paint::bad("never happened"),
        (PropertyKind::Always | PropertyKind::Eventually, Some(true)) => paint::good("holds with every seed"),
        (PropertyKind::Always | PropertyKind::Eventually, Some(false)) => {
            paint::bad(&format!("FAILS with {} of {seeds} seeds", seeds - held_seeds - undecided_seeds))
        }
    }
}

/// Describes a property that fails with no seed, but is undecided with some.
fn describe_undecided(undecided: u64, seeds: u64) -> String {
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
