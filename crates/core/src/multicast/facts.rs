//! What the book says of an algorithm of this family.

use super::Plan;
use crate::about::Profile;
use crate::multicast::plan::{Delivery, Sequencing};

/// What the book says of an algorithm of this family.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub order: Promise,
    /// Whether whoever receives a message passes it on, unless its user says otherwise.
    pub relays: bool,
    /// Whether it has a sequencer, and so two ways of a message to all.
    pub sequences: bool,
    /// What one multicast costs in a group that is set up like this, if nobody else sends.
    pub book: fn(&Plan) -> Book,
}

/// What is promised of the order in which messages are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// What one member sends is delivered in the order in which it was sent.
    pub fifo: bool,
    /// What was said after something was heard is delivered after it.
    pub causal: bool,
    /// Everyone delivers in the same order.
    pub total: bool,
}

/// What one multicast costs without contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Book {
    pub messages: u64,
    /// How many of them if the sequencer itself is the sender.
    pub messages_of_sequencer: u64,
    /// After how many message times the last member delivers.
    pub slowest: u64,
    /// After how many of them if the sequencer itself is the sender.
    pub slowest_of_sequencer: u64,
}

impl Book {
    /// Every member sends this many messages, one way or another, and everyone delivers after so many message times.
    pub const fn of(messages: u64, slowest: u64) -> Self {
        Self { messages, messages_of_sequencer: messages, slowest, slowest_of_sequencer: slowest }
    }

    fn others(plan: &Plan) -> u64 {
        (plan.members.len() as u64).saturating_sub(1)
    }

    /// What sending to all costs. If messages are passed on, each member but the sender sends them to all others too.
    pub fn spread(plan: &Plan) -> u64 {
        let others = Self::others(plan);
        if plan.relay { others + others * others } else { others }
    }

    /// What an order costs in which messages only wait for each other.
    pub fn local(plan: &Plan) -> Self {
        Self::of(Self::spread(plan), 1).when(plan)
    }

    /// What an order costs that a sequencer makes.
    pub fn sequenced(plan: &Plan) -> Self {
        let (others, spread) = (Self::others(plan), Self::spread(plan));
        let book = match plan.sequencing {
            Sequencing::ToAll => Self { slowest_of_sequencer: 1, ..Self::of(spread + others, 2) },
            Sequencing::Via => {
                // The sender has its message already when it comes to it, and does not pass it on.
                let passed_on = if plan.relay { others * others.saturating_sub(1) } else { 0 };
                Self {
                    messages: 1 + others + passed_on,
                    messages_of_sequencer: spread,
                    slowest: 2,
                    slowest_of_sequencer: 1,
                }
            }
        };
        book.when(plan)
    }

    /// What an order costs that all members agree on.
    pub fn agreed(plan: &Plan) -> Self {
        Self::of(Self::spread(plan) + 2 * Self::others(plan), 3).when(plan)
    }

    /// A group of one sends nothing and is told at once; and who waits until everyone holds a message waits for one message more.
    fn when(self, plan: &Plan) -> Self {
        if plan.members.len() < 2 {
            return Self::of(0, 0);
        }
        match plan.delivery {
            Delivery::Prompt => self,
            Delivery::Uniform => {
                let slowest_of_sequencer = self.slowest_of_sequencer + 1;
                Self { slowest: self.slowest + 1, slowest_of_sequencer, ..self }
            }
        }
    }
}
