//! A history prepared for the search: which operations are open at the time of each answer. An
//! operation is open from its invocation to its answer.

use super::Object;
use super::history::{OrderedTime, Record};

/// An operation with an answer.
pub(super) struct Call<'h, O: Object> {
    /// Index of its record.
    pub(super) record: usize,
    pub(super) operation: &'h O::Operation,
    pub(super) answer: &'h O::Answer,
    /// A number that is unique among the operations that are open at the same time.
    pub(super) slot: usize,
    pub(super) is_read_only: bool,
}

/// An operation without an answer: it may have taken effect or not.
pub(super) struct PendingOperation<'h, O: Object> {
    /// Index of its record.
    pub(super) record: usize,
    pub(super) operation: &'h O::Operation,
    /// The previous pending operation that is equal to this one. Of two equal operations, the
    /// search places the older one first, because it may be placed wherever the younger one may.
    pub(super) predecessor: Option<usize>,
}

/// The time of one answer, with the operations that may have taken effect by then.
#[derive(Default)]
pub(super) struct Return {
    /// The open calls that may change the object, in the order of their answers.
    pub(super) updates: Vec<usize>,
    /// The open read-only calls.
    pub(super) reads: Vec<usize>,
    /// Those of the read-only calls that were invoked since the previous answer.
    pub(super) new_reads: Vec<usize>,
    /// Number of pending operations invoked by then. They are the first ones of all pending
    /// operations.
    pub(super) pending: usize,
}

/// The input of the search.
pub(super) struct Problem<'h, O: Object> {
    /// The operations with answers, in the order of their answers.
    pub(super) calls: Vec<Call<'h, O>>,
    /// The time of the answer to each call, in the same order.
    pub(super) returns: Vec<Return>,
    /// The operations without answers, in the order of their invocations.
    pub(super) pending: Vec<PendingOperation<'h, O>>,
    pub(super) slot_count: usize,
}

impl<'h, O: Object> Problem<'h, O> {
    /// Prepares the chosen records. An answer for which `is_known` returns false is treated as
    /// unknown.
    pub(super) fn new(records: &'h [Record<O>], chosen: &[usize], is_known: impl Fn(&Record<O>) -> bool) -> Self {
        let mut answered = Vec::new();
        let mut pending_records = Vec::new();
        for &index in chosen {
            let record = &records[index];
            match &record.answered {
                Some((answered_at, answer)) if is_known(record) => answered.push((*answered_at, index, answer)),
                Some(_) | None => pending_records.push((record.invoked, index)),
            }
        }
        answered.sort_unstable_by_key(|(answered_at, ..)| *answered_at);
        pending_records.sort_unstable();
        let spans: Vec<Span> = answered
            .iter()
            .map(|(answered, index, _)| Span { invoked: records[*index].invoked, answered: *answered })
            .collect();
        let (slot_count, slot_of) = assign_slots(&spans);
        let calls: Vec<_> = answered
            .into_iter()
            .zip(slot_of)
            .map(|((_, record, answer), slot)| {
                let operation = &records[record].operation;
                Call { record, operation, answer, slot, is_read_only: O::is_read_only(operation, answer) }
            })
            .collect();
        let returns = open_at_returns(&calls, &spans, &pending_records);
        Self { calls, returns, pending: pending_operations(records, &pending_records), slot_count }
    }
}

/// The time from the invocation to the answer.
struct Span {
    invoked: OrderedTime,
    answered: OrderedTime,
}

fn pending_operations<'h, O: Object>(
    records: &'h [Record<O>],
    pending_records: &[(OrderedTime, usize)],
) -> Vec<PendingOperation<'h, O>> {
    let mut pending: Vec<PendingOperation<'h, O>> = Vec::with_capacity(pending_records.len());
    for &(_, record) in pending_records {
        let operation = &records[record].operation;
        let predecessor = pending.iter().rposition(|earlier| earlier.operation == operation);
        pending.push(PendingOperation { record, operation, predecessor });
    }
    pending
}

/// Returns the number of slots that the spans need, and the slot of each. The spans are sorted by
/// answer time.
fn assign_slots(spans: &[Span]) -> (usize, Vec<usize>) {
    let mut by_invocation: Vec<usize> = (0..spans.len()).collect();
    by_invocation.sort_unstable_by_key(|call| spans[*call].invoked);
    let mut slot_free_from: Vec<OrderedTime> = Vec::new();
    let mut slot_of = vec![0; spans.len()];
    for call in by_invocation {
        let span = &spans[call];
        let slot =
            slot_free_from.iter().position(|free_from| *free_from < span.invoked).unwrap_or(slot_free_from.len());
        if slot == slot_free_from.len() {
            slot_free_from.push(span.answered);
        } else {
            slot_free_from[slot] = span.answered;
        }
        slot_of[call] = slot;
    }
    (slot_free_from.len(), slot_of)
}

fn open_at_returns<O: Object>(
    calls: &[Call<'_, O>],
    spans: &[Span],
    pending_records: &[(OrderedTime, usize)],
) -> Vec<Return> {
    let mut returns: Vec<Return> = Vec::new();
    for span in spans {
        let pending = pending_records.partition_point(|(invoked, _)| *invoked < span.answered);
        returns.push(Return { pending, ..Return::default() });
    }
    for (index, (call, span)) in calls.iter().zip(spans).enumerate() {
        let first_return = spans.partition_point(|other| other.answered < span.invoked);
        for at_return in &mut returns[first_return..=index] {
            if call.is_read_only { &mut at_return.reads } else { &mut at_return.updates }.push(index);
        }
        if call.is_read_only {
            returns[first_return].new_reads.push(index);
        }
    }
    returns
}
