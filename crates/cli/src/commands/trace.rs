//! `quorate trace`: what a journal says.

use crate::Verdict;
use crate::args::TraceArgs;
use crate::report::Figures;
use crate::{paint, report};
use anyhow::Context;
use quorate_core::VectorClock;
use quorate_core::mutex::{Command, Event};
use quorate_lab::replay::{spec_of, summarise};
use quorate_lab::trace::{self, Trace};
use quorate_sim::causality::Causality;
use quorate_sim::journal::Journal;
use quorate_sim::moment::{Moment, Observer};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// Opens a journal.
pub(crate) fn open(path: &Path) -> anyhow::Result<Journal<BufReader<File>>> {
    let file = File::open(path).with_context(|| format!("The journal {} could not be opened", path.display()))?;
    Journal::open(BufReader::new(file)).with_context(|| format!("In {}", path.display()))
}

pub(crate) fn run(args: &TraceArgs) -> anyhow::Result<Verdict> {
    let mut journal = open(&args.file)?;
    let context = || format!("In {}", args.file.display());
    match (&args.before, args.summary) {
        (Some(lines), _) => before(&mut journal, lines, args.json).with_context(context),
        (None, true) => summary(&mut journal, args.json).with_context(context),
        (None, false) => steps(&mut journal, args).with_context(context),
    }
}

#[derive(Serialize)]
struct Order {
    first: u64,
    second: u64,
    happened_before: bool,
    concurrent: bool,
    clocks: [VectorClock; 2],
}

/// The lines on which steps stand, with the vector clock that each of the two has.
fn before(journal: &mut Journal<BufReader<File>>, lines: &[u64], json: bool) -> anyhow::Result<Verdict> {
    let mut watch = Watch::new(journal.header().nodes);
    let mut clocks = Vec::new();
    let mut found = [None, None];
    while journal.show(&mut watch)? {
        for (place, line) in lines.iter().enumerate().take(2) {
            if *line == journal.line()
                && let Some(slot) = found.get_mut(place)
            {
                *slot = watch.step.clone();
            }
        }
    }
    for (line, clock) in lines.iter().zip(found) {
        let last = journal.line();
        clocks
            .push(clock.with_context(|| format!("line {line} is no step of a node; steps are on lines 2 to {last}"))?);
    }
    let [Some(one), Some(other)] = [clocks.first(), clocks.get(1)] else { return Ok(Verdict::Fails) };
    let (first, second) = (lines.first().copied().unwrap_or(0), lines.get(1).copied().unwrap_or(0));
    let happened_before = one.happened_before(other);
    let concurrent = one.concurrent_with(other);
    if json {
        report::json(&Order { first, second, happened_before, concurrent, clocks: [one.clone(), other.clone()] })?;
    } else {
        let relation = match (happened_before, concurrent) {
            (true, _) => "happened before",
            (false, true) => "is concurrent with",
            (false, false) if one == other => "is the same step as",
            (false, false) => "happened after",
        };
        writeln!(io::stdout().lock(), "Line {first} {one} {relation} line {second} {other}.")?;
    }
    Ok(Verdict::Holds)
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

impl Observer<Command, Event> for Watch {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.causality.observe(moment);
        self.step = match moment {
            Moment::Input { node, .. } | Moment::Effect { node, .. } => self.causality.clock(*node).cloned(),
            Moment::World { .. } => None,
        };
    }
}

fn summary(journal: &mut Journal<BufReader<File>>, json: bool) -> anyhow::Result<Verdict> {
    let read = summarise(journal)?;
    let spec = &read.spec;
    let entry = spec.validate()?;
    if json {
        #[derive(Serialize)]
        struct Report<'a> {
            algorithm: &'a str,
            nodes: usize,
            seed: u64,
            lines: u64,
            messages: &'a quorate_sim::metrics::MessageSummary,
            properties: &'a [quorate_sim::property::Verdict],
            mutex: &'a quorate_sim::mutex::MutexSummary,
        }
        report::json(&Report {
            algorithm: &spec.algorithm,
            nodes: spec.nodes,
            seed: spec.seed,
            lines: read.lines,
            messages: &read.messages,
            properties: &read.verdicts,
            mutex: &read.mutex,
        })?;
    } else {
        let mut out = io::stdout().lock();
        let lines = read.lines;
        writeln!(out, "{} · {} nodes · seed {} · {lines} lines\n", paint::bold(entry.name()), spec.nodes, spec.seed)?;
        let (messages, mutex, verdicts) = (&read.messages, &read.mutex, &read.verdicts);
        Figures { spec, facts: entry.facts, messages, mutex, verdicts }.print(&mut out)?;
    }
    Ok(if read.holds() { Verdict::Holds } else { Verdict::Fails })
}

fn steps(journal: &mut Journal<BufReader<File>>, args: &TraceArgs) -> anyhow::Result<Verdict> {
    let nodes = spec_of(journal)?.nodes;
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", paint::dim(&trace::heading(nodes)))?;
    let text = std::cell::RefCell::new(None);
    let lines = Trace::new(nodes, |line| *text.borrow_mut() = Some(trace::render(line, paint::part)));
    let mut observer = (Watch::new(nodes), lines);
    while journal.show(&mut observer)? {
        observer.1.finish();
        if let Some(text) = text.borrow_mut().take() {
            match (&observer.0.step, args.clocks) {
                (Some(clock), true) => writeln!(out, "{text}  {}", paint::dim(&clock.to_string()))?,
                (_, _) => writeln!(out, "{text}")?,
            }
        }
    }
    writeln!(out, "{}", paint::dim(&format!("{:>10}  {}", "", trace::LEGEND)))?;
    out.flush()?;
    Ok(Verdict::Holds)
}
