//! Checks a peer's message before raft sees it, because raft panics on some invalid messages.

use crate::engine::Engine;
use crate::message::{Message, SnapshotPiece};
use quorate_core::NodeId;

/// Maximum valid term and index, far above those of any real log.
const MAX_NUMBER: u64 = 1 << 60;

const INVALID_NUMBER: &str = "it has an invalid term or index";
const LOG_NOT_SAVED: &str = "the message could make this replica lead before the log is on its disk";

/// Why the message must be ignored; `None` if raft may receive it.
pub(crate) fn find_objection(engine: &Engine, me: NodeId, from: NodeId, message: &Message) -> Option<&'static str> {
    if from == me {
        return Some("it claims to come from this very replica");
    }
    let (term, highest_position) = term_and_highest_position(message);
    if term == Some(0) || term.is_some_and(|term| term > MAX_NUMBER) || highest_position > MAX_NUMBER {
        return Some(INVALID_NUMBER);
    }
    match message {
        Message::Append { term, log_term, index, entries, commit } => {
            let is_contiguous = (index + 1..).zip(entries).all(|(index, entry)| entry.index == index);
            let terms = std::iter::once(*log_term).chain(entries.iter().map(|entry| entry.term));
            if !is_contiguous || !terms.is_sorted_by(|earlier, later| earlier <= later) {
                Some("its entries are not consecutive")
            // The entries of every log follow the founding state at index 1, never index 0.
            } else if *index == 0
                || *log_term == 0
                || entries.iter().any(|entry| entry.term > *term)
                || *commit > MAX_NUMBER
            {
                Some(INVALID_NUMBER)
            } else {
                None
            }
        }
        // A replica without a log accepts any commit index: if it lost its disk, the leader still
        // relies on its earlier acknowledgements, and its reply corrects the leader.
        Message::Heartbeat { commit, .. } if *commit > engine.last_index() && engine.last_index() > 0 => {
            Some("it assumes entries that this replica does not have")
        }
        Message::AppendReply { index, rejection_hint: None, .. } if *index > engine.last_index() => {
            Some("it acknowledges entries that were never sent")
        }
        Message::Piece(SnapshotPiece { snapshot, members, snapshot_bytes, offset_bytes, bytes }) => {
            let end = offset_bytes.checked_add(bytes.len() as u64);
            let has_invalid_term = snapshot.log_term == 0 || snapshot.log_term > snapshot.term;
            if has_invalid_term || snapshot.index == 0 || !members.is_valid() {
                Some("its snapshot has an invalid term, index or configuration")
            } else if bytes.is_empty() || end.is_none_or(|end| end > *snapshot_bytes) {
                Some("its piece lies outside the snapshot")
            } else {
                None
            }
        }
        // Raft assumes that a candidate's log is on its disk. An honest voter replies only to a
        // vote request, which waited for that disk.
        Message::VoteReply { .. } if engine.is_candidate() && !engine.has_log_on_disk() => Some(LOG_NOT_SAVED),
        Message::TimeoutNow { .. } if !engine.has_log_on_disk() => Some(LOG_NOT_SAVED),
        Message::Vote { .. }
        | Message::VoteReply { .. }
        | Message::AppendReply { .. }
        | Message::Heartbeat { .. }
        | Message::HeartbeatReply { .. }
        | Message::TimeoutNow { .. }
        | Message::ReadIndex { .. }
        | Message::ReadIndexReply { .. }
        | Message::AdmissionRequest { .. }
        | Message::Report(_)
        | Message::ReportRequest
        | Message::NotMember { .. }
        | Message::Forward(_)
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
        Message::AppendReply { term, index, commit, rejection_hint } => {
            (Some(*term), (*index).max(*commit).max(rejection_hint.map_or(0, |hint| hint.index)))
        }
        Message::Heartbeat { term, commit, .. } | Message::HeartbeatReply { term, commit, .. } => {
            (Some(*term), *commit)
        }
        Message::TimeoutNow { term } => (Some(*term), 0),
        Message::ReadIndex { .. }
        | Message::AdmissionRequest { .. }
        | Message::Report(_)
        | Message::ReportRequest
        | Message::NotMember { .. }
        | Message::Forward(_) => (None, 0),
        Message::ReadIndexReply { term, index, .. } => (Some(*term), *index),
        Message::Piece(piece) => (Some(piece.snapshot.term), piece.snapshot.index.max(piece.snapshot.log_term)),
        Message::PieceReply { snapshot, .. } => (Some(snapshot.term), snapshot.index),
    }
}
