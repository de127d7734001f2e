//! Pictures of runs, as every command draws them: in one pass over its moments, into files that are there whole or not at
//! all.

mod easel;
mod figure;
mod files;
mod hints;

pub(crate) use easel::{Easel, draw, sketch};
pub(crate) use figure::FigurePlan;
pub(crate) use files::{ensure_apart, ensure_writable, is_stdout};
pub(crate) use hints::{NAMELESS, hints};

use crate::args::PictureArgs;
use crate::report::{count, grouped};
use anyhow::{bail, ensure};
use files::Outputs;
use quorate_core::Time;
use quorate_draw::{Window, svg};
use quorate_journal::record::Header;
use quorate_journal::settings::Offset;
use serde::Serialize;
use std::path::Path;

/// A picture that was written, as `--json` tells of it.
#[derive(Serialize)]
pub(crate) struct Picture {
    form: &'static str,
    file: String,
    nodes: usize,
    /// Of a log for ShiViz, its events: steps, and what happens to nodes and messages.
    steps: u64,
    overview: bool,
}

impl Picture {
    /// The line that says what was written.
    pub(crate) fn line(&self) -> String {
        let Self { form, file, nodes, steps, overview } = self;
        let (what, thing) = if *form == "shiviz" { ("log", "event") } else { ("picture", "step") };
        let steps = if *steps == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(*steps)) };
        let manner = if *overview { ", as an overview" } else { "" };
        format!("{what}: {file} ({}, {steps}{manner})", count(*nodes as u64, "node"))
    }
}

/// What the rest of a command does with its output and its files.
#[derive(Default)]
pub(crate) struct Company<'a> {
    /// Whether a run that goes into no file is drawn as text.
    pub(crate) draws_text: bool,
    /// The option for which standard output is needed, if it is.
    pub(crate) speaks: Option<&'static str>,
    /// What it reads, if it does: what that is, and where.
    pub(crate) reads: &'a [(&'static str, Option<&'a Path>)],
    /// Where it writes its journal, if it does.
    pub(crate) trace: Option<&'a Path>,
}

impl PictureArgs {
    /// Whether a file is to be drawn into.
    pub(crate) fn is_wanted(&self) -> bool {
        self.files().next().is_some()
    }

    /// Whether a picture goes to standard output. Then nothing else may.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.files().any(|(_, path)| is_stdout(path))
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("svg", &self.svg), ("mermaid", &self.mermaid), ("shiviz", &self.shiviz)];
        files.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)))
    }

    /// Refuses what cannot be meant or done, before anything is run.
    pub(crate) fn check(&self, company: &Company<'_>) -> anyhow::Result<()> {
        self.ensure_purpose(company)?;
        if let (Some(from), Some(to)) = (self.from, self.to) {
            ensure!(from <= to, "--to {to} comes before --from {from}, so there is nothing in between to draw.");
        }
        let mut to_stdout = self.files().filter(|(_, path)| is_stdout(path)).map(|(option, _)| option);
        if let Some(option) = to_stdout.next() {
            let rival = to_stdout.next().map(|other| format!("--{other} -"));
            let rival = rival.or(company.speaks.map(|other| format!("--{other}")));
            ensure!(
                rival.is_none(),
                "--{option} - and {} both want standard output; give one of them a file.",
                rival.unwrap_or_default()
            );
        }
        let pictures = self.files().filter(|(_, path)| !is_stdout(path));
        let pictures = pictures.map(|(option, path)| (option, "picture", path));
        let outputs: Outputs<'_> =
            company.trace.map(|path| ("trace", "journal", path)).into_iter().chain(pictures).collect();
        ensure_apart(&outputs, company.reads)?;
        let pictures = outputs.iter().filter(|(option, _, _)| *option != "trace");
        pictures.into_iter().try_for_each(|(_, product, path)| ensure_writable(product, path))
    }

    /// An option that says how to draw means nothing where nothing is drawn, and somebody wants to hear of it.
    fn ensure_purpose(&self, company: &Company<'_>) -> anyhow::Result<()> {
        let Self { svg, mermaid, shiviz, from, to, only, clocks, notes, theme, width, no_legend, all, overview } = self;
        let as_text = company.draws_text && !self.is_wanted();
        let has_diagram = as_text || svg.is_some() || mermaid.is_some();
        let has_any = has_diagram || shiviz.is_some();
        let part = [
            (from.is_some() && !has_any, "from"),
            (to.is_some() && !has_any, "to"),
            (only.is_some() && !has_any, "only"),
            (*all && !has_diagram, "all"),
            (*overview && !has_diagram, "overview"),
        ];
        if let Some((_, option)) = part.into_iter().find(|(given, _)| *given) {
            bail!("--{option} says what of the run to draw, but not where to: add --svg FILE or --mermaid FILE.");
        }
        let look = [
            (clocks.is_some(), "clocks"),
            (notes.is_some(), "notes"),
            (theme.is_some(), "theme"),
            (width.is_some(), "width"),
            (*no_legend, "no-legend"),
        ];
        match look.into_iter().find(|(given, _)| *given && svg.is_none()) {
            Some((_, option)) => bail!("--{option} says how a picture in SVG looks: add --svg FILE."),
            None => Ok(()),
        }
    }

    pub(crate) fn look(&self) -> svg::Options {
        let usual = svg::Options::default();
        svg::Options {
            theme: self.theme.map_or(usual.theme, Into::into),
            clocks: self.clocks.map_or(usual.clocks, Into::into),
            notes: self.notes.map_or(usual.notes, Into::into),
            width: self.width.unwrap_or(usual.width),
            legend: !self.no_legend,
        }
    }

    fn window(&self, header: &Header) -> anyhow::Result<Window> {
        let instant = |offset: Offset| Time::from_nanos(header.origin.saturating_add(offset.nanos()));
        let alone = header.live.as_ref().and_then(|live| live.node);
        let nodes = match (&self.only, alone) {
            (None, alone) => alone.into_iter().collect(),
            (Some(wanted), _) if wanted.highest().is_some_and(|node| node.index() >= header.nodes) => {
                let node = wanted.highest().map(|node| node.to_string()).unwrap_or_default();
                bail!("There is no node {node} to draw: the run has {}.", nodes(header.nodes));
            }
            (Some(wanted), Some(node)) if !wanted.contains(node) => {
                bail!("This is the journal of node {node} alone, so no other node can be drawn from it.");
            }
            (Some(wanted), _) => wanted.iter().collect(),
        };
        Ok(Window { from: self.from.map(instant), to: self.to.map(instant), nodes })
    }
}

/// The nodes of a group of this size, in words.
fn nodes(nodes: usize) -> String {
    if nodes == 1 { "one node, 1".into() } else { format!("nodes 1 to {nodes}") }
}
