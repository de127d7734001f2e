//! Why a history is not linearizable: the first answer too many, and the few answers that
//! contradict it.
//!
//! A beginning of a linearizable history is linearizable, so there is one answer that makes it bad.
//! And an answer that nobody knows rules nothing out. So answers are taken together until no order
//! explains them, and then forgotten one by one as long as what is left is still bad; those that
//! stay are the contradiction.

use super::Object;
use super::history::{OperationId, Record, When};
use super::problem::Problem;
use super::search::{Allowance, Outcome, search};
use super::verdict::Explanation;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many operations of the order before the misfit are shown, and how many of the contradiction.
const SHOWN: usize = 12;

/// What a search found out before it ended without an order for all.
pub(super) struct Progress {
    /// How many of the first answers an order explains.
    pub(super) explained: usize,
    /// That order.
    pub(super) order: Vec<usize>,
    /// Whether there is none for all; otherwise the search gave up.
    pub(super) is_bad: bool,
}

/// Explains why a history is bad. One that only defied the search may be explained too, if the
/// answer where it came no further is in contradiction with a few others; if not, nobody knows.
///
/// The steps bound what the explanation may cost. With few it is longer, but right.
pub(super) fn explain<O: Object>(
    records: &[Record<O>],
    chosen: &[usize],
    object: &O,
    progress: Progress,
    steps: u64,
) -> Option<Explanation> {
    let mut explainer = Explainer { records, object, allowance: Allowance::new(steps), most: (steps / 8).max(1) };
    let mut answered: Vec<(When, usize)> =
        chosen.iter().filter_map(|&record| Some((records[record].answered_at()?, record))).collect();
    answered.sort_unstable();

    let Progress { explained, order, is_bad } = progress;
    let suspects = if is_bad { &answered[..] } else { &answered[..=explained] };
    let (first_bad, contradiction) = explainer.first_bad(chosen, suspects, explained);
    if contradiction.is_none() && !is_bad {
        return None;
    }
    let contradiction = contradiction.unwrap_or_else(|| answered[..=first_bad].iter().copied().collect());
    let (instant, misfit) = answered[first_bad];
    let early = until(records, chosen, instant);
    let before = if first_bad == explained { order } else { explainer.order(&early, |when| when < instant) };
    let conflict = explainer.needed(&early, contradiction);
    let text = Story { records, object, misfit, is_first: first_bad == 0, before: &before, conflict: &conflict }.tell();
    let ids = |records: Vec<usize>| records.into_iter().map(OperationId).collect();
    Some(Explanation { misfit: OperationId(misfit), before: ids(before), conflict: ids(conflict), text })
}

/// Answers, by when they were given.
type Answers = BTreeMap<When, usize>;

/// What was asked before an instant.
fn until<O: Object>(records: &[Record<O>], chosen: &[usize], instant: When) -> Vec<usize> {
    chosen.iter().copied().filter(|&record| records[record].invoked < instant).collect()
}

struct Explainer<'h, O: Object> {
    records: &'h [Record<O>],
    object: &'h O,
    allowance: Allowance,
    /// The most steps for one search.
    most: u64,
}

impl<O: Object> Explainer<'_, O> {
    fn search(&mut self, chosen: &[usize], counts: impl Fn(When) -> bool) -> Outcome {
        let problem = Problem::new(self.records, chosen, |record| record.answered_at().is_some_and(&counts));
        let mut lent = self.allowance.lend(self.most);
        let outcome = search(&problem, self.object, &mut lent);
        self.allowance.settle(lent);
        outcome
    }

    fn order(&mut self, chosen: &[usize], counts: impl Fn(When) -> bool) -> Vec<usize> {
        match self.search(chosen, counts) {
            Outcome::Order(order) => order,
            Outcome::Stuck { .. } | Outcome::Exhausted { .. } => Vec::new(),
        }
    }

    /// The first answer with which the history is bad, knowing that it is good before answer
    /// `least`; and answers up to that one which contradict each other, if any were found.
    ///
    /// If the whole is bad, halving what is left keeps an end that is certainly bad, even if a
    /// search gives up.
    fn first_bad(&mut self, chosen: &[usize], answered: &[(When, usize)], least: usize) -> (usize, Option<Answers>) {
        let (mut good_before, mut bad) = (least, answered.len() - 1);
        let mut contradiction = None;
        let mut middle = good_before.min(bad);
        while good_before < bad || contradiction.is_none() {
            match self.contradiction(&until(self.records, chosen, answered[middle].0), &answered[..=middle]) {
                Some(found) => (bad, contradiction) = (middle, Some(found)),
                None if middle == bad => break,
                None => good_before = middle + 1,
            }
            middle = good_before + bad.saturating_sub(good_before) / 2;
        }
        (bad, contradiction)
    }

    /// Answers that contradict each other, not many more than needed; nothing if there are none or
    /// the steps run out.
    ///
    /// Beginning with the last answer alone, an order that explains those taken so far names the
    /// next to take: the ones it gives otherwise or too late, or else the latest that it leaves
    /// out, twice as many each time.
    fn contradiction(&mut self, chosen: &[usize], answers: &[(When, usize)]) -> Option<Answers> {
        let mut taken: Answers = answers.last().copied().into_iter().collect();
        let mut batch = 1;
        loop {
            let order = match self.search(chosen, |when| taken.contains_key(&when)) {
                Outcome::Stuck { .. } => return Some(taken),
                Outcome::Exhausted { .. } => return None,
                Outcome::Order(order) => order,
            };
            let before = taken.len();
            taken.extend(self.broken(&order, answers));
            if taken.len() == before {
                let left_out = answers.iter().rev().filter(|(_, record)| !order.contains(record));
                taken.extend(left_out.take(batch).copied());
                batch *= 2;
            }
            if taken.len() == before {
                return None;
            }
        }
    }

    /// The answers that an order gives otherwise, or whose operations it places after something
    /// asked later.
    fn broken(&self, order: &[usize], answers: &[(When, usize)]) -> Vec<(When, usize)> {
        let among: BTreeMap<usize, When> = answers.iter().map(|(when, record)| (*record, *when)).collect();
        let mut object = self.object.clone();
        let mut latest_question: Option<When> = None;
        let mut broken = Vec::new();
        for &index in order {
            let record = &self.records[index];
            let answer = object.apply(&record.operation);
            if let (Some(&when), Some((_, given))) = (among.get(&index), &record.answered)
                && (answer != *given || latest_question.is_some_and(|asked| when < asked))
            {
                broken.push((when, index));
            }
            latest_question = latest_question.max(Some(record.invoked));
        }
        broken
    }

    /// Forgets one answer after the other that the contradiction can do without. What stays is in
    /// the order in which it was asked.
    fn needed(&mut self, chosen: &[usize], mut answers: Answers) -> Vec<usize> {
        for (when, record) in answers.clone() {
            answers.remove(&when);
            let still_bad = matches!(self.search(chosen, |it| answers.contains_key(&it)), Outcome::Stuck { .. });
            if !still_bad {
                answers.insert(when, record);
            }
            if self.allowance.is_spent() {
                break;
            }
        }
        let mut needed: Vec<usize> = answers.into_values().collect();
        needed.sort_unstable_by_key(|record| self.records[*record].invoked);
        needed
    }
}

/// An explanation about to be put into words.
struct Story<'s, O: Object> {
    records: &'s [Record<O>],
    object: &'s O,
    misfit: usize,
    /// Whether nothing was answered before it.
    is_first: bool,
    before: &'s [usize],
    conflict: &'s [usize],
}

impl<O: Object> Story<'_, O> {
    fn tell(&self) -> String {
        let mut text = format!("Not linearizable: no order explains the answer to {}.\n", self.name(self.misfit));
        text += &match self.conflict.len() {
            1 => "It cannot be given, whenever the other operations happened, if at all:\n".to_owned(),
            several => format!(
                "These {several} answers contradict each other, whenever the other operations happened, if at all:\n"
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
        let heads = ["", "client", "asked", "answered", "operation", "answer"].map(str::to_owned);
        let mut rows = vec![heads];
        // The misfit is the one answered last, though not always the one asked last.
        let hidden = self.conflict.len().saturating_sub(SHOWN);
        let shown = self.conflict[hidden..].iter();
        let misfit = self.conflict[..hidden].iter().filter(|record| **record == self.misfit);
        for &index in misfit.chain(shown) {
            let record = &self.records[index];
            let Some((when, answer)) = &record.answered else { continue };
            rows.push([
                OperationId(index).to_string(),
                record.client.to_string(),
                record.invoked.time.to_string(),
                when.time.to_string(),
                record.operation.to_string(),
                answer.to_string(),
            ]);
        }
        let more = if hidden > 0 { format!("  ({hidden} more were asked earlier)\n") } else { String::new() };
        lay_out(&rows) + &more
    }

    /// An order that explains all but the misfit, and what the misfit would have been answered
    /// there.
    fn alternative(&self) -> String {
        let mut object = self.object.clone();
        let mut due = None;
        for &record in self.before {
            let answer = object.apply(&self.records[record].operation);
            if record == self.misfit {
                due = Some(answer);
            }
        }
        let misfit = &self.records[self.misfit];
        if let Some(answer) = due {
            let id = OperationId(self.misfit);
            return format!(
                "This order explains every earlier answer, but {id} answers {answer} in it:\n{}",
                self.order()
            );
        }
        let state = object.to_string();
        let answer = object.apply(&misfit.operation);
        if self.before.is_empty() && !self.is_first {
            return String::new();
        }
        if self.before.is_empty() {
            return format!("It was the first answer. The object began as {state}, where the answer is {answer}.\n");
        }
        format!(
            "This order explains every earlier answer. It leaves the object as {state}, where the answer is {answer}:\n{}",
            self.order()
        )
    }

    fn order(&self) -> String {
        let hidden = self.before.len().saturating_sub(SHOWN);
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

/// Columns as wide as their widest cell.
fn lay_out<const N: usize>(rows: &[[String; N]]) -> String {
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
