//! The search for an order: Wing and Gong's, with Lowe's memory and laziness.
//!
//! It walks along the answers. Before an answer may pass, its operation must have been placed, and
//! only to that end are operations placed at all: whatever could as well come later does. A
//! *position* is how many answers have passed, which open operations were placed ahead of their
//! answers, which doubts were used up, and the object.
//!
//! What keeps it short:
//!
//! - An operation that only looks is placed as soon as its answer fits.
//! - A position is dropped if one was met with the same object and changes, no fewer looks and no
//!   more doubts used: whatever the one leads to, so does the other.
//! - A doubt is placed only where it makes a difference to what comes right after it. One that lets
//!   the next answer pass is tried at once; positions that need others come later, those with the
//!   fewest first, so that the best are met first and doubts that nobody saw cost a look each
//!   instead of doubling the work.
//!
//! Positions wait in lists of our own, so a long history cannot overflow the stack.

use super::Object;
use super::bits::Bits;
use super::outcomes::{Mixer, Outcomes, State};
use super::problem::{Problem, Return};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

pub(super) enum Outcome {
    /// Records in an order that explains every answer.
    Order(Vec<usize>),
    /// There is none.
    Stuck {
        /// How many of the first answers some order explains.
        explained: usize,
        /// That order.
        order: Vec<usize>,
    },
    /// Nobody knows: the steps ran out.
    Exhausted {
        /// How many of the first answers some order explains, as far as was seen.
        explained: usize,
        /// That order.
        order: Vec<usize>,
    },
}

/// The steps that are left. A step carries one operation out, on trial.
pub(super) struct Allowance {
    left: u64,
}

impl Allowance {
    pub(super) fn new(steps: u64) -> Self {
        Self { left: steps }
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }

    fn spend(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// A part of it that is lent to one search; what was not used comes back by
    /// [`settle`](Self::settle).
    pub(super) fn lend(&mut self, most: u64) -> Self {
        let lent = most.min(self.left);
        self.left -= lent;
        Self::new(lent)
    }

    pub(super) fn settle(&mut self, lent: Self) {
        self.left += lent.left;
    }
}

/// An order of the operations that explains every answer, if there is one.
pub(super) fn search<O: Object>(problem: &Problem<'_, O>, object: &O, allowance: &mut Allowance) -> Outcome {
    let mut outcomes = Outcomes::new(problem);
    let object = outcomes.number(object.clone());
    let mut search = Search {
        problem,
        outcomes,
        allowance,
        met: HashMap::default(),
        trail: Trail::default(),
        explained: 0,
        furthest: None,
    };
    search.run(Position {
        explained: 0,
        changed: Bits::below(problem.slots),
        looked: Bits::below(problem.slots),
        used: Bits::below(problem.doubts.len()),
        object,
        undoubted: None,
        last: None,
    })
}

#[derive(Clone)]
struct Position {
    /// How many answers have passed.
    explained: usize,
    /// The open changing calls that were placed, by slot.
    changed: Bits,
    /// The open looking calls that were placed, by slot.
    looked: Bits,
    /// The doubts that were placed.
    used: Bits,
    object: State,
    /// The object before the doubt that was placed last, if nothing was placed since.
    undoubted: Option<State>,
    /// The operation placed last.
    last: Option<Placed>,
}

/// What two positions must share to be compared.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    explained: usize,
    changed: Bits,
    object: State,
}

/// What makes one of two comparable positions better: more looks, fewer doubts used.
struct Burden {
    looked: Bits,
    used: Bits,
}

impl Burden {
    fn is_no_worse_than(&self, other: &Self) -> bool {
        self.used.within(&other.used) && other.looked.within(&self.looked)
    }
}

/// A place in the trail.
#[derive(Clone, Copy)]
struct Placed(usize);

/// Every operation that was ever placed, each with the one before it.
#[derive(Default)]
struct Trail(Vec<(usize, Option<Placed>)>);

impl Trail {
    fn place(&mut self, record: usize, before: Option<Placed>) -> Option<Placed> {
        self.0.push((record, before));
        Some(Placed(self.0.len() - 1))
    }

    fn order(&self, mut last: Option<Placed>) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(Placed(index)) = last {
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
    outcomes: Outcomes<'s, 'h, O>,
    allowance: &'s mut Allowance,
    met: HashMap<Place, Vec<Burden>, BuildHasherDefault<Mixer>>,
    trail: Trail,
    /// The most answers that have passed in any position.
    explained: usize,
    /// What was placed last in the first such position.
    furthest: Option<Placed>,
}

impl<O: Object> Search<'_, '_, O> {
    fn run(&mut self, start: Position) -> Outcome {
        let mut waiting = vec![start];
        // Positions whose doubts are still to be tried: in this round, and in the next with one
        // doubt more.
        let mut doubting: Vec<Position> = Vec::new();
        let mut next_round: Vec<Position> = Vec::new();
        loop {
            while let Some(mut position) = waiting.pop() {
                self.settle(&mut position);
                let Some(next) = self.problem.returns.get(position.explained) else {
                    return Outcome::Order(self.trail.order(position.last));
                };
                if self.allowance.is_spent() {
                    let order = self.trail.order(self.furthest);
                    return Outcome::Exhausted { explained: self.explained, order };
                }
                if self.is_new(&position) {
                    self.go_on(&position, next, &mut waiting);
                    if next.doubts > 0 {
                        next_round.push(position);
                    }
                }
            }
            if doubting.is_empty() {
                // The furthest is taken first, and it is the last.
                next_round.sort_by_key(|position| position.explained);
                std::mem::swap(&mut doubting, &mut next_round);
            }
            let Some(position) = doubting.pop() else {
                return Outcome::Stuck { explained: self.explained, order: self.trail.order(self.furthest) };
            };
            for (doubt, object) in self.doubts(&position, self.problem.returns[position.explained].doubts) {
                waiting.push(self.after_doubt(&position, doubt, object));
            }
        }
    }

    /// Places the looks whose answers fit and lets answers pass whose operations are placed.
    fn settle(&mut self, position: &mut Position) {
        let problem = self.problem;
        if let Some(next) = problem.returns.get(position.explained) {
            self.look(position, &next.lookers);
        }
        while let Some(call) = problem.calls.get(position.explained) {
            let placed = if call.looks_only { &mut position.looked } else { &mut position.changed };
            if !placed.has(call.slot) {
                break;
            }
            placed.take(call.slot);
            position.explained += 1;
            if let Some(next) = problem.returns.get(position.explained) {
                self.look(position, &next.fresh_lookers);
            }
        }
        if position.explained > self.explained {
            (self.explained, self.furthest) = (position.explained, position.last);
        }
    }

    fn look(&mut self, position: &mut Position, lookers: &[usize]) {
        for &index in lookers {
            let call = &self.problem.calls[index];
            // An object that changes all the same was spoken of wrongly; no order may lean on that.
            if !position.looked.has(call.slot) && self.try_call(position.object, index) == Some(position.object) {
                position.looked.put(call.slot);
                position.undoubted = None;
                position.last = self.trail.place(call.record, position.last);
            }
        }
    }

    /// Whether no position was met that is as good; if so, this one is remembered.
    fn is_new(&mut self, position: &Position) -> bool {
        let burden = Burden { looked: position.looked.clone(), used: position.used.clone() };
        let place = Place { explained: position.explained, changed: position.changed.clone(), object: position.object };
        let met = self.met.entry(place).or_default();
        if met.iter().any(|other| other.is_no_worse_than(&burden)) {
            return false;
        }
        met.retain(|other| !burden.is_no_worse_than(other));
        met.push(burden);
        true
    }

    /// Adds the positions that follow by an answered operation, or by a doubt that lets the next
    /// answer pass. The one to try first comes last.
    fn go_on(&mut self, position: &Position, next: &Return, waiting: &mut Vec<Position>) {
        let from = waiting.len();
        for &index in &next.changers {
            let call = &self.problem.calls[index];
            if position.changed.has(call.slot) {
                continue;
            }
            let Some(object) = self.try_call(position.object, index) else { continue };
            let is_new = position.undoubted.is_none_or(|before| self.try_call(before, index) != Some(object));
            if is_new {
                let last = self.trail.place(call.record, position.last);
                let mut following = Position { object, undoubted: None, last, ..position.clone() };
                following.changed.put(call.slot);
                waiting.push(following);
            }
        }
        if next.doubts > 0 && self.try_call(position.object, position.explained).is_none() {
            for (doubt, object) in self.doubts(position, next.doubts) {
                if self.try_call(object, position.explained).is_some() {
                    waiting.push(self.after_doubt(position, doubt, object));
                }
            }
        }
        waiting[from..].reverse();
    }

    /// Those of the first doubts that make a difference, and what they make of the object.
    fn doubts(&mut self, position: &Position, open: usize) -> Vec<(usize, State)> {
        let mut changing = Vec::new();
        for (index, doubt) in self.problem.doubts[..open].iter().enumerate() {
            let elder_waits = doubt.elder.is_some_and(|elder| !position.used.has(elder));
            if position.used.has(index) || elder_waits {
                continue;
            }
            let object = self.try_doubt(position.object, index);
            let is_new = position.undoubted.is_none_or(|before| self.try_doubt(before, index) != object);
            if object != position.object && is_new {
                changing.push((index, object));
            }
        }
        changing
    }

    fn after_doubt(&mut self, position: &Position, doubt: usize, object: State) -> Position {
        let last = self.trail.place(self.problem.doubts[doubt].record, position.last);
        let mut following = Position { object, undoubted: Some(position.object), last, ..position.clone() };
        following.used.put(doubt);
        following
    }

    fn try_call(&mut self, object: State, call: usize) -> Option<State> {
        self.allowance.spend();
        self.outcomes.call(object, call)
    }

    fn try_doubt(&mut self, object: State, doubt: usize) -> State {
        self.allowance.spend();
        self.outcomes.doubt(object, doubt)
    }
}
