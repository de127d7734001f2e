//! Checks whether all nodes deliver messages in the same order, while deliveries happen.
//!
//! Every message has an ordinal: its number in the order of first deliveries by any node. As long
//! as each node delivers in the order of ordinals, all nodes share one order, and one comparison
//! per delivery is enough. The first delivery out of this order is not yet a violation, because the
//! two nodes that differ may not have two messages in common. From then on nodes are compared in
//! ordered pairs (A, B), by the latest message, in A's order, that both have delivered. If B then
//! delivers a message that A delivered before that one, A and B deliver these two messages in
//! different orders. Until the first delivery out of the order of ordinals, the ordinals serve as
//! positions of deliveries, so messages that all nodes have delivered can be forgotten.

use super::message::{Message, MessageKey};
use quorate_core::{NodeId, Time};
use std::collections::BTreeMap;

/// Checks the total order of one view.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The last assigned ordinal or position.
    last_position: u64,
    progress: Vec<NodeProgress>,
    phase: Phase,
    conflicts: BTreeMap<(NodeId, NodeId), Conflict>,
}

/// The progress of one node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeProgress {
    /// The highest ordinal of a message that the node has delivered.
    highest_ordinal: u64,
    /// The node's latest delivery of a message that all members have delivered.
    settled: Option<PositionedDelivery>,
}

/// A delivery: its position, and the message.
type PositionedDelivery = (u64, MessageKey);

/// How deliveries are compared.
#[derive(Clone, Debug)]
enum Phase {
    /// All deliveries so far are in the order of ordinals.
    ByOrdinal,
    /// For each pair of nodes: the latest delivery of the first node that the second also made.
    ByPair(Vec<Vec<Option<PositionedDelivery>>>),
}

/// Two nodes that deliver two messages in different orders.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub(super) time: Time,
    pub(super) line: u64,
    /// The message that `node` delivered after `earlier`, but `other` before `earlier`.
    pub(super) later: MessageKey,
    pub(super) earlier: MessageKey,
    pub(super) node: NodeId,
    pub(super) other: NodeId,
}

impl Order {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            last_position: 0,
            progress: vec![NodeProgress::default(); nodes],
            phase: Phase::ByOrdinal,
            conflicts: BTreeMap::new(),
        }
    }

    /// Records a delivery. Returns conflicts of pairs of nodes without an earlier conflict.
    pub(super) fn record_delivery(
        &mut self,
        (time, line): (Time, u64),
        node: NodeId,
        key: MessageKey,
        messages: &mut BTreeMap<MessageKey, Message>,
    ) -> Vec<Conflict> {
        if let Phase::ByOrdinal = self.phase {
            let Some(message) = messages.get_mut(&key) else { return Vec::new() };
            let ordinal = *message.ordinal.get_or_insert_with(|| {
                self.last_position += 1;
                self.last_position
            });
            let Some(progress) = self.progress.get_mut(node.index()) else { return Vec::new() };
            if ordinal > progress.highest_ordinal {
                progress.highest_ordinal = ordinal;
                message.deliveries.push((node, ordinal));
                return Vec::new();
            }
            self.phase = Phase::ByPair(self.latest_common_deliveries(messages));
        }
        let Phase::ByPair(latest_common) = &mut self.phase else { return Vec::new() };
        let Some(message) = messages.get_mut(&key) else { return Vec::new() };
        self.last_position += 1;
        let position = self.last_position;
        let mut new_conflicts = Vec::new();
        for (other, other_position) in &message.deliveries {
            let pair = (node.min(*other), node.max(*other));
            if let Some(common) = latest_common_mut(latest_common, *other, node) {
                if let Some((latest_position, earlier)) = *common
                    && *other_position < latest_position
                    && !self.conflicts.contains_key(&pair)
                {
                    let conflict = Conflict { time, line, later: key, earlier, node, other: *other };
                    self.conflicts.insert(pair, conflict.clone());
                    new_conflicts.push(conflict);
                }
                *common = (*common).max(Some((*other_position, key)));
            }
            if let Some(common) = latest_common_mut(latest_common, node, *other) {
                *common = Some((position, key));
            }
        }
        message.deliveries.push((node, position));
        new_conflicts
    }

    /// Records that a message is forgotten, because no member still has to deliver it.
    pub(super) fn forget(&mut self, key: MessageKey, message: &Message) {
        for (node, position) in &message.deliveries {
            if let Some(progress) = self.progress.get_mut(node.index()) {
                progress.settled = progress.settled.max(Some((*position, key)));
            }
        }
    }

    pub(super) fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.values()
    }

    /// The latest common deliveries of each pair, while all deliveries are in the order of
    /// ordinals. The entry of a pair matters only when its second node delivers again, and a node
    /// that still delivers has delivered all settled messages.
    fn latest_common_deliveries(
        &self,
        messages: &BTreeMap<MessageKey, Message>,
    ) -> Vec<Vec<Option<PositionedDelivery>>> {
        let nodes = self.progress.len();
        let mut latest_common: Vec<_> = self.progress.iter().map(|progress| vec![progress.settled; nodes]).collect();
        for (key, message) in messages {
            for (node, position) in &message.deliveries {
                for (other, _) in message.deliveries.iter().filter(|(other, _)| other != node) {
                    if let Some(common) = latest_common_mut(&mut latest_common, *node, *other) {
                        *common = (*common).max(Some((*position, *key)));
                    }
                }
            }
        }
        latest_common
    }
}

/// The latest delivery of the first node that the second also made.
fn latest_common_mut(
    latest_common: &mut [Vec<Option<PositionedDelivery>>],
    node: NodeId,
    other: NodeId,
) -> Option<&mut Option<PositionedDelivery>> {
    latest_common.get_mut(node.index())?.get_mut(other.index())
}
