//! `quorate sim`: runs an algorithm once in the simulator.

use super::{armies, berkeley, detector, local};
use crate::CommandOutcome;
use crate::args::{SimArgs, SimDemonstration};
use crate::output::{display_path, output};
use crate::picture::{self, CommandIo, Picture, PictureObserver};
use crate::report::{Measured, RunReport, format_count};
use crate::{paint, progress, report};
use indicatif::ProgressBar;
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::workload::Ending;
use quorate_lab::experiment::{self, Outcome, header};
use quorate_lab::figures::RunResults;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::trace::{self, Trace};
use quorate_lab::{FamilyLab, Spec};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;
use std::path::Path;

/// The report of a run with its pictures, as `--json` prints it.
#[derive(Serialize)]
#[serde(bound = "")]
struct SimReport<'a, F: FamilyLab> {
    #[serde(flatten)]
    run: RunReport<'a, F>,
    /// Assumptions of the algorithm that the run violates, if a property fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken_assumptions: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

pub(crate) fn run(args: &SimArgs) -> anyhow::Result<CommandOutcome> {
    match &args.demonstration {
        Some(SimDemonstration::Local(args)) => local::sim(args),
        Some(SimDemonstration::Race(args)) => local::sim_race(args),
        Some(SimDemonstration::Armies(args)) => armies::sim(args),
        Some(SimDemonstration::Berkeley(args)) => berkeley::run(args),
        Some(SimDemonstration::Detector(args)) => detector::sim(args),
        None => dispatch_to_family(args.run.entry()?, args),
    }
}

impl Task for &SimArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        simulate::<F>(self, entry)
    }
}

fn simulate<F: FamilyLab>(args: &SimArgs, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
    let spec = args.run.spec::<F>()?;
    validate_files(args)?;
    let (outcome, pictures) = picture::draw::<F, _>(&args.picture, &header(&spec)?, |pictures| {
        let outcome = if args.steps {
            run_with_steps(&spec, args.trace.as_deref(), pictures)?
        } else {
            run_with_progress(&spec, args, pictures)?
        };
        if outcome.is_cut_short() {
            pictures.mark_incomplete();
        }
        Ok(outcome)
    })?;
    // Print the result even if the pictures could not be written.
    let written_pictures = pictures.as_deref().unwrap_or_default();
    if args.json {
        let run = RunReport {
            algorithm: F::profile(entry).name,
            family: F::FAMILY,
            nodes: spec.nodes,
            seed: spec.seed,
            links: link_kind(&spec),
            ending: outcome.ending,
            time_ns: outcome.time.nanos(),
            events: outcome.inputs,
            trace_hash: &outcome.journal_hash,
            messages: &outcome.messages,
            judged: outcome.verdicts[..].into(),
            measured: Measured::<F>(&outcome.summary),
        };
        let broken_assumptions = if outcome.holds() { Vec::new() } else { spec.broken_assumptions() };
        report::print_json(&SimReport { run, broken_assumptions, pictures: written_pictures })?;
    } else if !args.picture.takes_stdout() {
        print(&spec, entry, &outcome, args, written_pictures)?;
    }
    pictures?;
    Ok(CommandOutcome::from_verdicts(&outcome.verdicts))
}

fn validate_files(args: &SimArgs) -> anyhow::Result<()> {
    let options = [(args.json, "json"), (args.steps, "steps")];
    let stdout_option = options.into_iter().find_map(|(is_given, option)| is_given.then_some(option));
    let inputs = [("script", args.run.script())];
    let journal = args.trace.as_deref();
    args.picture.validate(&CommandIo { stdout_option, inputs: &inputs, journal, ..CommandIo::default() })
}

fn print<F: FamilyLab>(
    spec: &Spec<F>,
    entry: &'static F::Entry,
    outcome: &Outcome<F>,
    args: &SimArgs,
    pictures: &[Picture],
) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(
        out,
        "{} · {} · seed {} · {} · {} links\n",
        paint::bold(F::profile(entry).name),
        format_count(spec.nodes as u64, "node"),
        spec.seed,
        spec.latency,
        link_kind(spec)
    )?;
    let Outcome { messages, summary, verdicts, .. } = outcome;
    report::print_figures(&RunResults { spec, messages, summary, verdicts }, &mut out)?;
    let time = outcome.time;
    let progress = F::describe_progress(spec, summary);
    let ending = match outcome.ending {
        Ending::Done => format!("done at {time}"),
        Ending::Stuck => format!("blocked at {time}: nothing more can happen{progress}"),
        Ending::Stopped => format!("stopped {}{progress}", spec.describe_limit(outcome.inputs)),
    };
    let closing_line = format!("{ending}, {}, trace {}", format_count(outcome.inputs, "event"), outcome.journal_hash);
    writeln!(out, "\n  {}", paint::dim(&closing_line))?;
    if let Some(path) = &args.trace {
        writeln!(
            out,
            "  {}",
            paint::dim(&format!("journal: {} ({} lines)", display_path(path), outcome.journal_lines))
        )?;
    }
    for picture in pictures {
        writeln!(out, "  {}", paint::dim(&picture.report_line()))?;
    }
    if let Some(failure) = outcome.violated_verdicts().next() {
        report::print_broken_assumptions(spec, &mut out)?;
        if !args.steps {
            report::print_steps_to_violation(spec, failure, &mut out)?;
        }
        writeln!(out)?;
        picture::print_hints(spec, failure, outcome.inputs, &args.picture, &mut out)?;
    } else if verdicts.iter().any(|verdict| verdict.undecided_reason.is_some()) {
        writeln!(out, "\nTo see it again: {}", spec.command("sim"))?;
    }
    Ok(())
}

fn link_kind<F: FamilyLab>(spec: &Spec<F>) -> &'static str {
    if spec.is_reliable() { "reliable" } else { "bare" }
}

/// Runs once and prints every step while it happens.
fn run_with_steps<F: FamilyLab>(
    spec: &Spec<F>,
    journal: Option<&Path>,
    pictures: &mut PictureObserver<'_, F>,
) -> anyhow::Result<Outcome<F>> {
    let mut out = BufWriter::new(output());
    writeln!(out, "{}", paint::dim(&trace::heading(spec.nodes)))?;
    let mut write_error = None;
    let steps = Trace::<F>::new(spec.nodes, |line| {
        if write_error.is_none() {
            write_error = writeln!(out, "{}", trace::render(line, paint::trace_text)).err();
        }
    });
    let (outcome, (mut steps, _)) = experiment::run_with(spec, open_journal(journal)?, (steps, pictures))?;
    steps.finish();
    drop(steps);
    if let Some(error) = write_error {
        return Err(error.into());
    }
    writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::legend(F::ROLES))))?;
    out.flush()?;
    Ok(outcome)
}

/// Runs once and shows the progress on standard error.
fn run_with_progress<F: FamilyLab>(
    spec: &Spec<F>,
    args: &SimArgs,
    pictures: &mut PictureObserver<'_, F>,
) -> anyhow::Result<Outcome<F>> {
    let progress = ProgressObserver::<F>::new(F::progress_goal(spec));
    let (outcome, (progress, _)) =
        experiment::run_with(spec, open_journal(args.trace.as_deref())?, (progress, pictures))?;
    progress.bar.finish_and_clear();
    Ok(outcome)
}

fn open_journal(path: Option<&Path>) -> anyhow::Result<Box<dyn Write>> {
    let Some(path) = path else { return Ok(Box::new(io::sink())) };
    let file = File::create(path)
        .map_err(|error| anyhow::anyhow!("cannot write the journal {}: {error}.", display_path(path)))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Number of moments between two updates of the progress bar.
const MOMENTS_PER_UPDATE: u64 = 1 << 18;

/// Shows the progress of a long run.
struct ProgressObserver<F: FamilyLab> {
    family: PhantomData<F>,
    bar: ProgressBar,
    moments: u64,
    /// Number of moments that count towards the goal of the run.
    progress: u64,
}

impl<F: FamilyLab> ProgressObserver<F> {
    fn new(goal: u64) -> Self {
        let bar = progress::bar(goal, &format!("{{pos}}/{{len}} {}, {{msg}}{{elapsed}}", F::PROGRESS_UNIT));
        Self { family: PhantomData, bar, moments: 0, progress: 0 }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for ProgressObserver<F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.progress += u64::from(F::is_progress(moment));
        self.moments += 1;
        if self.moments.is_multiple_of(MOMENTS_PER_UPDATE) {
            self.bar.set_position(self.progress);
            self.bar.set_message(format!("{:.1} million moments, ", self.moments as f64 / 1e6));
        }
    }
}
