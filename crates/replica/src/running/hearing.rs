//! What peers send, and what of it gets no answer.

use super::{Out, Running};
use crate::guard;
use crate::machine::StateMachine;
use crate::message::{Hint, Message};
use quorate_core::{NodeId, Time};

impl<S: StateMachine> Running<S> {
    pub(crate) fn hear(&mut self, now: Time, from: NodeId, message: Message, out: &mut Out<'_, S>) {
        if let Some(objection) = guard::objection(&self.engine, self.me, from, &message) {
            return out.note("RP-2", format_args!("ignores what {from} sent: {objection}"));
        }
        if let Some(reason) = self.reason_for_silence(now, &message) {
            return out.note("RP-10", format_args!("does not answer {from}: {reason}"));
        }
        match message {
            Message::Piece(piece) => {
                let snapshot = piece.snapshot;
                if snapshot.term < self.role.term {
                    return;
                }
                let (held, whole) = self.receiving.take(from, piece);
                out.send(from, Message::PieceReply { snapshot, held });
                if let Some(checkpoint) = whole {
                    self.receive(now, from, snapshot.term, checkpoint, out);
                }
            }
            Message::PieceReply { snapshot, held } => {
                let progress = self.sending.get_mut(&from).map(|sending| sending.acknowledged(snapshot, held));
                self.proceed(from, progress, out);
            }
            // RP-10. One that waits to be let in says that it is there, and vouches for nobody's leadership.
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
            // Who holds nothing at all lost what it once acknowledged.
            Message::AppendReply { term, rejected: Some(Hint { index: 0, .. }), .. }
            | Message::HeartbeatReply { term, commit: 0, .. }
                if term == self.role.term =>
            {
                self.engine.begin_anew(from);
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

    /// Why a message gets no answer: a vote would break a promise, or this replica is in no condition to take part.
    pub(super) fn reason_for_silence(&self, now: Time, message: &Message) -> Option<&'static str> {
        let takes = matches!(message, Message::Append { .. } | Message::Heartbeat { .. } | Message::Piece(_));
        match message {
            _ if self.is_joining() && !takes => Some("it waits to be let in"),
            Message::Vote { forced: false, .. } if now < self.promised_until => Some("it heard from a leader just now"),
            Message::Append { entries, .. } if self.is_full && !entries.is_empty() => Some("its disk is full"),
            Message::Piece(_) | Message::TimeoutNow { .. } if self.is_full => Some("its disk is full"),
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

    /// RP-6. A leader may rely on it that nobody else is elected for a while.
    pub(super) fn promise(&mut self, now: Time) {
        self.promised_until = self.promised_until.max(now + self.settings.promise());
    }
}
