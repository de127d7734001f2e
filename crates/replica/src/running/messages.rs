//! Messages from peers, and the reasons not to answer them.

use super::{Out, Running};
use crate::guard;
use crate::machine::StateMachine;
use crate::message::{Hint, Message};
use quorate_core::{NodeId, Time};

impl<S: StateMachine> Running<S> {
    pub(crate) fn receive(&mut self, now: Time, from: NodeId, message: Message, out: &mut Out<'_, S>) {
        if let Some(objection) = guard::objection(&self.engine, self.me, from, &message) {
            return out.note("RP-2", format_args!("ignores what {from} sent: {objection}"));
        }
        if let Some(reason) = self.reason_to_ignore(now, &message) {
            return out.note("RP-10", format_args!("does not answer {from}: {reason}"));
        }
        match message {
            Message::Piece(piece) => {
                let snapshot = piece.snapshot;
                if snapshot.term < self.role.term {
                    return;
                }
                let (held, complete) = self.receiving.add(from, piece);
                out.send(from, Message::PieceReply { snapshot, held });
                if let Some(checkpoint) = complete {
                    self.receive_snapshot(now, from, snapshot.term, checkpoint, out);
                }
            }
            Message::PieceReply { snapshot, held } => {
                let progress =
                    self.sending.get_mut(&from).map(|sending| sending.handle_acknowledgement(snapshot, held));
                self.proceed(from, progress, out);
            }
            // RP-10. A replica that waits for its admission answers, but does not confirm the
            // leader's round.
            Message::Heartbeat { term, .. } if self.is_joining() => {
                self.engine.step(from, Message::Heartbeat { term, commit: 0, round: None });
                if let Some(born) = self.born {
                    out.send(from, Message::Knock { born });
                }
            }
            Message::Knock { born } => self.admit(now, from, born, out),
            Message::Append { term, .. } | Message::Heartbeat { term, .. } => {
                if term >= self.role.term {
                    self.promise(now);
                }
                self.engine.step(from, message);
            }
            // A peer without any log has lost the entries that it acknowledged before.
            Message::AppendReply { term, rejected: Some(Hint { index: 0, .. }), .. }
            | Message::HeartbeatReply { term, commit: 0, .. }
                if term == self.role.term =>
            {
                self.engine.reset_progress(from);
                self.engine.step(from, message);
            }
            Message::Vote { .. }
            | Message::VoteReply { .. }
            | Message::AppendReply { .. }
            | Message::HeartbeatReply { .. }
            | Message::TimeoutNow { .. }
            | Message::ReadIndex { .. }
            | Message::ReadIndexReply { .. } => self.engine.step(from, message),
        }
    }

    /// Why a message gets no answer: a vote would break a promise, or this replica cannot take
    /// part.
    pub(super) fn reason_to_ignore(&self, now: Time, message: &Message) -> Option<&'static str> {
        let is_from_leader = matches!(message, Message::Append { .. } | Message::Heartbeat { .. } | Message::Piece(_));
        match message {
            _ if self.is_joining() && !is_from_leader => Some("it waits to be admitted"),
            Message::Vote { forced: false, .. } if now < self.promised_until => Some("it heard from a leader just now"),
            Message::Append { entries, .. } if self.is_disk_full && !entries.is_empty() => Some("its disk is full"),
            Message::Piece(_) | Message::TimeoutNow { .. } if self.is_disk_full => Some("its disk is full"),
            Message::Vote { .. }
            | Message::VoteReply { .. }
            | Message::Append { .. }
            | Message::AppendReply { .. }
            | Message::Heartbeat { .. }
            | Message::HeartbeatReply { .. }
            | Message::TimeoutNow { .. }
            | Message::ReadIndex { .. }
            | Message::ReadIndexReply { .. }
            | Message::Knock { .. }
            | Message::Piece(_)
            | Message::PieceReply { .. } => None,
        }
    }

    /// RP-6. Promises the leader not to vote for another candidate for some time.
    pub(super) fn promise(&mut self, now: Time) {
        self.promised_until = self.promised_until.max(now + self.settings.promise());
    }
}
