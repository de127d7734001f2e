//! Whether two nodes deliver two messages in the same order, judged as they go.
//!
//! Every message has a rank: how many had been delivered by anybody when it first was. While each node delivers in the order of ranks, all
//! keep to one order, and that is all there is to look at: one comparison a delivery. The first delivery out of rank is not yet
//! a breach, because the two who differ may have no two messages in common. From then on nodes are compared in
//! pairs: for each the latest of one's deliveries that the other made as well. Whoever then delivers what that one delivered
//! earlier has turned two messages round. Up to that point ranks serve as the positions of deliveries, which is why nothing
//! need be remembered of messages that everyone has delivered.

use super::message::{Key, Message};
use quorate_core::{NodeId, Time};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(super) struct Order {
    last: u64,
    places: Vec<Place>,
    phase: Phase,
    conflicts: BTreeMap<(NodeId, NodeId), Conflict>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    rank: u64,
    /// The latest of its deliveries of what everyone has delivered.
    settled: Option<At>,
}

type At = (u64, Key);

#[derive(Clone, Debug)]
enum Phase {
    InStep,
    /// For each two nodes, by the place of the first and then of the second: the latest delivery of the first of what
    /// both have delivered.
    InPairs(Vec<Vec<Option<At>>>),
}

/// Two nodes that deliver two messages in different orders.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub(super) time: Time,
    pub(super) line: u64,
    /// Delivered by the later node, though the other delivered it earlier than `before`.
    pub(super) after: Key,
    pub(super) before: Key,
    /// Who delivered `before` first, and who only then `after`.
    pub(super) by: NodeId,
    pub(super) other: NodeId,
}

impl Order {
    pub(super) fn new(nodes: usize) -> Self {
        Self { last: 0, places: vec![Place::default(); nodes], phase: Phase::InStep, conflicts: BTreeMap::new() }
    }

    /// A node delivers a message. Tells of the first conflict of each pair of nodes that this is.
    pub(super) fn delivers(
        &mut self,
        (time, line): (Time, u64),
        node: NodeId,
        key: Key,
        messages: &mut BTreeMap<Key, Message>,
    ) -> Vec<Conflict> {
        if let Phase::InStep = self.phase {
            let Some(message) = messages.get_mut(&key) else { return Vec::new() };
            let rank = *message.rank.get_or_insert_with(|| {
                self.last += 1;
                self.last
            });
            let Some(place) = self.places.get_mut(node.index()) else { return Vec::new() };
            if rank > place.rank {
                place.rank = rank;
                message.deliveries.push((node, rank));
                return Vec::new();
            }
            self.phase = Phase::InPairs(self.pairs(messages));
        }
        let Phase::InPairs(latest) = &mut self.phase else { return Vec::new() };
        let Some(message) = messages.get_mut(&key) else { return Vec::new() };
        self.last += 1;
        let position = self.last;
        let mut found = Vec::new();
        for (other, theirs) in &message.deliveries {
            let pair = (node.min(*other), node.max(*other));
            if let Some(common) = at(latest, *other, node) {
                if let Some((latest, before)) = *common
                    && *theirs < latest
                    && !self.conflicts.contains_key(&pair)
                {
                    let conflict = Conflict { time, line, after: key, before, by: node, other: *other };
                    self.conflicts.insert(pair, conflict.clone());
                    found.push(conflict);
                }
                *common = (*common).max(Some((*theirs, key)));
            }
            if let Some(common) = at(latest, node, *other) {
                *common = Some((position, key));
            }
        }
        message.deliveries.push((node, position));
        found
    }

    /// A message is forgotten, because everyone who could has delivered it.
    pub(super) fn settles(&mut self, key: Key, message: &Message) {
        for (node, position) in &message.deliveries {
            if let Some(place) = self.places.get_mut(node.index()) {
                place.settled = place.settled.max(Some((*position, key)));
            }
        }
    }

    pub(super) fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.values()
    }

    /// What each two have in common, while all are in step. Of two, at least one can still deliver, else nobody will ask; and that one
    /// has delivered all that is settled.
    fn pairs(&self, messages: &BTreeMap<Key, Message>) -> Vec<Vec<Option<At>>> {
        let nodes = self.places.len();
        let mut latest: Vec<_> = self.places.iter().map(|place| vec![place.settled; nodes]).collect();
        for (key, message) in messages {
            for (one, position) in &message.deliveries {
                for (other, _) in message.deliveries.iter().filter(|(other, _)| other != one) {
                    if let Some(common) = at(&mut latest, *one, *other) {
                        *common = (*common).max(Some((*position, *key)));
                    }
                }
            }
        }
        latest
    }
}

fn at(latest: &mut [Vec<Option<At>>], one: NodeId, other: NodeId) -> Option<&mut Option<At>> {
    latest.get_mut(one.index())?.get_mut(other.index())
}
