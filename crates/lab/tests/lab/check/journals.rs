//! Every counterexample is a journal that replays, and the replay shows the same property broken.

use crate::check::common::{checked, is_sample, is_small, journal, rounds_of_two, spec, timed};
use quorate_check::Search;
use quorate_core::Duration;
use quorate_journal::record::Journal;
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::Requests;
use quorate_lab::registry::{Entry, Family, all, fixtures};
use quorate_lab::{LinkChoice, Mutex, replay};
use std::collections::BTreeMap;

/// Replays every counterexample, and tells what was broken how often.
pub(crate) fn replay_all(run: &CheckRun, what: &str, seen: &mut BTreeMap<&'static str, usize>) {
    for (verdict, example) in run.broken() {
        let bytes = journal(run, example);
        let mut journal = Journal::open(&bytes[..]).unwrap_or_else(|error| panic!("{what}: {error}"));
        let (replayed, ()) =
            replay::replay::<Mutex, _, _>(&mut journal, ()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(&replayed.spec, run.spec(), "{what}");
        assert_eq!(replayed.lines, bytes.iter().filter(|byte| **byte == b'\n').count() as u64, "{what}");
        // A run that is stuck starves whoever waits.
        let name = if verdict.name == "no-deadlock" { "served" } else { verdict.name };
        let found = replayed.verdicts.iter().find(|found| found.name == name).unwrap();
        assert!(found.is_breach(), "{what}: {name} in\n{}", String::from_utf8_lossy(&bytes));
        *seen.entry(verdict.name).or_default() += 1;
    }
}

/// The shapes of groups that show everything that fixtures do wrong.
fn shapes(entry: &Entry, rounds: u8) -> Vec<CheckSpec> {
    let name = entry.name();
    let cancels =
        CheckSpec { habits: Requests { tries: true, cancels: true, readers: false }, ..spec(name, 2, rounds) };
    let mut fifo = spec(name, 3, 1);
    fifo.setup.fifo = true;
    let mut lossy = spec(name, 2, rounds);
    (lossy.setup.losses, lossy.setup.duplicates) = (1, 1);
    let mut rough = spec(name, 2, rounds);
    (rough.setup.crashes, rough.setup.restarts, rough.setup.duplicates) = (1, 1, 1);
    // What is right shows its limits where more goes wrong than it stands.
    let mut hurt = spec(name, 2, 1);
    hurt.setup.crashes = 1;
    let shapes = match (entry.profile().flaw.is_some(), is_sample(entry)) {
        (true, true) => vec![spec(name, 3, 1), cancels, fifo, lossy, rough],
        (true, false) => vec![spec(name, 3, 1), cancels],
        (false, _) => vec![hurt],
    };
    shapes.into_iter().filter(|shape| is_small(entry, shape.setup.nodes)).collect()
}

/// What links that keep no order do to Lamport's queues takes as long as all else together.
fn few_rounds(entry: &Entry) -> u8 {
    if entry.name() == "lamport-any-order" { 1 } else { rounds_of_two(entry) }
}

/// Replays what is found in groups that ask so often.
fn counterexamples_replay(rounds: fn(&Entry) -> u8) {
    let mut seen = BTreeMap::new();
    for entry in all().iter().chain(fixtures()).filter(|entry| entry.family() == Family::Mutex) {
        // That reduction changes no counterexample has tests of its own; a sample is replayed both ways.
        let ways: &[bool] = if is_sample(entry) { &[false, true] } else { &[true] };
        for mut spec in shapes(entry, rounds(entry)) {
            for &reduce in ways {
                spec.effort.reduce = reduce;
                replay_all(&checked(&spec), &spec.command(), &mut seen);
            }
        }
    }
    for property in ["exclusion", "happened-before-order", "fences-grow", "no-deadlock", "served"] {
        assert!(seen.contains_key(property), "nothing breaks {property}: {seen:?}");
    }
}

#[test]
fn counterexamples_replay_and_break_the_same_property() {
    counterexamples_replay(few_rounds);
}

#[test]
#[ignore = "long: ./check long"]
fn counterexamples_of_many_rounds_replay_and_break_the_same_property() {
    counterexamples_replay(rounds_of_two);
}

/// Goes at random through all that is small, and depth first through these.
fn found_in_other_ways_they_replay(deep: fn(&Entry) -> bool) {
    let mut seen = BTreeMap::new();
    let walks = Search::Walks(quorate_check::Walks { count: 100, steps: 80, seed: 3 });
    for entry in fixtures().iter().filter(|entry| is_small(entry, 3)) {
        for search in deep(entry).then_some(Search::Depth).into_iter().chain([walks]) {
            let mut spec =
                CheckSpec { habits: Requests { cancels: true, ..Requests::default() }, ..spec(entry.name(), 3, 1) };
            spec.effort.search = search;
            replay_all(&checked(&spec), &spec.command(), &mut seen);
        }
    }
    assert!(seen.contains_key("exclusion") && seen.contains_key("served"), "{seen:?}");
}

#[test]
fn counterexamples_of_depth_first_search_and_random_walks_replay_too() {
    found_in_other_ways_they_replay(is_sample);
}

#[test]
#[ignore = "long: ./check long"]
fn counterexamples_of_every_depth_first_search_replay_too() {
    found_in_other_ways_they_replay(|_| true);
}

#[test]
fn counterexamples_that_go_round_for_ever_replay() {
    let mut seen = BTreeMap::new();
    for toy in ["toy-favourite", "toy-slip", "toy-embrace", "toy-forgetful"] {
        let spec = spec(toy, 3, None);
        replay_all(&checked(&spec), &spec.command(), &mut seen);
    }
    assert!(seen.get("served").is_some_and(|times| *times == 3), "{seen:?}");
}

#[test]
fn counterexamples_on_clocks_that_drift_replay() {
    let mut seen = BTreeMap::new();
    for (toy, drift) in [("toy-lease", 1_000), ("toy-lease-margin", 10_000)] {
        let spec = timed(spec(toy, 2, 2), drift, Duration::from_millis(2_100));
        replay_all(&checked(&spec), &spec.command(), &mut seen);
    }
    assert_eq!(seen, BTreeMap::from([("exclusion", 2)]));
}

#[test]
fn counterexamples_over_reliable_links_replay() {
    let mut seen = BTreeMap::new();
    for name in ["ricart-agrawala-clock-only", "ricart-agrawala-node-only", "ricart-agrawala-1981"] {
        let mut spec = CheckSpec { links: LinkChoice::Reliable, ..spec(name, 2, 1) };
        (spec.setup.losses, spec.setup.hasty_timers) = (1, 1);
        replay_all(&checked(&spec), &spec.command(), &mut seen);
    }
    assert!(seen.contains_key("exclusion"), "{seen:?}");
}
