//! What clients asked and what they were answered.

use super::Object;
use super::explain::{Progress, explain};
use super::problem::Problem;
use super::search::{Allowance, Outcome, search};
use super::verdict::Verdict;
use quorate_core::Time;
use std::collections::BTreeMap;
use std::fmt;

/// How many steps a search may take unless somebody says otherwise: some seconds.
pub const STEPS: u64 = 100_000_000;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client(pub u32);

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("c{}", self.0))
    }
}

/// An operation of one history, by the order in which they were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub(super) usize);

impl OperationId {
    /// How many operations were told before it.
    pub fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("#{}", self.0))
    }
}

/// An answer that a history cannot take. The history is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    #[error(
        "operation {0} is not in this history, so its answer was left out; \
         answer with an id that `invoke` of the same history has returned"
    )]
    Unknown(OperationId),
    #[error("operation {0} has an answer already and keeps it; an operation is answered once")]
    Twice(OperationId),
    #[error(
        "the answer to operation {id} at {answered} is older than its question at {invoked}, so it was left out; \
         read both off the same clock"
    )]
    BeforeItsQuestion { id: OperationId, invoked: Time, answered: Time },
}

/// An instant: what is told of the same time happened in the order in which it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct When {
    pub(super) time: Time,
    told: u64,
}

pub(super) struct Record<O: Object> {
    pub(super) client: Client,
    pub(super) invoked: When,
    pub(super) operation: O::Operation,
    pub(super) answered: Option<(When, O::Answer)>,
}

impl<O: Object> Record<O> {
    pub(super) fn answered_at(&self) -> Option<When> {
        self.answered.as_ref().map(|(when, _)| *when)
    }
}

/// What clients asked of one object and what they were answered.
///
/// All times are read off one clock. They may be told in any order, but what happened at the same
/// time is told as it happened: an operation that was answered before another was asked comes
/// before it. A client may ask again before it is answered.
pub struct History<O: Object> {
    records: Vec<Record<O>>,
    told: u64,
}

impl<O: Object> Default for History<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Object> History<O> {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self { records: Vec::new(), told: 0 }
    }

    /// A client asks. Until an answer is told, the operation may have happened at any time from now
    /// on, or never.
    pub fn invoke(&mut self, client: Client, time: Time, operation: O::Operation) -> OperationId {
        let invoked = self.now(time);
        self.records.push(Record { client, invoked, operation, answered: None });
        OperationId(self.records.len() - 1)
    }

    /// The client is answered.
    pub fn answer(&mut self, id: OperationId, time: Time, answer: O::Answer) -> Result<(), Unanswerable> {
        let when = self.now(time);
        let record = self.records.get_mut(id.0).ok_or(Unanswerable::Unknown(id))?;
        if record.answered.is_some() {
            return Err(Unanswerable::Twice(id));
        }
        if when < record.invoked {
            return Err(Unanswerable::BeforeItsQuestion { id, invoked: record.invoked.time, answered: time });
        }
        record.answered = Some((when, answer));
        Ok(())
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has no operation.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What was asked.
    pub fn operation(&self, id: OperationId) -> Option<&O::Operation> {
        self.records.get(id.0).map(|record| &record.operation)
    }

    /// Whether an object that begins like this one can have given these answers.
    pub fn judge(&self, object: &O) -> Verdict {
        self.judge_within(object, STEPS)
    }

    /// The same with another bound on the steps. A step carries one operation out, on trial. To
    /// find a reason may take as many again.
    pub fn judge_within(&self, object: &O, steps: u64) -> Verdict {
        self.judge_some(&(0..self.records.len()).collect::<Vec<_>>(), object, steps)
    }

    /// Judges the operations of each key alone, each against an object that begins like this one.
    ///
    /// It is the verdict of [`judge`](Self::judge) if operations on different keys have nothing to
    /// do with each other: none changes what another answers. Each key has all the steps.
    pub fn judge_by_key<K: Ord>(&self, object: &O, steps: u64, key: impl Fn(&O::Operation) -> K) -> Verdict {
        let mut parts: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (index, record) in self.records.iter().enumerate() {
            parts.entry(key(&record.operation)).or_default().push(index);
        }
        let mut orders = Vec::new();
        let mut undecided = None;
        for part in parts.values() {
            match self.judge_some(part, object, steps) {
                Verdict::Linearizable { order } => orders.push(order),
                verdict @ Verdict::NotLinearizable(_) => return verdict,
                verdict @ Verdict::Undecided { .. } => undecided = undecided.or(Some(verdict)),
            }
        }
        undecided.unwrap_or_else(|| Verdict::Linearizable { order: self.merge(orders) })
    }

    fn judge_some(&self, chosen: &[usize], object: &O, steps: u64) -> Verdict {
        let problem = Problem::new(&self.records, chosen, |record| record.answered_at().is_some());
        let (explained, order, is_bad) = match search(&problem, object, &mut Allowance::new(steps)) {
            Outcome::Order(order) => {
                return Verdict::Linearizable { order: order.into_iter().map(OperationId).collect() };
            }
            Outcome::Stuck { explained, order } => (explained, order, true),
            Outcome::Exhausted { explained, order } => (explained, order, false),
        };
        match explain(&self.records, chosen, object, Progress { explained, order, is_bad }, steps) {
            Some(explanation) => Verdict::NotLinearizable(explanation),
            None => Verdict::Undecided { steps, explained, answers: problem.returns.len() },
        }
    }

    /// Orders of independent parts, made into one.
    ///
    /// What is answered first of all that is left cannot come after anything that is asked later.
    /// So the first of its part may go next: its part's order has nothing before it that was asked
    /// after that answer.
    fn merge(&self, orders: Vec<Vec<OperationId>>) -> Vec<OperationId> {
        let mut due: Vec<(When, usize, OperationId)> = orders
            .iter()
            .enumerate()
            .flat_map(|(part, order)| order.iter().map(move |id| (part, *id)))
            .filter_map(|(part, id)| Some((self.records[id.0].answered_at()?, part, id)))
            .collect();
        due.sort_unstable();
        let mut rest: Vec<_> = orders.into_iter().map(Vec::into_iter).collect();
        let mut placed = vec![false; self.records.len()];
        let mut merged = Vec::new();
        for (_, part, id) in due {
            while !placed[id.0] {
                let Some(next) = rest[part].next() else { break };
                placed[next.0] = true;
                merged.push(next);
            }
        }
        merged
    }

    fn now(&mut self, time: Time) -> When {
        self.told += 1;
        When { time, told: self.told }
    }
}
