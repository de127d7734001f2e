//! A figure of what was measured: where `--svg` wants it, and how it gets there.

use super::ensure_writable;
use crate::args::ThemeArg;
use crate::output::{name, output};
use crate::paint;
use quorate_draw::plot::Figure;
use quorate_draw::style::Theme;
use quorate_live::write_whole;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A figure that is wanted.
pub(crate) struct FigurePlan {
    /// Where it goes; to standard output without.
    pub(crate) path: Option<PathBuf>,
    theme: Theme,
}

impl FigurePlan {
    /// What `--svg` and `--theme` ask for, beside what `--json` wants.
    pub(crate) fn of(svg: Option<&Path>, theme: Option<ThemeArg>, is_json: bool) -> anyhow::Result<Option<Self>> {
        let Some(file) = svg else {
            anyhow::ensure!(theme.is_none(), "--theme says how a picture in SVG looks: add --svg FILE.");
            return Ok(None);
        };
        let path = (file != Path::new("-")).then(|| file.to_owned());
        anyhow::ensure!(
            path.is_some() || !is_json,
            "--svg - and --json both want standard output; give one of them a file."
        );
        path.iter().try_for_each(|path| ensure_writable("picture", path))?;
        Ok(Some(Self { path, theme: theme.map(Into::into).unwrap_or_default() }))
    }

    /// Whether it goes to standard output. Then nothing else may.
    pub(crate) fn is_on_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// Writes it where it is wanted, whole or not at all.
    pub(crate) fn write(&self, figure: &Figure, is_quiet: bool) -> anyhow::Result<()> {
        self.write_svg(&figure.svg(self.theme)?, is_quiet)
    }

    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    /// Writes any picture where it is wanted, whole or not at all.
    pub(crate) fn write_svg(&self, svg: &str, is_quiet: bool) -> anyhow::Result<()> {
        let Some(path) = &self.path else {
            let mut out = output();
            out.write_all(svg.as_bytes())?;
            return Ok(out.flush()?);
        };
        let failed = |error: io::Error| anyhow::anyhow!("The picture {} could not be written: {error}.", name(path));
        write_whole(path, failed, |out| out.write_all(svg.as_bytes()).map_err(failed))?;
        if !is_quiet {
            writeln!(output(), "\n  {}", paint::dim(&format!("picture: {}", name(path))))?;
        }
        Ok(())
    }
}
