//! Arguments for pictures: options that all commands that can draw share, and the arguments of
//! `quorate draw` and `quorate gallery`.

use super::parse_whole;
use clap::{Args, ValueEnum};
use quorate_draw::style::Theme;
use quorate_draw::svg::{Clocks, Notes};
use quorate_journal::settings::{NodeSet, Offset, SettingError};
use std::path::PathBuf;

/// Options of pictures, shared by all commands that can draw.
#[derive(Args, Default)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct PictureArgs {
    /// Draw a space-time diagram as SVG into this file; - is standard output. 'sweep' and 'check'
    /// draw the failing run.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a Mermaid sequence diagram to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) mermaid: Option<PathBuf>,
    /// Write a log for the ShiViz viewer to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) shiviz: Option<PathBuf>,
    /// Draw only steps at or after this instant, such as 10ms.
    #[arg(long, value_name = "TIME", value_parser = parse_instant, allow_hyphen_values = true)]
    pub(crate) from: Option<Offset>,
    /// Draw only steps at or before this instant, such as 25ms.
    #[arg(long, value_name = "TIME", value_parser = parse_instant, allow_hyphen_values = true)]
    pub(crate) to: Option<Offset>,
    /// Draw only these nodes, such as 1-3,5.
    #[arg(long, value_name = "NODES")]
    pub(crate) only: Option<NodeSet>,
    /// Clocks to show beside each step: logical (Lamport) clocks, vector clocks, both or none
    /// [default: none]
    #[arg(long, value_enum)]
    pub(crate) clocks: Option<ClocksArg>,
    /// Notes to show about the rules that nodes apply: as many as fit (auto), full text, rule
    /// ids, or none [default: auto]
    #[arg(long, value_enum)]
    pub(crate) notes: Option<NotesArg>,
    /// Colours of the picture: light, dark, or auto, which follows the viewer's setting [default:
    /// auto]
    #[arg(long, value_enum)]
    pub(crate) theme: Option<ThemeArg>,
    /// Maximum width of an SVG picture in pixels. A longer run continues in the next row [default:
    /// 1500]
    #[arg(long, value_name = "PIXELS", value_parser = parse_width)]
    pub(crate) width: Option<u32>,
    /// Leave out the legend of symbols and rules below an SVG picture.
    #[arg(long)]
    pub(crate) no_legend: bool,
    /// Also draw steps without an effect, such as a clock tick or a completed save.
    #[arg(long, alias = "all")]
    pub(crate) all_steps: bool,
    /// Draw an overview of the run instead of single steps. A run that is too long for single steps
    /// is always drawn so.
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) overview: bool,
}

// The option --only is called --nodes in 'draw', which has no number of nodes to set.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
    quorate sim ricart-agrawala --loss 0.1 --trace run.journal && quorate draw run.journal\n  \
    quorate draw run.journal --svg run.svg --mermaid run.mmd --shiviz run.log\n  \
    quorate draw run.journal --from 10ms --to 25ms --nodes 1-2 --clocks vector --svg part.svg\n\n\
    Without --svg, --mermaid or --shiviz the command prints the picture as text. If the run is too long to draw single \
    steps, the picture is an overview; --from, --to and --nodes select a part to draw step by step.",
    mut_arg("only", |only| only.long("nodes").alias("only"))
)]
pub(crate) struct DrawArgs {
    /// Journal to draw.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  quorate gallery docs\n\n\
    This example writes docs/gallery.md, and one picture for each algorithm and each scene into docs/gallery.")]
pub(crate) struct GalleryArgs {
    /// Folder for the page gallery.md and the folder of pictures.
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
            NotesArg::Rules => Self::RuleIds,
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

/// Parses an instant as traces show it. It can be negative: a journal may say which instant is
/// shown as 0, and have steps before it.
fn parse_instant(text: &str) -> Result<Offset, String> {
    text.parse().map_err(|error: SettingError| match error {
        SettingError::NotA { .. } => {
            format!("'{}' is not an instant; write for example 10ms, or -3ms for one before 0.", text.escape_debug())
        }
        SettingError::OutOfRange { .. } => {
            format!(
                "'{}' is invalid: an instant must be a whole number of nanoseconds, at most 292 years from 0.",
                text.escape_debug()
            )
        }
        other => other.to_string(),
    })
}

fn parse_width(text: &str) -> Result<u32, String> {
    let width = parse_whole(text)?;
    if (400..=100_000).contains(&width) {
        Ok(width)
    } else {
        Err(format!("a picture must be between 400 and 100000 pixels wide; got {width}."))
    }
}
