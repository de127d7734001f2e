//! A search for a path from one owner, `begin`, to another, `end`. It alternates between a side
//! that starts at `begin` and one that starts at `end`, one edge at a time, until both meet or the
//! smaller side is exhausted.

use super::arena::{Arena, Cursor, OwnerSlot};
use super::marks::Marks;
use super::order::Order;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All edges.
    Everything,
    /// Only ordered edges (those that are not loose) between the labels of `begin` and `end`. They
    /// lead to smaller labels, so no path along them from `begin` to `end` leaves this range.
    Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is a path: these two are neighbours on it, the first one visited from `begin` and the
    /// second one from `end`. Both are the same if `begin` is `end`.
    Met(OwnerSlot, OwnerSlot),
    /// There is no path in the scope: everything reachable from `begin` was visited.
    BeginExhausted,
    /// There is no path in the scope: everything from which `end` is reachable was visited.
    EndExhausted,
    /// The search reached its step limit.
    StepLimit,
}

/// A search, with memory that the next one reuses.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// For each slot visited from `begin`, the slot before it on the path from there; for `begin`,
    /// itself.
    predecessors: Marks,
    visited_from_begin: Vec<OwnerSlot>,
    /// For each slot visited from `end`, the slot after it on the path to there; for `end`, itself.
    successors: Marks,
    visited_from_end: Vec<OwnerSlot>,
}

impl Search {
    /// Searches for a path from `begin` to `end` along edges from waiters to awaited owners, with
    /// at most `max_steps` steps on each side.
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
        let (mut begin_side_index, mut edge_cursor) = (0, Cursor::default());
        let (mut end_side_index, mut edge_position) = (0, 0);
        for _ in 0..max_steps {
            let Some(current) = self.visited_from_begin.get(begin_side_index).copied() else {
                return Outcome::BeginExhausted;
            };
            match arena.next_outgoing_edge(current, &mut edge_cursor) {
                None => (begin_side_index, edge_cursor) = (begin_side_index + 1, Cursor::default()),
                Some(edge) if may_use(edge.is_loose, edge.awaited) => {
                    if self.successors.has(edge.awaited) {
                        return Outcome::Met(current, edge.awaited);
                    }
                    if !self.predecessors.has(edge.awaited) {
                        self.predecessors.set(edge.awaited, current.0);
                        self.visited_from_begin.push(edge.awaited);
                    }
                }
                Some(_) => {}
            }
            let Some(current) = self.visited_from_end.get(end_side_index).copied() else {
                return Outcome::EndExhausted;
            };
            match arena.incoming_edge(current, edge_position) {
                None => (end_side_index, edge_position) = (end_side_index + 1, 0),
                Some((wait, is_loose)) => {
                    edge_position += 1;
                    let waiter = wait.waiter;
                    if may_use(is_loose, waiter) {
                        if self.predecessors.has(waiter) {
                            return Outcome::Met(waiter, current);
                        }
                        if !self.successors.has(waiter) {
                            self.successors.set(waiter, current.0);
                            self.visited_from_end.push(waiter);
                        }
                    }
                }
            }
        }
        Outcome::StepLimit
    }

    /// Returns the path through the two neighbours of [`Outcome::Met`], from `begin` to `end`.
    pub(super) fn path(&self, (from_begin, from_end): (OwnerSlot, OwnerSlot)) -> Vec<OwnerSlot> {
        let mut path = alloc::vec![from_begin];
        if from_begin == from_end {
            return path;
        }
        append_path(&self.predecessors, from_begin, &mut path);
        path.reverse();
        path.push(from_end);
        append_path(&self.successors, from_end, &mut path);
        path
    }

    /// Returns the slots visited from `begin`, sorted by `order`.
    pub(super) fn sorted_visited_from_begin(&mut self, order: &Order) -> &[OwnerSlot] {
        self.visited_from_begin.sort_unstable_by_key(|slot| order.label(*slot));
        &self.visited_from_begin
    }

    /// Returns the slots visited from `end`, sorted by `order`.
    pub(super) fn sorted_visited_from_end(&mut self, order: &Order) -> &[OwnerSlot] {
        self.visited_from_end.sort_unstable_by_key(|slot| order.label(*slot));
        &self.visited_from_end
    }

    fn start(&mut self, begin: OwnerSlot, end: OwnerSlot) {
        self.predecessors.clear();
        self.visited_from_begin.clear();
        self.predecessors.set(begin, begin.0);
        self.visited_from_begin.push(begin);
        self.successors.clear();
        self.visited_from_end.clear();
        self.successors.set(end, end.0);
        self.visited_from_end.push(end);
    }
}

/// Appends the slots after `from`, up to the one where this side of the search began.
fn append_path(marks: &Marks, from: OwnerSlot, path: &mut Vec<OwnerSlot>) {
    let mut current = from;
    while let Some(next) = marks.get(current).map(OwnerSlot).filter(|next| *next != current) {
        path.push(next);
        current = next;
    }
}
