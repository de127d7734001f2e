//! Every counterexample is a journal that replays, and the replay violates the same property.

use crate::check::common::{checked, is_sample, is_small, journal, rounds_for_two_nodes, spec, timed};
use quorate_check::Search;
use quorate_core::Duration;
use quorate_journal::record::Journal;
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use quorate_lab::registry::{Entry, Family, all, fixtures};
use quorate_lab::{LinkChoice, Mutex, replay};
use std::collections::BTreeMap;

/// Replays every counterexample, and counts the violations of each property in `violations_seen`.
pub(crate) fn replay_all(run: &CheckRun, what: &str, violations_seen: &mut BTreeMap<&'static str, usize>) {
    for (verdict, example) in run.broken() {
        let bytes = journal(run, example);
        let mut journal = Journal::open(&bytes[..]).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (replayed, ()) =
            replay::replay::<Mutex, _, _>(&mut journal, ()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(&replayed.spec, run.spec(), "{what}");
        assert_eq!(replayed.lines, bytes.iter().filter(|byte| **byte == b'\n').count() as u64, "{what}");
        // In a deadlocked run every waiter starves.
        let name = if verdict.name == "no-deadlock" { "served" } else { verdict.name };
        let found = replayed.verdicts.iter().find(|found| found.name == name).unwrap();
        assert!(found.is_violated(), "{what}: {name} in\n{}", String::from_utf8_lossy(&bytes));
        *violations_seen.entry(verdict.name).or_default() += 1;
    }
}

/// The group settings that reveal every flaw of the fixtures.
fn shapes(entry: &Entry, rounds: u8) -> Vec<CheckSpec> {
    let name = entry.name();
    let cancels =
        CheckSpec { behavior: RequestKinds { tries: true, cancels: true, readers: false }, ..spec(name, 2, rounds) };
    let mut fifo = spec(name, 3, 1);
    fifo.setup.fifo = true;
    let mut lossy = spec(name, 2, rounds);
    (lossy.setup.losses, lossy.setup.duplicates) = (1, 1);
    let mut with_restarts = spec(name, 2, rounds);
    (with_restarts.setup.crashes, with_restarts.setup.restarts, with_restarts.setup.duplicates) = (1, 1, 1);
    // A correct algorithm fails only if there are more faults than it tolerates.
    let mut with_a_crash = spec(name, 2, 1);
    with_a_crash.setup.crashes = 1;
    let shapes = match (entry.profile().flaw.is_some(), is_sample(entry)) {
        (true, true) => vec![spec(name, 3, 1), cancels, fifo, lossy, with_restarts],
        (true, false) => vec![spec(name, 3, 1), cancels],
        (false, _) => vec![with_a_crash],
    };
    shapes.into_iter().filter(|shape| is_small(entry, shape.setup.nodes)).collect()
}

/// Lamport's queues over unordered links have as many states as all others together.
fn few_rounds(entry: &Entry) -> u8 {
    if entry.name() == "lamport-any-order" { 1 } else { rounds_for_two_nodes(entry) }
}

/// Replays the counterexamples found in groups that request entry this often.
fn counterexamples_replay(rounds: fn(&Entry) -> u8) {
    let mut violations_seen = BTreeMap::new();
    for entry in all().iter().chain(fixtures()).filter(|entry| entry.family() == Family::Mutex) {
        // Other tests show that reduction changes no counterexample; a sample is replayed with and
        // without.
        let reductions: &[bool] = if is_sample(entry) { &[false, true] } else { &[true] };
        for mut spec in shapes(entry, rounds(entry)) {
            for &reduce in reductions {
                spec.effort.reduce = reduce;
                replay_all(&checked(&spec), &spec.command(), &mut violations_seen);
            }
        }
    }
    for property in ["exclusion", "happened-before-order", "fences-grow", "no-deadlock", "served"] {
        assert!(violations_seen.contains_key(property), "nothing breaks {property}: {violations_seen:?}");
    }
}

#[test]
fn counterexamples_replay_and_break_the_same_property() {
    counterexamples_replay(few_rounds);
}

#[test]
#[ignore = "long: ./check long"]
fn counterexamples_of_many_rounds_replay_and_break_the_same_property() {
    counterexamples_replay(rounds_for_two_nodes);
}

/// Replays what random walks find in all small fixtures, and depth-first search in some.
fn counterexamples_of_other_searches_replay(deep: fn(&Entry) -> bool) {
    let mut violations_seen = BTreeMap::new();
    let walks = Search::Walks(quorate_check::Walks { count: 100, steps: 80, seed: 3 });
    for entry in fixtures().iter().filter(|entry| is_small(entry, 3)) {
        for search in deep(entry).then_some(Search::Depth).into_iter().chain([walks]) {
            let mut spec = CheckSpec {
                behavior: RequestKinds { cancels: true, ..RequestKinds::default() },
                ..spec(entry.name(), 3, 1)
            };
            spec.effort.search = search;
            replay_all(&checked(&spec), &spec.command(), &mut violations_seen);
        }
    }
    assert!(violations_seen.contains_key("exclusion") && violations_seen.contains_key("served"), "{violations_seen:?}");
}

#[test]
fn counterexamples_of_depth_first_search_and_random_walks_replay_too() {
    counterexamples_of_other_searches_replay(is_sample);
}

#[test]
#[ignore = "long: ./check long"]
fn counterexamples_of_every_depth_first_search_replay_too() {
    counterexamples_of_other_searches_replay(|_| true);
}

#[test]
fn cyclic_counterexamples_replay() {
    let mut violations_seen = BTreeMap::new();
    for toy in ["toy-favourite", "toy-slip", "toy-embrace", "toy-forgetful"] {
        let spec = spec(toy, 3, None);
        replay_all(&checked(&spec), &spec.command(), &mut violations_seen);
    }
    assert!(violations_seen.get("served").is_some_and(|times| *times == 3), "{violations_seen:?}");
}

#[test]
fn counterexamples_on_clocks_that_drift_replay() {
    let mut violations_seen = BTreeMap::new();
    for (toy, drift) in [("toy-lease", 1_000), ("toy-lease-margin", 10_000)] {
        let spec = timed(spec(toy, 2, 2), drift, Duration::from_millis(2_100));
        replay_all(&checked(&spec), &spec.command(), &mut violations_seen);
    }
    assert_eq!(violations_seen, BTreeMap::from([("exclusion", 2)]));
}

#[test]
fn counterexamples_over_reliable_links_replay() {
    let mut violations_seen = BTreeMap::new();
    for name in ["ricart-agrawala-clock-only", "ricart-agrawala-node-only", "ricart-agrawala-1981"] {
        let mut spec = CheckSpec { links: LinkChoice::Reliable, ..spec(name, 2, 1) };
        (spec.setup.losses, spec.setup.early_timers) = (1, 1);
        replay_all(&checked(&spec), &spec.command(), &mut violations_seen);
    }
    assert!(violations_seen.contains_key("exclusion"), "{violations_seen:?}");
}
