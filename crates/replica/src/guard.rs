//! Checks a peer's message before raft sees it, because raft panics on some invalid messages.

use crate::engine::Engine;
use crate::message::{Message, Piece};
use quorate_core::NodeId;

/// Maximum valid term and index. No log grows that long.
const MAX_NUMBER: u64 = 1 << 60;

const TOO_SOON: &str = "it would have this replica lead before its log is on the disk";

/// Why the message must be ignored; `None` if raft may have it.
pub(crate) fn objection(engine: &Engine, me: NodeId, from: NodeId, message: &Message) -> Option<&'static str> {
    if from == me {
        return Some("it claims to come from this very replica");
    }
    let (term, highest_position) = term_and_highest_position(message);
    if term == Some(0) || term.is_some_and(|term| term > MAX_NUMBER) || highest_position > MAX_NUMBER {
        return Some("its numbers make no sense");
    }
    match message {
        Message::Append { term, log_term, index, entries, commit } => {
            let contiguous = (index + 1..).zip(entries).all(|(index, entry)| entry.index == index);
            let terms = std::iter::once(*log_term).chain(entries.iter().map(|entry| entry.term));
            if *index == 0 || !contiguous || !terms.is_sorted_by(|earlier, later| earlier <= later) {
                Some("its entries do not follow on each other")
            } else if *log_term == 0 || entries.iter().any(|entry| entry.term > *term) || *commit > MAX_NUMBER {
                Some("its numbers make no sense")
            } else {
                None
            }
        }
        // A replica without a log may receive this from a leader that remembers what it
        // acknowledged before it lost its disk. Its reply corrects the leader.
        Message::Heartbeat { commit, .. } if *commit > engine.last_index() && engine.last_index() > 0 => {
            Some("it takes this replica to hold entries that it does not hold")
        }
        Message::AppendReply { index, rejected: None, .. } if *index > engine.last_index() => {
            Some("it acknowledges entries that were never sent")
        }
        Message::Piece(Piece { snapshot, members, length, offset, bytes }) => {
            let end = offset.checked_add(bytes.len() as u64);
            let has_odd_term = snapshot.log_term == 0 || snapshot.log_term > snapshot.term;
            if has_odd_term || snapshot.index == 0 || !members.is_valid() {
                Some("its snapshot makes no sense")
            } else if bytes.is_empty() || end.is_none_or(|end| end > *length) {
                Some("its piece lies outside the snapshot")
            } else {
                None
            }
        }
        // Raft assumes that a candidate's log is on its disk. For an honest reply it is, because
        // the vote request waited for the disk.
        Message::VoteReply { .. } if engine.is_candidate() && !engine.has_log_on_disk() => Some(TOO_SOON),
        Message::TimeoutNow { .. } if !engine.has_log_on_disk() => Some(TOO_SOON),
        Message::Vote { .. }
        | Message::VoteReply { .. }
        | Message::AppendReply { .. }
        | Message::Heartbeat { .. }
        | Message::HeartbeatReply { .. }
        | Message::TimeoutNow { .. }
        | Message::ReadIndex { .. }
        | Message::ReadIndexReply { .. }
        | Message::Knock { .. }
        | Message::PieceReply { .. } => None,
    }
}

/// The term of a message, if it has one, and the highest index or log term that raft would use
/// without a check.
fn term_and_highest_position(message: &Message) -> (Option<u64>, u64) {
    match message {
        Message::Vote { term, index, log_term, commit, .. } => (Some(*term), (*index).max(*log_term).max(commit.index)),
        Message::VoteReply { term, commit, .. } => (Some(*term), commit.index),
        Message::Append { term, index, .. } => (Some(*term), *index),
        Message::AppendReply { term, index, commit, rejected } => {
            (Some(*term), (*index).max(*commit).max(rejected.map_or(0, |hint| hint.index)))
        }
        Message::Heartbeat { term, commit, .. } | Message::HeartbeatReply { term, commit, .. } => {
            (Some(*term), *commit)
        }
        Message::TimeoutNow { term } => (Some(*term), 0),
        Message::ReadIndex { .. } | Message::Knock { .. } => (None, 0),
        Message::ReadIndexReply { term, index, .. } => (Some(*term), *index),
        Message::Piece(piece) => (Some(piece.snapshot.term), piece.snapshot.index.max(piece.snapshot.log_term)),
        Message::PieceReply { snapshot, .. } => (Some(snapshot.term), snapshot.index),
    }
}
