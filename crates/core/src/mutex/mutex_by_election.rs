//! Mutual exclusion by election (a reduction).
//!
//! The nodes that want to enter elect one of them, and the winner enters. On its release it
//! notifies all nodes, and those that still want to enter elect the next. So each entry is a round
//! with one election. All nodes take part in every round, since on a ring every node forwards
//! messages, but idle nodes rank lowest. Among the candidates, a node that has waited for more
//! rounds ranks higher, so that high node numbers are not always served first.
//!
//! ```text
//! EX-1  the client asks to enter         → become a candidate in the next round, if no round is in
//!                                          progress; else wait for its end
//! EX-2  a message of a later round       → take part in it; our rank is the number of rounds that
//!                                          we have waited for, or 0
//! EX-3  a message of an earlier round,
//!       or of the current, ended round   → drop it: the winner has ended that round
//! EX-4  we have won the round            → enter with the round as fence; if the request was
//!                                          cancelled, end the round at once
//! EX-5  the client releases              → notify all nodes that the round has ended
//! EX-6  the round has ended              → become a candidate in the next one, if the client waits
//! EX-7  the client cancels               → become idle; a round that has begun continues without
//!                                          harm
//! EX-8  a try comes during a round,
//!       or another node wins its round   → deny it
//! ```
//!
//! Cost: over Chang and Roberts' ring, n messages to win a round with one candidate, n−1 that
//! announce the winner and n−1 that end the round: 3n−2. With more candidates, up to n(n+1)/2 +
//! 2(n−1). Client delay: n message times, in which the rank of the winner travels once around the
//! ring. Synchronization delay: n+1 message times, one for the message that ends the round and n
//! for the next election. An election is an expensive lock: each round computes again the order
//! that a queue would store.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order; the election
//! needs no rank but the node's own, as on a ring. Every request is granted after at most n−1
//! entries of other nodes.
//!
//! When it fails: one crashed node, even an idle one, breaks the ring and blocks all others; none
//! of them enters wrongly. A restarted node has forgotten the rounds and counts from the start
//! again: two nodes may enter.
//!
//! Try: denied at once if the node knows of a current round; else decided when the round that it
//! begins has a winner.

use super::prelude::*;
use crate::adapt;
use crate::bounds::Bounds;
use crate::describe::Class;
use crate::election::circuit::{Circuit, Contest};
use crate::election::{self, AnnouncementMode, Plan, Preference, Ranking, Repair};
use crate::group::Epoch;
use crate::node::Incarnation;
use alloc::sync::Arc;
use alloc::vec;

#[cfg(test)]
mod tests;

/// Expected figures over Chang and Roberts' ring.
pub const FACTS: Facts = Facts {
    fairness: Fairness::FromRequest(|nodes| nodes as u64 - 1),
    ..Facts::new(
        Profile {
            name: "mutex-by-election",
            class: "by reduction",
            summary: "nodes that want to enter elect one of them, which enters",
            source: include_str!("mutex_by_election.rs"),
            flaw: None,
            is_checkable: true,
        },
        Cost {
            messages_formula: "3n−2 … n(n+1)/2 + 2(n−1)",
            client_delay_formula: "nT",
            sync_delay_formula: "(n+1)T",
            message_count: |case, entries| match (case.nodes(), case.load) {
                (0 | 1, _) => Range::exactly(0),
                (nodes, Load::OneNode(_)) => Range::exactly(3 * nodes - 2).times(entries),
                (nodes, Load::AllNodes | Load::SomeNodes) => {
                    Range::between(3 * nodes - 2, nodes * (nodes + 1) / 2 + 2 * (nodes - 1)).times(entries)
                }
            },
            // The message that ends the last round may still be in transit.
            client_delay: |case| match case.load {
                Load::OneNode(_) => Range::exactly(case.nodes()),
                Load::AllNodes | Load::SomeNodes => Range::between(case.nodes(), case.nodes() + 1),
            },
            sync_delay: |case| Range::exactly(case.nodes() + 1),
        },
    )
};

/// The election of one round. Its nodes need only their own rank, because messages carry the ranks
/// of others.
pub trait RoundElection: Protocol<Command = election::Command, Event = election::Event> {
    /// Creates a node of a group that elects once.
    fn from_plan(me: NodeId, plan: Arc<Plan>) -> Self;
}

impl<C: Contest> RoundElection for Circuit<C> {
    fn from_plan(me: NodeId, plan: Arc<Plan>) -> Self {
        Self::new(me, plan)
    }
}

/// A node that uses the election `E` for mutual exclusion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexByElection<E> {
    config: Fixed<Config>,
    phase: Phase<Waiting, ()>,
    /// The latest round that this node knows of.
    round: u64,
    /// This node's election state in that round; `None` if the round has ended.
    election: Option<E>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    /// The settings that all rounds share.
    plan: Plan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    patience: Patience,
    /// The latest round that had ended when the request was made. Each later round counts as one
    /// that the request has waited for.
    last_ended_round: u64,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message<M> {
    /// A message of the election in this round.
    Round { number: u64, message: M },
    /// The winner has ended this round: it has released, or had cancelled its request.
    #[cfg_attr(feature = "serde", serde(rename = "over"))]
    RoundEnded { number: u64 },
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Round { message, .. } => message.kind(),
            Self::RoundEnded { .. } => "round-ended",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Round { message, .. } => message.class(),
            Self::RoundEnded { .. } => Class::Algorithm,
        }
    }
}

impl<E: RoundElection> MutexByElection<E> {
    /// Creates an idle node of this group.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        let plan =
            Plan { announcement: AnnouncementMode::Multicast, repair: Repair::None, ..Plan::new(group.len(), bounds) };
        let config = Fixed::new(Config { me, plan: Plan { group, ..plan } });
        Self { config, phase: Phase::Idle, round: 0, election: None }
    }

    /// EX-1, EX-8.
    fn request(&mut self, now: Time, patience: Patience, out: &mut Effects<'_, Self>) {
        if patience == Patience::Try && self.election.is_some() {
            out.note("EX-8", format_args!("round {} is in progress", self.round));
            return out.emit(Event::Denied);
        }
        match self.election {
            None => {
                self.phase = Phase::Waiting(Waiting { patience, last_ended_round: self.round });
                self.become_candidate(now, "EX-1", out);
            }
            // The current round counts as one that we have waited for, so that its winner, which
            // may request again, cannot win the next one too.
            Some(_) => {
                self.phase = Phase::Waiting(Waiting { patience, last_ended_round: self.round.saturating_sub(1) });
                out.note("EX-1", format_args!("waits for the end of round {}", self.round));
            }
        }
    }

    /// EX-1, EX-6.
    fn become_candidate(&mut self, now: Time, rule: &'static str, out: &mut Effects<'_, Self>) {
        out.note(rule, format_args!("is a candidate in round {}", self.round.saturating_add(1)));
        self.join_round(now, self.round.saturating_add(1), out);
        self.pass_to_election(now, Input::Command(election::Command::Campaign), out);
    }

    /// EX-2. Joins a round with a new election state. This node's rank does not change during the
    /// round.
    fn join_round(&mut self, now: Time, round: u64, out: &mut Effects<'_, Self>) {
        self.round = round;
        let Config { me, plan } = &*self.config;
        let waited_rounds = self.phase.waiting().map_or(0, |request| round.saturating_sub(request.last_ended_round));
        // Only our own rank, at our index, matters: messages carry the ranks of the others.
        let mut attributes = vec![0; me.index()];
        attributes.push(waited_rounds);
        let plan = Plan { ranking: Ranking::by_attribute(attributes, Preference::Highest), ..plan.clone() };
        self.election = Some(E::from_plan(*me, Arc::new(plan)));
        self.pass_to_election(
            now,
            Input::Start { durable: E::Durable::default(), incarnation: Incarnation::FIRST },
            out,
        );
    }

    /// EX-2, EX-3.
    fn on_round_message(
        &mut self,
        now: Time,
        from: NodeId,
        number: u64,
        message: E::Message,
        out: &mut Effects<'_, Self>,
    ) {
        let has_ended = number == self.round && self.election.is_none();
        // While this node is in the critical section, its round has not ended, so no other node can
        // have begun a later one.
        let is_impossible = self.phase.inside().is_some() && number > self.round;
        if number < self.round || has_ended || is_impossible {
            return out.note("EX-3", format_args!("drops a message from {from} of round {number}"));
        }
        if number > self.round {
            self.deny_try(out);
            out.note("EX-2", format_args!("takes part in round {number}"));
            self.join_round(now, number, out);
        }
        self.pass_to_election(now, Input::Message { from, message }, out);
    }

    /// Passes an input to this node's election and acts on its events.
    fn pass_to_election(&mut self, now: Time, input: Input<E>, out: &mut Effects<'_, Self>) {
        let (me, number) = (self.config.me, self.round);
        let Some(election) = &mut self.election else { return };
        for event in adapt::step_inner(election, now, input, |message| Message::Round { number, message }, out) {
            match event {
                election::Event::Elected { leader, .. } if leader == me => self.on_win(out),
                election::Event::Elected { .. } => self.deny_try(out),
                election::Event::Began { .. }
                | election::Event::Extended { .. }
                | election::Event::Ended { .. }
                | election::Event::Refused(_) => {}
            }
        }
    }

    /// EX-4. A round begins only after the winner of the previous one has ended that one.
    fn on_win(&mut self, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Waiting(_) => {
                out.note("EX-4", format_args!("has won round {}", self.round));
                self.phase = Phase::Inside(());
                out.emit(Event::entered(Fence { epoch: Epoch(0), counter: self.round }));
            }
            Phase::Idle => {
                out.note("EX-4", format_args!("has won round {}, but its request was cancelled", self.round));
                self.end_round(out);
            }
            Phase::Inside(()) => {}
        }
    }

    /// EX-5.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        out.note("EX-5", format_args!("ends round {}", self.round));
        self.end_round(out);
    }

    /// Ends the current round, and notifies all other nodes.
    fn end_round(&mut self, out: &mut Effects<'_, Self>) {
        self.election = None;
        if self.config.plan.group.len() > 1 {
            out.multicast(&self.config.plan.group, Message::RoundEnded { number: self.round });
        }
    }

    /// EX-6.
    fn on_round_end(&mut self, now: Time, number: u64, out: &mut Effects<'_, Self>) {
        if number < self.round || self.phase.inside().is_some() {
            return out.note("EX-3", format_args!("ignores the end of round {number}"));
        }
        self.round = number;
        self.election = None;
        self.deny_try(out);
        if self.phase.waiting().is_some() {
            self.become_candidate(now, "EX-6", out);
        }
    }

    /// EX-7. If the node wins all the same, EX-4 ends the round at once.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        out.note("EX-7", format_args!("cancels its request"));
        self.phase.end();
        out.emit(Event::Cancelled);
    }

    /// EX-8. A try takes part in one round only.
    fn deny_try(&mut self, out: &mut Effects<'_, Self>) {
        if self.phase.waiting().is_some_and(|request| request.patience == Patience::Try) {
            out.note("EX-8", format_args!("another node goes first"));
            self.phase.end();
            out.emit(Event::Denied);
        }
    }
}

impl<E: RoundElection> Protocol for MutexByElection<E> {
    type Command = Command;
    type Message = Message<E::Message>;
    type Timer = E::Timer;
    type Event = Event;
    type Durable = E::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(now, patience, out),
                Intent::Release => self.release(out),
                Intent::Cancel => self.cancel(out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message: Message::Round { number, message } } => {
                self.on_round_message(now, from, number, message, out);
            }
            Input::Message { from: _, message: Message::RoundEnded { number } } => self.on_round_end(now, number, out),
            Input::Timer(timer) => self.pass_to_election(now, Input::Timer(timer), out),
            Input::Start { .. } | ignored_inputs!() => {}
        }
    }
}
