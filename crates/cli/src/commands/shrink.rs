//! `quorate shrink`: reduces a failing run to the smallest one that still fails.

use crate::CommandOutcome;
use crate::args::ShrinkArgs;
use crate::commands::trace::{journal_error, open};
use crate::output::{display_path, output};
use crate::report::{count, grouped};
use crate::{interrupt, paint, report};
use anyhow::{anyhow, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_journal::property::{self, Kind};
use quorate_journal::record;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::replay::entry_of;
use quorate_lab::shrink::{self, End, Figures, Progress, Request, ShrinkError, Shrunk};
use quorate_lab::{FamilyLab, LabError, Spec};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Start of the first line of a saved script, by which the command recognizes its own files.
const MARK: &str = "# Made small by quorate shrink";

/// Maximum number of events of a run whose steps are all shown.
const MAX_FULL_EVENTS: u64 = 40;

/// Message if there is no script to save.
const UNSAVED: &str = "No script was saved, because no script of the run fails in the same way. The following command \
                       always repeats the run.";

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'a str,
    property: &'a str,
    kind: Kind,
    text: &'a str,
    time_ns: i64,
    before: Figures,
    after: Figures,
    lines: u64,
    tries: u64,
    end: End,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<String>,
    replay: String,
}

pub(crate) fn run(args: &ShrinkArgs) -> anyhow::Result<CommandOutcome> {
    let journal = Path::new(args.run.subject());
    match args.run.entry() {
        Ok(entry) => dispatch_to_family(entry, args),
        Err(_) if journal.exists() => {
            let entry = entry_of(&open(journal)?).map_err(|error| journal_error(journal, error))?;
            dispatch_to_family(entry, ShrinkJournal { args, journal })
        }
        Err(error) => {
            let error = error.to_string();
            let (unknown, rest) = error.split_once(". ").unwrap_or((&error, ""));
            Err(anyhow!("{unknown}, and no file of this name. {rest}"))
        }
    }
}

impl Task for &ShrinkArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        let mut spec = self.run.spec::<F>()?;
        let out = script_output(self, spec.algorithm.name(), None)?;
        let bar = Bar::new();
        if let Some(seeds) = self.seeds {
            spec.seed = first_failure(&spec, seeds, self.property.as_deref(), &bar)?;
        }
        let request = Request { spec, property: self.property.clone(), tries: self.max_tries };
        let started = Instant::now();
        let shrunk = shrink::run(&request, &mut |progress| bar.show(progress)).map_err(to_anyhow)?;
        bar.end();
        conclude(self, shrunk, &out, started)
    }
}

/// The task to shrink the run of a journal.
struct ShrinkJournal<'a> {
    args: &'a ShrinkArgs,
    journal: &'a Path,
}

impl Task for ShrinkJournal<'_> {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        let Self { args, journal } = self;
        let algorithm = F::profile(entry).name;
        if args.given.describe_run {
            bail!("the journal {} describes the run; leave out the options of the run.", display_path(journal));
        }
        let out = script_output(args, algorithm, Some(journal))?;
        let bar = Bar::new();
        let started = Instant::now();
        let shrunk = shrink::run_journal::<F, _>(
            || reopen(journal),
            args.property.as_deref(),
            args.max_tries,
            &mut |progress| bar.show(progress),
        );
        let shrunk = shrunk.map_err(|error| journal_error(journal, error))?;
        bar.end();
        conclude(args, shrunk, &out, started)
    }
}

fn reopen(path: &Path) -> Result<record::Journal<BufReader<File>>, LabError> {
    let file = File::open(path).map_err(record::JournalError::from)?;
    Ok(record::Journal::open(BufReader::new(file))?)
}

fn to_anyhow(error: ShrinkError) -> anyhow::Error {
    anyhow!("{error}")
}

/// Returns the first of `seeds` seeds with which the property, or any property, fails.
fn first_failure<F: FamilyLab>(spec: &Spec<F>, seeds: u64, property: Option<&str>, bar: &Bar) -> anyhow::Result<u64> {
    let found =
        shrink::first_failing(spec, seeds, property, |tried| bar.show_seeds(tried, seeds)).map_err(to_anyhow)?;
    found.ok_or_else(|| {
        if interrupt::was_requested() {
            return anyhow!("Interrupted: no seed has failed so far, so there is nothing to shrink.");
        }
        let holding = property.map_or_else(|| "every property holds".into(), |name| format!("'{name}' holds"));
        anyhow!("with {}, starting at {}, {holding}, so there is nothing to shrink.", count(seeds, "seed"), spec.seed)
    })
}

/// Returns the output of the script. Never overwrites an input, and overwrites a file that another
/// program wrote only if `--out` names it.
fn script_output(args: &ShrinkArgs, algorithm: &str, journal: Option<&Path>) -> anyhow::Result<Out> {
    let default = PathBuf::from(format!("{algorithm}.script"));
    if args.out.as_deref() == Some(Path::new("-")) {
        ensure!(!args.json, "--json and --out - both write to standard output; leave out one of them.");
        return Ok(Out::Stdout(default));
    }
    let out = args.out.clone().unwrap_or(default);
    let resolved = |path: &Path| path.canonicalize().ok();
    for (kind, input) in [("script", args.run.script()), ("journal", journal)] {
        if input.and_then(resolved).is_some_and(|input| resolved(&out) == Some(input)) {
            bail!("--out {} would overwrite the {kind}; give the script another file name.", display_path(&out));
        }
    }
    if args.out.is_none() && out.exists() && !is_shrunk_script(&out) {
        bail!(
            "{} exists and was not written by quorate shrink; give the script another file name with --out FILE.",
            display_path(&out)
        );
    }
    Ok(Out::File(out))
}

/// Output of the script.
enum Out {
    File(PathBuf),
    /// Standard output, without any other text. The path is the suggested file name in printed
    /// commands.
    Stdout(PathBuf),
}

fn is_shrunk_script(path: &Path) -> bool {
    let mut start = [0; MARK.len()];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *MARK.as_bytes())
}

/// Saves the script and prints the report.
fn conclude<F: FamilyLab>(
    args: &ShrinkArgs,
    mut shrunk: Shrunk<F>,
    out: &Out,
    started: Instant,
) -> anyhow::Result<CommandOutcome> {
    let seconds = started.elapsed().as_secs_f64();
    let outcome = if shrunk.end == End::Interrupted { CommandOutcome::Unfinished } else { CommandOutcome::Holds };
    let (Out::File(path) | Out::Stdout(path)) = out;
    shrunk.spec.script_path = shrunk.spec.script.is_some().then(|| path.display().to_string());
    let saved = shrunk.spec.script.is_some().then_some(path.as_path());
    match out {
        Out::Stdout(_) if saved.is_none() => {
            eprintln!("{UNSAVED} To see it again: {}", shrunk.spec.command("sim"));
            return Ok(outcome);
        }
        Out::Stdout(_) => {
            output().write_all(script_text(&shrunk).as_bytes())?;
            eprint!("{}", remark_on_size(&shrunk));
            return Ok(outcome);
        }
        Out::File(path) if saved.is_some() => fs::write(path, script_text(&shrunk))
            .map_err(|error| anyhow!("cannot write the script {}: {error}. Nothing was saved.", display_path(path)))?,
        Out::File(_) => {}
    }
    if args.json {
        print_json(&shrunk, saved)?;
    } else {
        print(&shrunk, saved, seconds)?;
    }
    Ok(outcome)
}

/// Returns the content of the script file: comments about the failure, and the script itself.
fn script_text<F: FamilyLab>(shrunk: &Shrunk<F>) -> String {
    let Shrunk { spec, property, violation, before, after, .. } = shrunk;
    let mut lines = vec![format!("{MARK}: '{property}' of {} fails.", spec.algorithm)];
    let reason = violation.text.lines().next().unwrap_or_default().trim_end_matches('.');
    lines.push(format!("# At {}: {reason}.", violation.time));
    let events = [after.events, before.events].map(|events| count(events, "event"));
    lines.push(format!("# The run has {}; the original run had {}.", events[0], events[1]));
    lines.push(format!("# To see it: {}", spec.command("sim")));
    let script = spec.script.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{}\n{script}", lines.join("\n"))
}

/// Describes whether the run might become smaller, or is the smallest already.
fn remark_on_size<F: FamilyLab>(shrunk: &Shrunk<F>) -> String {
    let Shrunk { before, after, tries, end, .. } = shrunk;
    let used = if *tries == 1 { "The only try was used".into() } else { format!("All {tries} tries were used") };
    match end {
        End::Smallest if before == after => "The run cannot be reduced: nothing could be left out.\n".into(),
        End::Smallest => String::new(),
        End::OutOfTries => {
            format!("{used}; more tries may reduce the run further: --tries {}.\n", tries.saturating_mul(4))
        }
        End::Interrupted => "Interrupted: this is the smallest run so far.\n".into(),
    }
}

fn script_lines<F: FamilyLab>(spec: &Spec<F>) -> u64 {
    spec.script
        .as_ref()
        .map_or(0, |script| (script.commands.len() + script.faults.len() + script.directions.len()) as u64)
}

fn print_json<F: FamilyLab>(shrunk: &Shrunk<F>, out: Option<&Path>) -> anyhow::Result<()> {
    let Shrunk { spec, property, kind, violation, before, after, tries, end } = shrunk;
    report::print_json(&Report {
        algorithm: spec.algorithm.name(),
        property,
        kind: *kind,
        text: &violation.text,
        time_ns: violation.time.nanos(),
        before: *before,
        after: *after,
        lines: script_lines(spec),
        tries: *tries,
        end: *end,
        script: spec.script.as_ref().map(ToString::to_string),
        out: out.map(|path| path.display().to_string()),
        replay: spec.command("sim"),
    })
}

fn print<F: FamilyLab>(shrunk: &Shrunk<F>, saved: Option<&Path>, seconds: f64) -> anyhow::Result<()> {
    let Shrunk { spec, property, kind, violation, before, after, tries, .. } = shrunk;
    let mut out = output();
    let tried = format!("{} tried in {seconds:.1} s", count(*tries, "run"));
    writeln!(out, "{} · '{property}' fails · {tried}\n", paint::bold(spec.algorithm.name()))?;
    writeln!(out, "  {}", paint::bold(&format!("{:<14}{:>10}{:>10}", "", "before", "after")))?;
    let rows = [
        ("nodes", before.nodes as u64, after.nodes as u64),
        ("commands", before.commands, after.commands),
        ("faults", before.faults, after.faults),
        ("fixed delays", before.directions, after.directions),
        ("events", before.events, after.events),
    ];
    for (row, before, after) in rows {
        writeln!(out, "  {row:<14}{:>10}{:>10}", grouped(before), grouped(after))?;
    }
    let verdict = property::Verdict::judged(property, *kind, Some(violation.clone()));
    writeln!(out)?;
    report::print_verdicts(std::slice::from_ref(&verdict), &mut out)?;
    if after.events <= MAX_FULL_EVENTS {
        report::print_all_steps_to_violation(spec, &verdict, &mut out)?;
    } else {
        report::print_steps_to_violation(spec, &verdict, &mut out)?;
    }
    match (saved, &spec.script) {
        (Some(path), Some(script)) => {
            writeln!(
                out,
                "\n{} {}",
                paint::bold("Script,"),
                paint::bold(&format!("saved as {}:", display_path(path)))
            )?;
            for line in script.to_string().lines() {
                writeln!(out, "  {line}")?;
            }
        }
        _ => writeln!(out, "\n{UNSAVED}")?,
    }
    let remark = remark_on_size(shrunk);
    if !remark.is_empty() {
        write!(out, "\n{remark}")?;
    }
    writeln!(out, "\nTo see it again: {}", spec.command("sim"))?;
    Ok(())
}

/// Shows the progress on one line of the terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        interrupt::install_handler();
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("  {spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self(bar)
    }

    /// Shows how many seeds were tried. Returns whether to continue.
    fn show_seeds(&self, tried: u64, seeds: u64) -> bool {
        if tried.is_multiple_of(64) {
            self.0.set_message(format!("{tried} of {seeds} seeds tried"));
            self.0.tick();
        }
        !interrupt::was_requested()
    }

    /// Shows the size of the smallest run so far. Returns whether to continue.
    fn show(&self, progress: &Progress) -> bool {
        if progress.tries.is_multiple_of(32) {
            let Figures { nodes, commands, faults, directions, events } = progress.best;
            let parts = [
                count(nodes as u64, "node"),
                count(commands, "command"),
                count(faults, "fault"),
                count(directions, "fixed delay"),
                count(events, "event"),
            ];
            self.0.set_message(format!("{} tried, smallest has {}", count(progress.tries, "run"), parts.join(", ")));
            self.0.tick();
        }
        !interrupt::was_requested()
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
