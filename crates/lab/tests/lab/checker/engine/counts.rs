//! The state counts in `docs/checking.md`, and equal verdicts with and without reduction. The
//! algorithm is Ricart–Agrawala as in the paper of 1981.

use crate::checker::engine::common::{check, counterexample_len, flawed, plain, reduced, verdicts};
use crate::checker::engine::reference::Bounds;
use quorate_check::Findings;
use quorate_core::fixtures::Flaw;

/// Checks three nodes without and with reduction.
fn check_both(rounds: u8) -> (Findings, Findings) {
    let factory = flawed(Flaw::BareReplies, 3);
    let mut bounds = Bounds::new(3, rounds);
    bounds.clients.order = true;
    (check(&factory, &bounds, &plain()), check(&factory, &bounds, &reduced()))
}

#[test]
fn one_round_has_the_documented_number_of_states() {
    let (full, reduced) = check_both(1);
    assert_eq!((full.states.states, full.states.generated), (6_445, 18_260));
    assert_eq!(verdicts(&full), verdicts(&reduced));
    assert!(!full.has_violation());
}

#[test]
fn two_rounds_have_the_documented_number_of_states() {
    let (full, reduced) = check_both(2);
    assert_eq!((full.states.states, full.states.generated), (506_546, 1_556_416));
    assert!(full.is_complete() && reduced.is_complete());
    assert_eq!(verdicts(&full), verdicts(&reduced));
    // The search is complete although it finds a violation of the order.
    assert_eq!(counterexample_len(&full, "happened-before-order"), Some(13));
    assert_eq!(counterexample_len(&reduced, "happened-before-order"), Some(13));
}
