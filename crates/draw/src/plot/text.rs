//! Widths and truncation of text, and its escaping.

use crate::text::{Escaped, is_right_to_left, width_hundredths};
use quorate_journal::words::escape_controls;

/// Returns an upper bound on the width of a text of this font size in the common fonts, in pixels.
pub(super) fn text_width(text: &str, size: i32) -> i32 {
    width_hundredths(text).saturating_mul(size).saturating_add(99) / 100
}

/// Returns the regular font size whose text is as wide as bold text of this size: 15 per cent more,
/// rounded up.
pub(super) fn regular_size_of_bold(size: i32) -> i32 {
    (size * 115 + 99) / 100
}

/// Escapes control characters in a text, and truncates it to a width in pixels. Returns the text,
/// and whether it is complete.
pub(super) fn fit(text: &str, size: i32, max_width: i32) -> (String, bool) {
    let text = escape_controls(text);
    if text_width(&text, size) <= max_width {
        return (text.into_owned(), true);
    }
    let max_width = max_width - text_width("…", size);
    let mut used_width = 0;
    let fits = |character: &char| {
        used_width += text_width(character.encode_utf8(&mut [0; 4]), size);
        used_width <= max_width
    };
    let mut truncated: String = text.chars().take_while(fits).collect();
    truncated.truncate(truncated.trim_end().len());
    (truncated + "…", false)
}

/// Escapes a text for an SVG document.
pub(super) fn escape(text: &str) -> String {
    Escaped(&escape_controls(text)).to_string()
}

/// Escapes a text, and isolates right-to-left text so that it does not reorder its surroundings.
pub(super) fn escape_and_isolate(text: &str) -> String {
    let escaped = escape(text);
    if text.chars().any(is_right_to_left) { format!("&#x2068;{escaped}&#x2069;") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::{escape, escape_and_isolate, fit, text_width};

    #[test]
    fn text_that_does_not_fit_is_truncated_and_reported() {
        assert_eq!(fit("central", 14, 200), ("central".into(), true));
        let (truncated, is_whole) = fit(&"ricart-agrawala ".repeat(99), 14, 200);
        assert!(truncated.ends_with('…') && !is_whole && text_width(&truncated, 14) <= 200, "{truncated}");
        assert_eq!(fit("abc", 14, 0), ("…".into(), false));
        assert_eq!(fit("abc", 14, -9), ("…".into(), false));
    }

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escape("<b a=\"1\">&'\u{0}\u{202e}"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;\\u{0}\\u{202e}");
        assert_eq!(escape_and_isolate("שלום"), "&#x2068;שלום&#x2069;");
        assert_eq!(escape_and_isolate("2(n−1)"), "2(n−1)");
    }
}
