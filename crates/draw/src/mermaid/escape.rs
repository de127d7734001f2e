//! Text that Mermaid shows as it is.

use crate::lettering::shortened;
use std::fmt::Write;

/// More of one text than this nobody reads in a diagram.
const MOST: usize = 160;

/// The text in the form in which Mermaid shows it, whatever it says; too much of it is left out.
///
/// A character by its number (`#35;`) is one that neither the grammar nor the renderer looks at. That is done to every
/// sign of ASCII that means something to either, to the letters that Mermaid itself uses to remember such numbers, and to
/// the word that ends a block.
pub(super) fn escaped(text: &str) -> String {
    let short = shortened(text, MOST);
    let setting = [":", "wrap:", "nowrap:"].iter().any(|setting| short.trim_start().starts_with(setting));
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest: &str = &short;
    while let Some(character) = rest.chars().next() {
        let behind = &rest[character.len_utf8()..];
        let block_end = is_end(rest) && !safe.ends_with(char::is_alphanumeric);
        let colon = character == ':' && behind.starts_with(' ') && !setting;
        if colon || (is_plain(character) && !block_end) {
            safe.push(character);
        } else {
            let _ = write!(safe, "#{};", u32::from(character));
        }
        rest = behind;
    }
    safe
}

/// Whether a text begins with the word that ends a block.
fn is_end(text: &str) -> bool {
    text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("end"))
        && !text.get(3..).is_some_and(|behind| behind.starts_with(char::is_alphanumeric))
}

/// Whether a character can stand there as it is. A colon can only where a space follows: before a number of ours, Mermaid
/// may take it for a style.
fn is_plain(character: char) -> bool {
    match character {
        'ﬂ' | '°' | '¶' | 'ß' => false,
        _ => !character.is_ascii() || character.is_ascii_alphanumeric() || " .,()[]{}|/-+_=!?'".contains(character),
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_mermaid_could_take_for_something_else_is_written_by_its_number() {
        assert_eq!(escaped("RA-2 defers (1, 2): ours goes first"), "RA-2 defers (1, 2): ours goes first");
        assert_eq!(escaped("a;b#c%%d"), "a#59;b#35;c#37;#37;d");
        assert_eq!(escaped("<br/>&lt;"), "#60;br/#62;#38;lt#59;");
        assert_eq!(escaped("the end"), "the #101;nd");
        assert_eq!(escaped("END, ended, weekend, end_"), "#69;ND, ended, weekend, #101;nd_");
        assert_eq!(escaped("wrap: x $$y$$"), "wrap#58; x #36;#36;y#36;#36;");
        assert_eq!(escaped("style:#35;"), "style#58;#35;35#59;");
        assert_eq!(escaped("ﬂ°lt¶ß"), "#64258;#176;lt#182;#223;");
        assert_eq!(escaped("שלום → 要求"), "שלום → 要求");
    }
}
