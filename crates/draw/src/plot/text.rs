//! How wide text is, as far as anybody can say who has no fonts; and what of it fits.

use crate::lettering::{Escaped, hundredths, runs_left};
use quorate_journal::words::clean;

/// How many pixels wide a text of this size is at most, with the widest of the common fonts.
pub(super) fn width(text: &str, size: i32) -> i32 {
    hundredths(text).saturating_mul(size).saturating_add(99) / 100
}

pub(super) fn bold(size: i32) -> i32 {
    (size * 115 + 99) / 100
}

/// What of a text can be shown on so many pixels, and whether that is all of it.
pub(super) fn fit(text: &str, size: i32, room: i32) -> (String, bool) {
    let text = clean(text);
    if width(&text, size) <= room {
        return (text.into_owned(), true);
    }
    let room = room - width("…", size);
    let mut taken = 0;
    let fits = |character: &char| {
        taken += width(character.encode_utf8(&mut [0; 4]), size);
        taken <= room
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    cut.truncate(cut.trim_end().len());
    (cut + "…", false)
}

/// The text as it stands in a document, with nothing in it that the document would take for its own.
pub(super) fn escape(text: &str) -> String {
    Escaped(&clean(text)).to_string()
}

/// Escaped, and kept to itself: where a text runs from right to left, what stands beside it stays where it is.
pub(super) fn isolate(text: &str) -> String {
    let escaped = escape(text);
    if text.chars().any(runs_left) { format!("&#x2068;{escaped}&#x2069;") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::{escape, fit, isolate, width};

    #[test]
    fn what_does_not_fit_is_cut_and_said_to_be() {
        assert_eq!(fit("central", 14, 200), ("central".into(), true));
        let (cut, is_whole) = fit(&"ricart-agrawala ".repeat(99), 14, 200);
        assert!(cut.ends_with('…') && !is_whole && width(&cut, 14) <= 200, "{cut}");
        assert_eq!(fit("abc", 14, 0), ("…".into(), false));
        assert_eq!(fit("abc", 14, -9), ("…".into(), false));
    }

    #[test]
    fn what_would_do_something_is_shown() {
        assert_eq!(escape("<b a=\"1\">&'\u{0}\u{202e}"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;\\u{0}\\u{202e}");
        assert_eq!(isolate("שלום"), "&#x2068;שלום&#x2069;");
        assert_eq!(isolate("2(n−1)"), "2(n−1)");
    }
}
