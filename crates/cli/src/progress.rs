//! Progress bars on standard error.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar of this number of steps. `template` is the text after the bar, with placeholders
/// of indicatif.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("  {{bar:30}} {template}"));
    ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
