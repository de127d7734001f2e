//! Long histories with several clients and many pending operations must be decided within few
//! steps. The tests count steps, not seconds. The last test judges short histories with a changed
//! answer.

use super::{TestOperation, assert_explains, record_history};
use crate::linear::register::{Answer, Operation, Register};
use crate::linear::{Explanation, Object, Verdict};
use quorate_journal::rng::{SeededRng, Stream};

/// The behavior of the clients in an execution.
#[derive(Clone, Copy)]
struct Shape {
    clients: u32,
    operations: usize,
    /// On average, one answer in this many is lost.
    loss_interval: u64,
    /// Average number of reads in ten operations; the rest are writes and conditional sets.
    reads_in_ten: u64,
    /// Number of different values that clients write or expect.
    values: u64,
}

/// Generates an execution: each client invokes one operation after the other on a sequential
/// object.
fn generate_execution(seed: u64, shape: Shape) -> Vec<TestOperation> {
    let mut rng = SeededRng::new(seed, Stream::Workload);
    // For each client: when it can invoke its next operation, in milliseconds.
    let mut free_at = vec![0_u64; shape.clients as usize];
    // For each operation: when it takes effect, its index, and when it is answered.
    let mut effects = Vec::new();
    let mut operations: Vec<TestOperation> = Vec::new();
    for _ in 0..shape.operations {
        let client = rng.below(u64::from(shape.clients)) as usize;
        let invoked_at = free_at[client] + 1 + rng.below(5);
        let duration = 1 + rng.below(20);
        free_at[client] = invoked_at + duration;
        let operation = random_operation(&mut rng, shape);
        effects.push((invoked_at + rng.below(duration + 1), operations.len(), invoked_at + duration));
        operations.push(TestOperation {
            client: client as u32,
            invoked_at: invoked_at as i64,
            operation,
            answer: None,
        });
    }
    effects.sort_unstable();
    let mut register = Register::default();
    for (_, index, answered_at) in effects {
        let is_lost = rng.below(shape.loss_interval) == 0;
        // On average, half of the operations without an answer never take effect.
        if is_lost && rng.below(2) == 0 {
            continue;
        }
        let answer = register.apply(&operations[index].operation);
        if !is_lost {
            operations[index].answer = Some((answered_at as i64, answer));
        }
    }
    operations
}

fn random_operation(rng: &mut SeededRng, shape: Shape) -> Operation {
    let new = rng.below(shape.values);
    match rng.below(10) {
        choice if choice < shape.reads_in_ten => Operation::Read,
        9 => Operation::CompareAndSet { expect: Some(rng.below(shape.values)), new },
        _ => Operation::Write(new),
    }
}

/// Changes the answer of the last answered read to `value`. Returns whether there is such a read.
fn spoil_last_read(operations: &mut [TestOperation], value: u64) -> bool {
    let last_read = operations.iter_mut().rev().find(|op| op.operation == Operation::Read && op.answer.is_some());
    last_read.is_some_and(|op| {
        op.answer = op.answer.map(|(answered_at, _)| (answered_at, Answer::Value(Some(value))));
        true
    })
}

/// Maximum number of steps in which a linearizable history must be accepted.
const MAX_STEPS_TO_ACCEPT: u64 = 1_000_000;

/// Maximum number of steps in which a history that is not linearizable must be rejected.
const MAX_STEPS_TO_REJECT: u64 = 20_000_000;

const SHAPES: [Shape; 5] = [
    Shape { clients: 10, operations: 600, loss_interval: 15, reads_in_ten: 5, values: 1_000_000 },
    Shape { clients: 10, operations: 600, loss_interval: 15, reads_in_ten: 5, values: 4 },
    Shape { clients: 10, operations: 400, loss_interval: 8, reads_in_ten: 1, values: 100 },
    Shape { clients: 6, operations: 400, loss_interval: 10, reads_in_ten: 2, values: 100 },
    Shape { clients: 5, operations: 2_000, loss_interval: 40, reads_in_ten: 5, values: 50 },
];

#[test]
fn long_linearizable_histories_are_accepted_in_few_steps() {
    for (number, shape) in SHAPES.into_iter().enumerate() {
        for seed in 0..10 {
            let operations = generate_execution(seed, shape);
            let lost = operations.iter().filter(|op| op.answer.is_none()).count();
            assert!(lost >= 20, "only {lost} answers were lost");
            match record_history(&operations).judge_within(&Register::default(), MAX_STEPS_TO_ACCEPT) {
                Verdict::Linearizable { order } => assert_explains(&order, &operations),
                verdict @ (Verdict::NotLinearizable(_) | Verdict::Undecided { .. }) => {
                    panic!("shape {number}, seed {seed}: {verdict}")
                }
            }
        }
    }
}

#[test]
fn long_invalid_histories_are_rejected_in_few_steps_with_a_short_reason() {
    // Rejecting is harder than accepting: thousands of operations with many pending ones may remain
    // undecided.
    for (number, shape) in SHAPES.into_iter().filter(|shape| shape.operations < 1_000).enumerate() {
        for seed in 0..3 {
            let mut operations = generate_execution(seed, shape);
            assert!(spoil_last_read(&mut operations, u64::MAX));
            let explanation = assert_rejected(&operations, &format!("shape {number}, seed {seed}"));
            assert_eq!(explanation.conflict, [explanation.unexplained], "shape {number}, seed {seed}: {explanation}");
        }
    }
}

fn assert_rejected(operations: &[TestOperation], label: &str) -> Explanation {
    match record_history(operations).judge_within(&Register::default(), MAX_STEPS_TO_REJECT) {
        Verdict::NotLinearizable(explanation) => explanation,
        verdict @ (Verdict::Linearizable { .. } | Verdict::Undecided { .. }) => panic!("{label}: {verdict}"),
    }
}

#[test]
fn pending_operations_without_visible_effect_do_not_double_the_work() {
    let mut operations: Vec<TestOperation> =
        (0..60).map(|n| super::unanswered(n, 0, Operation::Write(100 + u64::from(n)))).collect();
    for turn in 0..50_i64 {
        let value = turn as u64;
        operations.push(super::answered(100, 1 + 4 * turn, 2 + 4 * turn, Operation::Write(value), Answer::Written));
        operations.push(super::answered(101, 3 + 4 * turn, 4 + 4 * turn, Operation::Read, Answer::Value(Some(value))));
    }
    let max_steps = 10_000;
    assert!(record_history(&operations).judge_within(&Register::default(), max_steps).is_linearizable());
    // The last read returns the previous value: no pending operation can undo a completed write.
    // The last two writes and this read contradict each other.
    assert!(spoil_last_read(&mut operations, 48));
    let explanation = assert_rejected(&operations, "sixty pending");
    assert_eq!(explanation.conflict.len(), 3, "{explanation}");
}

#[test]
fn most_histories_with_a_changed_answer_are_rejected() {
    let shape = Shape { clients: 4, operations: 40, loss_interval: 10, reads_in_ten: 5, values: 8 };
    let rejected = (0..500).filter(|seed| {
        let mut operations = generate_execution(*seed, shape);
        let mut rng = SeededRng::new(*seed, Stream::Faults);
        let reads: Vec<_> =
            operations.iter_mut().filter(|op| op.operation == Operation::Read && op.answer.is_some()).collect();
        let chosen = rng.below(reads.len() as u64) as usize;
        for op in reads.into_iter().skip(chosen).take(1) {
            let wrong = Answer::Value(Some(rng.below(shape.values)));
            op.answer = op.answer.map(|(answered_at, _)| (answered_at, wrong));
        }
        matches!(record_history(&operations).judge(&Register::default()), Verdict::NotLinearizable(_))
    });
    let rejected = rejected.count();
    // Some changed answers are right by chance, or explained by another order.
    assert!((300..500).contains(&rejected), "{rejected} of 500 histories with a changed answer were rejected");
}
