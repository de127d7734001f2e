//! An incremental wait-for graph for a lock service: it changes all the time, and before each wait
//! the service asks whether the wait would close a deadlock.
//!
//! The nodes of the graph are owners of locks: sessions or transactions. An owner may have several
//! needs at once, each for all or for any of some other owners, and continues when all its needs
//! are met. [`Graph`] answers by searching everything; this graph searches only between the two
//! ends of a new edge.
//!
//! # Algorithm
//!
//! A new edge from a waiter to another owner closes a cycle if there is a path back: from that
//! owner, along what it waits for, to the waiter.
//!
//! 1. If no owner waits for the waiter, or the other owner does not wait, there is no path back.
//!    Most questions end here.
//! 2. The graph keeps all owners in an order in which an owner comes before those that wait for it.
//!    If the other owner already comes before the waiter, every path from it leads further to the
//!    front, so none leads back to the waiter.
//! 3. Otherwise the search alternates between two directions, from the other owner along what it
//!    waits for and from the waiter along its waiters, and stays within the part of the order
//!    between these two owners. If both sides meet, there is a path back. If one side is exhausted,
//!    there is none, and the owners that side has visited move to the other end of that part; this
//!    restores the order. So the smaller side determines the cost: a session with 100,000 waiters
//!    may ask for a lock with a short queue at the cost of the short queue (after Pearce and Kelly
//!    2006, and Bender, Fineman, Gilbert and Tarjan 2016).
//! 4. A cycle is a deadlock if each of its owners waits for all that it names. If some wait for any
//!    of several, a cycle alone is no deadlock: then a reduction of the part of the graph that the
//!    new need can reach decides (`decision.rs`).
//!
//! # Correctness
//!
//! Every edge is either ordered or *loose*. Ordered edges lead to the front of the order, so they
//! contain no cycle. An edge that would close a cycle of them is loose: the graph accepted it
//! because an owner on the cycle waits for any of several, or because the caller forced it. While
//! there are loose edges, a path back may use them; then, instead of steps 2 and 3, the graph
//! searches all edges in both directions without the order. After each removal, the graph tries to
//! order one of the loose edges.
//!
//! Without a path back to the waiter a new need closes no deadlock: whether the owners it names
//! wait forever does not depend on the waiter. At worst they wait for an existing deadlock,
//! directly or through others. The graph accepts such a need, because a victim of that deadlock
//! will abort.
//!
//! # Cost
//!
//! Steps 1 and 2 cost a look-up of each name, O(log n). Step 3 costs the edges of the smaller side.
//! A reduction costs what the need can reach. Nothing is recursive, so memory alone limits the
//! length of a chain.

mod arena;
mod decision;
mod inline_vec;
mod marks;
mod order;
pub mod queue;
mod search;
mod slab;
#[cfg(test)]
mod tests;

use super::{Deadlock, Graph, Need, Shape};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use arena::{Arena, OwnerSlot, WaitSlot};
use core::ops::Bound;
use decision::{DeadlockDecision, Question};
use order::Order;
use search::{Outcome, Scope, Search};

/// Maximum number of steps of each side of the search that tries to order a loose edge after a
/// removal, so that ending a wait stays cheap.
const MAX_RETRY_STEPS: usize = 64;

/// A wait-for graph that quickly answers whether a new wait would close a deadlock.
#[derive(Clone, Debug)]
pub struct WaitForGraph<O> {
    arena: Arena<O>,
    order: Order,
    /// The loose edges: each as the wait and the owner that it names.
    loose_edges: BTreeSet<(WaitSlot, OwnerSlot)>,
    /// The loose edge that the graph tried to order last.
    last_retried: (WaitSlot, OwnerSlot),
    search: Search,
    decision: DeadlockDecision,
}

/// Identifies one wait, which is one need of one owner, until it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitHandle {
    slot: WaitSlot,
    serial: u64,
}

/// A need with the slots of its waiter and of the owners it names; `None` for an owner that is not
/// in the graph yet.
struct ResolvedNeed<O> {
    waiter: (O, Option<OwnerSlot>),
    awaited: Vec<(O, Option<OwnerSlot>)>,
    /// Whether the need is a [`Need::Any`].
    is_any: bool,
}

impl<O> Default for WaitForGraph<O> {
    fn default() -> Self {
        Self {
            arena: Arena::default(),
            order: Order::default(),
            loose_edges: BTreeSet::new(),
            last_retried: (WaitSlot(0), OwnerSlot(0)),
            search: Search::default(),
            decision: DeadlockDecision::default(),
        }
    }
}

impl<O: Ord + Copy> WaitForGraph<O> {
    /// A graph without waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a need of an owner. Returns the deadlock and changes nothing if the need would close
    /// one.
    pub fn wait(&mut self, waiter: O, need: Need<O>) -> Result<WaitHandle, Deadlock<O>> {
        let need = self.resolve(waiter, &need);
        match self.deadlock_closed_by(&need) {
            Some(deadlock) => Err(deadlock),
            None => Ok(self.insert(need)),
        }
    }

    /// Adds a need of an owner even if the need closes a deadlock, and returns that deadlock. The
    /// caller then selects a victim and ends its waits.
    pub fn wait_anyway(&mut self, waiter: O, need: Need<O>) -> (WaitHandle, Option<Deadlock<O>>) {
        let need = self.resolve(waiter, &need);
        let deadlock = self.deadlock_closed_by(&need);
        (self.insert(need), deadlock)
    }

    /// Returns the deadlock that a need would close. Adds nothing to the graph, but may reorder the
    /// owners, which speeds up a wait that follows.
    pub fn would_deadlock(&mut self, waiter: O, need: &Need<O>) -> Option<Deadlock<O>> {
        let need = self.resolve(waiter, need);
        self.deadlock_closed_by(&need)
    }

    /// Returns the deadlock that an owner is part of. There is one only if the caller forced it
    /// ([`Self::wait_anyway`], [`Self::add_owner_anyway`]), or if an owner that could have met a
    /// `Need::Any` was removed from that need.
    pub fn deadlock_of(&mut self, owner: O) -> Option<Deadlock<O>> {
        let slot = self.arena.slot(owner)?;
        // Without loose edges there is no cycle.
        if self.loose_edges.is_empty() {
            return None;
        }
        let waits = self.arena.owner(slot)?.waits.to_vec();
        waits.into_iter().find_map(|wait_slot| self.deadlock_of_wait(wait_slot))
    }

    /// Ends a wait: it was granted or cancelled. Returns whether it existed.
    pub fn end(&mut self, wait: WaitHandle) -> bool {
        let Some(wait_slot) = self.wait_slot(wait) else { return false };
        self.remove(wait_slot);
        self.retry_loose_edge();
        true
    }

    /// Adds an owner to a wait: another reader was admitted before a writer, or another owner took
    /// a permit. Returns the deadlock and changes nothing if that would close one; a `Need::Any`
    /// that names other owners only gets easier to meet and closes none. If the wait has ended,
    /// returns `Ok` and changes nothing.
    pub fn add_owner(&mut self, wait: WaitHandle, owner: O) -> Result<(), Deadlock<O>> {
        match self.deadlock_closed_by_owner(wait, owner) {
            Some(deadlock) => Err(deadlock),
            None => {
                self.add_missing_edge(wait, owner);
                Ok(())
            }
        }
    }

    /// Adds an owner to a wait even if that closes a deadlock, and returns the deadlock. If the
    /// wait has ended, changes nothing.
    pub fn add_owner_anyway(&mut self, wait: WaitHandle, owner: O) -> Option<Deadlock<O>> {
        let deadlock = self.deadlock_closed_by_owner(wait, owner);
        self.add_missing_edge(wait, owner);
        deadlock
    }

    /// Removes an owner from a wait, because the owner has released what it held. A wait without
    /// owners is met, and stays until the caller ends it. Returns the deadlock that the wait is
    /// part of now, if there is one: the remaining owners may be unable to meet a `Need::Any`, or
    /// the deadlock was forced before. Returns `None` if the wait did not name the owner.
    ///
    /// If another owner took the released permit of a `Need::Any`, the wait goes on: call
    /// [`Self::add_owner`] with that owner first.
    pub fn remove_owner(&mut self, wait: WaitHandle, owner: O) -> Option<Deadlock<O>> {
        let wait_slot = self.wait_slot(wait)?;
        let awaited = self.arena.slot(owner)?;
        let position = self.arena.position_of(wait_slot, awaited)?;
        self.remove_edge(wait_slot, position);
        self.retry_loose_edge();
        if self.loose_edges.is_empty() { None } else { self.deadlock_of_wait(wait_slot) }
    }

    /// Removes an owner with its waits and all edges to it. Returns the waits that named it: those
    /// without remaining owners are met now, and a `Need::Any` among the others may be part of a
    /// deadlock now (see [`Self::deadlock_of`]).
    pub fn forget(&mut self, owner: O) -> Vec<WaitHandle> {
        let mut affected = Vec::new();
        let Some(slot) = self.arena.slot(owner) else { return affected };
        while let Some(wait_slot) = self.arena.owner(slot).and_then(|owner| owner.waits.last()).copied() {
            self.remove(wait_slot);
        }
        while let Some(edge) = self.arena.owner(slot).and_then(|owner| owner.incoming_edges.last()).copied() {
            affected.extend(self.arena.wait(edge.wait).map(|wait| WaitHandle { slot: edge.wait, serial: wait.serial }));
            self.remove_edge(edge.wait, edge.position());
        }
        self.retry_loose_edge();
        affected.sort_unstable();
        affected
    }

    /// Returns the waiters of an owner, once for each wait that names it.
    pub fn waiters_of(&self, owner: O) -> impl Iterator<Item = (WaitHandle, O)> {
        let owner = self.arena.slot(owner).and_then(|slot| self.arena.owner(slot)).into_iter();
        owner.flat_map(|owner| owner.incoming_edges.iter()).filter_map(|edge| {
            let wait = self.arena.wait(edge.wait)?;
            Some((WaitHandle { slot: edge.wait, serial: wait.serial }, self.arena.owner(wait.waiter)?.name))
        })
    }

    /// Returns the need of a wait, or `None` if it has ended.
    pub fn need(&self, wait: WaitHandle) -> Option<Need<O>> {
        Some(self.arena.need(self.arena.wait(self.wait_slot(wait)?)?))
    }

    /// Returns the waiting owner, or `None` if the wait has ended.
    pub fn waiter(&self, wait: WaitHandle) -> Option<O> {
        Some(self.arena.owner(self.arena.wait(self.wait_slot(wait)?)?.waiter)?.name)
    }

    /// Returns the number of waits.
    pub fn len(&self) -> usize {
        self.arena.wait_count()
    }

    /// Returns whether there are no waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of owners that wait or are waited for.
    pub fn owner_count(&self) -> usize {
        self.arena.owner_count()
    }

    /// Returns the number of edges: each wait has one to each owner that it names.
    pub fn edge_count(&self) -> usize {
        self.arena.edge_count()
    }

    /// Returns the number of loose edges, which are or were on a cycle. While there are any,
    /// questions that need a search cost more.
    pub fn loose_edge_count(&self) -> usize {
        self.loose_edges.len()
    }

    /// Copies the waits to a [`Graph`], for a complete search.
    pub fn snapshot(&self) -> Graph<O> {
        let mut graph = Graph::new();
        for (name, owner) in self.arena.owners() {
            for wait in owner.waits.iter().filter_map(|wait_slot| self.arena.wait(*wait_slot)) {
                graph.add_need(name, self.arena.need(wait));
            }
        }
        graph
    }

    fn wait_slot(&self, wait: WaitHandle) -> Option<WaitSlot> {
        self.arena.wait(wait.slot).filter(|existing| existing.serial == wait.serial).map(|_| wait.slot)
    }

    /// Returns the deadlock that a need is part of, or would be part of if it is not in the graph
    /// yet.
    fn deadlock_with(&mut self, question: Question<'_>) -> Option<Deadlock<O>> {
        // With alternatives, the loop ends early unless each of them has a path back.
        let mut has_path_back = question.has_alternatives;
        for awaited in question.awaited {
            let path = self.path_back(question.waiter, *awaited);
            if question.has_alternatives && path.is_none() {
                return None;
            }
            if let Some(path) = path.filter(|_| !question.has_alternatives) {
                has_path_back = true;
                let cycle = self.decision.cycle_among(&self.arena, question, &path);
                if cycle.is_some() {
                    return cycle;
                }
            }
        }
        if has_path_back { self.decision.deadlock(&self.arena, question) } else { None }
    }

    /// Returns a path from `awaited` to the waiter, both included. If there is none, may reorder
    /// the owners.
    fn path_back(&mut self, waiter: OwnerSlot, awaited: OwnerSlot) -> Option<Vec<OwnerSlot>> {
        if waiter != awaited && (self.arena.has_no_waiters(waiter) || self.arena.has_no_waits(awaited)) {
            return None;
        }
        let outcome = if self.loose_edges.is_empty() {
            self.arrange(waiter, awaited, usize::MAX).err()?
        } else {
            self.search.run((&self.arena, &self.order), (awaited, waiter), Scope::Everything, usize::MAX)
        };
        match outcome {
            Outcome::Met(from_begin, from_end) => Some(self.search.path((from_begin, from_end))),
            Outcome::BeginExhausted | Outcome::EndExhausted | Outcome::StepLimit => None,
        }
    }

    /// Makes `awaited` come before `waiter` in the order, unless there is a path back along ordered
    /// edges or the search takes more than `max_steps`; then returns that outcome as the error.
    fn arrange(&mut self, waiter: OwnerSlot, awaited: OwnerSlot, max_steps: usize) -> Result<(), Outcome> {
        if self.order.is_before(awaited, waiter) {
            return Ok(());
        }
        if waiter != awaited && self.arena.has_no_waiters(waiter) {
            self.order.move_last(waiter);
            return Ok(());
        }
        if waiter != awaited && self.arena.has_no_waits(awaited) {
            self.order.move_first(awaited);
            return Ok(());
        }
        match self.search.run((&self.arena, &self.order), (awaited, waiter), Scope::Between, max_steps) {
            Outcome::BeginExhausted => {
                let slots = self.search.sorted_visited_from_begin(&self.order);
                self.order.move_before(waiter, slots);
                Ok(())
            }
            Outcome::EndExhausted => {
                let slots = self.search.sorted_visited_from_end(&self.order);
                self.order.move_after(awaited, slots);
                Ok(())
            }
            other @ (Outcome::Met(..) | Outcome::StepLimit) => Err(other),
        }
    }

    /// Looks up the waiter and all owners that a need names, each once.
    fn resolve(&self, waiter: O, need: &Need<O>) -> ResolvedNeed<O> {
        let mut awaited: Vec<(O, Option<OwnerSlot>)> = need.awaited().iter().map(|name| (*name, None)).collect();
        awaited.sort_unstable();
        awaited.dedup();
        for (name, slot) in &mut awaited {
            *slot = self.arena.slot(*name);
        }
        ResolvedNeed { waiter: (waiter, self.arena.slot(waiter)), awaited, is_any: matches!(need, Need::Any(_)) }
    }

    /// Returns the deadlock that a new need would close.
    fn deadlock_closed_by(&mut self, need: &ResolvedNeed<O>) -> Option<Deadlock<O>> {
        let has_alternatives = need.is_any && need.awaited.len() > 1;
        let (waiter, slot) = need.waiter;
        if !has_alternatives && need.awaited.iter().any(|(name, _)| *name == waiter) {
            let waits = alloc::vec![(waiter, Need::All([waiter].into()))];
            return Some(Deadlock { shape: Shape::Cycle, waits });
        }
        let waiter = slot.filter(|slot| !self.arena.has_no_waiters(*slot))?;
        let mut slots: Vec<OwnerSlot> = need.awaited.iter().filter_map(|(_, slot)| *slot).collect();
        // An owner that is not in the graph does not wait, so it can meet the need.
        if has_alternatives && slots.len() < need.awaited.len() {
            return None;
        }
        slots.sort_unstable();
        self.deadlock_with(Question { waiter, awaited: &slots, has_alternatives })
    }

    fn insert(&mut self, need: ResolvedNeed<O>) -> WaitHandle {
        let (name, slot) = need.waiter;
        let waiter = slot.unwrap_or_else(|| {
            let slot = self.arena.add_owner(name);
            self.order.push_last(slot);
            slot
        });
        let wait_slot = self.arena.add_wait(waiter, need.is_any);
        for (owner, slot) in need.awaited {
            // An owner that waits for itself has a slot by now.
            let slot = if owner == name { Some(waiter) } else { slot };
            self.add_edge(wait_slot, waiter, (owner, slot));
        }
        WaitHandle { slot: wait_slot, serial: self.arena.wait(wait_slot).map_or(0, |wait| wait.serial) }
    }

    fn add_edge(&mut self, wait_slot: WaitSlot, waiter: OwnerSlot, (name, slot): (O, Option<OwnerSlot>)) {
        let awaited = slot.unwrap_or_else(|| {
            let slot = self.arena.add_owner(name);
            self.order.push_first(slot);
            slot
        });
        let is_loose = self.arrange(waiter, awaited, usize::MAX).is_err();
        self.arena.add_edge(wait_slot, awaited, is_loose);
        if is_loose {
            self.loose_edges.insert((wait_slot, awaited));
        }
    }

    fn remove_edge(&mut self, wait_slot: WaitSlot, position: usize) {
        let Some(edge) = self.arena.remove_edge(wait_slot, position) else { return };
        if edge.is_loose {
            self.loose_edges.remove(&(wait_slot, edge.awaited));
        }
        self.remove_if_unused(edge.awaited);
    }

    fn remove(&mut self, wait_slot: WaitSlot) {
        let Some(waiter) = self.arena.wait(wait_slot).map(|wait| wait.waiter) else { return };
        while let Some(last) = self.arena.wait(wait_slot).and_then(|wait| wait.outgoing_edges.len().checked_sub(1)) {
            self.remove_edge(wait_slot, last);
        }
        self.arena.remove_wait(wait_slot);
        self.remove_if_unused(waiter);
    }

    fn remove_if_unused(&mut self, slot: OwnerSlot) {
        if self.arena.remove_if_unused(slot) {
            self.order.remove(slot);
        }
    }

    /// Tries to make one of the loose edges an ordered one: the edge that was just removed may have
    /// been on its cycle. Successive calls try all loose edges in turn.
    fn retry_loose_edge(&mut self) {
        let later = self.loose_edges.range((Bound::Excluded(self.last_retried), Bound::Unbounded)).next();
        let Some((wait_slot, awaited)) = later.or_else(|| self.loose_edges.first()).copied() else { return };
        self.last_retried = (wait_slot, awaited);
        let Some(waiter) = self.arena.wait(wait_slot).map(|wait| wait.waiter) else { return };
        // The search ignores loose edges, this one included.
        if self.arrange(waiter, awaited, MAX_RETRY_STEPS).is_ok() {
            self.arena.mark_ordered(wait_slot, awaited);
            self.loose_edges.remove(&(wait_slot, awaited));
        }
    }

    /// Returns the deadlock that would arise if an existing wait named this owner too.
    fn deadlock_closed_by_owner(&mut self, wait: WaitHandle, owner: O) -> Option<Deadlock<O>> {
        let existing = self.arena.wait(self.wait_slot(wait)?)?;
        if existing.is_any() && !existing.outgoing_edges.is_empty() {
            return None;
        }
        let waiter = self.arena.owner(existing.waiter)?.name;
        self.would_deadlock(waiter, &Need::All([owner].into()))
    }

    /// Adds an edge from a wait to an owner, unless it exists or the wait has ended.
    fn add_missing_edge(&mut self, wait: WaitHandle, owner: O) {
        let Some(wait_slot) = self.wait_slot(wait) else { return };
        let Some(waiter) = self.arena.wait(wait_slot).map(|wait| wait.waiter) else { return };
        let awaited = self.arena.slot(owner);
        if awaited.and_then(|awaited| self.arena.position_of(wait_slot, awaited)).is_none() {
            self.add_edge(wait_slot, waiter, (owner, awaited));
        }
    }

    /// Returns the deadlock that an existing wait is part of.
    fn deadlock_of_wait(&mut self, wait_slot: WaitSlot) -> Option<Deadlock<O>> {
        let wait = self.arena.wait(wait_slot)?;
        let (waiter, has_alternatives) = (wait.waiter, wait.has_alternatives());
        let mut slots: Vec<OwnerSlot> = wait.awaited().collect();
        slots.sort_unstable();
        self.deadlock_with(Question { waiter, awaited: &slots, has_alternatives })
    }
}
