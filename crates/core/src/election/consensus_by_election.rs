//! Consensus by election (a reduction).
//!
//! A group that can elect can decide: every node proposes a value, and the proposal of the elected
//! node is decided. So an election is at least as hard as consensus, and neither is solvable in an
//! asynchronous system in which even one node may crash undetected. A node's proposal is the
//! attribute that its rank is made of, or its number if there are no attributes. The leader sends
//! its proposal to all nodes, and a node reports the leader only when it holds the decision.
//!
//! ```text
//! CE-1  any input but a decision   → pass it to the inner election, and handle its events
//! CE-2  the election makes this
//!       node the leader            → decide the value held from an earlier epoch, or else its own
//!                                    proposal; send it to all
//! CE-3  a decision arrives         → hold it, unless this node holds one of the same or a later
//!                                    epoch
//! CE-4  the leader and its
//!       decision are known         → report the leader to the client
//! ```
//!
//! Cost: that of the election, plus n−1 messages for the decision. Over Chang and Roberts' ring
//! with one starter: at most 3n−1 and n−1.
//!
//! Assumes: what the inner election assumes; for a single lasting decision, also that no node
//! crashes.
//!
//! When it fails: each epoch decides one value, since it has one leader. A leader of a later epoch
//! keeps the earlier decision if it knows it. But if a leader crashes after it sent its decision to
//! only some nodes, the next epoch may decide another value. To prevent that, a majority must hold
//! a value before it is decided, as in the replicated log. Decisions are not saved.

use super::circuit::Circuit;
use super::{
    Case, ChangRoberts, Command, Cost, Counts, Event, ExpectedMessages, Facts, Plan, Structure, chang_roberts,
};
use crate::about::Profile;
use crate::adapt;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::group::{Epoch, Group};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::sync::Arc;

#[cfg(test)]
mod tests;

/// The algorithm's properties and expected costs, over Chang and Roberts' ring.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "consensus-by-election",
        class: "by reduction",
        summary: "the group decides what the elected node proposes",
        source: include_str!("consensus_by_election.rs"),
        flaw: None,
        is_checkable: true,
    },
    Structure::Ring,
    Cost { formula: "as chang-roberts, + (n−1)", expected_messages },
);

/// Adds the decision to the messages of the ring election: the leader sends it to every node of the
/// group, dead ones included. It counts as an announcement, so figures without announcements stay
/// the same.
fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let expected_messages = (chang_roberts::FACTS.cost.expected_messages)(case)?;
    let peers = (case.live_nodes + case.dead_nodes).saturating_sub(1) as f64;
    let with_decision = |messages: Option<f64>| messages.map(|messages| messages + peers);
    match expected_messages.counts {
        Counts::Election => Some(expected_messages),
        Counts::WithAnnouncement => Some(ExpectedMessages {
            min: with_decision(expected_messages.min),
            mean: with_decision(expected_messages.mean),
            max: with_decision(expected_messages.max),
            ..expected_messages
        }),
    }
}

/// A node that decides by Chang and Roberts' election.
pub type ConsensusByRing = ConsensusByElection<ChangRoberts>;

impl ConsensusByRing {
    /// Creates a node of a group with this plan.
    pub fn from_plan(me: NodeId, plan: &Arc<Plan>) -> Self {
        Self::new(me, plan, Circuit::new(me, Arc::clone(plan)))
    }
}

/// A node that decides by the election `E`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsensusByElection<E> {
    me: NodeId,
    group: Group,
    proposal: u64,
    election: E,
    /// The leader and epoch of the inner election's latest result; `None` while it has no leader.
    result: Option<(NodeId, Epoch)>,
    /// The latest decision that this node knows.
    decision: Option<Decision>,
}

/// A value that a group has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decision {
    pub epoch: Epoch,
    pub value: u64,
}

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message<M> {
    Election(M),
    Decided(Decision),
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Election(message) => message.kind(),
            Self::Decided(_) => "decided",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Election(message) => message.class(),
            Self::Decided(_) => Class::Announcement,
        }
    }
}

impl<E> ConsensusByElection<E>
where
    E: Protocol<Command = Command, Event = Event>,
{
    /// Creates a node of a group with this plan over `election`, its part of the inner election.
    pub fn new(me: NodeId, plan: &Plan, election: E) -> Self {
        let proposal = plan.ranking.attribute(me).unwrap_or(u64::from(me.number()));
        Self { me, group: plan.group.clone(), proposal, election, result: None, decision: None }
    }

    /// Returns the latest decision that this node knows.
    pub const fn decision(&self) -> Option<Decision> {
        self.decision
    }

    /// CE-1. Passes an input to the inner election and handles its events.
    fn step_election(&mut self, now: Time, input: Input<E>, out: &mut Effects<'_, Self>) {
        for event in adapt::step_inner(&mut self.election, now, input, Message::Election, out) {
            match event {
                Event::Began { .. } | Event::Ended { .. } => {
                    self.result = None;
                    out.emit(event);
                }
                Event::Elected { leader, epoch, .. } => {
                    self.result = Some((leader, epoch));
                    if leader == self.me {
                        self.decide(epoch, out);
                    }
                    self.report_leader(out);
                }
                Event::Extended { .. } | Event::Refused(_) => out.emit(event),
            }
        }
    }

    /// CE-2.
    fn decide(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let value = self.decision.map_or(self.proposal, |held| held.value);
        out.note("CE-2", format_args!("decides {value} in epoch {epoch}"));
        let decision = Decision { epoch, value };
        self.decision = Some(decision);
        if self.group.len() > 1 {
            out.multicast(&self.group, Message::Decided(decision));
        }
    }

    /// CE-3.
    fn hold_decision(&mut self, decision: Decision, out: &mut Effects<'_, Self>) {
        if self.decision.is_some_and(|held| held.epoch >= decision.epoch) {
            return;
        }
        out.note("CE-3", format_args!("value {} is decided in epoch {}", decision.value, decision.epoch));
        self.decision = Some(decision);
        self.report_leader(out);
    }

    /// CE-4, if the leader and its decision are known. They may become known in any order.
    fn report_leader(&self, out: &mut Effects<'_, Self>) {
        if let (Some((leader, epoch)), Some(decision)) = (self.result, self.decision)
            && decision.epoch == epoch
        {
            out.note("CE-4", format_args!("knows leader {leader} and its decision, {}", decision.value));
            out.emit(Event::elected(leader, epoch));
        }
    }
}

impl<E> Protocol for ConsensusByElection<E>
where
    E: Protocol<Command = Command, Event = Event>,
{
    type Command = Command;
    type Message = Message<E::Message>;
    type Timer = E::Timer;
    type Event = Event;
    type Durable = E::Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Message { from: _, message: Message::Decided(decision) } => self.hold_decision(decision, out),
            Input::Message { from, message: Message::Election(message) } => {
                self.step_election(now, Input::Message { from, message }, out);
            }
            Input::Start { durable, incarnation } => {
                self.step_election(now, Input::Start { durable, incarnation }, out);
            }
            Input::Command(command) => self.step_election(now, Input::Command(command), out),
            Input::Timer(timer) => self.step_election(now, Input::Timer(timer), out),
            Input::Saved(count) => self.step_election(now, Input::Saved(count), out),
            Input::Suspect(node) => self.step_election(now, Input::Suspect(node), out),
            Input::Trust(node) => self.step_election(now, Input::Trust(node), out),
            Input::DiskFull => self.step_election(now, Input::DiskFull, out),
            Input::DiskFree => self.step_election(now, Input::DiskFree, out),
            Input::View(view) => self.step_election(now, Input::View(view), out),
            Input::Lease(until) => self.step_election(now, Input::Lease(until), out),
            Input::EndOfTurn => self.step_election(now, Input::EndOfTurn, out),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.election.uses_end_of_turn()
    }
}
