//! Text in pictures: an upper bound on its width, computed without font files, and its escaping for
//! XML.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

/// Returns an upper bound on the width of a text in the common sans-serif fonts, in hundredths of
/// the font size.
pub(crate) fn width_hundredths(text: &str) -> i32 {
    text.chars().map(character_width).fold(0, i32::saturating_add)
}

/// Widths of the printable ASCII characters, starting at the space, in hundredths of the font size.
const ASCII_WIDTHS: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99, 69,
    62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64,
    60, 82, 60, 60, 53, 64, 34, 64, 84,
];

/// Returns the width of one character, in hundredths of the font size.
fn character_width(character: char) -> i32 {
    let index = (character as usize).checked_sub(' ' as usize);
    match (index.and_then(|index| ASCII_WIDTHS.get(index)), character) {
        (Some(width), _) => i32::from(*width),
        // A narrow space.
        (None, '\u{202f}') => 20,
        (None, '·') => 32,
        (None, '⁰'..='⁹' | '¹' | '²' | '³' | '⁻') => 54,
        // Combining marks.
        (None, '\u{300}'..='\u{36f}') => 0,
        // Most characters of other alphabets are about as wide as Latin ones; ideographs are
        // square.
        (None, '\u{a0}'..='\u{10ff}' | '–' | '−' | '√') => 84,
        (None, _) => 104,
    }
}

/// Displays a text escaped for use between XML tags or in an attribute.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // XML forbids most control characters except line breaks and tabs. Callers have
                // already cleaned their texts of them; the replacement below is a safeguard.
                '\n' | '\t' => f.write_char(character)?,
                control if control.is_control() => f.write_char('\u{fffd}')?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Returns the first `max_chars` characters of a text, followed by `…` if it is longer.
pub(crate) fn shorten(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Whether a character belongs to Hebrew, Arabic or a related script that is written from right to
/// left.
pub(crate) fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
        || matches!(character, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            Escaped("<a href='x'>&\"\u{0}]]>").to_string(),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\u{fffd}]]&gt;"
        );
    }
}
