//! Fixtures that must fail, with shortest counterexamples of known lengths. "The paper" is the
//! algorithm of Ricart and Agrawala as published in 1981.
//!
//! `spec("central", 3, 2)` is a check of three nodes that may request entry twice each.

use crate::check::common::{list_violations, run_check, spec, verdict};
use quorate_lab::check::CheckSpec;
use quorate_lab::mutex::check::RequestKinds;

/// Returns every violated property with the length of its counterexample, which must not depend on
/// reduction.
fn violations(spec: &CheckSpec) -> Vec<(&'static str, usize)> {
    let mut violations = Vec::new();
    for reduce in [false, true] {
        let mut spec = spec.clone();
        spec.effort.reduce = reduce;
        let run = run_check(&spec);
        assert!(run.is_complete(), "{}", spec.command());
        violations.push(list_violations(&run));
    }
    assert_eq!(violations[0], violations[1], "{}", spec.command());
    violations.swap_remove(0)
}

#[test]
fn the_paper_serves_requests_out_of_order_after_the_first_round() {
    assert_eq!(violations(&spec("ricart-agrawala-1981", 3, 1)), []);
    assert_eq!(violations(&spec("ricart-agrawala-1981", 2, 2)), []);
    assert_eq!(violations(&spec("ricart-agrawala-1981", 2, 3)), [("happened-before-order", 12)]);
    assert_eq!(violations(&spec("ricart-agrawala-1981", 3, 2)), [("happened-before-order", 13)]);
}

#[test]
fn a_cancelled_request_of_the_paper_violates_exclusion() {
    let cancels = |nodes, rounds| CheckSpec {
        behavior: RequestKinds { allows_cancels: true, ..RequestKinds::default() },
        ..spec("ricart-agrawala-1981", nodes, rounds)
    };
    assert_eq!(violations(&cancels(2, 1)), []);
    assert_eq!(violations(&cancels(2, 2)), [("exclusion", 8), ("happened-before-order", 7)]);
}

#[test]
fn ordering_by_node_alone_violates_exclusion() {
    assert_eq!(violations(&spec("ricart-agrawala-node-only", 2, 1)), [("exclusion", 6), ("happened-before-order", 5)]);
    assert_eq!(violations(&spec("ricart-agrawala-node-only", 3, 1)), [("exclusion", 10), ("happened-before-order", 7)]);
}

#[test]
fn ordering_by_clock_alone_violates_exclusion() {
    assert_eq!(violations(&spec("ricart-agrawala-clock-only", 2, 1)), [("exclusion", 6)]);
    assert_eq!(violations(&spec("ricart-agrawala-clock-only", 3, 1)), [("exclusion", 10)]);
}

#[test]
fn replying_only_to_the_first_deferred_request_starves_the_other() {
    assert_eq!(violations(&spec("ricart-agrawala-first-only", 2, 2)), []);
    assert_eq!(violations(&spec("ricart-agrawala-first-only", 3, 1)), [("no-deadlock", 14), ("served", 14)]);
}

#[test]
fn three_correct_algorithms_violate_nothing() {
    let mut specs = Vec::new();
    for algorithm in ["central", "ricart-agrawala", "ricart-agrawala-modulo"] {
        specs.push(spec(algorithm, 3, 1));
        specs.push(CheckSpec {
            behavior: RequestKinds { allows_tries: true, allows_cancels: true, allows_readers: false },
            ..spec(algorithm, 2, 2)
        });
    }
    // Two nodes that request entry without end.
    specs.push(spec("ricart-agrawala-modulo", 2, None));
    for spec in specs {
        assert_eq!(violations(&spec), [], "{}", spec.command());
    }
}

/// The clocks of this algorithm grow without bound, so only the memory limit ends the search.
#[test]
fn a_search_that_the_memory_limit_stops_is_not_complete() {
    let mut spec = spec("ricart-agrawala", 2, None);
    spec.effort.memory_limit = 1; // byte
    let run = run_check(&spec);
    assert!(!run.is_complete());
    assert_eq!(verdict(&run, "exclusion").holds, None);
}
