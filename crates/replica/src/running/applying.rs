//! Applies committed entries and answers the clients that wait for them. The rules (`RP-…`) are at
//! the head of `replica.rs`.
//!
//! The events emitted here do not wait for the disk: a majority already has the applied entries on
//! disk.

use super::{AppendedEntry, Out, PendingChange, Question, RunningReplica};
use crate::batch::{Batch, read_change, read_log_time};
use crate::command::{Audit, Event, Refusal, Restoration};
use crate::directory::Addresses;
use crate::fingerprint::fingerprint;
use crate::machine::{LogPosition, LogTime, SessionId, StateMachine};
use crate::members::Change;
use crate::message::{Entry, EntryBody, Message};
use crate::replica::Halt;
use crate::version::FormatError;
use bytes::Bytes;
use quorate_core::NodeId;

impl<S: StateMachine> RunningReplica<S> {
    /// RP-4. Applies an entry.
    pub(super) fn apply(&mut self, entry: &Entry, out: &mut Out<'_, S>) -> Result<(), Halt> {
        let Entry { index, term, body } = entry;
        self.position.index = *index;
        self.applied_term = *term;
        let appended = self.appended.remove(index).filter(|appended| appended.term == *term);
        let mut outcomes = Vec::new();
        match body {
            EntryBody::Blank => {}
            EntryBody::Batch(bytes) => {
                let batch = match appended {
                    Some(AppendedEntry { batch, .. }) => batch,
                    None => Batch::read(bytes, self.known_level()).map_err(|error| halt_at(*index, &error))?,
                };
                self.apply_batch(batch, &mut outcomes, out);
                out.note("RP-4", format_args!("applies entry {index}"));
            }
            EntryBody::Change(bytes) => {
                let (time, change, addresses) = read_change(bytes).map_err(|error| halt_at(*index, &error))?;
                self.advance(time, &mut outcomes, out);
                self.apply_change(Some(&change), addresses, out);
            }
            EntryBody::Leave => self.apply_change(None, Addresses::new(), out),
        }
        self.report_changed(out);
        if self.settings.audit {
            out.emit_ahead(Event::Applied { audit: self.audit(entry), outcomes });
        }
        Ok(())
    }

    /// RP-4. Applies the commands of an entry, and answers those that were proposed here.
    fn apply_batch(
        &mut self,
        batch: Batch<S::Command>,
        outcomes: &mut Vec<(SessionId, S::Outcome)>,
        out: &mut Out<'_, S>,
    ) {
        self.advance(batch.time, outcomes, out);
        let (position, index) = (self.position, self.position.index);
        if batch.is_awaited_elsewhere(self.me) {
            self.awaited_index = index;
        }
        let Batch { time: _, notices, groups, level: _ } = batch;
        self.apply_notices(notices);
        for group in &groups {
            let tickets = self.proposals.remove_applied(group);
            let tickets = tickets.into_iter().chain(std::iter::repeat(None));
            for (command, ticket) in group.commands.iter().zip(tickets) {
                let answer = self.machine.apply(position, None, command, &mut self.outbox);
                if let Some(ticket) = ticket {
                    out.emit_ahead(Event::Answered { ticket, index, answer });
                }
                self.report_outcomes(outcomes, out);
            }
        }
    }

    /// Advances the state machine to the log time of an entry.
    fn advance(&mut self, time: LogTime, outcomes: &mut Vec<(SessionId, S::Outcome)>, out: &mut Out<'_, S>) {
        self.position.time = time;
        self.machine.advance(self.position, &mut self.outbox);
        self.report_outcomes(outcomes, out);
    }

    /// The fingerprints of an entry that was just applied and of the state after it.
    pub(super) fn audit(&self, entry: &Entry) -> Audit {
        let entry_fingerprint = fingerprint(&entry.body);
        let state_fingerprint = self.state_fingerprint();
        Audit { index: entry.index, term: entry.term, time: self.position.time, entry_fingerprint, state_fingerprint }
    }

    /// A fingerprint of every byte of the state, and of the fingerprint that the state machine
    /// keeps itself, which is cheaper to read and must not differ either.
    fn state_fingerprint(&self) -> u64 {
        let pieces: Vec<Bytes> = self.machine.freeze().into_iter().collect();
        fingerprint(&(pieces, &self.directory, self.machine.fingerprint()))
    }

    /// Reports a state that was restored from a checkpoint, if audits are enabled.
    pub(crate) fn report_restored(&self, out: &mut Out<'_, S>) {
        if self.settings.audit && !self.is_joining() {
            let state_fingerprint = self.state_fingerprint();
            let LogPosition { index, time } = self.position;
            out.emit_ahead(Event::Restored(Restoration { index, time, state_fingerprint }));
        }
    }

    /// RP-9. Applies a change of members; `None` ends a joint configuration.
    pub(super) fn apply_change(&mut self, change: Option<&Change>, addresses: Addresses, out: &mut Out<'_, S>) {
        let before = self.engine.configuration();
        let configuration = self.engine.apply_change(change);
        out.note("RP-9", format_args!("the members are {}", configuration.incoming));
        let learners = &configuration.incoming.learners;
        self.learner_since.retain(|learner, _| learners.contains(learner));
        for learner in learners {
            self.learner_since.entry(*learner).or_insert(self.position.index);
        }
        // The nodes that answered the last round may not be a majority of the new members.
        self.lease.end();
        self.awaited_index = self.position.index;
        self.directory.change_members(&configuration, addresses);
        self.record_new_configuration();
        if !configuration.contains(self.me) {
            self.end_membership(out);
        } else if self.role.leads {
            before.nodes().filter(|node| !configuration.contains(*node)).for_each(|removed| self.dismiss(removed, out));
        }
    }

    /// RP-9. Tells a replica that it is no member.
    pub(super) fn dismiss(&self, removed: NodeId, out: &mut Out<'_, S>) {
        out.note("RP-9", format_args!("tells {removed} that it is no member"));
        out.send_ahead(removed, Message::NotMember { index: self.position.index });
    }

    /// RP-9. Reports a change of members once its entry is applied and the joint configuration has
    /// ended.
    fn report_changed(&mut self, out: &mut Out<'_, S>) {
        let Some(change) = self.pending_change.as_ref().filter(|change| change.index <= self.position.index) else {
            return;
        };
        let configuration = self.engine.configuration();
        if !configuration.is_joint()
            && change.members == configuration.incoming
            && let Some(PendingChange { ticket, members, .. }) = self.pending_change.take()
        {
            out.emit_ahead(Event::Changed { ticket, members });
        }
    }

    /// RP-9. A replica that is no member any more answers no queries, forwards no commands and
    /// reports no outcomes.
    pub(super) fn end_membership(&mut self, out: &mut Out<'_, S>) {
        self.end_all_requests(Refusal::NotMember, out);
        for session in std::mem::take(&mut self.attached) {
            out.emit_ahead(Event::Detached { session });
        }
    }

    /// RP-5 and RP-15. Answers the questions whose index is applied.
    pub(super) fn answer_questions(&mut self, out: &mut Out<'_, S>) {
        // While the disk is full, an entry that is not on it cannot be applied. So this refuses the
        // questions that wait for such an entry.
        if self.is_disk_full {
            for ticket in self.queries.remove_beyond(self.engine.persisted_index()) {
                out.emit_ahead(Event::Refused { ticket, refusal: Refusal::DiskFull });
            }
        }
        let index = self.position.index;
        for (ticket, question) in self.queries.take_ready(index) {
            match question {
                Question::Query(query) => {
                    out.note("RP-5", format_args!("answers a query at entry {index}"));
                    let answer = self.machine.query(self.position, &query);
                    out.emit_ahead(Event::Answered { ticket, index, answer });
                }
                Question::Attach(session) => self.attach(ticket, session, out),
            }
        }
    }

    /// The highest log time in the log, applied or not: that of the last entry that has one,
    /// because log times never decrease.
    pub(super) fn highest_log_time(&self) -> LogTime {
        let log = self.engine.log();
        let time_of = |index: u64| match Entry::from_raft(log.entry(index)?).body {
            EntryBody::Batch(bytes) | EntryBody::Change(bytes) => read_log_time(&bytes),
            EntryBody::Blank | EntryBody::Leave => None,
        };
        let unapplied = (self.position.index + 1..=log.end_index()).rev();
        unapplied.filter_map(time_of).next().map_or(self.position.time, |time| time.max(self.position.time))
    }
}

fn halt_at(index: u64, error: &FormatError) -> Halt {
    Halt(format!("cannot apply entry {index}: {error}"))
}
