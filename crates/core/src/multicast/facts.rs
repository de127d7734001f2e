//! Properties and expected costs of a multicast algorithm, as data.

use super::Plan;
use crate::about::Profile;
use crate::multicast::plan::{Delivery, Sequencing};

/// The entry of one algorithm in the table of algorithms.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub order: OrderGuarantee,
    /// Whether members relay the messages that they receive, by default.
    pub relays: bool,
    /// Whether the algorithm has a sequencer, and thus two routes for a message to all members.
    pub sequences: bool,
    /// Returns the cost of one multicast in a group with this plan, without concurrent multicasts.
    pub expected: fn(&Plan) -> ExpectedCost,
}

/// The guarantees on the order in which messages are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderGuarantee {
    /// Messages of one sender are delivered in the order in which it sent them.
    pub fifo: bool,
    /// A message is delivered after all messages that its sender had delivered before sending it.
    pub causal: bool,
    /// All members deliver messages in the same order.
    pub total: bool,
}

/// Expected cost of one multicast without contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedCost {
    pub messages: u64,
    /// Number of messages if the sequencer itself is the sender.
    pub messages_of_sequencer: u64,
    /// Number of message times until the last member delivers.
    pub slowest: u64,
    /// The same if the sequencer itself is the sender.
    pub slowest_of_sequencer: u64,
}

impl ExpectedCost {
    /// A cost that is the same for all senders.
    pub const fn uniform(messages: u64, slowest: u64) -> Self {
        Self { messages, messages_of_sequencer: messages, slowest, slowest_of_sequencer: slowest }
    }

    /// Returns the number of members other than the sender.
    fn others(plan: &Plan) -> u64 {
        (plan.members.len() as u64).saturating_sub(1)
    }

    /// Returns the cost of sending one message to all members. With relaying, each member but the
    /// sender sends it to all others too.
    pub fn spread(plan: &Plan) -> u64 {
        let others = Self::others(plan);
        if plan.relay { others + others * others } else { others }
    }

    /// Returns the cost of an order in which messages only wait for each other.
    pub fn local(plan: &Plan) -> Self {
        Self::uniform(Self::spread(plan), 1).adjusted_for(plan)
    }

    /// Returns the cost of an order that a sequencer determines.
    pub fn sequenced(plan: &Plan) -> Self {
        let (others, spread) = (Self::others(plan), Self::spread(plan));
        let cost = match plan.sequencing {
            Sequencing::ToAll => Self { slowest_of_sequencer: 1, ..Self::uniform(spread + others, 2) },
            Sequencing::ThroughSequencer => {
                // The sender already has its message when it arrives from the sequencer, and does
                // not relay it.
                let relayed = if plan.relay { others * others.saturating_sub(1) } else { 0 };
                Self {
                    messages: 1 + others + relayed,
                    messages_of_sequencer: spread,
                    slowest: 2,
                    slowest_of_sequencer: 1,
                }
            }
        };
        cost.adjusted_for(plan)
    }

    /// Returns the cost of an order that all members agree on.
    pub fn agreed(plan: &Plan) -> Self {
        Self::uniform(Self::spread(plan) + 2 * Self::others(plan), 3).adjusted_for(plan)
    }

    /// Adjusts a cost to the size of the group and to its delivery: a group of one sends nothing
    /// and delivers at once, and uniform delivery takes one message time more.
    fn adjusted_for(self, plan: &Plan) -> Self {
        if plan.members.len() < 2 {
            return Self::uniform(0, 0);
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
