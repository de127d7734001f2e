//! A line in pieces: names, words, and the signs between them.

use super::name::is_of_name;

/// A piece of a line, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// From 1 on, in characters.
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and what else a name may have.
    Word,
    /// `->`
    Arrow,
    /// `,`
    Comma,
    /// `|`
    Bar,
    Stranger,
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

/// What a line goes on with, and how many bytes of it that is.
fn piece(rest: &str, first: char) -> (Option<Kind>, usize) {
    let (kind, length) = match first {
        ',' => (Kind::Comma, 1),
        '|' => (Kind::Bar, 1),
        '→' => (Kind::Arrow, first.len_utf8()),
        '-' if rest.starts_with("->") => (Kind::Arrow, 2),
        _ if is_of_name(first) => (Kind::Word, word(rest)),
        _ => (Kind::Stranger, first.len_utf8()),
    };
    (Some(kind), length)
}

/// How far a word goes. An arrow ends it, so that `P1->P2` is what it looks like.
fn word(rest: &str) -> usize {
    let end = rest.find(|character| !is_of_name(character)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    if after.starts_with('>') && word.ends_with('-') { end - 1 } else { end }
}
