//! Applies committed entries and answers the clients that wait for them.

use super::{Out, PendingChange, Running};
use crate::batch::{Batch, log_time_of, read_change};
use crate::command::{Audit, Event, Refusal, Restoration};
use crate::engine::mix;
use crate::machine::{At, LogTime, StateMachine};
use crate::members::Change;
use crate::message::{Body, Entry};
use crate::replica::Halt;
use crate::version::FormatError;
use quorate_core::{Incarnation, NodeId};

impl<S: StateMachine> Running<S> {
    /// RP-4.
    pub(super) fn apply(&mut self, entry: &Entry, out: &mut Out<'_, S>) -> Result<(), Halt> {
        let Entry { index, term, body } = entry;
        self.at.index = *index;
        self.applied_term = *term;
        let waiting = self.proposals.remove(index);
        match body {
            Body::Blank => {}
            Body::Batch(bytes) => {
                let Batch { time, admitted, commands } =
                    Batch::<S::Command>::read(bytes).map_err(|error| halt_at(*index, &error))?;
                self.at.time = time;
                self.apply_admissions(admitted);
                let answers = commands.iter().map(|command| self.machine.apply(self.at, command)).collect::<Vec<_>>();
                out.note("RP-4", format_args!("applies entry {index}"));
                if let Some((_, tickets)) = waiting.as_ref().filter(|(proposed_term, _)| proposed_term == term) {
                    for (ticket, answer) in tickets.iter().zip(answers) {
                        out.emit_ahead(Event::Answered { ticket: *ticket, index: *index, answer });
                    }
                }
            }
            Body::Change(bytes) => {
                let (time, change) = read_change(bytes).map_err(|error| halt_at(*index, &error))?;
                self.at.time = time;
                self.apply_change(Some(&change), out);
            }
            Body::Leave => self.apply_change(None, out),
        }
        if let Some((_, tickets)) = waiting.filter(|(proposed_term, _)| proposed_term != term) {
            let why = Refusal::Overtaken;
            tickets.into_iter().for_each(|ticket| out.emit_ahead(Event::Refused { ticket, why }));
        }
        self.report_changed(out);
        if self.settings.audit {
            out.emit_ahead(Event::Applied(self.audit(entry)));
        }
        Ok(())
    }

    pub(super) fn audit(&self, entry: &Entry) -> Audit {
        // The seed distinguishes the kinds of entries.
        let entry_fingerprint = match &entry.body {
            Body::Blank => fingerprint(0, &[]),
            Body::Batch(bytes) => fingerprint(1, bytes),
            Body::Change(bytes) => fingerprint(2, bytes),
            Body::Leave => fingerprint(3, &[]),
        };
        let state = fingerprint(0, &self.machine.snapshot());
        Audit { index: entry.index, term: entry.term, time: self.at.time, entry: entry_fingerprint, state }
    }

    /// Reports a state that was restored from a checkpoint, if audits are enabled.
    pub(crate) fn report_restored(&self, out: &mut Out<'_, S>) {
        if self.settings.audit && !self.is_joining() {
            let state = fingerprint(0, &self.machine.snapshot());
            let At { index, time } = self.at;
            out.emit_ahead(Event::Restored(Restoration { index, time, state }));
        }
    }

    /// RP-9. Applies a change of members; `None` ends a joint configuration.
    pub(super) fn apply_change(&mut self, change: Option<&Change>, out: &mut Out<'_, S>) {
        let configuration = self.engine.apply_change(change);
        out.note("RP-9", format_args!("the members are {}", configuration.incoming));
        let learners = &configuration.incoming.learners;
        self.learners.retain(|learner, _| learners.contains(learner));
        for learner in learners {
            self.learners.entry(*learner).or_insert(self.at.index);
        }
        // The nodes that answered the last round may not be a majority of the new members.
        self.lease.end();
        self.admitted.retain(|member, _| configuration.contains(*member));
        if !configuration.contains(self.me) {
            for ticket in self.queries.remove_all() {
                out.emit_ahead(Event::Refused { ticket, why: Refusal::NotMember });
            }
        }
    }

    /// RP-10. Admits only learners. Every replica decides the same, because it has the same members
    /// at this entry.
    fn apply_admissions(&mut self, admitted: Vec<(NodeId, Incarnation)>) {
        let learners = if admitted.is_empty() { return } else { self.engine.configuration().incoming.learners };
        for (learner, born) in admitted {
            self.admitting.remove(&learner);
            if learners.contains(&learner) && self.admitted.get(&learner) < Some(&born) {
                self.admitted.insert(learner, born);
                self.engine.mark_outdated();
            }
        }
    }

    /// RP-9. Reports a change of members once its entry is applied and the joint configuration has
    /// ended.
    fn report_changed(&mut self, out: &mut Out<'_, S>) {
        let Some(change) = self.change.as_ref().filter(|change| change.index <= self.at.index) else { return };
        let configuration = self.engine.configuration();
        if !configuration.is_joint()
            && change.members == configuration.incoming
            && let Some(PendingChange { ticket, members, .. }) = self.change.take()
        {
            out.emit_ahead(Event::Changed { ticket, members });
        }
    }

    /// RP-5.
    pub(super) fn answer_queries(&mut self, out: &mut Out<'_, S>) {
        // Entries that a full disk could not store are not applied until it has space.
        if self.is_disk_full {
            for ticket in self.queries.remove_beyond(self.engine.persisted_index()) {
                out.emit_ahead(Event::Refused { ticket, why: Refusal::DiskFull });
            }
        }
        for (ticket, query) in self.queries.take_ready(self.at.index) {
            out.note("RP-5", format_args!("answers a query at entry {}", self.at.index));
            let answer = self.machine.query(self.at, &query);
            out.emit_ahead(Event::Answered { ticket, index: self.at.index, answer });
        }
    }

    /// The highest log time in the log, applied or not. Log times grow with the index.
    pub(super) fn highest_log_time(&self) -> LogTime {
        let log = self.engine.log();
        let time_of = |index: u64| match Entry::from_raft(log.entry(index)?).body {
            Body::Batch(bytes) | Body::Change(bytes) => log_time_of(&bytes),
            Body::Blank | Body::Leave => None,
        };
        let unapplied = (self.at.index + 1..=log.last()).rev();
        unapplied.filter_map(time_of).next().map_or(self.at.time, |time| time.max(self.at.time))
    }
}

fn halt_at(index: u64, error: &FormatError) -> Halt {
    Halt(format!("cannot apply entry {index}: {error}"))
}

/// A fingerprint of bytes that is the same on every machine.
fn fingerprint(seed: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mix(seed ^ bytes.len() as u64), |state, chunk| {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        mix(state.rotate_left(5) ^ mix(word))
    })
}
