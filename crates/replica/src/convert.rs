//! Conversions between raft's types and those of this crate.

use crate::members::{Configuration, node_of_raft_id, raft_id};
use crate::message::{Entry, EntryBody, LastCommit, Message, RejectionHint, Round};
use bytes::Bytes;
use quorate_core::{Incarnation, NodeId};
use raft::eraftpb::{Entry as RaftEntry, EntryType, Message as RaftMessage, MessageType, Snapshot};

/// The context by which raft marks a vote request after a leadership transfer.
const FORCED_VOTE_CONTEXT: &[u8] = b"CampaignTransfer";

impl Entry {
    pub(crate) fn from_raft(entry: &RaftEntry) -> Self {
        let body = match entry.entry_type {
            EntryType::EntryNormal if entry.data.is_empty() => EntryBody::Blank,
            EntryType::EntryNormal => EntryBody::Batch(entry.data.clone()),
            // Raft itself appends the entry that leaves a joint configuration, without a context.
            EntryType::EntryConfChange | EntryType::EntryConfChangeV2 if entry.context.is_empty() => EntryBody::Leave,
            EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => EntryBody::Change(entry.context.clone()),
        };
        Self { index: entry.index, term: entry.term, body }
    }

    /// Raft decodes a change of members only where it is proposed, so the entry carries this
    /// crate's encoding as its context, and no data.
    pub(crate) fn to_raft(&self) -> RaftEntry {
        let (entry_type, data, context) = match &self.body {
            EntryBody::Blank => (EntryType::EntryNormal, Bytes::new(), Bytes::new()),
            EntryBody::Batch(bytes) => (EntryType::EntryNormal, bytes.clone(), Bytes::new()),
            EntryBody::Change(bytes) => (EntryType::EntryConfChangeV2, Bytes::new(), bytes.clone()),
            EntryBody::Leave => (EntryType::EntryConfChangeV2, Bytes::new(), Bytes::new()),
        };
        RaftEntry { index: self.index, term: self.term, entry_type, data, context, ..RaftEntry::default() }
    }
}

impl Round {
    /// Four bytes of node number, eight of incarnation and eight of round number.
    const ENCODED_BYTES: usize = 20;

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::ENCODED_BYTES);
        bytes.extend(self.node.number().to_be_bytes());
        bytes.extend(self.incarnation.0.to_be_bytes());
        bytes.extend(self.number.to_be_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (node, rest) = bytes.split_first_chunk::<4>()?;
        let (incarnation, rest) = rest.split_first_chunk::<8>()?;
        let (number, []) = rest.split_first_chunk::<8>()? else { return None };
        Some(Self {
            node: NodeId::new(u32::from_be_bytes(*node))?,
            incarnation: Incarnation(u64::from_be_bytes(*incarnation)),
            number: u64::from_be_bytes(*number),
        })
    }
}

/// Converts a message that raft sends, and returns it with its receiver. `None` for snapshots,
/// which are sent in pieces, for kinds that are never sent, and for an invalid receiver or round.
pub(crate) fn from_raft_message(message: &RaftMessage) -> Option<(NodeId, Message)> {
    let RaftMessage { term, log_term, index, commit, commit_term, .. } = *message;
    let kind = message.msg_type;
    let converted = match kind {
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => Message::Vote {
            term,
            is_pre_vote: kind == MessageType::MsgRequestPreVote,
            is_forced: &message.context[..] == FORCED_VOTE_CONTEXT,
            log_term,
            index,
            commit: LastCommit { index: commit, term: commit_term },
        },
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => Message::VoteReply {
            term,
            is_pre_vote: kind == MessageType::MsgRequestPreVoteResponse,
            is_granted: !message.reject,
            commit: LastCommit { index: commit, term: commit_term },
        },
        MessageType::MsgAppend => Message::Append {
            term,
            log_term,
            index,
            entries: message.entries.iter().map(Entry::from_raft).collect(),
            commit,
        },
        MessageType::MsgAppendResponse => {
            let hint = RejectionHint { index: message.reject_hint, log_term };
            Message::AppendReply { term, index, commit, rejection_hint: message.reject.then_some(hint) }
        }
        MessageType::MsgHeartbeat => Message::Heartbeat { term, commit, round: Round::from_bytes(&message.context) },
        MessageType::MsgHeartbeatResponse => {
            Message::HeartbeatReply { term, commit, round: Round::from_bytes(&message.context) }
        }
        MessageType::MsgTimeoutNow => Message::TimeoutNow { term },
        MessageType::MsgReadIndex => Message::ReadIndex { round: round_of(message)? },
        MessageType::MsgReadIndexResp => Message::ReadIndexReply { term, index, round: round_of(message)? },
        MessageType::MsgSnapshot
        | MessageType::MsgHup
        | MessageType::MsgBeat
        | MessageType::MsgPropose
        | MessageType::MsgUnreachable
        | MessageType::MsgSnapStatus
        | MessageType::MsgCheckQuorum
        | MessageType::MsgTransferLeader => return None,
    };
    Some((node_of_raft_id(message.to)?, converted))
}

/// The round of queries that a message is about.
fn round_of(message: &RaftMessage) -> Option<Round> {
    message.entries.first().and_then(|entry| Round::from_bytes(&entry.data))
}

/// Converts a message from a peer to one for raft. `None` for pieces of snapshots and other
/// messages that raft does not handle.
pub(crate) fn to_raft_message(me: NodeId, from: NodeId, message: Message) -> Option<RaftMessage> {
    let mut raft = RaftMessage { from: raft_id(from), to: raft_id(me), ..RaftMessage::default() };
    match message {
        Message::Vote { term, is_pre_vote, is_forced, log_term, index, commit } => {
            raft.set_msg_type(if is_pre_vote { MessageType::MsgRequestPreVote } else { MessageType::MsgRequestVote });
            (raft.term, raft.log_term, raft.index) = (term, log_term, index);
            (raft.commit, raft.commit_term) = (commit.index, commit.term);
            if is_forced {
                raft.context = Bytes::from_static(FORCED_VOTE_CONTEXT);
            }
        }
        Message::VoteReply { term, is_pre_vote, is_granted, commit } => {
            let kind =
                if is_pre_vote { MessageType::MsgRequestPreVoteResponse } else { MessageType::MsgRequestVoteResponse };
            raft.set_msg_type(kind);
            (raft.term, raft.reject) = (term, !is_granted);
            (raft.commit, raft.commit_term) = (commit.index, commit.term);
        }
        Message::Append { term, log_term, index, entries, commit } => {
            raft.set_msg_type(MessageType::MsgAppend);
            (raft.term, raft.log_term, raft.index, raft.commit) = (term, log_term, index, commit);
            raft.entries = entries.iter().map(Entry::to_raft).collect::<Vec<_>>().into();
        }
        Message::AppendReply { term, index, commit, rejection_hint } => {
            raft.set_msg_type(MessageType::MsgAppendResponse);
            (raft.term, raft.index, raft.commit) = (term, index, commit);
            if let Some(hint) = rejection_hint {
                (raft.reject, raft.reject_hint, raft.log_term) = (true, hint.index, hint.log_term);
            }
        }
        Message::Heartbeat { term, commit, round } => {
            raft.set_msg_type(MessageType::MsgHeartbeat);
            (raft.term, raft.commit, raft.context) = (term, commit, round_context(round));
        }
        Message::HeartbeatReply { term, commit, round } => {
            raft.set_msg_type(MessageType::MsgHeartbeatResponse);
            (raft.term, raft.commit, raft.context) = (term, commit, round_context(round));
        }
        Message::TimeoutNow { term } => {
            raft.set_msg_type(MessageType::MsgTimeoutNow);
            raft.term = term;
        }
        Message::ReadIndex { round } => {
            raft.set_msg_type(MessageType::MsgReadIndex);
            raft.entries = vec![round_entry(round)].into();
        }
        Message::ReadIndexReply { term, index, round } => {
            raft.set_msg_type(MessageType::MsgReadIndexResp);
            (raft.term, raft.index) = (term, index);
            raft.entries = vec![round_entry(round)].into();
        }
        Message::AdmissionRequest { .. }
        | Message::Report(_)
        | Message::ReportRequest
        | Message::NotMember { .. }
        | Message::Forward(_)
        | Message::Piece(_)
        | Message::PieceReply { .. } => return None,
    }
    Some(raft)
}

fn round_context(round: Option<Round>) -> Bytes {
    round.map(|round| Bytes::from(round.to_bytes())).unwrap_or_default()
}

fn round_entry(round: Round) -> RaftEntry {
    RaftEntry { data: round.to_bytes().into(), ..RaftEntry::default() }
}

pub(crate) fn build_snapshot(index: u64, term: u64, members: &Configuration, data: Bytes) -> Snapshot {
    let mut snapshot = Snapshot { data, ..Snapshot::default() };
    let metadata = snapshot.mut_metadata();
    (metadata.index, metadata.term) = (index, term);
    metadata.set_conf_state(members.to_raft());
    snapshot
}

#[cfg(test)]
mod tests {
    use super::{from_raft_message, to_raft_message};
    use crate::message::{Entry, EntryBody, LastCommit, Message, RejectionHint, Round};
    use bytes::Bytes;
    use quorate_core::{Incarnation, NodeId};

    #[test]
    fn messages_survive_the_conversion_to_raft_and_back() {
        let [one, two] = [1, 2].map(|number| NodeId::new(number).unwrap());
        let round = Round { node: two, incarnation: Incarnation(3), number: 9 };
        let commit = LastCommit { index: 4, term: 2 };
        let bodies = [
            EntryBody::Blank,
            EntryBody::Batch(Bytes::from_static(b"b")),
            EntryBody::Change(Bytes::from_static(b"c")),
            EntryBody::Leave,
        ];
        let entries = (5..).zip(bodies).map(|(index, body)| Entry { index, term: 2, body }).collect();
        let messages = [
            Message::Vote { term: 3, is_pre_vote: true, is_forced: false, log_term: 2, index: 8, commit },
            Message::Vote { term: 3, is_pre_vote: false, is_forced: true, log_term: 2, index: 8, commit },
            Message::VoteReply { term: 3, is_pre_vote: true, is_granted: false, commit },
            Message::VoteReply { term: 3, is_pre_vote: false, is_granted: true, commit },
            Message::Append { term: 3, log_term: 2, index: 4, entries, commit: 4 },
            Message::AppendReply { term: 3, index: 8, commit: 4, rejection_hint: None },
            Message::AppendReply {
                term: 3,
                index: 8,
                commit: 4,
                rejection_hint: Some(RejectionHint { index: 6, log_term: 1 }),
            },
            Message::Heartbeat { term: 3, commit: 4, round: None },
            Message::Heartbeat { term: 3, commit: 4, round: Some(round) },
            Message::HeartbeatReply { term: 3, commit: 4, round: Some(round) },
            Message::TimeoutNow { term: 3 },
            Message::ReadIndex { round },
            Message::ReadIndexReply { term: 3, index: 4, round },
        ];
        for message in messages {
            let raft = to_raft_message(one, two, message.clone()).unwrap();
            assert_eq!(from_raft_message(&raft), Some((one, message)));
        }
    }
}
