//! `quorate sim`: one run.

use crate::Verdict;
use crate::args::SimArgs;
use crate::output::{name, output};
use crate::report::{Figures, Judged, count};
use crate::{paint, report};
use indicatif::{ProgressBar, ProgressStyle};
use quorate_core::mutex::{Command, Event};
use quorate_lab::Spec;
use quorate_lab::experiment::{self, Outcome};
use quorate_lab::trace::{self, Trace};
use quorate_registry::{Entry, Family};
use quorate_sim::metrics::MessageSummary;
use quorate_sim::moment::{Moment, Observer};
use quorate_sim::mutex::{Change, MutexSummary, change};
use quorate_sim::run::Ending;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'a str,
    family: Family,
    nodes: usize,
    seed: u64,
    links: &'static str,
    ending: Ending,
    time_ns: i64,
    events: u64,
    trace_hash: &'a str,
    messages: &'a MessageSummary,
    #[serde(flatten)]
    judged: Judged<'a>,
    mutex: &'a MutexSummary,
}

pub(crate) fn run(args: &SimArgs) -> anyhow::Result<Verdict> {
    let spec = args.run.spec()?;
    if let Some(path) = args.trace.as_deref().filter(|path| args.run.is_script(path)) {
        anyhow::bail!("--trace {} would overwrite the script; give the journal another name.", name(path));
    }
    let entry = spec.validate()?;
    let outcome = if args.steps { with_steps(&spec, args.trace.as_deref())? } else { quietly(&spec, args)? };
    if args.json {
        report::json(&Report {
            algorithm: entry.name(),
            family: entry.family(),
            nodes: spec.nodes,
            seed: spec.seed,
            links: links(&spec),
            ending: outcome.ending,
            time_ns: outcome.time.nanos(),
            events: outcome.events,
            trace_hash: &outcome.trace_hash,
            messages: &outcome.messages,
            judged: outcome.verdicts[..].into(),
            mutex: &outcome.mutex,
        })?;
    } else {
        print(&spec, entry, &outcome, args)?;
    }
    Ok(Verdict::of(outcome.holds()))
}

fn print(spec: &Spec, entry: &Entry, outcome: &Outcome, args: &SimArgs) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(
        out,
        "{} · {} · seed {} · {} · {} links\n",
        paint::bold(entry.name()),
        count(spec.nodes as u64, "node"),
        spec.seed,
        spec.latency,
        links(spec)
    )?;
    let Outcome { messages, mutex, verdicts, .. } = outcome;
    Figures { spec, facts: entry.facts, messages, mutex, verdicts }.print(&mut out)?;
    let time = outcome.time;
    let served = match &spec.script {
        Some(script) if !script.commands.is_empty() => String::new(),
        Some(_) | None => format!("; {} of {} requests led to an entry", mutex.entries, spec.entries),
    };
    let ending = match outcome.ending {
        Ending::Done => format!("done at {time}"),
        Ending::Stuck => format!("stuck at {time}, where nothing more can change{served}"),
        Ending::Stopped => format!("stopped at {time}, its limit{served}"),
    };
    let summary = format!("{ending}, {}, trace {}", count(outcome.events, "event"), outcome.trace_hash);
    writeln!(out, "\n  {}", paint::dim(&summary))?;
    if let Some(path) = &args.trace {
        writeln!(out, "  {}", paint::dim(&format!("journal: {} ({} lines)", name(path), outcome.lines)))?;
    }
    if let Some(breach) = outcome.breaches().next() {
        if !args.steps {
            report::story(spec, breach, &mut out)?;
        }
        writeln!(out, "\nTo see it again: {}", spec.command("sim"))?;
    }
    Ok(())
}

fn links(spec: &Spec) -> &'static str {
    if spec.is_reliable() { "reliable" } else { "bare" }
}

/// Prints every step as it happens.
fn with_steps(spec: &Spec, journal: Option<&Path>) -> anyhow::Result<Outcome> {
    let mut out = BufWriter::new(output());
    writeln!(out, "{}", paint::dim(&trace::heading(spec.nodes)))?;
    let mut failed = None;
    let steps = Trace::new(spec.nodes, |line| {
        if failed.is_none() {
            failed = writeln!(out, "{}", trace::render(line, paint::ink)).err();
        }
    });
    let (outcome, mut steps) = experiment::run_with(spec, writer(journal)?, steps)?;
    steps.finish();
    drop(steps);
    if let Some(error) = failed {
        return Err(error.into());
    }
    writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::LEGEND)))?;
    out.flush()?;
    Ok(outcome)
}

fn quietly(spec: &Spec, args: &SimArgs) -> anyhow::Result<Outcome> {
    let progress = Progress::new(spec.entries);
    let (outcome, progress) = experiment::run_with(spec, writer(args.trace.as_deref())?, progress)?;
    progress.bar.finish_and_clear();
    Ok(outcome)
}

fn writer(path: Option<&Path>) -> anyhow::Result<Box<dyn Write>> {
    let Some(path) = path else { return Ok(Box::new(io::sink())) };
    let file = File::create(path)
        .map_err(|error| anyhow::anyhow!("The journal {} could not be written: {error}.", name(path)))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Shows how many requests have been served, if it takes long enough to wonder.
struct Progress {
    bar: ProgressBar,
    moments: u64,
    served: u64,
}

impl Progress {
    fn new(entries: u64) -> Self {
        let bar = ProgressBar::new(entries);
        let style = ProgressStyle::with_template("  {bar:30} {pos}/{len} requests, {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, moments: 0, served: 0 }
    }
}

impl Observer<Command, Event> for Progress {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Some((_, _, Change::Leaves | Change::GivesUp)) = change(moment) {
            self.served += 1;
        }
        self.moments += 1;
        if self.moments.is_multiple_of(1 << 18) {
            self.bar.set_position(self.served);
        }
    }
}
