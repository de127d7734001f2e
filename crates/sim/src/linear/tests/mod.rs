//! Tests of the linearizability checker: classic cases, long histories, random executions, and
//! comparison with a brute-force check.

mod classics;
mod random;
mod size;

use super::register::{Answer, Operation, Register};
use super::{Client, History, Object, OperationId};
use quorate_core::Time;
use std::collections::BTreeSet;

/// An operation on a register, with times in milliseconds. Operations overlap even if one is
/// answered in the millisecond in which the other is invoked.
#[derive(Clone, Debug)]
struct TestOperation {
    client: u32,
    invoked_at: i64,
    operation: Operation,
    /// When the client received the answer, and the answer.
    answer: Option<(i64, Answer)>,
}

fn answered(client: u32, invoked_at: i64, answered_at: i64, operation: Operation, answer: Answer) -> TestOperation {
    TestOperation { client, invoked_at, operation, answer: Some((answered_at, answer)) }
}

fn unanswered(client: u32, invoked_at: i64, operation: Operation) -> TestOperation {
    TestOperation { client, invoked_at, operation, answer: None }
}

fn at(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn record_history(operations: &[TestOperation]) -> History<Register> {
    let mut history = History::new();
    // Record all invocations first: then an operation that is invoked in the millisecond in which
    // another one is answered overlaps it.
    let ids: Vec<_> =
        operations.iter().map(|op| history.invoke(Client(op.client), at(op.invoked_at), op.operation)).collect();
    for (op, id) in operations.iter().zip(ids) {
        if let Some((answered_at, answer)) = op.answer {
            history.answer(id, at(answered_at), answer).expect("a test records each answer once, after its invocation");
        }
    }
    history
}

impl TestOperation {
    fn precedes(&self, other: &Self) -> bool {
        self.answer.is_some_and(|(answered_at, _)| answered_at < other.invoked_at)
    }

    fn without_answer(&self) -> Self {
        Self { answer: None, ..self.clone() }
    }
}

/// Returns the operations without the answers that clients received after `last_answer`.
fn without_answers_after(operations: &[TestOperation], last_answer: i64) -> Vec<TestOperation> {
    let with_early_answer = |op: &TestOperation| {
        if op.answer.is_some_and(|(answered_at, _)| answered_at <= last_answer) {
            op.clone()
        } else {
            op.without_answer()
        }
    };
    operations.iter().map(with_early_answer).collect()
}

/// Returns whether some order explains every answer, by trying all orders. Apart from the register,
/// it shares no code with the checker.
fn some_order_explains(operations: &[TestOperation]) -> bool {
    fn can_place(operations: &[TestOperation], remaining: &BTreeSet<usize>, register: Register) -> bool {
        if remaining.iter().all(|index| operations[*index].answer.is_none()) {
            return true;
        }
        remaining.iter().any(|&index| {
            let mut register = register;
            let answer = register.apply(&operations[index].operation);
            let mut later = remaining.clone();
            later.remove(&index);
            operations[index].answer.is_none_or(|(_, recorded)| recorded == answer)
                && !later.iter().any(|other| operations[*other].precedes(&operations[index]))
                && can_place(operations, &later, register)
        })
    }
    can_place(operations, &(0..operations.len()).collect(), Register::default())
}

/// Asserts that the order contains every answered operation once, respects real time, and gives
/// these answers.
fn assert_explains(order: &[OperationId], operations: &[TestOperation]) {
    let placed: BTreeSet<usize> = order.iter().map(|id| id.index()).collect();
    assert_eq!(placed.len(), order.len(), "placed twice: {order:?}");
    for (index, op) in operations.iter().enumerate() {
        assert!(op.answer.is_none() || placed.contains(&index), "#{index} is missing in {order:?} of {operations:?}");
    }
    let mut register = Register::default();
    for (index, id) in order.iter().enumerate() {
        let op = &operations[id.index()];
        let answer = register.apply(&op.operation);
        assert!(
            op.answer.is_none_or(|(_, recorded)| recorded == answer),
            "{id} answers {answer} in {order:?} of {operations:?}"
        );
        for later in &order[index..] {
            assert!(
                !operations[later.index()].precedes(op),
                "{later} completed before {id} was invoked: {order:?} of {operations:?}"
            );
        }
    }
}
