//! What a command of a script says, in quotation marks: `send 1 "Re: Lecture" at 3ms`.

use super::error::SettingError;
use std::fmt::{self, Write};

/// Everything before the `#` that begins a comment; between quotation marks none begins.
pub(super) fn without_comment(line: &str) -> &str {
    let mut quoted = Quoted::default();
    let end = line.char_indices().find(|(_, character)| !quoted.goes_on(*character) && *character == '#');
    end.map_or(line, |(end, _)| &line[..end])
}

/// A line with its text taken out of it.
pub(super) struct Parted<'a> {
    /// What stands before the text.
    pub(super) before: &'a str,
    /// The text, and what stands after it.
    pub(super) said: Option<(String, &'a str)>,
}

/// Takes the text out of a line, if there is one.
pub(super) fn part(line: &str) -> Result<Parted<'_>, SettingError> {
    let Some((before, rest)) = line.split_once('"') else { return Ok(Parted { before: line, said: None }) };
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => {
                let after = rest.get(place + 1..).unwrap_or_default();
                return Ok(Parted { before, said: Some((text, after)) });
            }
            '\\' => text.extend(characters.next().map(|(_, escaped)| unescaped(escaped))),
            _ => text.push(character),
        }
    }
    Err(SettingError::missing(line, "the second quotation mark", super::script::FORM_WITH_TEXT))
}

const fn unescaped(character: char) -> char {
    match character {
        'n' => '\n',
        'r' => '\r',
        other => other,
    }
}

/// Writes a text as [`part`] reads it.
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

/// Where a reader of a line is, as far as quotation marks go.
#[derive(Default)]
enum Quoted {
    #[default]
    Outside,
    Inside,
    /// Inside, after a backslash.
    Escaped,
}

impl Quoted {
    /// Whether this character is between quotation marks, or one of them.
    fn goes_on(&mut self, character: char) -> bool {
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
