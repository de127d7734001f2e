//! What is wrong with a setting, said so that the next try succeeds.

use quorate_core::NodeId;
use thiserror::Error;

/// Why a setting was not read, or does not fit the group. Each prints as a sentence or two that names the
/// mistake and the nearest right thing; whatever it quotes is free of control characters. A `what` comes with its article.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("{} is not {what}; write for example {example}.", quoted(text))]
    NotA { text: String, what: &'static str, example: &'static str },
    #[error("{} is not {what}{} {known}", quoted(word), or_rather(nearest))]
    Unknown { word: String, what: &'static str, nearest: Option<String>, known: String },
    #[error(
        "{} has no unit; add one, such as {}. Units are ns, us, ms, s, m, h.",
        quoted(text),
        quoted(&format!("{text}ms"))
    )]
    NoUnit { text: String },
    #[error("{} does not fit: {rule}.", quoted(text))]
    OutOfRange { text: String, rule: &'static str },
    #[error("{} {mistake}; write {instead}.", quoted(text))]
    Instead { text: String, mistake: &'static str, instead: String },
    #[error("{} lacks {what}; write {form}.", quoted(text))]
    Missing { text: String, what: &'static str, form: &'static str },
    #[error("{} makes no sense in {}{} Write {form}.", quoted(word), quoted(text), or_rather(nearest))]
    Unexpected { word: String, text: String, nearest: Option<String>, form: &'static str },
    #[error("{}: nothing may follow {after}.", quoted(text))]
    Trailing { text: String, after: &'static str },
    #[error("{} says '{word}' twice; once is enough.", quoted(text))]
    Repeated { text: String, word: &'static str },
    #[error("{} says how long before it says when; write 'at TIME for LENGTH'.", quoted(text))]
    ForBeforeAt { text: String },
    #[error("{} happens at once and cannot last; leave out {}.", quoted(word), quoted(&format!("for {length}")))]
    CannotLast { word: String, length: String },
    #[error("{} names node {node} twice; once is enough.", quoted(text))]
    NodeTwice { text: String, node: NodeId },
    #[error("{} is neither kind of cut; write 'A | B | C' for both ways, or 'A > B' for one way.", quoted(text))]
    MixedCut { text: String },
    #[error("{} has an empty side; name its nodes, or write 'rest' for all that no other side names.", quoted(text))]
    EmptySide { text: String },
    #[error("{} puts node {node} on two sides; leave it on one.", quoted(text))]
    OnTwoSides { text: String, node: NodeId },
    #[error("{} says 'rest' twice, but only one side can be the rest.", quoted(text))]
    RestTwice { text: String },
    #[error("{} leads from node {node} to itself; name another node on one side.", quoted(text))]
    ToItself { text: String, node: NodeId },
    #[error("{} leaves nobody for 'rest': it names every node there is.", quoted(text))]
    RestEmpty { text: String },
    #[error("{} names node {node}, but {}.", quoted(text), only(*nodes))]
    NoSuchNode { text: String, node: NodeId, nodes: usize },
    #[error("{} and {}{} are about the same thing; leave one of them out.", quoted(text), quoted(other), on_line(*line))]
    SameThing { text: String, other: String, line: Option<usize> },
    #[error("{}", in_line(*line, text, mistake))]
    InLine { line: usize, text: String, mistake: Box<SettingError> },
}

impl SettingError {
    pub(super) fn not_a(text: &str, what: &'static str, example: &'static str) -> Self {
        Self::NotA { text: text.into(), what, example }
    }

    pub(super) fn out_of_range(text: &str, rule: &'static str) -> Self {
        Self::OutOfRange { text: text.into(), rule }
    }

    pub(super) fn backwards(text: &str, instead: String) -> Self {
        Self::Instead { text: text.into(), mistake: "runs backwards", instead }
    }

    pub(super) fn missing(text: &str, what: &'static str, form: &'static str) -> Self {
        Self::Missing { text: text.into(), what, form }
    }
}

/// The text in quotes, fit for a terminal: what does not print is escaped, and what is long is cut short.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut quoted = String::from("'");
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(LONGEST) {
        match character {
            '\'' | '"' | '\\' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    quoted.push_str(if characters.next().is_some() { "…'" } else { "'" });
    quoted
}

/// The mistake, with the line that it is on; the line itself is quoted if the mistake does not do so.
fn in_line(line: usize, text: &str, mistake: &SettingError) -> String {
    let (told, whole) = (mistake.to_string(), quoted(text));
    if told.contains(&whole) { format!("Line {line}: {told}") } else { format!("Line {line}, {whole}: {told}") }
}

fn on_line(line: Option<usize>) -> String {
    line.map(|line| format!(" on line {line}")).unwrap_or_default()
}

fn or_rather(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(|| ".".into(), |word| format!("; did you mean '{word}'?"))
}

fn only(nodes: usize) -> String {
    match nodes {
        0 => "there are no nodes".into(),
        1 => "there is only node 1".into(),
        _ => format!("there are only nodes 1 to {nodes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{only, quoted};

    #[test]
    fn a_quotation_prints_on_one_line() {
        let quotations =
            ["a 'b' \"c\" \\d", " 1\t2\n3\0", "\u{1b}[31mred", "naïve ☃", "\u{202e}drawkcab", ""].map(quoted);
        let expected =
            ["'a 'b' \"c\" \\d'", r"'1\t2\n3\0'", r"'\u{1b}[31mred'", "'naïve ☃'", r"'\u{202e}drawkcab'", "''"];
        assert_eq!(quotations, expected);
    }

    #[test]
    fn a_long_quotation_is_cut_short() {
        assert_eq!(quoted(&"x".repeat(80)).chars().count(), 82);
        assert_eq!(quoted(&"x".repeat(5_000)), format!("'{}…'", "x".repeat(80)));
    }

    #[test]
    fn the_nodes_there_are() {
        assert_eq!([0, 1, 3].map(only), ["there are no nodes", "there is only node 1", "there are only nodes 1 to 3"]);
    }
}
