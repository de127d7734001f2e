//! Replays a journal: every node takes the recorded inputs again and must produce the recorded
//! effects.
//!
//! The replay works for the journals of all drivers, and needs neither a seed nor a network.

use crate::Recordable;
use crate::moment::{Moment, Observer};
use crate::record::{Journal, JournalError, Writer};
use crate::replay_nodes::ReplayNodes;
use quorate_core::{NodeId, WriteOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::BufRead;

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(
        "line {line} does not replay: the nodes produce different effects, because the algorithm has changed or the \
         journal was altered.\n  recorded: {recorded}\n  replayed: {replayed}"
    )]
    DifferentEffects { line: u64, recorded: String, replayed: String },
    #[error("line {line} cannot be replayed: {reason}.")]
    ImpossibleLine { line: u64, reason: String },
}

/// Replays every line and shows each one to `observer`. Returns the number of lines.
///
/// Fails at the first line that is malformed, impossible in the state before it, or different from
/// the replayed one. The texts of rules are not compared, and a kind of message may have an
/// earlier name, so that journals of earlier releases replay.
pub fn replay<P, R, O>(
    journal: &mut Journal<R>,
    make_node: impl Fn(NodeId) -> P,
    observer: &mut O,
) -> Result<u64, ReplayError>
where
    P: Recordable<Command: Clone + DeserializeOwned, Event: DeserializeOwned>,
    WriteOf<P>: Serialize,
    R: BufRead,
    O: Observer<P::Command, P::Event>,
{
    let writer = Writer::new(Vec::new(), journal.header());
    let nodes = ReplayNodes::new(journal.header().nodes, make_node, writer);
    let mut replayer = Replayer { nodes, rejection: None };
    loop {
        replayer.nodes.observer_mut().out_mut().clear();
        if !journal.show(&mut Both { first: &mut replayer, second: observer })? {
            return Ok(journal.line());
        }
        if let Some(reason) = replayer.rejection.take() {
            return Err(ReplayError::ImpossibleLine { line: journal.line(), reason });
        }
        let writer = replayer.nodes.observer_mut();
        writer.close();
        let replayed = writer.out_mut().strip_suffix(b"\n").unwrap_or_default();
        let is_equal = |line: &str| line == journal.text() || normalized(line) == normalized(journal.text());
        if !str::from_utf8(replayed).is_ok_and(is_equal) {
            return Err(ReplayError::DifferentEffects {
                line: journal.line(),
                recorded: journal.text().to_owned(),
                replayed: String::from_utf8_lossy(replayed).into_owned(),
            });
        }
    }
}

/// Passes each moment to two borrowed observers, the first one first.
struct Both<'a, A, B> {
    first: &'a mut A,
    second: &'a mut B,
}

impl<C, E, A: Observer<C, E>, B: Observer<C, E>> Observer<C, E> for Both<'_, A, B> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.first.observe(moment);
        self.second.observe(moment);
    }
}

const RULE: (&str, &str) = (r#"{"rule":{"id":""#, r#"","text":""#);

/// The objects of a line that contain the text of a rule or the kind of a message, and what
/// precedes that text or kind.
const NAMED_OBJECTS: [(&str, &str); 4] = [
    RULE,
    (r#"{"message":{"id":""#, r#","kind":""#),
    (r#"{"send":{"id":""#, r#","kind":""#),
    (r#"{"multicast":{"id":""#, r#","kind":""#),
];

/// Kinds of messages that earlier releases named otherwise: the present names first.
const RENAMED_KINDS: [&[&str]; 15] = [
    &["abort", "doom"],
    &["aborted", "yielded"],
    &["acknowledgement", "held", "received"],
    &["admission-request", "knock"],
    &["check-again", "again"],
    &["confirm", "here"],
    &["data", "letter"],
    &["dependency-released", "eased"],
    &["position", "place"],
    &["release", "let-go"],
    &["round-ended", "over"],
    &["state-loaded", "loaded"],
    &["state-piece", "piece"],
    &["state-request", "membership-request", "ask"],
    &["unblocked", "runs"],
];

/// Returns one name for all names that a kind of message has had.
fn normalized_kind(kind: &str) -> &str {
    RENAMED_KINDS.iter().find(|names| names.contains(&kind)).map_or(kind, |names| names[0])
}

/// Returns a line of a journal without the texts of its rules, and with normalized kinds of
/// messages, because a later release may word and name them otherwise.
///
/// Quotation marks inside a JSON string are escaped, so the searched bytes occur only in objects.
fn normalized(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((index, named)) = NAMED_OBJECTS.iter().filter_map(|named| Some((rest.find(named.0)?, *named))).min()
        && let Some(start) = rest[index..].find(named.1).map(|offset| index + offset + named.1.len())
    {
        // The text or kind begins at `start` and ends before the next quotation mark.
        let mut is_escaped = false;
        let length = rest[start..].find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        let end = length.map_or(rest.len(), |length| start + length);
        result += &rest[..start];
        if named != RULE {
            result += normalized_kind(&rest[start..end]);
        }
        rest = &rest[end..];
    }
    result + rest
}

/// Gives the recorded inputs and world events to the nodes.
struct Replayer<P: Recordable, M> {
    nodes: ReplayNodes<P, M, Writer<Vec<u8>>>,
    /// Why the nodes could not take an input or a world event of the current line.
    rejection: Option<String>,
}

impl<P, M> Observer<P::Command, P::Event> for Replayer<P, M>
where
    P: Recordable<Command: Clone>,
    WriteOf<P>: Serialize,
    M: Fn(NodeId) -> P,
{
    fn observe(&mut self, moment: &Moment<'_, P::Command, P::Event>) {
        let result = match moment {
            Moment::Input { time, now, node, input } => self.nodes.give_input(*time, *now, *node, input),
            // `replay` compares the recorded effects with the replayed ones, line by line.
            Moment::Effect { .. } => Ok(()),
            Moment::World { time, event } => self.nodes.apply_world_event(*time, event),
        };
        if let Err(reason) = result {
            self.rejection.get_or_insert(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::normalized;

    #[test]
    fn texts_of_rules_and_former_kinds_of_messages_do_not_differ() {
        let step = |id: &str, text: &str, kind: &str, body: &str| {
            format!(
                r#"{{"input":{{"message":{{"id":"1.1","kind":"{kind}"}}}},"effects":[{{"rule":{{"id":"{id}","text":"{text}"}}}},{{"send":{{"id":"2.1","to":1,"kind":"{kind}","body":{body}}}}}]}}"#
            )
        };
        let line = step("RA-2", "replies", "data", r#"{"kind":1}"#);
        for text in ["", r#"says \"yes\""#, r"ends with \\", r#"\"}},{\"rule\":{\"id\":\""#] {
            let other = step("RA-2", text, "letter", r#"{"kind":1}"#);
            assert_eq!(normalized(&other), normalized(&line), "{text}");
        }
        let others = [
            step("RA-3", "replies", "data", r#"{"kind":1}"#),
            step("RA-2", "replies", "position", r#"{"kind":1}"#),
            step("RA-2", "replies", r#"\"data"#, r#"{"kind":1}"#),
            step("RA-2", "replies", "data", r#"{"kind":2}"#),
            line.replace("2.1", "2.2"),
            line.replace(':', ": "),
        ];
        for other in others {
            assert_ne!(normalized(&other), normalized(&line), "{other}");
        }
        let without_names = r#"{"world":{"changed":"x"}}"#;
        assert_eq!(normalized(without_names), without_names);
    }
}
