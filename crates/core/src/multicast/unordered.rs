//! Basic multicast, and reliable multicast: whatever comes is delivered as it comes.
//!
//! The sender sends its message to every other member, one after the other or in one go where the medium can, and delivers it itself. A
//! receiver delivers what it receives, at once. If the sender dies midway, some have it and others never get it. Reliable multicast
//! mends that: whoever receives a message for the first time passes it on to all others, the sender included, before it delivers it. Then
//! if anybody that stays up delivers a message, everybody that stays up does.
//!
//! ```text
//! UN-1  a message is received → it is next, in the order of receipt
//! UN-2  a view ends           → what anybody holds is delivered by all, by sender and number
//! ```
//!
//! Cost: n−1 messages a multicast; n(n−1) where they are passed on. The slowest member delivers after one message time.
//!
//! Assumes: what is sent between two members that stay up arrives.
//!
//! When it fails: without passing on, a sender that dies midway leaves members that disagree, unless a view change settles it.

use super::{Book, Causes, Desk, Facts, HoldBack, MessageId, Ordering, Partial, Plan, Promise, Survey};
use crate::about::Profile;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What the book says of it if nobody passes anything on. Beside this are [`RELIABLE_FACTS`].
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "basic",
        class: "unordered",
        summary: "the sender sends to all; whoever receives delivers",
        source: include_str!("unordered.rs"),
        flaw: None,
        checkable: true,
    },
    order: Promise { fifo: false, causal: false, total: false },
    relays: false,
    sequences: false,
    book: Book::local,
};

/// What the book says of it if everybody passes on what it receives.
pub const RELIABLE_FACTS: Facts = Facts {
    profile: Profile {
        name: "reliable",
        summary: "whoever receives a message passes it on, so that all get it although its sender dies midway",
        ..FACTS.profile
    },
    relays: true,
    ..FACTS
};

/// No order: first received, first delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unordered {
    arrived: VecDeque<MessageId>,
}

impl Ordering for Unordered {
    fn begin(_plan: &Plan, _me: NodeId, _members: &Group) -> Self {
        Self::default()
    }

    /// UN-1.
    fn received(&mut self, id: MessageId, _queue: &HoldBack, desk: &mut dyn Desk) {
        desk.note("UN-1", format_args!("{id} is next as it came"));
        self.arrived.push_back(id);
    }

    fn next(&self, _queue: &HoldBack) -> Option<MessageId> {
        self.arrived.front().copied()
    }

    fn next_of(&self, _queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        self.arrived.iter().copied().find(|id| is_ready(*id))
    }

    fn delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        self.arrived.retain(|arrived| *arrived != id);
    }

    /// UN-2.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        survey.held.keys().copied().collect()
    }

    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        settled.into_iter().filter(|id| survey.held.contains_key(id)).collect()
    }
}

impl Partial for Unordered {
    fn precedes(&self, _earlier: (MessageId, &Causes), _later: (MessageId, &Causes), _members: &Group) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
