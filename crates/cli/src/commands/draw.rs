//! `quorate draw`: a journal as a picture.

use crate::Verdict;
use crate::args::{DrawArgs, PictureArgs};
use crate::commands::trace::{Journal, open, open_with, wrong};
use crate::output::output;
use crate::picture::{self, Company, Easel, Picture};
use crate::report::{count, grouped};
use crate::{paint, progress};
use indicatif::{ProgressBar, ProgressBarIter};
use quorate_draw::overview::{self, Overview};
use quorate_draw::{Drawing, terminal};
use quorate_lab::registry::{Task, of_family};
use quorate_lab::replay::{cut_short, entry_of, spec_of};
use quorate_lab::{FamilyLab, LabError};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use terminal_size::Width;

/// A file of fewer bytes is read before anybody wonders.
const LONG: u64 = 8 << 20;

/// How wide a picture is where nobody knows.
const USUAL_WIDTH: usize = 120;

pub(crate) fn run(args: &DrawArgs) -> anyhow::Result<Verdict> {
    let reads = [("journal", Some(args.file.as_path()))];
    args.picture.check(&Company { draws_text: true, reads: &reads, ..Company::default() })?;
    let bar = bar(&args.file);
    let journal = open_with(&args.file, |file| bar.wrap_read(file))?;
    let entry = entry_of(&journal).map_err(|error| wrong(&args.file, error))?;
    of_family(entry, Draw { args, journal, bar })
}

/// Shows how far the reading of a file is, if it takes long enough to wonder.
fn bar(path: &Path) -> ProgressBar {
    match fs::metadata(path).map_or(0, |found| found.len()) {
        length @ LONG.. => progress::bar(length, "{bytes}/{total_bytes} read, {eta} left"),
        _ => ProgressBar::hidden(),
    }
}

/// A journal that is to be drawn.
struct Draw<'a> {
    args: &'a DrawArgs,
    journal: Journal<ProgressBarIter<File>>,
    bar: ProgressBar,
}

impl Task for Draw<'_> {
    type Output = anyhow::Result<Verdict>;
    fn perform<F: FamilyLab>(self, _entry: &'static F::Entry) -> anyhow::Result<Verdict> {
        drawn::<F>(self)
    }
}

fn drawn<F: FamilyLab>(draw: Draw<'_>) -> anyhow::Result<Verdict> {
    let Draw { args: DrawArgs { file, picture: args }, mut journal, bar } = draw;
    let spec = spec_of::<F, _>(&journal).map_err(|error| wrong(file, error))?;
    let header = journal.header().clone();
    let as_text = !args.is_wanted();
    let wants_diagram = as_text || args.svg.is_some() || args.mermaid.is_some();
    let (read, drawn) = picture::sketch::<F, _>(args, &header, wants_diagram, |easel| {
        // Of a journal that turns out to be malformed, what is whole is drawn.
        let read = journal.show_all(easel).map_err(LabError::from);
        if read.is_err() || cut_short(&spec, &journal, 0).is_some() {
            easel.tear();
        }
        Ok(read)
    })?;
    bar.finish_and_clear();
    let drawn = drawn?;
    if let (true, Some(drawing)) = (as_text, &drawn.drawing) {
        output().write_all(as_lines(drawing).as_bytes())?;
    }
    let pictures = drawn.write(args)?;
    if !args.takes_stdout() {
        let mut out = output();
        pictures.iter().try_for_each(|picture| writeln!(out, "{}", paint::dim(&picture.line())))?;
    }
    read.map_err(|error| wrong(file, error))?;
    Ok(Verdict::Holds)
}

pub(crate) fn pictures<F: FamilyLab>(path: &Path, args: &PictureArgs) -> anyhow::Result<Vec<Picture>> {
    let mut journal = open(path)?;
    let spec = spec_of::<F, _>(&journal).map_err(|error| wrong(path, error))?;
    let header = journal.header().clone();
    let play = |easel: &mut Easel<'_, F>| {
        journal.show_all(easel).map_err(|error| wrong(path, error))?;
        if cut_short(&spec, &journal, 0).is_some() {
            easel.tear();
        }
        Ok(())
    };
    let ((), pictures) = picture::draw::<F, _>(args, &header, play)?;
    pictures
}

/// The picture as text, as wide as the terminal if there is one.
fn as_lines(drawing: &Drawing) -> String {
    let width = terminal_size::terminal_size().map(|(Width(columns), _)| columns.into());
    match drawing {
        Drawing::Scene(scene) => terminal::draw(scene, &terminal::Options { width }, &paint::picture),
        Drawing::Overview(overview) => whole(overview, width.unwrap_or(USUAL_WIDTH)),
    }
}

/// How a run went on the whole, and how to see more of it.
fn whole(overview: &Overview, columns: usize) -> String {
    let heading = &overview.heading;
    let nodes = count(heading.nodes as u64, "node");
    let mut text = format!("{} · {nodes} · {}\n\n", paint::bold(&heading.algorithm), heading.detail);
    text.push_str(&overview::draw_text(overview, columns, &paint::overview));
    for line in [&overview.totals(grouped), "--from, --to and --nodes show a part of it step by step"] {
        text.push_str(&paint::dim(&format!("{:>10}  {line}", "")));
        text.push('\n');
    }
    text
}
