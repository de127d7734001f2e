//! What properties about the past remember, in plain sets: who knew of which request that is still under way.

use super::{Carried, Network, Wrong};
use quorate_core::{Fence, NodeId, Parcel};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes whose requests under way are known of.
pub(super) type Knowledge = BTreeSet<usize>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    pub(super) order: bool,
    pub(super) fences: bool,
    knows: Vec<Knowledge>,
    /// Which requests under way each node's own request came after.
    before: Vec<Knowledge>,
    /// What the senders of wrapped messages knew, by sender and receiver, until they are handed on.
    parcels: BTreeMap<(NodeId, NodeId, Parcel), Knowledge>,
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

    /// What a message that the node sends now carries.
    pub(super) fn known_to(&self, node: usize) -> Knowledge {
        if self.order { self.knows[node].clone() } else { Knowledge::new() }
    }

    pub(super) fn hears(&mut self, node: usize, carried: &Knowledge) {
        self.knows[node].extend(carried);
    }

    /// A protocol inside a wrapper sends something for the first time: it is known again when it is handed on.
    pub(super) fn packs(&mut self, from: NodeId, to: NodeId, parcel: Parcel) {
        let known = self.known_to(from.index());
        if !known.is_empty() {
            self.parcels.insert((from, to, parcel), known);
        }
    }

    pub(super) fn unpacks(&mut self, from: NodeId, to: NodeId, parcel: Parcel) {
        if let Some(known) = self.parcels.remove(&(from, to, parcel)) {
            self.hears(to.index(), &known);
        }
    }

    pub(super) fn asks(&mut self, node: usize) {
        if self.order {
            self.before[node] = self.knows[node].clone();
            self.knows[node].insert(node);
        }
    }

    pub(super) fn enters(&mut self, node: usize, fence: Fence, network: &mut Network, wrong: &mut Vec<Wrong>) {
        if !self.before[node].is_empty() {
            wrong.push(Wrong::Unordered);
        }
        self.ends(node, network);
        if self.fences {
            if Some(fence) <= self.highest {
                wrong.push(Wrong::FenceBack);
            }
            self.highest = self.highest.max(Some(fence));
        }
    }

    /// A request is over, so nobody need know of it any more.
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
