//! Faulty toy algorithms: each has one seeded bug and a correct twin. The checker must find the bug
//! and accept the twin.
//!
//! `spec("central", 3, 2)` is a check of three nodes that may request entry twice each.

use crate::check::common::{counterexample, list_violations, run_check, spec, verdict, with_timing};
use quorate_check::Counterexample;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use std::collections::BTreeSet;

fn violated_names(run: &CheckRun) -> Vec<&'static str> {
    list_violations(run).into_iter().map(|(name, _)| name).collect()
}

/// Checks of two and three nodes, with a limited and an unlimited number of rounds.
fn small_groups(toy: &str) -> impl Iterator<Item = CheckSpec> + '_ {
    let sizes_and_rounds = [(2, Some(1)), (2, Some(3)), (2, None), (3, Some(1)), (3, Some(2)), (3, None)];
    sizes_and_rounds.into_iter().map(move |(nodes, rounds)| spec(toy, nodes, rounds))
}

fn assert_correct(toy: &str) {
    for spec in small_groups(toy) {
        for cancels in [false, true] {
            let spec = CheckSpec {
                behavior: RequestKinds { allows_cancels: cancels, ..RequestKinds::default() },
                ..spec.clone()
            };
            let run = run_check(&spec);
            assert!(run.is_complete(), "{}", spec.command());
            assert_eq!(list_violations(&run), [], "{}", spec.command());
        }
    }
}

#[test]
fn a_forgetful_arbiter_violates_exclusion() {
    for spec in small_groups("toy-forgetful") {
        let run = run_check(&spec);
        assert_eq!(verdict(&run, "exclusion").holds, Some(false), "{}", spec.command());
        // The arbiter enters; another node requests entry, its request arrives, and the grant
        // arrives.
        assert_eq!(counterexample(&run, "exclusion").len(), 4, "{}", spec.command());
    }
    assert_correct("toy-mindful");
}

#[test]
fn votes_in_either_order_deadlock() {
    for spec in small_groups("toy-embrace") {
        let run = run_check(&spec);
        // While a node can still request entry, 'no-deadlock' holds, but waiters starve.
        assert_eq!(verdict(&run, "served").holds, Some(false), "{}", spec.command());
        assert_eq!(verdict(&run, "exclusion").holds, Some(true), "{}", spec.command());
    }
    // Both nodes request entry and get their own vote; both requests for the other vote arrive.
    let run = run_check(&spec("toy-embrace", 2, 1));
    assert_eq!(list_violations(&run), [("no-deadlock", 4), ("served", 4)]);
    assert_correct("toy-ordered");
}

/// Observes a counterexample that ends in a cycle: which nodes it starves, and how many entries it
/// has.
#[derive(Default)]
struct CycleObserver {
    /// Nodes that wait now.
    waiting: BTreeSet<NodeId>,
    /// Whether the run has reached its cycle.
    is_on_cycle: bool,
    /// Nodes that waited when the cycle began and have not entered since.
    starved: BTreeSet<NodeId>,
    entries_on_cycle: usize,
}

impl Observer<Command, Event> for CycleObserver {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: ObservedInput::Command(Command::Acquire | Command::Try), .. } => {
                self.waiting.insert(*node);
            }
            Moment::Effect { node, effect: ObservedEffect::Emit(Event::Entered { .. }), .. } => {
                self.waiting.remove(node);
                self.starved.remove(node);
                self.entries_on_cycle += usize::from(self.is_on_cycle);
            }
            Moment::World { event: WorldEvent::Changed { text }, .. } if text.contains("repeats forever") => {
                self.is_on_cycle = true;
                self.starved = self.waiting.clone();
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

fn observe_cycle(run: &CheckRun, example: &Counterexample) -> CycleObserver {
    run.replay(example, CycleObserver::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_unfair_arbiter_starves_a_node_while_others_enter() {
    let run = run_check(&spec("toy-favourite", 3, None));
    assert!(run.is_complete());
    assert_eq!(violated_names(&run), ["served"]);
    let example = counterexample(&run, "served");
    assert!(example.cycle_start().is_some_and(|start| start < example.len()));
    let cycle = observe_cycle(&run, example);
    assert!(cycle.is_on_cycle && cycle.entries_on_cycle > 0);
    // The node with the highest number waits throughout, while others enter.
    assert_eq!(cycle.starved, BTreeSet::from([NodeId::from_index(2)]));

    // No node can be overtaken forever if there are two nodes, or a bounded number of rounds.
    assert_eq!(list_violations(&run_check(&spec("toy-favourite", 2, None))), []);
    assert_eq!(list_violations(&run_check(&spec("toy-favourite", 3, 2))), []);
    assert_correct("toy-fair");
}

#[test]
fn an_arbiter_that_forgets_a_request_starves_a_node() {
    for reduce in [false, true] {
        let mut spec = spec("toy-slip", 3, None);
        spec.effort.reduce = reduce;
        let run = run_check(&spec);
        assert!(run.is_complete());
        assert_eq!(violated_names(&run), ["served"]);
        if counterexample(&run, "served").cycle_start().is_some() {
            assert!(!observe_cycle(&run, counterexample(&run, "served")).starved.is_empty());
        }
    }
    let run = run_check(&spec("toy-slip", 3, 1));
    assert_eq!(violated_names(&run), ["no-deadlock", "served"]);
    assert_correct("toy-tidy");
}

/// Nodes, rounds and the time limit of checks of leases of one second: until the first lease has
/// expired, or the next one too.
const LEASES: [(usize, u8, Duration); 3] =
    [(2, 1, Duration::from_millis(2_100)), (2, 2, Duration::from_millis(1_100)), (3, 1, Duration::from_millis(1_050))];

#[test]
fn a_lease_without_a_margin_violates_exclusion_if_clocks_drift() {
    for (nodes, rounds, until) in LEASES {
        let run = run_check(&with_timing(spec("toy-lease", nodes, rounds), 1_000, until));
        assert_eq!(violated_names(&run), ["exclusion"], "{nodes} nodes");
        // A check of bounded time cannot prove a liveness property.
        assert_eq!(verdict(&run, "served").holds, None);
        let run = run_check(&with_timing(spec("toy-lease", nodes, rounds), 0, until));
        assert!(run.findings.is_complete());
        assert_eq!(list_violations(&run), [], "{nodes} nodes");
    }
}

#[test]
fn a_lease_with_a_margin_tolerates_drift_up_to_its_bound() {
    for (nodes, rounds, until) in LEASES {
        for drift_ppm in [0, 1_000] {
            let run = run_check(&with_timing(spec("toy-lease-margin", nodes, rounds), drift_ppm, until));
            assert!(run.findings.is_complete());
            assert_eq!(list_violations(&run), [], "{nodes} nodes at {drift_ppm} ppm");
            assert_eq!(verdict(&run, "exclusion").holds, Some(true));
        }
        let run = run_check(&with_timing(spec("toy-lease-margin", nodes, rounds), 10_000, until));
        assert_eq!(violated_names(&run), ["exclusion"], "{nodes} nodes");
    }
}

/// Before the first lease can expire, no violation is possible.
#[test]
fn a_time_limit_before_the_first_expiry_shows_no_violation() {
    let run = run_check(&with_timing(spec("toy-lease", 3, 1), 1_000, Duration::from_millis(900)));
    assert_eq!(list_violations(&run), []);
}
