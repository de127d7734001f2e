//! Sessions that are attached to this replica, and their outcomes. The rules (`RP-…`) are at the
//! head of `replica.rs`.

use super::{Out, Question, RunningReplica};
use crate::command::{Event, Refusal, Ticket};
use crate::machine::{SessionId, StateMachine};

impl<S: StateMachine> RunningReplica<S> {
    /// RP-15. Attaches a session: reports its unacknowledged outcomes, and from now on those of
    /// every entry that is applied.
    pub(super) fn attach(&mut self, ticket: Ticket, session: SessionId, out: &mut Out<'_, S>) {
        match self.machine.unacknowledged_outcomes(session) {
            Some(outcomes) => {
                let index = self.position.index;
                out.note("RP-15", format_args!("attaches {session} at entry {index}"));
                self.attached.insert(session);
                out.emit_ahead(Event::Attached { ticket: Some(ticket), session, index, outcomes });
            }
            None => out.emit_ahead(Event::Refused { ticket, refusal: Refusal::NoSession }),
        }
    }

    /// RP-15. Detaches a session, and refuses to attach it if it was waiting for that.
    pub(crate) fn detach(&mut self, session: SessionId, out: &mut Out<'_, S>) {
        self.attached.remove(&session);
        let is_attachment = |question: &Question<S::Query>| matches!(question, Question::Attach(id) if *id == session);
        for ticket in self.queries.remove(is_attachment) {
            out.emit_ahead(Event::Refused { ticket, refusal: Refusal::Detached });
        }
    }

    /// RP-15. Reports the outcomes of the last command to the attached sessions. An audit gets the
    /// outcomes of all sessions.
    pub(super) fn report_outcomes(&mut self, audited: &mut Vec<(SessionId, S::Outcome)>, out: &mut Out<'_, S>) {
        let index = self.position.index;
        let mut ended = Vec::new();
        for (session, outcome) in self.outbox.drain() {
            self.awaited_index = index;
            if self.settings.audit {
                audited.push((session, outcome.clone()));
            }
            if self.attached.contains(&session) {
                out.emit_ahead(Event::Outcome { session, index, outcome });
                // The last outcome of a session may be that it has ended.
                if !self.machine.has_session(session) {
                    ended.push(session);
                }
            }
        }
        for session in ended {
            self.attached.remove(&session);
        }
    }

    /// RP-15. Reports the attached sessions again after a snapshot, which may cover entries with
    /// outcomes for them.
    pub(super) fn reattach_sessions(&mut self, out: &mut Out<'_, S>) {
        let index = self.position.index;
        let machine = &self.machine;
        self.attached.retain(|session| {
            let outcomes = machine.unacknowledged_outcomes(*session);
            let session = *session;
            let exists = outcomes.is_some();
            out.emit_ahead(match outcomes {
                Some(outcomes) => Event::Attached { ticket: None, session, index, outcomes },
                None => Event::Detached { session },
            });
            exists
        });
    }
}
