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
    /// Searches a path from `begin`, along what it waits for, to `end`, with at most `max_steps`
    /// steps on each side.
    pub(super) fn run<O: Ord + Copy>(
        &mut self,
        (arena, order): (&Arena<O>, &Order),
        (begin, end): (OwnerSlot, OwnerSlot),
        scope: Scope,
        max_steps: usize,
    ) -> Outcome {
        self.start(begin, end);
        if begin == end {
            return Outcome::Met(begin, end);
        }
        let (low, high) = (order.label(end), order.label(begin));
        let may_use = |is_loose: bool, slot: OwnerSlot| match scope {
            Scope::Everything => true,
            Scope::Between => !is_loose && (low..=high).contains(&order.label(slot)),
        };
        let (mut ahead_index, mut cursor) = (0, Cursor::default());
        let (mut behind_index, mut position) = (0, 0);
        for _ in 0..max_steps {
            let Some(current) = self.ahead_visited.get(ahead_index).copied() else {
                return Outcome::BeginningExhausted;
            };
            match arena.edge_out(current, &mut cursor) {
                None => (ahead_index, cursor) = (ahead_index + 1, Cursor::default()),
                Some(edge) if may_use(edge.is_loose, edge.awaited) => {
                    if self.behind.has(edge.awaited) {
                        return Outcome::Met(current, edge.awaited);
                    }
                    if !self.ahead.has(edge.awaited) {
                        self.ahead.set(edge.awaited, current.0);
                        self.ahead_visited.push(edge.awaited);
                    }
                }
                Some(_) => {}
            }
            let Some(current) = self.behind_visited.get(behind_index).copied() else { return Outcome::EndExhausted };
            match arena.edge_in(current, position) {
                None => (behind_index, position) = (behind_index + 1, 0),
                Some((wait, is_loose)) => {
                    position += 1;
                    let waiter = wait.waiter;
                    if may_use(is_loose, waiter) {
                        if self.ahead.has(waiter) {
                            return Outcome::Met(waiter, current);
                        }
                        if !self.behind.has(waiter) {
                            self.behind.set(waiter, current.0);
                            self.behind_visited.push(waiter);
                        }
                    }
                }
            }
        }
        Outcome::StepLimit
    }

    /// Returns the path through the two neighbours at which both sides met, both ends included.
    pub(super) fn path(&self, (from_beginning, from_end): (OwnerSlot, OwnerSlot)) -> Vec<OwnerSlot> {
        let mut path = alloc::vec![from_beginning];
        if from_beginning == from_end {
            return path;
        }
        follow(&self.ahead, from_beginning, &mut path);
        path.reverse();
        path.push(from_end);
        follow(&self.behind, from_end, &mut path);
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
    let mut current = from;
    while let Some(next) = marks.get(current).map(OwnerSlot).filter(|next| *next != current) {
        path.push(next);
        current = next;
    }
}
