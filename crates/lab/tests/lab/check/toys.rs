//! Toy algorithms: each has one seeded bug and a correct twin. The checker must find the bug and
//! accept the twin.

use crate::check::common::{checked, counterexample, spec, timed, verdict, violated};
use quorate_check::Counterexample;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::RequestKinds;
use std::collections::BTreeSet;

fn names(run: &CheckRun) -> Vec<&'static str> {
    violated(run).into_iter().map(|(name, _)| name).collect()
}

/// Two or three nodes, with a limited or unlimited number of rounds: every group that may matter.
fn groups(toy: &str) -> impl Iterator<Item = CheckSpec> + '_ {
    let shapes = [(2, Some(1)), (2, Some(3)), (2, None), (3, Some(1)), (3, Some(2)), (3, None)];
    shapes.into_iter().map(move |(nodes, rounds)| spec(toy, nodes, rounds))
}

fn assert_correct(toy: &str) {
    for spec in groups(toy) {
        for cancels in [false, true] {
            let spec = CheckSpec { behavior: RequestKinds { cancels, ..RequestKinds::default() }, ..spec.clone() };
            let run = checked(&spec);
            assert!(run.is_complete(), "{}", spec.command());
            assert_eq!(violated(&run), [], "{}", spec.command());
        }
    }
}

#[test]
fn a_forgetful_arbiter_violates_exclusion() {
    for spec in groups("toy-forgetful") {
        let run = checked(&spec);
        assert_eq!(verdict(&run, "exclusion").holds, Some(false), "{}", spec.command());
        // The arbiter enters; another node requests entry, its request arrives, and the grant
        // arrives.
        assert_eq!(counterexample(&run, "exclusion").len(), 4, "{}", spec.command());
    }
    assert_correct("toy-mindful");
}

#[test]
fn votes_in_either_order_deadlock() {
    for spec in groups("toy-embrace") {
        let run = checked(&spec);
        // While a node can still request entry there is no deadlock, but no waiter is ever served.
        assert_eq!(verdict(&run, "served").holds, Some(false), "{}", spec.command());
        assert_eq!(verdict(&run, "exclusion").holds, Some(true), "{}", spec.command());
    }
    let run = checked(&spec("toy-embrace", 2, 1));
    assert_eq!(violated(&run), [("no-deadlock", 4), ("served", 4)]);
    assert_correct("toy-ordered");
}

/// Waiting nodes and entries before and on the cycle.
#[derive(Default)]
struct Rounds {
    waiting: BTreeSet<NodeId>,
    on_cycle: bool,
    /// Nodes that waited when the cycle began and have not entered since.
    starved: BTreeSet<NodeId>,
    entries: usize,
}

impl Observer<Command, Event> for Rounds {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: ObservedInput::Command(Command::Acquire | Command::Try), .. } => {
                self.waiting.insert(*node);
            }
            Moment::Effect { node, effect: ObservedEffect::Emit(Event::Entered { .. }), .. } => {
                self.waiting.remove(node);
                self.starved.remove(node);
                self.entries += usize::from(self.on_cycle);
            }
            Moment::World { event: WorldEvent::Changed { text }, .. } if text.contains("repeats forever") => {
                self.on_cycle = true;
                self.starved = self.waiting.clone();
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

fn rounds(run: &CheckRun, example: &Counterexample) -> Rounds {
    run.show(example, Rounds::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_unfair_arbiter_starves_a_node_while_others_enter() {
    let run = checked(&spec("toy-favourite", 3, None));
    assert!(run.is_complete());
    assert_eq!(names(&run), ["served"]);
    let example = counterexample(&run, "served");
    assert!(example.cycle().is_some_and(|start| start < example.len()));
    let rounds = rounds(&run, example);
    assert!(rounds.on_cycle && rounds.entries > 0);
    // The node with the highest number waits throughout; the others take turns.
    assert_eq!(rounds.starved, BTreeSet::from([NodeId::from_index(2)]));

    // With two nodes no node can be overtaken forever, nor in a bounded number of rounds.
    assert_eq!(violated(&checked(&spec("toy-favourite", 2, None))), []);
    assert_eq!(violated(&checked(&spec("toy-favourite", 3, 2))), []);
    assert_correct("toy-fair");
}

#[test]
fn an_arbiter_that_forgets_a_request_starves_a_node() {
    for reduce in [false, true] {
        let mut spec = spec("toy-slip", 3, None);
        spec.effort.reduce = reduce;
        let run = checked(&spec);
        assert!(run.is_complete());
        assert_eq!(names(&run), ["served"]);
        if counterexample(&run, "served").cycle().is_some() {
            assert!(!rounds(&run, counterexample(&run, "served")).starved.is_empty());
        }
    }
    let run = checked(&spec("toy-slip", 3, 1));
    assert_eq!(names(&run), ["no-deadlock", "served"]);
    assert_correct("toy-tidy");
}

/// Groups with leases, and the time limit: until the first lease expires, or the next one too.
const LEASES: [(usize, u8, Duration); 3] =
    [(2, 1, Duration::from_millis(2_100)), (2, 2, Duration::from_millis(1_100)), (3, 1, Duration::from_millis(1_050))];

#[test]
fn a_lease_without_a_margin_violates_exclusion_if_clocks_drift() {
    for (nodes, rounds, until) in LEASES {
        let run = checked(&timed(spec("toy-lease", nodes, rounds), 1_000, until));
        assert_eq!(names(&run), ["exclusion"], "{nodes} nodes");
        // A bounded time cannot decide a liveness property.
        assert_eq!(verdict(&run, "served").holds, None);
        let run = checked(&timed(spec("toy-lease", nodes, rounds), 0, until));
        assert!(run.findings.is_complete());
        assert_eq!(violated(&run), [], "{nodes} nodes");
    }
}

#[test]
fn a_lease_with_a_margin_tolerates_drift_up_to_its_bound() {
    for (nodes, rounds, until) in LEASES {
        for drift in [0, 1_000] {
            let run = checked(&timed(spec("toy-lease-margin", nodes, rounds), drift, until));
            assert!(run.findings.is_complete());
            assert_eq!(violated(&run), [], "{nodes} nodes at {drift} ppm");
            assert_eq!(verdict(&run, "exclusion").holds, Some(true));
        }
        let run = checked(&timed(spec("toy-lease-margin", nodes, rounds), 10_000, until));
        assert_eq!(names(&run), ["exclusion"], "{nodes} nodes");
    }
}

/// Before the first lease can expire, no violation is possible.
#[test]
fn a_time_limit_before_the_first_expiry_shows_no_violation() {
    let run = checked(&timed(spec("toy-lease", 3, 1), 1_000, Duration::from_millis(900)));
    assert_eq!(violated(&run), []);
}
