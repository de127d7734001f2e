//! Applies committed entries and answers the clients that wait for them. The rules (`RP-…`) are at
//! the head of `replica.rs`.
//!
//! The events emitted here do not wait for the disk: a majority already has the applied entries on
//! disk.

use super::{Out, PendingChange, RunningReplica};
use crate::batch::{Batch, read_change, read_log_time};
use crate::command::{Audit, Event, Refusal, Restoration};
use crate::engine::mix_bits;
use crate::machine::{LogPosition, LogTime, StateMachine};
use crate::members::Change;
use crate::message::{Entry, EntryBody};
use crate::replica::Halt;
use crate::version::FormatError;
use quorate_core::{Incarnation, NodeId};

impl<S: StateMachine> RunningReplica<S> {
    /// RP-4. Applies an entry, and answers the clients that proposed it here.
    pub(super) fn apply(&mut self, entry: &Entry, out: &mut Out<'_, S>) -> Result<(), Halt> {
        let Entry { index, term, body } = entry;
        self.position.index = *index;
        self.applied_term = *term;
        let proposal = self.proposals.remove(index);
        match body {
            EntryBody::Blank => {}
            EntryBody::Batch(bytes) => {
                let Batch { time, admitted, commands } =
                    Batch::<S::Command>::read(bytes).map_err(|error| halt_at(*index, &error))?;
                self.position.time = time;
                self.apply_admissions(admitted);
                let answers =
                    commands.iter().map(|command| self.machine.apply(self.position, command)).collect::<Vec<_>>();
                out.note("RP-4", format_args!("applies entry {index}"));
                if let Some((_, tickets)) = proposal.as_ref().filter(|(proposed_term, _)| proposed_term == term) {
                    for (ticket, answer) in tickets.iter().zip(answers) {
                        out.emit_ahead(Event::Answered { ticket: *ticket, index: *index, answer });
                    }
                }
            }
            EntryBody::Change(bytes) => {
                let (time, change) = read_change(bytes).map_err(|error| halt_at(*index, &error))?;
                self.position.time = time;
                self.apply_change(Some(&change), out);
            }
            EntryBody::Leave => self.apply_change(None, out),
        }
        if let Some((_, tickets)) = proposal.filter(|(proposed_term, _)| proposed_term != term) {
            let refusal = Refusal::EntryReplaced;
            tickets.into_iter().for_each(|ticket| out.emit_ahead(Event::Refused { ticket, refusal }));
        }
        self.report_changed(out);
        if self.settings.audit {
            out.emit_ahead(Event::Applied(self.audit(entry)));
        }
        Ok(())
    }

    /// The fingerprints of an entry that was just applied and of the state after it.
    pub(super) fn audit(&self, entry: &Entry) -> Audit {
        // The seed distinguishes the kinds of entries.
        let entry_fingerprint = match &entry.body {
            EntryBody::Blank => fingerprint(0, &[]),
            EntryBody::Batch(bytes) => fingerprint(1, bytes),
            EntryBody::Change(bytes) => fingerprint(2, bytes),
            EntryBody::Leave => fingerprint(3, &[]),
        };
        let state_fingerprint = fingerprint(0, &self.machine.snapshot());
        Audit { index: entry.index, term: entry.term, time: self.position.time, entry_fingerprint, state_fingerprint }
    }

    /// Reports a state that was restored from a checkpoint, if audits are enabled.
    pub(crate) fn report_restored(&self, out: &mut Out<'_, S>) {
        if self.settings.audit && !self.is_joining() {
            let state_fingerprint = fingerprint(0, &self.machine.snapshot());
            let LogPosition { index, time } = self.position;
            out.emit_ahead(Event::Restored(Restoration { index, time, state_fingerprint }));
        }
    }

    /// RP-9. Applies a change of members; `None` ends a joint configuration.
    pub(super) fn apply_change(&mut self, change: Option<&Change>, out: &mut Out<'_, S>) {
        let configuration = self.engine.apply_change(change);
        out.note("RP-9", format_args!("the members are {}", configuration.incoming));
        let learners = &configuration.incoming.learners;
        self.learner_since.retain(|learner, _| learners.contains(learner));
        for learner in learners {
            self.learner_since.entry(*learner).or_insert(self.position.index);
        }
        // The nodes that answered the last round may not be a majority of the new members.
        self.lease.end();
        self.admitted.retain(|member, _| configuration.contains(*member));
        if !configuration.contains(self.me) {
            for ticket in self.queries.remove_all() {
                out.emit_ahead(Event::Refused { ticket, refusal: Refusal::NotMember });
            }
        }
    }

    /// RP-10. Admits only learners. Every replica decides the same, because it has the same members
    /// at this entry.
    fn apply_admissions(&mut self, admitted: Vec<(NodeId, Incarnation)>) {
        let learners = if admitted.is_empty() { return } else { self.engine.configuration().incoming.learners };
        for (learner, incarnation) in admitted {
            self.proposed_admissions.remove(&learner);
            if learners.contains(&learner) && self.admitted.get(&learner) < Some(&incarnation) {
                self.admitted.insert(learner, incarnation);
                self.engine.mark_checkpoint_outdated();
            }
        }
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

    /// RP-5. Answers the queries whose index is applied.
    pub(super) fn answer_queries(&mut self, out: &mut Out<'_, S>) {
        // While the disk is full, an entry that is not on it cannot be applied. So this refuses the
        // queries that wait for such an entry.
        if self.is_disk_full {
            for ticket in self.queries.remove_beyond(self.engine.persisted_index()) {
                out.emit_ahead(Event::Refused { ticket, refusal: Refusal::DiskFull });
            }
        }
        for (ticket, query) in self.queries.take_ready(self.position.index) {
            out.note("RP-5", format_args!("answers a query at entry {}", self.position.index));
            let answer = self.machine.query(self.position, &query);
            out.emit_ahead(Event::Answered { ticket, index: self.position.index, answer });
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

/// A fingerprint of bytes that is the same on every machine.
fn fingerprint(seed: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mix_bits(seed ^ bytes.len() as u64), |state, chunk| {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        mix_bits(state.rotate_left(5) ^ mix_bits(word))
    })
}
