//! A search for a path between two owners. It alternates between both ends, one edge at a time,
//! until they meet or the smaller side is exhausted.

use super::arena::{Arena, Cursor, OwnerSlot};
use super::marks::Marks;
use super::order::Order;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All edges.
    Everything,
    /// Only ordered edges between the positions of both ends: no path along such edges leaves this
    /// range.
    Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is a path: these two are neighbours on it, the first visited from the beginning and
    /// the other from the end.
    Met(OwnerSlot, OwnerSlot),
    /// There is no path: everything reachable from the beginning was visited.
    BeginningExhausted,
    /// There is no path: everything from which the end is reachable was visited.
    EndExhausted,
    /// The search reached its step limit.
    StepLimit,
}

/// A search, with memory that the next one reuses.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Visited from the beginning, each with its predecessor.
    ahead: Marks,
    ahead_visited: Vec<OwnerSlot>,
    /// Visited from the end, each with its successor.
    behind: Marks,
    behind_visited: Vec<OwnerSlot>,
}

impl Search {
    /// Searches a path from `begin`, along what it waits for, to `end`, with at most `most_steps`
    /// steps on each side.
    pub(super) fn run<O: Ord + Copy>(
        &mut self,
        (arena, order): (&Arena<O>, &Order),
        (begin, end): (OwnerSlot, OwnerSlot),
        scope: Scope,
        most_steps: usize,
    ) -> Outcome {
        self.start(begin, end);
        if begin == end {
            return Outcome::Met(begin, end);
        }
        let (low, high) = (order.label(end), order.label(begin));
        let may_use = |loose: bool, slot: OwnerSlot| match scope {
            Scope::Everything => true,
            Scope::Between => !loose && (low..=high).contains(&order.label(slot)),
        };
        let (mut ahead_at, mut cursor) = (0, Cursor::default());
        let (mut behind_at, mut position) = (0, 0);
        for _ in 0..most_steps {
            let Some(at) = self.ahead_visited.get(ahead_at).copied() else { return Outcome::BeginningExhausted };
            match arena.edge_out(at, &mut cursor) {
                None => (ahead_at, cursor) = (ahead_at + 1, Cursor::default()),
                Some(edge) if may_use(edge.loose, edge.on) => {
                    if self.behind.has(edge.on) {
                        return Outcome::Met(at, edge.on);
                    }
                    if !self.ahead.has(edge.on) {
                        self.ahead.set(edge.on, at.0);
                        self.ahead_visited.push(edge.on);
                    }
                }
                Some(_) => {}
            }
            let Some(at) = self.behind_visited.get(behind_at).copied() else { return Outcome::EndExhausted };
            match arena.edge_in(at, position) {
                None => (behind_at, position) = (behind_at + 1, 0),
                Some((wait, loose)) => {
                    position += 1;
                    let waiter = wait.waiter;
                    if may_use(loose, waiter) {
                        if self.ahead.has(waiter) {
                            return Outcome::Met(waiter, at);
                        }
                        if !self.behind.has(waiter) {
                            self.behind.set(waiter, at.0);
                            self.behind_visited.push(waiter);
                        }
                    }
                }
            }
        }
        Outcome::StepLimit
    }

    /// Returns the path on which both sides met, both ends included.
    pub(super) fn path(&self, (before, after): (OwnerSlot, OwnerSlot)) -> Vec<OwnerSlot> {
        let mut path = alloc::vec![before];
        if before == after {
            return path;
        }
        follow(&self.ahead, before, &mut path);
        path.reverse();
        path.push(after);
        follow(&self.behind, after, &mut path);
        path
    }

    /// Returns the slots visited from the beginning, in order.
    pub(super) fn visited_ahead(&mut self, order: &Order) -> &[OwnerSlot] {
        self.ahead_visited.sort_unstable_by_key(|slot| order.label(*slot));
        &self.ahead_visited
    }

    /// Returns the slots visited from the end, in order.
    pub(super) fn visited_behind(&mut self, order: &Order) -> &[OwnerSlot] {
        self.behind_visited.sort_unstable_by_key(|slot| order.label(*slot));
        &self.behind_visited
    }

    fn start(&mut self, begin: OwnerSlot, end: OwnerSlot) {
        self.ahead.clear();
        self.ahead_visited.clear();
        self.ahead.set(begin, begin.0);
        self.ahead_visited.push(begin);
        self.behind.clear();
        self.behind_visited.clear();
        self.behind.set(end, end.0);
        self.behind_visited.push(end);
    }
}

/// Appends the path from a slot to the end where its side began.
fn follow(marks: &Marks, from: OwnerSlot, path: &mut Vec<OwnerSlot>) {
    let mut at = from;
    while let Some(next) = marks.get(at).map(OwnerSlot).filter(|next| *next != at) {
        path.push(next);
        at = next;
    }
}
