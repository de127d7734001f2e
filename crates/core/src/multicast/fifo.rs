//! FIFO multicast: all members deliver the messages of one sender in the order in which it sent
//! them.
//!
//! Messages carry the number that their sender gave them. A receiver delivers each sender's
//! messages in the order of these numbers. A message that arrives early waits in the hold-back
//! queue, and copies are dropped. Messages of different senders may be delivered in different
//! orders at different members.
//!
//! ```text
//! FI-1  a message is received → it waits for its sender's earlier messages
//! FI-2  a message is the next
//!       one of its sender     → deliver it
//! FI-3  a view ends           → all members deliver each sender's messages before the first one
//!                               that none of them holds
//! ```
//!
//! Cost: n−1 messages per multicast, acknowledgements not counted. The slowest member delivers
//! after one message time.
//!
//! Assumes: messages between two members that stay up arrive.
//!
//! When it fails: if a sender crashes while sending, some members may never get its message;
//! relaying or views prevent that.

use super::{
    Causes, Facts, HoldBack, MessageId, OrderGuarantee, OrderSink, Ordering, PartialOrdering, Plan, Survey, unordered,
};
use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "fifo",
        class: "partial order",
        summary: "numbered messages: members deliver each sender's messages in sending order",
        source: include_str!("fifo.rs"),
        ..unordered::FACTS.profile
    },
    order: OrderGuarantee { fifo: true, causal: false, total: false },
    ..unordered::FACTS
};

/// The order of each sender's own messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fifo {
    /// For each sender, the number of its last message that was delivered.
    last_delivered: BTreeMap<NodeId, u64>,
}

impl Ordering for Fifo {
    fn create(_plan: &Plan, _me: NodeId, members: &Group) -> Self {
        Self { last_delivered: members.iter().map(|member| (member, 0)).collect() }
    }

    /// FI-1.
    fn on_received(&mut self, id: MessageId, _queue: &HoldBack, sink: &mut dyn OrderSink) {
        let last_delivered = self.last_delivered.get(&id.sender).copied().unwrap_or(0);
        if id.number > last_delivered + 1 {
            sink.note("FI-1", format_args!("{id} waits for {}#{}", id.sender, last_delivered + 1));
        }
    }

    /// FI-2.
    fn next_deliverable(&self, queue: &HoldBack) -> Option<MessageId> {
        self.next_ready(queue, &|_| true)
    }

    /// FI-2.
    fn next_ready(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        let candidates = self.last_delivered.iter().map(|(sender, number)| queue.id(*sender, number + 1));
        candidates.into_iter().find(|id| queue.has_received(*id) && is_ready(*id))
    }

    fn on_delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        self.last_delivered.insert(id.sender, id.number);
    }

    /// FI-3.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        self.prune(survey.held.keys().copied().collect(), survey)
    }

    /// FI-3.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        let mut last_numbers = BTreeMap::new();
        let mut is_next_of_sender = |id: &MessageId| {
            let last = last_numbers.entry(id.sender).or_insert_with(|| survey.stable_count(id.sender));
            // A message that all members hold needs no predecessors in the list: a survivor has
            // already delivered it, and its predecessors before.
            let is_next = id.number <= *last || id.number == *last + 1;
            *last = if is_next { id.number.max(*last) } else { *last };
            is_next
        };
        settled.into_iter().filter(|id| survey.held.contains_key(id) && is_next_of_sender(id)).collect()
    }
}

impl PartialOrdering for Fifo {
    fn precedes(&self, (earlier, _): (MessageId, &Causes), (later, _): (MessageId, &Causes), _members: &Group) -> bool {
        earlier.sender == later.sender && earlier.number < later.number
    }
}

#[cfg(test)]
mod tests;
