//! Random histories: linearizable ones, spoilt ones, and small ones that are also checked by brute
//! force.

use super::{TestOperation, assert_explains, record_history, some_order_explains, without_answers_after};
use crate::linear::keyed::{Keyed, KeyedOperation};
use crate::linear::register::{Answer, Operation, Register};
use crate::linear::{Client, DEFAULT_STEPS, History, Object, OperationId, Verdict};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::proptest;
use proptest::test_runner::Config;

/// An operation of an execution, with times in milliseconds. The object applies it only if
/// `takes_effect`, and the client receives the answer only if `is_answered` too.
#[derive(Clone, Debug)]
struct Invocation {
    client: u32,
    invoked_at: i64,
    /// From the invocation to the effect.
    effect_delay: i64,
    /// From the effect to the answer.
    answer_delay: i64,
    operation: Operation,
    takes_effect: bool,
    is_answered: bool,
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let values = || 0..3_u64;
    let expected = prop_oneof![Just(None), values().prop_map(Some)];
    prop_oneof![
        3 => Just(Operation::Read),
        2 => values().prop_map(Operation::Write),
        1 => (expected, values()).prop_map(|(expect, new)| Operation::CompareAndSet { expect, new }),
    ]
}

fn any_invocation(invoked_before: i64) -> impl Strategy<Value = Invocation> {
    let likely = || prop_oneof![4 => Just(true), 1 => Just(false)];
    (0..4_u32, 0..invoked_before, 0..6_i64, 0..6_i64, any_operation(), likely(), likely()).prop_map(
        |(client, invoked_at, effect_delay, answer_delay, operation, takes_effect, is_answered)| Invocation {
            client,
            invoked_at,
            effect_delay,
            answer_delay,
            operation,
            takes_effect,
            is_answered,
        },
    )
}

/// Returns the history of an execution on a sequential object.
fn execute(invocations: &[Invocation]) -> Vec<TestOperation> {
    let mut operations: Vec<TestOperation> = invocations
        .iter()
        .map(|invocation| TestOperation {
            client: invocation.client,
            invoked_at: invocation.invoked_at,
            operation: invocation.operation,
            answer: None,
        })
        .collect();
    let mut applied: Vec<usize> = (0..invocations.len()).filter(|index| invocations[*index].takes_effect).collect();
    applied.sort_by_key(|index| invocations[*index].invoked_at + invocations[*index].effect_delay);
    let mut register = Register::default();
    for index in applied {
        let invocation = &invocations[index];
        let answer = register.apply(&invocation.operation);
        if invocation.is_answered {
            operations[index].answer =
                Some((invocation.invoked_at + invocation.effect_delay + invocation.answer_delay, answer));
        }
    }
    operations
}

/// Replaces the answer of one answered operation, chosen by `selector`, with an answer of the same
/// kind, chosen by `answer_selector`. The new answer may equal the old one.
fn spoil(operations: &mut [TestOperation], selector: usize, answer_selector: u64) {
    let answered: Vec<usize> = (0..operations.len()).filter(|index| operations[*index].answer.is_some()).collect();
    let Some(index) = answered.get(selector % answered.len().max(1)) else { return };
    if let Some((_, answer)) = &mut operations[*index].answer {
        *answer = match *answer {
            Answer::Value(_) => Answer::Value((answer_selector % 4).checked_sub(1)),
            Answer::Set => Answer::Differs,
            Answer::Differs => Answer::Set,
            Answer::Written => Answer::Written,
        };
    }
}

fn judge(operations: &[TestOperation]) -> Verdict {
    record_history(operations).judge(&Register::default())
}

/// Asserts that the verdict agrees with brute force, and that its explanation is correct.
fn assert_correct_verdict(operations: &[TestOperation]) {
    match judge(operations) {
        Verdict::Linearizable { order } => assert_explains(&order, operations),
        Verdict::NotLinearizable(explanation) => {
            assert!(!some_order_explains(operations), "{explanation}\n{operations:?}");
            assert_first_unexplained(operations, explanation.unexplained, &explanation.order_before);
            assert_contradict(operations, &explanation.conflict);
        }
        verdict @ Verdict::Undecided { .. } => panic!("{verdict}"),
    }
}

/// Asserts that the answer to `unexplained` is the first one that no order explains. Answers at the
/// same time are ordered by the indices of their operations.
fn assert_first_unexplained(operations: &[TestOperation], unexplained: OperationId, order_before: &[OperationId]) {
    let (instant, _) = operations[unexplained.index()].answer.expect("an unexplained operation has an answer");
    let mut explained = without_answers_after(operations, instant);
    for (index, op) in explained.iter_mut().enumerate() {
        if index >= unexplained.index() && op.answer.is_some_and(|(answered_at, _)| answered_at == instant) {
            op.answer = None;
        }
    }
    assert_explains(order_before, &explained);
    explained[unexplained.index()] = operations[unexplained.index()].clone();
    assert!(!some_order_explains(&explained), "{unexplained} is explained: {explained:?}");
}

/// Asserts that these answers contradict each other, and that no proper subset of them does.
fn assert_contradict(operations: &[TestOperation], conflict: &[OperationId]) {
    let with_answers_of = |is_kept: &dyn Fn(usize) -> bool| -> Vec<TestOperation> {
        operations
            .iter()
            .enumerate()
            .map(|(index, op)| if is_kept(index) { op.clone() } else { op.without_answer() })
            .collect()
    };
    let is_in_conflict = |index: usize| conflict.iter().any(|id| id.index() == index);
    assert!(!some_order_explains(&with_answers_of(&is_in_conflict)), "{conflict:?} do not contradict: {operations:?}");
    for id in conflict {
        let fewer = with_answers_of(&|index| is_in_conflict(index) && index != id.index());
        assert!(some_order_explains(&fewer), "{conflict:?} contradict without {id}: {operations:?}");
    }
}

/// Returns the history of these operations on many registers, with the key of each operation.
fn keyed_history(operations: &[TestOperation], keys: &[u8]) -> History<Keyed<u8, Register>> {
    let mut history = History::new();
    for (op, key) in operations.iter().zip(keys) {
        let operation = KeyedOperation { key: *key, operation: op.operation };
        let id = history.invoke(Client(op.client), super::at(op.invoked_at), operation);
        if let Some((answered_at, answer)) = op.answer {
            history
                .answer(id, super::at(answered_at), answer)
                .expect("each answer is recorded once, after its invocation");
        }
    }
    history
}

proptest! {
    #![proptest_config(Config::with_cases(2_000))]

    #[test]
    fn executions_of_one_object_are_linearizable(invocations in vec(any_invocation(60), 0..60)) {
        let operations = execute(&invocations);
        match judge(&operations) {
            Verdict::Linearizable { order } => assert_explains(&order, &operations),
            verdict @ (Verdict::NotLinearizable(_) | Verdict::Undecided { .. }) => panic!("{verdict}\n{operations:?}"),
        }
    }

    #[test]
    fn small_histories_are_judged_as_by_brute_force(
        invocations in vec(any_invocation(12), 0..7),
        spoilt in vec((any::<usize>(), any::<u64>()), 0..3),
    ) {
        let mut operations = execute(&invocations);
        for (selector, answer_selector) in spoilt {
            spoil(&mut operations, selector, answer_selector);
        }
        assert_correct_verdict(&operations);
    }

    #[test]
    fn explanations_are_correct_with_many_pending_operations(
        mut invocations in vec(any_invocation(10), 0..8),
        are_pending in vec(any::<bool>(), 8),
        spoilt in (any::<usize>(), any::<u64>()),
    ) {
        for (invocation, is_pending) in invocations.iter_mut().zip(are_pending) {
            invocation.is_answered &= !is_pending;
        }
        let mut operations = execute(&invocations);
        spoil(&mut operations, spoilt.0, spoilt.1);
        assert_correct_verdict(&operations);
    }

    #[test]
    fn checking_by_key_agrees_with_checking_the_whole(
        invocations in vec((any_invocation(30), 0..3_u8), 0..24),
        spoilt in vec((any::<usize>(), any::<u64>()), 0..3),
    ) {
        let (invocations, keys): (Vec<_>, Vec<_>) = invocations.into_iter().unzip();
        // These are placeholders: the execution of each key replaces its operations.
        let mut operations = execute(&invocations);
        for key in 0..3 {
            let of_key: Vec<usize> = (0..invocations.len()).filter(|index| keys[*index] == key).collect();
            let executed = execute(&of_key.iter().map(|index| invocations[*index].clone()).collect::<Vec<_>>());
            for (index, op) in of_key.into_iter().zip(executed) {
                operations[index] = op;
            }
        }
        for (selector, answer_selector) in spoilt {
            spoil(&mut operations, selector, answer_selector);
        }
        let history = keyed_history(&operations, &keys);
        let initial = Keyed::new(Register::default());
        let as_a_whole = history.judge(&initial);
        let by_key = history.judge_by_key(&initial, DEFAULT_STEPS, |operation| operation.key);
        assert_eq!(as_a_whole.is_linearizable(), by_key.is_linearizable(), "{as_a_whole}\n{by_key}\n{operations:?}");
        assert!(!matches!(by_key, Verdict::Undecided { .. }), "{by_key}");
        if let Verdict::Linearizable { order } = by_key {
            assert_keyed_order(&order, &operations, &keys);
        }
    }
}

/// Asserts that the merged order is valid: it explains the answers of each key, and respects real
/// time across keys.
fn assert_keyed_order(order: &[OperationId], operations: &[TestOperation], keys: &[u8]) {
    for (index, id) in order.iter().enumerate() {
        for later in &order[index..] {
            assert!(
                !operations[later.index()].precedes(&operations[id.index()]),
                "{later} completed before {id} was invoked: {order:?}"
            );
        }
    }
    let mut store = Keyed::new(Register::default());
    for id in order {
        let op = &operations[id.index()];
        let answer = store.apply(&KeyedOperation { key: keys[id.index()], operation: op.operation });
        assert!(
            op.answer.is_none_or(|(_, recorded)| recorded == answer),
            "{id} answers {answer}: {order:?} of {operations:?}"
        );
    }
    let answered = operations.iter().filter(|op| op.answer.is_some()).count();
    assert!(
        order.iter().filter(|id| operations[id.index()].answer.is_some()).count() == answered,
        "some answered operations are missing"
    );
}
