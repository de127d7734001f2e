//! Bars on standard error that show how far a command is.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar for so many steps, with this template of indicatif's behind it.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("  {{bar:30}} {template}"));
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
