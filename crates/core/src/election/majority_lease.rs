//! Majority lease: Chubby's master election (Burrows, 2006).
//!
//! A candidate asks every node for its vote in a new term, and a majority makes it the leader,
//! which Chubby calls the master. A voter also promises not to vote for another node during a
//! lease, so only the leader may act during that time. The leader renews its lease long before it
//! ends, and stays leader for as long as a majority agrees. No other node can have a majority
//! meanwhile, so there are never two leaders, not even on two sides of a partition. A leader that
//! cannot renew its lease knows by its own clock when to stop.
//!
//! ```text
//! ML-1   the client campaigns           → begin the next term, vote for this node, save the vote,
//!                                         and ask every node
//! ML-2   a candidate asks for a vote    → grant it to the first candidate of a term, unless
//!                                         another node has this node's promise; save the vote,
//!                                         promise a lease from now on, then answer
//! ML-3   a majority has voted           → lead for the trusted part of the lease, counted from
//!                                         before this node asked; announce it to all
//! ML-4   a leader announces itself      → follow it for one lease, unless its term has ended
//! ML-5   a part of the lease has passed → the leader asks every node again; a voter without a
//!                                         promise to another node renews its promise
//! ML-6   a majority has renewed         → lead for longer, counted from before this node asked;
//!                                         answers to other rounds do not count
//! ML-7   the lease expires unrenewed    → stop leading
//! ML-8   no message of the leader
//!        for a lease                    → know no leader, and campaign after a delay that differs
//!                                         from node to node
//! ML-9   too few votes arrive           → release the voters, and campaign again after a delay
//!                                         as in ML-8
//! ML-10  the client resigns             → stop leading, and release all voters; the successor
//!                                         named in the release campaigns at once
//! ML-11  the node that has this node's
//!        promise releases it            → the promise ends
//! ML-12  this node restarts with a
//!        saved vote                     → be silent for a lease: neither vote, promise nor
//!                                         campaign
//! ML-13  a later term becomes known     → the leader has itself elected in an even later term, and
//!                                         keeps leading meanwhile
//! ```
//!
//! Cost: 2(n−1) messages to elect and n−1 to announce, if one node starts. Renewals, 2(n−1) each,
//! and releases count as control. A planned handover takes three message times from the resignation
//! to the next leader; after a crash of the leader, a lease passes until the next campaign.
//!
//! Assumes: a majority is up and can communicate; disks keep what they confirmed; every clock runs
//! at a rate between 1−ρ and 1+ρ. The value that a clock shows does not matter. A promise of L then
//! lasts at least L/(1+ρ) in true time. A leader trusts its lease for L·(1−ρ)/(1+ρ) of its own
//! clock, which is at most L/(1+ρ), and counts from before the promise. A node that restarts after
//! its promise is silent for L of its own clock, which is at least L/(1+ρ), and counts from after
//! the promise. So L is enough, whatever its clock showed in its last incarnation.
//!
//! When it fails: nodes may crash and restart with their disks, pause and be cut off; messages may
//! be lost, duplicated and reordered. Without a majority there is no leader. With clocks that drift
//! beyond the bound, or voters that forget a promise, there may be two. A node that lost its disk
//! could vote twice in a term, so from then on it only follows. A leader that acts on a resource
//! which does not check fences must look at its clock after each pause.
//!
//! Departs from the paper: candidates that fail release their voters, and so does a leader that
//! resigns or stops; otherwise each of these would cost a lease.

mod delays;
mod facts;
mod leader;
mod message;
mod vote_record;
mod voter;

pub use facts::FACTS;
pub use message::{Message, Timer};
pub use vote_record::{Ballot, VoteRecord};

use super::{Command, Event, LeaseSettings, Plan, Ranking, Refusal};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use leader::{Leadership, Round};

/// A node of the algorithm: a voter that may campaign and lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MajorityLease {
    config: Fixed<Config>,
    /// The latest term in which the node took part, and its vote, as saved or about to be saved.
    vote_record: VoteRecord,
    /// The latest term that any message mentioned.
    latest_heard_term: Epoch,
    promise: Option<Promise>,
    /// The sender of the latest release, and the term up to which it released all promises.
    /// Messages that it sent before the release may still arrive, and are ignored.
    latest_release: Option<(NodeId, Epoch)>,
    /// End of the silence after a restart: the last incarnation may have made a promise.
    silent_until: Option<Time>,
    phase: Phase,
    /// Number of failed campaigns since this node last led or followed a leader.
    failed_campaigns: u32,
}

#[derive(Clone, Debug)]
struct Config {
    me: NodeId,
    group: Group,
    ranking: Ranking,
    lease_settings: LeaseSettings,
    /// Maximum time from a request to its answer; timeouts and delays are derived from it.
    answer_time: Duration,
    seed: u64,
    silence_after_restart: Duration,
}

/// A promise to vote for no node but `candidate` until an instant of this node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    candidate: NodeId,
    term: Epoch,
    until: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The node has not taken part yet.
    Idle,
    /// The node knows no leader, and campaigns when `Timer::Stand` fires.
    Waiting,
    Following {
        leader: NodeId,
        term: Epoch,
        until: Time,
    },
    Campaigning(Round),
    Leading(Leadership),
}

impl Protocol for MajorityLease {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = VoteRecord;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        if let Input::Start { durable, incarnation } = input {
            return self.start(now, durable, incarnation, out);
        }
        // Leases and promises that have expired by now end before the input is handled.
        self.end_expired(now, out);
        match input {
            Input::Command(Command::Campaign) => self.campaign(now, out),
            Input::Command(Command::Resign) => self.resign(now, out),
            Input::Message { from, message } => self.receive(now, from, message, out),
            // A lease that has expired ended above. Any other was extended: the timer is set again.
            Input::Timer(Timer::Lapse) => self.set_lapse_timer(now, out),
            Input::Timer(Timer::Renew) => self.renew_lease(now, out),
            Input::Timer(Timer::Votes) => self.handle_vote_timeout(now, out),
            Input::Timer(Timer::Stand) => self.campaign_if_free(now, out),
            // The driver delays effects that depend on a save, leases take the place of a failure
            // detector, and the group never changes.
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
        self.assert_invariants();
    }
}

impl MajorityLease {
    /// Creates a node of a group with this plan.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self::with_silence(me, plan, plan.lease_settings.lease)
    }

    /// Creates a node that is silent for this time after a restart. Safety requires a full lease.
    pub fn with_silence(me: NodeId, plan: &Plan, silence_after_restart: Duration) -> Self {
        let config = Config {
            me,
            group: plan.group.clone(),
            ranking: plan.ranking.clone(),
            lease_settings: plan.lease_settings,
            // Not zero, so that renewals and retries take time even if messages take none.
            answer_time: plan.bounds.round_trip().max(Duration::from_micros(1)),
            seed: plan.seed,
            silence_after_restart,
        };
        Self {
            config: Fixed::new(config),
            vote_record: VoteRecord::default(),
            latest_heard_term: Epoch::default(),
            promise: None,
            latest_release: None,
            silent_until: None,
            phase: Phase::Idle,
            failed_campaigns: 0,
        }
    }

    /// ML-12. A node without a saved vote has made no promise, since it saves its vote before it
    /// promises. If it restarts, its client may have asked it to campaign before the crash, so it
    /// campaigns later by itself.
    fn start(&mut self, now: Time, record: VoteRecord, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.vote_record = record;
        let Config { silence_after_restart, lease_settings: LeaseSettings { lease, .. }, .. } = *self.config;
        if record.is_blank() {
            if incarnation != Incarnation::FIRST {
                self.wait_to_campaign(now, lease, out);
            }
            return;
        }
        if record.was_lost {
            out.note("ML-12", format_args!("has lost its disk: it no longer votes"));
        } else {
            out.note("ML-12", format_args!("may have made a promise: it is silent for {silence_after_restart}"));
        }
        self.silent_until = Some(now + silence_after_restart);
        self.wait_to_campaign(now, Duration::ZERO, out);
    }

    /// Returns whether this node may vote, promise and campaign.
    fn may_vote(&self, now: Time) -> bool {
        let is_silent = self.silent_until.is_some_and(|until| now < until);
        !is_silent && !self.vote_record.was_lost && self.config.group.contains(self.config.me)
    }

    /// ML-1.
    fn campaign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let refusal = match &self.phase {
            _ if !self.may_vote(now) => Some(Refusal::NotEligible),
            Phase::Leading(_) => Some(Refusal::AlreadyLeading),
            Phase::Following { .. } => Some(Refusal::LeaseLasts),
            Phase::Campaigning(_) => Some(Refusal::AlreadyRunning),
            Phase::Idle | Phase::Waiting => self.promise.map(|_| Refusal::AlreadyRunning),
        };
        match refusal {
            Some(refusal) => out.emit(Event::Refused(refusal)),
            None => self.start_term("ML-1", now, out),
        }
    }

    /// ML-1. The candidate's own vote is the first, and binds the candidate as any vote binds
    /// its voter. `rule` is the id of the rule that requires the campaign: ML-1, ML-8 or ML-10.
    fn start_term(&mut self, rule: &'static str, now: Time, out: &mut Effects<'_, Self>) {
        let me = self.config.me;
        let term = self.next_term();
        out.note(rule, format_args!("campaigns in term {term}"));
        self.save_vote(term, me, out);
        out.emit(Event::Began { epoch: term });
        self.promise(now, me, term);
        self.change_phase(Phase::Campaigning(Round::new(now, me)), out);
        out.set_timer(Timer::Votes, Span::exactly(self.vote_timeout()));
        out.multicast(&self.config.group, Message::Request { term, requested_at: now });
        self.act_on_majority(now, out);
    }

    fn next_term(&self) -> Epoch {
        let Epoch(latest) = self.vote_record.term.max(self.latest_heard_term);
        Epoch(latest.saturating_add(1))
    }

    /// Saves the vote of a term. No message that depends on it leaves before it is saved.
    fn save_vote(&mut self, term: Epoch, vote: NodeId, out: &mut Effects<'_, Self>) {
        let ballot = Ballot { term, vote };
        self.vote_record.set(ballot);
        out.save(ballot);
    }

    /// ML-2. A promise lasts for a full lease from now on, by this node's clock.
    fn promise(&mut self, now: Time, candidate: NodeId, term: Epoch) {
        self.promise = Some(Promise { candidate, term, until: now + self.config.lease_settings.lease });
    }

    /// Drops a promise of this node to itself, which no other node relies on.
    fn drop_own_promise(&mut self) {
        self.promise = self.promise.filter(|promise| promise.candidate != self.config.me);
    }

    /// ML-7, ML-8 and ML-9. Ends the promise, lease and campaign that have expired by now.
    fn end_expired(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.promise = self.promise.filter(|promise| now < promise.until);
        match &self.phase {
            Phase::Leading(leadership) if now >= leadership.until => {
                out.note("ML-7", format_args!("its lease has expired"));
                self.stop_leading(None, now, out);
            }
            Phase::Campaigning(round) if now >= round.requested_at + self.config.lease_settings.trusted_duration() => {
                self.withdraw(now, out);
            }
            Phase::Following { leader, term, until } if now >= *until => {
                let (leader, epoch) = (*leader, *term);
                out.note("ML-8", format_args!("has received no message of {leader} for a lease"));
                out.emit(Event::Ended { epoch });
                self.wait_to_campaign(now, Duration::ZERO, out);
            }
            Phase::Idle | Phase::Waiting | Phase::Following { .. } | Phase::Campaigning(_) | Phase::Leading(_) => {}
        }
    }

    /// ML-7 and ML-8. Sets the timer for the end of the lease under which this node leads or
    /// follows.
    fn set_lapse_timer(&self, now: Time, out: &mut Effects<'_, Self>) {
        match &self.phase {
            Phase::Leading(Leadership { until, .. }) | Phase::Following { until, .. } => {
                out.set_timer(Timer::Lapse, Span::exactly(until.since(now)));
            }
            Phase::Idle | Phase::Waiting | Phase::Campaigning(_) => {}
        }
    }

    /// ML-8, ML-9. Forgets the leader, and sets a timer to campaign: at the end of the promise and
    /// of the silence that prevent it, plus `extra_delay`, plus a pseudo-random delay. A node that
    /// lost its disk sets no timer, because it never campaigns.
    fn wait_to_campaign(&mut self, now: Time, extra_delay: Duration, out: &mut Effects<'_, Self>) {
        self.change_phase(Phase::Waiting, out);
        if self.vote_record.was_lost {
            return;
        }
        let promised_until = self.promise.map(|promise| promise.until);
        let time_until_free = self.silent_until.max(promised_until).map_or(Duration::ZERO, |until| until.since(now));
        out.set_timer(Timer::Stand, Span::exactly(time_until_free + extra_delay + self.retry_delay()));
    }

    /// ML-8, when the timer of `wait_to_campaign` fires. Waits again if a promise or silence
    /// prevents the campaign.
    fn campaign_if_free(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.phase != Phase::Waiting {
            return;
        }
        if self.promise.is_none() && self.may_vote(now) {
            self.start_term("ML-8", now, out);
        } else {
            self.wait_to_campaign(now, Duration::ZERO, out);
        }
    }

    /// ML-9.
    fn handle_vote_timeout(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if let Phase::Campaigning(_) = self.phase {
            self.withdraw(now, out);
        }
    }

    /// ML-9. Ends the campaign, and campaigns again after a delay. The release also covers the vote
    /// of a voter that has not answered yet.
    fn withdraw(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        out.note("ML-9", format_args!("has too few votes in term {}", self.vote_record.term));
        self.failed_campaigns = self.failed_campaigns.saturating_add(1);
        self.release_voters(None, out);
        self.wait_to_campaign(now, Duration::ZERO, out);
    }

    /// ML-4, ML-7, ML-9 and ML-10. Releases all voters, this node included. The caller makes sure
    /// that this node never again acts on a promise that it has received so far.
    fn release_voters(&mut self, successor: Option<NodeId>, out: &mut Effects<'_, Self>) {
        self.drop_own_promise();
        out.multicast(&self.config.group, Message::Release { term: self.vote_record.term, successor });
    }

    /// Changes the phase, and cancels the timers of the old one.
    fn change_phase(&mut self, phase: Phase, out: &mut Effects<'_, Self>) {
        match core::mem::replace(&mut self.phase, phase) {
            Phase::Idle => {}
            Phase::Waiting => out.cancel_timer(Timer::Stand),
            Phase::Following { .. } => out.cancel_timer(Timer::Lapse),
            Phase::Campaigning(_) => out.cancel_timer(Timer::Votes),
            Phase::Leading(_) => {
                out.cancel_timer(Timer::Lapse);
                out.cancel_timer(Timer::Renew);
            }
        }
    }

    /// Asserts in debug builds that a candidate or leader is bound by its own vote and promise.
    fn assert_invariants(&self) {
        if let Phase::Campaigning(_) | Phase::Leading(_) = self.phase {
            let promised_to = self.promise.map(|promise| promise.candidate);
            debug_assert_eq!(promised_to, Some(self.config.me), "a candidate or leader has a promise to itself");
            debug_assert_eq!(self.vote_record.vote, promised_to, "a candidate or leader has saved its vote for itself");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
