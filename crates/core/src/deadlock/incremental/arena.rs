//! The storage of owners, their waits, and the edges between them. Each edge can be found from both
//! of its ends and removed in constant time.

use super::inline_vec::InlineVec;
use super::slab::Slab;
use crate::deadlock::Need;
use alloc::collections::BTreeMap;

/// The slot of an owner, as long as it waits or is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnerSlot(pub(super) u32);

impl OwnerSlot {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The slot of a wait, as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaitSlot(pub(super) u32);

/// An owner with its waits, and the waits for it.
#[derive(Clone, Debug)]
pub(super) struct Owner<O> {
    pub(super) owner: O,
    pub(super) waits: InlineVec<WaitSlot>,
    pub(super) waited_by: InlineVec<Link>,
}

/// An edge as stored at the owner that is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) wait: WaitSlot,
    /// The position in the wait's edges.
    position: u32,
}

impl Link {
    pub(super) const fn position(self) -> usize {
        self.position as usize
    }
}

#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// Unique among all waits ever.
    pub(super) serial: u64,
    pub(super) waiter: OwnerSlot,
    /// The position in the waiter's waits.
    pub(super) position: usize,
    is_of_any: bool,
    pub(super) edges: InlineVec<Edge>,
}

/// An edge as stored at the wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) awaited: OwnerSlot,
    /// The position in `waited_by` of the awaited owner.
    position: u32,
    /// Whether it is kept outside the order.
    pub(super) is_loose: bool,
}

impl Wait {
    /// Whether one of several owners is enough.
    pub(super) fn is_any(&self) -> bool {
        self.is_of_any && self.edges.len() > 1
    }

    /// Whether the need is one of any, even if it names only one owner now.
    pub(super) fn is_of_any(&self) -> bool {
        self.is_of_any
    }

    pub(super) fn awaited(&self) -> impl Iterator<Item = OwnerSlot> {
        self.edges.iter().map(|edge| edge.awaited)
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

    pub(super) fn add_owner(&mut self, owner: O) -> OwnerSlot {
        let slot = OwnerSlot(self.owners.insert(Owner { owner, waits: InlineVec::new(), waited_by: InlineVec::new() }));
        self.slots.insert(owner, slot);
        slot
    }

    /// Frees the slot of an owner that neither waits nor is waited for. Returns whether it did.
    pub(super) fn remove_if_unused(&mut self, slot: OwnerSlot) -> bool {
        let unused = self.owner(slot).filter(|owner| owner.waits.is_empty() && owner.waited_by.is_empty());
        let Some(owner) = unused.map(|owner| owner.owner) else { return false };
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
        self.owner(slot).is_none_or(|owner| owner.waited_by.is_empty())
    }

    pub(super) fn has_no_waits(&self, slot: OwnerSlot) -> bool {
        self.owner(slot).is_none_or(|owner| owner.waits.is_empty())
    }

    /// Returns the need of a wait with the names of its owners.
    pub(super) fn need(&self, wait: &Wait) -> Need<O> {
        let awaited = wait.awaited().filter_map(|slot| Some(self.owner(slot)?.owner)).collect();
        if wait.is_of_any { Need::Any(awaited) } else { Need::All(awaited) }
    }

    /// Returns the outgoing edge of an owner at the cursor, and advances the cursor.
    pub(super) fn edge_out(&self, slot: OwnerSlot, cursor: &mut Cursor) -> Option<Edge> {
        let waits = &self.owner(slot)?.waits;
        loop {
            let wait = self.wait(*waits.get(cursor.wait)?)?;
            if let Some(edge) = wait.edges.get(cursor.edge) {
                cursor.edge += 1;
                return Some(*edge);
            }
            *cursor = Cursor { wait: cursor.wait + 1, edge: 0 };
        }
    }

    /// Returns the incoming edge of an owner at this position: the wait, and whether the edge is
    /// loose.
    pub(super) fn edge_in(&self, slot: OwnerSlot, position: usize) -> Option<(&Wait, bool)> {
        let link = self.owner(slot)?.waited_by.get(position)?;
        let wait = self.wait(link.wait)?;
        Some((wait, wait.edges.get(link.position())?.is_loose))
    }

    /// Returns the position of the edge of a wait to an owner. Searches the shorter of the two
    /// lists.
    pub(super) fn position_of(&self, wait_slot: WaitSlot, awaited: OwnerSlot) -> Option<usize> {
        let (edges, links) = (&self.wait(wait_slot)?.edges, &self.owner(awaited)?.waited_by);
        if links.len() < edges.len() {
            return links.iter().find(|link| link.wait == wait_slot).map(|link| link.position());
        }
        edges.iter().position(|edge| edge.awaited == awaited)
    }

    pub(super) fn add_wait(&mut self, waiter: OwnerSlot, is_of_any: bool) -> WaitSlot {
        let position = self.owner(waiter).map_or(0, |owner| owner.waits.len());
        self.latest_serial += 1;
        let wait = Wait { serial: self.latest_serial, waiter, position, is_of_any, edges: InlineVec::new() };
        let wait_slot = WaitSlot(self.waits.insert(wait));
        if let Some(owner) = self.owners.get_mut(waiter.0) {
            owner.waits.push(wait_slot);
        }
        wait_slot
    }

    /// Removes a wait without edges.
    pub(super) fn remove_wait(&mut self, wait_slot: WaitSlot) {
        let Some(wait) = self.waits.remove(wait_slot.0) else { return };
        let Some(owner) = self.owners.get_mut(wait.waiter.0) else { return };
        owner.waits.swap_remove(wait.position);
        let moved = owner.waits.get(wait.position).and_then(|moved| self.waits.get_mut(moved.0));
        if let Some(moved) = moved {
            moved.position = wait.position;
        }
    }

    pub(super) fn link(&mut self, wait_slot: WaitSlot, awaited: OwnerSlot, is_loose: bool) {
        let (Some(wait), Some(owner)) = (self.waits.get_mut(wait_slot.0), self.owners.get_mut(awaited.0)) else {
            return;
        };
        let link = Link { wait: wait_slot, position: wait.edges.len() as u32 };
        wait.edges.push(Edge { awaited, position: owner.waited_by.len() as u32, is_loose });
        owner.waited_by.push(link);
        self.edge_count += 1;
    }

    /// Removes an edge of a wait. At both ends, the last edge moves to its position.
    pub(super) fn unlink(&mut self, wait_slot: WaitSlot, position: usize) -> Option<Edge> {
        let wait = self.waits.get_mut(wait_slot.0)?;
        let edge = wait.edges.swap_remove(position)?;
        self.edge_count -= 1;
        if let Some(moved) = wait.edges.get(position).copied() {
            let links = self.owners.get_mut(moved.awaited.0).map(|owner| &mut owner.waited_by);
            if let Some(link) = links.and_then(|links| links.get_mut(moved.position as usize)) {
                link.position = position as u32;
            }
        }
        let links = &mut self.owners.get_mut(edge.awaited.0)?.waited_by;
        links.swap_remove(edge.position as usize);
        if let Some(moved) = links.get(edge.position as usize).copied() {
            let edges = self.waits.get_mut(moved.wait.0).map(|wait| &mut wait.edges);
            if let Some(other) = edges.and_then(|edges| edges.get_mut(moved.position())) {
                other.position = edge.position;
            }
        }
        Some(edge)
    }

    pub(super) fn mark_ordered(&mut self, wait_slot: WaitSlot, awaited: OwnerSlot) {
        let Some(position) = self.position_of(wait_slot, awaited) else { return };
        let edges = self.waits.get_mut(wait_slot.0).map(|wait| &mut wait.edges);
        if let Some(edge) = edges.and_then(|edges| edges.get_mut(position)) {
            edge.is_loose = false;
        }
    }
}
