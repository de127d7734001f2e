//! The search for a linearization, by the algorithm of Wing and Gong with Lowe's optimizations.
//!
//! The search processes the answers in order of time. Before it can pass an answer, it must place
//! the operation that was answered, and it places operations only when that is necessary for the
//! next answer. A *position* of the search consists of the number of answers passed, the open
//! operations placed before their answers, the pending operations used, and the state of the
//! object. An *open* operation is invoked but not yet answered; a *pending* one never has an
//! answer.
//!
//! Three rules shorten the search:
//!
//! - A read-only operation is placed as soon as its answer matches the state.
//! - A position is dropped if the search has already visited one with the same state and updates,
//!   at least the same reads and at most the same pending operations: every continuation of the
//!   dropped position is also one of the visited.
//! - A pending operation is placed only if it changes the effect of the operation that follows it.
//!   If it allows the next answer to pass, it is tried at once. Positions with other pending
//!   operations come later, those with the fewest first. So the search visits the best positions
//!   first, and pending operations without visible effect cost one step each instead of doubling
//!   the work.
//!
//! Positions are kept in explicit lists instead of the call stack, so a long history cannot
//! overflow the stack.

use super::Object;
use super::bit_set::BitSet;
use super::problem::{Problem, Return};
use super::transitions::{IntHasher, StateIndex, TransitionTable};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The result of a search.
pub(super) enum Outcome {
    /// The records in an order that explains every answer.
    Order(Vec<usize>),
    /// No order explains every answer.
    Stuck {
        /// How many of the first answers some order explains.
        explained: usize,
        /// An order that explains them.
        order: Vec<usize>,
    },
    /// The search ran out of steps without a result.
    Exhausted {
        /// How many of the first answers some visited order explains.
        explained: usize,
        /// An order that explains them.
        order: Vec<usize>,
    },
}

/// The remaining steps of a search. A step tries to apply one operation.
pub(super) struct StepBudget {
    remaining: u64,
}

impl StepBudget {
    pub(super) fn new(steps: u64) -> Self {
        Self { remaining: steps }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.remaining == 0
    }

    fn spend(&mut self) {
        self.remaining = self.remaining.saturating_sub(1);
    }

    /// Moves at most `maximum` steps into a separate budget for one search.
    /// [`give_back`](Self::give_back) returns the unused ones.
    pub(super) fn reserve(&mut self, maximum: u64) -> Self {
        let reserved = maximum.min(self.remaining);
        self.remaining -= reserved;
        Self::new(reserved)
    }

    pub(super) fn give_back(&mut self, reserved: Self) {
        self.remaining += reserved.remaining;
    }
}

/// Searches for an order of the operations that explains every answer.
pub(super) fn search<O: Object>(problem: &Problem<'_, O>, object: &O, budget: &mut StepBudget) -> Outcome {
    let mut transitions = TransitionTable::new(problem);
    let object = transitions.intern(object.clone());
    let mut search = Search {
        problem,
        transitions,
        budget,
        visited: HashMap::default(),
        trail: Trail::default(),
        max_explained: 0,
        furthest: None,
    };
    search.run(Position {
        explained: 0,
        changed: BitSet::with_bound(problem.slot_count),
        read: BitSet::with_bound(problem.slot_count),
        used: BitSet::with_bound(problem.pending.len()),
        object,
        before_pending: None,
        last: None,
    })
}

/// A position of the search.
#[derive(Clone)]
struct Position {
    /// Number of answers passed.
    explained: usize,
    /// The open updates that were placed, by slot.
    changed: BitSet,
    /// The open read-only operations that were placed, by slot.
    read: BitSet,
    /// The pending operations that were placed.
    used: BitSet,
    object: StateIndex,
    /// The state before the pending operation that was placed last. `None` if another operation was
    /// placed since.
    before_pending: Option<StateIndex>,
    /// The operation placed last.
    last: Option<TrailIndex>,
}

/// The part of a position that two comparable positions share.
#[derive(PartialEq, Eq, Hash)]
struct PositionKey {
    explained: usize,
    changed: BitSet,
    object: StateIndex,
}

/// The part of a position by which comparable positions are ranked: more reads and fewer pending
/// operations are better.
struct Cost {
    read: BitSet,
    used: BitSet,
}

impl Cost {
    fn is_no_worse_than(&self, other: &Self) -> bool {
        self.used.is_subset(&other.used) && other.read.is_subset(&self.read)
    }
}

/// An index into the trail.
#[derive(Clone, Copy)]
struct TrailIndex(usize);

/// All operations that were ever placed, each with the index of its predecessor.
#[derive(Default)]
struct Trail(Vec<(usize, Option<TrailIndex>)>);

impl Trail {
    fn place(&mut self, record: usize, before: Option<TrailIndex>) -> Option<TrailIndex> {
        self.0.push((record, before));
        Some(TrailIndex(self.0.len() - 1))
    }

    fn order(&self, mut last: Option<TrailIndex>) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(TrailIndex(index)) = last {
            let (record, before) = self.0[index];
            order.push(record);
            last = before;
        }
        order.reverse();
        order
    }
}

struct Search<'s, 'h, O: Object> {
    problem: &'s Problem<'h, O>,
    transitions: TransitionTable<'s, 'h, O>,
    budget: &'s mut StepBudget,
    /// For each key, the best positions visited.
    visited: HashMap<PositionKey, Vec<Cost>, BuildHasherDefault<IntHasher>>,
    trail: Trail,
    /// The maximum number of answers passed in any position.
    max_explained: usize,
    /// The operation placed last in the first position that passed this number of answers.
    furthest: Option<TrailIndex>,
}

impl<O: Object> Search<'_, '_, O> {
    fn run(&mut self, start: Position) -> Outcome {
        let mut waiting = vec![start];
        // Positions whose pending operations are still to be tried: in this round, and in the next
        // round with one more.
        let mut this_round: Vec<Position> = Vec::new();
        let mut next_round: Vec<Position> = Vec::new();
        loop {
            while let Some(mut position) = waiting.pop() {
                self.advance(&mut position);
                let Some(next) = self.problem.returns.get(position.explained) else {
                    return Outcome::Order(self.trail.order(position.last));
                };
                if self.budget.is_exhausted() {
                    let order = self.trail.order(self.furthest);
                    return Outcome::Exhausted { explained: self.max_explained, order };
                }
                if self.is_new(&position) {
                    self.expand(&position, next, &mut waiting);
                    if next.pending > 0 {
                        next_round.push(position);
                    }
                }
            }
            if this_round.is_empty() {
                // The position that passed the most answers is popped first.
                next_round.sort_by_key(|position| position.explained);
                std::mem::swap(&mut this_round, &mut next_round);
            }
            let Some(position) = this_round.pop() else {
                return Outcome::Stuck { explained: self.max_explained, order: self.trail.order(self.furthest) };
            };
            for (index, object) in self.useful_pending(&position, self.problem.returns[position.explained].pending) {
                waiting.push(self.after_pending(&position, index, object));
            }
        }
    }

    /// Places the read-only operations whose answers match, and passes the answers whose operations
    /// are placed.
    fn advance(&mut self, position: &mut Position) {
        let problem = self.problem;
        if let Some(next) = problem.returns.get(position.explained) {
            self.place_reads(position, &next.reads);
        }
        while let Some(call) = problem.calls.get(position.explained) {
            let placed = if call.is_read_only { &mut position.read } else { &mut position.changed };
            if !placed.contains(call.slot) {
                break;
            }
            placed.remove(call.slot);
            position.explained += 1;
            if let Some(next) = problem.returns.get(position.explained) {
                self.place_reads(position, &next.new_reads);
            }
        }
        if position.explained > self.max_explained {
            (self.max_explained, self.furthest) = (position.explained, position.last);
        }
    }

    /// Places the read-only operations whose answers match the state.
    fn place_reads(&mut self, position: &mut Position, reads: &[usize]) {
        for &index in reads {
            let call = &self.problem.calls[index];
            // Guards against an operation that is wrongly declared read-only: it must not change
            // the state.
            if !position.read.contains(call.slot) && self.try_call(position.object, index) == Some(position.object) {
                position.read.insert(call.slot);
                position.before_pending = None;
                position.last = self.trail.place(call.record, position.last);
            }
        }
    }

    /// Returns whether no visited position is at least as good as this one. If so, adds it to the
    /// visited positions.
    fn is_new(&mut self, position: &Position) -> bool {
        let cost = Cost { read: position.read.clone(), used: position.used.clone() };
        let key =
            PositionKey { explained: position.explained, changed: position.changed.clone(), object: position.object };
        let visited = self.visited.entry(key).or_default();
        if visited.iter().any(|other| other.is_no_worse_than(&cost)) {
            return false;
        }
        visited.retain(|other| !cost.is_no_worse_than(other));
        visited.push(cost);
        true
    }

    /// Adds the positions that follow by an answered operation, or by a pending operation that
    /// allows the next answer to pass. The position to try first comes last.
    fn expand(&mut self, position: &Position, next: &Return, waiting: &mut Vec<Position>) {
        let first_added = waiting.len();
        for &index in &next.updates {
            let call = &self.problem.calls[index];
            if position.changed.contains(call.slot) {
                continue;
            }
            let Some(object) = self.try_call(position.object, index) else { continue };
            let is_new = position.before_pending.is_none_or(|before| self.try_call(before, index) != Some(object));
            if is_new {
                let last = self.trail.place(call.record, position.last);
                let mut following = Position { object, before_pending: None, last, ..position.clone() };
                following.changed.insert(call.slot);
                waiting.push(following);
            }
        }
        if next.pending > 0 && self.try_call(position.object, position.explained).is_none() {
            for (index, object) in self.useful_pending(position, next.pending) {
                if self.try_call(object, position.explained).is_some() {
                    waiting.push(self.after_pending(position, index, object));
                }
            }
        }
        waiting[first_added..].reverse();
    }

    /// Returns those of the first `invoked` pending operations that make a difference, with the
    /// resulting states.
    fn useful_pending(&mut self, position: &Position, invoked: usize) -> Vec<(usize, StateIndex)> {
        let mut useful = Vec::new();
        for (index, pending) in self.problem.pending[..invoked].iter().enumerate() {
            let skips_equal = pending.predecessor.is_some_and(|predecessor| !position.used.contains(predecessor));
            if position.used.contains(index) || skips_equal {
                continue;
            }
            let object = self.try_pending(position.object, index);
            let is_new = position.before_pending.is_none_or(|before| self.try_pending(before, index) != object);
            if object != position.object && is_new {
                useful.push((index, object));
            }
        }
        useful
    }

    fn after_pending(&mut self, position: &Position, index: usize, object: StateIndex) -> Position {
        let last = self.trail.place(self.problem.pending[index].record, position.last);
        let mut following = Position { object, before_pending: Some(position.object), last, ..position.clone() };
        following.used.insert(index);
        following
    }

    fn try_call(&mut self, object: StateIndex, call: usize) -> Option<StateIndex> {
        self.budget.spend();
        self.transitions.apply_call(object, call)
    }

    fn try_pending(&mut self, object: StateIndex, index: usize) -> StateIndex {
        self.budget.spend();
        self.transitions.apply_pending(object, index)
    }
}
