//! `quorate check`: explores every reachable state of a small group.

mod json;
mod text;

use super::{armies, local};
use crate::args::{CheckArgs, CheckDemonstration};
use crate::interrupt;
use crate::memory::Memory;
use crate::output::display_path;
use crate::picture::{self, CommandIo, Picture, PictureObserver, ensure_writable};
use crate::report::format_thousands;
use crate::{CommandOutcome, report};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_check::{Findings, Pass, Phase, Progress, Search};
use quorate_journal::record::Header;
use quorate_lab::check::{self, CheckRun, CheckSpec, CheckTask, CheckedFamily, replay_command};
use quorate_lab::experiment::header;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::{FamilyLab, LabError, find_entry};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Instant;

/// The written journal of a counterexample.
struct WrittenJournal<'a> {
    path: &'a Path,
    lines: u64,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<CommandOutcome> {
    match &args.demonstration {
        Some(CheckDemonstration::Local(args)) => return local::check(args),
        Some(CheckDemonstration::Armies(args)) => return armies::check(args),
        None => {}
    }
    let algorithm = args.algorithm()?;
    let entry = find_entry(&algorithm)?;
    let task = CheckAlgorithm { args, algorithm: &algorithm };
    dispatch_to_family(entry, task).unwrap_or_else(|| Err(check::not_checkable_error(entry).into()))
}

/// The task to check an algorithm of any family.
struct CheckAlgorithm<'a> {
    args: &'a CheckArgs,
    algorithm: &'a str,
}

impl Task for CheckAlgorithm<'_> {
    /// `None` if the algorithms of the family cannot be checked.
    type Output = Option<anyhow::Result<CommandOutcome>>;

    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> Self::Output {
        F::perform_check_task(self)
    }
}

impl CheckTask for CheckAlgorithm<'_> {
    type Output = anyhow::Result<CommandOutcome>;

    fn perform<F: CheckedFamily>(self) -> anyhow::Result<CommandOutcome> {
        check_one::<F>(self.args, self.algorithm)
    }
}

fn check_one<F: CheckedFamily>(args: &CheckArgs, algorithm: &str) -> anyhow::Result<CommandOutcome> {
    let spec: CheckSpec<F> = args.spec(algorithm)?;
    let (stdout_option, journal_path) = (args.json.then_some("json"), args.trace.as_deref());
    args.picture.validate(&CommandIo { stdout_option, journal: journal_path, ..CommandIo::default() })?;
    if let Some(path) = journal_path {
        ensure_writable("journal", path)?;
    }
    interrupt::install_handler();
    let mut progress_line = ProgressLine::new(spec.effort.search);
    let run = check::run(&spec, &mut |phase, progress| {
        progress_line.show(phase, progress);
        !interrupt::was_requested()
    })?;
    progress_line.bar.finish_and_clear();
    let journal = journal_path.map_or(Ok(None), |path| write_journal(&run, path));
    // Print the verdicts even if the journal could not be written.
    let written_journal = journal.as_ref().ok().and_then(Option::as_ref);
    let pictures = draw_pictures(&spec, &run, args)?;
    let written_pictures = pictures.as_deref().unwrap_or_default();
    if args.json {
        report::print_json(&json::Report::new(
            &spec,
            &run,
            replay_hint(&spec, &run, written_journal),
            written_pictures,
        ))?;
    } else if args.picture.takes_stdout() {
        text::note_nothing_to_draw(&args.picture, &run, &mut io::stderr())?;
    } else {
        text::print(&spec, &run, args, written_journal, written_pictures)?;
    }
    journal?;
    pictures?;
    Ok(match (run.findings.has_violation(), run.is_complete()) {
        (true, _) => CommandOutcome::Fails,
        (false, true) => CommandOutcome::Holds,
        (false, false) => CommandOutcome::Unfinished,
    })
}

/// Draws the shortest counterexample, if there is one and the options ask for a picture. The outer
/// error is that the counterexample could not be replayed, the inner one that a picture could not
/// be written.
fn draw_pictures<F: CheckedFamily>(
    spec: &CheckSpec<F>,
    run: &CheckRun<F>,
    args: &CheckArgs,
) -> anyhow::Result<anyhow::Result<Vec<Picture>>> {
    let Some((_, counterexample)) = run.violations().first().copied().filter(|_| args.picture.is_wanted()) else {
        return Ok(Ok(Vec::new()));
    };
    let header = Header { found_by: Some(spec.command()), ..header(run.spec())? };
    let replay = |pictures: &mut PictureObserver<'_, F>| Ok(run.replay(counterexample, pictures).map(drop)?);
    let ((), pictures) = picture::draw::<F, _>(&args.picture, &header, replay)?;
    Ok(pictures)
}

/// Writes the journal of the shortest counterexample, if there is one.
fn write_journal<'a, F: CheckedFamily>(
    run: &CheckRun<F>,
    path: &'a Path,
) -> anyhow::Result<Option<WrittenJournal<'a>>> {
    let Some((_, counterexample)) = run.violations().first().copied() else { return Ok(None) };
    let failed = |error: io::Error| anyhow::anyhow!("cannot write the journal {}: {error}.", display_path(path));
    let file = File::create(path).map_err(failed)?;
    let lines = run.write(counterexample, BufWriter::new(file)).map_err(|error| match error {
        LabError::Write(error) => failed(error),
        error => error.into(),
    })?;
    Ok(Some(WrittenJournal { path, lines }))
}

/// Name of the journal in suggested commands if no name was given.
const DEFAULT_JOURNAL: &str = "broken.journal";

/// Returns the command that replays the shortest counterexample, if there is one. If no journal of
/// it was written, the command repeats the check to write one.
fn replay_hint<F: CheckedFamily>(
    spec: &CheckSpec<F>,
    run: &CheckRun<F>,
    written: Option<&WrittenJournal<'_>>,
) -> Option<String> {
    run.findings.has_violation().then(|| match written {
        Some(written) => replay_command(&written.path.to_string_lossy()),
        None => spec.command_with_trace(DEFAULT_JOURNAL),
    })
}

/// Returns the search whose figures represent the check: the search of states, unless all
/// properties need history.
fn main_search(findings: &Findings) -> &Pass {
    match &findings.past_pass {
        Some(past) if findings.main_pass.generated == 0 => past,
        Some(_) | None => &findings.main_pass,
    }
}

fn per_second(number: u64, seconds: f64) -> f64 {
    number as f64 / seconds.max(1e-9)
}

/// Shows the progress of the check on one line of the terminal.
struct ProgressLine {
    bar: ProgressBar,
    /// Whether the search takes random walks, which do not count distinct states.
    takes_walks: bool,
    phase: Phase,
    /// Start of the current phase.
    started: Instant,
}

impl ProgressLine {
    fn new(search: Search) -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let takes_walks = matches!(search, Search::Walks(_));
        Self { bar, takes_walks, phase: Phase::States, started: Instant::now() }
    }

    fn show(&mut self, phase: Phase, progress: Progress) {
        if self.bar.is_hidden() {
            return;
        }
        if phase != self.phase {
            (self.phase, self.started) = (phase, Instant::now());
        }
        let Progress { states, generated, depth, queue, memory } = progress;
        let seconds = self.started.elapsed().as_secs_f64();
        let millions = |number: u64| per_second(number, seconds) / 1e6;
        self.bar.set_message(if self.takes_walks {
            let (steps, walks) = (format_thousands(generated), format_thousands(queue));
            format!("random walks: {steps} steps, {:.2} M/s, {walks} walks left", millions(generated))
        } else {
            let (state_count, queue, memory) =
                (format_thousands(states), format_thousands(queue), Memory::from_bytes(memory));
            let (rate, phase) = (millions(states), phase_name(phase));
            format!("{state_count} states, depth {depth}, {rate:.2} M/s, queue {queue}, {memory} · {phase}")
        });
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::States => "states",
        Phase::Past => "states with history",
        Phase::Fair => "states of fair runs",
        Phase::Shortest => "shortest counterexample",
    }
}
