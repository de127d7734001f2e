//! Width of text on a terminal, and truncation.

use crate::text::is_right_to_left;
use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

const ELLIPSIS: char = '…';

/// Returns the number of columns a character takes. An emoji variation selector takes one extra
/// column, because terminals disagree and a line that is too short does no harm.
fn character_columns(character: char) -> usize {
    if character == '\u{fe0f}' { 1 } else { character.width().unwrap_or(0) }
}

pub(crate) fn display_width(text: &str) -> usize {
    text.chars().map(character_columns).sum()
}

/// Truncates a text to `max_columns` columns.
pub(crate) fn fit(text: &str, max_columns: usize) -> Cow<'_, str> {
    if display_width(text) <= max_columns {
        return Cow::Borrowed(text);
    }
    let mut remaining = max_columns.saturating_sub(1);
    let mut truncated = String::new();
    for character in text.chars() {
        let columns = character_columns(character);
        if columns > remaining {
            break;
        }
        remaining -= columns;
        truncated.push(character);
    }
    if max_columns > 0 {
        truncated.push(ELLIPSIS);
    }
    Cow::Owned(truncated)
}

/// Isolates right-to-left text, so that it does not reorder its surroundings.
pub(crate) fn isolate_right_to_left(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_right_to_left) { Cow::Owned(format!("\u{2068}{text}\u{2069}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::{display_width, fit, isolate_right_to_left};

    #[test]
    fn wide_characters_take_two_columns_and_combining_marks_none() {
        assert_eq!(display_width("request"), 7);
        assert_eq!(display_width("要求"), 4);
        assert_eq!(display_width("e\u{301}"), 1);
    }

    #[test]
    fn truncated_text_fits_into_its_columns() {
        assert_eq!(fit("request", 7), "request");
        assert_eq!(fit("request", 4), "req…");
        assert_eq!(fit("要求要求", 4), "要…", "half a character cannot be shown");
        assert_eq!(fit("要求", 1), "…");
        assert_eq!(fit("要求", 0), "");
    }

    #[test]
    fn only_right_to_left_text_is_isolated() {
        assert_eq!(isolate_right_to_left("request → 2"), "request → 2");
        assert_eq!(isolate_right_to_left("שלום"), "\u{2068}שלום\u{2069}");
    }
}
