//! The judge against hand-made classics, random executions, and a judge that tries every order.

mod classics;
mod random;
mod size;

use super::register::{Answer, Operation, Register};
use super::{Client, History, Object, OperationId};
use quorate_core::Time;
use std::collections::BTreeSet;

/// One operation of a register, as a test tells it. What happens in the same millisecond overlaps.
#[derive(Clone, Debug)]
struct Told {
    client: u32,
    from: i64,
    operation: Operation,
    answer: Option<(i64, Answer)>,
}

fn did(client: u32, from: i64, to: i64, operation: Operation, answer: Answer) -> Told {
    Told { client, from, operation, answer: Some((to, answer)) }
}

fn unanswered(client: u32, from: i64, operation: Operation) -> Told {
    Told { client, from, operation, answer: None }
}

fn at(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn history(told: &[Told]) -> History<Register> {
    let mut history = History::new();
    // All questions come first, so that what shares a millisecond overlaps.
    let ids: Vec<_> = told.iter().map(|it| history.invoke(Client(it.client), at(it.from), it.operation)).collect();
    for (it, id) in told.iter().zip(ids) {
        if let Some((to, answer)) = it.answer {
            history.answer(id, at(to), answer).expect("a test tells each answer once, after its question");
        }
    }
    history
}

impl Told {
    fn precedes(&self, other: &Self) -> bool {
        self.answer.is_some_and(|(to, _)| to < other.from)
    }

    fn without_answer(&self) -> Self {
        Self { answer: None, ..self.clone() }
    }
}

/// What was asked by this time, with the answers that were given by then.
fn beginning(told: &[Told], last_answer: i64) -> Vec<Told> {
    let cut =
        |it: &Told| if it.answer.is_some_and(|(to, _)| to <= last_answer) { it.clone() } else { it.without_answer() };
    told.iter().map(cut).collect()
}

/// Whether some order explains every answer, by trying all. It shares nothing with the judge.
fn some_order_explains(told: &[Told]) -> bool {
    fn place(told: &[Told], rest: &BTreeSet<usize>, register: Register) -> bool {
        if rest.iter().all(|index| told[*index].answer.is_none()) {
            return true;
        }
        rest.iter().any(|&index| {
            let mut register = register;
            let answer = register.apply(&told[index].operation);
            let mut later = rest.clone();
            later.remove(&index);
            told[index].answer.is_none_or(|(_, given)| given == answer)
                && !later.iter().any(|other| told[*other].precedes(&told[index]))
                && place(told, &later, register)
        })
    }
    place(told, &(0..told.len()).collect(), Register::default())
}

/// Fails unless the order has every answered operation once, keeps to real time, and gives these
/// answers.
fn assert_explains(order: &[OperationId], told: &[Told]) {
    let placed: BTreeSet<usize> = order.iter().map(|id| id.index()).collect();
    assert_eq!(placed.len(), order.len(), "placed twice: {order:?}");
    for (index, it) in told.iter().enumerate() {
        assert!(it.answer.is_none() || placed.contains(&index), "#{index} is missing in {order:?} of {told:?}");
    }
    let mut register = Register::default();
    for (place, id) in order.iter().enumerate() {
        let it = &told[id.index()];
        let answer = register.apply(&it.operation);
        assert!(it.answer.is_none_or(|(_, given)| given == answer), "{id} answers {answer} in {order:?} of {told:?}");
        for later in &order[place..] {
            assert!(!told[later.index()].precedes(it), "{later} was over before {id} began: {order:?} of {told:?}");
        }
    }
}
