//! Total order by a sequencer (Kaashoek and Tanenbaum 1989; described in every textbook).
//!
//! One member, the first of the view, numbers all messages, and all members deliver them in the
//! order of these numbers. The sequencer numbers messages as an inner order releases them: in the
//! order of receipt, in each sender's sending order (FIFO-total), or causes first (causal-total).
//! So the guarantees of the inner order hold for all members as well.
//!
//! ```text
//! SQ-1  a message is received → the sequencer assigns the next number, once the inner order
//!                               releases the message
//! SQ-2  a number is assigned  → the sequencer sends it to all; if messages go through the
//!                               sequencer, it sends the message along
//! SQ-3  a number arrives      → record which message has it, if it comes from the sequencer
//! SQ-4  a number is next      → deliver the message that has it, as soon as that is received
//! SQ-5  all members hold a
//!       message with its
//!       number                → forget the number
//! SQ-6  a view ends           → deliver numbered messages in the order of their numbers, up to the
//!                               first number that no member knows; then the others, in the inner
//!                               order. Skip messages that no member holds
//! ```
//!
//! Cost: 2(n−1) messages per multicast if its sender sends it to all; n if it goes through the
//! sequencer, n−1 for the sequencer's own; acknowledgements are not counted. The slowest member
//! delivers after two message times, after one if the sequencer sends.
//!
//! Why all agree when a view ends: each member has delivered all numbers up to some number. A
//! member that forgets a number knew that all members hold the message and its number, so a member
//! that has not delivered it yet reports it. The union of the reports therefore has every number
//! that one member has delivered and another has not, and all continue in the order of numbers. A
//! message without a number in any report, or with a number after one that no member knows, was
//! delivered by no survivor; and if delivery is uniform, by no member at all. So the inner order is
//! free to position it.
//!
//! Assumes: messages between two members that stay up arrive.
//!
//! When it fails: without views a crashed sequencer stops the whole group. The sequencer carries
//! the load of all senders.

use super::{
    Causes, ExpectedCost, Facts, HoldBack, MessageId, OrderGuarantee, OrderMessage, OrderReport, OrderSink, Ordering,
    PartialOrdering, Plan, Route, Sequencing, Survey, causal, fifo, unordered,
};
use crate::about::Profile;
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

/// The algorithm's properties and expected costs; see also [`FIFO_FACTS`] and [`CAUSAL_FACTS`].
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "sequencer",
        class: "total order",
        summary: "one member numbers all messages, and all members deliver them in that order",
        source: include_str!("sequencer.rs"),
        ..unordered::FACTS.profile
    },
    order: OrderGuarantee { fifo: false, causal: false, total: true },
    has_sequencer: true,
    expected_cost: ExpectedCost::for_sequenced_order,
    ..unordered::FACTS
};

/// The properties and expected costs of the variant whose sequencer numbers each sender's messages
/// in sending order.
pub const FIFO_FACTS: Facts = Facts {
    profile: Profile {
        name: "fifo-total",
        summary: "a sequencer that numbers each sender's messages in the order in which they were sent",
        ..FACTS.profile
    },
    order: OrderGuarantee { total: true, ..fifo::FACTS.order },
    ..FACTS
};

/// The properties and expected costs of the variant whose sequencer numbers a message after all its
/// causes.
pub const CAUSAL_FACTS: Facts = Facts {
    profile: Profile {
        name: "causal-total",
        summary: "a sequencer that numbers a message after all that its sender had delivered",
        ..FACTS.profile
    },
    order: OrderGuarantee { total: true, ..causal::FACTS.order },
    ..FACTS
};

/// The order of the numbers that the sequencer assigns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sequencer<I> {
    /// At the sequencer, the inner order releases messages to be numbered. At every member it
    /// creates the tags of messages, and when a view ends it orders those without a number.
    inner: I,
    me: NodeId,
    sequencer: NodeId,
    routes_via_sequencer: bool,
    /// The known numbers and their messages. Forgotten when all members hold message and number.
    positions: BTreeMap<u64, MessageId>,
    /// The same positions, as the number of each message.
    numbers: BTreeMap<MessageId, u64>,
    /// At the sequencer: the last number that it assigned.
    last_assigned: u64,
    /// The last number whose message this member has delivered.
    last_delivered: u64,
}

/// The position of a message in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// The number, from 1.
    pub number: u64,
    pub id: MessageId,
}

/// `2#1 at 3`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.id, self.number)
    }
}

impl Describe for Position {
    fn kind(&self) -> &'static str {
        "position"
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        Some(self.id.sender)
    }
}

/// The numbers that a member knows when a view ends, for its report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Positions {
    #[cfg_attr(feature = "serde", serde(rename = "places"))]
    pub positions: BTreeMap<u64, MessageId>,
    /// The last number whose message the member has delivered.
    #[cfg_attr(feature = "serde", serde(rename = "delivered"))]
    pub last_delivered: u64,
    /// Always empty. Kept for compatibility with existing journals.
    pub inner: (),
}

impl<I: PartialOrdering> Sequencer<I> {
    fn is_sequencer(&self) -> bool {
        self.me == self.sequencer
    }

    /// SQ-1.
    fn assign_numbers(&mut self, queue: &HoldBack, sink: &mut dyn OrderSink) {
        while let Some(id) = self.inner.next_deliverable(queue) {
            self.inner.on_delivered(id, queue);
            self.last_assigned += 1;
            sink.note("SQ-1", format_args!("{id} has number {}", self.last_assigned));
            let position = Position { number: self.last_assigned, id };
            self.record_position(position);
            self.announce(position, sink);
        }
    }

    /// SQ-2.
    fn announce(&self, position: Position, sink: &mut dyn OrderSink) {
        sink.note("SQ-2", format_args!("announces that number {} is {}", position.number, position.id));
        if self.routes_via_sequencer {
            sink.forward(position);
        } else {
            sink.multicast(OrderMessage::Position(position));
        }
    }

    fn record_position(&mut self, Position { number, id }: Position) {
        self.positions.insert(number, id);
        self.numbers.insert(id, number);
    }
}

impl<I: PartialOrdering> Ordering for Sequencer<I> {
    fn create(plan: &Plan, me: NodeId, members: &Group) -> Self {
        Self {
            inner: I::create(plan, me, members),
            me,
            sequencer: members.first().unwrap_or(me),
            routes_via_sequencer: plan.sequencing == Sequencing::ThroughSequencer,
            positions: BTreeMap::new(),
            numbers: BTreeMap::new(),
            last_assigned: 0,
            last_delivered: 0,
        }
    }

    fn route(&self) -> Route {
        if self.routes_via_sequencer { Route::Via(self.sequencer) } else { Route::ToAll }
    }

    fn next_tag(&mut self) -> Causes {
        self.inner.next_tag()
    }

    fn on_received(&mut self, id: MessageId, queue: &HoldBack, sink: &mut dyn OrderSink) {
        if self.is_sequencer() {
            self.inner.on_received(id, queue, sink);
            self.assign_numbers(queue, sink);
        }
    }

    /// SQ-3. Ignores a number that does not come from the sequencer, that conflicts with an earlier
    /// one, or whose message is of another view or no member.
    fn handle_message(&mut self, from: NodeId, message: OrderMessage, queue: &HoldBack, sink: &mut dyn OrderSink) {
        let OrderMessage::Position(position) = message else { return };
        let Position { number, id } = position;
        let is_of_this_view = queue.id(id.sender, id.number) == id && queue.members().contains(id.sender);
        let is_free =
            number > self.last_delivered && !self.positions.contains_key(&number) && !self.numbers.contains_key(&id);
        if from == self.sequencer && !self.is_sequencer() && is_of_this_view && is_free && !queue.is_delivered(id) {
            sink.note("SQ-3", format_args!("{id} has number {number}"));
            self.record_position(position);
        }
    }

    /// SQ-4.
    fn next_deliverable(&self, queue: &HoldBack) -> Option<MessageId> {
        self.positions.get(&(self.last_delivered + 1)).copied().filter(|id| queue.is_waiting(*id))
    }

    /// SQ-4. At the sequencer the inner order has released the message already, when it was
    /// numbered; at other members it does so now.
    fn on_delivered(&mut self, id: MessageId, queue: &HoldBack) {
        if let Some(number) = self.numbers.get(&id) {
            self.last_delivered = self.last_delivered.max(*number);
        }
        if !self.is_sequencer() {
            self.inner.on_delivered(id, queue);
        }
    }

    fn is_position_known(&self, id: MessageId) -> bool {
        self.numbers.contains_key(&id)
    }

    /// SQ-5.
    fn forget(&mut self, id: MessageId) {
        if let Some(number) = self.numbers.remove(&id) {
            self.positions.remove(&number);
        }
        self.inner.forget(id);
    }

    fn report(&self) -> OrderReport {
        OrderReport::Positions(Positions {
            positions: self.positions.clone(),
            last_delivered: self.last_delivered,
            inner: (),
        })
    }

    /// SQ-6.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        let reports = || survey.order_reports.values().filter_map(OrderReport::positions);
        let positions: BTreeMap<_, _> = reports().flat_map(|report| &report.positions).collect();
        let max_delivered = reports().map(|report| report.last_delivered).max().unwrap_or(0);
        let mut last_accepted = max_delivered;
        // Accepts numbers up to the first gap after the last delivered one.
        let mut is_before_gap = |number: u64| {
            let is_accepted = number <= max_delivered || number == last_accepted + 1;
            last_accepted = if is_accepted { number.max(last_accepted) } else { last_accepted };
            is_accepted
        };
        let mut listed_ids = BTreeSet::new();
        let numbered = positions.into_iter().filter(|(number, _)| is_before_gap(**number)).map(|(_, id)| *id);
        let numbered: Vec<_> = numbered.filter(|id| survey.held.contains_key(id)).collect();
        let all = numbered.into_iter().chain(self.inner.settle(survey)).filter(|id| listed_ids.insert(*id)).collect();
        self.inner.prune(all, survey)
    }

    /// SQ-6.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        self.inner.prune(settled, survey)
    }
}

#[cfg(test)]
mod tests;
