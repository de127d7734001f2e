//! The published state counts, and equal verdicts with and without reduction.

use crate::checker::engine::common::{check, counterexample_len, flawed, plain, reduced, verdicts};
use crate::checker::engine::reference::Bounds;
use quorate_check::Findings;
use quorate_core::fixtures::Flaw;

fn counts(rounds: u8, order: bool) -> (Findings, Findings) {
    let factory = flawed(Flaw::BareReplies, 3);
    let mut bounds = Bounds::new(3, rounds);
    bounds.clients.order = order;
    (check(&factory, &bounds, &plain()), check(&factory, &bounds, &reduced()))
}

#[test]
fn one_round_of_the_paper_has_the_published_number_of_states() {
    let (full, reduced) = counts(1, true);
    assert_eq!((full.states.states, full.states.generated), (6_445, 18_260));
    assert_eq!(verdicts(&full), verdicts(&reduced));
    assert!(!full.has_violation());
}

#[test]
fn two_rounds_of_the_paper_have_the_published_number_of_states() {
    let (full, reduced) = counts(2, true);
    assert_eq!((full.states.states, full.states.generated), (506_546, 1_556_416));
    assert!(full.is_complete() && reduced.is_complete());
    assert_eq!(verdicts(&full), verdicts(&reduced));
    // The search continues to the end although the order is violated on the way.
    assert_eq!(counterexample_len(&full, "happened-before-order"), Some(13));
    assert_eq!(counterexample_len(&reduced, "happened-before-order"), Some(13));
}
