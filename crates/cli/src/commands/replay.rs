//! `quorate replay`: a recorded run again.

use crate::Verdict;
use crate::args::ReplayArgs;
use crate::commands::trace::{open, wrong};
use crate::output::output;
use crate::report::{Figures, Judged, count};
use crate::{paint, report};
use quorate_lab::replay::{self, Replayed, spec_of};
use quorate_lab::trace::{self, Trace};
use serde::Serialize;
use std::io::{BufWriter, Write};

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'a str,
    nodes: usize,
    seed: u64,
    lines: u64,
    identical: bool,
    #[serde(flatten)]
    judged: Judged<'a>,
    messages: &'a quorate_sim::metrics::MessageSummary,
    mutex: &'a quorate_sim::mutex::MutexSummary,
}

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<Verdict> {
    let mut journal = open(&args.file)?;
    let mut out = BufWriter::new(output());
    if args.steps {
        writeln!(
            out,
            "{}",
            paint::dim(&trace::heading(spec_of(&journal).map_err(|error| wrong(&args.file, error))?.nodes))
        )?;
    }
    let mut failed = None;
    let steps = args.steps.then(|| {
        Trace::new(journal.header().nodes, |line| {
            let told = writeln!(out, "{}", trace::render(line, paint::ink));
            failed = failed.take().or(told.err());
        })
    });
    let result = replay::replay(&mut journal, steps);
    // Of a journal that does not replay, the steps that do are shown.
    let replayed = match result {
        Ok((replayed, steps)) => {
            if let Some(mut steps) = steps {
                steps.finish();
            }
            replayed
        }
        Err(error) => {
            out.flush()?;
            return Err(wrong(&args.file, error));
        }
    };
    if let Some(error) = failed {
        return Err(error.into());
    }
    if args.steps {
        writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::LEGEND)))?;
    }
    out.flush()?;
    if args.json {
        json(&replayed)?;
    } else {
        print(&replayed)?;
    }
    Ok(Verdict::of(replayed.holds()))
}

fn json(replayed: &Replayed) -> anyhow::Result<()> {
    let Replayed { spec, lines, messages, mutex, verdicts } = replayed;
    report::json(&Report {
        algorithm: &spec.algorithm,
        nodes: spec.nodes,
        seed: spec.seed,
        lines: *lines,
        identical: true,
        judged: verdicts[..].into(),
        messages,
        mutex,
    })
}

fn print(replayed: &Replayed) -> anyhow::Result<()> {
    let Replayed { spec, lines, messages, mutex, verdicts } = replayed;
    let facts = spec.validate()?.facts;
    let mut out = BufWriter::new(output());
    let nodes = count(spec.nodes as u64, "node");
    let heading = format!("{} · {nodes} · seed {}", paint::bold(&spec.algorithm), spec.seed);
    writeln!(out, "{heading} · {} replayed, every one as recorded\n", count(*lines, "line"))?;
    Figures { spec, facts, messages, mutex, verdicts }.print(&mut out)?;
    out.flush()?;
    Ok(())
}
