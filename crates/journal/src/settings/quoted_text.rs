//! Quoted texts and comments in a script: `send 1 "Re: Lecture" at 3ms # a remark`.

use super::error::SettingError;
use std::fmt::{self, Write};

/// Returns the line without its comment. A `#` between quotation marks does not start a comment.
pub(super) fn without_comment(line: &str) -> &str {
    let mut quote_state = QuoteState::default();
    let end = line.char_indices().find(|(_, character)| !quote_state.advance(*character) && *character == '#');
    end.map_or(line, |(end, _)| &line[..end])
}

/// A line split at its quoted text.
pub(super) struct SplitLine<'a> {
    /// The part before the quoted text, or the whole line if there is none.
    pub(super) before: &'a str,
    /// The unescaped text, and the part of the line after it.
    pub(super) quoted_text: Option<(String, &'a str)>,
}

/// Splits a line at its quoted text.
pub(super) fn split_quoted(line: &str) -> Result<SplitLine<'_>, SettingError> {
    let Some((before, rest)) = line.split_once('"') else { return Ok(SplitLine { before: line, quoted_text: None }) };
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' => {
                let following_text = rest.get(offset + 1..).unwrap_or_default();
                return Ok(SplitLine { before, quoted_text: Some((text, following_text)) });
            }
            '\\' => text.extend(characters.next().map(|(_, escaped)| unescape(escaped))),
            _ => text.push(character),
        }
    }
    Err(SettingError::missing(line, "the second quotation mark", super::script::FORM_WITH_TEXT))
}

const fn unescape(character: char) -> char {
    match character {
        'n' => '\n',
        'r' => '\r',
        other => other,
    }
}

/// Writes a text in the form that [`split_quoted`] reads.
pub(super) fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('"')
}

/// Tracks whether the characters of a line are between quotation marks.
#[derive(Default)]
enum QuoteState {
    #[default]
    Outside,
    Inside,
    /// Inside, after a backslash.
    Escaped,
}

impl QuoteState {
    /// Reads the next character. Returns whether it is between quotation marks, or is one of them.
    fn advance(&mut self, character: char) -> bool {
        let (next, is_quoted) = match (&self, character) {
            (Self::Outside, '"') => (Self::Inside, true),
            (Self::Outside, _) => (Self::Outside, false),
            (Self::Inside, '"') => (Self::Outside, true),
            (Self::Inside, '\\') => (Self::Escaped, true),
            (Self::Inside | Self::Escaped, _) => (Self::Inside, true),
        };
        *self = next;
        is_quoted
    }
}
