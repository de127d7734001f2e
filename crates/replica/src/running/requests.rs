//! Requests of clients: queries and changes of the members. The rules
//! (`RP-…`) are at the head of `replica.rs`.

use super::{Out, PendingChange, Question, RunningReplica};
use crate::batch::{Batch, write_change};
use crate::command::{Event, Refusal, Ticket};
use crate::directory::Addresses;
use crate::machine::StateMachine;
use crate::members::{Change, Members};
use crate::message::Message;
use crate::settings::ReadMode;
use quorate_core::{NodeId, Time};

/// How often a leader that a change removes offers its leadership to each voter that stays.
const MAX_LEAVING_OFFERS: usize = 2;

impl<S: StateMachine> RunningReplica<S> {
    /// RP-5 and RP-6. Lets a question wait for a round of heartbeats, or, if this leader has a
    /// lease, only until everything committed so far is applied.
    pub(crate) fn ask(&mut self, now: Time, ticket: Ticket, question: Question<S::Query>, out: &mut Out<'_, S>) {
        let refusal = match self.queries.len() {
            _ if !self.is_member() => Some(Refusal::NotMember),
            pending if pending >= self.settings.max_pending_requests => Some(Refusal::Busy),
            _ => None,
        };
        if let Some(refusal) = refusal {
            out.emit_ahead(Event::Refused { ticket, refusal });
        } else if self.has_lease(now) {
            out.note("RP-6", format_args!("answers under its lease"));
            self.queries.add_confirmed(self.engine.commit_index(), ticket, question);
        } else {
            self.queries.add_waiting(ticket, question);
        }
    }

    /// Whether this replica may answer queries without a round now. It must also lead by the state
    /// of the engine, which may be newer than `role`.
    pub(super) fn has_lease(&self, now: Time) -> bool {
        let is_leased = self.settings.reads == ReadMode::Lease && self.lease.is_valid(now, self.role.term);
        is_leased && self.role.leads && self.engine.leads() && self.engine.has_committed_in_term()
    }

    /// Whether followers wait for rounds, and this leader knows the group's commit index. Raft
    /// would drop earlier rounds.
    pub(super) fn may_begin_follower_rounds(&self) -> bool {
        !self.follower_rounds.is_empty() && self.engine.leads() && self.engine.has_committed_in_term()
    }

    /// RP-5. Begins the rounds of followers.
    pub(super) fn begin_follower_rounds(&mut self) {
        if self.may_begin_follower_rounds() {
            for (follower, round) in std::mem::take(&mut self.follower_rounds) {
                self.engine.step(follower, Message::ReadIndex { round });
            }
        }
    }

    /// Returns whether a round may begin without queries, to extend the lease: at most once a tick.
    /// In a group of one each round succeeds at once, so rounds would otherwise begin forever.
    pub(super) fn take_lease_extension(&mut self) -> bool {
        let can_extend = self.role.leads && self.engine.has_committed_in_term() && self.lease.can_hold(self.role.term);
        std::mem::take(&mut self.should_extend_lease) && can_extend
    }

    /// RP-9. If this leader is no voter among these members, offers its leadership to a voter that
    /// stays, so that the group is never without a leader, and returns `true`. The new leader can
    /// make the change. If none of them takes over, this leader makes the change itself.
    fn hand_over_before_leaving(&mut self, members: &Members, out: &mut Out<'_, S>) -> bool {
        let staying = self.engine.successors().into_iter().filter(|voter| members.voters.contains(voter));
        let staying: Vec<_> = staying.collect();
        if members.voters.contains(&self.me) || self.leaving_offers >= MAX_LEAVING_OFFERS * staying.len() {
            return false;
        }
        self.leaving_offers += 1;
        self.offer_to_one_of(&staying, out)
    }

    /// RP-9. Proposes a change of members. A new voter must be a learner that has acknowledged the
    /// log up to the entry that made it a learner, and has reported that it understands all entries
    /// (RP-17).
    pub(crate) fn propose_change(
        &mut self,
        now: Time,
        ticket: Ticket,
        (members, addresses): (Members, Addresses),
        out: &mut Out<'_, S>,
    ) {
        let leads = self.role.leads;
        let current = self.engine.configuration();
        let unprepared = members.voters.iter().find(|voter| {
            let learner_since = self.learner_since.get(voter);
            let has_log = learner_since.is_some_and(|index| self.engine.acknowledged_index(**voter) >= *index);
            // A voter that gets no entries could keep the entry with its record from being
            // committed.
            let is_prepared = has_log && !self.outdated_members.contains(voter);
            !current.incoming.voters.contains(voter) && !is_prepared
        });
        let refusal = match unprepared {
            _ if !leads => Some(Refusal::NotLeader { leader: self.known_leader(now) }),
            _ if !members.is_valid() => Some(Refusal::InvalidMembers),
            _ if self.is_disk_full => Some(Refusal::DiskFull),
            _ if self.engine.is_transferring_leadership() => Some(Refusal::TransferInProgress),
            _ if self.pending_change.is_some() => Some(Refusal::ChangeInProgress),
            Some(voter) => Some(Refusal::NotYetLearner(*voter)),
            None if self.hand_over_before_leaving(&members, out) => Some(Refusal::TransferInProgress),
            None => None,
        };
        if let Some(refusal) = refusal {
            return out.emit_ahead(Event::Refused { ticket, refusal });
        }
        let change = Change::between(&current.incoming, &members);
        let time = self.clock.advance_to(now);
        // If the members do not change, an entry without a change records their addresses, and
        // confirms that this replica is still the leader.
        let entry = if change.is_empty() && !current.is_joint() && !self.engine.has_pending_change() {
            let notices =
                addresses.into_iter().map(|(member, address)| self.directory.notice_of_address(member, address));
            let batch = Batch::<S::Command>::of_notices(time, notices.collect());
            batch.write().ok().and_then(|bytes| self.engine.propose(bytes))
        } else {
            self.engine.propose_change(write_change(time, &change, &addresses), &change)
        };
        match entry {
            Some(index) => {
                out.note("RP-9", format_args!("proposes {members} in entry {index}"));
                self.pending_change = Some(PendingChange { ticket, members, index });
            }
            None => {
                let is_changing = self.engine.has_pending_change() || current.is_joint();
                let refusal = if is_changing { Refusal::ChangeInProgress } else { Refusal::Busy };
                out.emit_ahead(Event::Refused { ticket, refusal });
            }
        }
    }

    /// The leader, if a message from it arrived within the last two promise durations. A replica
    /// that waits for its disk runs no election timeout, so raft may still name a leader of long
    /// ago.
    pub(super) fn known_leader(&self, now: Time) -> Option<NodeId> {
        self.role.leader.filter(|_| now < self.promised_until + self.settings.promise_duration())
    }

    /// Whether this replica is a member, as far as it knows.
    pub(super) fn is_member(&self) -> bool {
        !self.is_joining() && self.engine.configuration().contains(self.me)
    }
}
