//! Splits a line of a script into words, and into its action (a fault or a command) and the clauses
//! `at` and `for`.

use super::error::SettingError;
use super::length::Length;
use super::nearest::nearest;
use super::nodes::{Side, read_node};
use quorate_core::{Duration, NodeId};
use std::fmt;
use std::str::FromStr;

/// Returns the words of a text, each with the byte offset of its first character.
pub(super) fn split_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + text[end..].find(|character: char| !character.is_whitespace())?;
        end = text[start..].find(char::is_whitespace).map_or(text.len(), |length| start + length);
        Some((start, &text[start..end]))
    })
}

/// Returns the first word of a text and the rest after it, both trimmed; empty texts if there is
/// none.
pub(super) fn split_first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}

/// An action with its time and duration: `crash 2`, `10ms` and `20ms` of
/// `crash 2 at 10ms for 20ms`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clauses<'a> {
    /// The whole line.
    pub(super) text: &'a str,
    /// Everything before `at` and `for`.
    pub(super) action: &'a str,
    /// The text after `at`.
    time: Option<&'a str>,
    /// The text after `for`.
    duration: Option<&'a str>,
}

impl<'a> Clauses<'a> {
    /// Splits a line at its words `at` and `for`, in that order and each at most once.
    pub(super) fn split(text: &'a str) -> Result<Self, SettingError> {
        let text = text.trim();
        let (action, first_clause) = split_at_timing(text);
        let mut clauses = Self { text, action, time: None, duration: None };
        let mut next_clause = first_clause;
        while let Some((word, rest)) = next_clause {
            let (clause, following) = split_at_timing(rest);
            let slot = match word {
                Timing::At => &mut clauses.time,
                Timing::For => &mut clauses.duration,
            };
            if slot.replace(clause).is_some() {
                return Err(SettingError::Repeated { text: text.into(), word: word.name() });
            }
            if word == Timing::At && clauses.duration.is_some() {
                return Err(SettingError::ForBeforeAt { text: text.into() });
            }
            next_clause = following;
        }
        Ok(clauses)
    }

    /// Returns an error if the line has an `at` or a `for` clause.
    pub(super) fn check_untimed(&self) -> Result<(), SettingError> {
        match (self.time, self.duration) {
            (None, None) => Ok(()),
            (Some(_), _) | (None, Some(_)) => {
                Err(SettingError::Trailing { text: self.text.into(), after: "the fault: a fault has no time here" })
            }
        }
    }

    /// Parses the time of the action. The default is the start of the run. `can_last` says whether
    /// the action may also have a `for` clause.
    pub(super) fn read_time(&self, can_last: bool) -> Result<Duration, SettingError> {
        let last_part = if can_last { "the time except 'for DURATION'" } else { "the time" };
        let time = self.time.map(|time| self.read_length(Timing::At, time, last_part)).transpose()?;
        Ok(time.unwrap_or_default())
    }

    /// Parses the duration of the action, if the line has one. Fails if the line has one although
    /// the action, named `word`, cannot have one.
    pub(super) fn read_duration(&self, can_last: bool, word: &str) -> Result<Option<Duration>, SettingError> {
        match self.duration {
            Some(length) if !can_last => Err(SettingError::CannotLast { word: word.into(), length: length.into() }),
            length => length.map(|length| self.read_length(Timing::For, length, "the duration")).transpose(),
        }
    }

    /// Parses the length in a clause that starts with `word`. If text follows the length, the error
    /// says that nothing may follow `last_part`.
    fn read_length(&self, word: Timing, clause: &str, last_part: &'static str) -> Result<Duration, SettingError> {
        if clause.is_empty() {
            return Err(match word {
                Timing::At => SettingError::missing(self.text, "a time after 'at'", "for example 'at 10ms'"),
                Timing::For => SettingError::missing(self.text, "a duration after 'for'", "for example 'for 20ms'"),
            });
        }
        clause.parse().map(|Length(length)| length).map_err(|mistake| match text_after_value::<Length>(clause) {
            Some(_) => SettingError::Trailing { text: format!("{} {clause}", word.name()), after: last_part },
            None => mistake,
        })
    }
}

/// The two words that start a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    At,
    For,
}

impl Timing {
    const fn name(self) -> &'static str {
        match self {
            Self::At => "at",
            Self::For => "for",
        }
    }
}

/// Returns the text before the first `at` or `for`, that word, and the text after it.
fn split_at_timing(text: &str) -> (&str, Option<(Timing, &str)>) {
    let found = split_words(text).find_map(|(start, word)| {
        let timing = [Timing::At, Timing::For].into_iter().find(|timing| word.eq_ignore_ascii_case(timing.name()))?;
        Some((text[..start].trim(), Some((timing, text[start + word.len()..].trim()))))
    });
    found.unwrap_or((text.trim(), None))
}

/// Returns the text after the longest prefix of `text` that parses as a value. `None` if no prefix
/// parses or nothing follows it.
fn text_after_value<T: FromStr>(text: &str) -> Option<&str> {
    // No setting has more words than `uniform: 1 ms .. 5 ms`.
    const MAX_WORDS: usize = 6;
    let ends = split_words(text).map(|(start, word)| start + word.len()).take(MAX_WORDS);
    let end = ends.filter(|&end| text[..end].parse::<T>().is_ok()).last()?;
    Some(text[end..].trim()).filter(|rest| !rest.is_empty())
}

/// Returns the first word that is not allowed among the sides of a cut or a link.
pub(super) fn find_stray_word(sides: &str) -> Option<&str> {
    let mut pieces = sides.split(|character: char| character.is_whitespace() || matches!(character, '|' | '>' | ','));
    pieces.find(|piece| piece.starts_with(char::is_alphabetic) && !piece.eq_ignore_ascii_case(Side::REST))
}

/// Writes the clauses that [`Clauses`] reads. The time is left out if it is the start of the run.
pub(super) fn write_timing(f: &mut fmt::Formatter<'_>, at: Duration, duration: Option<Duration>) -> fmt::Result {
    if at != Duration::ZERO {
        write!(f, " at {}", Length(at))?;
    }
    match duration {
        Some(duration) => write!(f, " for {}", Length(duration)),
        None => Ok(()),
    }
}

/// Reads the words and values of an action in order. Error messages quote `form` as the expected
/// form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    /// The whole action.
    pub(super) text: &'a str,
    /// The part of the action that was not read yet.
    pub(super) rest: &'a str,
    pub(super) form: &'static str,
}

impl<'a> Reader<'a> {
    /// Takes a node number.
    pub(super) fn take_node(&mut self) -> Result<NodeId, SettingError> {
        let (word, rest) = split_first_word(self.rest);
        if word.is_empty() {
            return Err(self.missing("a node"));
        }
        self.rest = rest;
        read_node(word)
    }

    /// Takes a whole number. `name` names it in error messages.
    pub(super) fn take_number(&mut self, name: &'static str) -> Result<u64, SettingError> {
        let (word, rest) = split_first_word(self.rest);
        if word.is_empty() {
            return Err(self.missing(name));
        }
        self.rest = rest;
        if !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SettingError::not_a(word, name, "3"));
        }
        word.parse().map_err(|_| SettingError::out_of_range(word, "a number must be at most 18446744073709551615"))
    }

    /// Takes the next word if it is `name`. Returns whether it was.
    pub(super) fn take_word(&mut self, name: &str) -> bool {
        let (word, rest) = split_first_word(self.rest);
        let is_next = word.eq_ignore_ascii_case(name);
        if is_next {
            self.rest = rest;
        }
        is_next
    }

    /// Parses the rest as the sides of a cut or a link.
    pub(super) fn parse_sides<T: FromStr<Err = SettingError>>(self) -> Result<T, SettingError> {
        // The only word allowed among sides is `rest`: any other is probably a misspelt `at` or
        // `for`.
        match find_stray_word(self.rest) {
            Some(word) => Err(self.unexpected(word, &[Side::REST])),
            None if self.rest.is_empty() => Err(self.missing("two sides")),
            None => self.rest.parse(),
        }
    }

    /// Parses the rest as a value. `name` names it in error messages.
    pub(super) fn parse_value<T: FromStr<Err = SettingError>>(self, name: &'static str) -> Result<T, SettingError> {
        if self.rest.is_empty() {
            return Err(self.missing(name));
        }
        self.rest.parse().map_err(|mistake| match text_after_value::<T>(self.rest) {
            Some(rest) => self.unexpected(split_first_word(rest).0, &[]),
            None => mistake,
        })
    }

    /// Fails if any text is left. The error suggests `at`, `for` or one of the words `allowed` if
    /// the next word is similar.
    pub(super) fn expect_end(self, allowed: &[&str]) -> Result<(), SettingError> {
        match split_first_word(self.rest).0 {
            "" => Ok(()),
            word => Err(self.unexpected(word, allowed)),
        }
    }

    /// Returns the error for an action without this part.
    pub(super) fn missing(&self, part: &'static str) -> SettingError {
        SettingError::missing(self.text, part, self.form)
    }

    /// Returns the error for this word, which suggests `at`, `for` or one of the words `allowed` if
    /// the word is similar.
    pub(super) fn unexpected(&self, word: &str, allowed: &[&str]) -> SettingError {
        let known_words = allowed.iter().copied().chain([Timing::At.name(), Timing::For.name()]);
        let nearest = nearest(word, known_words).map(String::from);
        SettingError::Unexpected { word: word.into(), text: self.text.into(), nearest, form: self.form }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clauses, split_first_word, split_words};

    #[test]
    fn words_come_with_their_offsets() {
        let found: Vec<_> = split_words("  cut\u{a0}1 ☃\t").collect();
        assert_eq!(found, [(2, "cut"), (7, "1"), (9, "☃")]);
        assert_eq!([" a  b c ", "a", " "].map(split_first_word), [("a", "b c"), ("a", ""), ("", "")]);
    }

    #[test]
    fn a_line_is_split_into_action_time_and_duration() {
        let clauses = Clauses::split(" crash 2 AT 10 ms For 20ms ").unwrap();
        assert_eq!((clauses.action, clauses.time, clauses.duration), ("crash 2", Some("10 ms"), Some("20ms")));
    }
}
