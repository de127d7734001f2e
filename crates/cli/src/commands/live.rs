//! `quorate run`: runs an algorithm in real processes.

use crate::args::LiveArgs;
use crate::commands::draw;
use crate::commands::explain::capitalize;
use crate::output::{display_path, output};
use crate::picture::{self, CommandIo, Picture};
use crate::report::{Measured, RunReport, format_count};
use crate::{CommandOutcome, interrupt, paint, progress, report};
use indicatif::ProgressBar;
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect};
use quorate_journal::settings::Length;
use quorate_journal::workload::Ending;
use quorate_lab::check::draw_command;
use quorate_lab::figures::RunResults;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::{FamilyLab, Spec};
use quorate_live::schedule::format_option;
use quorate_live::{Counts, LiveError, LiveOutcome, Options};
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
#[serde(bound = "")]
struct LiveReport<'a, F: FamilyLab> {
    #[serde(flatten)]
    common: RunReport<'a, F>,
    run: ProcessReport<'a>,
}

/// Figures that only a run in real processes has.
#[derive(Serialize)]
struct ProcessReport<'a> {
    #[serde(flatten)]
    counts: Counts,
    wall_ns: u64,
    tls: bool,
    namespaces: bool,
    interrupted: bool,
    /// The planned faults, as options of the command line. Every fault that can happen to processes
    /// has an option.
    faults: Vec<String>,
    /// Number of starts and ends of these faults that were still to come when the workload ended.
    spared: usize,
    /// The nodes that were not up at the end, each in a phrase such as `node 2 is down`.
    troubles: &'a [String],
    /// Number of journals that are empty or end with an incomplete line, as a killed process leaves
    /// them.
    torn: usize,
    /// Path of the run's journal, if `--trace` or `--keep` asked for it or a property fails.
    journal: Option<String>,
    /// Number of messages that a link did not deliver although it delivered a later one.
    skipped: u64,
    /// Number of writes that a disk confirmed and lost afterwards.
    forgotten: u64,
    warnings: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

pub(crate) fn run(args: &LiveArgs) -> anyhow::Result<CommandOutcome> {
    dispatch_to_family(args.entry()?, args)
}

impl Task for &LiveArgs {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        run_processes::<F>(self, entry)
    }
}

fn run_processes<F: FamilyLab>(args: &LiveArgs, entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
    let spec = args.spec::<F>()?;
    validate_files(args)?;
    let program = std::env::current_exe()
        .map_err(|error| anyhow::anyhow!("cannot find the path of this program to start processes: {error}."))?;
    interrupt::install_handler();
    if args.chaos && !args.json {
        print_planned_faults(args, &spec)?;
    }
    let options = Options {
        has_tls: args.tls,
        has_namespaces: args.namespaces,
        kept_folder: args.keep.clone(),
        journal_path: args.trace.clone(),
        time_limit: args.until.map(|Length(length)| length),
        patience: args.idle_timeout.0,
        is_interrupted: &interrupt::was_requested,
        ..Options::new(program)
    };
    let bar = progress_bar::<F>(&spec);
    let mut count_progress = |time: Time, node: NodeId, event: &F::Event| {
        if F::is_progress(&Moment::Effect { time, node, effect: ObservedEffect::Emit(event) }) {
            bar.inc(1);
        }
    };
    let outcome = quorate_live::run::<F>(&spec, &options, &mut count_progress);
    bar.finish_and_clear();
    let outcome = match outcome {
        Err(error @ LiveError::Interrupted) => {
            // The run was interrupted before it began, which is not an error. Ignore a failed
            // write: there is no other place to report it.
            let _ = writeln!(io::stderr(), "{}", capitalize(&error.to_string()));
            return Ok(CommandOutcome::Unfinished);
        }
        outcome => outcome?,
    };
    // Print the result even if the pictures could not be drawn.
    let pictures = match &outcome.journal {
        Some(journal) if args.picture.is_wanted() => draw::draw_pictures_of_file::<F>(journal, &args.picture),
        Some(_) | None => Ok(Vec::new()),
    };
    let written_pictures = pictures.as_deref().unwrap_or_default();
    if args.json {
        print_json(args, &spec, entry, &outcome, written_pictures)?;
    } else if !args.picture.takes_stdout() {
        print(args, &spec, entry, &outcome, written_pictures)?;
    }
    pictures?;
    Ok(command_outcome(&outcome))
}

/// Rejects pictures that cannot be written, and pictures without `--trace`, because they are drawn
/// from the journal.
fn validate_files(args: &LiveArgs) -> anyhow::Result<()> {
    // Both print to standard output, so no picture can go there: --chaos prints the planned faults.
    let options = [(args.json, "json"), (args.chaos, "chaos")];
    let stdout_option = options.into_iter().find_map(|(is_given, option)| is_given.then_some(option));
    args.picture.validate(&CommandIo { stdout_option, journal: args.trace.as_deref(), ..CommandIo::default() })?;
    anyhow::ensure!(
        args.trace.is_some() || !args.picture.is_wanted(),
        "a picture of real processes is drawn from their journal: add --trace FILE."
    );
    Ok(())
}

fn command_outcome<F: FamilyLab>(outcome: &LiveOutcome<F>) -> CommandOutcome {
    match (CommandOutcome::from_verdicts(&outcome.replayed.verdicts), outcome.ending) {
        (CommandOutcome::Holds, Ending::Stuck | Ending::Stopped) => CommandOutcome::Unfinished,
        (outcome, Ending::Done | Ending::Stuck | Ending::Stopped) => outcome,
    }
}

/// Width in characters at which a line of planned faults is wrapped. Each fault stays on one line.
const MAX_FAULT_LINE_WIDTH: usize = 110;

/// Prints the planned faults before the run, so that they are known even if the run never ends.
fn print_planned_faults<F: FamilyLab>(args: &LiveArgs, spec: &Spec<F>) -> anyhow::Result<()> {
    let mut out = output();
    let faults = format_count(spec.faults.len() as u64, "fault");
    writeln!(out, "Planned with seed {}: {faults} within {}", spec.seed, F::fault_window(spec))?;
    let mut line = String::new();
    for fault in spec.faults.iter().filter_map(format_option) {
        if line.len() + fault.len() > MAX_FAULT_LINE_WIDTH {
            writeln!(out, "{}", paint::dim(&line))?;
            line.clear();
        }
        line.push_str("  ");
        line.push_str(&fault);
    }
    writeln!(out, "{}", paint::dim(&line))?;
    writeln!(out, "To run the same faults again: {}\n", args.command(spec))?;
    out.flush()?;
    Ok(())
}

fn progress_bar<F: FamilyLab>(spec: &Spec<F>) -> ProgressBar {
    progress::bar(F::progress_goal(spec), &format!("{{pos}}/{{len}} {}, {{elapsed}}", F::PROGRESS_UNIT))
}

fn transport_name(args: &LiveArgs) -> &'static str {
    if args.tls { "tls" } else { "tcp" }
}

fn print_json<F: FamilyLab>(
    args: &LiveArgs,
    spec: &Spec<F>,
    entry: &'static F::Entry,
    outcome: &LiveOutcome<F>,
    pictures: &[Picture],
) -> anyhow::Result<()> {
    let LiveOutcome { replayed, gathered, .. } = outcome;
    report::print_json(&LiveReport {
        common: RunReport {
            algorithm: F::profile(entry).name,
            family: F::FAMILY,
            nodes: spec.nodes,
            seed: spec.seed,
            links: transport_name(args),
            ending: outcome.ending,
            time_ns: i64::try_from(outcome.workload_time.nanos()).unwrap_or(i64::MAX),
            events: outcome.inputs,
            trace_hash: &outcome.journal_hash,
            messages: &replayed.messages,
            judged: replayed.verdicts[..].into(),
            measured: Measured::<F>(&replayed.summary),
        },
        run: ProcessReport {
            counts: outcome.counts,
            wall_ns: outcome.wall_time.nanos(),
            tls: args.tls,
            namespaces: args.namespaces,
            interrupted: outcome.is_interrupted,
            faults: spec.faults.iter().filter_map(format_option).collect(),
            spared: outcome.unapplied_faults,
            troubles: &outcome.node_problems,
            torn: gathered.torn_files.len(),
            journal: outcome.journal.as_deref().map(display_path),
            skipped: gathered.skipped_messages,
            forgotten: gathered.forgotten_writes,
            warnings: &gathered.warnings,
            pictures,
        },
    })
}

fn print<F: FamilyLab>(
    args: &LiveArgs,
    spec: &Spec<F>,
    entry: &'static F::Entry,
    outcome: &LiveOutcome<F>,
    pictures: &[Picture],
) -> anyhow::Result<()> {
    let mut out = output();
    let network = if args.namespaces { "separate networks" } else { "loopback" };
    let processes = format_processes(spec.nodes as u64);
    let title = format!("{processes} · seed {} · {} on {network}", spec.seed, transport_name(args).to_uppercase());
    writeln!(out, "{} · {title}\n", paint::bold(F::profile(entry).name))?;
    let LiveOutcome { replayed, gathered, .. } = outcome;
    report::print_figures(
        &RunResults { spec, messages: &replayed.messages, summary: &replayed.summary, verdicts: &replayed.verdicts },
        &mut out,
    )?;
    writeln!(out, "\n  {}", paint::dim(&describe_ending(args, spec, outcome)))?;
    for remark in describe_faults(outcome) {
        writeln!(out, "  {}", paint::dim(&remark))?;
    }
    for warning in &gathered.warnings {
        writeln!(out, "  {} {warning}", paint::bad("warning:"))?;
    }
    if let Some(path) = &outcome.journal {
        writeln!(out, "  {}", paint::dim(&format!("journal: {} ({} lines)", display_path(path), gathered.lines)))?;
    }
    for picture in pictures {
        writeln!(out, "  {}", paint::dim(&picture.report_line()))?;
    }
    if outcome.fails() {
        if let Some(path) = &outcome.journal {
            writeln!(out, "\nTo see what every process did: quorate replay {} --steps", display_path(path))?;
            if pictures.is_empty() {
                let draw = draw_command(&path.to_string_lossy());
                writeln!(out, "To draw it: {draw} --svg {}", picture::DEFAULT_PICTURE)?;
            }
        }
        let repetition = if spec.faults.is_empty() { "To run it again" } else { "To run the same faults again" };
        writeln!(out, "{repetition}: {}", args.command(spec))?;
    }
    Ok(())
}

fn describe_ending<F: FamilyLab>(args: &LiveArgs, spec: &Spec<F>, outcome: &LiveOutcome<F>) -> String {
    let progress = F::describe_progress(spec, &outcome.replayed.summary);
    let time = outcome.workload_time;
    let requested_limit = args.until.map(|Length(length)| length);
    let limit = requested_limit.or(F::limits(spec).max_time.map(|until| until.since(Time::ZERO))).unwrap_or(time);
    let ending = match outcome.ending {
        Ending::Done => format!("done after {time}"),
        Ending::Stuck => {
            let idle_timeout = args.idle_timeout;
            format!("blocked after {time}: no client received an event for {idle_timeout} (--idle-timeout){progress}")
        }
        Ending::Stopped if outcome.is_interrupted => format!("interrupted after {time}{progress}"),
        Ending::Stopped => format!("not finished within the limit of {limit}{progress}"),
    };
    let events = format_count(outcome.inputs, "event");
    format!("{ending}; {} in total, {events}, trace {}", outcome.wall_time, outcome.journal_hash)
}

fn format_processes(number: u64) -> String {
    if number == 1 { "1 process".into() } else { format!("{number} processes") }
}

/// Describes the faults that happened, the starts and ends of faults that were still to come, and
/// the nodes that were not up at the end of an unfinished run.
fn describe_faults<F: FamilyLab>(outcome: &LiveOutcome<F>) -> Vec<String> {
    let Counts { processes, kills, pauses, cuts } = outcome.counts;
    let counts = [(kills, "kill"), (pauses, "stop"), (cuts, "cut")];
    let counts: Vec<_> =
        counts.iter().filter(|(number, _)| *number > 0).map(|(number, kind)| format_count(*number, kind)).collect();
    let mut remarks = Vec::new();
    if !counts.is_empty() {
        remarks.push(format!("{}; {} started", counts.join(", "), format_processes(processes)));
    }
    if outcome.unapplied_faults > 0 {
        remarks
            .push(format!("starts and ends of planned faults that were still to come: {}", outcome.unapplied_faults));
    }
    if outcome.ending != Ending::Done && !outcome.node_problems.is_empty() {
        remarks.push(format!("at the end: {}", outcome.node_problems.join(", ")));
    }
    remarks
}
