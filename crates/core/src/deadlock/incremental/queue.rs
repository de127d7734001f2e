//! The owners that a new entry in a lock queue has to wait for: the holders, and the entries ahead
//! of it in the queue.
//!
//! Waiting for all of them that conflict is correct, but a queue of n exclusive requests then has
//! n²/2 edges. Most of them are redundant: if the new entry waits for an entry in the queue, and
//! that one conflicts with an entry further ahead, then the new entry already waits for the latter
//! through the former. [`Conflicts::waits_for`] omits those and stops where only redundant ones can
//! follow, at the latest at the first entry that conflicts with everything: an exclusive queue of n
//! has n edges.
//!
//! If an entry leaves the queue, those that waited for it directly get the edges that it
//! represented ([`Conflicts::changes_after`]). No other entry changes: an omitted edge is redundant
//! because of a named entry that conflicts with it, and that entry gets the edges that it needs
//! itself.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The lock modes, and which of them conflict.
#[derive(Clone, Copy, Debug)]
pub struct Conflicts<'a, M, F> {
    pub modes: &'a [M],
    /// Returns whether a request in the first mode has to wait for an entry ahead with the second.
    pub conflict: F,
}

/// The changes of a wait's edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<O> {
    /// The owners to add, before the others are removed.
    pub added: Vec<O>,
    pub removed: Vec<O>,
}

impl<M: Copy + PartialEq, F: Fn(M, M) -> bool> Conflicts<'_, M, F> {
    /// Returns the owners that a request waits for, with this queue ahead of it from the nearest to
    /// the farthest, and with these holders. Ignores the requester's own entries. An owner with two
    /// entries may be named twice, which the graph tolerates.
    pub fn waits_for<O: Copy + Ord>(
        &self,
        (waiter, mode): (O, M),
        queue: impl IntoIterator<Item = (O, M)>,
        holders: impl IntoIterator<Item = (O, M)>,
    ) -> Vec<O> {
        // The conflicting modes that no named entry covers yet.
        let mut uncovered: Vec<M> = self.modes.iter().copied().filter(|other| (self.conflict)(mode, *other)).collect();
        let mut awaited = Vec::new();
        for (owner, ahead_mode) in queue {
            if uncovered.is_empty() {
                return awaited;
            }
            let conflict = &self.conflict;
            // An entry that is covered already is named all the same if it covers more modes than
            // those before it did.
            let covers_more =
                uncovered.contains(&ahead_mode) || uncovered.iter().any(|other| conflict(ahead_mode, *other));
            if owner != waiter && conflict(mode, ahead_mode) && covers_more {
                awaited.push(owner);
                uncovered.retain(|other| !(self.conflict)(ahead_mode, *other));
            }
        }
        // Holders do not wait for each other, so none of them covers another one.
        let holders = holders.into_iter().filter(|(owner, held)| *owner != waiter && uncovered.contains(held));
        awaited.extend(holders.map(|(owner, _)| owner));
        awaited
    }

    /// Returns the changes of a wait's edges when the owner `leaver` leaves the queue ahead of it
    /// or releases what it holds. The queue and the holders are those that remain. Only waits for
    /// that owner change.
    pub fn changes_after<O: Copy + Ord>(
        &self,
        leaver: O,
        waits_for: &[O],
        request: (O, M),
        queue: impl IntoIterator<Item = (O, M)>,
        holders: impl IntoIterator<Item = (O, M)>,
    ) -> Changes<O> {
        let previous: BTreeSet<O> = waits_for.iter().copied().collect();
        if !previous.contains(&leaver) {
            return Changes { added: Vec::new(), removed: Vec::new() };
        }
        let current: BTreeSet<O> = self.waits_for(request, queue, holders).into_iter().collect();
        let removed = if current.contains(&leaver) { Vec::new() } else { alloc::vec![leaver] };
        Changes { added: current.difference(&previous).copied().collect(), removed }
    }
}
