//! Counts entries ahead of a request, for algorithms that promise a bound.

use quorate_core::NodeId;
use quorate_core::mutex::{Access, Command, Event};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, receivers};
use std::collections::BTreeMap;

/// A bound on the number of entries by other nodes ahead of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OvertakingBound {
    pub most: u64,
    pub from: CountedFrom,
}

/// The instant from which entries ahead of a request count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFrom {
    /// When the client makes the request.
    Asking,
    /// When all messages that its node sent for the request have arrived: a node cannot wait for a
    /// request that it has not received.
    Arrival,
}

/// Counts, for every waiting request, the entries ahead of it.
pub(super) struct Overtaking {
    promise: OvertakingBound,
    requests: Vec<Option<Request>>,
    /// Messages in flight that announce a request: its node and serial number.
    spreading: BTreeMap<MessageId, (NodeId, u64)>,
    count: u64,
    /// The acting node, if it makes a request in this step.
    asking: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    access: Access,
    serial: u64,
    /// Number of announcing messages that have not arrived.
    spreading: usize,
    passed: u64,
}

impl Overtaking {
    pub(super) fn new(nodes: usize, promise: OvertakingBound) -> Self {
        Self { promise, requests: vec![None; nodes], spreading: BTreeMap::new(), count: 0, asking: None }
    }

    pub(super) fn record_request(&mut self, node: NodeId, access: Access) {
        self.asking = Some(node);
        self.count += 1;
        if let Some(request) = self.requests.get_mut(node.index()) {
            *request = Some(Request { access, serial: self.count, spreading: 0, passed: 0 });
        }
    }

    pub(super) fn end_request(&mut self, node: NodeId) {
        if let Some(request) = self.requests.get_mut(node.index()) {
            *request = None;
        }
    }

    /// Records an entry, which counts for all conflicting requests. Returns the first node that was
    /// overtaken too often, and how often.
    pub(super) fn record_entry(&mut self, node: NodeId, access: Access) -> Option<(NodeId, u64)> {
        self.end_request(node);
        let mut worst = None;
        for (index, request) in self.requests.iter_mut().enumerate() {
            let Some(request) = request else { continue };
            let is_in_flight = request.spreading > 0 && self.promise.from == CountedFrom::Arrival;
            if is_in_flight || !access.conflicts(request.access) {
                continue;
            }
            request.passed += 1;
            if request.passed > self.promise.most && worst.is_none() {
                worst = Some((NodeId::from_index(index), request.passed));
            }
        }
        worst
    }

    pub(super) fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if self.promise.from == CountedFrom::Asking {
            return;
        }
        match moment {
            Moment::Input { input, .. } => {
                self.asking = None;
                if let ObservedInput::Message { id, .. } = input
                    && let Some((node, serial)) = self.spreading.remove(id)
                    && let Some(Some(request)) = self.requests.get_mut(node.index())
                    && request.serial == serial
                {
                    request.spreading = request.spreading.saturating_sub(1);
                }
            }
            Moment::Effect { node, effect: ObservedEffect::Send { sent, .. }, .. } if self.asking == Some(*node) => {
                self.record_announcements(*node, std::iter::once(sent.id));
            }
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. }
                if self.asking == Some(*node) =>
            {
                self.record_announcements(*node, receivers(to, sent.id).map(|(_, id)| id));
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    /// Records messages that announce the request of this step.
    fn record_announcements(&mut self, node: NodeId, ids: impl Iterator<Item = MessageId>) {
        let Some(Some(request)) = self.requests.get_mut(node.index()) else { return };
        for id in ids {
            request.spreading += 1;
            self.spreading.insert(id, (node, request.serial));
        }
    }
}
