//! What tells the algorithms of the family apart: which message may be delivered next.

use super::{HoldBack, MessageId, Plan};
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use crate::protocol::Never;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;

/// The order of one view's messages at one member. It holds no message: those are in the [`HoldBack`] queue, and it says which of them
/// may leave it.
///
/// Orders compose: one that is the same for all is built on top of one that says only which messages wait for which, by ordering what
/// that one lets through.
pub trait Ordering: Clone + fmt::Debug + Eq + Hash {
    /// What travels with a message.
    type Tag: Tag + Clone + fmt::Debug + Eq + Hash;
    /// What members tell each other about places in the order, beside the messages.
    type Word: Clone + fmt::Debug + Eq + Hash + Describe;
    /// What a member knows of places in the order, as it tells the others when the view ends.
    type Notes: Clone + fmt::Debug + Eq + Hash;

    /// Begins as this member of a view.
    fn begin(plan: &Plan, me: NodeId, members: &Group) -> Self;

    /// The way of our own messages to all.
    fn route(&self) -> Route {
        Route::ToAll
    }

    /// What travels with our next message.
    fn tag(&mut self) -> Self::Tag;

    /// A message was received for the first time; our own are when we send them.
    fn received(&mut self, id: MessageId, queue: &HoldBack<Self::Tag>, desk: &mut dyn Desk<Self::Word>);

    /// A member tells something.
    fn heard(&mut self, from: NodeId, word: Self::Word, queue: &HoldBack<Self::Tag>, desk: &mut dyn Desk<Self::Word>);

    /// Which of those that wait in the queue may be delivered now. Asked again and again until there is none.
    fn next(&self, queue: &HoldBack<Self::Tag>) -> Option<MessageId>;

    /// The same among those that are ready otherwise. Where several may be next, one that is not ready does not hold up the others.
    fn next_of(&self, queue: &HoldBack<Self::Tag>, is_ready: &dyn Fn(MessageId) -> bool) -> Option<MessageId> {
        self.next(queue).filter(|id| is_ready(*id))
    }

    /// The one that was next has been delivered.
    fn delivered(&mut self, id: MessageId, queue: &HoldBack<Self::Tag>);

    /// Whether we know all that must be known of a message's place, apart from what comes before it.
    fn is_placed(&self, id: MessageId) -> bool;

    /// It was delivered, and everyone holds it and knows its place: it can be forgotten.
    fn forget(&mut self, id: MessageId);

    /// What we know of places in the order.
    fn notes(&self) -> Self::Notes;

    /// One order for all that survivors hold when a view ends. It agrees with what any of them has delivered. The same survey gives the same order at
    /// every member. What must not be delivered without something that nobody holds is left out.
    fn settle(survey: &Survey<Self>) -> Vec<MessageId>;

    /// What is left of an order that was settled before when some of it is held by nobody any more.
    fn prune(settled: Vec<MessageId>, survey: &Survey<Self>) -> Vec<MessageId>;
}

/// An order that says only which messages wait for which. Orders that are the same for all are built on top of one.
pub trait Partial: Ordering<Word = Never> {
    /// Whether of two messages of these members, with what travelled with them, the first is delivered before the second everywhere.
    fn precedes(earlier: (MessageId, &Self::Tag), later: (MessageId, &Self::Tag), members: &Group) -> bool;
}

/// What travels with a message for its order.
pub trait Tag {
    /// How that looks beside the message's name, if there is anything to see.
    fn words(&self) -> Option<&dyn fmt::Display>;
}

/// Nothing needs to travel with a message whose name says all.
impl Tag for () {
    fn words(&self) -> Option<&dyn fmt::Display> {
        None
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey<O: Ordering> {
    /// All that anybody holds, with what travelled with it.
    pub held: BTreeMap<MessageId, O::Tag>,
    /// Up to which message of each sender everyone holds all, as far as anybody knows.
    pub floor: BTreeMap<NodeId, u64>,
    /// What each one knows of places in the order.
    pub notes: BTreeMap<NodeId, O::Notes>,
}

impl<O: Ordering> Survey<O> {
    /// Up to which message of a sender everyone holds all.
    pub fn floor(&self, sender: NodeId) -> u64 {
        self.floor.get(&sender).copied().unwrap_or(0)
    }

    /// The members whose messages these are.
    pub fn members(&self) -> Group {
        self.floor.keys().copied().collect()
    }

    /// The same for the order inside another one, with what that one knows of places.
    pub fn inside<I: Ordering<Tag = O::Tag>>(&self, notes: impl Fn(&O::Notes) -> I::Notes) -> Survey<I> {
        let notes = self.notes.iter().map(|(node, known)| (*node, notes(known))).collect();
        Survey { held: self.held.clone(), floor: self.floor.clone(), notes }
    }
}

/// Where an order's words go.
pub trait Desk<W> {
    /// To one member.
    fn send(&mut self, to: NodeId, word: W);
    /// To all others.
    fn multicast(&mut self, word: W);
    /// To all others, together with a message that we hold.
    fn forward(&mut self, id: MessageId, word: W);
    /// For the journal: which rule was applied and what it did.
    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>);
}

/// The desk of an order inside another one, which has no words of its own.
pub(super) struct Inside<'a, W>(pub &'a mut dyn Desk<W>);

impl<W> Desk<Never> for Inside<'_, W> {
    fn send(&mut self, _to: NodeId, word: Never) {
        match word {}
    }
    fn multicast(&mut self, word: Never) {
        match word {}
    }
    fn forward(&mut self, _id: MessageId, word: Never) {
        match word {}
    }
    fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.0.note(rule, text);
    }
}
