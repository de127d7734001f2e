//! `quorate replay`: a recorded run again.

use crate::Verdict;
use crate::args::ReplayArgs;
use crate::commands::trace::{Journal, open, wrong};
use crate::families::{Present, Task, of_family};
use crate::output::output;
use crate::report::Reading;
use crate::{paint, report};
use quorate_lab::replay::{self, entry_of, spec_of};
use quorate_lab::trace::{self, Trace};
use std::io::{BufWriter, Write};

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<Verdict> {
    let journal = open(&args.file)?;
    let entry = entry_of(&journal).map_err(|error| wrong(&args.file, error))?;
    of_family(entry, Again { args, journal })
}

/// A journal that is to be replayed.
struct Again<'a> {
    args: &'a ReplayArgs,
    journal: Journal,
}

impl Task for Again<'_> {
    type Output = anyhow::Result<Verdict>;
    fn perform<F: Present>(self, _entry: &'static F::Entry) -> anyhow::Result<Verdict> {
        replayed::<F>(self.args, self.journal)
    }
}

fn replayed<F: Present>(args: &ReplayArgs, mut journal: Journal) -> anyhow::Result<Verdict> {
    let mut out = BufWriter::new(output());
    if args.steps {
        writeln!(
            out,
            "{}",
            paint::dim(&trace::heading(spec_of::<F, _>(&journal).map_err(|error| wrong(&args.file, error))?.nodes))
        )?;
    }
    let mut failed = None;
    let steps = args.steps.then(|| {
        Trace::<F, _>::of(journal.header(), |line| {
            let told = writeln!(out, "{}", trace::render(line, paint::ink));
            failed = failed.take().or(told.err());
        })
    });
    let result = replay::replay::<F, _, _>(&mut journal, steps);
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
        writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::legend(F::ROLES))))?;
    }
    out.flush()?;
    if args.json {
        report::json(&Reading::new(&replayed, Some(true)))?;
    } else {
        report::reading(&replayed, " replayed, every one as recorded")?;
    }
    Ok(Verdict::of(replayed.holds()))
}
