//! `quorate check`: every order.

mod json;
mod text;

use super::{armies, local};
use crate::args::{CheckArgs, LocalCheck};
use crate::interrupt;
use crate::memory::Memory;
use crate::output::name;
use crate::picture::{self, Company, Easel, Picture, ensure_writable};
use crate::report::grouped;
use crate::{Verdict, report};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_check::{Findings, Pass, Phase, Progress, Search};
use quorate_journal::record::Header;
use quorate_lab::check::{self, CheckRun, CheckSpec, CheckTask, CheckedFamily, replay_command};
use quorate_lab::experiment::header;
use quorate_lab::registry::{Task, of_family};
use quorate_lab::{FamilyLab, LabError, entry};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Instant;

/// The journal of a counterexample, where one was written.
struct Written<'a> {
    path: &'a Path,
    lines: u64,
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Verdict> {
    match &args.local {
        Some(LocalCheck::Local(args)) => return local::check(args),
        Some(LocalCheck::Armies(args)) => return armies::check(args),
        None => {}
    }
    let algorithm = args.algorithm()?;
    let entry = entry(&algorithm)?;
    let checking = Checking { args, algorithm: &algorithm };
    of_family(entry, checking).unwrap_or_else(|| Err(check::uncheckable(entry).into()))
}

/// A check, whatever the algorithm's family.
struct Checking<'a> {
    args: &'a CheckArgs,
    algorithm: &'a str,
}

impl Task for Checking<'_> {
    /// Nothing if the family's algorithms cannot be checked.
    type Output = Option<anyhow::Result<Verdict>>;

    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> Self::Output {
        F::as_checked(self)
    }
}

impl CheckTask for Checking<'_> {
    type Output = anyhow::Result<Verdict>;

    fn perform<F: CheckedFamily>(self) -> anyhow::Result<Verdict> {
        check_one::<F>(self.args, self.algorithm)
    }
}

fn check_one<F: CheckedFamily>(args: &CheckArgs, algorithm: &str) -> anyhow::Result<Verdict> {
    let spec: CheckSpec<F> = args.spec(algorithm)?;
    let (speaks, trace) = (args.json.then_some("json"), args.trace.as_deref());
    args.picture.check(&Company { speaks, trace, ..Company::default() })?;
    if let Some(path) = trace {
        ensure_writable("journal", path)?;
    }
    interrupt::watch();
    let mut meter = Meter::new(spec.effort.search);
    let run = check::run(&spec, &mut |phase, progress| {
        meter.show(phase, progress);
        !interrupt::came()
    })?;
    meter.bar.finish_and_clear();
    let written = args.trace.as_deref().map_or(Ok(None), |path| write(&run, path));
    // The verdicts are told even if their journal could not be written.
    let journal = written.as_ref().ok().and_then(Option::as_ref);
    let pictures = pictures(&spec, &run, args)?;
    let drawn = pictures.as_deref().unwrap_or_default();
    if args.json {
        report::json(&json::Report::new(&spec, &run, replay(&spec, &run, journal), drawn))?;
    } else if args.picture.takes_stdout() {
        text::tell_if_nothing(&args.picture, &run, &mut io::stderr())?;
    } else {
        text::print(&spec, &run, args, journal, drawn)?;
    }
    written?;
    pictures?;
    Ok(match (run.findings.is_broken(), run.is_complete()) {
        (true, _) => Verdict::Fails,
        (false, true) => Verdict::Holds,
        (false, false) => Verdict::Unfinished,
    })
}

/// Draws the shortest counterexample, if there is one and that is wanted.
fn pictures<F: CheckedFamily>(
    spec: &CheckSpec<F>,
    run: &CheckRun<F>,
    args: &CheckArgs,
) -> anyhow::Result<anyhow::Result<Vec<Picture>>> {
    let Some((_, example)) = run.broken().first().copied().filter(|_| args.picture.is_wanted()) else {
        return Ok(Ok(Vec::new()));
    };
    let header = Header { found_by: Some(spec.command()), ..header(run.spec())? };
    let play = |easel: &mut Easel<'_, F>| Ok(run.show(example, easel).map(drop)?);
    let ((), pictures) = picture::draw::<F, _>(&args.picture, &header, play)?;
    Ok(pictures)
}

/// Writes the shortest counterexample down, if there is one.
fn write<'a, F: CheckedFamily>(run: &CheckRun<F>, path: &'a Path) -> anyhow::Result<Option<Written<'a>>> {
    let Some((_, example)) = run.broken().first().copied() else { return Ok(None) };
    let failed = |error: io::Error| anyhow::anyhow!("The journal {} could not be written: {error}.", name(path));
    let file = File::create(path).map_err(failed)?;
    let lines = run.write(example, BufWriter::new(file)).map_err(|error| match error {
        LabError::Write(error) => failed(error),
        error => error.into(),
    })?;
    Ok(Some(Written { path, lines }))
}

/// What a journal is called where nobody gave it a name.
const NAMELESS: &str = "broken.journal";

/// The command that shows the shortest counterexample again, if there is one.
fn replay<F: CheckedFamily>(spec: &CheckSpec<F>, run: &CheckRun<F>, written: Option<&Written<'_>>) -> Option<String> {
    run.findings.is_broken().then(|| match written {
        Some(written) => replay_command(&written.path.to_string_lossy()),
        None => spec.command_with_trace(NAMELESS),
    })
}

/// The search whose figures stand for the check: that of the states, unless only the past was asked about.
fn main_pass(findings: &Findings) -> &Pass {
    match &findings.past {
        Some(past) if findings.states.generated == 0 => past,
        Some(_) | None => &findings.states,
    }
}

fn rate(number: u64, seconds: f64) -> f64 {
    number as f64 / seconds.max(1e-9)
}

/// Tells on one line how the check is going, if somebody watches.
struct Meter {
    bar: ProgressBar,
    /// Random walks do not tell states apart.
    walks: bool,
    phase: Phase,
    begin: Instant,
}

impl Meter {
    fn new(search: Search) -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("  {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let walks = matches!(search, Search::Walks(_));
        Self { bar, walks, phase: Phase::States, begin: Instant::now() }
    }

    fn show(&mut self, phase: Phase, progress: Progress) {
        if self.bar.is_hidden() {
            return;
        }
        if phase != self.phase {
            (self.phase, self.begin) = (phase, Instant::now());
        }
        let Progress { states, generated, depth, queue, memory } = progress;
        let seconds = self.begin.elapsed().as_secs_f64();
        let millions = |number: u64| rate(number, seconds) / 1e6;
        self.bar.set_message(if self.walks {
            let (steps, walks) = (grouped(generated), grouped(queue));
            format!("random walks: {steps} steps, {:.2} M/s, {walks} walks to go", millions(generated))
        } else {
            let (states_told, queue, memory) = (grouped(states), grouped(queue), Memory::from_bytes(memory));
            let (rate, phase) = (millions(states), words(phase));
            format!("{states_told} states, depth {depth}, {rate:.2} M/s, queue {queue}, {memory} · {phase}")
        });
    }
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::States => "states",
        Phase::Past => "with memory of the past",
        Phase::Fair => "fair runs",
        Phase::Shortest => "shortest counterexample",
    }
}
