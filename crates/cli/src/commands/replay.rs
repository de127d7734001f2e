//! `quorate replay`: a recorded run again.

use crate::Verdict;
use crate::args::ReplayArgs;
use crate::commands::trace::{Journal, open, wrong};
use crate::output::output;
use crate::picture::{self, Company, Easel, Picture};
use crate::report::Reading;
use crate::{paint, report};
use quorate_lab::FamilyLab;
use quorate_lab::registry::{Task, of_family};
use quorate_lab::replay::{self, Replayed, entry_of, spec_of};
use quorate_lab::trace::{self, Trace};
use serde::Serialize;
use std::io::{BufWriter, Write};

/// What a journal came to, with what was drawn of it.
#[derive(Serialize)]
#[serde(bound = "")]
struct Report<'a, F: FamilyLab> {
    #[serde(flatten)]
    reading: Reading<'a, F>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<Verdict> {
    let speaks = [(args.json, "json"), (args.steps, "steps")].into_iter().find_map(|(speaks, by)| speaks.then_some(by));
    args.picture.check(&Company { speaks, reads: &[("journal", Some(&args.file))], ..Company::default() })?;
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
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<Verdict> {
        replayed::<F>(self.args, self.journal)
    }
}

fn replayed<F: FamilyLab>(args: &ReplayArgs, mut journal: Journal) -> anyhow::Result<Verdict> {
    spec_of::<F, _>(&journal).map_err(|error| wrong(&args.file, error))?;
    let header = journal.header().clone();
    let (replayed, pictures) = picture::draw::<F, _>(&args.picture, &header, |easel| {
        let replayed = replay(args, &mut journal, easel)?;
        if replayed.is_cut_short() {
            easel.tear();
        }
        Ok(replayed)
    })?;
    // What came of it is told even if its pictures could not be written.
    let drawn = pictures.as_deref().unwrap_or_default();
    if args.json {
        report::json(&Report { reading: Reading::new(&replayed, Some(true)), pictures: drawn })?;
    } else if !args.picture.takes_stdout() {
        report::reading(&replayed, " replayed, every one as recorded")?;
        let mut out = output();
        for (place, picture) in drawn.iter().enumerate() {
            writeln!(out, "{}  {}", if place == 0 { "\n" } else { "" }, paint::dim(&picture.line()))?;
        }
    }
    pictures?;
    Ok(Verdict::of_run(&replayed.verdicts))
}

/// Lets the nodes do it all again, before the easel and perhaps before the user.
fn replay<F: FamilyLab>(
    args: &ReplayArgs,
    journal: &mut Journal,
    easel: &mut Easel<'_, F>,
) -> anyhow::Result<Replayed<F>> {
    let mut out = BufWriter::new(output());
    if args.steps {
        writeln!(out, "{}", paint::dim(&trace::heading(journal.header().nodes)))?;
    }
    let mut failed = None;
    let steps = args.steps.then(|| {
        Trace::<F>::of(journal.header(), |line| {
            let told = writeln!(out, "{}", trace::render(line, paint::ink));
            failed = failed.take().or(told.err());
        })
    });
    let result = replay::replay::<F, _, _>(journal, (steps, easel)).map(|(replayed, (steps, _))| {
        steps.into_iter().for_each(|mut steps| steps.finish());
        replayed
    });
    // Of a journal that does not replay, the steps that do are shown.
    let replayed = match result {
        Ok(replayed) => replayed,
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
    Ok(replayed)
}
