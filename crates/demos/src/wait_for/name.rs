//! Names of processes and resources.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The name of a process or a resource. Names sort in natural order: P2 comes before P10.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// A name with this text, which must be valid.
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name with this text; `None` unless it has only letters, digits and `-_.:;/`, at least
    /// one of them a letter or a digit, no `.`, `:` or `;` at either end, and is not a reserved
    /// word.
    pub fn parse(text: &str) -> Option<Self> {
        let punctuation = ['.', ':', ';'];
        let has_clean_ends = !text.starts_with(punctuation) && !text.ends_with(punctuation);
        let has_valid_characters = text.chars().all(is_name_character) && text.chars().any(char::is_alphanumeric);
        (has_valid_characters && has_clean_ends && !RESERVED.contains(&text)).then(|| Self::new(text))
    }
}

/// Words that join names, and so cannot be names.
pub(super) const RESERVED: [&str; 2] = ["and", "or"];

pub(super) fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || "-_.:;/".contains(character)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        // Names that differ only in leading zeros have equal parts.
        split_into_parts(&self.0).cmp(split_into_parts(&other.0)).then_with(|| self.0.cmp(&other.0))
    }
}

/// A part of a name, for natural order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum NamePart<'a> {
    /// The number of digits of a number without its leading zeros, and these digits.
    Number(usize, &'a str),
    /// Any character that is not a digit from 0 to 9.
    Other(char),
}

fn split_into_parts(name: &str) -> impl Iterator<Item = NamePart<'_>> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(if end == 0 { first.len_utf8() } else { end });
        rest = after;
        if end == 0 {
            return Some(NamePart::Other(first));
        }
        let digits = piece.trim_start_matches('0');
        Some(NamePart::Number(digits.len(), digits))
    })
}
