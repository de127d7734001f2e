//! Histories: the operations that clients invoked, and the answers that they received.

use super::Object;
use super::explain::{FailedSearch, explain};
use super::problem::Problem;
use super::search::{Outcome, StepBudget, search};
use super::verdict::Verdict;
use quorate_core::Time;
use std::collections::BTreeMap;
use std::fmt;

/// Default limit on the steps of a search. This many steps take a few seconds.
pub const DEFAULT_STEPS: u64 = 100_000_000;

/// A client that invokes operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(pub u32);

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("c{}", self.0))
    }
}

/// Identifies an operation of one history, in the order in which the operations were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub(super) usize);

impl OperationId {
    /// Returns the index of the operation in the order of recording.
    pub fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("#{}", self.0))
    }
}

/// The reason why a history rejects an answer. The history is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error(
        "operation {0} is not in this history, so its answer was ignored; \
         pass an id that `invoke` of the same history returned"
    )]
    UnknownOperation(OperationId),
    #[error("operation {0} already has an answer, so the second one was ignored")]
    AlreadyAnswered(OperationId),
    #[error(
        "the answer to operation {id} at {answered} precedes its invocation at {invoked}, so it was ignored; \
         take both times from the same clock"
    )]
    BeforeInvocation { id: OperationId, invoked: Time, answered: Time },
}

/// A point in time. Events at the same time are ordered by `sequence`, which counts the recorded
/// events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OrderedTime {
    pub(super) time: Time,
    sequence: u64,
}

pub(super) struct Record<O: Object> {
    pub(super) client: Client,
    pub(super) invoked_at: OrderedTime,
    pub(super) operation: O::Operation,
    pub(super) answered: Option<(OrderedTime, O::Answer)>,
}

impl<O: Object> Record<O> {
    pub(super) fn answered_at(&self) -> Option<OrderedTime> {
        self.answered.as_ref().map(|(answered_at, _)| *answered_at)
    }
}

/// The operations that clients invoked on one object, and the answers that they received.
///
/// All times come from one clock. Events may be recorded in any order, except that events at the
/// same time must be recorded in the order in which they happened. A client may invoke several
/// operations concurrently.
pub struct History<O: Object> {
    records: Vec<Record<O>>,
    /// Number of invocations and answers so far, including rejected answers.
    recorded_events: u64,
}

impl<O: Object> Default for History<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Object> History<O> {
    /// Creates an empty history.
    pub fn new() -> Self {
        Self { records: Vec::new(), recorded_events: 0 }
    }

    /// Records an invocation. Until an answer is recorded, the operation may take effect at any
    /// later time, or never.
    pub fn invoke(&mut self, client: Client, time: Time, operation: O::Operation) -> OperationId {
        let invoked_at = self.order_event(time);
        self.records.push(Record { client, invoked_at, operation, answered: None });
        OperationId(self.records.len() - 1)
    }

    /// Records the answer to an operation. Fails, without effect, if the operation is unknown, is
    /// already answered, or was invoked after `time`.
    pub fn answer(&mut self, id: OperationId, time: Time, answer: O::Answer) -> Result<(), AnswerError> {
        let answered_at = self.order_event(time);
        let record = self.records.get_mut(id.0).ok_or(AnswerError::UnknownOperation(id))?;
        if record.answered.is_some() {
            return Err(AnswerError::AlreadyAnswered(id));
        }
        if answered_at < record.invoked_at {
            return Err(AnswerError::BeforeInvocation { id, invoked: record.invoked_at.time, answered: time });
        }
        record.answered = Some((answered_at, answer));
        Ok(())
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns an operation by its id.
    pub fn operation(&self, id: OperationId) -> Option<&O::Operation> {
        self.records.get(id.0).map(|record| &record.operation)
    }

    /// Decides whether the history is linearizable for an object with this initial state, within
    /// [`DEFAULT_STEPS`] steps.
    pub fn judge(&self, object: &O) -> Verdict {
        self.judge_within(object, DEFAULT_STEPS)
    }

    /// Decides like [`judge`](Self::judge) within `steps` steps. A step tries to apply one
    /// operation. An explanation may take as many steps again.
    pub fn judge_within(&self, object: &O, steps: u64) -> Verdict {
        self.judge_chosen(&(0..self.records.len()).collect::<Vec<_>>(), object, steps)
    }

    /// Decides for the operations of each key separately, each key with this initial state.
    ///
    /// If both decide, the verdict agrees with [`judge`](Self::judge), provided that operations on
    /// different keys are independent: none changes the answer of another. Each key has its own
    /// limit of `steps`.
    pub fn judge_by_key<K: Ord>(&self, object: &O, steps: u64, key: impl Fn(&O::Operation) -> K) -> Verdict {
        let mut parts: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (index, record) in self.records.iter().enumerate() {
            parts.entry(key(&record.operation)).or_default().push(index);
        }
        let mut orders = Vec::new();
        let mut undecided = None;
        for part in parts.values() {
            match self.judge_chosen(part, object, steps) {
                Verdict::Linearizable { order } => orders.push(order),
                verdict @ Verdict::NotLinearizable(_) => return verdict,
                verdict @ Verdict::Undecided { .. } => undecided = undecided.or(Some(verdict)),
            }
        }
        undecided.unwrap_or_else(|| Verdict::Linearizable { order: self.merge(orders) })
    }

    /// Decides for the records with these indices.
    fn judge_chosen(&self, chosen: &[usize], object: &O, steps: u64) -> Verdict {
        let problem = Problem::new(&self.records, chosen, |record| record.answered_at().is_some());
        let (explained_count, order, is_certain) = match search(&problem, object, &mut StepBudget::new(steps)) {
            Outcome::Order(order) => {
                return Verdict::Linearizable { order: order.into_iter().map(OperationId).collect() };
            }
            Outcome::NoOrder { explained_count, order } => (explained_count, order, true),
            Outcome::Exhausted { explained_count, order } => (explained_count, order, false),
        };
        match explain(&self.records, chosen, object, FailedSearch { explained_count, order, is_certain }, steps) {
            Some(explanation) => Verdict::NotLinearizable(explanation),
            None => Verdict::Undecided { steps, explained_count, answer_count: problem.answer_points.len() },
        }
    }

    /// Merges the orders of independent parts into one.
    ///
    /// Takes the remaining operation with the earliest answer, again and again. In the order of its
    /// part, no operation before it was invoked after that answer. So the operations before it, and
    /// then the operation itself, may come next.
    fn merge(&self, orders: Vec<Vec<OperationId>>) -> Vec<OperationId> {
        let mut by_answer: Vec<(OrderedTime, usize, OperationId)> = orders
            .iter()
            .enumerate()
            .flat_map(|(part, order)| order.iter().map(move |id| (part, *id)))
            .filter_map(|(part, id)| Some((self.records[id.0].answered_at()?, part, id)))
            .collect();
        by_answer.sort_unstable();
        let mut remaining: Vec<_> = orders.into_iter().map(Vec::into_iter).collect();
        let mut is_merged = vec![false; self.records.len()];
        let mut merged = Vec::new();
        for (_, part, id) in by_answer {
            while !is_merged[id.0] {
                let Some(next) = remaining[part].next() else { break };
                is_merged[next.0] = true;
                merged.push(next);
            }
        }
        merged
    }

    /// Returns the time of the event that is recorded now.
    fn order_event(&mut self, time: Time) -> OrderedTime {
        self.recorded_events += 1;
        OrderedTime { time, sequence: self.recorded_events }
    }
}
