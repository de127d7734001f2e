//! The owners that a new request in a lock queue has to wait for: the holders, and the requests
//! ahead of it in the queue.
//!
//! Waiting for all of them that conflict is correct, but a queue of n exclusive requests then has
//! n²/2 edges. Most of them are redundant: if the new request waits for a request in the queue, and
//! that one conflicts with a request further ahead, then the new request already waits for the
//! latter through the former. [`Conflicts::awaited_owners`] omits redundant edges and stops where
//! only these can follow, at the latest at the first request that conflicts with everything: an
//! exclusive queue of n has n edges.
//!
//! If a request leaves the queue, the requests that waited for it directly get the edges that were
//! omitted because of it ([`Conflicts::changes_after`]). No other request changes: if one of its
//! edges was omitted, that was because of a request that is still ahead of it, and that request
//! itself gets the edges that it needs.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The lock modes, and which of them conflict.
#[derive(Clone, Copy, Debug)]
pub struct Conflicts<'a, M, F> {
    pub modes: &'a [M],
    /// Returns whether a request in the first mode has to wait for a request ahead with the second.
    pub is_conflict: F,
}

/// The changes of a wait's edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<O> {
    /// The owners to add. The caller adds them before it removes `removed`.
    pub added: Vec<O>,
    pub removed: Vec<O>,
}

impl<M: Copy + PartialEq, F: Fn(M, M) -> bool> Conflicts<'_, M, F> {
    /// Returns the owners that a request waits for, without redundant ones. `queue` lists the
    /// requests ahead of it, from the nearest to the farthest. Ignores the requester's own
    /// requests. An owner with two requests may be named twice, which the graph tolerates.
    pub fn awaited_owners<O: Copy + Ord>(
        &self,
        (waiter, mode): (O, M),
        queue: impl IntoIterator<Item = (O, M)>,
        holders: impl IntoIterator<Item = (O, M)>,
    ) -> Vec<O> {
        // The modes that conflict with `mode` and that no awaited request covers yet. A request
        // covers the modes that it conflicts with: it waits itself for the requests ahead of it in
        // those modes.
        let mut uncovered: Vec<M> =
            self.modes.iter().copied().filter(|other| (self.is_conflict)(mode, *other)).collect();
        let mut awaited = Vec::new();
        for (owner, ahead_mode) in queue {
            if uncovered.is_empty() {
                return awaited;
            }
            // A request whose mode is covered already is awaited all the same if it covers further
            // modes.
            let covers_more =
                uncovered.contains(&ahead_mode) || uncovered.iter().any(|other| (self.is_conflict)(ahead_mode, *other));
            if owner != waiter && (self.is_conflict)(mode, ahead_mode) && covers_more {
                awaited.push(owner);
                uncovered.retain(|other| !(self.is_conflict)(ahead_mode, *other));
            }
        }
        // Holders do not wait for each other, so none of them covers another one.
        let holders = holders.into_iter().filter(|(owner, held)| *owner != waiter && uncovered.contains(held));
        awaited.extend(holders.map(|(owner, _)| owner));
        awaited
    }

    /// Returns the changes of a wait's edges after the owner `leaver` has left the queue ahead of
    /// the wait or has released the lock. `previous_awaited` are the owners that the wait named
    /// so far; `queue` and `holders` are those that remain. A wait that did not name `leaver` does
    /// not change.
    pub fn changes_after<O: Copy + Ord>(
        &self,
        leaver: O,
        previous_awaited: &[O],
        request: (O, M),
        queue: impl IntoIterator<Item = (O, M)>,
        holders: impl IntoIterator<Item = (O, M)>,
    ) -> Changes<O> {
        let previous: BTreeSet<O> = previous_awaited.iter().copied().collect();
        if !previous.contains(&leaver) {
            return Changes { added: Vec::new(), removed: Vec::new() };
        }
        let current: BTreeSet<O> = self.awaited_owners(request, queue, holders).into_iter().collect();
        let removed = if current.contains(&leaver) { Vec::new() } else { alloc::vec![leaver] };
        Changes { added: current.difference(&previous).copied().collect(), removed }
    }
}
