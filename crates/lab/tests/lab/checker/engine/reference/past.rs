//! The history needed by properties about the past, as plain sets: which node knew of which pending
//! request, and the highest fence so far.

use super::{MessageInFlight, Network, Violation};
use quorate_core::{Fence, NodeId, PayloadId};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes whose pending requests are known.
pub(super) type Knowledge = BTreeSet<usize>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    tracks_order: bool,
    tracks_fences: bool,
    /// The pending requests that each node knows of.
    known_requests: Vec<Knowledge>,
    /// The pending requests that happened before each node's own request.
    earlier_requests: Vec<Knowledge>,
    /// The knowledge that messages of a wrapped protocol carry, by sender, receiver and payload,
    /// until the wrapper delivers them.
    wrapped_knowledge: BTreeMap<(NodeId, NodeId, PayloadId), Knowledge>,
    highest_fence: Option<Fence>,
}

impl Past {
    pub(super) fn new(nodes: usize, tracks_order: bool, tracks_fences: bool) -> Self {
        Self {
            tracks_order,
            tracks_fences,
            known_requests: vec![Knowledge::new(); nodes],
            earlier_requests: vec![Knowledge::new(); nodes],
            wrapped_knowledge: BTreeMap::new(),
            highest_fence: None,
        }
    }

    /// Returns the knowledge that a message from this node carries.
    pub(super) fn knowledge_of(&self, node: usize) -> Knowledge {
        if self.tracks_order { self.known_requests[node].clone() } else { Knowledge::new() }
    }

    /// Adds the knowledge that a received message carries.
    pub(super) fn add_knowledge(&mut self, node: usize, carried: &Knowledge) {
        self.known_requests[node].extend(carried);
    }

    /// Records the knowledge that a wrapped message carries. Call it at the first transmission
    /// only.
    pub(super) fn record_wrapped_send(&mut self, from: NodeId, to: NodeId, payload: PayloadId) {
        let knowledge = self.knowledge_of(from.index());
        if !knowledge.is_empty() {
            self.wrapped_knowledge.insert((from, to, payload), knowledge);
        }
    }

    /// Adds the recorded knowledge of a wrapped message to that of its receiver.
    pub(super) fn deliver_wrapped_knowledge(&mut self, from: NodeId, to: NodeId, payload: PayloadId) {
        if let Some(knowledge) = self.wrapped_knowledge.remove(&(from, to, payload)) {
            self.add_knowledge(to.index(), &knowledge);
        }
    }

    /// Records a request, and the pending requests that the node knows of at that time.
    pub(super) fn begin_request(&mut self, node: usize) {
        if self.tracks_order {
            self.earlier_requests[node] = self.known_requests[node].clone();
            self.known_requests[node].insert(node);
        }
    }

    /// Ends the request of a node that enters, and adds a violation if the order or the fence is
    /// wrong.
    pub(super) fn record_entry(
        &mut self,
        node: usize,
        fence: Fence,
        network: &mut Network,
        violations: &mut Vec<Violation>,
    ) {
        if !self.earlier_requests[node].is_empty() {
            violations.push(Violation::Unordered);
        }
        self.end_request(node, network);
        if self.tracks_fences {
            if Some(fence) <= self.highest_fence {
                violations.push(Violation::FenceDecrease);
            }
            self.highest_fence = self.highest_fence.max(Some(fence));
        }
    }

    /// Ends the request of a node, and removes it from all knowledge, also of messages in flight.
    pub(super) fn end_request(&mut self, node: usize, network: &mut Network) {
        if !self.tracks_order {
            return;
        }
        self.earlier_requests[node].clear();
        let all_knowledge =
            self.known_requests.iter_mut().chain(&mut self.earlier_requests).chain(self.wrapped_knowledge.values_mut());
        for knowledge in all_knowledge {
            knowledge.remove(&node);
        }
        self.wrapped_knowledge.retain(|_, knowledge| !knowledge.is_empty());
        let without_node = |(message, knowledge): &MessageInFlight| {
            let rest = knowledge.iter().copied().filter(|other| *other != node).collect();
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
