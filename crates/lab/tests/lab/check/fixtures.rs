//! The fixtures that must fail, each with its shortest counterexample.

use crate::check::common::{broken, checked, spec, verdict};
use quorate_lab::check::CheckSpec;
use quorate_lab::mutex::check::Requests;

/// Every property that is broken, and in how many steps; with reduction and without it.
fn breaches(spec: &CheckSpec) -> Vec<(&'static str, usize)> {
    let mut told = Vec::new();
    for reduce in [false, true] {
        let mut spec = spec.clone();
        spec.effort.reduce = reduce;
        let run = checked(&spec);
        assert!(run.is_complete(), "{}", spec.command());
        told.push(broken(&run));
    }
    assert_eq!(told[0], told[1], "{}", spec.command());
    told.swap_remove(0)
}

#[test]
fn the_paper_serves_requests_out_of_order_in_the_second_round() {
    assert_eq!(breaches(&spec("ricart-agrawala-1981", 3, 1)), []);
    assert_eq!(breaches(&spec("ricart-agrawala-1981", 2, 2)), []);
    assert_eq!(breaches(&spec("ricart-agrawala-1981", 2, 3)), [("happened-before-order", 12)]);
    assert_eq!(breaches(&spec("ricart-agrawala-1981", 3, 2)), [("happened-before-order", 13)]);
}

#[test]
fn a_cancelled_request_of_the_paper_lets_two_in() {
    let cancels = |nodes, rounds| CheckSpec {
        habits: Requests { cancels: true, ..Requests::default() },
        ..spec("ricart-agrawala-1981", nodes, rounds)
    };
    assert_eq!(breaches(&cancels(2, 1)), []);
    assert_eq!(breaches(&cancels(2, 2)), [("exclusion", 8), ("happened-before-order", 7)]);
}

#[test]
fn node_numbers_alone_let_two_in() {
    assert_eq!(breaches(&spec("ricart-agrawala-node-only", 2, 1)), [("exclusion", 6), ("happened-before-order", 5)]);
    assert_eq!(breaches(&spec("ricart-agrawala-node-only", 3, 1)), [("exclusion", 10), ("happened-before-order", 7)]);
}

#[test]
fn clock_readings_alone_let_two_in() {
    assert_eq!(breaches(&spec("ricart-agrawala-clock-only", 2, 1)), [("exclusion", 6)]);
    assert_eq!(breaches(&spec("ricart-agrawala-clock-only", 3, 1)), [("exclusion", 10)]);
}

#[test]
fn to_answer_only_the_first_one_starves_the_other() {
    assert_eq!(breaches(&spec("ricart-agrawala-first-only", 2, 2)), []);
    assert_eq!(breaches(&spec("ricart-agrawala-first-only", 3, 1)), [("no-deadlock", 14), ("served", 14)]);
}

#[test]
fn the_algorithms_themselves_stand() {
    let mut specs = Vec::new();
    for algorithm in ["central", "ricart-agrawala", "ricart-agrawala-modulo"] {
        specs.push(spec(algorithm, 3, 1));
        specs.push(CheckSpec {
            habits: Requests { tries: true, cancels: true, readers: false },
            ..spec(algorithm, 2, 2)
        });
    }
    specs.push(spec("ricart-agrawala-modulo", 2, None));
    for spec in specs {
        assert_eq!(breaches(&spec), [], "{}", spec.command());
    }
}

/// Without numbers modulo something, a group that asks for ever has no last state, and a check does not claim one.
#[test]
fn what_grows_for_ever_is_not_complete() {
    let mut spec = spec("ricart-agrawala", 2, None);
    spec.effort.memory = 1;
    let run = checked(&spec);
    assert!(!run.is_complete());
    assert_eq!(verdict(&run, "exclusion").holds, None);
}
