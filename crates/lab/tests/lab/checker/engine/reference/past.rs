//! The history needed by properties about the past, as plain sets: which node knew of which pending
//! request.

use super::{Carried, Network, Violation};
use quorate_core::{Fence, NodeId, PayloadId};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes whose pending requests are known.
pub(super) type Knowledge = BTreeSet<usize>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    pub(super) order: bool,
    pub(super) fences: bool,
    knows: Vec<Knowledge>,
    /// The pending requests that happened before each node's own request.
    before: Vec<Knowledge>,
    /// The knowledge of the senders of wrapped messages, by sender and receiver, until they are
    /// handed over.
    parcels: BTreeMap<(NodeId, NodeId, PayloadId), Knowledge>,
    highest: Option<Fence>,
}

impl Past {
    pub(super) fn new(nodes: usize, order: bool, fences: bool) -> Self {
        Self {
            order,
            fences,
            knows: vec![Knowledge::new(); nodes],
            before: vec![Knowledge::new(); nodes],
            parcels: BTreeMap::new(),
            highest: None,
        }
    }

    /// Returns the knowledge that a message from this node carries.
    pub(super) fn known_to(&self, node: usize) -> Knowledge {
        if self.order { self.knows[node].clone() } else { Knowledge::new() }
    }

    pub(super) fn learns(&mut self, node: usize, carried: &Knowledge) {
        self.knows[node].extend(carried);
    }

    /// Records a wrapped message when it is first sent: its receiver learns its knowledge when it
    /// is handed over.
    pub(super) fn sends_parcel(&mut self, from: NodeId, to: NodeId, parcel: PayloadId) {
        let known = self.known_to(from.index());
        if !known.is_empty() {
            self.parcels.insert((from, to, parcel), known);
        }
    }

    pub(super) fn receives_parcel(&mut self, from: NodeId, to: NodeId, parcel: PayloadId) {
        if let Some(known) = self.parcels.remove(&(from, to, parcel)) {
            self.learns(to.index(), &known);
        }
    }

    pub(super) fn asks(&mut self, node: usize) {
        if self.order {
            self.before[node] = self.knows[node].clone();
            self.knows[node].insert(node);
        }
    }

    pub(super) fn enters(&mut self, node: usize, fence: Fence, network: &mut Network, violations: &mut Vec<Violation>) {
        if !self.before[node].is_empty() {
            violations.push(Violation::Unordered);
        }
        self.ends(node, network);
        if self.fences {
            if Some(fence) <= self.highest {
                violations.push(Violation::FenceDecrease);
            }
            self.highest = self.highest.max(Some(fence));
        }
    }

    /// Ends a request, so that all forget it.
    pub(super) fn ends(&mut self, node: usize, network: &mut Network) {
        if !self.order {
            return;
        }
        self.before[node].clear();
        let everyone = self.knows.iter_mut().chain(&mut self.before).chain(self.parcels.values_mut());
        for known in everyone {
            known.remove(&node);
        }
        self.parcels.retain(|_, known| !known.is_empty());
        let forgotten = |(message, known): &Carried| {
            let rest = known.iter().copied().filter(|other| *other != node).collect();
            (*message, rest)
        };
        match network {
            Network::Bag(bag) => {
                for (carried, copies) in std::mem::take(bag) {
                    *bag.entry(forgotten(&carried)).or_default() += copies;
                }
            }
            Network::Links(links) => {
                for carried in links.values_mut().flatten() {
                    *carried = forgotten(carried);
                }
            }
        }
    }
}
