//! Writes a figure of measured values, or another SVG picture, to the file of `--svg`.

use super::ensure_writable;
use crate::args::ThemeArg;
use crate::output::{display_path, output};
use crate::paint;
use quorate_draw::plot::Figure;
use quorate_draw::style::Theme;
use quorate_live::write_atomically;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The destination and the theme of a figure.
pub(crate) struct FigurePlan {
    /// Path of the file; standard output if `None`.
    pub(crate) path: Option<PathBuf>,
    theme: Theme,
}

impl FigurePlan {
    /// Returns the plan that `--svg` and `--theme` describe; `None` without `--svg`. Fails if the
    /// figure cannot be written, if it would share standard output with `--json`, or if `--theme`
    /// is given without `--svg`.
    pub(crate) fn from_options(
        svg: Option<&Path>,
        theme: Option<ThemeArg>,
        is_json: bool,
    ) -> anyhow::Result<Option<Self>> {
        let Some(file) = svg else {
            anyhow::ensure!(theme.is_none(), "--theme has no effect without an SVG picture; add --svg FILE.");
            return Ok(None);
        };
        let path = (file != Path::new("-")).then(|| file.to_owned());
        anyhow::ensure!(
            path.is_some() || !is_json,
            "--svg - and --json both write to standard output; write the picture to a file."
        );
        path.iter().try_for_each(|path| ensure_writable("picture", path))?;
        Ok(Some(Self { path, theme: theme.map(Into::into).unwrap_or_default() }))
    }

    /// Whether the figure goes to standard output. The command must then print nothing else.
    pub(crate) fn is_on_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// Writes the figure, complete or not at all, and prints the path of its file unless
    /// `is_quiet`.
    pub(crate) fn write(&self, figure: &Figure, is_quiet: bool) -> anyhow::Result<()> {
        self.write_svg(&figure.svg(self.theme)?, is_quiet)
    }

    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    /// Writes a picture in SVG, as [`write`](Self::write) does.
    pub(crate) fn write_svg(&self, svg: &str, is_quiet: bool) -> anyhow::Result<()> {
        let Some(path) = &self.path else {
            let mut out = output();
            out.write_all(svg.as_bytes())?;
            return Ok(out.flush()?);
        };
        let failed = |error: io::Error| anyhow::anyhow!("cannot write the picture {}: {error}.", display_path(path));
        write_atomically(path, failed, |out| out.write_all(svg.as_bytes()).map_err(failed))?;
        if !is_quiet {
            writeln!(output(), "\n  {}", paint::dim(&format!("picture: {}", display_path(path))))?;
        }
        Ok(())
    }
}
