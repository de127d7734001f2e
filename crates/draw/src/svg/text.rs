//! Text widths, accurate enough to keep texts apart, and truncation.

use crate::text::width_hundredths;

/// Returns an upper bound on the width of a text of this font size, in pixels.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    f64::from(width_hundredths(text)) * size / 100.0
}

/// Returns an upper bound on the width of a bold text, in pixels. Bold text is up to 15 per cent
/// wider.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    text_width(text, size) * 1.15
}

/// Returns the approximate width of a text in a monospaced font, in pixels.
pub(super) fn mono_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.62
}

/// Truncates a text to `max_chars` characters. The last one is `…` if the text was longer.
pub(crate) fn truncate(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}

/// Breaks a text into lines of at most `max_width` pixels. Long words are truncated by their number
/// of characters, so a line of a single word may be wider.
pub(crate) fn wrap(text: &str, size: f64, max_width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    // The number of characters that fit into a line if their mean width is 0.7 font sizes.
    let max_chars = ((max_width / size / 0.7) as usize).max(8);
    let space_width = size * 0.4;
    for word in text.split_whitespace().map(|word| truncate(word, max_chars)) {
        let word = word.as_str();
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if text_width(line, size) + text_width(word, size) + space_width <= max_width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{text_width, truncate, wrap};

    #[test]
    fn text_is_truncated_between_characters() {
        assert_eq!(truncate("request", 7), "request");
        assert_eq!(truncate("requests", 7), "reques…");
        assert_eq!(truncate("שלום עולם", 5), "שלום…");
    }

    #[test]
    fn wrapped_lines_stay_within_their_width() {
        let lines = wrap("an older request or a holder defers the reply", 10.0, 90.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| text_width(line, 10.0) <= 90.0), "{lines:?}");
    }
}
