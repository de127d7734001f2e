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

/// Maximum number of operations shown, both of the order before the unexplained answer and of the
/// contradiction.
const MAX_SHOWN: usize = 12;

/// The result of a search that found no order for all answers.
pub(super) struct Progress {
    /// Number of answers, from the first on, that `order` explains.
    pub(super) explained: usize,
    /// The order of operations that explains them.
    pub(super) order: Vec<usize>,
    /// Whether no order explains all answers; otherwise the search ran out of steps.
    pub(super) is_certain: bool,
}

/// Explains why a history is not linearizable.
///
/// If the search ran out of steps, returns an explanation only if the first unexplained answer
/// contradicts a few others; otherwise returns `None`. `steps` limits the cost of the explanation:
/// with few steps it is longer, but still correct.
pub(super) fn explain<O: Object>(
    records: &[Record<O>],
    chosen: &[usize],
    object: &O,
    progress: Progress,
    steps: u64,
) -> Option<Explanation> {
    let mut explainer =
        Explainer { records, object, budget: StepBudget::new(steps), max_search_steps: (steps / 8).max(1) };
    let mut answered: Vec<(OrderedTime, usize)> =
        chosen.iter().filter_map(|&record| Some((records[record].answered_at()?, record))).collect();
    answered.sort_unstable();

    let Progress { explained, order, is_certain } = progress;
    let searched = if is_certain { &answered[..] } else { &answered[..=explained] };
    let (first_unexplained, contradiction) = explainer.first_unexplained(chosen, searched, explained);
    if contradiction.is_none() && !is_certain {
        return None;
    }
    let contradiction = contradiction.unwrap_or_else(|| answered[..=first_unexplained].iter().copied().collect());
    let (instant, unexplained) = answered[first_unexplained];
    let candidates = invoked_before(records, chosen, instant);
    let before = if first_unexplained == explained {
        order
    } else {
        explainer.order(&candidates, |answered_at| answered_at < instant)
    };
    let conflict = explainer.minimize(&candidates, contradiction);
    let text = ExplanationText {
        records,
        object,
        unexplained,
        is_first: first_unexplained == 0,
        before: &before,
        conflict: &conflict,
    }
    .write();
    let ids = |records: Vec<usize>| records.into_iter().map(OperationId).collect();
    Some(Explanation { unexplained: OperationId(unexplained), before: ids(before), conflict: ids(conflict), text })
}

/// Records by the time of their answers.
type Answers = BTreeMap<OrderedTime, usize>;

/// Returns the chosen records invoked before an instant.
fn invoked_before<O: Object>(records: &[Record<O>], chosen: &[usize], instant: OrderedTime) -> Vec<usize> {
    chosen.iter().copied().filter(|&record| records[record].invoked < instant).collect()
}

struct Explainer<'h, O: Object> {
    records: &'h [Record<O>],
    object: &'h O,
    budget: StepBudget,
    /// Maximum number of steps of one search.
    max_search_steps: u64,
}

impl<O: Object> Explainer<'_, O> {
    /// Searches for an order of the chosen records. Answers at other times than those for which
    /// `is_considered` returns true are treated as unknown.
    fn search(&mut self, chosen: &[usize], is_considered: impl Fn(OrderedTime) -> bool) -> Outcome {
        let problem = Problem::new(self.records, chosen, |record| record.answered_at().is_some_and(&is_considered));
        let mut reserved = self.budget.reserve(self.max_search_steps);
        let outcome = search(&problem, self.object, &mut reserved);
        self.budget.give_back(reserved);
        outcome
    }

    /// Returns an order that explains the considered answers, or no operations if the search finds
    /// none.
    fn order(&mut self, chosen: &[usize], is_considered: impl Fn(OrderedTime) -> bool) -> Vec<usize> {
        match self.search(chosen, is_considered) {
            Outcome::Order(order) => order,
            Outcome::Stuck { .. } | Outcome::Exhausted { .. } => Vec::new(),
        }
    }

    /// Returns the index of the first answer that no order explains, and contradictory answers up
    /// to that one, if any were found. Some order is known to explain the first `known_explained`
    /// answers.
    ///
    /// If no order explains the whole history, the bisection keeps an end that is certainly
    /// unexplained, even if a search runs out of steps.
    fn first_unexplained(
        &mut self,
        chosen: &[usize],
        answered: &[(OrderedTime, usize)],
        known_explained: usize,
    ) -> (usize, Option<Answers>) {
        let (mut explained_count, mut unexplained_at) = (known_explained, answered.len() - 1);
        let mut contradiction = None;
        let mut middle = explained_count.min(unexplained_at);
        while explained_count < unexplained_at || contradiction.is_none() {
            match self.contradiction(&invoked_before(self.records, chosen, answered[middle].0), &answered[..=middle]) {
                Some(found) => (unexplained_at, contradiction) = (middle, Some(found)),
                None if middle == unexplained_at => break,
                None => explained_count = middle + 1,
            }
            middle = explained_count + unexplained_at.saturating_sub(explained_count) / 2;
        }
        (unexplained_at, contradiction)
    }

    /// Returns contradictory answers, not many more than necessary. `None` if there are none or the
    /// steps run out.
    ///
    /// Considers only the last answer at first. As long as an order explains the considered
    /// answers, it also considers the answers that this order violates. If there are none, it
    /// considers the latest answers to operations that the order leaves out, twice as many each
    /// time.
    fn contradiction(&mut self, chosen: &[usize], answers: &[(OrderedTime, usize)]) -> Option<Answers> {
        let mut considered: Answers = answers.last().copied().into_iter().collect();
        let mut batch = 1;
        loop {
            let order = match self.search(chosen, |answered_at| considered.contains_key(&answered_at)) {
                Outcome::Stuck { .. } => return Some(considered),
                Outcome::Exhausted { .. } => return None,
                Outcome::Order(order) => order,
            };
            let count_before = considered.len();
            considered.extend(self.violated(&order, answers));
            if considered.len() == count_before {
                let left_out = answers.iter().rev().filter(|(_, record)| !order.contains(record));
                considered.extend(left_out.take(batch).copied());
                batch *= 2;
            }
            if considered.len() == count_before {
                return None;
            }
        }
    }

    /// Returns the answers that an order violates: in that order the operation would give another
    /// answer, or comes after an operation that was invoked after the answer.
    fn violated(&self, order: &[usize], answers: &[(OrderedTime, usize)]) -> Vec<(OrderedTime, usize)> {
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
            latest_invocation = latest_invocation.max(Some(record.invoked));
        }
        violated
    }

    /// Drops every answer without which the others still contradict each other. Returns the rest in
    /// the order of invocation.
    fn minimize(&mut self, chosen: &[usize], mut answers: Answers) -> Vec<usize> {
        for (answered_at, record) in answers.clone() {
            answers.remove(&answered_at);
            let still_contradicts =
                matches!(self.search(chosen, |answered_at| answers.contains_key(&answered_at)), Outcome::Stuck { .. });
            if !still_contradicts {
                answers.insert(answered_at, record);
            }
            if self.budget.is_exhausted() {
                break;
            }
        }
        let mut remaining: Vec<usize> = answers.into_values().collect();
        remaining.sort_unstable_by_key(|record| self.records[*record].invoked);
        remaining
    }
}

/// The parts of an explanation text.
struct ExplanationText<'s, O: Object> {
    records: &'s [Record<O>],
    object: &'s O,
    unexplained: usize,
    /// Whether the unexplained answer is the first one of the history.
    is_first: bool,
    /// An order that explains every earlier answer; empty if none was found.
    before: &'s [usize],
    conflict: &'s [usize],
}

impl<O: Object> ExplanationText<'_, O> {
    fn write(&self) -> String {
        let mut text = format!("Not linearizable: no order explains the answer to {}.\n", self.name(self.unexplained));
        text += &match self.conflict.len() {
            1 => "No order can give this answer, regardless of when or whether the other operations took effect:\n"
                .to_owned(),
            several => format!(
                "These {several} answers contradict each other, regardless of when or whether the other operations took \
                 effect:\n"
            ),
        };
        text += &self.table();
        text += &self.alternative();
        text
    }

    fn name(&self, record: usize) -> String {
        let Record { client, operation, .. } = &self.records[record];
        format!("{} ({client}, {operation})", OperationId(record))
    }

    fn table(&self) -> String {
        let headings = ["", "client", "invoked", "answered", "operation", "answer"].map(str::to_owned);
        let mut rows = vec![headings];
        // The unexplained operation is the one answered last, though not always the one invoked
        // last.
        let hidden = self.conflict.len().saturating_sub(MAX_SHOWN);
        let shown = self.conflict[hidden..].iter();
        let unexplained = self.conflict[..hidden].iter().filter(|record| **record == self.unexplained);
        for &index in unexplained.chain(shown) {
            let record = &self.records[index];
            let Some((answered_at, answer)) = &record.answered else { continue };
            rows.push([
                OperationId(index).to_string(),
                record.client.to_string(),
                record.invoked.time.to_string(),
                answered_at.time.to_string(),
                record.operation.to_string(),
                answer.to_string(),
            ]);
        }
        let more = if hidden > 0 { format!("  ({hidden} more were invoked earlier)\n") } else { String::new() };
        format_table(&rows) + &more
    }

    /// Describes an order that explains all earlier answers, and the answer that the unexplained
    /// operation would give in that order.
    fn alternative(&self) -> String {
        let mut object = self.object.clone();
        let mut expected_answer = None;
        for &record in self.before {
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
                self.order_before()
            );
        }
        let state = object.to_string();
        let answer = object.apply(&unexplained.operation);
        if self.before.is_empty() && !self.is_first {
            return String::new();
        }
        if self.before.is_empty() {
            return format!(
                "It is the first answer of the history. In the initial state {state}, the operation answers {answer}.\n"
            );
        }
        format!(
            "This order explains every earlier answer. In its final state {state}, the operation would answer \
             {answer}:\n{}",
            self.order_before()
        )
    }

    fn order_before(&self) -> String {
        let hidden = self.before.len().saturating_sub(MAX_SHOWN);
        let mut text = String::new();
        if hidden > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  ({hidden} before these)");
        }
        for &record in &self.before[hidden..] {
            let _ = writeln!(text, "  {}", self.name(record));
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
