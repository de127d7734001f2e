//! Checks whether all nodes deliver messages in the same order, while deliveries happen.
//!
//! Every message has a rank: the number of messages that had been delivered by any node when it was
//! first delivered. As long as each node delivers in the order of ranks, all nodes share one order,
//! and one comparison per delivery is enough. The first delivery out of rank is not yet a
//! violation, because the two nodes that differ may not have two messages in common. From then on
//! nodes are compared in pairs: for each pair, the latest delivery of one node that the other made
//! as well. If the other node then delivers a message that the first node delivered earlier, the
//! two messages are in different orders. Until the first delivery out of rank, ranks serve as
//! positions of deliveries, so that messages which all nodes have delivered can be forgotten.

use super::message::{Key, Message};
use quorate_core::{NodeId, Time};
use std::collections::BTreeMap;

/// Checks the total order of one view.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The last assigned rank or position.
    last_position: u64,
    positions: Vec<NodePosition>,
    phase: Phase,
    conflicts: BTreeMap<(NodeId, NodeId), Conflict>,
}

/// The progress of one node.
#[derive(Clone, Copy, Debug, Default)]
struct NodePosition {
    /// The highest rank that it has delivered.
    rank: u64,
    /// The latest of its deliveries of messages that all members have delivered.
    settled: Option<DeliveryAt>,
}

/// A delivery: its position, and the message.
type DeliveryAt = (u64, Key);

/// How deliveries are compared.
#[derive(Clone, Debug)]
enum Phase {
    /// All deliveries so far are in rank order.
    ByRank,
    /// For each pair of nodes: the latest delivery of the first node that the second also made.
    ByPair(Vec<Vec<Option<DeliveryAt>>>),
}

/// Two nodes that deliver two messages in different orders.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub(super) time: Time,
    pub(super) line: u64,
    /// The message that `by` delivered after `before`, although `other` delivered it earlier.
    pub(super) after: Key,
    pub(super) before: Key,
    /// The node that delivered `before` first and `after` later.
    pub(super) by: NodeId,
    pub(super) other: NodeId,
}

impl Order {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            last_position: 0,
            positions: vec![NodePosition::default(); nodes],
            phase: Phase::ByRank,
            conflicts: BTreeMap::new(),
        }
    }

    /// Records a delivery. Returns conflicts of pairs of nodes without an earlier conflict.
    pub(super) fn record_delivery(
        &mut self,
        (time, line): (Time, u64),
        node: NodeId,
        key: Key,
        messages: &mut BTreeMap<Key, Message>,
    ) -> Vec<Conflict> {
        if let Phase::ByRank = self.phase {
            let Some(message) = messages.get_mut(&key) else { return Vec::new() };
            let rank = *message.rank.get_or_insert_with(|| {
                self.last_position += 1;
                self.last_position
            });
            let Some(node_position) = self.positions.get_mut(node.index()) else { return Vec::new() };
            if rank > node_position.rank {
                node_position.rank = rank;
                message.deliveries.push((node, rank));
                return Vec::new();
            }
            self.phase = Phase::ByPair(self.pairs(messages));
        }
        let Phase::ByPair(latest) = &mut self.phase else { return Vec::new() };
        let Some(message) = messages.get_mut(&key) else { return Vec::new() };
        self.last_position += 1;
        let position = self.last_position;
        let mut found = Vec::new();
        for (other, other_position) in &message.deliveries {
            let pair = (node.min(*other), node.max(*other));
            if let Some(common) = latest_common(latest, *other, node) {
                if let Some((latest, before)) = *common
                    && *other_position < latest
                    && !self.conflicts.contains_key(&pair)
                {
                    let conflict = Conflict { time, line, after: key, before, by: node, other: *other };
                    self.conflicts.insert(pair, conflict.clone());
                    found.push(conflict);
                }
                *common = (*common).max(Some((*other_position, key)));
            }
            if let Some(common) = latest_common(latest, node, *other) {
                *common = Some((position, key));
            }
        }
        message.deliveries.push((node, position));
        found
    }

    /// Records that a message is forgotten, because all members that could have delivered it.
    pub(super) fn settle(&mut self, key: Key, message: &Message) {
        for (node, position) in &message.deliveries {
            if let Some(node_position) = self.positions.get_mut(node.index()) {
                node_position.settled = node_position.settled.max(Some((*position, key)));
            }
        }
    }

    pub(super) fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.values()
    }

    /// The latest common deliveries of each pair, while all deliveries are in rank order. At least
    /// one node of a relevant pair can still deliver, and that node has delivered all settled
    /// messages.
    fn pairs(&self, messages: &BTreeMap<Key, Message>) -> Vec<Vec<Option<DeliveryAt>>> {
        let nodes = self.positions.len();
        let mut latest: Vec<_> =
            self.positions.iter().map(|node_position| vec![node_position.settled; nodes]).collect();
        for (key, message) in messages {
            for (node, position) in &message.deliveries {
                for (other, _) in message.deliveries.iter().filter(|(other, _)| other != node) {
                    if let Some(common) = latest_common(&mut latest, *node, *other) {
                        *common = (*common).max(Some((*position, *key)));
                    }
                }
            }
        }
        latest
    }
}

/// The latest delivery of the first node that the second also made.
fn latest_common(
    latest: &mut [Vec<Option<DeliveryAt>>],
    node: NodeId,
    other: NodeId,
) -> Option<&mut Option<DeliveryAt>> {
    latest.get_mut(node.index())?.get_mut(other.index())
}
