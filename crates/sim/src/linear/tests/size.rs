//! Long histories with many clients and doubts, judged within a few steps. Steps are counted, never
//! seconds.

use super::{Told, assert_explains, history};
use crate::linear::register::{Answer, Operation, Register};
use crate::linear::{Explanation, Object, Verdict};
use quorate_journal::dice::{Dice, Stream};

/// How the clients of one execution behave.
#[derive(Clone, Copy)]
struct Shape {
    clients: u32,
    operations: usize,
    /// One answer in so many is lost.
    lost: u64,
    /// Of ten operations, how many are reads; the rest writes and conditional sets.
    reads: u64,
    /// How many values there are.
    values: u64,
}

/// Clients that ask one thing after the other of an object that really does one operation at a
/// time.
fn execution(seed: u64, shape: Shape) -> Vec<Told> {
    let mut dice = Dice::new(seed, Stream::Workload);
    let mut free = vec![0_u64; shape.clients as usize];
    let mut points = Vec::new();
    let mut told: Vec<Told> = Vec::new();
    for _ in 0..shape.operations {
        let client = dice.below(u64::from(shape.clients)) as usize;
        let from = free[client] + 1 + dice.below(5);
        let length = 1 + dice.below(20);
        free[client] = from + length;
        let operation = operation(&mut dice, shape);
        points.push((from + dice.below(length + 1), told.len(), from + length));
        told.push(Told { client: client as u32, from: from as i64, operation, answer: None });
    }
    points.sort_unstable();
    let mut register = Register::default();
    for (_, index, to) in points {
        let is_lost = dice.below(shape.lost) == 0;
        // Half of what gets no answer never happens.
        if is_lost && dice.below(2) == 0 {
            continue;
        }
        let answer = register.apply(&told[index].operation);
        if !is_lost {
            told[index].answer = Some((to as i64, answer));
        }
    }
    told
}

fn operation(dice: &mut Dice, shape: Shape) -> Operation {
    let new = dice.below(shape.values);
    match dice.below(10) {
        it if it < shape.reads => Operation::Read,
        9 => Operation::CompareAndSet { expect: Some(dice.below(shape.values)), new },
        _ => Operation::Write(new),
    }
}

/// Gives the last read that has an answer one that no operation can have led to.
fn spoil_late(told: &mut [Told], value: u64) -> bool {
    let last = told.iter_mut().rev().find(|it| it.operation == Operation::Read && it.answer.is_some());
    last.is_some_and(|it| {
        it.answer = it.answer.map(|(to, _)| (to, Answer::Value(Some(value))));
        true
    })
}

const SHAPES: [Shape; 5] = [
    Shape { clients: 10, operations: 600, lost: 15, reads: 5, values: 1_000_000 },
    Shape { clients: 10, operations: 600, lost: 15, reads: 5, values: 4 },
    Shape { clients: 10, operations: 400, lost: 8, reads: 1, values: 100 },
    Shape { clients: 6, operations: 400, lost: 10, reads: 2, values: 100 },
    Shape { clients: 5, operations: 2_000, lost: 40, reads: 5, values: 50 },
];

#[test]
fn long_good_histories_are_accepted_in_few_steps() {
    for (number, shape) in SHAPES.into_iter().enumerate() {
        for seed in 0..10 {
            let told = execution(seed, shape);
            let lost = told.iter().filter(|it| it.answer.is_none()).count();
            assert!(lost >= 20, "only {lost} answers were lost");
            match history(&told).judge_within(&Register::default(), 1_000_000) {
                Verdict::Linearizable { order } => assert_explains(&order, &told),
                verdict @ (Verdict::NotLinearizable(_) | Verdict::Undecided { .. }) => {
                    panic!("shape {number}, seed {seed}: {verdict}")
                }
            }
        }
    }
}

#[test]
fn long_bad_histories_are_rejected_in_few_steps_for_a_short_reason() {
    // To reject is harder than to accept: thousands of operations with many doubts may stay
    // undecided.
    for (number, shape) in SHAPES.into_iter().filter(|shape| shape.operations < 1_000).enumerate() {
        for seed in 0..3 {
            let mut told = execution(seed, shape);
            assert!(spoil_late(&mut told, u64::MAX));
            let explanation = rejected(&told, &format!("shape {number}, seed {seed}"));
            assert_eq!(explanation.conflict, [explanation.misfit], "shape {number}, seed {seed}: {explanation}");
        }
    }
}

fn rejected(told: &[Told], which: &str) -> Explanation {
    match history(told).judge_within(&Register::default(), 20_000_000) {
        Verdict::NotLinearizable(explanation) => explanation,
        verdict @ (Verdict::Linearizable { .. } | Verdict::Undecided { .. }) => panic!("{which}: {verdict}"),
    }
}

#[test]
fn doubts_that_nobody_saw_do_not_double_the_work() {
    let mut told: Vec<Told> = (0..60).map(|n| super::unanswered(n, 0, Operation::Write(100 + u64::from(n)))).collect();
    for step in 0..50_i64 {
        let value = step as u64;
        told.push(super::did(100, 1 + 4 * step, 2 + 4 * step, Operation::Write(value), Answer::Written));
        told.push(super::did(101, 3 + 4 * step, 4 + 4 * step, Operation::Read, Answer::Value(Some(value))));
    }
    assert!(history(&told).judge_within(&Register::default(), 10_000).is_linearizable());
    // The last read is of the value before: a write that is over cannot be undone by any of sixty
    // doubts.
    assert!(spoil_late(&mut told, 48));
    let explanation = rejected(&told, "sixty doubts");
    assert_eq!(explanation.conflict.len(), 3, "{explanation}");
}

#[test]
fn most_spoilt_histories_are_rejected() {
    let shape = Shape { clients: 4, operations: 40, lost: 10, reads: 5, values: 8 };
    let rejected = (0..500).filter(|seed| {
        let mut told = execution(*seed, shape);
        let mut dice = Dice::new(*seed, Stream::Faults);
        let reads: Vec<_> =
            told.iter_mut().filter(|it| it.operation == Operation::Read && it.answer.is_some()).collect();
        let chosen = dice.below(reads.len() as u64) as usize;
        for it in reads.into_iter().skip(chosen).take(1) {
            let wrong = Answer::Value(Some(dice.below(shape.values)));
            it.answer = it.answer.map(|(to, _)| (to, wrong));
        }
        matches!(history(&told).judge(&Register::default()), Verdict::NotLinearizable(_))
    });
    let rejected = rejected.count();
    assert!((300..500).contains(&rejected), "{rejected} of 500 spoilt histories were rejected");
}
