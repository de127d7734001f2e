//! Causal multicast with vector clocks (Birman, Schiper, Stephenson 1991).
//!
//! If one message was sent by somebody who had heard another, it is delivered after that other everywhere. Each message carries a
//! vector: how many messages of each member come before it, itself counted. A receiver that has delivered as many knows that
//! nothing is missing that the sender had heard. Messages that know nothing of each other may be delivered in different orders.
//!
//! ```text
//! CA-1  we send               → what we have delivered of each member's, and how many we have sent, travels with it
//! CA-2  a message is received → it waits for all that its sender had heard before it
//! CA-3  nothing is missing    → of b's, deliver it when V[b] = mine[b] + 1 and V[i] ≤ mine[i] for every other i
//! CA-4  a view ends           → what anybody holds is delivered by all, causes first; what lacks a cause that nobody holds is dropped with it
//! ```
//!
//! Cost: n−1 messages a multicast, each with n numbers. The slowest member delivers after one message time.
//!
//! Why one order will do when a view ends: a message's vector is greater in sum than that of anything before it, so that sums are one
//! order for all in which causes come first. What everyone holds needs no such check: somebody has delivered it, and all its causes.
//!
//! Assumes: what is sent between two members that stay up arrives. The vectors belong to one view, and begin anew with the next.
//!
//! When it fails: as basic multicast; passing on or views mend it. A vector that is not of this group, or counts what was never sent, stops
//! only the messages of the member that sent it, and none of the others'.

use super::{Book, Desk, Facts, HoldBack, MessageId, Ordering, Partial, Plan, Promise, Survey, fifo};
use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "causal",
        summary: "vector clocks: what was said after something was heard is delivered after it",
        source: include_str!("causal.rs"),
        ..fifo::FACTS.profile
    },
    order: Promise { fifo: true, causal: true, total: false },
    book: Book::local,
    ..fifo::FACTS
};

/// The order of happened-before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Causal {
    me: NodeId,
    members: Group,
    sent: u64,
    /// How many messages of each member were delivered, in the order of the group.
    mine: Vec<u64>,
}

/// How many messages of each member come before a message, itself counted, in the order of the group. This is all that ever travels with
/// a message for its order, and nothing does where the order needs no vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Causes(pub Vec<u64>);

impl Causes {
    /// Nothing travels with the message.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether nothing travels with the message.
    pub const fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all that comes before a message of the member at this place is among these counts, and the message itself is the next.
    fn are_met(&self, place: usize, number: u64, counts: &[u64]) -> bool {
        let is_of_group = self.0.len() == counts.len() && self.0.get(place) == Some(&number);
        let mut pairs = self.0.iter().zip(counts).enumerate();
        is_of_group
            && pairs.all(
                |(at, (needed, have))| if at == place { have.checked_add(1) == Some(*needed) } else { needed <= have },
            )
    }

    /// A number that grows from cause to effect.
    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (place, count) in self.0.iter().enumerate() {
            write!(f, "{}{count}", if place == 0 { "" } else { "," })?;
        }
        f.write_str(")")
    }
}

impl Causal {
    fn is_next(&self, id: MessageId, queue: &HoldBack) -> bool {
        let place = self.members.place_of(id.sender);
        place.zip(queue.tag(id)).is_some_and(|(place, causes)| causes.are_met(place, id.number, &self.mine))
    }
}

impl Ordering for Causal {
    fn begin(_plan: &Plan, me: NodeId, members: &Group) -> Self {
        Self { me, members: members.clone(), sent: 0, mine: vec![0; members.len()] }
    }

    /// CA-1.
    fn tag(&mut self) -> Causes {
        self.sent += 1;
        let mut counts = self.mine.clone();
        if let Some(ours) = self.members.place_of(self.me).and_then(|place| counts.get_mut(place)) {
            *ours = self.sent;
        }
        Causes(counts)
    }

    /// CA-2.
    fn received(&mut self, id: MessageId, queue: &HoldBack, desk: &mut dyn Desk) {
        if let Some(causes) = queue.tag(id).filter(|_| !self.is_next(id, queue)) {
            let mine = Causes(self.mine.clone());
            desk.note("CA-2", format_args!("{id} with {causes} waits: {mine} lacks something before it"));
        }
    }

    /// CA-3.
    fn next(&self, queue: &HoldBack) -> Option<MessageId> {
        self.next_of(queue, &|_| true)
    }

    /// CA-3.
    fn next_of(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        let firsts = self.members.iter().zip(&self.mine).map(|(sender, count)| queue.id(sender, count + 1));
        firsts.into_iter().find(|id| self.is_next(*id, queue) && is_ready(*id))
    }

    fn delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        if let Some(count) = self.members.place_of(id.sender).and_then(|place| self.mine.get_mut(place)) {
            *count = id.number.max(*count);
        }
    }

    /// CA-4.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        let mut order: Vec<_> = survey.held.iter().map(|(id, causes)| (causes.sum(), *id)).collect();
        order.sort_unstable();
        self.prune(order.into_iter().map(|(_, id)| id).collect(), survey)
    }

    /// CA-4.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        let places: BTreeMap<_, _> = survey.floor.keys().copied().zip(0..).collect();
        let mut counts: Vec<_> = survey.floor.values().copied().collect();
        let mut follows = |id: &MessageId| {
            let (Some(causes), Some(place)) = (survey.held.get(id), places.get(&id.sender)) else { return false };
            if id.number <= survey.floor(id.sender) {
                return true;
            }
            let are_met = causes.are_met(*place, id.number, &counts);
            if let Some(count) = counts.get_mut(*place).filter(|_| are_met) {
                *count = id.number;
            }
            are_met
        };
        settled.into_iter().filter(|id| follows(id)).collect()
    }
}

impl Partial for Causal {
    fn precedes(
        &self,
        (earlier, _): (MessageId, &Causes),
        (later, causes): (MessageId, &Causes),
        members: &Group,
    ) -> bool {
        let known = members.place_of(earlier.sender).and_then(|place| causes.0.get(place)).copied().unwrap_or(0);
        earlier != later && earlier.number <= known
    }
}

#[cfg(test)]
mod tests;
