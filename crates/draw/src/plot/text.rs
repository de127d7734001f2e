//! How wide text is, as far as anybody can say who has no fonts; and what of it fits.

use quorate_sim::words::clean;

/// How many pixels wide a text of this size is at most, with the widest of the common fonts.
pub(super) fn width(text: &str, size: i32) -> i32 {
    let hundredths: i32 = text.chars().map(character_width).sum();
    (hundredths * size + 99) / 100
}

/// The size that bold letters of this size take the room of.
pub(super) fn bold(size: i32) -> i32 {
    (size * 115 + 99) / 100
}

/// From the blank on, in hundredths of the size.
const ASCII: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99, 69,
    62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64,
    60, 82, 60, 60, 53, 64, 34, 64, 84,
];

/// In hundredths of the size.
fn character_width(character: char) -> i32 {
    let place = (character as usize).checked_sub(' ' as usize);
    match (place.and_then(|place| ASCII.get(place)), character) {
        (Some(width), _) => i32::from(*width),
        (None, '\u{202f}') => 20,
        (None, '·') => 32,
        (None, '⁰'..='⁹' | '¹' | '²' | '³' | '⁻') => 54,
        (None, '\u{300}'..='\u{36f}') => 0,
        // Letters of other alphabets are about as wide as ours, and signs of some are square.
        (None, '\u{a0}'..='\u{10ff}' | '–' | '−' | '√') => 84,
        (None, _) => 104,
    }
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
    let mut escaped = String::with_capacity(text.len());
    for character in clean(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Escaped, and kept to itself: where a text runs from right to left, what stands beside it stays where it is.
pub(super) fn isolate(text: &str) -> String {
    let escaped = escape(text);
    if text.chars().any(runs_to_the_left) { format!("&#x2068;{escaped}&#x2069;") } else { escaped }
}

fn runs_to_the_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
        || matches!(character, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
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
