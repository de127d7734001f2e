//! `quorate shrink`: reduces a failing run to the smallest failing run that it finds.

use crate::CommandOutcome;
use crate::args::ShrinkArgs;
use crate::commands::trace::{journal_error, open};
use crate::output::{display_path, output};
use crate::report::{format_count, format_thousands};
use crate::{interrupt, paint, report};
use anyhow::{anyhow, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_journal::property::{self, PropertyKind};
use quorate_journal::record;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::replay::entry_of;
use quorate_lab::shrink::{self, Progress, RunFigures, SearchEnd, ShrinkError, ShrinkRequest, Shrunk};
use quorate_lab::{FamilyLab, LabError, Spec};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The beginning of every saved script, by which the command recognizes its own files.
const FIRST_LINE_START: &str = "# Made small by quorate shrink";

/// Maximum number of events of a run whose steps are all shown.
const MAX_FULL_EVENTS: u64 = 40;

/// Message if there is no script to save.
const UNSAVED_MESSAGE: &str = "No script was saved, because the search found none that fails in the same way. The following \
                       command repeats the run.";

#[derive(Serialize)]
struct ShrinkReport<'a> {
    algorithm: &'a str,
    property: &'a str,
    kind: PropertyKind,
    /// Text and time of the violation in the smallest run.
    text: &'a str,
    time_ns: i64,
    /// The sizes of the given run and of the smallest one.
    before: RunFigures,
    after: RunFigures,
    /// Number of lines of the script.
    lines: u64,
    tries: u64,
    end: SearchEnd,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<String>,
    replay: String,
}

pub(crate) fn run(args: &ShrinkArgs) -> anyhow::Result<CommandOutcome> {
    let journal = Path::new(args.run.algorithm_argument());
    match args.run.entry() {
        Ok(entry) => dispatch_to_family(entry, args),
        Err(_) if journal.exists() => {
            let entry = entry_of(&open(journal)?).map_err(|error| journal_error(journal, error))?;
            dispatch_to_family(entry, ShrinkJournal { args, journal })
        }
        Err(error) => {
            let error = error.to_string();
            let (unknown, rest) = error.split_once(". ").unwrap_or((&error, ""));
            Err(anyhow!("{unknown}, and there is no file of this name. {rest}"))
        }
    }
}

impl Task for &ShrinkArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        let mut spec = self.run.spec::<F>()?;
        let out = choose_output(self, spec.algorithm.name(), None)?;
        let bar = ProgressLine::new();
        if let Some(seeds) = self.seeds {
            ensure!(seeds > 0, "--seeds must be at least 1; got 0.");
            spec.seed = find_failing_seed(&spec, seeds, self.property.as_deref(), &bar)?;
        }
        let request = ShrinkRequest { spec, property: self.property.clone(), max_runs: self.max_tries };
        let started = Instant::now();
        let shrunk = shrink::run(&request, &mut |progress| bar.show(progress)).map_err(to_anyhow)?;
        bar.finish();
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
        if let Some(option) = &args.given.run_option {
            bail!(
                "--{option} has no effect, because the journal {} describes the run; omit it.",
                display_path(journal)
            );
        }
        let out = choose_output(args, algorithm, Some(journal))?;
        let bar = ProgressLine::new();
        let started = Instant::now();
        let shrunk = shrink::shrink_journal::<F, _>(
            || reopen(journal),
            args.property.as_deref(),
            args.max_tries,
            &mut |progress| bar.show(progress),
        );
        let shrunk = shrunk.map_err(|error| journal_error(journal, error))?;
        bar.finish();
        conclude(args, shrunk, &out, started)
    }
}

/// Opens the journal for another pass over it.
fn reopen(path: &Path) -> Result<record::Journal<BufReader<File>>, LabError> {
    let file = File::open(path).map_err(record::JournalError::from)?;
    Ok(record::Journal::open(BufReader::new(file))?)
}

fn to_anyhow(error: ShrinkError) -> anyhow::Error {
    anyhow!("{error}")
}

/// Returns the first of `seeds` seeds with which `property` fails; `None` stands for any property.
fn find_failing_seed<F: FamilyLab>(
    spec: &Spec<F>,
    seeds: u64,
    property: Option<&str>,
    bar: &ProgressLine,
) -> anyhow::Result<u64> {
    let failing_seed =
        shrink::find_failing_seed(spec, seeds, property, |tried| bar.show_seeds(tried, seeds)).map_err(to_anyhow)?;
    failing_seed.ok_or_else(|| {
        if interrupt::was_requested() {
            return anyhow!("interrupted: no seed has failed so far, so there is nothing to shrink.");
        }
        let holding = property.map_or_else(|| "every property holds".into(), |name| format!("'{name}' holds"));
        anyhow!(
            "with {}, starting at {}, {holding}, so there is nothing to shrink. Try more --seeds.",
            format_count(seeds, "seed"),
            spec.seed
        )
    })
}

/// Returns the output of the script. Fails if it would overwrite an input, or, without `--out`, a
/// file that `quorate shrink` did not write, or if it would share standard output with `--json`.
fn choose_output(args: &ShrinkArgs, algorithm: &str, journal: Option<&Path>) -> anyhow::Result<ScriptOutput> {
    let default = PathBuf::from(format!("{algorithm}.script"));
    if args.out.as_deref() == Some(Path::new("-")) {
        ensure!(!args.json, "--json and --out - both write to standard output; leave out one of them.");
        return Ok(ScriptOutput::Stdout(default));
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
    Ok(ScriptOutput::File(out))
}

/// Output of the script.
enum ScriptOutput {
    File(PathBuf),
    /// Standard output, without any other text. The path is the suggested file name in printed
    /// commands.
    Stdout(PathBuf),
}

fn is_shrunk_script(path: &Path) -> bool {
    let mut start = [0; FIRST_LINE_START.len()];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *FIRST_LINE_START.as_bytes())
}

/// Saves the script and prints the report.
fn conclude<F: FamilyLab>(
    args: &ShrinkArgs,
    mut shrunk: Shrunk<F>,
    out: &ScriptOutput,
    started: Instant,
) -> anyhow::Result<CommandOutcome> {
    let seconds = started.elapsed().as_secs_f64();
    let outcome = if shrunk.end == SearchEnd::Interrupted { CommandOutcome::Unfinished } else { CommandOutcome::Holds };
    let (ScriptOutput::File(path) | ScriptOutput::Stdout(path)) = out;
    shrunk.spec.script_path = shrunk.spec.script.is_some().then(|| path.display().to_string());
    // The name under which printed commands refer to the script; `None` if the search found no
    // script that fails.
    let script_path = shrunk.spec.script.is_some().then_some(path.as_path());
    match out {
        ScriptOutput::Stdout(_) if script_path.is_none() => {
            eprintln!("{UNSAVED_MESSAGE} To see it again: {}", shrunk.spec.command("sim"));
            return Ok(outcome);
        }
        ScriptOutput::Stdout(_) => {
            output().write_all(render_script(&shrunk).as_bytes())?;
            eprint!("{}", describe_reducibility(&shrunk));
            return Ok(outcome);
        }
        ScriptOutput::File(path) if script_path.is_some() => fs::write(path, render_script(&shrunk))
            .map_err(|error| anyhow!("cannot write the script {}: {error}. Nothing was saved.", display_path(path)))?,
        ScriptOutput::File(_) => {}
    }
    if args.json {
        print_json(&shrunk, script_path)?;
    } else {
        print(&shrunk, script_path, seconds)?;
    }
    Ok(outcome)
}

/// Returns the content of the script file: comments about the failure, and the script itself.
fn render_script<F: FamilyLab>(shrunk: &Shrunk<F>) -> String {
    let Shrunk { spec, property, violation, before, after, .. } = shrunk;
    let mut lines = vec![format!("{FIRST_LINE_START}: '{property}' of {} fails.", spec.algorithm)];
    let reason = violation.text.lines().next().unwrap_or_default().trim_end_matches('.');
    lines.push(format!("# At {}: {reason}.", violation.time));
    let events = [after.events, before.events].map(|events| format_count(events, "event"));
    lines.push(format!("# The run has {}; the original run had {}.", events[0], events[1]));
    lines.push(format!("# To see it: {}", spec.command("sim")));
    let script = spec.script.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{}\n{script}", lines.join("\n"))
}

/// Returns a line that says that nothing could be left out of the run, or that the search ended
/// early. Empty if the search reduced the run and came to its end.
fn describe_reducibility<F: FamilyLab>(shrunk: &Shrunk<F>) -> String {
    let Shrunk { before, after, tried_runs, end, .. } = shrunk;
    let used =
        if *tried_runs == 1 { "The only try was used".into() } else { format!("All {tried_runs} tries were used") };
    match end {
        SearchEnd::Smallest if before == after => "The run cannot be reduced: nothing could be left out.\n".into(),
        SearchEnd::Smallest => String::new(),
        SearchEnd::OutOfRuns => {
            format!("{used}; more tries may reduce the run further: --tries {}.\n", tried_runs.saturating_mul(4))
        }
        SearchEnd::Interrupted => "Interrupted: this is the smallest run so far.\n".into(),
    }
}

fn count_script_lines<F: FamilyLab>(spec: &Spec<F>) -> u64 {
    spec.script
        .as_ref()
        .map_or(0, |script| (script.commands.len() + script.faults.len() + script.directions.len()) as u64)
}

fn print_json<F: FamilyLab>(shrunk: &Shrunk<F>, out: Option<&Path>) -> anyhow::Result<()> {
    let Shrunk { spec, property, kind, violation, before, after, tried_runs, end } = shrunk;
    report::print_json(&ShrinkReport {
        algorithm: spec.algorithm.name(),
        property,
        kind: *kind,
        text: &violation.text,
        time_ns: violation.time.nanos(),
        before: *before,
        after: *after,
        lines: count_script_lines(spec),
        tries: *tried_runs,
        end: *end,
        script: spec.script.as_ref().map(ToString::to_string),
        out: out.map(|path| path.display().to_string()),
        replay: spec.command("sim"),
    })
}

fn print<F: FamilyLab>(shrunk: &Shrunk<F>, script_path: Option<&Path>, seconds: f64) -> anyhow::Result<()> {
    let Shrunk { spec, property, kind, violation, before, after, tried_runs, .. } = shrunk;
    let mut out = output();
    let tried = format!("{} tried in {seconds:.1} s", format_count(*tried_runs, "run"));
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
        writeln!(out, "  {row:<14}{:>10}{:>10}", format_thousands(before), format_thousands(after))?;
    }
    let verdict = property::Verdict::from_violation(property, *kind, Some(violation.clone()));
    writeln!(out)?;
    report::print_verdicts(std::slice::from_ref(&verdict), &mut out)?;
    if after.events <= MAX_FULL_EVENTS {
        report::print_all_steps_to_violation(spec, &verdict, &mut out)?;
    } else {
        report::print_steps_to_violation(spec, &verdict, &mut out)?;
    }
    match (script_path, &spec.script) {
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
        _ => writeln!(out, "\n{UNSAVED_MESSAGE}")?,
    }
    let remark = describe_reducibility(shrunk);
    if !remark.is_empty() {
        write!(out, "\n{remark}")?;
    }
    writeln!(out, "\nTo see it again: {}", spec.command("sim"))?;
    Ok(())
}

/// Number of runs after which the progress is shown again.
const SHOW_INTERVAL: u64 = 32;

/// Shows the progress on one line of the terminal.
struct ProgressLine(ProgressBar);

impl ProgressLine {
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
        if tried.is_multiple_of(SHOW_INTERVAL) {
            self.0.set_message(format!("{tried} of {seeds} seeds tried"));
            self.0.tick();
        }
        !interrupt::was_requested()
    }

    /// Shows the size of the smallest run so far. Returns whether to continue.
    fn show(&self, progress: &Progress) -> bool {
        if progress.tried_runs.is_multiple_of(SHOW_INTERVAL) {
            let RunFigures { nodes, commands, faults, directions, events } = progress.best;
            let parts = [
                format_count(nodes as u64, "node"),
                format_count(commands, "command"),
                format_count(faults, "fault"),
                format_count(directions, "fixed delay"),
                format_count(events, "event"),
            ];
            self.0.set_message(format!(
                "{} tried, smallest has {}",
                format_count(progress.tried_runs, "run"),
                parts.join(", ")
            ));
            self.0.tick();
        }
        !interrupt::was_requested()
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
