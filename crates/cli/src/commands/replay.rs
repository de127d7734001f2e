//! `quorate replay`: replays a recorded run.

use crate::CommandOutcome;
use crate::args::ReplayArgs;
use crate::commands::trace::{Journal, journal_error, open};
use crate::output::output;
use crate::picture::{self, CommandIo, Picture, PictureObserver};
use crate::report::JournalReport;
use crate::{paint, report};
use quorate_lab::FamilyLab;
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::replay::{self, Replayed, entry_of, spec_of};
use quorate_lab::trace::{self, Trace};
use serde::Serialize;
use std::io::{BufWriter, Write};

/// The report of a journal with its pictures, as `--json` prints it.
#[derive(Serialize)]
#[serde(bound = "")]
struct ReplayReport<'a, F: FamilyLab> {
    #[serde(flatten)]
    journal: JournalReport<'a, F>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [Picture],
}

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<CommandOutcome> {
    let options = [(args.json, "json"), (args.steps, "steps")];
    let stdout_option = options.into_iter().find_map(|(is_given, option)| is_given.then_some(option));
    args.picture.validate(&CommandIo {
        stdout_option,
        inputs: &[("journal", Some(&args.file))],
        ..CommandIo::default()
    })?;
    let journal = open(&args.file)?;
    let entry = entry_of(&journal).map_err(|error| journal_error(&args.file, error))?;
    dispatch_to_family(entry, ReplayJournal { args, journal })
}

/// The task to replay a journal.
struct ReplayJournal<'a> {
    args: &'a ReplayArgs,
    journal: Journal,
}

impl Task for ReplayJournal<'_> {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        replay_journal::<F>(self.args, self.journal)
    }
}

fn replay_journal<F: FamilyLab>(args: &ReplayArgs, mut journal: Journal) -> anyhow::Result<CommandOutcome> {
    // Reject a journal with an invalid description of its run before any picture file is created.
    spec_of::<F, _>(&journal).map_err(|error| journal_error(&args.file, error))?;
    let header = journal.header().clone();
    let (replayed, pictures) = picture::draw::<F, _>(&args.picture, &header, |pictures| {
        let replayed = replay_and_print(args, &mut journal, pictures)?;
        if replayed.is_cut_short() {
            pictures.mark_incomplete();
        }
        Ok(replayed)
    })?;
    // Print the result even if the pictures could not be written.
    let written_pictures = pictures.as_deref().unwrap_or_default();
    if args.json {
        // A replay that differs from the journal is an error.
        let identical = Some(true);
        report::print_json(&ReplayReport {
            journal: JournalReport::new(&replayed, identical),
            pictures: written_pictures,
        })?;
    } else if !args.picture.takes_stdout() {
        report::print_journal(&replayed, " replayed, all as recorded")?;
        let mut out = output();
        for (index, picture) in written_pictures.iter().enumerate() {
            writeln!(out, "{}  {}", if index == 0 { "\n" } else { "" }, paint::dim(&picture.report_line()))?;
        }
    }
    pictures?;
    Ok(CommandOutcome::from_verdicts(&replayed.verdicts))
}

/// Replays the nodes, observed by `pictures`, and prints the steps if the options ask for them.
fn replay_and_print<F: FamilyLab>(
    args: &ReplayArgs,
    journal: &mut Journal,
    pictures: &mut PictureObserver<'_, F>,
) -> anyhow::Result<Replayed<F>> {
    let mut out = BufWriter::new(output());
    if args.steps {
        writeln!(out, "{}", paint::dim(&trace::heading(journal.header().nodes)))?;
    }
    let mut write_error = None;
    let steps = args.steps.then(|| {
        Trace::<F>::for_journal(journal.header(), |line| {
            let written = writeln!(out, "{}", trace::render(line, paint::trace_text));
            write_error = write_error.take().or(written.err());
        })
    });
    let result = replay::replay::<F, _, _>(journal, (steps, pictures)).map(|(replayed, (steps, _))| {
        steps.into_iter().for_each(|mut steps| steps.finish());
        replayed
    });
    // If the replay fails, show the steps before the failure.
    let replayed = match result {
        Ok(replayed) => replayed,
        Err(error) => {
            out.flush()?;
            return Err(journal_error(&args.file, error));
        }
    };
    if let Some(error) = write_error {
        return Err(error.into());
    }
    if args.steps {
        writeln!(out, "{}\n", paint::dim(&format!("{:>10}  {}", "", trace::legend(F::ROLES))))?;
    }
    out.flush()?;
    Ok(replayed)
}
