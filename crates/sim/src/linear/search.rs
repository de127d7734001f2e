//! The search for a linearization, by the algorithm of Wing and Gong with Lowe's optimizations.
//!
//! To *place* an operation is to append it to the order under construction. The search processes
//! the answers in order of time. Before it can pass an answer, it must place the operation that was
//! answered; once it can pass an answer, it does so before it places more operations. An *open*
//! operation is invoked but not yet answered; a *pending* one never has an answer. A *position* of
//! the search consists of the number of answers passed, the open operations placed, the pending
//! operations placed, and the state of the object.
//!
//! Three rules shorten the search:
//!
//! - A read-only operation is placed as soon as its answer matches the state.
//! - A position is dropped if the search has already visited one with the same answers passed,
//!   state and placed updates (open operations that are not read-only), at least the same reads
//!   and at most the same pending operations: the visited one has every continuation of the dropped
//!   one.
//! - A pending operation is placed only if it changes the effect of the operation that follows it.
//!   If it allows the search to pass the next answer, the search tries it at once. Positions with
//!   other pending operations come later, those with the fewest first. So the search visits the
//!   best positions first, and a pending operation without visible effect costs a few steps instead
//!   of doubling the work.
//!
//! Positions are kept in explicit lists instead of the call stack, so a long history cannot
//! overflow the stack.

use super::Object;
use super::bit_set::BitSet;
use super::problem::{AnswerPoint, Problem};
use super::transitions::{IntHasher, StateIndex, TransitionTable};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The result of a search.
pub(super) enum Outcome {
    /// The indices of the records in an order that explains every answer.
    Order(Vec<usize>),
    /// No order explains every answer.
    NoOrder {
        /// The length of the longest prefix of the answers that some order explains.
        explained_count: usize,
        /// An order that explains this prefix.
        order: Vec<usize>,
    },
    /// The search ran out of steps without a result.
    Exhausted {
        /// The length of the longest prefix of the answers that some visited order explains.
        explained_count: usize,
        /// An order that explains this prefix.
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

    /// Moves at most `maximum` steps into a separate budget for one search. The caller passes what
    /// is left of it to [`give_back`](Self::give_back).
    pub(super) fn reserve(&mut self, maximum: u64) -> Self {
        let reserved = maximum.min(self.remaining);
        self.remaining -= reserved;
        Self::new(reserved)
    }

    /// Takes back the unused steps of a reserved budget.
    pub(super) fn give_back(&mut self, reserved: Self) {
        self.remaining += reserved.remaining;
    }
}

/// Searches for an order of the operations that explains every answer.
pub(super) fn search<O: Object>(problem: &Problem<'_, O>, object: &O, budget: &mut StepBudget) -> Outcome {
    let mut transitions = TransitionTable::new(problem);
    let state = transitions.intern(object.clone());
    let mut search = Search {
        problem,
        transitions,
        budget,
        visited: HashMap::default(),
        trail: Trail::default(),
        max_explained_count: 0,
        last_of_furthest: None,
    };
    search.run(Position {
        explained_count: 0,
        placed_updates: BitSet::with_bound(problem.slot_count),
        placed_reads: BitSet::with_bound(problem.slot_count),
        placed_pending: BitSet::with_bound(problem.pending.len()),
        state,
        state_before_pending: None,
        last_placed: None,
    })
}

/// A position of the search.
#[derive(Clone)]
struct Position {
    /// Number of answers passed.
    explained_count: usize,
    /// The open updates that were placed, by slot: a number that no other open operation has.
    placed_updates: BitSet,
    /// The open read-only operations that were placed, by slot.
    placed_reads: BitSet,
    /// The pending operations that were placed.
    placed_pending: BitSet,
    state: StateIndex,
    /// The state before the operation placed last, if that is a pending operation.
    state_before_pending: Option<StateIndex>,
    /// The operation placed last.
    last_placed: Option<TrailIndex>,
}

/// The part of a position that two comparable positions have in common.
#[derive(PartialEq, Eq, Hash)]
struct PositionKey {
    explained_count: usize,
    placed_updates: BitSet,
    state: StateIndex,
}

/// The part of a position by which comparable positions differ: more placed reads and fewer placed
/// pending operations are better.
struct Cost {
    placed_reads: BitSet,
    placed_pending: BitSet,
}

impl Cost {
    fn is_no_worse_than(&self, other: &Self) -> bool {
        self.placed_pending.is_subset(&other.placed_pending) && other.placed_reads.is_subset(&self.placed_reads)
    }
}

#[derive(Clone, Copy)]
struct TrailIndex(usize);

/// The records of all operations that were ever placed, each with the index of the operation placed
/// before it.
#[derive(Default)]
struct Trail(Vec<(usize, Option<TrailIndex>)>);

impl Trail {
    fn place(&mut self, record: usize, previous: Option<TrailIndex>) -> Option<TrailIndex> {
        self.0.push((record, previous));
        Some(TrailIndex(self.0.len() - 1))
    }

    /// Returns the order of operations that ends with `last`.
    fn order_to(&self, mut last: Option<TrailIndex>) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(TrailIndex(index)) = last {
            let (record, previous) = self.0[index];
            order.push(record);
            last = previous;
        }
        order.reverse();
        order
    }
}

struct Search<'s, 'h, O: Object> {
    problem: &'s Problem<'h, O>,
    transitions: TransitionTable<'s, 'h, O>,
    budget: &'s mut StepBudget,
    /// For each key, the costs of the best visited positions: none is at least as good as another.
    visited: HashMap<PositionKey, Vec<Cost>, BuildHasherDefault<IntHasher>>,
    trail: Trail,
    /// The maximum number of answers passed in any position.
    max_explained_count: usize,
    /// The operation placed last in the first position that passed `max_explained_count` answers.
    last_of_furthest: Option<TrailIndex>,
}

impl<O: Object> Search<'_, '_, O> {
    fn run(&mut self, start: Position) -> Outcome {
        let mut waiting = vec![start];
        // Visited positions from which a pending operation is still to be placed. A round places
        // one more pending operation in each of them.
        let mut this_round: Vec<Position> = Vec::new();
        let mut next_round: Vec<Position> = Vec::new();
        loop {
            while let Some(mut position) = waiting.pop() {
                self.advance(&mut position);
                let Some(next) = self.problem.answer_points.get(position.explained_count) else {
                    return Outcome::Order(self.trail.order_to(position.last_placed));
                };
                if self.budget.is_exhausted() {
                    let order = self.trail.order_to(self.last_of_furthest);
                    return Outcome::Exhausted { explained_count: self.max_explained_count, order };
                }
                if self.is_new(&position) {
                    self.expand(&position, next, &mut waiting);
                    if next.pending_count > 0 {
                        next_round.push(position);
                    }
                }
            }
            if this_round.is_empty() {
                // The position that passed the most answers is popped first.
                next_round.sort_by_key(|position| position.explained_count);
                std::mem::swap(&mut this_round, &mut next_round);
            }
            let Some(position) = this_round.pop() else {
                return Outcome::NoOrder {
                    explained_count: self.max_explained_count,
                    order: self.trail.order_to(self.last_of_furthest),
                };
            };
            for (index, state) in
                self.find_useful_pending(&position, self.problem.answer_points[position.explained_count].pending_count)
            {
                waiting.push(self.place_pending(&position, index, state));
            }
        }
    }

    /// Places the read-only operations whose answers match, and passes the answers whose operations
    /// are placed.
    fn advance(&mut self, position: &mut Position) {
        let problem = self.problem;
        if let Some(next) = problem.answer_points.get(position.explained_count) {
            self.place_reads(position, &next.reads);
        }
        while let Some(answered) = problem.answered.get(position.explained_count) {
            let placed = if answered.is_read_only { &mut position.placed_reads } else { &mut position.placed_updates };
            if !placed.contains(answered.slot) {
                break;
            }
            placed.remove(answered.slot);
            position.explained_count += 1;
            // The older reads were already tried in this state.
            if let Some(next) = problem.answer_points.get(position.explained_count) {
                self.place_reads(position, &next.new_reads);
            }
        }
        if position.explained_count > self.max_explained_count {
            (self.max_explained_count, self.last_of_furthest) = (position.explained_count, position.last_placed);
        }
    }

    /// Places the read-only operations whose answers match the state.
    fn place_reads(&mut self, position: &mut Position, reads: &[usize]) {
        for &index in reads {
            let answered = &self.problem.answered[index];
            // Guards against an operation that is wrongly declared read-only: it must not change
            // the state.
            if !position.placed_reads.contains(answered.slot)
                && self.try_answered(position.state, index) == Some(position.state)
            {
                position.placed_reads.insert(answered.slot);
                position.state_before_pending = None;
                position.last_placed = self.trail.place(answered.record_index, position.last_placed);
            }
        }
    }

    /// Returns whether no visited position is at least as good as this one. If so, adds it to the
    /// visited positions.
    fn is_new(&mut self, position: &Position) -> bool {
        let cost =
            Cost { placed_reads: position.placed_reads.clone(), placed_pending: position.placed_pending.clone() };
        let key = PositionKey {
            explained_count: position.explained_count,
            placed_updates: position.placed_updates.clone(),
            state: position.state,
        };
        let visited = self.visited.entry(key).or_default();
        if visited.iter().any(|other| other.is_no_worse_than(&cost)) {
            return false;
        }
        visited.retain(|other| !cost.is_no_worse_than(other));
        visited.push(cost);
        true
    }

    /// Adds to `waiting` the positions that follow if an open update is placed, or a pending
    /// operation that allows the search to pass the answer `next`. The position to try first comes
    /// last.
    fn expand(&mut self, position: &Position, next: &AnswerPoint, waiting: &mut Vec<Position>) {
        let first_added = waiting.len();
        for &index in &next.updates {
            let answered = &self.problem.answered[index];
            if position.placed_updates.contains(answered.slot) {
                continue;
            }
            let Some(state) = self.try_answered(position.state, index) else { continue };
            let last_pending_has_effect =
                position.state_before_pending.is_none_or(|before| self.try_answered(before, index) != Some(state));
            if last_pending_has_effect {
                let last_placed = self.trail.place(answered.record_index, position.last_placed);
                let mut following = Position { state, state_before_pending: None, last_placed, ..position.clone() };
                following.placed_updates.insert(answered.slot);
                waiting.push(following);
            }
        }
        // The operation whose answer is `next`.
        let next_operation = position.explained_count;
        if next.pending_count > 0 && self.try_answered(position.state, next_operation).is_none() {
            for (index, state) in self.find_useful_pending(position, next.pending_count) {
                if self.try_answered(state, next_operation).is_some() {
                    waiting.push(self.place_pending(position, index, state));
                }
            }
        }
        waiting[first_added..].reverse();
    }

    /// Returns those of the first `invoked_count` pending operations, which were invoked before the
    /// next answer, that make a difference in this position, with the resulting states.
    fn find_useful_pending(&mut self, position: &Position, invoked_count: usize) -> Vec<(usize, StateIndex)> {
        let mut useful = Vec::new();
        for (index, pending) in self.problem.pending[..invoked_count].iter().enumerate() {
            // Of equal operations, the one invoked first is placed first.
            let has_unplaced_predecessor =
                pending.predecessor.is_some_and(|predecessor| !position.placed_pending.contains(predecessor));
            if position.placed_pending.contains(index) || has_unplaced_predecessor {
                continue;
            }
            let state = self.try_pending(position.state, index);
            let last_pending_has_effect =
                position.state_before_pending.is_none_or(|before| self.try_pending(before, index) != state);
            if state != position.state && last_pending_has_effect {
                useful.push((index, state));
            }
        }
        useful
    }

    fn place_pending(&mut self, position: &Position, index: usize, state: StateIndex) -> Position {
        let last_placed = self.trail.place(self.problem.pending[index].record_index, position.last_placed);
        let mut following =
            Position { state, state_before_pending: Some(position.state), last_placed, ..position.clone() };
        following.placed_pending.insert(index);
        following
    }

    /// Returns the state after the operation, or `None` if it would have another answer there.
    fn try_answered(&mut self, state: StateIndex, index: usize) -> Option<StateIndex> {
        self.budget.spend();
        self.transitions.apply_answered(state, index)
    }

    fn try_pending(&mut self, state: StateIndex, index: usize) -> StateIndex {
        self.budget.spend();
        self.transitions.apply_pending(state, index)
    }
}
