//! Verdicts do not depend on the search: with or without reduction, breadth or depth first, with
//! one thread or several. Only the property `served` may stay undecided in a depth-first search.
//!
//! `spec("central", 3, 2)` is a check of three nodes that may request entry twice each.

use crate::check::common::{is_sample, is_small, journal, rounds_for_two_nodes, run_check, spec};
use quorate_check::{Findings, Pass, Search};
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use quorate_lab::registry::{Family, all, fixtures};

/// Whether a search uses reduction.
const REDUCED: bool = true;
const FULL: bool = false;

/// Mutual exclusion algorithms and many fixtures, all in groups small enough for many searches.
fn small_specs() -> Vec<CheckSpec> {
    let mut specs = Vec::new();
    let algorithms = all().iter().chain(fixtures()).filter(|algorithm| algorithm.family() == Family::Mutex);
    for algorithm in algorithms.filter(|algorithm| is_sample(algorithm)) {
        if is_small(algorithm, 3) {
            specs.push(spec(algorithm.name(), 3, 1));
        }
        if is_small(algorithm, 2) {
            specs.push(CheckSpec {
                behavior: RequestKinds { allows_tries: true, allows_cancels: true, allows_readers: false },
                ..spec(algorithm.name(), 2, rounds_for_two_nodes(algorithm))
            });
            let mut with_faults = spec(algorithm.name(), 2, 1);
            (with_faults.setup.crashes, with_faults.setup.restarts, with_faults.setup.losses) = (1, 1, 1);
            specs.push(with_faults);
        }
    }
    specs
}

fn check_with(spec: &CheckSpec, search: Search, threads: usize, reduce: bool) -> CheckRun {
    let mut spec = spec.clone();
    (spec.effort.search, spec.effort.threads, spec.effort.reduce) = (search, threads, reduce);
    run_check(&spec)
}

/// Numbers of states and transitions, and the depth.
type Counts = (u64, u64, u64);

fn counts(pass: Option<&Pass>) -> Option<Counts> {
    pass.map(|pass| (pass.states, pass.generated, pass.depth))
}

/// A property's name, whether it holds, and the journal of its counterexample.
type VerdictRecord = (&'static str, Option<bool>, Vec<u8>);

/// The results that must not depend on threads: counts, verdicts and the journals of
/// counterexamples.
fn comparable_results(run: &CheckRun) -> (Vec<Option<Counts>>, Vec<VerdictRecord>) {
    let Findings { main_pass, past_pass, fair_pass, verdicts, .. } = &run.findings;
    let passes = vec![counts(Some(main_pass)), counts(past_pass.as_ref()), counts(fair_pass.as_ref())];
    let verdicts = verdicts.iter().map(|verdict| {
        let counterexample = verdict.counterexample.as_ref().map(|example| journal(run, example)).unwrap_or_default();
        (verdict.name, verdict.holds, counterexample)
    });
    (passes, verdicts.collect())
}

/// Compares searches with one and with three threads. `reductions` says whether to search with
/// reduction, without, or both.
fn assert_threads_change_nothing(reductions: &[bool]) {
    for spec in small_specs() {
        for &reduce in reductions {
            let with_one_thread = comparable_results(&check_with(&spec, Search::Breadth, 1, reduce));
            let with_three_threads = comparable_results(&check_with(&spec, Search::Breadth, 3, reduce));
            assert!(with_one_thread == with_three_threads, "{} with three threads, reduced: {reduce}", spec.command());
        }
    }
}

#[test]
fn breadth_first_does_not_depend_on_its_threads() {
    assert_threads_change_nothing(&[REDUCED]);
}

#[test]
#[ignore = "long: ./check long"]
fn breadth_first_does_not_depend_on_its_threads_with_reduction_or_without() {
    assert_threads_change_nothing(&[FULL, REDUCED]);
}

/// A level of this search is wide enough for all threads to have work.
#[test]
fn a_wide_search_does_not_depend_on_its_threads() {
    let spec = CheckSpec {
        behavior: RequestKinds { allows_cancels: true, ..RequestKinds::default() },
        ..spec("ricart-agrawala-clock-only", 3, 1)
    };
    for reduce in [FULL, REDUCED] {
        let with_one_thread = comparable_results(&check_with(&spec, Search::Breadth, 1, reduce));
        for threads in [2, 3] {
            assert!(
                with_one_thread == comparable_results(&check_with(&spec, Search::Breadth, threads, reduce)),
                "{threads} threads"
            );
        }
    }
}

#[test]
fn reduction_changes_no_verdict_and_no_counterexample_length() {
    let mut skipped_states = 0;
    for spec in small_specs() {
        let (full, reduced) =
            (check_with(&spec, Search::Breadth, 1, FULL), check_with(&spec, Search::Breadth, 1, REDUCED));
        for (one, other) in full.findings.verdicts.iter().zip(&reduced.findings.verdicts) {
            let length = |verdict: &quorate_check::Verdict| {
                verdict.counterexample.as_ref().map(|example| (example.len(), example.cycle_start()))
            };
            assert_eq!((one.name, one.holds), (other.name, other.holds), "{}", spec.command());
            assert_eq!(length(one), length(other), "{}: {}", spec.command(), one.name);
        }
        assert!(reduced.findings.main_pass.states <= full.findings.main_pass.states);
        skipped_states += full.findings.main_pass.states - reduced.findings.main_pass.states;
    }
    assert!(skipped_states > 1_000, "reduction skipped only {skipped_states} states");
}

/// Compares depth-first searches with a breadth-first one. Each setting is a number of threads, and
/// whether to use reduction.
fn assert_depth_first_agrees(settings: &[(usize, bool)]) {
    for spec in small_specs() {
        let breadth = check_with(&spec, Search::Breadth, 1, FULL);
        for &(threads, reduce) in settings {
            let depth = check_with(&spec, Search::Depth, threads, reduce);
            let case = format!("{} with {threads} threads, reduced: {reduce}", spec.command());
            for (one, other) in breadth.findings.verdicts.iter().zip(&depth.findings.verdicts) {
                if other.holds.is_none() {
                    // Depth-first search leaves only one question open: whether cyclic runs serve
                    // every waiter.
                    assert_eq!((other.name, other.undecided_reason.is_some()), ("served", true), "{case}");
                    continue;
                }
                assert_eq!((one.name, one.holds), (other.name, other.holds), "{case}");
                if let (Some(one), Some(other)) = (&one.counterexample, &other.counterexample) {
                    assert!(one.len() <= other.len(), "{case}: breadth first is shortest");
                    // Real nodes replay the counterexample, and panic if it is not a run of theirs.
                    let _ = journal(&depth, other);
                }
            }
            let states = |run: &CheckRun| run.findings.main_pass.states;
            let transitions = |run: &CheckRun| run.findings.main_pass.generated;
            assert!(states(&depth) <= states(&breadth), "{case}");
            if !reduce {
                assert_eq!((states(&depth), transitions(&depth)), (states(&breadth), transitions(&breadth)), "{case}");
            }
        }
    }
}

#[test]
fn depth_first_finds_the_same_verdicts_and_states() {
    assert_depth_first_agrees(&[(1, FULL), (2, REDUCED)]);
}

#[test]
#[ignore = "long: ./check long"]
fn depth_first_finds_the_same_verdicts_and_states_with_more_settings() {
    assert_depth_first_agrees(&[(1, FULL), (1, REDUCED), (2, REDUCED), (3, FULL)]);
}
