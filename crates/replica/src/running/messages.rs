//! Messages from peers, and the reasons to ignore them. The rules (`RP-…`) are at the head of
//! `replica.rs`.

use super::{Out, RunningReplica};
use crate::guard;
use crate::machine::StateMachine;
use crate::message::{Message, RejectionHint};
use quorate_core::{NodeId, Time};

const DISK_FULL: (&str, &str) = ("RP-11", "its disk is full");

impl<S: StateMachine> RunningReplica<S> {
    /// Handles a message from a peer, or ignores it with a note.
    pub(crate) fn receive(&mut self, now: Time, from: NodeId, message: Message, out: &mut Out<'_, S>) {
        if let Some(objection) = guard::find_objection(&self.engine, self.me, from, &message) {
            return out.note("RP-2", format_args!("ignores a message from {from}: {objection}"));
        }
        if !self.is_joining() && !self.engine.configuration().contains(from) {
            match message {
                Message::Forward(_) | Message::ReadIndex { .. } => return self.dismiss(from, out),
                // It may be a new member, which this replica does not know yet.
                Message::Vote { .. } => self.dismiss(from, out),
                _ => {}
            }
        }
        if let Some((rule, reason)) = self.reason_to_ignore(now, &message) {
            return out.note(rule, format_args!("does not answer {from}: {reason}"));
        }
        if self.is_late_message(now, from) {
            return out.note("RP-13", format_args!("ignores a late message from {from}, which seems to have crashed"));
        }
        match message {
            Message::Piece(piece) => {
                let snapshot = piece.snapshot;
                // This is the term of the leader that sends the snapshot.
                if snapshot.term < self.role.term {
                    return;
                }
                let (held_bytes, complete) = self.snapshot_receiver.add(from, piece);
                out.send(from, Message::PieceReply { snapshot, held_bytes });
                if let Some(checkpoint) = complete {
                    self.receive_snapshot(now, from, snapshot.term, checkpoint, out);
                }
            }
            Message::PieceReply { snapshot, held_bytes } => {
                let progress = self
                    .snapshot_senders
                    .get_mut(&from)
                    .map(|sender| sender.handle_acknowledgement(snapshot, held_bytes));
                self.continue_sending(from, progress, out);
            }
            // RP-10. A replica that waits for its admission answers, but does not confirm the
            // leader's round of heartbeats, by which the leader would answer queries.
            Message::Heartbeat { term, .. } if self.is_joining() => {
                self.engine.step(from, Message::Heartbeat { term, commit: 0, round: None });
                if let Some(incarnation) = self.joining_incarnation {
                    out.send(from, Message::AdmissionRequest { incarnation, level: self.known_level() });
                }
            }
            Message::AdmissionRequest { incarnation, level } => {
                self.propose_admission(now, from, (incarnation, level), out);
            }
            Message::Report(record) => self.receive_report(now, from, record, out),
            Message::NotMember { index } => {
                if index > self.position.index {
                    self.end_membership(out);
                }
            }
            Message::ReportRequest => out.send_ahead(from, Message::Report(self.own_record())),
            Message::Forward(bytes) => self.receive_forwarded(from, &bytes, out),
            Message::Append { term, .. } | Message::Heartbeat { term, .. } => {
                if term >= self.role.term {
                    self.follow(now, out);
                }
                self.engine.step(from, message);
            }
            // Index or commit 0: the peer has no log, so it lost all entries that it acknowledged.
            Message::AppendReply { term, rejection_hint: Some(RejectionHint { index: 0, .. }), .. }
            | Message::HeartbeatReply { term, commit: 0, .. }
                if term == self.role.term =>
            {
                self.engine.reset_progress(from);
                self.engine.step(from, message);
            }
            Message::ReadIndex { round } => {
                self.follower_rounds.insert(from, round);
            }
            Message::Vote { .. }
            | Message::VoteReply { .. }
            | Message::AppendReply { .. }
            | Message::HeartbeatReply { .. }
            | Message::TimeoutNow { .. }
            | Message::ReadIndexReply { .. } => self.engine.step(from, message),
        }
    }

    /// The rule by which a valid message is ignored, and why: a vote would break a promise, this
    /// replica is not admitted, or its disk is full. `None` if it is not ignored. A forced vote
    /// breaks no promise, because the leader itself transfers its leadership to that candidate.
    pub(super) fn reason_to_ignore(&self, now: Time, message: &Message) -> Option<(&'static str, &'static str)> {
        let is_from_leader = matches!(message, Message::Append { .. } | Message::Heartbeat { .. } | Message::Piece(_));
        match message {
            _ if self.is_joining() && !is_from_leader => Some(("RP-10", "it waits to be admitted")),
            Message::Vote { is_forced: false, .. } if now < self.promised_until => {
                Some(("RP-19", "it may have promised a leader not to vote for others"))
            }
            Message::Append { entries, .. } if self.is_disk_full && !entries.is_empty() => Some(DISK_FULL),
            Message::Piece(_) | Message::TimeoutNow { .. } if self.is_disk_full => Some(DISK_FULL),
            Message::Vote { .. }
            | Message::VoteReply { .. }
            | Message::Append { .. }
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
            | Message::Piece(_)
            | Message::PieceReply { .. } => None,
        }
    }
}
