//! `quorate replay`: a recorded run again.

use crate::Verdict;
use crate::args::ReplayArgs;
use crate::commands::trace::open;
use crate::report::Figures;
use crate::{paint, report};
use quorate_lab::replay::{self, Replayed};
use quorate_lab::trace::{self, Trace};
use serde::Serialize;
use std::io::{self, BufWriter, Write};

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'a str,
    nodes: usize,
    seed: u64,
    lines: u64,
    identical: bool,
    properties: &'a [quorate_sim::property::Verdict],
    messages: &'a quorate_sim::metrics::MessageSummary,
    mutex: &'a quorate_sim::mutex::MutexSummary,
}

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<Verdict> {
    let mut journal = open(&args.file)?;
    let nodes = journal.header().nodes;
    let mut out = BufWriter::new(io::stdout().lock());
    let show = args.steps && !args.json;
    if show {
        writeln!(out, "{}", paint::dim(&trace::heading(nodes)))?;
    }
    let mut failed = None;
    let steps = show.then(|| {
        Trace::new(nodes, |line| {
            if failed.is_none() {
                failed = writeln!(out, "{}", trace::render(line, paint::part)).err();
            }
        })
    });
    let (replayed, steps) = replay::replay(&mut journal, steps)?;
    if let Some(mut steps) = steps {
        steps.finish();
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    if show {
        writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::LEGEND)))?;
    }
    print(&replayed, args.json, &mut out)?;
    out.flush()?;
    Ok(if replayed.holds() { Verdict::Holds } else { Verdict::Fails })
}

fn print(replayed: &Replayed, json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    let Replayed { spec, lines, messages, mutex, verdicts } = replayed;
    let entry = spec.validate()?;
    if json {
        return report::json(&Report {
            algorithm: &spec.algorithm,
            nodes: spec.nodes,
            seed: spec.seed,
            lines: *lines,
            identical: true,
            properties: verdicts,
            messages,
            mutex,
        });
    }
    let heading = format!("{} · {} nodes · seed {}", paint::bold(&spec.algorithm), spec.nodes, spec.seed);
    writeln!(out, "{heading} · {lines} lines replayed, every one as recorded\n")?;
    Figures { spec, facts: entry.facts, messages, mutex, verdicts }.print(out)?;
    Ok(())
}
