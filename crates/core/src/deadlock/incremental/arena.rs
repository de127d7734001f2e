//! The storage of owners, their waits, and the edges between them. Both ends of an edge store it,
//! each with its position at the other end, so its removal takes constant time.

use super::inline_vec::InlineVec;
use super::slab::Slab;
use crate::deadlock::Need;
use alloc::collections::BTreeMap;

/// The index of an owner in the arena. It is valid as long as the owner waits or is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnerSlot(pub(super) u32);

impl OwnerSlot {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The index of a wait in the arena. It is valid until the wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaitSlot(pub(super) u32);

/// An owner with its waits, and the waits for it.
#[derive(Clone, Debug)]
pub(super) struct Owner<O> {
    pub(super) name: O,
    pub(super) waits: InlineVec<WaitSlot>,
    pub(super) incoming_edges: InlineVec<IncomingEdge>,
}

/// An edge as the owner that is waited for stores it.
#[derive(Clone, Copy, Debug)]
pub(super) struct IncomingEdge {
    pub(super) wait: WaitSlot,
    /// The edge's position in the wait's `outgoing_edges`.
    position: u32,
}

impl IncomingEdge {
    pub(super) const fn position(self) -> usize {
        self.position as usize
    }
}

#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// Distinguishes the wait from earlier ones in the same slot.
    pub(super) serial: u64,
    pub(super) waiter: OwnerSlot,
    /// The wait's position in the waiter's `waits`.
    pub(super) position: usize,
    is_any: bool,
    pub(super) outgoing_edges: InlineVec<OutgoingEdge>,
}

/// An edge as the wait stores it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutgoingEdge {
    pub(super) awaited: OwnerSlot,
    /// The edge's position in the awaited owner's `incoming_edges`.
    position: u32,
    /// Whether the order ignores the edge, because the edge closes or once closed a cycle.
    pub(super) is_loose: bool,
}

impl Wait {
    /// Returns whether one of several owners is enough.
    pub(super) fn has_alternatives(&self) -> bool {
        self.is_any && self.outgoing_edges.len() > 1
    }

    /// Returns whether the need is a [`Need::Any`], even if it names only one owner now.
    pub(super) fn is_any(&self) -> bool {
        self.is_any
    }

    pub(super) fn awaited(&self) -> impl Iterator<Item = OwnerSlot> {
        self.outgoing_edges.iter().map(|edge| edge.awaited)
    }
}

/// A position in the iteration over the outgoing edges of an owner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    wait: usize,
    edge: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Arena<O> {
    slots: BTreeMap<O, OwnerSlot>,
    owners: Slab<Owner<O>>,
    waits: Slab<Wait>,
    edge_count: usize,
    latest_serial: u64,
}

impl<O> Default for Arena<O> {
    fn default() -> Self {
        Self {
            slots: BTreeMap::new(),
            owners: Slab::default(),
            waits: Slab::default(),
            edge_count: 0,
            latest_serial: 0,
        }
    }
}

impl<O: Ord + Copy> Arena<O> {
    pub(super) fn slot(&self, owner: O) -> Option<OwnerSlot> {
        self.slots.get(&owner).copied()
    }

    pub(super) fn add_owner(&mut self, name: O) -> OwnerSlot {
        let slot =
            OwnerSlot(self.owners.insert(Owner { name, waits: InlineVec::new(), incoming_edges: InlineVec::new() }));
        self.slots.insert(name, slot);
        slot
    }

    /// Frees the slot of an owner if the owner neither waits nor is waited for. Returns whether the
    /// slot was freed.
    pub(super) fn remove_if_unused(&mut self, slot: OwnerSlot) -> bool {
        let unused = self.owner(slot).filter(|owner| owner.waits.is_empty() && owner.incoming_edges.is_empty());
        let Some(owner) = unused.map(|owner| owner.name) else { return false };
        self.slots.remove(&owner);
        self.owners.remove(slot.0);
        true
    }

    pub(super) fn owner(&self, slot: OwnerSlot) -> Option<&Owner<O>> {
        self.owners.get(slot.0)
    }

    pub(super) fn wait(&self, wait_slot: WaitSlot) -> Option<&Wait> {
        self.waits.get(wait_slot.0)
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = (O, &Owner<O>)> {
        self.slots.iter().filter_map(|(owner, slot)| Some((*owner, self.owner(*slot)?)))
    }

    pub(super) fn owner_count(&self) -> usize {
        self.owners.len()
    }

    pub(super) fn wait_count(&self) -> usize {
        self.waits.len()
    }

    pub(super) fn edge_count(&self) -> usize {
        self.edge_count
    }

    pub(super) fn has_no_waiters(&self, slot: OwnerSlot) -> bool {
        self.owner(slot).is_none_or(|owner| owner.incoming_edges.is_empty())
    }

    pub(super) fn has_no_waits(&self, slot: OwnerSlot) -> bool {
        self.owner(slot).is_none_or(|owner| owner.waits.is_empty())
    }

    /// Returns the need of a wait with the names of its owners.
    pub(super) fn need(&self, wait: &Wait) -> Need<O> {
        let awaited = wait.awaited().filter_map(|slot| Some(self.owner(slot)?.name)).collect();
        if wait.is_any { Need::Any(awaited) } else { Need::All(awaited) }
    }

    /// Returns the outgoing edge of an owner at the cursor, and advances the cursor.
    pub(super) fn next_outgoing_edge(&self, slot: OwnerSlot, cursor: &mut Cursor) -> Option<OutgoingEdge> {
        let waits = &self.owner(slot)?.waits;
        loop {
            let wait = self.wait(*waits.get(cursor.wait)?)?;
            if let Some(edge) = wait.outgoing_edges.get(cursor.edge) {
                cursor.edge += 1;
                return Some(*edge);
            }
            *cursor = Cursor { wait: cursor.wait + 1, edge: 0 };
        }
    }

    /// Returns an incoming edge of an owner by its position in `incoming_edges`: the wait, and
    /// whether the edge is loose.
    pub(super) fn incoming_edge(&self, slot: OwnerSlot, position: usize) -> Option<(&Wait, bool)> {
        let edge = self.owner(slot)?.incoming_edges.get(position)?;
        let wait = self.wait(edge.wait)?;
        Some((wait, wait.outgoing_edges.get(edge.position())?.is_loose))
    }

    /// Returns the position in a wait's `outgoing_edges` of its edge to an owner. Searches the
    /// shorter of the two lists that hold the edge.
    pub(super) fn position_of(&self, wait_slot: WaitSlot, awaited: OwnerSlot) -> Option<usize> {
        let (outgoing, incoming) = (&self.wait(wait_slot)?.outgoing_edges, &self.owner(awaited)?.incoming_edges);
        if incoming.len() < outgoing.len() {
            return incoming.iter().find(|edge| edge.wait == wait_slot).map(|edge| edge.position());
        }
        outgoing.iter().position(|edge| edge.awaited == awaited)
    }

    pub(super) fn add_wait(&mut self, waiter: OwnerSlot, is_any: bool) -> WaitSlot {
        let position = self.owner(waiter).map_or(0, |owner| owner.waits.len());
        self.latest_serial += 1;
        let wait = Wait { serial: self.latest_serial, waiter, position, is_any, outgoing_edges: InlineVec::new() };
        let wait_slot = WaitSlot(self.waits.insert(wait));
        if let Some(owner) = self.owners.get_mut(waiter.0) {
            owner.waits.push(wait_slot);
        }
        wait_slot
    }

    /// Removes a wait, which must have no edges left.
    pub(super) fn remove_wait(&mut self, wait_slot: WaitSlot) {
        let Some(wait) = self.waits.remove(wait_slot.0) else { return };
        let Some(owner) = self.owners.get_mut(wait.waiter.0) else { return };
        owner.waits.swap_remove(wait.position);
        let moved = owner.waits.get(wait.position).and_then(|moved| self.waits.get_mut(moved.0));
        if let Some(moved) = moved {
            moved.position = wait.position;
        }
    }

    pub(super) fn add_edge(&mut self, wait_slot: WaitSlot, awaited: OwnerSlot, is_loose: bool) {
        let (Some(wait), Some(owner)) = (self.waits.get_mut(wait_slot.0), self.owners.get_mut(awaited.0)) else {
            return;
        };
        let incoming = IncomingEdge { wait: wait_slot, position: wait.outgoing_edges.len() as u32 };
        wait.outgoing_edges.push(OutgoingEdge { awaited, position: owner.incoming_edges.len() as u32, is_loose });
        owner.incoming_edges.push(incoming);
        self.edge_count += 1;
    }

    /// Removes an edge of a wait. In the lists of both ends, the last edge moves to the free
    /// position.
    pub(super) fn remove_edge(&mut self, wait_slot: WaitSlot, position: usize) -> Option<OutgoingEdge> {
        let wait = self.waits.get_mut(wait_slot.0)?;
        let edge = wait.outgoing_edges.swap_remove(position)?;
        self.edge_count -= 1;
        if let Some(moved) = wait.outgoing_edges.get(position).copied() {
            let incoming_edges = self.owners.get_mut(moved.awaited.0).map(|owner| &mut owner.incoming_edges);
            if let Some(incoming) = incoming_edges.and_then(|edges| edges.get_mut(moved.position as usize)) {
                incoming.position = position as u32;
            }
        }
        let incoming_edges = &mut self.owners.get_mut(edge.awaited.0)?.incoming_edges;
        incoming_edges.swap_remove(edge.position as usize);
        if let Some(moved) = incoming_edges.get(edge.position as usize).copied() {
            let edges = self.waits.get_mut(moved.wait.0).map(|wait| &mut wait.outgoing_edges);
            if let Some(outgoing) = edges.and_then(|edges| edges.get_mut(moved.position())) {
                outgoing.position = edge.position;
            }
        }
        Some(edge)
    }

    pub(super) fn mark_ordered(&mut self, wait_slot: WaitSlot, awaited: OwnerSlot) {
        let Some(position) = self.position_of(wait_slot, awaited) else { return };
        let edges = self.waits.get_mut(wait_slot.0).map(|wait| &mut wait.outgoing_edges);
        if let Some(edge) = edges.and_then(|edges| edges.get_mut(position)) {
            edge.is_loose = false;
        }
    }
}
