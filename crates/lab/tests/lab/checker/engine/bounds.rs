//! Searches that end early say so, and claim nothing that they did not explore.

use crate::checker::engine::common::{check, checker, flawed, group_of, plain, reduced, verdict, verdicts};
use crate::checker::engine::reference::Bounds;
use quorate_check::{Effort, End, Search, Walks};
use quorate_core::fixtures::Flaw;
use quorate_core::mutex::RicartAgrawala;

#[test]
fn a_search_that_runs_out_of_memory_leaves_everything_open() {
    for effort in [plain(), reduced()] {
        let factory = group_of(3, RicartAgrawala::new);
        let bounds = Bounds::new(3, 3).order().fences();
        let findings = check(&factory, &bounds, &Effort { memory: 1, ..effort });
        assert_eq!(findings.end, End::Memory);
        assert!(!findings.is_complete() && !findings.has_violation());
        for verdict in &findings.verdicts {
            assert_eq!((verdict.holds, verdict.unknown.is_some()), (None, true), "{}", verdict.name);
        }
        assert!(findings.states.states > 0);
    }
}

#[test]
fn a_search_that_is_stopped_leaves_everything_open() {
    for search in [Search::Breadth, Search::Depth] {
        let factory = group_of(3, RicartAgrawala::new);
        let bounds = Bounds::new(3, 2).order().fences();
        let findings = checker(&factory, &bounds).run(&Effort { search, ..plain() }, &mut |_, _| false);
        assert_eq!(findings.end, End::Stopped, "{search:?}");
        assert!(!findings.is_complete());
        let open = verdicts(&findings).into_iter().all(|(_, holds)| holds.is_none());
        assert!(open, "{search:?}: {:?}", verdicts(&findings));
    }
}

#[test]
fn stopping_at_the_first_violation_leaves_other_properties_open() {
    for search in [Search::Breadth, Search::Depth] {
        for reduce in [false, true] {
            let factory = flawed(Flaw::ClockOnly, 3);
            let bounds = Bounds::new(3, 1).cancels().order();
            let effort = Effort { search, reduce, stop_at_first: true, ..plain() };
            let findings = check(&factory, &bounds, &effort);
            assert_eq!(findings.end, End::FirstViolation, "{effort:?}");
            assert!(!findings.is_complete());
            for verdict in &findings.verdicts {
                let expected = if verdict.name == "exclusion" { Some(false) } else { None };
                assert_eq!(verdict.holds, expected, "{} with {effort:?}", verdict.name);
            }
            let all = check(&factory, &bounds, &Effort { stop_at_first: false, ..effort.clone() });
            assert!(findings.states.states < all.states.states, "{effort:?}");
        }
    }
}

#[test]
fn a_violation_by_a_step_stops_the_search_too() {
    let factory = flawed(Flaw::BareReplies, 3);
    let effort = Effort { stop_at_first: true, ..reduced() };
    let findings = check(&factory, &Bounds::new(3, 2).order(), &effort);
    assert_eq!(verdict(&findings, "exclusion").holds, Some(true));
    assert_eq!(verdict(&findings, "happened-before-order").holds, Some(false));
    assert_eq!(findings.end, End::FirstViolation);
}

fn walks(count: u64, steps: u64, seed: u64) -> Search {
    Search::Walks(Walks { count, steps, seed })
}

#[test]
fn random_walks_depend_only_on_their_seed() {
    let factory = flawed(Flaw::ClockOnly, 3);
    let bounds = Bounds::new(3, 2).order();
    let run = |seed, threads| {
        let findings = check(&factory, &bounds, &Effort { search: walks(300, 60, seed), threads, ..plain() });
        let lengths: Vec<_> = findings
            .verdicts
            .iter()
            .map(|verdict| (verdict.name, verdict.counterexample.as_ref().map(|example| format!("{example:?}"))))
            .collect();
        (findings.states.generated, findings.states.depth, findings.walks, lengths)
    };
    assert_eq!(run(1, 1), run(1, 1));
    assert_eq!(run(1, 1), run(1, 2));
    assert_eq!(run(7, 1), run(7, 3));
    assert_ne!(run(1, 1), run(7, 1));
    assert_eq!(run(1, 2).2, Some(300));
}

#[test]
fn random_walks_find_violations_and_prove_nothing() {
    let effort = Effort { search: walks(300, 60, 1), ..plain() };
    let findings = check(&flawed(Flaw::ClockOnly, 3), &Bounds::new(3, 2).order(), &effort);
    assert_eq!(verdict(&findings, "exclusion").holds, Some(false));
    assert!(!findings.is_complete());
    let findings = check(&group_of(3, RicartAgrawala::new), &Bounds::new(3, 2).order().fences(), &effort);
    assert!(!findings.has_violation() && !findings.is_complete());
    assert!(verdicts(&findings).iter().all(|(_, holds)| holds.is_none()), "{:?}", verdicts(&findings));
    let findings = check(&flawed(Flaw::FirstOnly, 3), &Bounds::new(3, 1), &effort);
    assert_eq!(verdict(&findings, "no-deadlock").holds, Some(false));
    assert_eq!(verdict(&findings, "served").holds, Some(false));
}

#[test]
fn a_check_can_be_run_again_and_finds_the_same() {
    let factory = flawed(Flaw::ClockOnly, 3);
    let mut checker = checker(&factory, &Bounds::new(3, 1).order());
    let mut results = Vec::new();
    for effort in [plain(), reduced(), plain(), Effort { search: Search::Depth, ..plain() }, plain(), reduced()] {
        let findings = checker.run(&effort, &mut |_, _| true);
        let lengths: Vec<_> =
            findings.verdicts.iter().map(|verdict| verdict.counterexample.as_ref().map(|run| run.len())).collect();
        results.push((findings.states.states, findings.states.generated, verdicts(&findings), lengths));
    }
    assert_eq!((&results[0], &results[1]), (&results[2], &results[5]));
    assert_eq!(results[0], results[4]);
    assert_eq!((results[0].0, results[0].1), (results[3].0, results[3].1));
}
