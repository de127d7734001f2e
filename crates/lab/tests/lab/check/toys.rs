//! Toys: each has one flaw, and a twin without it. The one is caught, the other is not.

use crate::check::common::{broken, checked, example, spec, timed, verdict};
use quorate_check::Counterexample;
use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::{Done, Happening, Moment, Observer, Taken};
use quorate_lab::check::{CheckRun, CheckSpec};
use quorate_lab::mutex::check::Requests;
use std::collections::BTreeSet;

fn names(run: &CheckRun) -> Vec<&'static str> {
    broken(run).into_iter().map(|(name, _)| name).collect()
}

/// Two or three nodes, some rounds or for ever: everything that may matter of a group of toys.
fn groups(toy: &str) -> impl Iterator<Item = CheckSpec> + '_ {
    let shapes = [(2, Some(1)), (2, Some(3)), (2, None), (3, Some(1)), (3, Some(2)), (3, None)];
    shapes.into_iter().map(move |(nodes, rounds)| spec(toy, nodes, rounds))
}

fn stands(toy: &str) {
    for spec in groups(toy) {
        for cancels in [false, true] {
            let spec = CheckSpec { habits: Requests { cancels, ..Requests::default() }, ..spec.clone() };
            let run = checked(&spec);
            assert!(run.is_complete(), "{}", spec.command());
            assert_eq!(broken(&run), [], "{}", spec.command());
        }
    }
}

#[test]
fn an_arbiter_that_forgets_lets_two_in() {
    for spec in groups("toy-forgetful") {
        let run = checked(&spec);
        assert_eq!(verdict(&run, "exclusion").holds, Some(false), "{}", spec.command());
        // The arbiter enters; another one asks, is heard, and hears.
        assert_eq!(example(&run, "exclusion").len(), 4, "{}", spec.command());
    }
    stands("toy-mindful");
}

#[test]
fn votes_in_either_order_end_in_an_embrace() {
    for spec in groups("toy-embrace") {
        let run = checked(&spec);
        // Where somebody can still ask, nothing is over; but nobody who waits is ever served.
        assert_eq!(verdict(&run, "served").holds, Some(false), "{}", spec.command());
        assert_eq!(verdict(&run, "exclusion").holds, Some(true), "{}", spec.command());
    }
    let run = checked(&spec("toy-embrace", 2, 1));
    assert_eq!(broken(&run), [("no-deadlock", 4), ("served", 4)]);
    stands("toy-ordered");
}

/// Who waits, who enters and who leaves, before the cycle and on it.
#[derive(Default)]
struct Rounds {
    waiting: BTreeSet<NodeId>,
    on_cycle: bool,
    /// Those who waited when the cycle began, and have not entered since.
    starved: BTreeSet<NodeId>,
    entries: usize,
}

impl Observer<Command, Event> for Rounds {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: Taken::Command(Command::Acquire | Command::Try), .. } => {
                self.waiting.insert(*node);
            }
            Moment::Effect { node, effect: Done::Emit(Event::Entered { .. }), .. } => {
                self.waiting.remove(node);
                self.starved.remove(node);
                self.entries += usize::from(self.on_cycle);
            }
            Moment::World { what: Happening::Changed { text }, .. } if text.contains("repeats for ever") => {
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
fn an_arbiter_with_favourites_starves_a_node_while_others_come_and_go() {
    let run = checked(&spec("toy-favourite", 3, None));
    assert!(run.is_complete());
    assert_eq!(names(&run), ["served"]);
    let example = example(&run, "served");
    assert!(example.cycle().is_some_and(|start| start < example.len()));
    let rounds = rounds(&run, example);
    assert!(rounds.on_cycle && rounds.entries > 0);
    // The one with the highest number waits throughout; the others take turns.
    assert_eq!(rounds.starved, BTreeSet::from([NodeId::from_index(2)]));

    // With two nodes nobody can be overtaken for ever, and in a bounded number of rounds nobody at all.
    assert_eq!(broken(&checked(&spec("toy-favourite", 2, None))), []);
    assert_eq!(broken(&checked(&spec("toy-favourite", 3, 2))), []);
    stands("toy-fair");
}

#[test]
fn an_arbiter_that_slips_starves_a_node_by_paths_that_meet() {
    for reduce in [false, true] {
        let mut spec = spec("toy-slip", 3, None);
        spec.effort.reduce = reduce;
        let run = checked(&spec);
        assert!(run.is_complete());
        assert_eq!(names(&run), ["served"]);
        if example(&run, "served").cycle().is_some() {
            assert!(!rounds(&run, example(&run, "served")).starved.is_empty());
        }
    }
    let run = checked(&spec("toy-slip", 3, 1));
    assert_eq!(names(&run), ["no-deadlock", "served"]);
    stands("toy-tidy");
}

/// Groups with leases, and how far they are followed: till the first lease is over, or the next one too.
const LEASES: [(usize, u8, Duration); 3] =
    [(2, 1, Duration::from_millis(2_100)), (2, 2, Duration::from_millis(1_100)), (3, 1, Duration::from_millis(1_050))];

#[test]
fn a_lease_without_a_margin_lets_two_in_if_clocks_drift() {
    for (nodes, rounds, until) in LEASES {
        let run = checked(&timed(spec("toy-lease", nodes, rounds), 1_000, until));
        assert_eq!(names(&run), ["exclusion"], "{nodes} nodes");
        // Nobody judges by a bounded time what happens sooner or later.
        assert_eq!(verdict(&run, "served").holds, None);
        let run = checked(&timed(spec("toy-lease", nodes, rounds), 0, until));
        assert!(run.findings.is_complete());
        assert_eq!(broken(&run), [], "{nodes} nodes");
    }
}

#[test]
fn a_lease_with_a_margin_stands_drift_up_to_its_bound() {
    for (nodes, rounds, until) in LEASES {
        for drift in [0, 1_000] {
            let run = checked(&timed(spec("toy-lease-margin", nodes, rounds), drift, until));
            assert!(run.findings.is_complete());
            assert_eq!(broken(&run), [], "{nodes} nodes at {drift} ppm");
            assert_eq!(verdict(&run, "exclusion").holds, Some(true));
        }
        let run = checked(&timed(spec("toy-lease-margin", nodes, rounds), 10_000, until));
        assert_eq!(names(&run), ["exclusion"], "{nodes} nodes");
    }
}

/// Before the first lease can end nothing can go wrong.
#[test]
fn a_horizon_too_near_shows_nothing() {
    let run = checked(&timed(spec("toy-lease", 3, 1), 1_000, Duration::from_millis(900)));
    assert_eq!(broken(&run), []);
}
