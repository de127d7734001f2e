//! Escapes text so that Mermaid does not interpret it.

use crate::text::shorten;
use std::fmt::Write;

/// Maximum length of a text in characters, before it is escaped.
const MAX_CHARS: usize = 160;

/// Returns the text in a form that Mermaid shows unchanged; the end of a long text is cut off.
///
/// Neither Mermaid's grammar nor its renderer interprets a character written as its code point
/// (`#35;`). This escapes every ASCII character with a meaning to either, the characters that
/// Mermaid uses internally for such code points, and the keyword that ends a block.
pub(super) fn escape(text: &str) -> String {
    let short = shorten(text, MAX_CHARS);
    // Mermaid reads `wrap:` and `nowrap:` at the start of a text, even after a colon, as a setting.
    let is_setting = [":", "wrap:", "nowrap:"].iter().any(|setting| short.trim_start().starts_with(setting));
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest: &str = &short;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        let is_block_end = starts_with_block_end(rest) && !safe.ends_with(char::is_alphanumeric);
        let is_plain_colon = character == ':' && after.starts_with(' ') && !is_setting;
        if is_plain_colon || (is_plain(character) && !is_block_end) {
            safe.push(character);
        } else {
            let _ = write!(safe, "#{};", u32::from(character));
        }
        rest = after;
    }
    safe
}

/// Whether a text starts with the keyword that ends a block.
fn starts_with_block_end(text: &str) -> bool {
    text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("end"))
        && !text.get(3..).is_some_and(|after| after.starts_with(char::is_alphanumeric))
}

/// Whether a character by itself needs no escape. A colon needs one unless a space follows: Mermaid
/// may parse a colon and an escape after it as a style.
fn is_plain(character: char) -> bool {
    match character {
        'ﬂ' | '°' | '¶' | 'ß' => false,
        _ => !character.is_ascii() || character.is_ascii_alphanumeric() || " .,()[]{}|/-+_=!?'".contains(character),
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn characters_with_a_meaning_in_mermaid_are_escaped() {
        assert_eq!(escape("RA-2 defers (1, 2): ours goes first"), "RA-2 defers (1, 2): ours goes first");
        assert_eq!(escape("a;b#c%%d"), "a#59;b#35;c#37;#37;d");
        assert_eq!(escape("<br/>&lt;"), "#60;br/#62;#38;lt#59;");
        assert_eq!(escape("the end"), "the #101;nd");
        assert_eq!(escape("END, ended, weekend, end_"), "#69;ND, ended, weekend, #101;nd_");
        assert_eq!(escape("wrap: x $$y$$"), "wrap#58; x #36;#36;y#36;#36;");
        assert_eq!(escape("style:#35;"), "style#58;#35;35#59;");
        assert_eq!(escape("ﬂ°lt¶ß"), "#64258;#176;lt#182;#223;");
        assert_eq!(escape("שלום → 要求"), "שלום → 要求");
    }
}
