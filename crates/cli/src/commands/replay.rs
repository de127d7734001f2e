//! `quorate replay`: a recorded run again.

use crate::Verdict;
use crate::args::ReplayArgs;
use crate::commands::trace::{open, wrong};
use crate::output::output;
use crate::report::Reading;
use crate::{paint, report};
use quorate_lab::replay::{self, spec_of};
use quorate_lab::trace::{self, Trace};
use std::io::{BufWriter, Write};

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
        report::json(&Reading::new(&replayed, Some(true)))?;
    } else {
        report::reading(&replayed, " replayed, every one as recorded")?;
    }
    Ok(Verdict::of(replayed.holds()))
}
