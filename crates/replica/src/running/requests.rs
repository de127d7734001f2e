//! Requests of clients: commands, queries, changes of members and of the leader. The rules
//! (`RP-…`) are at the head of `replica.rs`.

use super::{Out, PendingChange, RunningReplica};
use crate::batch::{Batch, write_change};
use crate::command::{Event, Proposal, Refusal, Ticket};
use crate::engine::Role;
use crate::machine::StateMachine;
use crate::members::{Change, Members};
use crate::settings::ReadMode;
use quorate_core::{Incarnation, NodeId, Time};

impl<S: StateMachine> RunningReplica<S> {
    /// RP-1. Appends these commands to the log as one entry, or refuses them all.
    pub(crate) fn propose(&mut self, now: Time, proposals: Vec<Proposal<S::Command>>, out: &mut Out<'_, S>) {
        let refusal = match self.role {
            Role { leads: false, .. } => Some(Refusal::NotLeader { leader: self.known_leader(now) }),
            Role { leads: true, .. } if self.is_disk_full => Some(Refusal::DiskFull),
            Role { leads: true, .. } if self.engine.is_transferring_leadership() => Some(Refusal::TransferInProgress),
            Role { leads: true, .. } if self.proposals.len() >= self.settings.max_pending_requests => {
                Some(Refusal::Busy)
            }
            Role { leads: true, .. } => None,
        };
        if proposals.is_empty() {
            return;
        }
        let time = self.clock.advance_to(now);
        let entry = match refusal {
            Some(refusal) => Err(refusal),
            None => match Batch::write(time, &[], proposals.iter().map(|proposal| &proposal.command)) {
                Ok(bytes) => self.engine.propose(bytes).ok_or(Refusal::Busy),
                Err(error) => {
                    out.note("RP-1", format_args!("cannot propose this: {error}"));
                    Err(Refusal::NotEncodable)
                }
            },
        };
        let tickets = proposals.into_iter().map(|proposal| proposal.ticket);
        match entry {
            Ok(index) => {
                out.note("RP-1", format_args!("proposes entry {index} at log time {time}"));
                self.proposals.insert(index, (self.role.term, tickets.collect()));
            }
            Err(refusal) => tickets.for_each(|ticket| out.emit_ahead(Event::Refused { ticket, refusal })),
        }
    }

    /// RP-5 and RP-6. Lets a query wait for a round of heartbeats, or, if this leader has a lease,
    /// only until everything committed so far is applied.
    pub(crate) fn query(&mut self, now: Time, ticket: Ticket, query: S::Query, out: &mut Out<'_, S>) {
        let refusal = match self.queries.len() {
            _ if !self.is_member() => Some(Refusal::NotMember),
            pending if pending >= self.settings.max_pending_requests => Some(Refusal::Busy),
            _ => None,
        };
        if let Some(refusal) = refusal {
            out.emit_ahead(Event::Refused { ticket, refusal });
        } else if self.has_lease(now) {
            out.note("RP-6", format_args!("answers under its lease"));
            self.queries.add_confirmed(self.engine.commit_index(), ticket, query);
        } else {
            self.queries.add_waiting(ticket, query);
        }
    }

    /// Whether this replica may answer queries without a round now. It must also lead by the state
    /// of the engine, which may be newer than `role`.
    pub(super) fn has_lease(&self, now: Time) -> bool {
        let is_leased = self.settings.reads == ReadMode::Lease && self.lease.is_valid(now, self.role.term);
        is_leased && self.role.leads && self.engine.leads() && self.engine.has_committed_in_term()
    }

    /// Returns whether a round may begin without queries, to extend the lease: at most once a tick.
    /// In a group of one each round succeeds at once, so rounds would otherwise begin forever.
    pub(super) fn take_lease_extension(&mut self) -> bool {
        let can_extend = self.role.leads && self.engine.has_committed_in_term() && self.lease.can_hold(self.role.term);
        std::mem::take(&mut self.should_extend_lease) && can_extend
    }

    /// RP-9. Proposes a change of members. A new voter must be a learner that has acknowledged the
    /// log up to the entry that made it a learner.
    pub(crate) fn propose_change(&mut self, now: Time, ticket: Ticket, members: Members, out: &mut Out<'_, S>) {
        let leads = self.role.leads;
        let current = self.engine.configuration();
        let unprepared = members.voters.iter().find(|voter| {
            let learner_since = self.learner_since.get(voter);
            let has_log = learner_since.is_some_and(|index| self.engine.acknowledged_index(**voter) >= *index);
            !current.incoming.voters.contains(voter) && !has_log
        });
        let refusal = match unprepared {
            _ if !leads => Some(Refusal::NotLeader { leader: self.known_leader(now) }),
            _ if !members.is_valid() => Some(Refusal::InvalidMembers),
            _ if self.is_disk_full => Some(Refusal::DiskFull),
            _ if self.engine.is_transferring_leadership() => Some(Refusal::TransferInProgress),
            _ if self.pending_change.is_some() => Some(Refusal::ChangeInProgress),
            Some(voter) => Some(Refusal::NotYetLearner(*voter)),
            None => None,
        };
        if let Some(refusal) = refusal {
            return out.emit_ahead(Event::Refused { ticket, refusal });
        }
        let change = Change::between(&current.incoming, &members);
        let time = self.clock.advance_to(now);
        // If the members do not change, an empty entry confirms that this replica is still the
        // leader.
        let entry = if change.is_empty() && !current.is_joint() && !self.engine.has_pending_change() {
            Batch::<S::Command>::write(time, &[], std::iter::empty()).ok().and_then(|bytes| self.engine.propose(bytes))
        } else {
            self.engine.propose_change(write_change(time, &change), &change)
        };
        match entry {
            Some(index) => {
                out.note("RP-9", format_args!("proposes {members} in entry {index}"));
                self.pending_change = Some(PendingChange { ticket, members, index });
            }
            None => out.emit_ahead(Event::Refused { ticket, refusal: Refusal::ChangeInProgress }),
        }
    }

    /// RP-12. Transfers the leadership. There is no lease in this term afterwards, because the
    /// other node may become a candidate at any time.
    pub(crate) fn transfer(&mut self, to: NodeId, out: &mut Out<'_, S>) {
        if self.role.leads && to != self.me && self.engine.configuration().incoming.voters.contains(&to) {
            out.note("RP-12", format_args!("offers the leadership to {to}"));
            self.lease.end_for_term(self.role.term);
            self.engine.transfer(to);
        }
    }

    /// RP-12. Campaigns, unless the replica is no voter, is bound by its promise to a leader, waits
    /// for its disk, or has a full disk.
    pub(crate) fn campaign(&mut self, now: Time, out: &mut Out<'_, S>) {
        let is_voter = self.engine.configuration().is_voter(self.me);
        if is_voter && now >= self.promised_until && self.engine.has_saved_all() && !self.is_disk_full {
            out.note("RP-12", format_args!("campaigns"));
            self.engine.campaign();
        }
    }

    /// RP-13. Drops the promise to a leader whose process has ended. With leases the promise
    /// remains until it expires, because a wrong suspicion would break the lease.
    pub(crate) fn handle_suspicion(&mut self, now: Time, node: NodeId, out: &mut Out<'_, S>) {
        if self.settings.reads == ReadMode::Quorum && self.role.leader == Some(node) && !self.role.leads {
            out.note("RP-13", format_args!("drops its promise to {node}, which seems to have crashed"));
            self.promised_until = now;
            self.engine.forget_leader();
        }
    }

    /// The leader, if a message from it arrived within the last two promise durations. A replica
    /// that waits for its disk runs no election timeout, so raft may still name a leader of long
    /// ago.
    fn known_leader(&self, now: Time) -> Option<NodeId> {
        self.role.leader.filter(|_| now < self.promised_until + self.settings.promise_duration())
    }

    /// Whether this replica is a member, as far as it knows.
    pub(super) fn is_member(&self) -> bool {
        !self.is_joining() && self.engine.configuration().contains(self.me)
    }

    /// RP-10. Proposes the admission of a replica without a log, if it is a learner, with its
    /// incarnation.
    pub(super) fn propose_admission(
        &mut self,
        now: Time,
        learner: NodeId,
        incarnation: Incarnation,
        out: &mut Out<'_, S>,
    ) {
        let known_incarnation = self.admitted.get(&learner).max(self.proposed_admissions.get(&learner));
        let is_learner = self.engine.configuration().incoming.learners.contains(&learner);
        if !self.role.leads || !is_learner || self.is_disk_full || known_incarnation >= Some(&incarnation) {
            return;
        }
        let batch =
            Batch::<S::Command>::write(self.clock.advance_to(now), &[(learner, incarnation)], std::iter::empty());
        if let Some(index) = batch.ok().and_then(|batch| self.engine.propose(batch)) {
            out.note("RP-10", format_args!("admits {learner} by entry {index}"));
            self.proposed_admissions.insert(learner, incarnation);
        }
    }
}
