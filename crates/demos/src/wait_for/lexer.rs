//! Splits a line into tokens: names, words, and the signs between them.

use super::name::is_name_character;

/// A token of a line, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// In characters, from 1.
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and the other characters of a name.
    Word,
    /// `->`
    Arrow,
    /// `,`
    Comma,
    /// `|`
    Bar,
    /// A character that is not part of the language.
    UnknownCharacter,
}

pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = line;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let (kind, length) = if first.is_whitespace() { (None, first.len_utf8()) } else { piece(rest, first) };
        let (text, after) = rest.split_at(length);
        tokens.extend(kind.map(|kind| Token { kind, text, column }));
        column += text.chars().count();
        rest = after;
    }
    tokens
}

/// The kind of the next token, and its length in bytes.
fn piece(rest: &str, first: char) -> (Option<Kind>, usize) {
    let (kind, length) = match first {
        ',' => (Kind::Comma, 1),
        '|' => (Kind::Bar, 1),
        '→' => (Kind::Arrow, first.len_utf8()),
        '-' if rest.starts_with("->") => (Kind::Arrow, 2),
        _ if is_name_character(first) => (Kind::Word, word(rest)),
        _ => (Kind::UnknownCharacter, first.len_utf8()),
    };
    (Some(kind), length)
}

/// The length of a word. An arrow ends it, so that `P1->P2` is read as expected.
fn word(rest: &str) -> usize {
    let end = rest.find(|character| !is_name_character(character)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    if after.starts_with('>') && word.ends_with('-') { end - 1 } else { end }
}
