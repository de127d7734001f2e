//! `quorate draw`: draws a journal.

use crate::CommandOutcome;
use crate::args::{DrawArgs, PictureArgs};
use crate::commands::trace::{Journal, journal_error, open, open_with};
use crate::output::output;
use crate::picture::{self, CommandIo, Picture, PictureObserver};
use crate::report::{format_count, format_thousands};
use crate::{paint, progress};
use indicatif::{ProgressBar, ProgressBarIter};
use quorate_draw::overview::{self, Overview};
use quorate_draw::{Drawing, terminal};
use quorate_lab::registry::{Task, dispatch_to_family};
use quorate_lab::replay::{cut_short_reason, entry_of, spec_of};
use quorate_lab::{FamilyLab, LabError, Spec};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use terminal_size::Width;

/// Minimum size in bytes of a file whose reading shows a progress bar.
const PROGRESS_BYTES: u64 = 8 << 20;

/// Width of an overview as text, in columns, if the width of the terminal is unknown.
const DEFAULT_WIDTH: usize = 120;

pub(crate) fn run(args: &DrawArgs) -> anyhow::Result<CommandOutcome> {
    let inputs = [("journal", Some(args.file.as_path()))];
    args.picture.validate(&CommandIo { draws_text: true, inputs: &inputs, ..CommandIo::default() })?;
    let bar = progress_bar(&args.file);
    let journal = open_with(&args.file, |file| bar.wrap_read(file))?;
    let entry = entry_of(&journal).map_err(|error| journal_error(&args.file, error))?;
    dispatch_to_family(entry, DrawJournal { args, journal, bar })
}

/// Returns a progress bar for reading a file; a hidden one for a small file.
fn progress_bar(path: &Path) -> ProgressBar {
    match fs::metadata(path).map_or(0, |metadata| metadata.len()) {
        length @ PROGRESS_BYTES.. => progress::bar(length, "{bytes}/{total_bytes} read, {eta} left"),
        _ => ProgressBar::hidden(),
    }
}

/// The task to draw a journal.
struct DrawJournal<'a> {
    args: &'a DrawArgs,
    journal: Journal<ProgressBarIter<File>>,
    bar: ProgressBar,
}

impl Task for DrawJournal<'_> {
    type Output = anyhow::Result<CommandOutcome>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<CommandOutcome> {
        draw_journal::<F>(self)
    }
}

fn draw_journal<F: FamilyLab>(task: DrawJournal<'_>) -> anyhow::Result<CommandOutcome> {
    let DrawJournal { args: DrawArgs { file, picture: args }, mut journal, bar } = task;
    let spec = spec_of::<F, _>(&journal).map_err(|error| journal_error(file, error))?;
    let header = journal.header().clone();
    let is_text = !args.is_wanted();
    let wants_diagram = is_text || args.svg.is_some() || args.mermaid.is_some();
    let (read_result, unwritten) = picture::build_scene::<F, _>(args, &header, wants_diagram, |pictures| {
        // If the journal is malformed, draw the part before the error.
        let read_result = journal.show_all(pictures).map_err(LabError::from);
        if read_result.is_err() || is_cut_short(&spec, &journal) {
            pictures.mark_incomplete();
        }
        Ok(read_result)
    })?;
    bar.finish_and_clear();
    let unwritten = unwritten?;
    if let (true, Some(drawing)) = (is_text, &unwritten.drawing) {
        output().write_all(draw_as_text(drawing).as_bytes())?;
    }
    let pictures = unwritten.write(args)?;
    if !args.takes_stdout() {
        let mut out = output();
        pictures.iter().try_for_each(|picture| writeln!(out, "{}", paint::dim(&picture.report_line())))?;
    }
    read_result.map_err(|error| journal_error(file, error))?;
    Ok(CommandOutcome::Holds)
}

/// Whether the recorded run is known to have stopped before everything was done. The journal must
/// have been read to its end.
fn is_cut_short<F: FamilyLab, R: Read>(spec: &Spec<F>, journal: &Journal<R>) -> bool {
    // Inputs are not counted here, so a run that reached the limit of inputs is not recognized.
    let inputs = 0;
    cut_short_reason(spec, journal, inputs).is_some()
}

/// Draws the pictures that the options ask for from the journal at this path.
pub(crate) fn draw_pictures_of_file<F: FamilyLab>(path: &Path, args: &PictureArgs) -> anyhow::Result<Vec<Picture>> {
    let mut journal = open(path)?;
    let spec = spec_of::<F, _>(&journal).map_err(|error| journal_error(path, error))?;
    let header = journal.header().clone();
    let show_journal = |pictures: &mut PictureObserver<'_, F>| {
        journal.show_all(pictures).map_err(|error| journal_error(path, error))?;
        if is_cut_short(&spec, &journal) {
            pictures.mark_incomplete();
        }
        Ok(())
    };
    let ((), pictures) = picture::draw::<F, _>(args, &header, show_journal)?;
    pictures
}

/// Returns the picture as text, as wide as the terminal.
fn draw_as_text(drawing: &Drawing) -> String {
    let width = terminal_size::terminal_size().map(|(Width(columns), _)| columns.into());
    match drawing {
        Drawing::Scene(scene) => terminal::draw(scene, &terminal::Options { width }, &paint::picture_text),
        Drawing::Overview(overview) => draw_overview_as_text(overview, width.unwrap_or(DEFAULT_WIDTH)),
    }
}

/// Returns an overview as text, with a hint on how to see more.
fn draw_overview_as_text(overview: &Overview, columns: usize) -> String {
    let heading = &overview.heading;
    let nodes = format_count(heading.nodes as u64, "node");
    let mut text = format!("{} · {nodes} · {}\n\n", paint::bold(&heading.algorithm), heading.detail);
    text.push_str(&overview::draw_text(overview, columns, &paint::overview_text));
    for line in [&overview.totals(format_thousands), "--from, --to and --nodes show a part of the run step by step"] {
        text.push_str(&paint::dim(&format!("{:>10}  {line}", "")));
        text.push('\n');
    }
    text
}
