//! Splits a line into tokens: words, which include names, and the signs between them.

use super::name::is_name_character;

/// A token of a line, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// In characters, from 1.
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, digits and the other characters of a name.
    Word,
    /// `->` or `→`
    Arrow,
    /// `,`
    Comma,
    /// `|`
    Bar,
    /// A character that is not part of the language.
    UnknownCharacter,
}

/// The tokens of a line, without its comment.
pub(super) fn tokenize(line: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = line;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let (kind, length) = if first.is_whitespace() { (None, first.len_utf8()) } else { classify_token(rest, first) };
        let (text, after) = rest.split_at(length);
        tokens.extend(kind.map(|kind| Token { kind, text, column }));
        column += text.chars().count();
        rest = after;
    }
    tokens
}

/// The kind of the next token, and its length in bytes.
fn classify_token(rest: &str, first: char) -> (Option<TokenKind>, usize) {
    let (kind, length) = match first {
        ',' => (TokenKind::Comma, 1),
        '|' => (TokenKind::Bar, 1),
        '→' => (TokenKind::Arrow, first.len_utf8()),
        '-' if rest.starts_with("->") => (TokenKind::Arrow, 2),
        _ if is_name_character(first) => (TokenKind::Word, word_length(rest)),
        _ => (TokenKind::UnknownCharacter, first.len_utf8()),
    };
    (Some(kind), length)
}

/// The length of a word in bytes. An arrow ends it, so that `P1->P2` has three tokens.
fn word_length(rest: &str) -> usize {
    let end = rest.find(|character| !is_name_character(character)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    if after.starts_with('>') && word.ends_with('-') { end - 1 } else { end }
}
