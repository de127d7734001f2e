//! Errors in settings, with messages that show how to correct them.

use quorate_core::NodeId;
use thiserror::Error;

/// Why a setting is malformed or does not match the group.
///
/// Each error prints as one or more sentences that name the mistake and the closest valid form.
/// Quoted input contains no control characters. The texts in `expected` continue a sentence after
/// "is not", and those in `missing` after "lacks", such as "a duration".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("{} is not {expected}; write for example {example}.", quoted(text))]
    NotA { text: String, expected: &'static str, example: &'static str },
    #[error("{} is not {expected}{} {known_words}", quoted(word), suggestion(nearest))]
    Unknown { word: String, expected: &'static str, nearest: Option<String>, known_words: String },
    #[error(
        "{} has no unit; add one, such as {}. Units are ns, us, ms, s, m, h.",
        quoted(text),
        quoted(&format!("{text}ms"))
    )]
    NoUnit { text: String },
    #[error("{} is invalid: {rule}.", quoted(text))]
    OutOfRange { text: String, rule: &'static str },
    #[error("{} {mistake}; write {correction}.", quoted(text))]
    Miswritten { text: String, mistake: &'static str, correction: String },
    #[error("{} lacks {missing}; write {form}.", quoted(text))]
    Missing { text: String, missing: &'static str, form: &'static str },
    #[error("{} is unexpected in {}{} Write {form}.", quoted(word), quoted(text), suggestion(nearest))]
    Unexpected { word: String, text: String, nearest: Option<String>, form: &'static str },
    #[error("{}: nothing may follow {after}.", quoted(text))]
    Trailing { text: String, after: &'static str },
    #[error("{} has '{word}' twice; write it once.", quoted(text))]
    Repeated { text: String, word: &'static str },
    #[error("{} has 'for' before 'at'; write 'at TIME for DURATION'.", quoted(text))]
    ForBeforeAt { text: String },
    #[error("{} is instantaneous and has no duration; leave out {}.", quoted(word), quoted(&format!("for {length}")))]
    CannotLast { word: String, length: String },
    #[error("{} names node {node} twice; name it once.", quoted(text))]
    DuplicateNode { text: String, node: NodeId },
    #[error(
        "{} is not a cut; write 'A | B | C' to cut both directions, or 'A > B' to cut one direction.",
        quoted(text)
    )]
    MixedCut { text: String },
    #[error(
        "{} has an empty side; name its nodes, or write 'rest' for all nodes that no other side names.",
        quoted(text)
    )]
    EmptySide { text: String },
    #[error("{} puts node {node} on two sides; leave it on one.", quoted(text))]
    OnTwoSides { text: String, node: NodeId },
    #[error("{} has 'rest' twice, but only one side can be the rest.", quoted(text))]
    RestTwice { text: String },
    #[error("{} is a link from node {node} to itself; name two different nodes.", quoted(text))]
    LinkToItself { text: String, node: NodeId },
    #[error("{} leaves no node for 'rest': it names all nodes of the group.", quoted(text))]
    RestEmpty { text: String },
    #[error("{} names node {node}, but {}.", quoted(text), known_nodes(*nodes))]
    NoSuchNode { text: String, node: NodeId, nodes: usize },
    /// `line` is the line number of `other`, if both are in one file.
    #[error("{} and {}{} fix the same choice; leave one of them out.", quoted(text), quoted(other), on_line(*line))]
    SameChoice { text: String, other: String, line: Option<usize> },
    #[error("{}", in_line(*line, text, mistake))]
    InLine { line: usize, text: String, mistake: Box<SettingError> },
}

impl SettingError {
    pub(super) fn not_a(text: &str, expected: &'static str, example: &'static str) -> Self {
        Self::NotA { text: text.into(), expected, example }
    }

    pub(super) fn out_of_range(text: &str, rule: &'static str) -> Self {
        Self::OutOfRange { text: text.into(), rule }
    }

    pub(super) fn reversed_bounds(text: &str, correction: String) -> Self {
        Self::Miswritten { text: text.into(), mistake: "has its bounds in the wrong order", correction }
    }

    pub(super) fn missing(text: &str, missing: &'static str, form: &'static str) -> Self {
        Self::Missing { text: text.into(), missing, form }
    }
}

/// Returns a text in quotation marks for a terminal. Escapes control characters and shortens long
/// texts.
fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut quoted = String::from("'");
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(MAX_CHARS) {
        match character {
            '\'' | '"' | '\\' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    quoted.push_str(if characters.next().is_some() { "…'" } else { "'" });
    quoted
}

/// Prefixes an error with its line number, and with the quoted line unless the error already quotes
/// it.
fn in_line(line: usize, text: &str, mistake: &SettingError) -> String {
    let (message, quoted_line) = (mistake.to_string(), quoted(text));
    if message.contains(&quoted_line) {
        format!("line {line}: {message}")
    } else {
        format!("line {line}, {quoted_line}: {message}")
    }
}

fn on_line(line: Option<usize>) -> String {
    line.map(|line| format!(" on line {line}")).unwrap_or_default()
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(|| ".".into(), |word| format!("; did you mean '{word}'?"))
}

fn known_nodes(nodes: usize) -> String {
    match nodes {
        0 => "there are no nodes".into(),
        1 => "there is only node 1".into(),
        _ => format!("there are only nodes 1 to {nodes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{known_nodes, quoted};

    #[test]
    fn a_quotation_prints_on_one_line() {
        let quotations =
            ["a 'b' \"c\" \\d", " 1\t2\n3\0", "\u{1b}[31mred", "naïve ☃", "\u{202e}drawkcab", ""].map(quoted);
        let expected =
            ["'a 'b' \"c\" \\d'", r"'1\t2\n3\0'", r"'\u{1b}[31mred'", "'naïve ☃'", r"'\u{202e}drawkcab'", "''"];
        assert_eq!(quotations, expected);
    }

    #[test]
    fn a_long_quotation_is_shortened() {
        // 80 characters and two quotation marks.
        assert_eq!(quoted(&"x".repeat(80)).chars().count(), 82);
        assert_eq!(quoted(&"x".repeat(5_000)), format!("'{}…'", "x".repeat(80)));
    }

    #[test]
    fn the_known_nodes_are_described_for_every_count() {
        assert_eq!(
            [0, 1, 3].map(known_nodes),
            ["there are no nodes", "there is only node 1", "there are only nodes 1 to 3"]
        );
    }
}
