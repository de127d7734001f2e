//! Consensus by election (a reduction).
//!
//! If a group can elect, it can decide: everyone proposes something, somebody is elected, and what that one proposes is decided. So an
//! election is at least as hard as consensus, and nobody can do either in an asynchronous system in which even one node may die unseen.
//! A node's proposal is its attribute, or its number where there are none. The leader tells its proposal to all, and a node says who
//! was elected only when it holds what was decided.
//!
//! ```text
//! CE-1  asked anything             → pass it to the election inside, and what that one asks of others back
//! CE-2  the election makes one the
//!       leader                     → decide: for what one holds from an earlier epoch, or else for one's own proposal; tell all
//! CE-3  a decision arrives         → hold it, unless one holds that of a later epoch
//! CE-4  leader known, and what it
//!       decided too                → tell the user who is elected
//! ```
//!
//! Cost: that of the election, and n−1 messages for the decision. Over Chang and Roberts' ring: with one starter at most 3n−1 and n−1.
//!
//! Assumes: what the election inside assumes; that nobody dies, if one decision is to hold for ever.
//!
//! When it fails: each epoch decides one value, since it has one leader. A leader of a later epoch holds on to what was decided before, if it
//! knows of it. But a leader that dies may take with it what it has told only some of, and the next epoch then decides something else:
//! for more than that, a majority must hold a value before it is decided, as in the replicated log. What was decided is not on any disk.

use super::circuit::Circuit;
use super::{Book, Case, ChangRoberts, Command, Cost, Counts, Event, Facts, Plan, Shape, chang_roberts};
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

/// The line of the book's table, over Chang and Roberts' ring.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "consensus-by-election",
        class: "by reduction",
        summary: "what the elected one proposes is decided",
        source: include_str!("consensus_by_election.rs"),
        flaw: None,
        checkable: true,
    },
    Shape::Ring,
    Cost { formula: "as chang-roberts, + (n−1)", book },
);

/// Who decides tells everyone in the group, the dead too.
fn book(case: &Case) -> Option<Book> {
    let book = (chang_roberts::FACTS.cost.book)(case)?;
    let peers = (case.live + case.dead).saturating_sub(1) as f64;
    let more = |messages: Option<f64>| messages.map(|messages| messages + peers);
    match book.counts {
        Counts::Election => Some(book),
        Counts::WithAnnouncement => {
            Some(Book { least: more(book.least), mean: more(book.mean), most: more(book.most), ..book })
        }
    }
}

/// One node that decides by Chang and Roberts' election.
pub type ConsensusByRing = ConsensusByElection<ChangRoberts>;

impl ConsensusByRing {
    /// A node of a group with this plan.
    pub fn of_plan(me: NodeId, plan: &Arc<Plan>) -> Self {
        Self::new(me, plan, Circuit::new(me, Arc::clone(plan)))
    }
}

/// One node that decides by the election `E`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsensusByElection<E> {
    me: NodeId,
    group: Group,
    proposal: u64,
    election: E,
    /// Whom the election inside has named, in its latest run.
    named: Option<(NodeId, Epoch)>,
    held: Option<Decision>,
}

/// What a group has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decision {
    pub epoch: Epoch,
    pub value: u64,
}

/// What nodes send each other.
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
    /// A node of a group with this plan, and its part in the election.
    pub fn new(me: NodeId, plan: &Plan, election: E) -> Self {
        let proposal = plan.ranking.attribute(me).unwrap_or(u64::from(me.number()));
        Self { me, group: plan.group.clone(), proposal, election, named: None, held: None }
    }

    /// What was decided, as far as this node knows.
    pub const fn decision(&self) -> Option<Decision> {
        self.held
    }

    /// CE-1.
    fn pass(&mut self, now: Time, input: Input<E>, out: &mut Effects<'_, Self>) {
        for event in adapt::pass(&mut self.election, now, input, Message::Election, out) {
            match event {
                Event::Began { .. } | Event::Ended { .. } => {
                    self.named = None;
                    out.emit(event);
                }
                Event::Elected { leader, epoch, .. } => {
                    self.named = Some((leader, epoch));
                    if leader == self.me {
                        self.decide(epoch, out);
                    }
                    self.tell(out);
                }
                Event::Extended { .. } | Event::Refused(_) => out.emit(event),
            }
        }
    }

    /// CE-2.
    fn decide(&mut self, epoch: Epoch, out: &mut Effects<'_, Self>) {
        let value = self.held.map_or(self.proposal, |held| held.value);
        out.note("CE-2", format_args!("decides {value} in epoch {epoch}"));
        let decision = Decision { epoch, value };
        self.held = Some(decision);
        if self.group.len() > 1 {
            out.multicast(&self.group, Message::Decided(decision));
        }
    }

    /// CE-3.
    fn learn(&mut self, decision: Decision, out: &mut Effects<'_, Self>) {
        if self.held.is_some_and(|held| held.epoch >= decision.epoch) {
            return;
        }
        out.note("CE-3", format_args!("{} is decided in epoch {}", decision.value, decision.epoch));
        self.held = Some(decision);
        self.tell(out);
    }

    /// CE-4. The two may come in any order.
    fn tell(&self, out: &mut Effects<'_, Self>) {
        if let (Some((leader, epoch)), Some(held)) = (self.named, self.held)
            && held.epoch == epoch
        {
            out.note("CE-4", format_args!("knows {leader} and its decision, {}", held.value));
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
            Input::Message { from: _, message: Message::Decided(decision) } => self.learn(decision, out),
            Input::Message { from, message: Message::Election(message) } => {
                self.pass(now, Input::Message { from, message }, out);
            }
            Input::Start { durable, incarnation } => self.pass(now, Input::Start { durable, incarnation }, out),
            Input::Command(command) => self.pass(now, Input::Command(command), out),
            Input::Timer(timer) => self.pass(now, Input::Timer(timer), out),
            Input::Saved(count) => self.pass(now, Input::Saved(count), out),
            Input::Suspect(node) => self.pass(now, Input::Suspect(node), out),
            Input::Trust(node) => self.pass(now, Input::Trust(node), out),
            Input::DiskFull => self.pass(now, Input::DiskFull, out),
            Input::DiskFree => self.pass(now, Input::DiskFree, out),
            Input::View(view) => self.pass(now, Input::View(view), out),
            Input::Lease(until) => self.pass(now, Input::Lease(until), out),
        }
    }
}
