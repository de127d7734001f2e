//! Is there a way from one owner to another? A search from both ends, an edge here, an edge there, until they meet or the smaller side is
//! exhausted.

use super::arena::{Arena, Cursor, Seat};
use super::marks::Marks;
use super::order::Order;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Everything,
    /// Those in the order, between the places of both ends: no way by such edges leaves them.
    Between,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is a way: these two are neighbours on it, the first seen from the beginning and the other from the end.
    Met(Seat, Seat),
    /// There is none: everything that can be reached from the beginning was seen.
    BeginningExhausted,
    /// There is none: everything from which the end can be reached was seen.
    EndExhausted,
    /// It was not to take longer.
    GaveUp,
}

/// One search, and the memory that the next one uses again.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Seen from the beginning, each with the one before.
    ahead: Marks,
    ahead_seen: Vec<Seat>,
    /// Seen from the end, each with the one after.
    behind: Marks,
    behind_seen: Vec<Seat>,
}

impl Search {
    /// Looks for a way from `begin`, along what it waits for, to `end`, with so many steps on each side at the most.
    pub(super) fn run<O: Ord + Copy>(
        &mut self,
        (arena, order): (&Arena<O>, &Order),
        (begin, end): (Seat, Seat),
        scope: Scope,
        most_steps: usize,
    ) -> Outcome {
        self.start(begin, end);
        if begin == end {
            return Outcome::Met(begin, end);
        }
        let (low, high) = (order.label(end), order.label(begin));
        let may_use = |loose: bool, seat: Seat| match scope {
            Scope::Everything => true,
            Scope::Between => !loose && (low..=high).contains(&order.label(seat)),
        };
        let (mut ahead_at, mut cursor) = (0, Cursor::default());
        let (mut behind_at, mut place) = (0, 0);
        for _ in 0..most_steps {
            let Some(at) = self.ahead_seen.get(ahead_at).copied() else { return Outcome::BeginningExhausted };
            match arena.edge_out(at, &mut cursor) {
                None => (ahead_at, cursor) = (ahead_at + 1, Cursor::default()),
                Some(edge) if may_use(edge.loose, edge.on) => {
                    if self.behind.has(edge.on) {
                        return Outcome::Met(at, edge.on);
                    }
                    if !self.ahead.has(edge.on) {
                        self.ahead.set(edge.on, at.0);
                        self.ahead_seen.push(edge.on);
                    }
                }
                Some(_) => {}
            }
            let Some(at) = self.behind_seen.get(behind_at).copied() else { return Outcome::EndExhausted };
            match arena.edge_in(at, place) {
                None => (behind_at, place) = (behind_at + 1, 0),
                Some((wait, loose)) => {
                    place += 1;
                    let waiter = wait.waiter;
                    if may_use(loose, waiter) {
                        if self.ahead.has(waiter) {
                            return Outcome::Met(waiter, at);
                        }
                        if !self.behind.has(waiter) {
                            self.behind.set(waiter, at.0);
                            self.behind_seen.push(waiter);
                        }
                    }
                }
            }
        }
        Outcome::GaveUp
    }

    /// The way on which both sides met, both ends included.
    pub(super) fn way(&self, (before, after): (Seat, Seat)) -> Vec<Seat> {
        let mut way = alloc::vec![before];
        if before == after {
            return way;
        }
        follow(&self.ahead, before, &mut way);
        way.reverse();
        way.push(after);
        follow(&self.behind, after, &mut way);
        way
    }

    /// What was seen from the beginning, in order.
    pub(super) fn seen_ahead(&mut self, order: &Order) -> &[Seat] {
        self.ahead_seen.sort_unstable_by_key(|seat| order.label(*seat));
        &self.ahead_seen
    }

    /// What was seen from the end, in order.
    pub(super) fn seen_behind(&mut self, order: &Order) -> &[Seat] {
        self.behind_seen.sort_unstable_by_key(|seat| order.label(*seat));
        &self.behind_seen
    }

    fn start(&mut self, begin: Seat, end: Seat) {
        self.ahead.wipe();
        self.ahead_seen.clear();
        self.ahead.set(begin, begin.0);
        self.ahead_seen.push(begin);
        self.behind.wipe();
        self.behind_seen.clear();
        self.behind.set(end, end.0);
        self.behind_seen.push(end);
    }
}

/// From a seat to the end where its side began.
fn follow(marks: &Marks, from: Seat, way: &mut Vec<Seat>) {
    let mut at = from;
    while let Some(next) = marks.get(at).map(Seat).filter(|next| *next != at) {
        way.push(next);
        at = next;
    }
}
