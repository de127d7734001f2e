//! Directions: single random choices that a script fixes, such as the delay or the loss of one
//! message.

use super::clauses::{Reader, split_first_word, split_words};
use super::error::SettingError;
use super::fault::check_node;
use super::length::Length;
use super::nearest::nearest;
use super::nodes::read_node;
use quorate_core::{Duration, NodeId};
use std::fmt;
use std::str::FromStr;

/// Fixes one choice that would otherwise be random: `message 3 of 1 > 2 takes 9ms`.
///
/// Numbers count from 1 over the whole run, including all incarnations of a node: the messages of
/// each link, the timers that a node sets, and the syncs of its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// `message 3 of 1 > 2 is lost`: the fate of a message.
    Message { from: NodeId, to: NodeId, number: u64, fate: Fate },
    /// `timer 5 of 2 takes 153ms`: a timer fires this long after it was set, by the node's own
    /// clock. It never fires before its span starts, but it may fire after its span ends, like the
    /// timer of a busy node.
    Timer { node: NodeId, number: u64, delay: Duration },
    /// `sync 2 of 1 takes 4ms`: the duration of a disk sync.
    Sync { node: NodeId, number: u64, duration: Duration },
}

/// The fate of a message, unless a cut blocks it or its receiver is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// `takes 9ms`: it arrives this long after it was sent.
    Takes(Duration),
    /// `is lost`: it never arrives.
    Lost,
    /// `comes again after 12ms`: a second copy of it arrives this long after the message was sent.
    Duplicated(Duration),
}

/// The subject of a direction: its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Message,
    Timer,
    Sync,
}

impl Subject {
    pub(super) const ALL: [Self; 3] = [Self::Message, Self::Timer, Self::Sync];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Timer => "timer",
            Self::Sync => "sync",
        }
    }

    /// Returns the syntax of a direction with this subject.
    const fn form(self) -> &'static str {
        match self {
            Self::Message => "message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION)",
            Self::Timer => "timer NUMBER of NODE takes DURATION",
            Self::Sync => "sync NUMBER of NODE takes DURATION",
        }
    }

    /// Returns the subject with this name, ignoring case.
    pub(super) fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name().eq_ignore_ascii_case(word))
    }
}

/// The words that may follow the link of a message.
const VERBS: [&str; 3] = ["takes", "is", "comes"];

/// The words that start the time clauses of faults and commands.
const TIMING_WORDS: [&str; 2] = ["at", "for"];

impl Direction {
    /// Returns an error if the direction names a node that a group of the nodes 1 to `nodes` does
    /// not have.
    pub fn validate(&self, nodes: usize) -> Result<(), SettingError> {
        self.validate_as(self, nodes)
    }

    /// Like [`validate`](Self::validate), with `text` quoted in the error.
    pub(super) fn validate_as(&self, text: &impl fmt::Display, nodes: usize) -> Result<(), SettingError> {
        self.nodes().into_iter().flatten().try_for_each(|node| check_node(text, node, nodes))
    }

    /// Returns the nodes that the direction names.
    pub const fn nodes(&self) -> [Option<NodeId>; 2] {
        match *self {
            Self::Message { from, to, .. } => [Some(from), Some(to)],
            Self::Timer { node, .. } | Self::Sync { node, .. } => [Some(node), None],
        }
    }

    /// Returns whether both directions fix the same choice. The delay and the second copy of a
    /// message are different choices.
    pub fn contradicts(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Message { from, to, number, fate },
                Self::Message { from: other_from, to: other_to, number: other_number, fate: other_fate },
            ) => {
                let are_delay_and_copy = matches!(
                    (fate, other_fate),
                    (Fate::Takes(_), Fate::Duplicated(_)) | (Fate::Duplicated(_), Fate::Takes(_))
                );
                (from, to, number) == (other_from, other_to, other_number) && !are_delay_and_copy
            }
            (Self::Timer { node, number, .. }, Self::Timer { node: other_node, number: other_number, .. })
            | (Self::Sync { node, number, .. }, Self::Sync { node: other_node, number: other_number, .. }) => {
                (node, number) == (other_node, other_number)
            }
            (Self::Message { .. } | Self::Timer { .. } | Self::Sync { .. }, _) => false,
        }
    }

    /// Returns whether the direction loses or duplicates a message.
    pub const fn is_unreliable(&self) -> bool {
        matches!(self, Self::Message { fate: Fate::Lost | Fate::Duplicated(_), .. })
    }
}

impl FromStr for Direction {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        let (word, rest) = split_first_word(text);
        let subject = Subject::from_name(word).ok_or_else(|| SettingError::Unknown {
            word: word.into(),
            expected: "a direction",
            nearest: nearest(word, Subject::ALL.map(Subject::name)).map(String::from),
            known_words: list_directions(),
        })?;
        if split_words(rest).any(|(_, word)| TIMING_WORDS.iter().any(|time| time.eq_ignore_ascii_case(word))) {
            return Err(SettingError::Trailing {
                text: text.into(),
                after: "a direction, which has no time of its own",
            });
        }
        let mut reader = Reader { text, rest, form: subject.form() };
        let number = read_number(&mut reader)?;
        expect_word(&mut reader, "of", "'of'")?;
        match subject {
            Subject::Message => read_message(reader, number),
            Subject::Timer => {
                let (node, delay) = read_node_and_duration(reader)?;
                Ok(Self::Timer { node, number, delay })
            }
            Subject::Sync => {
                let (node, duration) = read_node_and_duration(reader)?;
                Ok(Self::Sync { node, number, duration })
            }
        }
    }
}

fn read_number(reader: &mut Reader<'_>) -> Result<u64, SettingError> {
    match reader.take_number("a number")? {
        0 => Err(SettingError::out_of_range("0", "numbers start at 1")),
        number => Ok(number),
    }
}

/// Takes `word`, or fails if it is not the next word. `quoted_word` names it in the error.
fn expect_word(reader: &mut Reader<'_>, word: &'static str, quoted_word: &'static str) -> Result<(), SettingError> {
    if reader.take_word(word) {
        return Ok(());
    }
    // The error for any other word suggests `word` if the two are similar.
    reader.expect_end(&[word])?;
    Err(reader.missing(quoted_word))
}

fn read_node_and_duration(mut reader: Reader<'_>) -> Result<(NodeId, Duration), SettingError> {
    let node = reader.take_node()?;
    expect_word(&mut reader, "takes", "'takes'")?;
    Ok((node, reader.parse_value::<Length>("a duration")?.0))
}

fn read_message(mut reader: Reader<'_>, number: u64) -> Result<Direction, SettingError> {
    let is_verb = |word: &str| VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word));
    let verb = split_words(reader.rest).find(|(_, word)| is_verb(word));
    let (link, rest) = verb.map_or((reader.rest, ""), |(start, _)| reader.rest.split_at(start));
    let (from, to) = read_link(&reader, link.trim())?;
    reader.rest = rest;
    let fate = if reader.take_word("takes") {
        Fate::Takes(reader.parse_value::<Length>("a duration")?.0)
    } else if reader.take_word("is") {
        expect_word(&mut reader, "lost", "'lost'")?;
        reader.expect_end(&[])?;
        Fate::Lost
    } else if reader.take_word("comes") {
        expect_word(&mut reader, "again", "'again'")?;
        expect_word(&mut reader, "after", "'after'")?;
        Fate::Duplicated(reader.parse_value::<Length>("a duration")?.0)
    } else {
        return Err(reader.missing("the fate of the message"));
    };
    Ok(Direction::Message { from, to, number, fate })
}

fn read_link(reader: &Reader<'_>, link: &str) -> Result<(NodeId, NodeId), SettingError> {
    let Some((from, to)) = link.split_once('>') else { return Err(reader.missing("a link, such as 1 > 2")) };
    // The only word allowed after the second node is a verb: any other is probably a misspelt verb.
    let (to, stray) = split_first_word(to);
    if !stray.is_empty() {
        return Err(reader.unexpected(split_first_word(stray).0, &VERBS));
    }
    let (from, to) = (read_node(from.trim())?, read_node(to)?);
    if from == to {
        return Err(SettingError::LinkToItself { text: link.into(), node: from });
    }
    Ok((from, to))
}

/// Returns a sentence that lists the first words of all directions.
pub(super) fn list_directions() -> String {
    format!("Directions are {}.", Subject::ALL.map(Subject::name).join(", "))
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { from, to, number, fate } => write!(f, "message {number} of {from} > {to} {fate}"),
            Self::Timer { node, number, delay } => write!(f, "timer {number} of {node} takes {}", Length(*delay)),
            Self::Sync { node, number, duration } => write!(f, "sync {number} of {node} takes {}", Length(*duration)),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Takes(length) => write!(f, "takes {}", Length(*length)),
            Self::Lost => f.write_str("is lost"),
            Self::Duplicated(length) => write!(f, "comes again after {}", Length(*length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::{Direction, Fate};
    use expect_test::expect;
    use quorate_core::{Duration, NodeId};

    fn node(number: u32) -> NodeId {
        NodeId::new(number).unwrap()
    }

    #[test]
    fn a_direction_reads_in_every_form() {
        let message = |fate| Direction::Message { from: node(1), to: node(2), number: 3, fate };
        let millis = Duration::from_millis;
        for (text, direction) in [
            ("message 3 of 1 > 2 takes 9ms", message(Fate::Takes(millis(9)))),
            (" MESSAGE 3  Of 1>2 is Lost ", message(Fate::Lost)),
            ("message 3 of 1 > 2 comes again after 12 ms", message(Fate::Duplicated(millis(12)))),
            ("timer 5 of 2 takes 153ms", Direction::Timer { node: node(2), number: 5, delay: millis(153) }),
            ("sync 2 of 1 takes 0ms", Direction::Sync { node: node(1), number: 2, duration: millis(0) }),
        ] {
            assert_eq!(text.parse(), Ok(direction), "{text}");
        }
    }

    #[test]
    fn mistakes_in_directions_are_explained() {
        let texts = [
            "mesage 3 of 1 > 2 is lost",
            "message",
            "message of 1 > 2 is lost",
            "message third of 1 > 2 is lost",
            "message 0 of 1 > 2 is lost",
            "message 3",
            "message 3 off 1 > 2 is lost",
            "message 3 of 1 is lost",
            "message 3 of 1 > 1 is lost",
            "message 3 of 1 > x is lost",
            "message 3 of 1 > 2",
            "message 3 of 1 > 2 lost",
            "message 3 of 1 > 2 is",
            "message 3 of 1 > 2 is late",
            "message 3 of 1 > 2 is lost again",
            "message 3 of 1 > 2 takes",
            "message 3 of 1 > 2 takes 9",
            "message 3 of 1 > 2 takes 9ms at 5ms",
            "message 3 of 1 > 2 comes after 9ms",
            "message 3 of 1 > 2 comes again 9ms",
            "timer 1 of 2 tkes 5ms",
            "timer 1 of 2",
            "timer 1 of 2 > 3 takes 5ms",
            "sync 1 of two takes 5ms",
        ];
        expect![[r#"
            'mesage' is not a direction; did you mean 'message'? Directions are message, timer, sync.
            'message' lacks a number; write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'of' is not a number; write for example 3.
            'third' is not a number; write for example 3.
            '0' is invalid: numbers start at 1.
            'message 3' lacks 'of'; write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'off' is unexpected in 'message 3 off 1 > 2 is lost'; did you mean 'of'? Write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'message 3 of 1 is lost' lacks a link, such as 1 > 2; write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            '1 > 1' is a link from node 1 to itself; name two different nodes.
            'x' is not a node number; write for example 2.
            'message 3 of 1 > 2' lacks the fate of the message; write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'lost' is unexpected in 'message 3 of 1 > 2 lost'. Write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'message 3 of 1 > 2 is' lacks 'lost'; write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'late' is unexpected in 'message 3 of 1 > 2 is late'. Write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'again' is unexpected in 'message 3 of 1 > 2 is lost again'. Write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'message 3 of 1 > 2 takes' lacks a duration; write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            '9' has no unit; add one, such as '9ms'. Units are ns, us, ms, s, m, h.
            'message 3 of 1 > 2 takes 9ms at 5ms': nothing may follow a direction, which has no time of its own.
            'after' is unexpected in 'message 3 of 1 > 2 comes after 9ms'. Write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            '9ms' is unexpected in 'message 3 of 1 > 2 comes again 9ms'. Write message NUMBER of NODE > NODE takes DURATION (or is lost, or comes again after DURATION).
            'tkes' is unexpected in 'timer 1 of 2 tkes 5ms'; did you mean 'takes'? Write timer NUMBER of NODE takes DURATION.
            'timer 1 of 2' lacks 'takes'; write timer NUMBER of NODE takes DURATION.
            '>' is unexpected in 'timer 1 of 2 > 3 takes 5ms'. Write timer NUMBER of NODE takes DURATION.
            'two' is not a node number; write for example 2.
        "#]].assert_eq(&texts.map(parse_and_describe::<Direction>).concat());
    }

    #[test]
    fn a_direction_may_only_name_nodes_that_exist() {
        let validate = |text: &str| text.parse::<Direction>().unwrap().validate(3);
        assert_eq!(validate("message 1 of 1 > 3 is lost"), Ok(()));
        for text in ["message 1 of 1 > 4 is lost", "message 1 of 4 > 1 is lost", "timer 9 of 4 takes 1ms"] {
            let mistake = validate(text).unwrap_err().to_string();
            assert_eq!(mistake, format!("'{text}' names node 4, but there are only nodes 1 to 3."));
        }
    }
}
