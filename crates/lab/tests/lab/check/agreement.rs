//! Verdicts do not depend on the search: with or without reduction, breadth or depth first, with
//! any number of threads.

use crate::check::common::{checked, is_sample, is_small, journal, rounds_for_two_nodes, spec};
use quorate_check::{Findings, Pass, Search};
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use quorate_lab::registry::{Family, all, fixtures};

/// Every algorithm and many fixtures, in groups small enough for many searches.
fn specs() -> Vec<CheckSpec> {
    let mut specs = Vec::new();
    let entries = all().iter().chain(fixtures()).filter(|entry| entry.family() == Family::Mutex);
    for entry in entries.filter(|entry| is_sample(entry)) {
        if is_small(entry, 3) {
            specs.push(spec(entry.name(), 3, 1));
        }
        if is_small(entry, 2) {
            specs.push(CheckSpec {
                behavior: RequestKinds { tries: true, cancels: true, readers: false },
                ..spec(entry.name(), 2, rounds_for_two_nodes(entry))
            });
            let mut crashes = spec(entry.name(), 2, 1);
            (crashes.setup.crashes, crashes.setup.restarts, crashes.setup.losses) = (1, 1, 1);
            specs.push(crashes);
        }
    }
    specs
}

fn with(spec: &CheckSpec, search: Search, threads: usize, reduce: bool) -> CheckRun {
    let mut spec = spec.clone();
    (spec.effort.search, spec.effort.threads, spec.effort.reduce) = (search, threads, reduce);
    checked(&spec)
}

type Counts = (u64, u64, u64);

fn counts(pass: Option<&Pass>) -> Option<Counts> {
    pass.map(|pass| (pass.states, pass.generated, pass.depth))
}

/// A property's name, whether it holds, and the journal of its counterexample.
type VerdictRecord = (&'static str, Option<bool>, Vec<u8>);

/// Returns everything that must not depend on threads: counts, verdicts and the journals of
/// counterexamples.
fn everything(run: &CheckRun) -> (Vec<Option<Counts>>, Vec<VerdictRecord>) {
    let Findings { states, past, fair, verdicts, .. } = &run.findings;
    let passes = vec![counts(Some(states)), counts(past.as_ref()), counts(fair.as_ref())];
    let verdicts = verdicts.iter().map(|verdict| {
        let found = verdict.counterexample.as_ref().map(|example| journal(run, example)).unwrap_or_default();
        (verdict.name, verdict.holds, found)
    });
    (passes, verdicts.collect())
}

/// Compares searches with one and with three threads, with or without reduction.
fn threads_change_nothing(settings: &[bool]) {
    for spec in specs() {
        for &reduce in settings {
            let alone = everything(&with(&spec, Search::Breadth, 1, reduce));
            let together = everything(&with(&spec, Search::Breadth, 3, reduce));
            assert!(alone == together, "{} with three threads, reduced: {reduce}", spec.command());
        }
    }
}

#[test]
fn breadth_first_does_not_depend_on_its_threads() {
    threads_change_nothing(&[true]);
}

#[test]
#[ignore = "long: ./check long"]
fn breadth_first_does_not_depend_on_its_threads_with_reduction_or_without() {
    threads_change_nothing(&[false, true]);
}

/// A level of this search is wide enough for all threads to have work.
#[test]
fn a_wide_search_does_not_depend_on_its_threads() {
    let spec = CheckSpec {
        behavior: RequestKinds { cancels: true, ..RequestKinds::default() },
        ..spec("ricart-agrawala-clock-only", 3, 1)
    };
    for reduce in [false, true] {
        let alone = everything(&with(&spec, Search::Breadth, 1, reduce));
        for threads in [2, 3] {
            assert!(alone == everything(&with(&spec, Search::Breadth, threads, reduce)), "{threads} threads");
        }
    }
}

#[test]
fn reduction_changes_no_verdict_and_no_length() {
    let mut left_out = 0;
    for spec in specs() {
        let (full, reduced) = (with(&spec, Search::Breadth, 1, false), with(&spec, Search::Breadth, 1, true));
        for (one, other) in full.findings.verdicts.iter().zip(&reduced.findings.verdicts) {
            let length = |verdict: &quorate_check::Verdict| {
                verdict.counterexample.as_ref().map(|example| (example.len(), example.cycle()))
            };
            assert_eq!((one.name, one.holds), (other.name, other.holds), "{}", spec.command());
            assert_eq!(length(one), length(other), "{}: {}", spec.command(), one.name);
        }
        assert!(reduced.findings.states.states <= full.findings.states.states);
        left_out += full.findings.states.states - reduced.findings.states.states;
    }
    assert!(left_out > 1_000, "reduction must skip states; skipped {left_out}");
}

/// Compares depth-first searches of these thread counts and reductions with a breadth-first one.
fn depth_first_agrees(settings: &[(usize, bool)]) {
    for spec in specs() {
        let breadth = with(&spec, Search::Breadth, 1, false);
        for &(threads, reduce) in settings {
            let depth = with(&spec, Search::Depth, threads, reduce);
            let what = format!("{} with {threads} threads, reduced: {reduce}", spec.command());
            for (one, other) in breadth.findings.verdicts.iter().zip(&depth.findings.verdicts) {
                if other.holds.is_none() {
                    // Depth-first search leaves only one question open: whether cyclic runs serve
                    // every waiter.
                    assert_eq!((other.name, other.unknown.is_some()), ("served", true), "{what}");
                    continue;
                }
                assert_eq!((one.name, one.holds), (other.name, other.holds), "{what}");
                if let (Some(one), Some(other)) = (&one.counterexample, &other.counterexample) {
                    assert!(one.len() <= other.len(), "{what}: breadth first is shortest");
                    journal(&depth, other);
                }
            }
            let states = |run: &CheckRun| run.findings.states.states;
            let transitions = |run: &CheckRun| run.findings.states.generated;
            assert!(states(&depth) <= states(&breadth), "{what}");
            if !reduce {
                assert_eq!((states(&depth), transitions(&depth)), (states(&breadth), transitions(&breadth)), "{what}");
            }
        }
    }
}

#[test]
fn depth_first_finds_the_same_verdicts_and_states() {
    depth_first_agrees(&[(1, false), (2, true)]);
}

#[test]
#[ignore = "long: ./check long"]
fn depth_first_finds_the_same_verdicts_and_states_with_all_settings() {
    depth_first_agrees(&[(1, false), (1, true), (2, true), (3, false)]);
}
