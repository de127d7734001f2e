//! Happened-before, computed from message ids as a run goes by or a journal is read.

use crate::moment::{Done, Happening, MessageId, Moment, Observer, Taken, receivers};
use quorate_core::{Clock, NodeId, Parcel, VectorClock};
use std::collections::HashMap;
use std::rc::Rc;

/// A clock by which what happened before is told.
pub trait Reading: Clone + Default {
    /// A step of this node.
    fn tick(&mut self, node: NodeId);
    /// It knows from now on what this reading knew.
    fn learn(&mut self, heard: &Self);
}

impl Reading for VectorClock {
    fn tick(&mut self, node: NodeId) {
        VectorClock::tick(self, node);
    }
    fn learn(&mut self, heard: &Self) {
        self.merge(heard);
    }
}

/// Lamport's: the step that hears is later than what it hears of.
impl Reading for Clock {
    fn tick(&mut self, _node: NodeId) {
        Clock::tick(self);
    }
    fn learn(&mut self, heard: &Self) {
        let mut after = *heard;
        after.tick();
        self.witness(after);
    }
}

/// The clock of every node, kept up to date by what each one hears: vector clocks unless others are asked for.
///
/// Inside a wrapper that holds messages back, a message is heard when it is handed on, not when a frame with it
/// arrives; acknowledgements tell the protocol nothing.
#[derive(Default)]
pub struct Causality<K = VectorClock> {
    clocks: Vec<K>,
    /// A copy of each node's clock, shared by all that it sends before its next step.
    snapshots: Vec<Option<Rc<K>>>,
    /// What each message under way knows, and how many copies of it may still arrive.
    under_way: HashMap<MessageId, (Rc<K>, u32)>,
    /// What each parcel knows that was not handed on yet.
    parcels: HashMap<(NodeId, NodeId, Parcel), Rc<K>>,
    /// The last parcel that was handed on, of each link.
    handed: HashMap<(NodeId, NodeId), Parcel>,
}

impl Causality {
    /// Vector clocks for a group of this size.
    pub fn new(nodes: usize) -> Self {
        Self::of(nodes)
    }
}

impl<K: Reading> Causality<K> {
    /// Clocks of any kind for a group of this size.
    pub fn of(nodes: usize) -> Self {
        Self {
            clocks: vec![K::default(); nodes],
            snapshots: vec![None; nodes],
            under_way: HashMap::new(),
            parcels: HashMap::new(),
            handed: HashMap::new(),
        }
    }

    /// The clock of a node's last step.
    pub fn clock(&self, node: NodeId) -> Option<&K> {
        self.clocks.get(node.index())
    }

    /// How many messages it remembers because they may still arrive.
    pub fn remembered(&self) -> usize {
        self.under_way.len() + self.parcels.len()
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

    fn learn(&mut self, node: NodeId, heard: &K) {
        if let Some(clock) = self.clocks.get_mut(node.index()) {
            clock.learn(heard);
        }
        if let Some(snapshot) = self.snapshots.get_mut(node.index()) {
            *snapshot = None;
        }
    }

    /// A repetition knows no more than the first copy did. One of a parcel that was handed on before links nothing: its
    /// receiver has had it, and if that has restarted since, what the first copy knew is no longer remembered here.
    fn sent(&mut self, to: NodeId, id: MessageId, parcel: Option<Parcel>) {
        let from = id.sender;
        if parcel.is_some_and(|parcel| self.handed.get(&(from, to)).is_some_and(|last| parcel <= *last)) {
            return;
        }
        let Some(known) = self.snapshot(from) else { return };
        match parcel {
            Some(parcel) => {
                self.parcels.entry((from, to, parcel)).or_insert(known);
            }
            None => {
                self.under_way.insert(id, (known, 1));
            }
        }
    }

    /// One copy less can arrive.
    fn settle(&mut self, id: MessageId) -> Option<Rc<K>> {
        let (known, copies) = self.under_way.get_mut(&id)?;
        *copies -= 1;
        let known = Rc::clone(known);
        if *copies == 0 {
            self.under_way.remove(&id);
        }
        Some(known)
    }
}

impl<C, E, K: Reading> Observer<C, E> for Causality<K> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        match moment {
            Moment::Input { node, input, .. } => {
                self.tick(*node);
                if let Taken::Message { id, wrapped, .. } = input
                    && let Some(known) = self.settle(*id)
                    && !wrapped
                {
                    self.learn(*node, &known);
                }
            }
            Moment::Effect { effect: Done::Send { to, sent }, .. } => self.sent(*to, sent.id, sent.parcel),
            Moment::Effect { effect: Done::Multicast { to, sent }, .. } => {
                for (to, id) in receivers(to, sent.id) {
                    self.sent(to, id, sent.parcel);
                }
            }
            Moment::Effect { node, effect: Done::Handed { from, parcel }, .. } => {
                self.handed.insert((*from, *node), *parcel);
                if let Some(known) = self.parcels.remove(&(*from, *node, *parcel)) {
                    self.learn(*node, &known);
                }
            }
            Moment::World { what: Happening::Lost { id, .. }, .. } => {
                self.settle(*id);
            }
            Moment::World { what: Happening::Duplicated { id }, .. } => {
                if let Some((_, copies)) = self.under_way.get_mut(id) {
                    *copies += 1;
                }
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}
