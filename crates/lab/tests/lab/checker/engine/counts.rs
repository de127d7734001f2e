//! The numbers of states that docs/checking.md gives for the paper, which is the algorithm of
//! Ricart and Agrawala as published in 1981, and equal verdicts with and without reduction.

use crate::checker::engine::common::{check, counterexample_len, flawed_group, plain_search, reduced_search, verdicts};
use crate::checker::engine::reference::Bounds;
use quorate_check::Findings;
use quorate_core::fixtures::Flaw;

/// Checks three nodes that may request entry `rounds` times each, without and with reduction.
fn check_both_ways(rounds: u8) -> (Findings, Findings) {
    let factory = flawed_group(Flaw::BareReplies, 3);
    let bounds = Bounds::new(3, rounds).order();
    (check(&factory, &bounds, &plain_search()), check(&factory, &bounds, &reduced_search()))
}

#[test]
fn one_round_of_the_paper_has_the_documented_number_of_states() {
    let (full, reduced) = check_both_ways(1);
    assert_eq!((full.main_pass.states, full.main_pass.generated), (6_445, 18_260));
    assert_eq!(verdicts(&full), verdicts(&reduced));
    assert!(!full.has_violation());
}

#[test]
fn two_rounds_of_the_paper_have_the_documented_number_of_states() {
    let (full, reduced) = check_both_ways(2);
    assert_eq!((full.main_pass.states, full.main_pass.generated), (506_546, 1_556_416));
    assert!(full.is_complete() && reduced.is_complete());
    assert_eq!(verdicts(&full), verdicts(&reduced));
    // The search continues to the end although it finds a violation of the order, whose shortest
    // counterexample has 13 steps.
    assert_eq!(counterexample_len(&full, "happened-before-order"), Some(13));
    assert_eq!(counterexample_len(&reduced, "happened-before-order"), Some(13));
}
