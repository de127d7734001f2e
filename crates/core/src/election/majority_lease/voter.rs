//! The part of a node that votes and follows: requests, promises, leaders and releases. The header
//! of `majority_lease.rs` lists the rules ML-1 to ML-13.

use super::{MajorityLease, Message, Phase, Promise};
use crate::effects::Effects;
use crate::election::Event;
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::{Duration, Time};

impl MajorityLease {
    /// Handles a message. Ignores messages of this node itself and of nodes outside the group, and
    /// messages with a term beyond the maximum.
    pub(super) fn receive(&mut self, now: Time, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        if from == self.config.me || !self.config.group.contains(from) || message.latest_term() > Epoch::MAX {
            return;
        }
        self.latest_heard_term = self.latest_heard_term.max(message.latest_term());
        match message {
            Message::Request { term, requested_at } => self.consider_request(now, from, (term, requested_at), out),
            Message::Vote { term, requested_at } | Message::Renewed { term, requested_at } => {
                self.receive_agreement(now, from, (term, requested_at), out);
            }
            Message::Denied { term, requested_at, latest: _ } => {
                self.receive_denial(now, from, (term, requested_at), out);
            }
            Message::Leads { term } => {
                self.follow(now, from, term, out);
            }
            Message::Renew { term, requested_at } => self.renew_promise(now, from, (term, requested_at), out),
            // `latest_heard_term` has been updated; the next renewal raises the term.
            Message::Outdated { latest } => out.note("ML-13", format_args!("node {from} knows of term {latest}")),
            Message::Release { term, successor } => self.receive_release(now, from, (term, successor), out),
        }
    }

    /// ML-2. Grants or denies a vote, or stays silent if this node may not vote (ML-12).
    fn consider_request(
        &mut self,
        now: Time,
        from: NodeId,
        (term, requested_at): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        if !self.may_vote(now) {
            return out.note("ML-12", format_args!("is silent: no vote for {from}"));
        }
        if let Some(reason) = self.find_objection(from, term) {
            out.note("ML-2", format_args!("no vote for {from} in term {term}: {reason}"));
            let latest = self.vote_record.term.max(self.latest_heard_term);
            return out.send(from, Message::Denied { term, requested_at, latest });
        }
        out.note("ML-2", format_args!("votes for {from} in term {term}"));
        let is_new_term = term > self.vote_record.term;
        if is_new_term {
            self.save_vote(term, from, out);
            out.emit(Event::Began { epoch: term });
        }
        self.promise(now, from, term);
        if is_new_term || self.phase == Phase::Waiting {
            // This node's own campaign must wait until the new promise ends.
            let extra_delay = Duration::ZERO;
            self.wait_to_campaign(now, extra_delay, out);
        }
        out.send(from, Message::Vote { term, requested_at });
    }

    /// ML-2. Returns the reason why candidate `from` does not get this node's vote; `None` if it
    /// gets the vote. A candidate that already has this node's promise may get its vote again.
    fn find_objection(&self, from: NodeId, term: Epoch) -> Option<&'static str> {
        let has_term_ended = term < self.vote_record.term;
        let is_vote_taken = term == self.vote_record.term && self.vote_record.vote != Some(from);
        match self.promise {
            _ if has_term_ended || self.has_released(from, term) => Some("that term has ended"),
            _ if is_vote_taken => Some("the vote is already given"),
            Some(Promise { candidate, .. }) if candidate != from => Some("another node has our promise"),
            Some(_) | None => None,
        }
    }

    /// Returns whether the latest release came from `node` and covers this term.
    fn has_released(&self, node: NodeId, term: Epoch) -> bool {
        self.latest_release.is_some_and(|(releaser, last_term)| releaser == node && term <= last_term)
    }

    /// ML-4. Follows `leader` for a lease, unless its term has ended. Returns whether this node now
    /// follows it.
    fn follow(&mut self, now: Time, leader: NodeId, term: Epoch, out: &mut Effects<'_, Self>) -> bool {
        if term < self.vote_record.term || self.has_released(leader, term) {
            out.note("ML-4", format_args!("does not follow {leader}: term {term} has ended"));
            return false;
        }
        match &self.phase {
            Phase::Following { leader: known, term: current, .. } if (*known, *current) == (leader, term) => {}
            Phase::Idle | Phase::Waiting | Phase::Following { .. } | Phase::Campaigning(_) | Phase::Leading(_) => {
                self.step_aside(now, out);
                if term > self.vote_record.term {
                    // From now on this node votes in no earlier term, and in this one only for the
                    // leader.
                    self.save_vote(term, leader, out);
                }
                out.note("ML-4", format_args!("follows {leader}"));
                out.emit(Event::elected(leader, term));
            }
        }
        self.failed_campaigns = 0;
        self.change_phase(Phase::Following { leader, term, until: now + self.config.lease_settings.lease }, out);
        self.set_lapse_timer(now, out);
        true
    }

    /// ML-4. A candidate or leader withdraws in favour of another leader. This can happen to a
    /// leader only if an assumption was violated, such as the bound on clock drift.
    fn step_aside(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Campaigning(_) => self.release_voters(None, out),
            Phase::Leading(_) => self.stop_leading(None, now, out),
            Phase::Idle | Phase::Waiting | Phase::Following { .. } => {}
        }
    }

    /// ML-5. Follows the leader and renews the promise to it, unless another node has the promise.
    /// Reports a later term to a leader whose term has ended (ML-13). A node that may not vote only
    /// follows (ML-12).
    fn renew_promise(
        &mut self,
        now: Time,
        from: NodeId,
        (term, requested_at): (Epoch, Time),
        out: &mut Effects<'_, Self>,
    ) {
        if !self.follow(now, from, term, out) {
            if self.may_vote(now) && term < self.vote_record.term {
                out.send(from, Message::Outdated { latest: self.vote_record.term });
            }
            return;
        }
        if !self.may_vote(now) {
            return out.note("ML-12", format_args!("is silent: no promise for {from}"));
        }
        if let Some(Promise { candidate, .. }) = self.promise.filter(|promise| promise.candidate != from) {
            return out.note("ML-5", format_args!("no promise for {from}: {candidate} has its promise"));
        }
        out.note("ML-5", format_args!("promises {from} another lease"));
        self.promise(now, from, term);
        out.send(from, Message::Renewed { term, requested_at });
    }

    /// ML-10, ML-11. `from` releases all promises of terms up to `last_term`. The successor
    /// campaigns at once, if it may. Other nodes leave it time to do so.
    fn receive_release(
        &mut self,
        now: Time,
        from: NodeId,
        (last_term, successor): (Epoch, Option<NodeId>),
        out: &mut Effects<'_, Self>,
    ) {
        // Messages may arrive in any order: keeps the latest term that this node has released.
        self.latest_release =
            Some((from, last_term)).max(self.latest_release.filter(|(releaser, _)| *releaser == from));
        let promise = self.promise.filter(|promise| promise.candidate == from && promise.term <= last_term);
        if promise.is_some() {
            out.note("ML-11", format_args!("its promise to node {from} has ended"));
            self.promise = None;
        }
        match self.phase {
            Phase::Following { leader, term, .. } if leader == from && term <= last_term => {
                out.note("ML-11", format_args!("node {from} no longer leads"));
                out.emit(Event::Ended { epoch: term });
            }
            // Its campaign need no longer wait for the promise to end.
            Phase::Waiting if promise.is_some() => {}
            Phase::Idle | Phase::Waiting | Phase::Following { .. } | Phase::Campaigning(_) | Phase::Leading(_) => {
                return;
            }
        }
        let is_successor = successor == Some(self.config.me);
        if is_successor && self.promise.is_none() && self.may_vote(now) {
            self.start_term("ML-10", now, out);
        } else {
            let extra_delay = if successor.is_some() { self.handover_delay() } else { Duration::ZERO };
            self.wait_to_campaign(now, extra_delay, out);
        }
    }
}
