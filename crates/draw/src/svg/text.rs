//! Text widths, accurate enough to keep texts apart, and truncation.

use crate::text::width_hundredths;

pub(crate) fn width(text: &str, size: f64) -> f64 {
    f64::from(width_hundredths(text)) * size / 100.0
}

pub(crate) fn bold(text: &str, size: f64) -> f64 {
    width(text, size) * 1.15
}

/// Returns the width of a text in a monospaced font.
pub(super) fn mono(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.62
}

/// Truncates a text to `max_chars` characters, the last one `…`.
pub(crate) fn shortened(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}

/// Breaks a text into lines of at most `max_width`.
pub(crate) fn wrapped(text: &str, size: f64, max_width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    // A word wider than a line is truncated.
    let max_chars = ((max_width / size / 0.7) as usize).max(8);
    for word in text.split_whitespace().map(|word| shortened(word, max_chars)) {
        let word = word.as_str();
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if width(line, size) + width(word, size) + size * 0.4 <= max_width {
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
    use super::{shortened, width, wrapped};

    #[test]
    fn text_is_truncated_between_characters() {
        assert_eq!(shortened("request", 7), "request");
        assert_eq!(shortened("requests", 7), "reques…");
        assert_eq!(shortened("שלום עולם", 5), "שלום…");
    }

    #[test]
    fn wrapped_lines_stay_within_their_width() {
        let lines = wrapped("an older request or a holder defers the reply", 10.0, 90.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| width(line, 10.0) <= 90.0), "{lines:?}");
    }
}
