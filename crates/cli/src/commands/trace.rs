//! `quorate trace`: prints a journal.

use crate::CommandOutcome;
use crate::args::TraceArgs;
use crate::output::{display_path, output};
use crate::report::JournalReport;
use crate::{paint, report};
use anyhow::anyhow;
use quorate_core::{NodeId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::record;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::replay::{entry_of, spec_of, summarise};
use quorate_lab::trace::{self, Line, Part, Trace};
use quorate_lab::{FamilyLab, LabError};
use serde::Serialize;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// A journal read from a file.
pub(crate) type Journal<R = File> = record::Journal<BufReader<R>>;

pub(crate) fn open(path: &Path) -> anyhow::Result<Journal> {
    open_with(path, |file| file)
}

/// Opens a journal and reads it through an adapter, such as a progress bar.
pub(crate) fn open_with<R: Read>(path: &Path, adapter: impl FnOnce(File) -> R) -> anyhow::Result<Journal<R>> {
    let file = File::open(path).map_err(|error| anyhow!("cannot open the journal {}: {error}.", display_path(path)))?;
    Journal::open(BufReader::new(adapter(file))).map_err(|error| journal_error(path, error))
}

/// Returns an error about the content of a journal.
pub(crate) fn journal_error(path: &Path, error: impl Display) -> anyhow::Error {
    anyhow!("in {}: {error}", display_path(path))
}

pub(crate) fn run(args: &TraceArgs) -> anyhow::Result<CommandOutcome> {
    let journal = open(&args.file)?;
    let entry = entry_of(&journal).map_err(|error| journal_error(&args.file, error))?;
    dispatch_to_family(entry, PrintJournal { args, journal })
}

/// The task to print a journal.
struct PrintJournal<'a> {
    args: &'a TraceArgs,
    journal: Journal,
}

impl Task for PrintJournal<'_> {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        print_journal::<F>(self.args, self.journal)
    }
}

fn print_journal<F: FamilyLab>(args: &TraceArgs, mut journal: Journal) -> anyhow::Result<CommandOutcome> {
    let invalid = |error: LabError| journal_error(&args.file, error);
    match (&args.before, args.summary) {
        (Some(lines), _) => {
            let clocks = read_clocks::<F>(&mut journal, lines).map_err(invalid)?;
            print_order(args, lines, &clocks, journal.line())
        }
        (None, true) => {
            let summary = summarise::<F, _>(&mut journal).map_err(invalid)?;
            // Without a replay nothing is known about whether the nodes behave as recorded.
            let (identical, remark) = (None, "");
            if args.json {
                report::print_json(&JournalReport::new(&summary, identical))?;
            } else {
                report::print_journal(&summary, remark)?;
            }
            Ok(CommandOutcome::from_verdicts(&summary.verdicts))
        }
        (None, false) => {
            let mut out = BufWriter::new(output());
            let printed = if args.json {
                print_json_lines::<F>(&mut journal, &mut out)
            } else {
                print_text_lines::<F>(&mut journal, args, &mut out)
            };
            // If the journal is malformed, show the part before the error.
            out.flush()?;
            printed.map_err(|error| match error.downcast::<LabError>() {
                Ok(error) => invalid(error),
                Err(error) => error,
            })?;
            Ok(CommandOutcome::Holds)
        }
    }
}

fn print_text_lines<F: FamilyLab>(journal: &mut Journal, args: &TraceArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let nodes = spec_of::<F, _>(journal)?.nodes;
    writeln!(out, "{}", paint::dim(&format!("{:>6}  {}", "line", trace::heading(nodes))))?;
    for_each_line::<F>(journal, |shown| writeln!(out, "{:>6}  {}", shown.line, shown.format(args.clocks)))?;
    writeln!(out, "{}", paint::dim(&format!("{:>18}  {}", "", trace::legend(F::ROLES))))?;
    Ok(())
}

fn print_json_lines<F: FamilyLab>(journal: &mut Journal, out: &mut impl Write) -> anyhow::Result<()> {
    let mut separator = "[\n";
    for_each_line::<F>(journal, |shown| {
        write!(out, "{}{}", std::mem::replace(&mut separator, ",\n"), serde_json::to_string(&shown)?)
    })?;
    // Without any line the opening bracket is still missing.
    writeln!(out, "{}]", if separator == "[\n" { "[" } else { "\n" })?;
    Ok(())
}

/// One line of a journal as the trace shows it: a step of a node, a fault or another event.
#[derive(Serialize)]
struct ShownLine {
    /// Line number in the journal; the header is line 1.
    line: u64,
    time_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    parts: Vec<Part>,
    /// `None` for a fault or another event outside the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<VectorClock>,
    #[serde(skip)]
    rendered: String,
}

impl ShownLine {
    fn format(&self, shows_clock: bool) -> String {
        match &self.clock {
            Some(clock) if shows_clock => format!("{}  {}", self.rendered, paint::dim(&clock.to_string())),
            Some(_) | None => self.rendered.clone(),
        }
    }
}

fn for_each_line<F: FamilyLab>(
    journal: &mut Journal,
    mut print: impl FnMut(ShownLine) -> io::Result<()>,
) -> anyhow::Result<()> {
    let nodes = spec_of::<F, _>(journal)?.nodes;
    let last_line = RefCell::new(None);
    let lines = Trace::<F>::for_journal(journal.header(), |line: &Line| *last_line.borrow_mut() = Some(line.clone()));
    let mut observer = (ClockObserver::new(nodes), lines);
    while journal.show::<F::Command, F::Event>(&mut observer).map_err(LabError::from)? {
        let (clocks, trace) = &mut observer;
        // A line of the journal gives at most one line of the trace, which `finish` emits.
        trace.finish();
        if let Some(line) = last_line.borrow_mut().take() {
            let rendered = trace::render(&line, paint::trace_text);
            let Line { time, node, parts, .. } = line;
            let clock = clocks.step_clock.clone();
            print(ShownLine { line: journal.line(), time_ns: time.nanos(), node, parts, clock, rendered })?;
        }
    }
    Ok(())
}

/// Computes vector clocks. `step_clock` is the clock of the last line, if that was a step.
struct ClockObserver {
    causality: Causality,
    step_clock: Option<VectorClock>,
}

impl ClockObserver {
    fn new(nodes: usize) -> Self {
        Self { causality: Causality::new(nodes), step_clock: None }
    }
}

impl<C, E> Observer<C, E> for ClockObserver {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.causality.observe(moment);
        self.step_clock = match moment {
            Moment::Input { node, .. } | Moment::Effect { node, .. } => self.causality.clock(*node).cloned(),
            Moment::World { .. } => None,
        };
    }
}

/// Returns the clock of each of these lines; `None` for a line that is missing or not a step.
fn read_clocks<F: FamilyLab>(journal: &mut Journal, lines: &[u64]) -> Result<Vec<Option<VectorClock>>, LabError> {
    let mut observer = ClockObserver::new(spec_of::<F, _>(journal)?.nodes);
    let mut clocks = vec![None; lines.len()];
    while journal.show::<F::Command, F::Event>(&mut observer)? {
        for (clock, _) in clocks.iter_mut().zip(lines).filter(|(_, line)| **line == journal.line()) {
            *clock = observer.step_clock.clone();
        }
    }
    Ok(clocks)
}

#[derive(Serialize)]
struct Order<'a> {
    first: u64,
    second: u64,
    happened_before: bool,
    concurrent: bool,
    clocks: [&'a VectorClock; 2],
}

/// Prints whether the step on the first line happened before the step on the second, after it, or
/// concurrently. Fails if a line is not a step.
fn print_order(
    args: &TraceArgs,
    lines: &[u64],
    clocks: &[Option<VectorClock>],
    last_line: u64,
) -> anyhow::Result<CommandOutcome> {
    if let Some((line, _)) = lines.iter().zip(clocks).find(|(_, clock)| clock.is_none()) {
        return Err(journal_error(&args.file, explain_missing_step(*line, last_line)));
    }
    let (&[first, second], [Some(first_clock), Some(second_clock)]) = (lines, clocks) else {
        anyhow::bail!("--before needs two line numbers, such as --before 4 9.");
    };
    let happened_before = first_clock.happened_before(second_clock);
    let concurrent = first_clock.is_concurrent_with(second_clock);
    if args.json {
        report::print_json(&Order { first, second, happened_before, concurrent, clocks: [first_clock, second_clock] })?;
        return Ok(CommandOutcome::Holds);
    }
    let relation = match (happened_before, concurrent) {
        (true, _) => "happened before",
        (false, true) => "is concurrent with",
        (false, false) if first_clock == second_clock => "is the same step as",
        (false, false) => "happened after",
    };
    writeln!(output(), "Line {first} {first_clock} {relation} line {second} {second_clock}.")?;
    Ok(CommandOutcome::Holds)
}

fn explain_missing_step(line: u64, last_line: u64) -> String {
    let reason = match line {
        0 | 1 => "steps begin on line 2".into(),
        _ if line > last_line => format!("the last line is {last_line}"),
        _ => "it is a fault, another event outside the nodes or the end of the journal".into(),
    };
    format!("line {line} is not a step of a node: {reason}.")
}
