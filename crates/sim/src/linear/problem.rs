//! A history prepared for the search: which operations are open at the time of each answer.
//!
//! An operation is *open* from its invocation to its answer. An operation that never has an answer
//! is *pending*. An *update* is an answered operation that may change the object.

use super::Object;
use super::history::{OrderedTime, Record};

/// An operation with an answer.
pub(super) struct AnsweredOperation<'h, O: Object> {
    pub(super) record_index: usize,
    pub(super) operation: &'h O::Operation,
    pub(super) answer: &'h O::Answer,
    /// A number that is unique among the operations that are open at the same time.
    pub(super) slot: usize,
    pub(super) is_read_only: bool,
}

/// An operation without an answer: it may have taken effect or not.
pub(super) struct PendingOperation<'h, O: Object> {
    pub(super) record_index: usize,
    pub(super) operation: &'h O::Operation,
    /// The index of the previous pending operation that is equal to this one. Of two equal
    /// operations, the search puts the older one into its order first, because that one may take
    /// effect whenever the younger one may.
    pub(super) predecessor: Option<usize>,
}

/// One answer: the operations that may take effect before it, by their indices in the [`Problem`].
#[derive(Default)]
pub(super) struct AnswerPoint {
    /// The open updates, in the order of their answers.
    pub(super) updates: Vec<usize>,
    /// The open read-only operations.
    pub(super) reads: Vec<usize>,
    /// Those of the open read-only operations that were invoked since the previous answer.
    pub(super) new_reads: Vec<usize>,
    /// Number of pending operations invoked before this answer. They are the first ones of all
    /// pending operations.
    pub(super) pending_count: usize,
}

/// The input of the search.
pub(super) struct Problem<'h, O: Object> {
    /// The operations with answers, in the order of their answers.
    pub(super) answered: Vec<AnsweredOperation<'h, O>>,
    /// The answers of these operations, in the same order.
    pub(super) answer_points: Vec<AnswerPoint>,
    /// The operations without answers, in the order of their invocations.
    pub(super) pending: Vec<PendingOperation<'h, O>>,
    /// The maximum number of operations with answers that are open at the same time.
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
                Some(_) | None => pending_records.push((record.invoked_at, index)),
            }
        }
        answered.sort_unstable_by_key(|(answered_at, ..)| *answered_at);
        pending_records.sort_unstable();
        let intervals: Vec<OpenInterval> = answered
            .iter()
            .map(|(answered_at, index, _)| OpenInterval { from: records[*index].invoked_at, to: *answered_at })
            .collect();
        let (slot_count, slot_of) = assign_slots(&intervals);
        let answered: Vec<_> = answered
            .into_iter()
            .zip(slot_of)
            .map(|((_, record_index, answer), slot)| {
                let operation = &records[record_index].operation;
                let is_read_only = O::is_read_only(operation, answer);
                AnsweredOperation { record_index, operation, answer, slot, is_read_only }
            })
            .collect();
        let answer_points = find_answer_points(&answered, &intervals, &pending_records);
        let pending = collect_pending(records, &pending_records);
        Self { answered, answer_points, pending, slot_count }
    }
}

/// The time in which an operation is open: from its invocation to its answer.
struct OpenInterval {
    from: OrderedTime,
    to: OrderedTime,
}

fn collect_pending<'h, O: Object>(
    records: &'h [Record<O>],
    pending_records: &[(OrderedTime, usize)],
) -> Vec<PendingOperation<'h, O>> {
    let mut pending: Vec<PendingOperation<'h, O>> = Vec::with_capacity(pending_records.len());
    for &(_, record_index) in pending_records {
        let operation = &records[record_index].operation;
        let predecessor = pending.iter().rposition(|earlier| earlier.operation == operation);
        pending.push(PendingOperation { record_index, operation, predecessor });
    }
    pending
}

/// Assigns each interval a slot that no overlapping interval has. Returns the number of slots, and
/// the slot of each interval.
fn assign_slots(intervals: &[OpenInterval]) -> (usize, Vec<usize>) {
    let mut by_invocation: Vec<usize> = (0..intervals.len()).collect();
    by_invocation.sort_unstable_by_key(|index| intervals[*index].from);
    let mut slot_free_from: Vec<OrderedTime> = Vec::new();
    let mut slot_of = vec![0; intervals.len()];
    for index in by_invocation {
        let interval = &intervals[index];
        let slot =
            slot_free_from.iter().position(|free_from| *free_from < interval.from).unwrap_or(slot_free_from.len());
        if slot == slot_free_from.len() {
            slot_free_from.push(interval.to);
        } else {
            slot_free_from[slot] = interval.to;
        }
        slot_of[index] = slot;
    }
    (slot_free_from.len(), slot_of)
}

fn find_answer_points<O: Object>(
    answered: &[AnsweredOperation<'_, O>],
    intervals: &[OpenInterval],
    pending_records: &[(OrderedTime, usize)],
) -> Vec<AnswerPoint> {
    let mut answer_points: Vec<AnswerPoint> = Vec::new();
    for interval in intervals {
        let pending_count = pending_records.partition_point(|(invoked_at, _)| *invoked_at < interval.to);
        answer_points.push(AnswerPoint { pending_count, ..AnswerPoint::default() });
    }
    for (index, (operation, interval)) in answered.iter().zip(intervals).enumerate() {
        let first_while_open = intervals.partition_point(|other| other.to < interval.from);
        for point in &mut answer_points[first_while_open..=index] {
            if operation.is_read_only { &mut point.reads } else { &mut point.updates }.push(index);
        }
        if operation.is_read_only {
            answer_points[first_while_open].new_reads.push(index);
        }
    }
    answer_points
}
