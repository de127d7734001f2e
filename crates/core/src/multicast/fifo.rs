//! FIFO multicast: what one member sends is delivered everywhere in the order in which it was sent.
//!
//! Messages carry the number that their sender gave them. A receiver delivers each sender's messages in the order of these numbers: one
//! that comes too early waits in the hold-back queue, and copies are dropped. Messages of different senders may be delivered
//! in different orders at different members.
//!
//! ```text
//! FI-1  a message is received → it waits for its sender's messages before it
//! FI-2  the next of a sender  → deliver it
//! FI-3  a view ends           → of each sender, what anybody holds without a gap is delivered by all
//! ```
//!
//! Cost: n−1 messages a multicast. The slowest member delivers after one message time.
//!
//! Assumes: what is sent between two members that stay up arrives.
//!
//! When it fails: as basic multicast; passing on or views mend it.

use super::{Causes, Desk, Facts, HoldBack, MessageId, Ordering, Partial, Plan, Promise, Survey, unordered};
use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "fifo",
        class: "partial order",
        summary: "numbered messages: what one member sends is delivered in the order in which it was sent",
        source: include_str!("fifo.rs"),
        ..unordered::FACTS.profile
    },
    order: Promise { fifo: true, causal: false, total: false },
    ..unordered::FACTS
};

/// The order of each sender's own messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fifo {
    /// Of each member, the number of the last message that was delivered.
    delivered: BTreeMap<NodeId, u64>,
}

impl Ordering for Fifo {
    fn begin(_plan: &Plan, _me: NodeId, members: &Group) -> Self {
        Self { delivered: members.iter().map(|member| (member, 0)).collect() }
    }

    /// FI-1.
    fn received(&mut self, id: MessageId, _queue: &HoldBack, desk: &mut dyn Desk) {
        let before = self.delivered.get(&id.sender).copied().unwrap_or(0);
        if id.number > before + 1 {
            desk.note("FI-1", format_args!("{id} waits for {}#{}", id.sender, before + 1));
        }
    }

    /// FI-2.
    fn next(&self, queue: &HoldBack) -> Option<MessageId> {
        self.next_of(queue, &|_| true)
    }

    /// FI-2.
    fn next_of(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        let firsts = self.delivered.iter().map(|(sender, number)| queue.id(*sender, number + 1));
        firsts.into_iter().find(|id| queue.has(*id) && is_ready(*id))
    }

    fn delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        self.delivered.insert(id.sender, id.number);
    }

    /// FI-3.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        self.prune(survey.held.keys().copied().collect(), survey)
    }

    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        let mut last = BTreeMap::new();
        let mut follows = |id: &MessageId| {
            let last = last.entry(id.sender).or_insert_with(|| survey.floor(id.sender));
            // What everyone holds is delivered whether or not it is the next: somebody has forgotten what was before it.
            let is_next = id.number <= *last || id.number == *last + 1;
            *last = if is_next { id.number.max(*last) } else { *last };
            is_next
        };
        settled.into_iter().filter(|id| survey.held.contains_key(id) && follows(id)).collect()
    }
}

impl Partial for Fifo {
    fn precedes(&self, (earlier, _): (MessageId, &Causes), (later, _): (MessageId, &Causes), _members: &Group) -> bool {
        earlier.sender == later.sender && earlier.number < later.number
    }
}

#[cfg(test)]
mod tests;
