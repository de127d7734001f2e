//! Owners, their waits, and the edges between them, each to be found from both of its ends and removed in one step.

use super::few::Few;
use super::slab::Slab;
use crate::deadlock::Need;
use alloc::collections::BTreeMap;

/// Where an owner is kept, as long as it waits or is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat(pub(super) u32);

impl Seat {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a wait is kept, as long as it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(pub(super) u32);

/// An owner with its waits, and the waits for it.
#[derive(Clone, Debug)]
pub(super) struct Owner<O> {
    pub(super) owner: O,
    pub(super) waits: Few<Ticket>,
    pub(super) waited_by: Few<Link>,
}

/// An edge as the one who is waited for knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) wait: Ticket,
    /// Which of the wait's edges it is.
    place: u32,
}

impl Link {
    pub(super) const fn place(self) -> usize {
        self.place as usize
    }
}

#[derive(Clone, Debug)]
pub(super) struct Wait {
    /// No two waits ever have the same.
    pub(super) serial: u64,
    pub(super) waiter: Seat,
    /// Which of its waiter's waits it is.
    pub(super) place: usize,
    any: bool,
    pub(super) edges: Few<Edge>,
}

/// An edge as the one who waits knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) on: Seat,
    /// Which of the links to `on` it is.
    place: u32,
    /// Whether it is kept outside the order.
    pub(super) loose: bool,
}

impl Wait {
    pub(super) fn is_any(&self) -> bool {
        self.any && self.edges.len() > 1
    }

    /// Whether it would be enough if there were several.
    pub(super) fn is_of_any(&self) -> bool {
        self.any
    }

    pub(super) fn on(&self) -> impl Iterator<Item = Seat> {
        self.edges.iter().map(|edge| edge.on)
    }
}

/// How far the edges that lead away from an owner have been looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    wait: usize,
    edge: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Arena<O> {
    seats: BTreeMap<O, Seat>,
    owners: Slab<Owner<O>>,
    waits: Slab<Wait>,
    edges: usize,
    serial: u64,
}

impl<O> Default for Arena<O> {
    fn default() -> Self {
        Self { seats: BTreeMap::new(), owners: Slab::default(), waits: Slab::default(), edges: 0, serial: 0 }
    }
}

impl<O: Ord + Copy> Arena<O> {
    pub(super) fn seat(&self, owner: O) -> Option<Seat> {
        self.seats.get(&owner).copied()
    }

    pub(super) fn sit(&mut self, owner: O) -> Seat {
        let seat = Seat(self.owners.insert(Owner { owner, waits: Few::new(), waited_by: Few::new() }));
        self.seats.insert(owner, seat);
        seat
    }

    /// Takes the seat of one who neither waits nor is waited for, and tells whether it did.
    pub(super) fn clear(&mut self, seat: Seat) -> bool {
        let idle = self.owner(seat).filter(|owner| owner.waits.is_empty() && owner.waited_by.is_empty());
        let Some(owner) = idle.map(|owner| owner.owner) else { return false };
        self.seats.remove(&owner);
        self.owners.remove(seat.0);
        true
    }

    pub(super) fn owner(&self, seat: Seat) -> Option<&Owner<O>> {
        self.owners.get(seat.0)
    }

    pub(super) fn wait(&self, ticket: Ticket) -> Option<&Wait> {
        self.waits.get(ticket.0)
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = (O, &Owner<O>)> {
        self.seats.iter().filter_map(|(owner, seat)| Some((*owner, self.owner(*seat)?)))
    }

    pub(super) fn owner_count(&self) -> usize {
        self.owners.len()
    }

    pub(super) fn wait_count(&self) -> usize {
        self.waits.len()
    }

    pub(super) fn edge_count(&self) -> usize {
        self.edges
    }

    pub(super) fn is_unwanted(&self, seat: Seat) -> bool {
        self.owner(seat).is_none_or(|owner| owner.waited_by.is_empty())
    }

    pub(super) fn is_running(&self, seat: Seat) -> bool {
        self.owner(seat).is_none_or(|owner| owner.waits.is_empty())
    }

    /// A need by the names of those it waits for.
    pub(super) fn need(&self, wait: &Wait) -> Need<O> {
        let on = wait.on().filter_map(|seat| Some(self.owner(seat)?.owner)).collect();
        if wait.any { Need::Any(on) } else { Need::All(on) }
    }

    /// The next edge that leads away from an owner.
    pub(super) fn edge_out(&self, seat: Seat, at: &mut Cursor) -> Option<Edge> {
        let waits = &self.owner(seat)?.waits;
        loop {
            let wait = self.wait(*waits.get(at.wait)?)?;
            if let Some(edge) = wait.edges.get(at.edge) {
                at.edge += 1;
                return Some(*edge);
            }
            *at = Cursor { wait: at.wait + 1, edge: 0 };
        }
    }

    /// One of the edges that lead to an owner: the wait, and whether the edge is loose.
    pub(super) fn edge_in(&self, seat: Seat, at: usize) -> Option<(&Wait, bool)> {
        let link = self.owner(seat)?.waited_by.get(at)?;
        let wait = self.wait(link.wait)?;
        Some((wait, wait.edges.get(link.place())?.loose))
    }

    /// Which of a wait's edges leads to somebody, looked for at the end that has fewer.
    pub(super) fn place_of(&self, ticket: Ticket, on: Seat) -> Option<usize> {
        let (edges, links) = (&self.wait(ticket)?.edges, &self.owner(on)?.waited_by);
        if links.len() < edges.len() {
            return links.iter().find(|link| link.wait == ticket).map(|link| link.place());
        }
        edges.iter().position(|edge| edge.on == on)
    }

    pub(super) fn open(&mut self, waiter: Seat, any: bool) -> Ticket {
        let place = self.owner(waiter).map_or(0, |owner| owner.waits.len());
        self.serial += 1;
        let wait = Wait { serial: self.serial, waiter, place, any, edges: Few::new() };
        let ticket = Ticket(self.waits.insert(wait));
        if let Some(owner) = self.owners.get_mut(waiter.0) {
            owner.waits.push(ticket);
        }
        ticket
    }

    /// Ends a wait that has no edges any more.
    pub(super) fn close(&mut self, ticket: Ticket) {
        let Some(wait) = self.waits.remove(ticket.0) else { return };
        let Some(owner) = self.owners.get_mut(wait.waiter.0) else { return };
        owner.waits.swap_remove(wait.place);
        let moved = owner.waits.get(wait.place).and_then(|moved| self.waits.get_mut(moved.0));
        if let Some(moved) = moved {
            moved.place = wait.place;
        }
    }

    pub(super) fn link(&mut self, ticket: Ticket, on: Seat, loose: bool) {
        let (Some(wait), Some(owner)) = (self.waits.get_mut(ticket.0), self.owners.get_mut(on.0)) else { return };
        let link = Link { wait: ticket, place: wait.edges.len() as u32 };
        wait.edges.push(Edge { on, place: owner.waited_by.len() as u32, loose });
        owner.waited_by.push(link);
        self.edges += 1;
    }

    /// Removes an edge of a wait. The last one takes its place, at both ends.
    pub(super) fn unlink(&mut self, ticket: Ticket, place: usize) -> Option<Edge> {
        let wait = self.waits.get_mut(ticket.0)?;
        let edge = wait.edges.swap_remove(place)?;
        self.edges -= 1;
        if let Some(moved) = wait.edges.get(place).copied() {
            let links = self.owners.get_mut(moved.on.0).map(|owner| &mut owner.waited_by);
            if let Some(link) = links.and_then(|links| links.get_mut(moved.place as usize)) {
                link.place = place as u32;
            }
        }
        let links = &mut self.owners.get_mut(edge.on.0)?.waited_by;
        links.swap_remove(edge.place as usize);
        if let Some(moved) = links.get(edge.place as usize).copied() {
            let edges = self.waits.get_mut(moved.wait.0).map(|wait| &mut wait.edges);
            if let Some(other) = edges.and_then(|edges| edges.get_mut(moved.place())) {
                other.place = edge.place;
            }
        }
        Some(edge)
    }

    pub(super) fn fasten(&mut self, ticket: Ticket, on: Seat) {
        let Some(place) = self.place_of(ticket, on) else { return };
        let edges = self.waits.get_mut(ticket.0).map(|wait| &mut wait.edges);
        if let Some(edge) = edges.and_then(|edges| edges.get_mut(place)) {
            edge.loose = false;
        }
    }
}
