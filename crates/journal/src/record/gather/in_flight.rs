//! The messages in flight during the merge, and the fate of each one.

use super::incarnations::IncarnationPlan;
use super::survey::ReceiptRange;
use quorate_core::{Incarnation, NodeId, Time};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// Identifies a message as its sender's journal does: by a number within one incarnation of the
/// sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LiveMessageId {
    pub(super) sender: NodeId,
    pub(super) incarnation: Incarnation,
    /// Position among the messages of that incarnation, counted from 1.
    pub(super) number: u64,
}

impl fmt::Display for LiveMessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} of incarnation {}", self.sender, self.number, self.incarnation)
    }
}

/// All messages that were sent and have not arrived yet, and the messages that each receiver will
/// receive.
pub(super) struct InFlight {
    inboxes: Vec<Inbox>,
    /// Number of messages that each incarnation has sent so far.
    sent: BTreeMap<(NodeId, Incarnation), u64>,
}

struct Inbox {
    /// Messages in flight to this node, with their send times.
    in_flight: BTreeMap<LiveMessageId, Time>,
    /// For each incarnation of this node, the range of message numbers that it receives from each
    /// incarnation of a sender. Within a range, a reliable link skips no message.
    receives: Vec<BTreeMap<(NodeId, Incarnation), RangeInclusive<u64>>>,
    /// Number of incarnations that have started. The last of them is the current one.
    started_count: usize,
    is_up: bool,
}

/// The fate of a message that is sent now.
pub(super) enum SendOutcome {
    InFlight,
    /// It will not arrive, because its receiver is down or has restarted.
    Lost,
    /// Its receiver is not in the group.
    NoReceiver,
}

impl InFlight {
    pub(super) fn new<'a>(nodes: impl Iterator<Item = &'a [IncarnationPlan]>) -> Self {
        let receives = |plan: &IncarnationPlan| {
            // Messages before the first received one went to an earlier incarnation. The first
            // incarnation follows none, so it receives all messages from number 1.
            let is_first = plan.incarnation == Incarnation::FIRST;
            let numbers =
                |received: &ReceiptRange| if is_first { 1 } else { received.first.number }..=received.last.number;
            plan.received.iter().map(|(sender, received)| (*sender, numbers(received))).collect()
        };
        let inbox = |incarnations: &[IncarnationPlan]| Inbox {
            in_flight: BTreeMap::new(),
            receives: incarnations.iter().map(receives).collect(),
            started_count: 0,
            is_up: false,
        };
        Self { inboxes: nodes.map(inbox).collect(), sent: BTreeMap::new() }
    }

    /// Records that the next incarnation of a node starts.
    pub(super) fn start(&mut self, node: NodeId) {
        if let Some(inbox) = self.inboxes.get_mut(node.index()) {
            inbox.started_count += 1;
            inbox.is_up = true;
        }
    }

    /// Records that a message is sent, and returns its fate.
    pub(super) fn send(&mut self, message: LiveMessageId, to: NodeId, time: Time) -> SendOutcome {
        self.sent.insert((message.sender, message.incarnation), message.number);
        let Some(inbox) = self.inboxes.get_mut(to.index()) else { return SendOutcome::NoReceiver };
        if inbox.is_lost(message) {
            return SendOutcome::Lost;
        }
        inbox.in_flight.insert(message, time);
        SendOutcome::InFlight
    }

    /// Returns the send time of a message in flight to this receiver.
    pub(super) fn send_time(&self, message: LiveMessageId, receiver: NodeId) -> Option<Time> {
        self.inboxes.get(receiver.index())?.in_flight.get(&message).copied()
    }

    /// Returns whether a message was sent, regardless of its fate.
    pub(super) fn was_sent(&self, message: LiveMessageId) -> bool {
        self.sent.get(&(message.sender, message.incarnation)).is_some_and(|sent| *sent >= message.number)
    }

    /// Removes and returns the messages that the current incarnation of a node should have received
    /// before `message`, which arrives now. They never arrive.
    pub(super) fn take_skipped(&mut self, message: LiveMessageId, receiver: NodeId) -> Vec<LiveMessageId> {
        let Some(inbox) = self.inboxes.get_mut(receiver.index()) else { return Vec::new() };
        let current = inbox.started_count.checked_sub(1).and_then(|index| inbox.receives.get(index));
        let sender = (message.sender, message.incarnation);
        let Some(received) = current.and_then(|senders| senders.get(&sender)) else { return Vec::new() };
        let first = LiveMessageId { number: message.number.min(*received.start()), ..message };
        let skipped: Vec<_> = inbox.in_flight.range(first..message).map(|(earlier, _)| *earlier).collect();
        for earlier in &skipped {
            inbox.in_flight.remove(earlier);
        }
        skipped
    }

    /// Removes a message that arrives. Returns whether it was in flight.
    pub(super) fn arrive(&mut self, message: LiveMessageId, receiver: NodeId) -> bool {
        self.inboxes.get_mut(receiver.index()).is_some_and(|inbox| inbox.in_flight.remove(&message).is_some())
    }

    /// Records that a node goes down. Removes and returns the messages in flight to it that no
    /// later incarnation receives.
    pub(super) fn go_down(&mut self, node: NodeId) -> Vec<LiveMessageId> {
        let Some(inbox) = self.inboxes.get_mut(node.index()) else { return Vec::new() };
        inbox.is_up = false;
        let lost: Vec<_> = inbox.in_flight.keys().copied().filter(|message| inbox.is_lost(*message)).collect();
        for message in &lost {
            inbox.in_flight.remove(message);
        }
        lost
    }

    /// Number of messages in flight.
    pub(super) fn count(&self) -> u64 {
        self.inboxes.iter().map(|inbox| inbox.in_flight.len() as u64).sum()
    }
}

impl Inbox {
    /// Returns whether neither the current nor a later incarnation can receive this message. A link
    /// that connects to a new incarnation drops its queued messages, and skips none from then on.
    fn is_lost(&self, message: LiveMessageId) -> bool {
        let from = (message.sender, message.incarnation);
        let mut later = self.receives.iter().skip(self.started_count).filter_map(|senders| senders.get(&from));
        if later.any(|received| received.contains(&message.number)) {
            return false;
        }
        // A sender keeps all messages for the first incarnation until it has started.
        if self.started_count == 0 {
            return false;
        }
        let current = self.receives.get(self.started_count - 1).and_then(|senders| senders.get(&from));
        let was_dropped = self.started_count > 1 && current.is_some_and(|received| message.number < *received.start());
        !self.is_up || was_dropped
    }
}
