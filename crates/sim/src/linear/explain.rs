//! Explains why a history is not linearizable: the first answer that no order of the operations
//! explains, and a few answers that contradict it.
//!
//! Every prefix of a linearizable history is linearizable, so there is a first answer that no order
//! explains. The search for a contradiction treats most answers as unknown, which rules out no
//! order, and considers more and more answers until no order explains them. Then it drops every
//! answer without which the others still contradict each other.

use super::Object;
use super::history::{OperationId, OrderedTime, Record};
use super::problem::Problem;
use super::search::{Outcome, StepBudget, search};
use super::verdict::Explanation;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of operations that an explanation shows of the order before the unexplained
/// answer, and of the conflict; the unexplained operation is shown in addition.
const MAX_SHOWN_OPERATIONS: usize = 12;

/// An explanation may search at least this many times before it runs out of steps.
const MIN_SEARCHES: u64 = 8;

/// The result of a search that found no order for all answers.
pub(super) struct FailedSearch {
    /// Number of answers, from the first on, that `order` explains.
    pub(super) explained_count: usize,
    /// The order of operations that explains them.
    pub(super) order: Vec<usize>,
    /// Whether it is certain that no order explains all answers; otherwise the search ran out of
    /// steps.
    pub(super) is_certain: bool,
}

/// Explains why the chosen records of a history are not linearizable.
///
/// If the search ran out of steps, returns an explanation only if it finds answers that contradict
/// each other; otherwise returns `None`. `steps` limits the cost of the explanation: with few steps
/// it is longer, but still correct.
pub(super) fn explain<O: Object>(
    records: &[Record<O>],
    chosen: &[usize],
    object: &O,
    failed_search: FailedSearch,
    steps: u64,
) -> Option<Explanation> {
    let mut explainer =
        Explainer { records, object, budget: StepBudget::new(steps), max_search_steps: (steps / MIN_SEARCHES).max(1) };
    let mut answered: Vec<(OrderedTime, usize)> =
        chosen.iter().filter_map(|&record| Some((records[record].answered_at()?, record))).collect();
    answered.sort_unstable();

    let FailedSearch { explained_count, order, is_certain } = failed_search;
    let considered = if is_certain { &answered[..] } else { &answered[..=explained_count] };
    let (first_unexplained, contradiction) = explainer.find_first_unexplained(chosen, considered, explained_count);
    if contradiction.is_none() && !is_certain {
        return None;
    }
    let contradictory = contradiction.unwrap_or_else(|| answered[..=first_unexplained].iter().copied().collect());
    let (instant, unexplained) = answered[first_unexplained];
    let candidates = invoked_before(records, chosen, instant);
    let order_before = if first_unexplained == explained_count {
        order
    } else {
        explainer.find_order(&candidates, |answered_at| answered_at < instant)
    };
    let conflict = explainer.minimize(&candidates, contradictory);
    let text = ExplanationText {
        records,
        object,
        unexplained,
        is_first: first_unexplained == 0,
        order_before: &order_before,
        conflict: &conflict,
    }
    .write();
    let to_ids = |records: Vec<usize>| records.into_iter().map(OperationId).collect();
    Some(Explanation {
        unexplained: OperationId(unexplained),
        order_before: to_ids(order_before),
        conflict: to_ids(conflict),
        text,
    })
}

/// Records by the time of their answers.
type Answers = BTreeMap<OrderedTime, usize>;

/// Returns the chosen records invoked before an instant.
fn invoked_before<O: Object>(records: &[Record<O>], chosen: &[usize], instant: OrderedTime) -> Vec<usize> {
    chosen.iter().copied().filter(|&record| records[record].invoked_at < instant).collect()
}

struct Explainer<'h, O: Object> {
    records: &'h [Record<O>],
    object: &'h O,
    budget: StepBudget,
    /// Maximum number of steps of one search.
    max_search_steps: u64,
}

impl<O: Object> Explainer<'_, O> {
    /// Searches for an order of the chosen records. Treats an answer as unknown unless
    /// `is_considered` returns true for its time.
    fn search(&mut self, chosen: &[usize], is_considered: impl Fn(OrderedTime) -> bool) -> Outcome {
        let problem = Problem::new(self.records, chosen, |record| record.answered_at().is_some_and(&is_considered));
        let mut reserved = self.budget.reserve(self.max_search_steps);
        let outcome = search(&problem, self.object, &mut reserved);
        self.budget.give_back(reserved);
        outcome
    }

    /// Returns an order that explains the considered answers, or no operations if the search finds
    /// none.
    fn find_order(&mut self, chosen: &[usize], is_considered: impl Fn(OrderedTime) -> bool) -> Vec<usize> {
        match self.search(chosen, is_considered) {
            Outcome::Order(order) => order,
            Outcome::NoOrder { .. } | Outcome::Exhausted { .. } => Vec::new(),
        }
    }

    /// Returns the index of the first answer that no order explains, and contradictory answers up
    /// to that one, if any were found. Some order is known to explain the first `known_explained`
    /// answers.
    ///
    /// Bisects the answers, beginning with the first one that may be unexplained. If no order
    /// explains the whole history, then no order explains the answers up to the returned index,
    /// even if a search runs out of steps.
    fn find_first_unexplained(
        &mut self,
        chosen: &[usize],
        answered: &[(OrderedTime, usize)],
        known_explained: usize,
    ) -> (usize, Option<Answers>) {
        let (mut explained_count, mut unexplained_index) = (known_explained, answered.len() - 1);
        let mut contradiction = None;
        let mut middle = explained_count.min(unexplained_index);
        while explained_count < unexplained_index || contradiction.is_none() {
            match self
                .find_contradiction(&invoked_before(self.records, chosen, answered[middle].0), &answered[..=middle])
            {
                Some(found) => (unexplained_index, contradiction) = (middle, Some(found)),
                None if middle == unexplained_index => break,
                None => explained_count = middle + 1,
            }
            middle = explained_count + unexplained_index.saturating_sub(explained_count) / 2;
        }
        (unexplained_index, contradiction)
    }

    /// Returns contradictory answers, not many more than necessary. `None` if there are none or the
    /// steps run out.
    ///
    /// Considers only the last answer at first. As long as an order explains the considered
    /// answers, this method also considers the answers that the order violates. If the order
    /// violates none, the method considers the latest answers to operations that the order leaves
    /// out, twice as many each time.
    fn find_contradiction(&mut self, chosen: &[usize], answers: &[(OrderedTime, usize)]) -> Option<Answers> {
        let mut considered: Answers = answers.last().copied().into_iter().collect();
        let mut batch_size = 1;
        loop {
            let order = match self.search(chosen, |answered_at| considered.contains_key(&answered_at)) {
                Outcome::NoOrder { .. } => return Some(considered),
                Outcome::Exhausted { .. } => return None,
                Outcome::Order(order) => order,
            };
            let count_before = considered.len();
            considered.extend(self.find_violated(&order, answers));
            if considered.len() == count_before {
                let left_out = answers.iter().rev().filter(|(_, record)| !order.contains(record));
                considered.extend(left_out.take(batch_size).copied());
                batch_size *= 2;
            }
            if considered.len() == count_before {
                return None;
            }
        }
    }

    /// Returns the answers that an order violates: in that order the operation would give another
    /// answer, or comes after an operation that was invoked after the answer.
    fn find_violated(&self, order: &[usize], answers: &[(OrderedTime, usize)]) -> Vec<(OrderedTime, usize)> {
        let answer_times: BTreeMap<usize, OrderedTime> =
            answers.iter().map(|(answered_at, record)| (*record, *answered_at)).collect();
        let mut object = self.object.clone();
        let mut latest_invocation: Option<OrderedTime> = None;
        let mut violated = Vec::new();
        for &index in order {
            let record = &self.records[index];
            let answer = object.apply(&record.operation);
            if let (Some(&answered_at), Some((_, recorded_answer))) = (answer_times.get(&index), &record.answered)
                && (answer != *recorded_answer || latest_invocation.is_some_and(|invoked| answered_at < invoked))
            {
                violated.push((answered_at, index));
            }
            latest_invocation = latest_invocation.max(Some(record.invoked_at));
        }
        violated
    }

    /// Drops every answer without which the others still contradict each other. Returns the rest in
    /// the order of invocation.
    fn minimize(&mut self, chosen: &[usize], mut answers: Answers) -> Vec<usize> {
        for (answered_at, record) in answers.clone() {
            answers.remove(&answered_at);
            let still_contradicts =
                matches!(self.search(chosen, |time| answers.contains_key(&time)), Outcome::NoOrder { .. });
            if !still_contradicts {
                answers.insert(answered_at, record);
            }
            if self.budget.is_exhausted() {
                break;
            }
        }
        let mut remaining: Vec<usize> = answers.into_values().collect();
        remaining.sort_unstable_by_key(|record| self.records[*record].invoked_at);
        remaining
    }
}

/// The parts of an explanation text.
struct ExplanationText<'s, O: Object> {
    records: &'s [Record<O>],
    object: &'s O,
    /// The operation whose answer no order explains.
    unexplained: usize,
    /// Whether the unexplained answer is the first one of the history.
    is_first: bool,
    /// An order that explains every earlier answer; empty if none was found.
    order_before: &'s [usize],
    /// The operations whose answers contradict each other.
    conflict: &'s [usize],
}

impl<O: Object> ExplanationText<'_, O> {
    fn write(&self) -> String {
        let unexplained = self.format_operation(self.unexplained);
        let mut text = format!("Not linearizable: no order explains the answer to {unexplained}.\n");
        text += &match self.conflict.len() {
            1 => "No order can give this answer, regardless of when or whether the other operations took effect:\n"
                .to_owned(),
            several => format!(
                "These {several} answers contradict each other, regardless of when or whether the other operations took \
                 effect:\n"
            ),
        };
        text += &self.format_conflict();
        text += &self.describe_order_before();
        text
    }

    fn format_operation(&self, record: usize) -> String {
        let Record { client, operation, .. } = &self.records[record];
        format!("{} ({client}, {operation})", OperationId(record))
    }

    fn format_conflict(&self) -> String {
        let headings = ["", "client", "invoked", "answered", "operation", "answer"].map(str::to_owned);
        let mut rows = vec![headings];
        // The unexplained operation is shown even if it was invoked early. It is the one answered
        // last.
        let hidden_count = self.conflict.len().saturating_sub(MAX_SHOWN_OPERATIONS);
        let shown = self.conflict[hidden_count..].iter();
        let unexplained = self.conflict[..hidden_count].iter().filter(|record| **record == self.unexplained);
        for &index in unexplained.chain(shown) {
            let record = &self.records[index];
            let Some((answered_at, answer)) = &record.answered else { continue };
            rows.push([
                OperationId(index).to_string(),
                record.client.to_string(),
                record.invoked_at.time.to_string(),
                answered_at.time.to_string(),
                record.operation.to_string(),
                answer.to_string(),
            ]);
        }
        let hidden_line =
            if hidden_count > 0 { format!("  ({hidden_count} more were invoked earlier)\n") } else { String::new() };
        format_table(&rows) + &hidden_line
    }

    /// Describes the order that explains all earlier answers, and the answer that the unexplained
    /// operation would give in that order or after it. Empty if no such order was found.
    fn describe_order_before(&self) -> String {
        let mut object = self.object.clone();
        let mut expected_answer = None;
        for &record in self.order_before {
            let answer = object.apply(&self.records[record].operation);
            if record == self.unexplained {
                expected_answer = Some(answer);
            }
        }
        let unexplained = &self.records[self.unexplained];
        if let Some(answer) = expected_answer {
            let id = OperationId(self.unexplained);
            return format!(
                "This order explains every earlier answer, but in it {id} would answer {answer}:\n{}",
                self.format_order_before()
            );
        }
        let state = object.to_string();
        let answer = object.apply(&unexplained.operation);
        if self.order_before.is_empty() && !self.is_first {
            return String::new();
        }
        if self.order_before.is_empty() {
            return format!(
                "It is the first answer of the history. In the initial state {state}, the operation answers {answer}.\n"
            );
        }
        format!(
            "This order explains every earlier answer. In its final state {state}, the operation would answer \
             {answer}:\n{}",
            self.format_order_before()
        )
    }

    fn format_order_before(&self) -> String {
        let hidden_count = self.order_before.len().saturating_sub(MAX_SHOWN_OPERATIONS);
        let mut text = String::new();
        if hidden_count > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  ({hidden_count} before these)");
        }
        for &record in &self.order_before[hidden_count..] {
            let _ = writeln!(text, "  {}", self.format_operation(record));
        }
        text
    }
}

/// Formats rows in columns that are as wide as their widest cell.
fn format_table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, " {cell:<width$} ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
