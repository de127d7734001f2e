//! Searches that end early say so, and claim nothing that they did not explore.
//!
//! `Bounds::new(3, 2)` stands for three nodes that may request entry twice each. `order()` and
//! `fences()` add the properties of request order and of fences; `cancels()` lets clients cancel.

use crate::checker::engine::common::{
    check, flawed_group, group_of, new_checker, plain_search, reduced_search, verdict, verdicts,
};
use crate::checker::engine::reference::Bounds;
use quorate_check::{Effort, Search, SearchEnd, Walks};
use quorate_core::fixtures::Flaw;
use quorate_core::mutex::RicartAgrawala;

#[test]
fn a_search_that_runs_out_of_memory_decides_nothing() {
    for effort in [plain_search(), reduced_search()] {
        let factory = group_of(3, RicartAgrawala::new);
        let bounds = Bounds::new(3, 3).order().fences();
        let findings = check(&factory, &bounds, &Effort { memory_limit: 1, ..effort });
        assert_eq!(findings.end, SearchEnd::MemoryLimit);
        assert!(!findings.is_complete() && !findings.has_violation());
        for verdict in &findings.verdicts {
            assert_eq!((verdict.holds, verdict.undecided_reason.is_some()), (None, true), "{}", verdict.name);
        }
        assert!(findings.main_pass.states > 0);
    }
}

#[test]
fn a_search_that_is_stopped_decides_nothing() {
    for search in [Search::Breadth, Search::Depth] {
        let factory = group_of(3, RicartAgrawala::new);
        let bounds = Bounds::new(3, 2).order().fences();
        let findings = new_checker(&factory, &bounds).run(&Effort { search, ..plain_search() }, &mut |_, _| false);
        assert_eq!(findings.end, SearchEnd::Stopped, "{search:?}");
        assert!(!findings.is_complete());
        let is_undecided = verdicts(&findings).into_iter().all(|(_, holds)| holds.is_none());
        assert!(is_undecided, "{search:?}: {:?}", verdicts(&findings));
    }
}

#[test]
fn stopping_at_the_first_violation_leaves_other_properties_undecided() {
    for search in [Search::Breadth, Search::Depth] {
        for reduce in [false, true] {
            let factory = flawed_group(Flaw::ClockOnly, 3);
            let bounds = Bounds::new(3, 1).cancels().order();
            let effort = Effort { search, reduce, stop_at_first: true, ..plain_search() };
            let findings = check(&factory, &bounds, &effort);
            assert_eq!(findings.end, SearchEnd::FirstViolation, "{effort:?}");
            assert!(!findings.is_complete());
            for verdict in &findings.verdicts {
                let expected = if verdict.name == "exclusion" { Some(false) } else { None };
                assert_eq!(verdict.holds, expected, "{} with {effort:?}", verdict.name);
            }
            let all_violations = check(&factory, &bounds, &Effort { stop_at_first: false, ..effort.clone() });
            assert!(findings.main_pass.states < all_violations.main_pass.states, "{effort:?}");
        }
    }
}

/// The order of requests depends on the past, so a second search judges it, after one that has
/// judged exclusion in every state.
#[test]
fn a_violation_of_request_order_stops_its_search_too() {
    let factory = flawed_group(Flaw::BareReplies, 3);
    let effort = Effort { stop_at_first: true, ..reduced_search() };
    let findings = check(&factory, &Bounds::new(3, 2).order(), &effort);
    assert_eq!(verdict(&findings, "exclusion").holds, Some(true));
    assert_eq!(verdict(&findings, "happened-before-order").holds, Some(false));
    assert_eq!(findings.end, SearchEnd::FirstViolation);
}

fn walks(count: u64, steps: u64, seed: u64) -> Search {
    Search::Walks(Walks { count, steps, seed })
}

#[test]
fn random_walks_depend_on_their_seed_and_not_on_threads() {
    let factory = flawed_group(Flaw::ClockOnly, 3);
    let bounds = Bounds::new(3, 2).order();
    let run = |seed, threads| {
        let findings = check(&factory, &bounds, &Effort { search: walks(300, 60, seed), threads, ..plain_search() });
        let counterexamples: Vec<_> = findings
            .verdicts
            .iter()
            .map(|verdict| (verdict.name, verdict.counterexample.as_ref().map(|example| format!("{example:?}"))))
            .collect();
        (findings.main_pass.generated, findings.main_pass.depth, findings.walk_count, counterexamples)
    };
    assert_eq!(run(1, 1), run(1, 1));
    assert_eq!(run(1, 1), run(1, 2));
    assert_eq!(run(7, 1), run(7, 3));
    assert_ne!(run(1, 1), run(7, 1));
    let (_, _, walk_count, _) = run(1, 2);
    assert_eq!(walk_count, Some(300));
}

#[test]
fn random_walks_find_violations_and_prove_nothing() {
    let effort = Effort { search: walks(300, 60, 1), ..plain_search() };
    let findings = check(&flawed_group(Flaw::ClockOnly, 3), &Bounds::new(3, 2).order(), &effort);
    assert_eq!(verdict(&findings, "exclusion").holds, Some(false));
    assert!(!findings.is_complete());
    let findings = check(&group_of(3, RicartAgrawala::new), &Bounds::new(3, 2).order().fences(), &effort);
    assert!(!findings.has_violation() && !findings.is_complete());
    assert!(verdicts(&findings).iter().all(|(_, holds)| holds.is_none()), "{:?}", verdicts(&findings));
    let findings = check(&flawed_group(Flaw::FirstOnly, 3), &Bounds::new(3, 1), &effort);
    assert_eq!(verdict(&findings, "no-deadlock").holds, Some(false));
    assert_eq!(verdict(&findings, "served").holds, Some(false));
}

#[test]
fn a_check_can_be_run_again_and_finds_the_same() {
    let factory = flawed_group(Flaw::ClockOnly, 3);
    let mut checker = new_checker(&factory, &Bounds::new(3, 1).order());
    let mut results = Vec::new();
    for effort in [
        plain_search(),
        reduced_search(),
        plain_search(),
        Effort { search: Search::Depth, ..plain_search() },
        plain_search(),
        reduced_search(),
    ] {
        let findings = checker.run(&effort, &mut |_, _| true);
        let lengths: Vec<_> =
            findings.verdicts.iter().map(|verdict| verdict.counterexample.as_ref().map(|run| run.len())).collect();
        results.push((findings.main_pass.states, findings.main_pass.generated, verdicts(&findings), lengths));
    }
    // The plain searches agree, and so do those with reduction; depth-first search finds as many
    // states and transitions.
    assert_eq!((&results[0], &results[1]), (&results[2], &results[5]));
    assert_eq!(results[0], results[4]);
    assert_eq!((results[0].0, results[0].1), (results[3].0, results[3].1));
}
