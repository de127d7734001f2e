//! The happened-before relation, computed from message ids during a run or while reading a journal.

use crate::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers};
use quorate_core::{Clock, NodeId, PayloadId, VectorClock};
use std::collections::HashMap;
use std::rc::Rc;

/// A logical clock that is consistent with the happened-before relation.
pub trait LogicalClock: Clone + Default {
    /// Advances the clock for a step of `node`.
    fn tick(&mut self, node: NodeId);
    /// Merges the clock of a received message into this one.
    fn merge(&mut self, received: &Self);
}

impl LogicalClock for VectorClock {
    fn tick(&mut self, node: NodeId) {
        VectorClock::tick(self, node);
    }
    fn merge(&mut self, received: &Self) {
        VectorClock::merge(self, received);
    }
}

/// Lamport's clock: the receiving step is later than the send.
impl LogicalClock for Clock {
    fn tick(&mut self, _node: NodeId) {
        Clock::tick(self);
    }
    fn merge(&mut self, received: &Self) {
        let mut after = *received;
        after.tick();
        self.witness(after);
    }
}

/// The logical clock of every node, updated by steps and received messages. The default is vector
/// clocks.
///
/// A wrapper may hold messages back. The inner protocol then receives a payload when the wrapper
/// delivers it, not when the message that carries it arrives. Acknowledgements carry no causality
/// to the inner protocol.
#[derive(Default)]
pub struct Causality<K = VectorClock> {
    clocks: Vec<K>,
    /// A copy of each node's clock, shared by all messages that it sends until the clock changes.
    snapshots: Vec<Option<Rc<K>>>,
    /// For each message in flight without a wrapper's payload, the sender's clock at the send and
    /// the number of copies that may still arrive.
    in_flight: HashMap<MessageId, (Rc<K>, u32)>,
    /// For each payload that a wrapper has not delivered yet, the sender's clock at the first send:
    /// by sender, receiver and payload id.
    payloads: HashMap<(NodeId, NodeId, PayloadId), Rc<K>>,
    /// For each link (sender and receiver), the payload delivered last.
    last_delivered: HashMap<(NodeId, NodeId), PayloadId>,
}

impl Causality {
    /// Creates vector clocks for a group of this size.
    pub fn new(nodes: usize) -> Self {
        Self::with_clocks(nodes)
    }
}

impl<K: LogicalClock> Causality<K> {
    /// Creates clocks of type `K` for a group of this size.
    pub fn with_clocks(nodes: usize) -> Self {
        Self {
            clocks: vec![K::default(); nodes],
            snapshots: vec![None; nodes],
            in_flight: HashMap::new(),
            payloads: HashMap::new(),
            last_delivered: HashMap::new(),
        }
    }

    /// Returns the clock after a node's last step, or `None` for an unknown node.
    pub fn clock(&self, node: NodeId) -> Option<&K> {
        self.clocks.get(node.index())
    }

    /// Number of messages and payloads kept in memory because they may still arrive.
    pub fn pending_count(&self) -> usize {
        self.in_flight.len() + self.payloads.len()
    }

    fn snapshot(&mut self, node: NodeId) -> Option<Rc<K>> {
        let clock = self.clocks.get(node.index())?;
        let snapshot = self.snapshots.get_mut(node.index())?;
        Some(Rc::clone(snapshot.get_or_insert_with(|| Rc::new(clock.clone()))))
    }

    fn tick(&mut self, node: NodeId) {
        if let Some(clock) = self.clocks.get_mut(node.index()) {
            clock.tick(node);
        }
        if let Some(snapshot) = self.snapshots.get_mut(node.index()) {
            *snapshot = None;
        }
    }

    fn merge(&mut self, node: NodeId, received: &K) {
        if let Some(clock) = self.clocks.get_mut(node.index()) {
            clock.merge(received);
        }
        if let Some(snapshot) = self.snapshots.get_mut(node.index()) {
            *snapshot = None;
        }
    }

    /// Records a sent message with its sender's clock.
    ///
    /// A retransmission keeps the clock of the first copy. Nothing is recorded for a payload that
    /// the receiver's wrapper has delivered (a link delivers payloads in the order of their ids),
    /// even if the receiver has restarted since.
    fn record_send(&mut self, to: NodeId, id: MessageId, payload_id: Option<PayloadId>) {
        let from = id.sender;
        if payload_id
            .is_some_and(|payload_id| self.last_delivered.get(&(from, to)).is_some_and(|last| payload_id <= *last))
        {
            return;
        }
        let Some(clock) = self.snapshot(from) else { return };
        match payload_id {
            Some(payload_id) => {
                self.payloads.entry((from, to, payload_id)).or_insert(clock);
            }
            None => {
                self.in_flight.insert(id, (clock, 1));
            }
        }
    }

    /// Removes one copy of a message in flight and returns its sender's clock.
    fn remove_copy(&mut self, id: MessageId) -> Option<Rc<K>> {
        let (clock, copies) = self.in_flight.get_mut(&id)?;
        *copies -= 1;
        let clock = Rc::clone(clock);
        if *copies == 0 {
            self.in_flight.remove(&id);
        }
        Some(clock)
    }
}

impl<C, E, K: LogicalClock> Observer<C, E> for Causality<K> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        match moment {
            Moment::Input { node, input, .. } => {
                self.tick(*node);
                // A wrapped message without a payload, such as an acknowledgement, is only removed.
                if let ObservedInput::Message { id, is_wrapped, .. } = input
                    && let Some(clock) = self.remove_copy(*id)
                    && !is_wrapped
                {
                    self.merge(*node, &clock);
                }
            }
            Moment::Effect { effect: ObservedEffect::Send { to, sent }, .. } => {
                self.record_send(*to, sent.id, sent.payload_id);
            }
            Moment::Effect { effect: ObservedEffect::Multicast { to, sent }, .. } => {
                for (to, id) in receivers(to, sent.id) {
                    self.record_send(to, id, sent.payload_id);
                }
            }
            Moment::Effect { node, effect: ObservedEffect::Delivered { from, payload_id }, .. } => {
                self.last_delivered.insert((*from, *node), *payload_id);
                if let Some(clock) = self.payloads.remove(&(*from, *node, *payload_id)) {
                    self.merge(*node, &clock);
                }
            }
            Moment::World { event: WorldEvent::Lost { id, .. }, .. } => {
                self.remove_copy(*id);
            }
            Moment::World { event: WorldEvent::Duplicated { id }, .. } => {
                if let Some((_, copies)) = self.in_flight.get_mut(id) {
                    *copies += 1;
                }
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}
