//! Counterexamples are journals that replay, and the replay violates the same property, or `served`
//! where the check found a deadlock.
//!
//! `spec("central", 3, 2)` is a check of three nodes that may request entry twice each.

use crate::check::common::{is_sample, is_small, journal, rounds_for_two_nodes, run_check, spec, with_timing};
use quorate_check::Search;
use quorate_core::Duration;
use quorate_journal::record::Journal;
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use quorate_lab::registry::{Entry, Family, all, fixtures};
use quorate_lab::{LinkChoice, Mutex, replay};
use std::collections::BTreeMap;

/// Replays every counterexample of a check, and adds the violations of each property to
/// `violation_counts`.
pub(crate) fn replay_all(run: &CheckRun, case: &str, violation_counts: &mut BTreeMap<&'static str, usize>) {
    for (verdict, example) in run.violations() {
        let bytes = journal(run, example);
        let mut journal = Journal::open(&bytes[..]).unwrap_or_else(|error| panic!("{case}: {error}"));
        let (replayed, ()) =
            replay::replay::<Mutex, _, _>(&mut journal, ()).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(&replayed.spec, run.spec(), "{case}");
        assert_eq!(replayed.lines, bytes.iter().filter(|byte| **byte == b'\n').count() as u64, "{case}");
        // A replay does not judge 'no-deadlock', but in a deadlock every waiter starves.
        let name = if verdict.name == "no-deadlock" { "served" } else { verdict.name };
        let judged = replayed.verdicts.iter().find(|judged| judged.name == name).unwrap();
        assert!(judged.is_violated(), "{case}: {name} in\n{}", String::from_utf8_lossy(&bytes));
        *violation_counts.entry(verdict.name).or_default() += 1;
    }
}

/// Checks that reveal flaws of a fixture; for a correct algorithm, one with a crash, which it need
/// not survive.
fn revealing_specs(algorithm: &Entry, rounds: u8) -> Vec<CheckSpec> {
    let name = algorithm.name();
    let cancels = CheckSpec {
        behavior: RequestKinds { allows_tries: true, allows_cancels: true, allows_readers: false },
        ..spec(name, 2, rounds)
    };
    let mut fifo = spec(name, 3, 1);
    fifo.setup.has_fifo_links = true;
    let mut lossy = spec(name, 2, rounds);
    (lossy.setup.losses, lossy.setup.duplicates) = (1, 1);
    let mut with_restarts = spec(name, 2, rounds);
    (with_restarts.setup.crashes, with_restarts.setup.restarts, with_restarts.setup.duplicates) = (1, 1, 1);
    let mut with_a_crash = spec(name, 2, 1);
    with_a_crash.setup.crashes = 1;
    let specs = match (algorithm.profile().flaw.is_some(), is_sample(algorithm)) {
        (true, true) => vec![spec(name, 3, 1), cancels, fifo, lossy, with_restarts],
        (true, false) => vec![spec(name, 3, 1), cancels],
        (false, _) => vec![with_a_crash],
    };
    specs.into_iter().filter(|spec| is_small(algorithm, spec.setup.nodes)).collect()
}

/// The number of rounds per node: fewer for Lamport's queues over unordered links, which would
/// otherwise have too many states.
fn affordable_rounds(algorithm: &Entry) -> u8 {
    if algorithm.name() == "lamport-any-order" { 1 } else { rounds_for_two_nodes(algorithm) }
}

/// Replays the counterexamples found in groups whose nodes request entry as often as `rounds` says
/// for the algorithm.
fn assert_counterexamples_replay(rounds: fn(&Entry) -> u8) {
    let mut violation_counts = BTreeMap::new();
    for algorithm in all().iter().chain(fixtures()).filter(|algorithm| algorithm.family() == Family::Mutex) {
        // Other tests show that reduction changes no verdict and no length of a counterexample; a
        // sample is replayed with and without it.
        let reductions: &[bool] = if is_sample(algorithm) { &[false, true] } else { &[true] };
        for mut spec in revealing_specs(algorithm, rounds(algorithm)) {
            for &reduce in reductions {
                spec.effort.reduce = reduce;
                replay_all(&run_check(&spec), &spec.command(), &mut violation_counts);
            }
        }
    }
    for property in ["exclusion", "happened-before-order", "fences-grow", "no-deadlock", "served"] {
        assert!(violation_counts.contains_key(property), "no counterexample violates {property}: {violation_counts:?}");
    }
}

#[test]
fn counterexamples_replay_and_violate_the_same_property() {
    assert_counterexamples_replay(affordable_rounds);
}

#[test]
#[ignore = "long: ./check long"]
fn counterexamples_of_many_rounds_replay_and_violate_the_same_property() {
    assert_counterexamples_replay(rounds_for_two_nodes);
}

/// Replays the counterexamples that random walks find in all small fixtures, and that depth-first
/// search finds in those that `searches_depth_first` accepts.
fn assert_counterexamples_of_other_searches_replay(searches_depth_first: fn(&Entry) -> bool) {
    let mut violation_counts = BTreeMap::new();
    let walks = Search::Walks(quorate_check::Walks { count: 100, steps: 80, seed: 3 });
    for algorithm in fixtures().iter().filter(|algorithm| is_small(algorithm, 3)) {
        for search in searches_depth_first(algorithm).then_some(Search::Depth).into_iter().chain([walks]) {
            let mut spec = CheckSpec {
                behavior: RequestKinds { allows_cancels: true, ..RequestKinds::default() },
                ..spec(algorithm.name(), 3, 1)
            };
            spec.effort.search = search;
            replay_all(&run_check(&spec), &spec.command(), &mut violation_counts);
        }
    }
    assert!(
        violation_counts.contains_key("exclusion") && violation_counts.contains_key("served"),
        "{violation_counts:?}"
    );
}

#[test]
fn counterexamples_of_depth_first_search_and_random_walks_replay_too() {
    assert_counterexamples_of_other_searches_replay(is_sample);
}

#[test]
#[ignore = "long: ./check long"]
fn counterexamples_of_every_depth_first_search_replay_too() {
    assert_counterexamples_of_other_searches_replay(|_| true);
}

#[test]
fn counterexamples_of_unlimited_rounds_replay() {
    let mut violation_counts = BTreeMap::new();
    for toy in ["toy-favourite", "toy-slip", "toy-embrace", "toy-forgetful"] {
        let spec = spec(toy, 3, None);
        replay_all(&run_check(&spec), &spec.command(), &mut violation_counts);
    }
    // A node starves under each of these toys but toy-forgetful, which violates exclusion.
    assert!(violation_counts.get("served").is_some_and(|count| *count == 3), "{violation_counts:?}");
}

#[test]
fn counterexamples_on_clocks_that_drift_replay() {
    let mut violation_counts = BTreeMap::new();
    // A lease lasts one second, and the second toy tolerates a drift of 1,000 ppm.
    for (toy, drift_ppm) in [("toy-lease", 1_000), ("toy-lease-margin", 10_000)] {
        let spec = with_timing(spec(toy, 2, 2), drift_ppm, Duration::from_millis(2_100));
        replay_all(&run_check(&spec), &spec.command(), &mut violation_counts);
    }
    assert_eq!(violation_counts, BTreeMap::from([("exclusion", 2)]));
}

#[test]
fn counterexamples_over_reliable_links_replay() {
    let mut violation_counts = BTreeMap::new();
    for name in ["ricart-agrawala-clock-only", "ricart-agrawala-node-only", "ricart-agrawala-1981"] {
        let mut spec = CheckSpec { links: LinkChoice::Reliable, ..spec(name, 2, 1) };
        (spec.setup.losses, spec.setup.early_timers) = (1, 1);
        replay_all(&run_check(&spec), &spec.command(), &mut violation_counts);
    }
    assert!(violation_counts.contains_key("exclusion"), "{violation_counts:?}");
}
