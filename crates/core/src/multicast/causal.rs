//! Causal multicast with vector clocks (Birman, Schiper, Stephenson 1991).
//!
//! If the sender of a message had delivered another one before, all members deliver that other one
//! first. Each message carries a vector V with a number for each member: how many messages of that
//! member precede it, or, for its sender, the number of the message itself. A receiver that has
//! delivered all messages that V counts before this one misses none of those that the sender had
//! delivered. Concurrent messages may be delivered in different orders.
//!
//! ```text
//! CA-1  this member sends     → tag the message with the number of delivered messages of each
//!                               member, and of sent messages of this one
//! CA-2  a message is received → it waits for all messages that its sender had delivered before it
//! CA-3  nothing is missing    → if D[i] counts the delivered messages of each member i, deliver a
//!                               message of b with V[b] = D[b] + 1 and V[i] ≤ D[i] for every other
//!                               i
//! CA-4  a view ends           → all members deliver the messages that any of them holds, causes
//!                               first; drop a message if no member holds one of its causes
//! ```
//!
//! Cost: n−1 messages per multicast, each with n numbers; acknowledgements are not counted. The
//! slowest member delivers after one message time.
//!
//! Why causes come first when a view ends: the sum of a message's vector is greater than the sum of
//! any message that precedes it. So sorting by sums gives all members the same order, in which
//! causes come first. A message that a survivor reports as held by all members needs no check of
//! its causes: that survivor has delivered it, and its causes before.
//!
//! Assumes: messages between two members that stay up arrive. The vectors count the messages of one
//! view, and start from zero in the next.
//!
//! When it fails: if a sender crashes while sending, some members may never get its message;
//! relaying or views prevent that. A vector of the wrong length, or one that counts messages that
//! were never sent, blocks only the messages of its sender.

use super::{
    ExpectedCost, Facts, HoldBack, MessageId, OrderGuarantee, OrderSink, Ordering, PartialOrdering, Plan, Survey, fifo,
};
use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "causal",
        summary: "vector clocks: members deliver a message after all that its sender had delivered",
        source: include_str!("causal.rs"),
        ..fifo::FACTS.profile
    },
    order: OrderGuarantee { fifo: true, causal: true, total: false },
    expected_cost: ExpectedCost::for_local_order,
    ..fifo::FACTS
};

/// The causal (happened-before) order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Causal {
    me: NodeId,
    members: Group,
    sent_count: u64,
    /// The number of delivered messages of each member, in the order of the group: D in CA-3.
    delivered_counts: Vec<u64>,
}

/// The vector of a message: the number of messages of each member that precede it, itself included,
/// in the order of the group. Messages in an order that is not causal have an empty tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub struct Causes(pub Vec<u64>);

impl Causes {
    /// Returns the empty tag.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns whether the tag is empty.
    pub const fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a member that has delivered `counts` messages of each member has delivered
    /// all causes of the message with this tag and number, and the message is the next one of its
    /// sender. `sender` is an index in the group.
    fn are_delivered(&self, sender: usize, number: u64, counts: &[u64]) -> bool {
        let is_valid = self.0.len() == counts.len() && self.0.get(sender) == Some(&number);
        let mut pairs = self.0.iter().zip(counts).enumerate();
        is_valid
            && pairs.all(
                |(member, (needed, delivered))| {
                    if member == sender { delivered.checked_add(1) == Some(*needed) } else { needed <= delivered }
                },
            )
    }

    /// Returns a number that is greater for a message than for each of its causes. Saturates.
    fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, count) in self.0.iter().enumerate() {
            write!(f, "{}{count}", if index == 0 { "" } else { "," })?;
        }
        f.write_str(")")
    }
}

impl Causal {
    fn is_next(&self, id: MessageId, queue: &HoldBack) -> bool {
        let sender = self.members.index_of(id.sender);
        sender
            .zip(queue.tag(id))
            .is_some_and(|(sender, causes)| causes.are_delivered(sender, id.number, &self.delivered_counts))
    }
}

impl Ordering for Causal {
    fn create(_plan: &Plan, me: NodeId, members: &Group) -> Self {
        Self { me, members: members.clone(), sent_count: 0, delivered_counts: vec![0; members.len()] }
    }

    /// CA-1.
    fn next_tag(&mut self) -> Causes {
        self.sent_count += 1;
        let mut counts = self.delivered_counts.clone();
        if let Some(own_count) = self.members.index_of(self.me).and_then(|index| counts.get_mut(index)) {
            *own_count = self.sent_count;
        }
        Causes(counts)
    }

    /// CA-2.
    fn on_received(&mut self, id: MessageId, queue: &HoldBack, sink: &mut dyn OrderSink) {
        if let Some(causes) = queue.tag(id).filter(|_| !self.is_next(id, queue)) {
            let delivered = Causes(self.delivered_counts.clone());
            sink.note("CA-2", format_args!("{id} with {causes} waits: this node has delivered {delivered}"));
        }
    }

    /// CA-3.
    fn next_deliverable(&self, queue: &HoldBack) -> Option<MessageId> {
        self.next_ready(queue, &|_| true)
    }

    /// CA-3.
    fn next_ready(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        let candidates =
            self.members.iter().zip(&self.delivered_counts).map(|(sender, count)| queue.id(sender, count + 1));
        candidates.into_iter().find(|id| self.is_next(*id, queue) && is_ready(*id))
    }

    fn on_delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        if let Some(count) = self.members.index_of(id.sender).and_then(|index| self.delivered_counts.get_mut(index)) {
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
        let indices: BTreeMap<_, _> = survey.stable_counts.keys().copied().zip(0..).collect();
        let mut counts: Vec<_> = survey.stable_counts.values().copied().collect();
        let mut has_all_causes = |id: &MessageId| {
            let (Some(causes), Some(sender)) = (survey.held.get(id), indices.get(&id.sender)) else { return false };
            if id.number <= survey.stable_count(id.sender) {
                return true;
            }
            let has_causes = causes.are_delivered(*sender, id.number, &counts);
            if let Some(count) = counts.get_mut(*sender).filter(|_| has_causes) {
                *count = id.number;
            }
            has_causes
        };
        settled.into_iter().filter(|id| has_all_causes(id)).collect()
    }
}

impl PartialOrdering for Causal {
    fn precedes(
        &self,
        (earlier, _): (MessageId, &Causes),
        (later, causes): (MessageId, &Causes),
        members: &Group,
    ) -> bool {
        let counted = members.index_of(earlier.sender).and_then(|index| causes.0.get(index)).copied().unwrap_or(0);
        earlier != later && earlier.number <= counted
    }
}

#[cfg(test)]
mod tests;
