//! What is wrong with a setting, said so that the next try succeeds.

use quorate_core::NodeId;
use thiserror::Error;

/// Why a setting was not read, or does not fit the group. Each prints as a sentence or two that names the
/// mistake and the nearest right thing; whatever it quotes is free of control characters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    /// The text is another thing altogether.
    #[error("{} is not {what}; write for example {example}.", quoted(text))]
    NotA {
        /// What was written.
        text: String,
        /// What was wanted, with its article.
        what: &'static str,
        /// One that would do.
        example: &'static str,
    },
    /// A word is none of those that may stand there.
    #[error("{} is not {what}{} {known}", quoted(word), or_rather(nearest))]
    Unknown {
        /// The word.
        word: String,
        /// What it should have been, with its article.
        what: &'static str,
        /// The word that was probably meant.
        nearest: Option<String>,
        /// All that may stand there, as a sentence.
        known: String,
    },
    /// A length is a bare number.
    #[error(
        "{} has no unit; add one, such as {}. Units are ns, us, ms, s, m, h.",
        quoted(text),
        quoted(&format!("{text}ms"))
    )]
    NoUnit {
        /// The number.
        text: String,
    },
    /// A number is well formed, and larger, smaller or finer than it may be.
    #[error("{} does not fit: {rule}.", quoted(text))]
    OutOfRange {
        /// What was written.
        text: String,
        /// What does fit.
        rule: &'static str,
    },
    /// What was meant is clear, and it is written another way.
    #[error("{} {mistake}; write {instead}.", quoted(text))]
    Instead {
        /// What was written.
        text: String,
        /// What is wrong with it.
        mistake: &'static str,
        /// How to write it.
        instead: String,
    },
    /// Something that must stand there does not.
    #[error("{} lacks {what}; write {form}.", quoted(text))]
    Missing {
        /// What was written.
        text: String,
        /// What is absent, with its article.
        what: &'static str,
        /// How it is written in full.
        form: &'static str,
    },
    /// A word stands where none may.
    #[error("{} makes no sense in {}{} Write {form}.", quoted(word), quoted(text), or_rather(nearest))]
    Unexpected {
        /// The word.
        word: String,
        /// What it stands in.
        text: String,
        /// The word that was probably meant.
        nearest: Option<String>,
        /// How it is written in full.
        form: &'static str,
    },
    /// Something stands after what should have been the end.
    #[error("{}: nothing may follow {after}.", quoted(text))]
    Trailing {
        /// The part with something after it.
        text: String,
        /// What ends there.
        after: &'static str,
    },
    /// A word that may stand once stands twice.
    #[error("{} says '{word}' twice; once is enough.", quoted(text))]
    Repeated {
        /// What was written.
        text: String,
        /// The word.
        word: &'static str,
    },
    /// How long stands before when.
    #[error("{} says how long before it says when; write 'at TIME for LENGTH'.", quoted(text))]
    ForBeforeAt {
        /// What was written.
        text: String,
    },
    /// Something that happens at once is given a length.
    #[error("{} happens at once and cannot last; leave out {}.", quoted(word), quoted(&format!("for {length}")))]
    CannotLast {
        /// What happens at once.
        word: String,
        /// The length as it was written.
        length: String,
    },
    /// A list holds a node more than once.
    #[error("{} names node {node} twice; once is enough.", quoted(text))]
    NodeTwice {
        /// The list.
        text: String,
        /// The node.
        node: NodeId,
    },
    /// A cut mixes its two separators, or has a one-way cut of three sides.
    #[error("{} is neither kind of cut; write 'A | B | C' for both ways, or 'A > B' for one way.", quoted(text))]
    MixedCut {
        /// The cut.
        text: String,
    },
    /// A side names nobody.
    #[error("{} has an empty side; name its nodes, or write 'rest' for all that no other side names.", quoted(text))]
    EmptySide {
        /// The sides.
        text: String,
    },
    /// A node would be cut off from itself.
    #[error("{} puts node {node} on two sides; leave it on one.", quoted(text))]
    OnTwoSides {
        /// The sides.
        text: String,
        /// The node.
        node: NodeId,
    },
    /// Two sides are both to be what is left over.
    #[error("{} says 'rest' twice, but only one side can be the rest.", quoted(text))]
    RestTwice {
        /// The sides.
        text: String,
    },
    /// Both ends of a link or of a one-way cut are one and the same node.
    #[error("{} leads from node {node} to itself; name another node on one side.", quoted(text))]
    ToItself {
        /// The sides.
        text: String,
        /// The node.
        node: NodeId,
    },
    /// The named nodes are the whole group, so nobody is left over.
    #[error("{} leaves nobody for 'rest': it names every node there is.", quoted(text))]
    RestEmpty {
        /// What was written.
        text: String,
    },
    /// The group has no such node.
    #[error("{} names node {node}, but {}.", quoted(text), only(*nodes))]
    NoSuchNode {
        /// What was written.
        text: String,
        /// The node that is missing.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Two directions of a script cannot both hold.
    #[error("{} and {}{} are about the same thing; leave one of them out.", quoted(text), quoted(other), on_line(*line))]
    SameThing {
        /// The one.
        text: String,
        /// The other.
        other: String,
        /// On which line that stands, where there are lines.
        line: Option<usize>,
    },
    /// A line of a script holds a mistake.
    #[error("{}", in_line(*line, text, mistake))]
    InLine {
        /// Its number, from 1.
        line: usize,
        /// The line.
        text: String,
        /// What is wrong with it.
        mistake: Box<SettingError>,
    },
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
