//! Counts entries ahead of a request, for algorithms that promise a bound.

use quorate_core::NodeId;
use quorate_core::mutex::{Access, Command, Event};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, receivers};
use std::collections::BTreeMap;

/// A bound on the number of entries by other nodes ahead of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OvertakingBound {
    pub max_entries: u64,
    pub counted_from: CountedFrom,
}

/// The instant from which entries ahead of a request count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFrom {
    /// When the client makes the request.
    Request,
    /// When all messages that its node sent for the request have arrived: a node cannot let a
    /// request go first that it has not received.
    Arrival,
}

/// Counts, for every waiting request, the entries ahead of it.
pub(super) struct Overtaking {
    bound: OvertakingBound,
    requests: Vec<Option<Request>>,
    /// Messages in flight that announce a request: its node and serial number.
    announcements: BTreeMap<MessageId, (NodeId, u64)>,
    request_count: u64,
    /// The acting node, if it makes a request in this step.
    requesting_node: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    access: Access,
    serial: u64,
    /// Number of announcing messages that have not arrived.
    announcements_in_flight: usize,
    /// Number of entries ahead of it so far.
    overtaken_by: u64,
}

impl Overtaking {
    pub(super) fn new(nodes: usize, bound: OvertakingBound) -> Self {
        Self {
            bound,
            requests: vec![None; nodes],
            announcements: BTreeMap::new(),
            request_count: 0,
            requesting_node: None,
        }
    }

    pub(super) fn record_request(&mut self, node: NodeId, access: Access) {
        self.requesting_node = Some(node);
        self.request_count += 1;
        if let Some(request) = self.requests.get_mut(node.index()) {
            *request =
                Some(Request { access, serial: self.request_count, announcements_in_flight: 0, overtaken_by: 0 });
        }
    }

    pub(super) fn end_request(&mut self, node: NodeId) {
        if let Some(request) = self.requests.get_mut(node.index()) {
            *request = None;
        }
    }

    /// Records an entry, and counts it for every conflicting request; if the bound counts from the
    /// arrival, only for those that have arrived. If this overtakes some node too often, returns
    /// the lowest such node and how often it was overtaken.
    pub(super) fn record_entry(&mut self, node: NodeId, access: Access) -> Option<(NodeId, u64)> {
        self.end_request(node);
        let mut first_violation = None;
        for (index, request) in self.requests.iter_mut().enumerate() {
            let Some(request) = request else { continue };
            let is_in_flight = request.announcements_in_flight > 0 && self.bound.counted_from == CountedFrom::Arrival;
            if is_in_flight || !access.conflicts_with(request.access) {
                continue;
            }
            request.overtaken_by += 1;
            if request.overtaken_by > self.bound.max_entries && first_violation.is_none() {
                first_violation = Some((NodeId::from_index(index), request.overtaken_by));
            }
        }
        first_violation
    }

    /// Follows the messages that announce requests. Must see a moment before `record_request` is
    /// called for it.
    pub(super) fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        if self.bound.counted_from == CountedFrom::Request {
            return;
        }
        match moment {
            Moment::Input { input, .. } => {
                self.requesting_node = None;
                if let ObservedInput::Message { id, .. } = input
                    && let Some((node, serial)) = self.announcements.remove(id)
                    && let Some(Some(request)) = self.requests.get_mut(node.index())
                    && request.serial == serial
                {
                    request.announcements_in_flight = request.announcements_in_flight.saturating_sub(1);
                }
            }
            Moment::Effect { node, effect: ObservedEffect::Send { sent, .. }, .. }
                if self.requesting_node == Some(*node) =>
            {
                self.record_announcements(*node, std::iter::once(sent.id));
            }
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. }
                if self.requesting_node == Some(*node) =>
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
            request.announcements_in_flight += 1;
            self.announcements.insert(id, (node, request.serial));
        }
    }
}
