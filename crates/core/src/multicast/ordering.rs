//! The part in which the algorithms of the family differ: which message may be delivered next.

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
/// Orderings compose: a total order is built on a partial order, which only says which messages
/// wait for which. The total order arranges the messages that the partial order releases.
///
/// A [`Member`](super::Member) has an [`AnyOrdering`], so that it is compiled once for all
/// orderings. The messages that orderings exchange are therefore of one type, and each ordering
/// ignores those of the others.
pub trait Ordering: ErasedOrdering + fmt::Debug + Send + Sync {
    /// Creates the ordering of this member of a view.
    fn begin(plan: &Plan, me: NodeId, members: &Group) -> Self
    where
        Self: Sized;

    /// Creates the ordering as an [`AnyOrdering`]: this function is its [`MakeOrdering`].
    fn boxed(plan: &Plan, me: NodeId, members: &Group) -> AnyOrdering
    where
        Self: Sized,
    {
        AnyOrdering(Box::new(Self::begin(plan, me, members)))
    }

    /// Returns the route of this member's own messages.
    fn route(&self) -> Route {
        Route::ToAll
    }

    /// Returns the tag of this member's next message.
    fn tag(&mut self) -> Causes {
        Causes::none()
    }

    /// Called when a message is received for the first time, or sent by this member.
    fn received(&mut self, id: MessageId, queue: &HoldBack, sink: &mut dyn OrderSink);

    /// Called when a message about positions arrives.
    fn handle_message(&mut self, _from: NodeId, _message: OrderMessage, _queue: &HoldBack, _sink: &mut dyn OrderSink) {}

    /// Returns a message of the queue that may be delivered now. Called repeatedly until there is
    /// none.
    fn next(&self, queue: &HoldBack) -> Option<MessageId>;

    /// Returns the next message among those for which `is_ready` holds. If several could be next,
    /// one that is not ready does not delay the others.
    fn next_ready(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        self.next(queue).filter(|id| is_ready(*id))
    }

    /// Called after the next message was delivered.
    fn delivered(&mut self, id: MessageId, queue: &HoldBack);

    /// Returns whether the position of a message is known, apart from the messages before it.
    fn is_position_known(&self, _id: MessageId) -> bool {
        true
    }

    /// Forgets a message that was delivered, and that all members hold with its position.
    fn forget(&mut self, _id: MessageId) {}

    /// Returns this member's knowledge of positions, which becomes part of its report.
    fn report(&self) -> OrderReport {
        OrderReport::Nothing
    }

    /// Returns one order of all messages that survivors hold when a view ends. It is consistent
    /// with the deliveries of each of them. The same survey yields the same order at every member,
    /// independent of the member's own knowledge. A message is left out if it must not be delivered
    /// without another one that no survivor holds.
    fn settle(&self, survey: &Survey) -> Vec<MessageId>;

    /// Returns the part of an earlier settled order that remains if survivors no longer hold some
    /// of its messages.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId>;
}

/// A partial order: it only says which messages wait for which, and exchanges no messages. Total
/// orders are built on top of one.
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
    /// The sender sends it to this member, which sends it to all.
    Via(NodeId),
}

/// The combined reports of all survivors when a view ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Messages that any survivor still keeps, with their tags.
    pub held: BTreeMap<MessageId, Causes>,
    /// For each sender, the number of its messages that all members hold, as far as any survivor
    /// knows.
    pub floor: BTreeMap<NodeId, u64>,
    pub order_reports: BTreeMap<NodeId, OrderReport>,
}

impl Survey {
    /// Returns the number of a sender's messages that all members hold.
    pub fn floor(&self, sender: NodeId) -> u64 {
        self.floor.get(&sender).copied().unwrap_or(0)
    }

    /// Returns the members of the view.
    pub fn members(&self) -> Group {
        self.floor.keys().copied().collect()
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
    /// Records which rule was applied, with a text for the trace.
    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>);
}
