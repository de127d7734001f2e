//! A history made ready for the search: who is open when, by small numbers.

use super::Object;
use super::history::{Record, When};

/// An operation that was answered.
pub(super) struct Call<'h, O: Object> {
    /// Its place among the records.
    pub(super) record: usize,
    pub(super) operation: &'h O::Operation,
    pub(super) answer: &'h O::Answer,
    /// A number that no other operation has while this one is open.
    pub(super) slot: usize,
    pub(super) looks_only: bool,
}

/// An operation whose answer nobody knows: it may have happened.
pub(super) struct Doubt<'h, O: Object> {
    /// Its place among the records.
    pub(super) record: usize,
    pub(super) operation: &'h O::Operation,
    /// The doubt asked last before it that asks for the same. Of two alike, the older goes first:
    /// it can stand wherever the younger can.
    pub(super) elder: Option<usize>,
}

/// The instant of an answer, and what may have happened by then.
#[derive(Default)]
pub(super) struct Return {
    /// The changing calls that are open then, in the order of their answers.
    pub(super) changers: Vec<usize>,
    /// The looking calls that are open then.
    pub(super) lookers: Vec<usize>,
    /// Those of them that were asked since the answer before.
    pub(super) fresh_lookers: Vec<usize>,
    /// How many doubts were asked by then: that many of the first.
    pub(super) doubts: usize,
}

/// All that the search needs to know of a history.
pub(super) struct Problem<'h, O: Object> {
    /// The answered operations, in the order of their answers.
    pub(super) calls: Vec<Call<'h, O>>,
    pub(super) returns: Vec<Return>,
    /// The others, in the order in which they were asked.
    pub(super) doubts: Vec<Doubt<'h, O>>,
    pub(super) slots: usize,
}

impl<'h, O: Object> Problem<'h, O> {
    /// The chosen records; an answer that does not count is taken for unknown.
    pub(super) fn new(records: &'h [Record<O>], chosen: &[usize], counts: impl Fn(&Record<O>) -> bool) -> Self {
        let mut answered = Vec::new();
        let mut doubtful = Vec::new();
        for &index in chosen {
            let record = &records[index];
            match &record.answered {
                Some((when, answer)) if counts(record) => answered.push((*when, index, answer)),
                Some(_) | None => doubtful.push((record.invoked, index)),
            }
        }
        answered.sort_unstable_by_key(|(when, ..)| *when);
        doubtful.sort_unstable();
        let spans: Vec<Span> = answered
            .iter()
            .map(|(answered, index, _)| Span { invoked: records[*index].invoked, answered: *answered })
            .collect();
        let (slots, slot_of) = slots(&spans);
        let calls: Vec<_> = answered
            .into_iter()
            .zip(slot_of)
            .map(|((_, record, answer), slot)| {
                let operation = &records[record].operation;
                Call { record, operation, answer, slot, looks_only: O::looks_only(operation, answer) }
            })
            .collect();
        let returns = returns(&calls, &spans, &doubtful);
        Self { calls, returns, doubts: doubts(records, &doubtful), slots }
    }
}

/// From the question to the answer.
struct Span {
    invoked: When,
    answered: When,
}

fn doubts<'h, O: Object>(records: &'h [Record<O>], doubtful: &[(When, usize)]) -> Vec<Doubt<'h, O>> {
    let mut doubts: Vec<Doubt<'h, O>> = Vec::with_capacity(doubtful.len());
    for &(_, record) in doubtful {
        let operation = &records[record].operation;
        let elder = doubts.iter().rposition(|doubt| doubt.operation == operation);
        doubts.push(Doubt { record, operation, elder });
    }
    doubts
}

/// How many slots the spans need, and the slot of each. The spans come in the order of their
/// answers.
fn slots(spans: &[Span]) -> (usize, Vec<usize>) {
    let mut asked: Vec<usize> = (0..spans.len()).collect();
    asked.sort_unstable_by_key(|call| spans[*call].invoked);
    let mut free_from: Vec<When> = Vec::new();
    let mut slot_of = vec![0; spans.len()];
    for call in asked {
        let span = &spans[call];
        let slot = free_from.iter().position(|from| *from < span.invoked).unwrap_or(free_from.len());
        if slot == free_from.len() {
            free_from.push(span.answered);
        } else {
            free_from[slot] = span.answered;
        }
        slot_of[call] = slot;
    }
    (free_from.len(), slot_of)
}

fn returns<O: Object>(calls: &[Call<'_, O>], spans: &[Span], doubtful: &[(When, usize)]) -> Vec<Return> {
    let mut returns: Vec<Return> = Vec::new();
    for span in spans {
        let doubts = doubtful.partition_point(|(invoked, _)| *invoked < span.answered);
        returns.push(Return { doubts, ..Return::default() });
    }
    for (index, (call, span)) in calls.iter().zip(spans).enumerate() {
        let first = spans.partition_point(|other| other.answered < span.invoked);
        for open in &mut returns[first..=index] {
            if call.looks_only { &mut open.lookers } else { &mut open.changers }.push(index);
        }
        if call.looks_only {
            returns[first].fresh_lookers.push(index);
        }
    }
    returns
}
