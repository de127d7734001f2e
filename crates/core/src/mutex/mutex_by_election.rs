//! Mutual exclusion by election (a reduction).
//!
//! Those who want in elect one of them, and the winner enters. When it leaves it tells everyone, and those who still want in elect the
//! next one. So entries go by rounds, one election each. Everybody takes part in every round, since on a ring everybody passes messages
//! on, but those who want nothing rank lowest. Of those who do want in, whoever has waited for more rounds ranks higher, so that a high
//! number is not always served first.
//!
//! ```text
//! EX-1  asked to enter                   → stand in the next round, if the last one is over; else wait for its end
//! EX-2  a message of a later round       → take part in it, with the rounds that one has waited for as one's rank, or none
//! EX-3  a message of a round that is
//!       over or was left behind          → drop it: its winner has left
//! EX-4  one has won the round            → enter with the round as fence; who wants in no longer ends the round at once
//! EX-5  asked to leave                   → tell everyone that the round is over
//! EX-6  the round is over                → stand in the next one, if one waits
//! EX-7  asked to give up                 → want nothing any more; a round that was begun goes on without harm
//! EX-8  a try meets a round under way,
//!       or another one wins its round    → deny it
//! ```
//!
//! Cost: over Chang and Roberts' ring n messages to win a round that nobody else stands in, n−1 that announce it and n−1 that end it:
//! 3n−2. With more who want in, up to n(n+1)/2 + 2(n−1). A message time for each node of the ring from asking to entering, and one more
//! from a leave to the next entry. An election is a dear lock: it finds out anew in each round what a queue would remember.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order; nodes need to know no rank but their own to elect, as on
//! a ring. Everyone who asks gets in after at most n−1 entries of others.
//!
//! When it fails: one dead node, even an idle one, breaks the ring and stops everyone; nobody else enters wrongly. One that restarts has
//! forgotten the rounds, and begins to count anew: two may be inside.
//!
//! Try: answered at once if a round is known to be under way; else when its own round has a winner.

use super::prelude::*;
use crate::adapt;
use crate::bounds::Bounds;
use crate::describe::Class;
use crate::election::circuit::{Circuit, Contest};
use crate::election::{self, Announce, Plan, Prefer, Ranking, Repair};
use crate::group::Epoch;
use crate::node::Incarnation;
use alloc::sync::Arc;
use alloc::vec;

#[cfg(test)]
mod tests;

/// What the book says of it, over Chang and Roberts' ring.
pub const FACTS: Facts = Facts {
    fairness: Fairness::FromAsking(|nodes| nodes as u64 - 1),
    ..Facts::new(
        Profile {
            name: "mutex-by-election",
            class: "by reduction",
            summary: "whoever wins an election among those who want in enters",
            source: include_str!("mutex_by_election.rs"),
            flaw: None,
            checkable: true,
        },
        Cost {
            messages: "3n−2 … n(n+1)/2 + 2(n−1)",
            client: "nT",
            sync: "(n+1)T",
            total: |case, entries| match (case.nodes(), case.load) {
                (0 | 1, _) => Range::exactly(0),
                (nodes, Load::Alone(_)) => Range::exactly(3 * nodes - 2).times(entries),
                (nodes, Load::Everyone | Load::Some) => {
                    Range::between(3 * nodes - 2, nodes * (nodes + 1) / 2 + 2 * (nodes - 1)).times(entries)
                }
            },
            // Word of the last leave may still be under way.
            client_delay: |case| match case.load {
                Load::Alone(_) => Range::exactly(case.nodes()),
                Load::Everyone | Load::Some => Range::between(case.nodes(), case.nodes() + 1),
            },
            sync_delay: |case| Range::exactly(case.nodes() + 1),
        },
    )
};

/// An election whose nodes need to know no rank but their own, since messages tell those of others.
pub trait Poll: Protocol<Command = election::Command, Event = election::Event> {
    /// A node of a group that elects once.
    fn of_plan(me: NodeId, plan: Arc<Plan>) -> Self;
}

impl<C: Contest> Poll for Circuit<C> {
    fn of_plan(me: NodeId, plan: Arc<Plan>) -> Self {
        Self::new(me, plan)
    }
}

/// One node of a mutual exclusion by the election `E`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexByElection<E> {
    place: Fixed<Place>,
    phase: Phase<Waiting, ()>,
    /// The latest round that it knows of.
    round: u64,
    /// This node's part in that round, unless it is over.
    poll: Option<E>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    /// What all rounds have in common.
    plan: Plan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    patience: Patience,
    /// The latest round that was over when it was made: it waits for all that come after.
    since: u64,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message<M> {
    /// The election's own message, of this round.
    Round { number: u64, message: M },
    /// The winner of this round has left.
    Over { number: u64 },
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Round { message, .. } => message.kind(),
            Self::Over { .. } => "over",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Round { message, .. } => message.class(),
            Self::Over { .. } => Class::Algorithm,
        }
    }
}

impl<E: Poll> MutexByElection<E> {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        let plan = Plan { announce: Announce::Multicast, repair: Repair::None, ..Plan::new(group.len(), bounds) };
        let place = Fixed::new(Place { me, plan: Plan { group, ..plan } });
        Self { place, phase: Phase::Idle, round: 0, poll: None }
    }

    /// EX-1, EX-8.
    fn request(&mut self, now: Time, patience: Patience, out: &mut Effects<'_, Self>) {
        if patience == Patience::Try && self.poll.is_some() {
            out.note("EX-8", format_args!("round {} is under way", self.round));
            return out.emit(Event::Denied);
        }
        match self.poll {
            None => {
                self.phase = Phase::Waiting(Waiting { patience, since: self.round });
                self.stand(now, "EX-1", out);
            }
            // It waits for this round too, so that whoever wins it cannot come back and be first again.
            Some(_) => {
                self.phase = Phase::Waiting(Waiting { patience, since: self.round.saturating_sub(1) });
                out.note("EX-1", format_args!("waits for the end of round {}", self.round));
            }
        }
    }

    /// EX-1, EX-6.
    fn stand(&mut self, now: Time, rule: &'static str, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("stands in round {}", self.round.saturating_add(1)));
        self.join(now, self.round.saturating_add(1), out);
        self.pass(now, Input::Command(election::Command::Campaign), out);
    }

    /// EX-2. This node's rank stays what it is as long as the round lasts.
    fn join(&mut self, now: Time, round: u64, out: &mut Effects<'_, Self>) {
        self.round = round;
        let Place { me, plan } = &*self.place;
        let waited = self.phase.waiting().map_or(0, |request| round.saturating_sub(request.since));
        let mut attributes = vec![0; me.index()];
        attributes.push(waited);
        let plan = Plan { ranking: Ranking::by_attribute(attributes, Prefer::Highest), ..plan.clone() };
        self.poll = Some(E::of_plan(*me, Arc::new(plan)));
        self.pass(now, Input::Start { durable: E::Durable::default(), incarnation: Incarnation::FIRST }, out);
    }

    /// EX-2, EX-3.
    fn hear(&mut self, now: Time, from: NodeId, number: u64, message: E::Message, out: &mut Effects<'_, Self>) {
        let is_over = number == self.round && self.poll.is_none();
        // Whoever is inside ends its round itself, and there is none after it.
        let is_inside = self.phase.inside().is_some() && number != self.round;
        if number < self.round || is_over || is_inside {
            return out.note("EX-3", format_args!("drops what {from} sent in round {number}"));
        }
        if number > self.round {
            self.deny_try(out);
            out.note("EX-2", format_args!("takes part in round {number}"));
            self.join(now, number, out);
        }
        self.pass(now, Input::Message { from, message }, out);
    }

    /// This node's part in the round takes an input, and whatever it tells is acted on.
    fn pass(&mut self, now: Time, input: Input<E>, out: &mut Effects<'_, Self>) {
        let (me, number) = (self.place.me, self.round);
        let Some(poll) = &mut self.poll else { return };
        for event in adapt::pass(poll, now, input, |message| Message::Round { number, message }, out) {
            match event {
                election::Event::Elected { leader, .. } if leader == me => self.win(out),
                election::Event::Elected { .. } => self.deny_try(out),
                election::Event::Began { .. }
                | election::Event::Extended { .. }
                | election::Event::Ended { .. }
                | election::Event::Refused(_) => {}
            }
        }
    }

    /// EX-4. Rounds follow one another, and each begins when the winner of the last one has left.
    fn win(&mut self, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Waiting(_) => {
                out.note("EX-4", format_args!("has won round {}", self.round));
                self.phase = Phase::Inside(());
                out.emit(Event::entered(Fence { epoch: Epoch(0), counter: self.round }));
            }
            Phase::Idle => {
                out.note("EX-4", format_args!("has won round {}, but wants in no longer", self.round));
                self.end_round(out);
            }
            Phase::Inside(()) => {}
        }
    }

    /// EX-5.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        out.note("EX-5", format_args!("ends round {}", self.round));
        self.end_round(out);
    }

    fn end_round(&mut self, out: &mut Effects<'_, Self>) {
        self.poll = None;
        if self.place.plan.group.len() > 1 {
            out.multicast(&self.place.plan.group, Message::Over { number: self.round });
        }
    }

    /// EX-6.
    fn hear_end(&mut self, now: Time, number: u64, out: &mut Effects<'_, Self>) {
        if number < self.round || self.phase.inside().is_some() {
            return out.note("EX-3", format_args!("knows already that round {number} is over"));
        }
        self.round = number;
        self.poll = None;
        self.deny_try(out);
        if self.phase.waiting().is_some() {
            self.stand(now, "EX-6", out);
        }
    }

    /// EX-7. If it wins all the same, EX-4 ends the round at once.
    fn give_up(&mut self, out: &mut Effects<'_, Self>) {
        out.note("EX-7", format_args!("wants nothing any more"));
        self.phase.end();
        out.emit(Event::Cancelled);
    }

    /// EX-8. A try stands in one round only.
    fn deny_try(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.waiting().is_some_and(|request| request.patience == Patience::Try) {
            out.note("EX-8", format_args!("another one goes first"));
            self.phase.end();
            out.emit(Event::Denied);
        }
    }
}

impl<E: Poll> Protocol for MutexByElection<E> {
    type Command = Command;
    type Message = Message<E::Message>;
    type Timer = E::Timer;
    type Event = Event;
    type Durable = E::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(now, patience, out),
                Wish::Leave => self.leave(out),
                Wish::GiveUp => self.give_up(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message: Message::Round { number, message } } => {
                self.hear(now, from, number, message, out);
            }
            Input::Message { from: _, message: Message::Over { number } } => self.hear_end(now, number, out),
            Input::Timer(timer) => self.pass(now, Input::Timer(timer), out),
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
    }
}
