//! What tells the algorithms of the family apart: which message may be delivered next.

use super::{Causes, HoldBack, MessageId, Notes, Place, Plan, Word};
use crate::group::Group;
use crate::node::NodeId;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

/// How an order begins as this member of a view.
pub type Begin = fn(&Plan, NodeId, &Group) -> AnyOrdering;

/// The order of one view's messages at one member. It holds no message: those are in the [`HoldBack`] queue, and it says which of them
/// may leave it.
///
/// Orders compose: one that is the same for all is built on top of one that says only which messages wait for which, by ordering what
/// that one lets through.
///
/// A [`Member`](super::Member) has an [`AnyOrdering`], so that it is compiled once for all orders. What orders exchange is therefore of the
/// same type for all of them, and each ignores what only another one would say.
pub trait Ordering: ErasedOrdering + fmt::Debug + Send + Sync {
    /// Begins as this member of a view.
    fn begin(plan: &Plan, me: NodeId, members: &Group) -> Self
    where
        Self: Sized;

    /// The same as an order of any type: this is its [`Begin`].
    fn boxed(plan: &Plan, me: NodeId, members: &Group) -> AnyOrdering
    where
        Self: Sized,
    {
        AnyOrdering(Box::new(Self::begin(plan, me, members)))
    }

    /// The way of our own messages to all.
    fn route(&self) -> Route {
        Route::ToAll
    }

    /// What travels with our next message.
    fn tag(&mut self) -> Causes {
        Causes::none()
    }

    /// A message was received for the first time; our own are when we send them.
    fn received(&mut self, id: MessageId, queue: &HoldBack, desk: &mut dyn Desk);

    /// A member tells something.
    fn heard(&mut self, _from: NodeId, _word: Word, _queue: &HoldBack, _desk: &mut dyn Desk) {}

    /// Which of those that wait in the queue may be delivered now. Asked again and again until there is none.
    fn next(&self, queue: &HoldBack) -> Option<MessageId>;

    /// The same among those that are ready otherwise. Where several may be next, one that is not ready does not hold up the others.
    fn next_of(&self, queue: &HoldBack, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        self.next(queue).filter(|id| is_ready(*id))
    }

    /// The one that was next has been delivered.
    fn delivered(&mut self, id: MessageId, queue: &HoldBack);

    /// Whether we know all that must be known of a message's place, apart from what comes before it.
    fn is_placed(&self, _id: MessageId) -> bool {
        true
    }

    /// It was delivered, and everyone holds it and knows its place: it can be forgotten.
    fn forget(&mut self, _id: MessageId) {}

    /// What we know of places in the order.
    fn notes(&self) -> Notes {
        Notes::Nothing
    }

    /// One order for all that survivors hold when a view ends. It agrees with what any of them has delivered. The same survey gives the same order at
    /// every member, whatever that member knows itself. What must not be delivered without something that nobody holds is left out.
    fn settle(&self, survey: &Survey) -> Vec<MessageId>;

    /// What is left of an order that was settled before when some of it is held by nobody any more.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId>;
}

/// An order that says only which messages wait for which, and has no words. Orders that are the same for all are built on top of one.
pub trait Partial: Ordering + Clone + Eq + Hash {
    /// Whether of two messages of these members, with what travelled with them, the first is delivered before the second everywhere.
    fn precedes(&self, earlier: (MessageId, &Causes), later: (MessageId, &Causes), members: &Group) -> bool;
}

/// An order of any type. It can be copied, compared and hashed, as the checker asks.
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

/// What an order can do that can be copied, compared and hashed, when its type is not known.
pub trait ErasedOrdering: Any {
    /// A copy of it.
    fn duplicate(&self) -> AnyOrdering;
    /// Whether the other one is of the same type and equal.
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

/// The way of a message to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The sender sends it to all.
    ToAll,
    /// The sender sends it to this member, which sends it to all.
    Via(NodeId),
}

/// What survivors have when a view ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub held: BTreeMap<MessageId, Causes>,
    /// Up to which message of each sender everyone holds all, as far as anybody knows.
    pub floor: BTreeMap<NodeId, u64>,
    pub notes: BTreeMap<NodeId, Notes>,
}

impl Survey {
    /// Up to which message of a sender everyone holds all.
    pub fn floor(&self, sender: NodeId) -> u64 {
        self.floor.get(&sender).copied().unwrap_or(0)
    }

    /// The members whose messages these are.
    pub fn members(&self) -> Group {
        self.floor.keys().copied().collect()
    }
}

/// Where an order's words go.
pub trait Desk {
    /// To one member.
    fn send(&mut self, to: NodeId, word: Word);
    /// To all others.
    fn multicast(&mut self, word: Word);
    /// To all others, together with the message that has this place, which we hold.
    fn forward(&mut self, place: Place);
    /// For the journal: which rule was applied and what it did.
    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>);
}
