//! For whom a newcomer in a queue has to wait: those who hold what it asks for, and those before it who are let in first.
//!
//! All of them that conflict with it are right, but in a queue of n who each want it alone that is n²/2 edges. Most of them
//! say nothing new: if the newcomer waits for somebody in the queue, and that one conflicts with somebody further ahead, then the newcomer waits
//! for the latter already, by way of the former. [`Conflicts::ahead`] leaves those out and stops where nothing new can come, at the latest
//! at the first one that conflicts with everything: an exclusive queue of n has n edges.
//!
//! If somebody leaves the queue, those who waited for it directly get the edges that it stood for ([`Conflicts::after`]). Nobody else has to change:
//! whoever is left out is so because of one who is named and conflicts with it, and that one gets the edges that it needs itself.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Which modes there are, and which of them conflict.
#[derive(Clone, Copy, Debug)]
pub struct Conflicts<'a, M, F> {
    pub modes: &'a [M],
    /// Whether one who asks for the first mode has to wait for one who is ahead with the second.
    pub conflict: F,
}

/// How the edges of a wait change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<O> {
    /// To be added, before the others are removed.
    pub also: Vec<O>,
    pub let_go: Vec<O>,
}

impl<M: Copy + PartialEq, F: Fn(M, M) -> bool> Conflicts<'_, M, F> {
    /// For whom one waits who asks for a mode, with this queue ahead of it from the nearest to the farthest, and with these holders. Its own entries
    /// in either are left out. Somebody who is there twice may be named twice, which the graph does not mind.
    pub fn ahead<O: Copy + Ord>(
        &self,
        (waiter, mode): (O, M),
        queue: impl IntoIterator<Item = (O, M)>,
        holders: impl IntoIterator<Item = (O, M)>,
    ) -> Vec<O> {
        // The modes that it would have to wait for, and does not yet.
        let mut open: Vec<M> = self.modes.iter().copied().filter(|other| (self.conflict)(mode, *other)).collect();
        let mut on = Vec::new();
        for (owner, ahead) in queue {
            if open.is_empty() {
                return on;
            }
            let conflict = &self.conflict;
            // One who is waited for already is named all the same if it stands for more than those before it did.
            let says_more = open.contains(&ahead) || open.iter().any(|other| conflict(ahead, *other));
            if owner != waiter && conflict(mode, ahead) && says_more {
                on.push(owner);
                open.retain(|other| !(self.conflict)(ahead, *other));
            }
        }
        // Holders do not wait for each other, so none of them stands for another one.
        let holders = holders.into_iter().filter(|(owner, held)| *owner != waiter && open.contains(held));
        on.extend(holders.map(|(owner, _)| owner));
        on
    }

    /// How the edges of a wait change when somebody leaves the queue ahead of it, or lets go of what it holds. The queue and the holders are those
    /// that are left. Only waits for the one who left have to change.
    pub fn after<O: Copy + Ord>(
        &self,
        left: O,
        waits_for: &[O],
        asked: (O, M),
        queue: impl IntoIterator<Item = (O, M)>,
        holders: impl IntoIterator<Item = (O, M)>,
    ) -> Changes<O> {
        let before: BTreeSet<O> = waits_for.iter().copied().collect();
        if !before.contains(&left) {
            return Changes { also: Vec::new(), let_go: Vec::new() };
        }
        let now: BTreeSet<O> = self.ahead(asked, queue, holders).into_iter().collect();
        let let_go = if now.contains(&left) { Vec::new() } else { alloc::vec![left] };
        Changes { also: now.difference(&before).copied().collect(), let_go }
    }
}
