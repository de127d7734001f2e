//! `quorate trace`: what a journal says.

use crate::Verdict;
use crate::args::TraceArgs;
use crate::output::{name, output};
use crate::report::Reading;
use crate::{paint, report};
use anyhow::anyhow;
use quorate_core::{NodeId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::record;
use quorate_lab::registry::{Task, of_family};
use quorate_lab::replay::{entry_of, spec_of, summarise};
use quorate_lab::trace::{self, Line, Part, Trace};
use quorate_lab::{FamilyLab, LabError};
use serde::Serialize;
use std::cell::RefCell;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// A journal in a file.
pub(crate) type Journal<R = File> = record::Journal<BufReader<R>>;

pub(crate) fn open(path: &Path) -> anyhow::Result<Journal> {
    open_with(path, |file| file)
}

/// Opens a journal that is read through something which sees how far it is.
pub(crate) fn open_with<R: Read>(path: &Path, through: impl FnOnce(File) -> R) -> anyhow::Result<Journal<R>> {
    let file = File::open(path).map_err(|error| anyhow!("The journal {} could not be opened: {error}.", name(path)))?;
    Journal::open(BufReader::new(through(file))).map_err(|error| wrong(path, error))
}

/// What is wrong with a journal, and with which one.
pub(crate) fn wrong(path: &Path, error: impl Display) -> anyhow::Error {
    anyhow!("In {}: {error}", name(path))
}

pub(crate) fn run(args: &TraceArgs) -> anyhow::Result<Verdict> {
    let journal = open(&args.file)?;
    let entry = entry_of(&journal).map_err(|error| wrong(&args.file, error))?;
    of_family(entry, Look { args, journal })
}

/// A journal that is to be looked at.
struct Look<'a> {
    args: &'a TraceArgs,
    journal: Journal,
}

impl Task for Look<'_> {
    type Output = anyhow::Result<Verdict>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<Verdict> {
        look::<F>(self.args, self.journal)
    }
}

fn look<F: FamilyLab>(args: &TraceArgs, mut journal: Journal) -> anyhow::Result<Verdict> {
    let wrong = |error: LabError| wrong(&args.file, error);
    match (&args.before, args.summary) {
        (Some(lines), _) => {
            let clocks = clocks_at::<F>(&mut journal, lines).map_err(wrong)?;
            before(args, lines, &clocks, journal.line())
        }
        (None, true) => {
            let read = summarise::<F, _>(&mut journal).map_err(wrong)?;
            if args.json {
                report::json(&Reading::new(&read, None))?;
            } else {
                report::reading(&read, "")?;
            }
            Ok(Verdict::of_run(&read.verdicts))
        }
        (None, false) => {
            let mut out = BufWriter::new(output());
            let told = if args.json {
                json_steps::<F>(&mut journal, &mut out)
            } else {
                text_steps::<F>(&mut journal, args, &mut out)
            };
            // Of a journal that turns out to be malformed, what is whole is shown.
            out.flush()?;
            told.map_err(|error| match error.downcast::<LabError>() {
                Ok(error) => wrong(error),
                Err(error) => error,
            })?;
            Ok(Verdict::Holds)
        }
    }
}

fn text_steps<F: FamilyLab>(journal: &mut Journal, args: &TraceArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let nodes = spec_of::<F, _>(journal)?.nodes;
    writeln!(out, "{}", paint::dim(&format!("{:>6}  {}", "line", trace::heading(nodes))))?;
    each_step::<F>(journal, |step| writeln!(out, "{:>6}  {}", step.line, step.text(args.clocks)))?;
    writeln!(out, "{}", paint::dim(&format!("{:>18}  {}", "", trace::legend(F::ROLES))))?;
    Ok(())
}

fn json_steps<F: FamilyLab>(journal: &mut Journal, out: &mut impl Write) -> anyhow::Result<()> {
    let mut before = "[\n";
    each_step::<F>(journal, |step| {
        write!(out, "{}{}", std::mem::replace(&mut before, ",\n"), serde_json::to_string(&step)?)
    })?;
    writeln!(out, "{}]", if before == "[\n" { "[" } else { "\n" })?;
    Ok(())
}

/// One line of a journal.
#[derive(Serialize)]
struct Step {
    /// Its number; the header is line 1.
    line: u64,
    time_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeId>,
    parts: Vec<Part>,
    /// None for an act of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<VectorClock>,
    #[serde(skip)]
    rendered: String,
}

impl Step {
    fn text(&self, clocks: bool) -> String {
        match &self.clock {
            Some(clock) if clocks => format!("{}  {}", self.rendered, paint::dim(&clock.to_string())),
            Some(_) | None => self.rendered.clone(),
        }
    }
}

fn each_step<F: FamilyLab>(journal: &mut Journal, mut tell: impl FnMut(Step) -> io::Result<()>) -> anyhow::Result<()> {
    let nodes = spec_of::<F, _>(journal)?.nodes;
    let shown = RefCell::new(None);
    let lines = Trace::<F>::of(journal.header(), |line: &Line| *shown.borrow_mut() = Some(line.clone()));
    let mut observer = (Watch::new(nodes), lines);
    while journal.show::<F::Command, F::Event>(&mut observer).map_err(LabError::from)? {
        observer.1.finish();
        if let Some(line) = shown.borrow_mut().take() {
            let rendered = trace::render(&line, paint::ink);
            let Line { time, node, parts, .. } = line;
            let clock = observer.0.step.clone();
            tell(Step { line: journal.line(), time_ns: time.nanos(), node, parts, clock, rendered })?;
        }
    }
    Ok(())
}

/// Follows vector clocks, and remembers that of the last line if it was a step.
struct Watch {
    causality: Causality,
    step: Option<VectorClock>,
}

impl Watch {
    fn new(nodes: usize) -> Self {
        Self { causality: Causality::new(nodes), step: None }
    }
}

impl<C, E> Observer<C, E> for Watch {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.causality.observe(moment);
        self.step = match moment {
            Moment::Input { node, .. } | Moment::Effect { node, .. } => self.causality.clock(*node).cloned(),
            Moment::World { .. } => None,
        };
    }
}

/// The clock of each of these lines, where it is a step.
fn clocks_at<F: FamilyLab>(journal: &mut Journal, lines: &[u64]) -> Result<Vec<Option<VectorClock>>, LabError> {
    let mut watch = Watch::new(spec_of::<F, _>(journal)?.nodes);
    let mut clocks = vec![None; lines.len()];
    while journal.show::<F::Command, F::Event>(&mut watch)? {
        for (clock, _) in clocks.iter_mut().zip(lines).filter(|(_, line)| **line == journal.line()) {
            *clock = watch.step.clone();
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

/// Whether the step on the one line happened before the step on the other.
fn before(args: &TraceArgs, lines: &[u64], clocks: &[Option<VectorClock>], last: u64) -> anyhow::Result<Verdict> {
    if let Some((line, _)) = lines.iter().zip(clocks).find(|(_, clock)| clock.is_none()) {
        return Err(wrong(&args.file, no_step(*line, last)));
    }
    let (&[first, second], [Some(one), Some(other)]) = (lines, clocks) else {
        anyhow::bail!("--before compares two lines, such as --before 4 9.");
    };
    let happened_before = one.happened_before(other);
    let concurrent = one.concurrent_with(other);
    if args.json {
        report::json(&Order { first, second, happened_before, concurrent, clocks: [one, other] })?;
        return Ok(Verdict::Holds);
    }
    let relation = match (happened_before, concurrent) {
        (true, _) => "happened before",
        (false, true) => "is concurrent with",
        (false, false) if one == other => "is the same step as",
        (false, false) => "happened after",
    };
    writeln!(output(), "Line {first} {one} {relation} line {second} {other}.")?;
    Ok(Verdict::Holds)
}

fn no_step(line: u64, last: u64) -> String {
    let why = match line {
        0 | 1 => "steps begin on line 2".into(),
        _ if line > last => format!("the last line is {last}"),
        _ => "it is an act of the world".into(),
    };
    format!("Line {line} is no step of a node: {why}.")
}
