//! Basic multicast, and reliable multicast: members deliver messages in the order of receipt.
//!
//! The sender sends its message to every other member, one after the other or, on a broadcast
//! medium, at once, and delivers it itself. A receiver delivers a message at once. If the sender
//! crashes while sending, some members have the message and others never get it. Reliable multicast
//! prevents that: a member that receives a message for the first time relays it to all others, the
//! sender included, before it delivers it. Then if any correct member delivers a message, all
//! correct members do.
//!
//! ```text
//! UN-1  a message is received → it is next, in the order of receipt
//! UN-2  a view ends           → all members deliver the messages that any of them holds, sorted by
//!                               sender and number
//! ```
//!
//! Cost: n−1 messages per multicast, n(n−1) with relaying; acknowledgements are not counted. The
//! slowest member delivers after one message time.
//!
//! Assumes: messages between two members that stay up arrive.
//!
//! When it fails: without relaying, a sender that crashes while sending leaves members that
//! disagree, unless a view change settles it.

use super::{
    Causes, ExpectedCost, Facts, HoldBack, MessageId, OrderGuarantee, OrderSink, Ordering, PartialOrdering, Plan,
    Survey,
};
use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The properties and expected costs without relaying; see also [`RELIABLE_FACTS`].
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "basic",
        class: "unordered",
        summary: "the sender sends to all members, and each delivers at once",
        source: include_str!("unordered.rs"),
        flaw: None,
        is_checkable: true,
    },
    order: OrderGuarantee { fifo: false, causal: false, total: false },
    relays_by_default: false,
    has_sequencer: false,
    expected_cost: ExpectedCost::for_local_order,
};

/// The properties and expected costs with relaying.
pub const RELIABLE_FACTS: Facts = Facts {
    profile: Profile {
        name: "reliable",
        summary: "members relay each message, so that all get it even if its sender crashes while sending",
        ..FACTS.profile
    },
    relays_by_default: true,
    ..FACTS
};

/// No common order: each member delivers messages in the order in which it received them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unordered {
    /// The messages that were received and not delivered, in the order of receipt.
    receipt_order: VecDeque<MessageId>,
}

impl Ordering for Unordered {
    fn create(_plan: &Plan, _me: NodeId, _members: &Group) -> Self {
        Self::default()
    }

    /// UN-1.
    fn on_received(&mut self, id: MessageId, _queue: &HoldBack, sink: &mut dyn OrderSink) {
        sink.note("UN-1", format_args!("{id} is next, in the order of receipt"));
        self.receipt_order.push_back(id);
    }

    fn next_deliverable(&self, _queue: &HoldBack) -> Option<MessageId> {
        self.receipt_order.front().copied()
    }

    /// With uniform delivery, a message that is not ready does not delay those received after it.
    fn next_ready(&self, _queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        self.receipt_order.iter().copied().find(|id| is_ready(*id))
    }

    fn on_delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        self.receipt_order.retain(|received| *received != id);
    }

    /// UN-2.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        survey.held.keys().copied().collect()
    }

    /// UN-2.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        settled.into_iter().filter(|id| survey.held.contains_key(id)).collect()
    }
}

impl PartialOrdering for Unordered {
    fn precedes(&self, _earlier: (MessageId, &Causes), _later: (MessageId, &Causes), _members: &Group) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
