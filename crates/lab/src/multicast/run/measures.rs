//! Measures the cost figures of multicasts: messages, delays, views.

use super::in_flight::InFlight;
use quorate_core::multicast::{Command, Event, GroupId};
use quorate_core::{Duration, Epoch, Group, NodeId, Time};
use quorate_journal::metrics::{Delay, DelaySamples, MessageCounts};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use quorate_journal::property::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of slow receivers in the summary.
const MAX_SLOWEST: usize = 3;

/// Multicasts, deliveries and delays so far.
///
/// A delay is the time from sending a message to one delivery of it, including the sender's own. A
/// message is forgotten when every member of its view has delivered it or cannot deliver it any
/// more.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    nodes: Vec<NodeMeasures>,
    in_flight: InFlight,
    sent: u64,
    delivered: u64,
    delay: DelaySamples,
    waits: u64,
    refused: u64,
    retransmitted: u64,
    max_held_back: u64,
    /// The latest view of each group that a node has begun.
    latest_views: BTreeMap<GroupId, Epoch>,
    begun_views: u64,
    removals: u64,
    leaves: u64,
    /// When the first crash since the last delivery happened.
    crashed_at: Option<Time>,
    /// The longest time from a crash to the next delivery.
    longest_recovery: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeMeasures {
    delay: DelaySamples,
    max_held_back: u64,
    /// Number of times that a sender had to wait because this node was slow.
    waited_for: u64,
}

impl Measures {
    pub fn new(nodes: usize) -> Self {
        Self { nodes: vec![NodeMeasures::default(); nodes], in_flight: InFlight::new(nodes), ..Self::default() }
    }

    /// Sets the members of a group without views. By default all nodes are in every group.
    #[must_use]
    pub fn with_members(mut self, group: GroupId, members: &Group) -> Self {
        self.in_flight.set_members(group, members);
        self
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub fn record_held_back(&mut self, node: NodeId, count: u64) {
        self.max_held_back = self.max_held_back.max(count);
        if let Some(node) = self.nodes.get_mut(node.index()) {
            node.max_held_back = node.max_held_back.max(count);
        }
    }

    pub fn summary(&self, messages: &MessageCounts, unit: Duration, unit_name: &'static str) -> MulticastSummary {
        MulticastSummary {
            sent: self.sent,
            delivered: self.delivered,
            messages_per_multicast: (self.sent > 0).then(|| messages.total() as f64 / self.sent as f64),
            delay: self.delay.in_units_of(unit),
            delay_unit: unit_name,
            max_held_back: self.max_held_back,
            retransmitted: self.retransmitted,
            waits: self.waits,
            refused: self.refused,
            slowest: self.slowest(unit),
            views: (self.begun_views > 0).then(|| ViewSummary {
                epoch: self.latest_views.values().map(|epoch| epoch.0).max().unwrap_or(0),
                begun: self.begun_views,
                removals: self.removals,
                leaves: self.leaves,
                recovery_ns: self.longest_recovery.map(Duration::nanos),
            }),
            not_promised: Vec::new(),
        }
    }

    /// The slowest receivers: those for which senders waited most often, then those with the
    /// longest mean delays; ties by node number.
    fn slowest(&self, unit: Duration) -> Vec<Receiver> {
        let receiver = |(index, node): (usize, &NodeMeasures)| {
            Some(Receiver {
                node: NodeId::from_index(index),
                delay: node.delay.in_units_of(unit)?,
                max_held_back: node.max_held_back,
                waited_for: node.waited_for,
            })
        };
        let mut receivers: Vec<_> = self.nodes.iter().enumerate().filter_map(receiver).collect();
        receivers.sort_by(|left, right| {
            let by_delay = right.delay.mean.total_cmp(&left.delay.mean);
            right.waited_for.cmp(&left.waited_for).then(by_delay)
        });
        receivers.truncate(MAX_SLOWEST);
        receivers
    }

    fn record_event(&mut self, time: Time, node: NodeId, event: &Event) {
        if let Some(delay) = self.in_flight.record_event(time, node, event) {
            self.delay.add(delay);
            if let Some(node) = self.nodes.get_mut(node.index()) {
                node.delay.add(delay);
            }
        }
        match event {
            Event::Sent { .. } => self.sent += 1,
            Event::Delivered { .. } => {
                self.delivered += 1;
                if let Some(crashed_at) = self.crashed_at.take() {
                    self.longest_recovery = self.longest_recovery.max(Some(time.since(crashed_at)));
                }
            }
            Event::Wait { slow, .. } => {
                self.waits += 1;
                for slow_node in slow.iter() {
                    if let Some(node) = self.nodes.get_mut(slow_node.index()) {
                        node.waited_for += 1;
                    }
                }
            }
            Event::View { group, view, .. } => {
                let latest = self.latest_views.entry(*group).or_default();
                if *latest < view.epoch() {
                    *latest = view.epoch();
                    self.begun_views += 1;
                }
            }
            Event::Excluded { .. } => self.removals += 1,
            Event::Left { .. } => self.leaves += 1,
            Event::Refused(_) => self.refused += 1,
            Event::Ready { .. } => {}
        }
    }

    fn count_retransmissions(&mut self, from: NodeId, receivers: impl Iterator<Item = NodeId>, sent: &Sent<'_>) {
        if sent.is_retransmission {
            let copies = receivers.filter(|to| *to != from).count();
            self.retransmitted = self.retransmitted.saturating_add(copies as u64);
        }
    }
}

impl Observer<Command, Event> for Measures {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
                self.record_event(*time, *node, event);
            }
            Moment::Effect { node, effect: ObservedEffect::Send { to, sent }, .. } => {
                self.count_retransmissions(*node, std::iter::once(*to), sent);
            }
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. } => {
                self.count_retransmissions(*node, to.iter(), sent);
            }
            Moment::Effect { node, effect: ObservedEffect::HoldBack { count, .. }, .. } => {
                self.record_held_back(*node, *count as u64);
            }
            Moment::World { time, event: WorldEvent::Crashed { node, .. } } => {
                self.crashed_at = self.crashed_at.or(Some(*time));
                self.in_flight.node_stopped(*node);
            }
            Moment::World { event: WorldEvent::Ended { node }, .. } => self.in_flight.node_stopped(*node),
            Moment::Input { node, input: ObservedInput::Start { .. }, .. } => self.in_flight.node_started(*node),
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// Multicasts and their cost, as `--json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MulticastSummary {
    pub sent: u64,
    pub delivered: u64,
    /// Messages divided by multicasts, all nodes together.
    pub messages_per_multicast: Option<f64>,
    pub delay: Option<Delay>,
    /// The unit of delays: `T`, one message time, under fixed latency; else `ms`.
    pub delay_unit: &'static str,
    #[serde(rename = "held_back_max")]
    pub max_held_back: u64,
    pub retransmitted: u64,
    /// Number of times that a node made its client wait before a send, for example because too many
    /// of the node's messages were in flight.
    pub waits: u64,
    pub refused: u64,
    /// A few receivers, the slowest first: those for which senders waited most often, then those
    /// with the longest mean delays.
    pub slowest: Vec<Receiver>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub views: Option<ViewSummary>,
    /// Properties that were judged although they are not promised.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_promised: Vec<Verdict>,
}

/// The figures of one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Receiver {
    pub node: NodeId,
    pub delay: Delay,
    #[serde(rename = "held_back_max")]
    pub max_held_back: u64,
    /// Number of times that a sender had to wait because this node was slow.
    pub waited_for: u64,
}

/// Counts of view events.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ViewSummary {
    /// The highest epoch of a view that at least one node began.
    pub epoch: u64,
    /// Number of views that at least one node began, all groups together.
    pub begun: u64,
    #[serde(rename = "outs")]
    pub removals: u64,
    #[serde(rename = "left")]
    pub leaves: u64,
    /// The longest time from a crash to the next delivery, in nanoseconds; `None` without such a
    /// delivery.
    pub recovery_ns: Option<u64>,
}
