//! The part in which multicast algorithms differ: which message may be delivered next.

use super::{Causes, HoldBack, MessageId, OrderMessage, OrderReport, Plan, Position};
use crate::group::Group;
use crate::node::NodeId;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

/// Creates the ordering of a member of a view.
pub type MakeOrdering = fn(&Plan, NodeId, &Group) -> AnyOrdering;

/// The order of one view's messages at one member. It stores no messages: those are in the
/// [`HoldBack`] queue, and the ordering decides which of them may be delivered.
///
/// A total order is built on a partial order (see [`PartialOrdering`]), and arranges the messages
/// that the partial order releases.
///
/// A [`Member`](super::Member) has an [`AnyOrdering`], so that it is compiled once for all
/// orderings. Therefore the messages that orderings exchange are of one type, and each ordering
/// ignores those of other orderings.
pub trait Ordering: ErasedOrdering + fmt::Debug + Send + Sync {
    /// Creates the ordering of member `me` of a view.
    fn create(plan: &Plan, me: NodeId, members: &Group) -> Self
    where
        Self: Sized;

    /// Creates the ordering as an [`AnyOrdering`]. This function is a [`MakeOrdering`].
    fn boxed(plan: &Plan, me: NodeId, members: &Group) -> AnyOrdering
    where
        Self: Sized,
    {
        AnyOrdering(Box::new(Self::create(plan, me, members)))
    }

    /// Returns the route of this member's own messages.
    fn route(&self) -> Route {
        Route::ToAll
    }

    /// Returns the tag of the message that this member is about to send, and counts it as sent.
    fn next_tag(&mut self) -> Causes {
        Causes::none()
    }

    /// Called when this member receives a message for the first time, or sends one.
    fn on_received(&mut self, id: MessageId, queue: &HoldBack, sink: &mut dyn OrderSink);

    /// Called when a message about the order arrives.
    fn handle_message(&mut self, _from: NodeId, _message: OrderMessage, _queue: &HoldBack, _sink: &mut dyn OrderSink) {}

    /// Returns a message of the queue that may be delivered now; `None` if there is none.
    fn next_deliverable(&self, queue: &HoldBack) -> Option<MessageId>;

    /// Returns a message of the queue that may be delivered now and for which `is_ready` holds. If
    /// several messages may be delivered, one that is not ready does not delay the others.
    fn next_ready(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        self.next_deliverable(queue).filter(|id| is_ready(*id))
    }

    /// Called after the member has delivered a message.
    fn on_delivered(&mut self, id: MessageId, queue: &HoldBack);

    /// Returns whether this member knows the position of a message, whether or not it has the
    /// messages before it.
    fn is_position_known(&self, _id: MessageId) -> bool {
        true
    }

    /// Forgets a message that this member has delivered, and that all members hold with its
    /// position.
    fn forget(&mut self, _id: MessageId) {}

    /// Returns the positions that this member knows, for its report when the view ends.
    fn report(&self) -> OrderReport {
        OrderReport::Nothing
    }

    /// Returns the order in which survivors deliver the messages that they hold when a view ends.
    /// In a total order, it agrees with what each of them has delivered already. It depends on the
    /// survey only, so all members compute the same order. Omits a message that must not be
    /// delivered without another one that no survivor holds.
    fn settle(&self, survey: &Survey) -> Vec<MessageId>;

    /// Returns what remains of an order that was settled earlier: omits messages that no survivor
    /// holds any more, and those that must not be delivered without them.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId>;
}

/// A partial order: it decides from the messages alone which of them waits for which, and members
/// exchange no messages about it. Total orders are built on top of a partial order.
pub trait PartialOrdering: Ordering + Clone + Eq + Hash {
    /// Returns whether the first of two messages, each with its tag, is delivered before the second
    /// at every member.
    fn precedes(&self, earlier: (MessageId, &Causes), later: (MessageId, &Causes), members: &Group) -> bool;
}

/// An ordering of any type that can be cloned, compared and hashed, as the checker requires.
#[derive(Debug)]
pub struct AnyOrdering(Box<dyn Ordering>);

impl Deref for AnyOrdering {
    type Target = dyn Ordering;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for AnyOrdering {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

impl Clone for AnyOrdering {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

impl PartialEq for AnyOrdering {
    fn eq(&self, other: &Self) -> bool {
        self.equals(&*other.0)
    }
}

impl Eq for AnyOrdering {}

impl Hash for AnyOrdering {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.feed(state);
    }
}

/// Cloning, comparison and hashing of an ordering whose type is not known.
pub trait ErasedOrdering: Any {
    /// Returns a clone.
    fn duplicate(&self) -> AnyOrdering;
    /// Returns whether the other ordering is of the same type and equal.
    fn equals(&self, other: &dyn Any) -> bool;
    /// Feeds this ordering to the hasher, as `Hash` would.
    fn feed(&self, hasher: &mut dyn Hasher);
}

impl<O: Ordering + Clone + Eq + Hash> ErasedOrdering for O {
    fn duplicate(&self) -> AnyOrdering {
        AnyOrdering(Box::new(self.clone()))
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<O>().is_some_and(|other| self == other)
    }

    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

/// The route of a message to all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The sender sends it to all members.
    ToAll,
    /// The sender sends it to this member, the sequencer, which sends it to all.
    Via(NodeId),
}

/// The combined reports of all survivors about a view that ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Messages that any survivor still keeps, with their tags.
    pub held: BTreeMap<MessageId, Causes>,
    /// For each sender, the greatest number of its messages that any survivor has removed, because
    /// it has delivered them and all members hold them. Its keys are the members of the view.
    pub stable_counts: BTreeMap<NodeId, u64>,
    pub order_reports: BTreeMap<NodeId, OrderReport>,
}

impl Survey {
    /// Returns the number of a sender's messages that all members hold; 0 for a node that is no
    /// member.
    pub fn stable_count(&self, sender: NodeId) -> u64 {
        self.stable_counts.get(&sender).copied().unwrap_or(0)
    }

    /// Returns the members of the view.
    pub fn members(&self) -> Group {
        self.stable_counts.keys().copied().collect()
    }
}

/// Receives the output of an ordering.
pub trait OrderSink {
    /// Sends a message to one member.
    fn send(&mut self, to: NodeId, message: OrderMessage);
    /// Sends a message to all other members.
    fn multicast(&mut self, message: OrderMessage);
    /// Sends a position to all other members together with its message, which this member holds.
    fn forward(&mut self, position: Position);
    /// Notes in the trace which rule was applied.
    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>);
}
