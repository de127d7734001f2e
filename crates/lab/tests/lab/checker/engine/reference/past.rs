//! The history needed by properties about the past, as plain sets: which node knew of which pending
//! request.

use super::{Carried, Network, Violation};
use quorate_core::{Fence, NodeId, PayloadId};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes whose pending requests are known.
pub(super) type Knowledge = BTreeSet<usize>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    tracks_order: bool,
    tracks_fences: bool,
    /// The pending requests that each node knows of.
    knows: Vec<Knowledge>,
    /// The pending requests that happened before each node's own request.
    before: Vec<Knowledge>,
    /// The knowledge that wrapped messages (parcels) carry, by sender and receiver, until the wrapper
    /// delivers them.
    parcels: BTreeMap<(NodeId, NodeId, PayloadId), Knowledge>,
    highest_fence: Option<Fence>,
}

impl Past {
    pub(super) fn new(nodes: usize, tracks_order: bool, tracks_fences: bool) -> Self {
        Self {
            tracks_order,
            tracks_fences,
            knows: vec![Knowledge::new(); nodes],
            before: vec![Knowledge::new(); nodes],
            parcels: BTreeMap::new(),
            highest_fence: None,
        }
    }

    /// Returns the knowledge that a message from this node carries.
    pub(super) fn known_to(&self, node: usize) -> Knowledge {
        if self.tracks_order { self.knows[node].clone() } else { Knowledge::new() }
    }

    pub(super) fn learns(&mut self, node: usize, carried: &Knowledge) {
        self.knows[node].extend(carried);
    }

    /// Records the knowledge that a wrapped message carries. Call it at the first transmission only.
    pub(super) fn sends_parcel(&mut self, from: NodeId, to: NodeId, parcel: PayloadId) {
        let known = self.known_to(from.index());
        if !known.is_empty() {
            self.parcels.insert((from, to, parcel), known);
        }
    }

    /// Adds the recorded knowledge to that of the receiver.
    pub(super) fn receives_parcel(&mut self, from: NodeId, to: NodeId, parcel: PayloadId) {
        if let Some(known) = self.parcels.remove(&(from, to, parcel)) {
            self.learns(to.index(), &known);
        }
    }

    pub(super) fn requests(&mut self, node: usize) {
        if self.tracks_order {
            self.before[node] = self.knows[node].clone();
            self.knows[node].insert(node);
        }
    }

    /// Ends the request of a node that enters, and reports whether the order or the fence is wrong.
    pub(super) fn enters(&mut self, node: usize, fence: Fence, network: &mut Network, violations: &mut Vec<Violation>) {
        if !self.before[node].is_empty() {
            violations.push(Violation::Unordered);
        }
        self.ends_request(node, network);
        if self.tracks_fences {
            if Some(fence) <= self.highest_fence {
                violations.push(Violation::FenceDecrease);
            }
            self.highest_fence = self.highest_fence.max(Some(fence));
        }
    }

    /// Ends the request of a node, and removes it from all knowledge, also of messages in flight.
    pub(super) fn ends_request(&mut self, node: usize, network: &mut Network) {
        if !self.tracks_order {
            return;
        }
        self.before[node].clear();
        let all_knowledge = self.knows.iter_mut().chain(&mut self.before).chain(self.parcels.values_mut());
        for known in all_knowledge {
            known.remove(&node);
        }
        self.parcels.retain(|_, known| !known.is_empty());
        let without_node = |(message, known): &Carried| {
            let rest = known.iter().copied().filter(|other| *other != node).collect();
            (*message, rest)
        };
        match network {
            Network::Bag(bag) => {
                for (carried, copies) in std::mem::take(bag) {
                    *bag.entry(without_node(&carried)).or_default() += copies;
                }
            }
            Network::Links(links) => {
                for carried in links.values_mut().flatten() {
                    *carried = without_node(carried);
                }
            }
        }
    }
}
