//! What users type to have a run drawn: the options that every command has which can draw, and those of `quorate draw`
//! and `quorate gallery`.

use clap::{Args, ValueEnum};
use quorate_draw::style::Theme;
use quorate_draw::svg::{Clocks, Notes};
use quorate_journal::settings::{NodeSet, Offset, SettingError};
use std::path::PathBuf;

/// What to draw, and how. One definition for every command that can.
#[derive(Args, Default)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct PictureArgs {
    /// Draw a space-time diagram into this file; - is standard output. A sweep or a check draws what fails.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a Mermaid sequence diagram to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) mermaid: Option<PathBuf>,
    /// Write a log for ShiViz to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) shiviz: Option<PathBuf>,
    /// Draw from this instant on, such as 10ms.
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    pub(crate) from: Option<Offset>,
    /// Draw up to this instant.
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    pub(crate) to: Option<Offset>,
    /// Draw these nodes alone, such as 1-3,5.
    #[arg(long, value_name = "NODES")]
    pub(crate) only: Option<NodeSet>,
    /// Which clocks stand beside steps.
    #[arg(long, value_enum)]
    pub(crate) clocks: Option<ClocksArg>,
    /// What is told of the rules that nodes apply: what fits, all of it, their names, or nothing.
    #[arg(long, value_enum)]
    pub(crate) notes: Option<NotesArg>,
    /// Dark on light, light on dark, or as whoever looks at it prefers.
    #[arg(long, value_enum)]
    pub(crate) theme: Option<ThemeArg>,
    /// How wide a picture in SVG is at most, in pixels; what does not fit goes on in the next row. 1500 unless given.
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(400..=100_000))]
    pub(crate) width: Option<u32>,
    /// Leave out what explains signs and rules, below a picture in SVG.
    #[arg(long)]
    pub(crate) no_legend: bool,
    /// Draw steps that do nothing too: a tick, a confirmation of the disk.
    #[arg(long)]
    pub(crate) all: bool,
    /// Draw how the run went on the whole, as is done with what is too long for single steps.
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) overview: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
    quorate sim ricart-agrawala --loss 0.1 --trace run.journal && quorate draw run.journal\n  \
    quorate draw run.journal --svg run.svg --mermaid run.mmd --shiviz run.log\n  \
    quorate draw run.journal --from 10ms --to 25ms --nodes 1-2 --clocks vector --svg part.svg\n\n\
    Without a file to write, the picture is text for a terminal. Of a run that is too long for single steps, an overview is \
    drawn; a window shows a part of it in full.",
    mut_arg("only", |only| only.long("nodes").alias("only"))
)]
pub(crate) struct DrawArgs {
    /// The journal.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  quorate gallery docs\n\n\
    Writes docs/gallery.md, and a picture for each algorithm and each scene of it into docs/gallery.")]
pub(crate) struct GalleryArgs {
    /// Where the page and the folder of pictures go.
    pub(crate) folder: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClocksArg {
    None,
    Logical,
    Vector,
    Both,
}

impl From<ClocksArg> for Clocks {
    fn from(clocks: ClocksArg) -> Self {
        match clocks {
            ClocksArg::None => Self::None,
            ClocksArg::Logical => Self::Logical,
            ClocksArg::Vector => Self::Vector,
            ClocksArg::Both => Self::Both,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotesArg {
    Auto,
    Full,
    Rules,
    None,
}

impl From<NotesArg> for Notes {
    fn from(notes: NotesArg) -> Self {
        match notes {
            NotesArg::Auto => Self::Auto,
            NotesArg::Full => Self::Full,
            NotesArg::Rules => Self::Names,
            NotesArg::None => Self::None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeArg {
    Auto,
    Light,
    Dark,
}

impl From<ThemeArg> for Theme {
    fn from(theme: ThemeArg) -> Self {
        match theme {
            ThemeArg::Auto => Self::Auto,
            ThemeArg::Light => Self::Light,
            ThemeArg::Dark => Self::Dark,
        }
    }
}

/// An instant as people see it in a trace. What a run calls 0 may have something before it.
fn instant(text: &str) -> Result<Offset, String> {
    text.parse().map_err(|error: SettingError| match error {
        SettingError::NotA { .. } => {
            format!("'{}' is not an instant; write for example 10ms, or -3ms for one before 0.", text.escape_debug())
        }
        SettingError::OutOfRange { .. } => {
            format!(
                "'{}' does not fit: an instant is a whole number of nanoseconds, within 292 years.",
                text.escape_debug()
            )
        }
        other => other.to_string(),
    })
}
