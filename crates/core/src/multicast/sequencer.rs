//! Total order by a sequencer (Kaashoek and Tanenbaum 1989; the moving parts are in every textbook).
//!
//! One member, the first of the view, numbers all messages, and everyone delivers them in the order of these numbers. The sequencer numbers
//! them as an order inside lets them out: as they come, each sender's in turn (FIFO-total), or causes first (causal-total). So what is
//! promised inside holds for all as well.
//!
//! ```text
//! SQ-1  a message is received → the sequencer gives it the next number, once the order inside lets it out
//! SQ-2  it has its number     → the sequencer tells all; if messages go through the sequencer, it sends the message along
//! SQ-3  a number comes        → remember which message has it, if the sequencer says so
//! SQ-4  the next number       → deliver the message that has it, as soon as it is here
//! SQ-5  everyone has both     → forget the number
//! SQ-6  a view ends           → numbered messages in the order of their numbers, up to the first number that nobody knows; then the
//!                               others, in the order inside. What nobody holds is skipped
//! ```
//!
//! Cost: 2(n−1) messages a multicast if its sender sends it to all; n if it goes through the sequencer, n−1 for the sequencer's own. The
//! slowest member delivers after two message times, after one if the sequencer sends.
//!
//! Why all agree when a view ends: each member has delivered all numbers up to some one. Whoever forgets a number knew that everyone holds
//! the message and its number; so whoever has not delivered it yet reports it. The union of the reports therefore has every number that somebody
//! has delivered and somebody else has not, and all go on in the order of numbers. What has no number in any report, or a number behind one that
//! nobody knows, was delivered by nobody who goes on; and if delivery is uniform, by nobody at all. So the order inside is free to place it.
//!
//! Assumes: what is sent between two members that stay up arrives.
//!
//! When it fails: without views a dead sequencer stops everyone. The sequencer carries the load of all senders.

use super::{
    Book, Causes, Desk, Facts, HoldBack, MessageId, Notes, Ordering, Partial, Plan, Promise, Route, Sequencing, Survey,
    Word, causal, fifo, unordered,
};
use crate::about::Profile;
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

/// What the book says of it. Beside this are [`FIFO_FACTS`] and [`CAUSAL_FACTS`].
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "sequencer",
        class: "total order",
        summary: "one member numbers all messages, and everyone delivers them in that order",
        source: include_str!("sequencer.rs"),
        ..unordered::FACTS.profile
    },
    order: Promise { fifo: false, causal: false, total: true },
    sequences: true,
    book: Book::sequenced,
    ..unordered::FACTS
};

/// What the book says of it if the sequencer takes each sender's messages in turn.
pub const FIFO_FACTS: Facts = Facts {
    profile: Profile {
        name: "fifo-total",
        summary: "a sequencer that numbers each sender's messages in the order in which they were sent",
        ..FACTS.profile
    },
    order: Promise { total: true, ..fifo::FACTS.order },
    ..FACTS
};

/// What the book says of it if the sequencer takes causes first.
pub const CAUSAL_FACTS: Facts = Facts {
    profile: Profile {
        name: "causal-total",
        summary: "a sequencer that numbers no message before one that its sender had heard",
        ..FACTS.profile
    },
    order: Promise { total: true, ..causal::FACTS.order },
    ..FACTS
};

/// The order of the numbers that the sequencer gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sequencer<I> {
    /// At the sequencer it lets messages out to be numbered; at the others it only says what travels with theirs.
    inner: I,
    me: NodeId,
    sequencer: NodeId,
    is_way: bool,
    /// Which message has which number, while either is not known to everyone.
    places: BTreeMap<u64, MessageId>,
    numbers: BTreeMap<MessageId, u64>,
    /// The last number that was given; only the sequencer counts.
    given: u64,
    delivered: u64,
}

/// This message has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// The number, from 1.
    pub number: u64,
    pub id: MessageId,
}

/// `2#1 at 3`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.id, self.number)
    }
}

impl Describe for Place {
    fn kind(&self) -> &'static str {
        "place"
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        Some(self.id.sender)
    }
}

/// What a member knows of numbers when a view ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Places {
    pub places: BTreeMap<u64, MessageId>,
    /// The last number whose message it has delivered.
    pub delivered: u64,
    /// Nothing, where journals show what the order inside knows.
    pub inner: (),
}

impl<I: Partial> Sequencer<I> {
    fn sequences(&self) -> bool {
        self.me == self.sequencer
    }

    /// SQ-1.
    fn give(&mut self, queue: &HoldBack, desk: &mut dyn Desk) {
        while let Some(id) = self.inner.next(queue) {
            self.inner.delivered(id, queue);
            self.given += 1;
            desk.note("SQ-1", format_args!("{id} has number {}", self.given));
            let place = Place { number: self.given, id };
            self.remember(place);
            self.tell(place, desk);
        }
    }

    /// SQ-2.
    fn tell(&self, place: Place, desk: &mut dyn Desk) {
        desk.note("SQ-2", format_args!("tells all that {} is {}", place.number, place.id));
        if self.is_way {
            desk.forward(place);
        } else {
            desk.multicast(Word::Place(place));
        }
    }

    fn remember(&mut self, Place { number, id }: Place) {
        self.places.insert(number, id);
        self.numbers.insert(id, number);
    }
}

impl<I: Partial> Ordering for Sequencer<I> {
    fn begin(plan: &Plan, me: NodeId, members: &Group) -> Self {
        Self {
            inner: I::begin(plan, me, members),
            me,
            sequencer: members.first().unwrap_or(me),
            is_way: plan.sequencing == Sequencing::Via,
            places: BTreeMap::new(),
            numbers: BTreeMap::new(),
            given: 0,
            delivered: 0,
        }
    }

    fn route(&self) -> Route {
        if self.is_way { Route::Via(self.sequencer) } else { Route::ToAll }
    }

    fn tag(&mut self) -> Causes {
        self.inner.tag()
    }

    fn received(&mut self, id: MessageId, queue: &HoldBack, desk: &mut dyn Desk) {
        if self.sequences() {
            self.inner.received(id, queue, desk);
            self.give(queue, desk);
        }
    }

    /// SQ-3. A number of somebody else, or one that is taken, is none.
    fn heard(&mut self, from: NodeId, word: Word, queue: &HoldBack, desk: &mut dyn Desk) {
        let Word::Place(place) = word else { return };
        let Place { number, id } = place;
        let is_named = queue.id(id.sender, id.number) == id && queue.members().contains(id.sender);
        let is_free = number > self.delivered && !self.places.contains_key(&number) && !self.numbers.contains_key(&id);
        if from == self.sequencer && !self.sequences() && is_named && is_free && !queue.is_delivered(id) {
            desk.note("SQ-3", format_args!("{id} has number {number}"));
            self.remember(place);
        }
    }

    /// SQ-4.
    fn next(&self, queue: &HoldBack) -> Option<MessageId> {
        self.places.get(&(self.delivered + 1)).copied().filter(|id| queue.waits(*id))
    }

    /// SQ-4. The order inside lets messages out at the sequencer when they are numbered, and at the others now.
    fn delivered(&mut self, id: MessageId, queue: &HoldBack) {
        if let Some(number) = self.numbers.get(&id) {
            self.delivered = self.delivered.max(*number);
        }
        if !self.sequences() {
            self.inner.delivered(id, queue);
        }
    }

    fn is_placed(&self, id: MessageId) -> bool {
        self.numbers.contains_key(&id)
    }

    /// SQ-5.
    fn forget(&mut self, id: MessageId) {
        if let Some(number) = self.numbers.remove(&id) {
            self.places.remove(&number);
        }
        self.inner.forget(id);
    }

    fn notes(&self) -> Notes {
        Notes::Places(Places { places: self.places.clone(), delivered: self.delivered, inner: () })
    }

    /// SQ-6.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        let known = || survey.notes.values().filter_map(Notes::places);
        let places: BTreeMap<_, _> = known().flat_map(|known| &known.places).collect();
        let delivered = known().map(|known| known.delivered).max().unwrap_or(0);
        let mut last = delivered;
        let mut follows = |number: u64| {
            let is_next = number <= delivered || number == last + 1;
            last = if is_next { number.max(last) } else { last };
            is_next
        };
        let mut named = BTreeSet::new();
        let numbered = places.into_iter().filter(|(number, _)| follows(**number)).map(|(_, id)| *id);
        let numbered: Vec<_> = numbered.filter(|id| survey.held.contains_key(id)).collect();
        let all = numbered.into_iter().chain(self.inner.settle(survey)).filter(|id| named.insert(*id)).collect();
        self.inner.prune(all, survey)
    }

    /// SQ-6.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        self.inner.prune(settled, survey)
    }
}

#[cfg(test)]
mod tests;
