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
/// A wrapper may hold messages back. The inner protocol then receives a message when the wrapper
/// delivers it, not when the frame that carries it arrives. Acknowledgements carry no causality to
/// the inner protocol.
#[derive(Default)]
pub struct Causality<K = VectorClock> {
    clocks: Vec<K>,
    /// A copy of each node's clock, shared by all messages that it sends before its next step.
    snapshots: Vec<Option<Rc<K>>>,
    /// For each message in flight, its sender's clock and the number of copies that may still
    /// arrive.
    in_flight: HashMap<MessageId, (Rc<K>, u32)>,
    /// For each parcel not delivered yet, its sender's clock.
    parcels: HashMap<(NodeId, NodeId, PayloadId), Rc<K>>,
    /// For each link, the parcel delivered last.
    delivered: HashMap<(NodeId, NodeId), PayloadId>,
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
            parcels: HashMap::new(),
            delivered: HashMap::new(),
        }
    }

    /// Returns the clock after a node's last step, or `None` for an unknown node.
    pub fn clock(&self, node: NodeId) -> Option<&K> {
        self.clocks.get(node.index())
    }

    /// Number of messages kept in memory because they may still arrive.
    pub fn pending(&self) -> usize {
        self.in_flight.len() + self.parcels.len()
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
    /// A retransmission keeps the clock of the first copy. Retransmitting a parcel that was already
    /// delivered adds no causal link: the receiver processed the first copy. If the receiver has
    /// restarted since, the clock of that copy is no longer stored here.
    fn record_send(&mut self, to: NodeId, id: MessageId, parcel: Option<PayloadId>) {
        let from = id.sender;
        if parcel.is_some_and(|parcel| self.delivered.get(&(from, to)).is_some_and(|last| parcel <= *last)) {
            return;
        }
        let Some(clock) = self.snapshot(from) else { return };
        match parcel {
            Some(parcel) => {
                self.parcels.entry((from, to, parcel)).or_insert(clock);
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
                if let ObservedInput::Message { id, wrapped, .. } = input
                    && let Some(clock) = self.remove_copy(*id)
                    && !wrapped
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
            Moment::Effect { node, effect: ObservedEffect::Delivered { from, parcel }, .. } => {
                self.delivered.insert((*from, *node), *parcel);
                if let Some(clock) = self.parcels.remove(&(*from, *node, *parcel)) {
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
