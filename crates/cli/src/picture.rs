//! Pictures of runs. Every command draws them in one pass over the moments of the run, and writes
//! complete files or none.

mod figure;
mod files;
mod hints;
mod observer;

pub(crate) use figure::FigurePlan;
pub(crate) use files::{ensure_distinct, ensure_writable, is_stdout};
pub(crate) use hints::{DEFAULT_PICTURE, print_hints};
pub(crate) use observer::{PictureObserver, build_scene, draw};

use crate::args::PictureArgs;
use crate::report::{format_count, format_thousands};
use anyhow::{bail, ensure};
use files::Outputs;
use quorate_core::Time;
use quorate_draw::{Window, svg};
use quorate_journal::record::Header;
use quorate_journal::settings::Offset;
use serde::Serialize;
use std::path::Path;

/// A picture that was written, as `--json` describes it.
#[derive(Serialize)]
pub(crate) struct Picture {
    /// `svg`, `mermaid` or `shiviz`.
    form: &'static str,
    file: String,
    nodes: usize,
    /// Number of steps. For a ShiViz log, the number of its events, which include faults.
    steps: u64,
    overview: bool,
}

impl Picture {
    /// Returns the line that reports the picture.
    pub(crate) fn report_line(&self) -> String {
        let Self { form, file, nodes, steps, overview } = self;
        let (product, unit) = if *form == "shiviz" { ("log", "event") } else { ("picture", "step") };
        let steps = if *steps == 1 { format!("1 {unit}") } else { format!("{} {unit}s", format_thousands(*steps)) };
        let manner = if *overview { ", as an overview" } else { "" };
        format!("{product}: {file} ({}, {steps}{manner})", format_count(*nodes as u64, "node"))
    }
}

/// The other inputs and outputs of a command that draws. Its pictures must not go to the same
/// files.
#[derive(Default)]
pub(crate) struct CommandIo<'a> {
    /// Whether the command draws text to standard output if no option asks for a picture.
    pub(crate) draws_text: bool,
    /// The given option that makes the command print to standard output, without `--`, if any.
    pub(crate) stdout_option: Option<&'static str>,
    /// Files that the command reads: a description, and the path if one is given.
    pub(crate) inputs: &'a [(&'static str, Option<&'a Path>)],
    /// Path of the journal that the command writes, if any.
    pub(crate) journal: Option<&'a Path>,
}

impl PictureArgs {
    /// Whether the options ask for a picture in a file or on standard output.
    pub(crate) fn is_wanted(&self) -> bool {
        self.files().next().is_some()
    }

    /// Whether a picture goes to standard output. The command must then print nothing else.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.files().any(|(_, path)| is_stdout(path))
    }

    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("svg", &self.svg), ("mermaid", &self.mermaid), ("shiviz", &self.shiviz)];
        files.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)))
    }

    /// Rejects invalid options and files that cannot be written, before anything runs.
    pub(crate) fn validate(&self, io: &CommandIo<'_>) -> anyhow::Result<()> {
        self.reject_options_without_effect(io)?;
        if let (Some(from), Some(to)) = (self.from, self.to) {
            ensure!(from <= to, "--to {to} is before --from {from}, so there is nothing to draw.");
        }
        let mut to_stdout = self.files().filter(|(_, path)| is_stdout(path)).map(|(option, _)| option);
        if let Some(option) = to_stdout.next() {
            let other = to_stdout.next().map(|other| format!("--{other} -"));
            let other = other.or(io.stdout_option.map(|other| format!("--{other}")));
            ensure!(
                other.is_none(),
                "--{option} - and {} both write to standard output; write the picture to a file.",
                other.unwrap_or_default()
            );
        }
        let pictures = self.files().filter(|(_, path)| !is_stdout(path));
        let pictures = pictures.map(|(option, path)| (option, "picture", path));
        let outputs: Outputs<'_> =
            io.journal.map(|path| ("trace", "journal", path)).into_iter().chain(pictures).collect();
        ensure_distinct(&outputs, io.inputs)?;
        // If the journal cannot be written, the command that writes it reports the error.
        let pictures = outputs.iter().filter(|(option, _, _)| *option != "trace");
        pictures.into_iter().try_for_each(|(_, product, path)| ensure_writable(product, path))
    }

    /// Rejects picture options that have no effect, because no picture that they apply to is drawn.
    fn reject_options_without_effect(&self, io: &CommandIo<'_>) -> anyhow::Result<()> {
        let Self { svg, mermaid, shiviz, from, to, only, clocks, notes, theme, width, no_legend, all_steps, overview } =
            self;
        let is_text = io.draws_text && !self.is_wanted();
        let has_diagram = is_text || svg.is_some() || mermaid.is_some();
        let has_any = has_diagram || shiviz.is_some();
        let selecting_options = [
            (from.is_some() && !has_any, "from"),
            (to.is_some() && !has_any, "to"),
            (only.is_some() && !has_any, "only"),
            (*all_steps && !has_diagram, "all-steps"),
            (*overview && !has_diagram, "overview"),
        ];
        if let Some((_, option)) = selecting_options.into_iter().find(|(is_ineffective, _)| *is_ineffective) {
            // A sequence diagram of Mermaid cannot be an overview.
            let or_mermaid = if option == "overview" { "" } else { " or --mermaid FILE" };
            bail!("--{option} has no effect without a picture; add --svg FILE{or_mermaid}.");
        }
        let appearance_options = [
            (clocks.is_some(), "clocks"),
            (notes.is_some(), "notes"),
            (theme.is_some(), "theme"),
            (width.is_some(), "width"),
            (*no_legend, "no-legend"),
        ];
        match appearance_options.into_iter().find(|(is_given, _)| *is_given && svg.is_none()) {
            Some((_, option)) => bail!("--{option} has no effect without an SVG picture; add --svg FILE."),
            None => Ok(()),
        }
    }

    /// Returns the appearance of an SVG picture.
    pub(crate) fn svg_options(&self) -> svg::Options {
        let default = svg::Options::default();
        svg::Options {
            theme: self.theme.map_or(default.theme, Into::into),
            clocks: self.clocks.map_or(default.clocks, Into::into),
            notes: self.notes.map_or(default.notes, Into::into),
            width: self.width.unwrap_or(default.width),
            has_legend: !self.no_legend,
        }
    }

    /// Returns the part of the run to draw; its set of nodes is empty if all are drawn. Fails if
    /// the selected nodes include one outside the group, or none that the journal shows.
    fn window(&self, header: &Header) -> anyhow::Result<Window> {
        let instant = |offset: Offset| Time::from_nanos(header.origin.saturating_add(offset.nanos()));
        let single_node = header.live.as_ref().and_then(|live| live.node);
        let nodes = match (&self.only, single_node) {
            (None, single_node) => single_node.into_iter().collect(),
            (Some(wanted), _) if wanted.highest().is_some_and(|node| node.index() >= header.nodes) => {
                let node = wanted.highest().map(|node| node.to_string()).unwrap_or_default();
                bail!("there is no node {node} to draw; the run has {}.", describe_existing_nodes(header.nodes));
            }
            (Some(wanted), Some(node)) if !wanted.contains(node) => {
                bail!("this is the journal of node {node} only, so no other node can be drawn.");
            }
            (Some(wanted), _) => wanted.iter().collect(),
        };
        Ok(Window { from: self.from.map(instant), to: self.to.map(instant), nodes })
    }
}

/// Describes the nodes of a group of this size.
fn describe_existing_nodes(nodes: usize) -> String {
    if nodes == 1 { "only node 1".into() } else { format!("nodes 1 to {nodes}") }
}
