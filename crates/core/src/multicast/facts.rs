//! Properties and expected costs of a multicast algorithm, as data.

use super::Plan;
use crate::about::Profile;
use crate::multicast::plan::{Delivery, Sequencing};

/// The properties and expected costs of one algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub order: OrderGuarantee,
    /// Whether members relay the messages that they receive, unless the configuration says
    /// otherwise.
    pub relays_by_default: bool,
    /// Whether the algorithm has a sequencer, so that [`Sequencing`] applies.
    pub has_sequencer: bool,
    /// Returns the cost of one multicast in a group with this plan, if there are no others at the
    /// time.
    pub expected_cost: fn(&Plan) -> ExpectedCost,
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

/// The expected cost of one multicast, if there are no others at the time. A message time is the
/// time that one message takes from its sender to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedCost {
    /// Number of messages without acknowledgements, for a sender that is not the sequencer.
    pub messages: u64,
    /// Number of messages if the sequencer itself is the sender.
    pub messages_of_sequencer: u64,
    /// Number of message times until the last member delivers.
    pub message_times: u64,
    /// Number of message times if the sequencer itself is the sender.
    pub message_times_of_sequencer: u64,
}

impl ExpectedCost {
    /// Returns a cost that is the same for all senders.
    pub const fn same_for_all_senders(messages: u64, message_times: u64) -> Self {
        Self { messages, messages_of_sequencer: messages, message_times, message_times_of_sequencer: message_times }
    }

    /// Returns the number of members other than the sender.
    fn others(plan: &Plan) -> u64 {
        (plan.members.len() as u64).saturating_sub(1)
    }

    /// Returns the number of messages that bring one message to all members. With relaying, each
    /// member but the sender sends it to all others too.
    pub fn messages_to_all(plan: &Plan) -> u64 {
        let others = Self::others(plan);
        if plan.relays { others + others * others } else { others }
    }

    /// Returns the cost of an order that each member derives from the messages alone.
    pub fn for_local_order(plan: &Plan) -> Self {
        Self::same_for_all_senders(Self::messages_to_all(plan), 1).adjusted_for(plan)
    }

    /// Returns the cost of an order that a sequencer determines.
    pub fn for_sequenced_order(plan: &Plan) -> Self {
        let (others, messages_to_all) = (Self::others(plan), Self::messages_to_all(plan));
        let cost = match plan.sequencing {
            Sequencing::ToAll => {
                Self { message_times_of_sequencer: 1, ..Self::same_for_all_senders(messages_to_all + others, 2) }
            }
            Sequencing::ThroughSequencer => {
                // The sender already has its message when it arrives from the sequencer, and does
                // not relay it.
                let relayed = if plan.relays { others * others.saturating_sub(1) } else { 0 };
                Self {
                    messages: 1 + others + relayed,
                    messages_of_sequencer: messages_to_all,
                    message_times: 2,
                    message_times_of_sequencer: 1,
                }
            }
        };
        cost.adjusted_for(plan)
    }

    /// Returns the cost of an order that all members agree on: after a message has arrived, the
    /// others send proposals to its sender, which then sends the result to them.
    pub fn for_agreed_order(plan: &Plan) -> Self {
        Self::same_for_all_senders(Self::messages_to_all(plan) + 2 * Self::others(plan), 3).adjusted_for(plan)
    }

    /// Adjusts a cost to the plan's group size and delivery: a group of one sends nothing and
    /// delivers at once, and uniform delivery takes one message time more.
    fn adjusted_for(self, plan: &Plan) -> Self {
        if plan.members.len() < 2 {
            return Self::same_for_all_senders(0, 0);
        }
        match plan.delivery {
            Delivery::Prompt => self,
            Delivery::Uniform => {
                let message_times_of_sequencer = self.message_times_of_sequencer + 1;
                Self { message_times: self.message_times + 1, message_times_of_sequencer, ..self }
            }
        }
    }
}
