//! Majority lease: Chubby's master election (Burrows, 2006).
//!
//! A candidate asks everyone for its vote in a new term, and a majority makes it master. Whoever votes also promises to vote for
//! nobody else for a while, its lease, and the master may act for that while alone. It asks again long before the lease is over, and
//! for as long as a majority agrees it stays. Nobody else can have a majority meanwhile, so there are never two masters, not even
//! where a partition hides each from the other. A master that cannot renew its lease knows by its own clock when to stop.
//!
//! ```text
//! ML-1   asked to campaign              → begin the next term, vote for oneself, save that, and ask everyone
//! ML-2   asked for a vote               → the first who asks in a term gets it, unless another has our promise; save the vote, promise
//!                                         the lease from now on, then answer
//! ML-3   a majority has voted           → lead, for as long as the lease can be trusted since before we asked; tell everyone
//! ML-4   a master is heard of           → follow it for one lease, unless its term is over
//! ML-5   a part of the lease has passed → the master asks everyone again; whoever has promised nothing to another promises anew
//! ML-6   a majority has promised anew   → lead for longer, counted from before we asked; answers to other rounds do not count
//! ML-7   the lease runs out unrenewed   → lead no longer
//! ML-8   nothing was heard for a lease  → know no leader, and campaign after a wait that differs from node to node
//! ML-9   the votes do not suffice       → release those who voted, and campaign again after such a wait
//! ML-10  asked to resign                → lead no longer, and release all voters; who is named as successor campaigns at once
//! ML-11  released by whom we promised   → the promise is over
//! ML-12  started again                  → be silent for a full lease: neither vote nor promise nor campaign
//! ML-13  a later term is heard of       → the master has itself elected in a later one yet, and leads on meanwhile
//! ```
//!
//! Cost: 2(n−1) messages to elect and n−1 to announce, when one node starts. Renewals, 2(n−1) each time, and releases are counted as
//! control. A planned handover takes 3T from the resignation to the next master; a dead master is missed for a lease.
//!
//! Assumes: a majority is up and can talk; disks keep what they confirmed; every clock runs at a rate between 1−ρ and 1+ρ. What it
//! shows does not matter. A promise of L then lasts for L/(1+ρ) at least in true time, and a master that trusts its lease for L·(1−ρ)/(1+ρ)
//! of its own clock does so for L/(1+ρ) at most, and began before the promise did. One that starts again after its promise and counts a full
//! L is silent for L/(1+ρ) at least, from later than the promise on. So L is enough, whatever its clock showed in its last life.
//!
//! When it fails: nodes may crash and come back with their disks, stand still and be cut off; messages may be lost, repeated and
//! reordered. Without a majority there is no master. With clocks that drift further than the bound, or voters that forget a promise,
//! there may be two. One whose disk was lost could vote twice in a term, so it only follows from then on. A master that acts
//! on something which checks nothing must look at its clock after each pause.
//!
//! Departs from the paper: candidates that fail release their voters, and so does a master that resigns or gives up; else each
//! would cost a lease.

mod facts;
mod hearing;
mod ledger;
mod message;
mod pace;
mod reign;

pub use facts::FACTS;
pub use ledger::{Ballot, Ledger};
pub use message::{Message, Timer};

use super::{Command, Event, Plan, Ranking, Refusal, Tenure};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use reign::{Reign, Round};

/// One node of the algorithm: a voter that may stand and lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MajorityLease {
    place: Fixed<Place>,
    /// The latest term in which it took part, and its vote, as its disk has them or soon will.
    ledger: Ledger,
    /// The latest term that anybody spoke of.
    heard: Epoch,
    promise: Option<Promise>,
    /// Who last said that it is through with all terms up to this one. What that one sent before may still arrive.
    farewell: Option<(NodeId, Epoch)>,
    /// Up to when it is silent, because it may have promised something in its last life.
    silent_until: Option<Time>,
    phase: Phase,
    /// How many times it stood in vain since there was a leader.
    failures: u32,
}

#[derive(Clone, Debug)]
struct Place {
    me: NodeId,
    group: Group,
    ranking: Ranking,
    tenure: Tenure,
    /// How long an answer takes at most; waits are multiples of it.
    answer: Duration,
    seed: u64,
    silence: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    to: NodeId,
    term: Epoch,
    until: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Following { leader: NodeId, term: Epoch, until: Time },
    Standing(Round),
    Leading(Reign),
}

impl Protocol for MajorityLease {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = Ledger;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        if let Input::Start { durable, incarnation } = input {
            return self.start(now, durable, incarnation, out);
        }
        // Whatever comes, it comes after all that has run out.
        self.lapse(now, out);
        match input {
            Input::Command(Command::Campaign) => self.campaign(now, out),
            Input::Command(Command::Resign) => self.resign(now, out),
            Input::Message { from, message } => self.hear(now, from, message, out),
            Input::Timer(Timer::Lapse) => self.watch(now, out),
            Input::Timer(Timer::Renew) => self.renew(now, out),
            Input::Timer(Timer::Votes) => self.miss_votes(now, out),
            Input::Timer(Timer::Stand) => self.stand_if_free(now, out),
            // What must wait for the disk does so by itself, and the members never change.
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
        self.assert_invariants();
    }
}

impl MajorityLease {
    /// A node of a group that elects like this.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self::with_silence(me, plan, plan.tenure.lease)
    }

    /// The same, silent for so long when it starts again. It is for those who choose the length to see that it is a full lease.
    pub fn with_silence(me: NodeId, plan: &Plan, silence: Duration) -> Self {
        let place = Place {
            me,
            group: plan.group.clone(),
            ranking: plan.ranking.clone(),
            tenure: plan.tenure,
            answer: plan.bounds.answer().max(Duration::from_micros(1)),
            seed: plan.seed,
            silence,
        };
        Self {
            place: Fixed::new(place),
            ledger: Ledger::default(),
            heard: Epoch::default(),
            promise: None,
            farewell: None,
            silent_until: None,
            phase: Phase::Idle,
            failures: 0,
        }
    }

    /// ML-12. One that never took part has promised nothing: what it promises, it saves a term for first. If it lived before, it may
    /// have been told to campaign in vain, and others may wait for it.
    fn start(&mut self, now: Time, ledger: Ledger, life: Incarnation, out: &mut Effects<'_, Self>) {
        self.ledger = ledger;
        let Place { silence, tenure: Tenure { lease, .. }, .. } = *self.place;
        if ledger.is_blank() {
            if life != Incarnation::FIRST {
                self.wait(now, lease, out);
            }
            return;
        }
        if ledger.was_lost {
            out.note("ML-12", format_args!("has lost its disk: it votes no more"));
        } else {
            out.note("ML-12", format_args!("may have promised something: it is silent for {silence}"));
        }
        self.silent_until = Some(now + silence);
        self.wait(now, Duration::ZERO, out);
    }

    fn has_a_say(&self, now: Time) -> bool {
        let is_silent = self.silent_until.is_some_and(|until| now < until);
        !is_silent && !self.ledger.was_lost && self.place.group.contains(self.place.me)
    }

    /// ML-1.
    fn campaign(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let refusal = match &self.phase {
            _ if !self.has_a_say(now) => Some(Refusal::NotEligible),
            Phase::Leading(_) => Some(Refusal::AlreadyLeading),
            Phase::Following { .. } => Some(Refusal::LeaseLasts),
            Phase::Standing(_) => Some(Refusal::AlreadyRunning),
            Phase::Idle | Phase::Waiting => self.promise.map(|_| Refusal::AlreadyRunning),
        };
        match refusal {
            Some(refusal) => out.emit(Event::Refused(refusal)),
            None => self.stand("ML-1", now, out),
        }
    }

    /// ML-1. Its own vote is the first, and binds it like those of others.
    fn stand(&mut self, rule: &'static str, now: Time, out: &mut Effects<'_, Self>) {
        let me = self.place.me;
        let term = self.next_term();
        out.note(rule, format_args!("stands in term {term}"));
        self.record(term, me, out);
        out.emit(Event::Began { epoch: term });
        self.promise(now, me, term);
        self.turn(Phase::Standing(Round::new(now, me)), out);
        out.set_timer(Timer::Votes, Span::exactly(self.patience()));
        out.multicast(&self.place.group, Message::Request { term, asked: now });
        self.count(now, out);
    }

    fn next_term(&self) -> Epoch {
        let Epoch(latest) = self.ledger.term.max(self.heard);
        Epoch(latest.saturating_add(1))
    }

    /// The vote of a term, on the disk before anybody hears of it.
    fn record(&mut self, term: Epoch, vote: NodeId, out: &mut Effects<'_, Self>) {
        let ballot = Ballot { term, vote };
        self.ledger.cast(ballot);
        out.save(ballot);
    }

    /// ML-2. A promise lasts for a full lease from now, by our own clock.
    fn promise(&mut self, now: Time, to: NodeId, term: Epoch) {
        self.promise = Some(Promise { to, term, until: now + self.place.tenure.lease });
    }

    /// Who votes for itself may do as it likes when it has given up: nobody else relies on that vote.
    fn forgive(&mut self) {
        self.promise = self.promise.filter(|promise| promise.to != self.place.me);
    }

    /// ML-7, ML-8 and ML-9. Everything that has run out by now.
    fn lapse(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.promise = self.promise.filter(|promise| now < promise.until);
        match &self.phase {
            Phase::Leading(reign) if now >= reign.until => {
                out.note("ML-7", format_args!("its lease has run out"));
                self.end_reign(None, now, out);
            }
            Phase::Standing(round) if now >= round.asked + self.place.tenure.trusted() => self.withdraw(now, out),
            Phase::Following { leader, term, until } if now >= *until => {
                let (leader, epoch) = (*leader, *term);
                out.note("ML-8", format_args!("has not heard of {leader} for a lease"));
                out.emit(Event::Ended { epoch });
                self.wait(now, Duration::ZERO, out);
            }
            Phase::Idle | Phase::Waiting | Phase::Following { .. } | Phase::Standing(_) | Phase::Leading(_) => {}
        }
    }

    /// ML-7 and ML-8. Looks again when what it relies on runs out.
    fn watch(&self, now: Time, out: &mut Effects<'_, Self>) {
        match &self.phase {
            Phase::Leading(Reign { until, .. }) | Phase::Following { until, .. } => {
                out.set_timer(Timer::Lapse, Span::exactly(until.since(now)));
            }
            Phase::Idle | Phase::Waiting | Phase::Standing(_) => {}
        }
    }

    /// ML-8, ML-9. Knows no leader, and campaigns when it is free to and the others had their chance.
    fn wait(&mut self, now: Time, courtesy: Duration, out: &mut Effects<'_, Self>) {
        self.turn(Phase::Waiting, out);
        if self.ledger.was_lost {
            return;
        }
        let promised = self.promise.map(|promise| promise.until);
        let free = self.silent_until.max(promised).map_or(Duration::ZERO, |until| until.since(now));
        out.set_timer(Timer::Stand, Span::exactly(free + courtesy + self.pause()));
    }

    /// ML-8.
    fn stand_if_free(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.phase != Phase::Waiting {
            return;
        }
        if self.promise.is_none() && self.has_a_say(now) {
            self.stand("ML-8", now, out);
        } else {
            self.wait(now, Duration::ZERO, out);
        }
    }

    /// ML-9.
    fn miss_votes(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if let Phase::Standing(_) = self.phase {
            self.withdraw(now, out);
        }
    }

    /// ML-9. Who has not answered yet may still vote; the release follows its question.
    fn withdraw(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        out.note("ML-9", format_args!("has too few votes in term {}", self.ledger.term));
        self.failures = self.failures.saturating_add(1);
        self.release(None, out);
        self.wait(now, Duration::ZERO, out);
    }

    /// ML-9 and ML-10. It will never again act on anything it was promised so far.
    fn release(&mut self, successor: Option<NodeId>, out: &mut Effects<'_, Self>) {
        self.forgive();
        out.multicast(&self.place.group, Message::Release { term: self.ledger.term, successor });
    }

    /// Stands differently from now on. The timers of the past mean nothing any more.
    fn turn(&mut self, phase: Phase, out: &mut Effects<'_, Self>) {
        match core::mem::replace(&mut self.phase, phase) {
            Phase::Idle => {}
            Phase::Waiting => out.cancel_timer(Timer::Stand),
            Phase::Following { .. } => out.cancel_timer(Timer::Lapse),
            Phase::Standing(_) => out.cancel_timer(Timer::Votes),
            Phase::Leading(_) => {
                out.cancel_timer(Timer::Lapse);
                out.cancel_timer(Timer::Renew);
            }
        }
    }

    fn assert_invariants(&self) {
        if let Phase::Standing(_) | Phase::Leading(_) = self.phase {
            let to = self.promise.map(|promise| promise.to);
            debug_assert_eq!(to, Some(self.place.me), "who stands or leads votes for nobody else");
            debug_assert_eq!(self.ledger.vote, to, "and has saved that");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
