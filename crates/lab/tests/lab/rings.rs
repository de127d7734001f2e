//! Simulated ring elections: exact message counts, crashes at every moment, and violated
//! assumptions.

use crate::common::{parsed, run, run_to_completion, run_without_violations, sweep_all};
use quorate_core::NodeId;
use quorate_core::election::{Prefer, Repair, Shape};
use quorate_journal::workload::Ending;
use quorate_lab::FamilyTypes;
use quorate_lab::election::ElectionEntry;
use quorate_lab::election::ElectionError;
use quorate_lab::election::Settings;
use quorate_lab::election::run::{Attribute, RingOrder, Starters};
use quorate_lab::election::survey::{Start, Survey, SurveyResult};
use quorate_lab::registry::all;
use quorate_lab::{Election, LabError, Spec};

fn rings() -> Vec<&'static ElectionEntry> {
    let rings: Vec<_> =
        all().iter().filter_map(Election::entry).filter(|entry| entry.facts.shape == Shape::Ring).collect();
    assert!(rings.len() >= 6);
    rings
}

fn survey(entry: &'static ElectionEntry, nodes: usize, start: Start) -> SurveyResult {
    let survey = Survey { entry, nodes, start, samples: 40, seed: 7 };
    survey.run(|| true).unwrap().unwrap()
}

/// Every order of up to six nodes, each starter and all of them: minimum, mean and maximum match
/// the literature.
#[test]
fn small_rings_cost_exactly_what_the_literature_says() {
    for entry in rings() {
        for nodes in 2..=6 {
            for start in Start::ALL {
                let result = survey(entry, nodes, start);
                let name = entry.facts.profile.name;
                assert!(result.holds(), "{name}, {nodes} nodes: {:?}", result.failed);
                assert_ne!(result.is_as_expected(), Some(false), "{name}, {nodes} nodes, {start:?}: {result:?}");
                assert!(result.exhaustive);
            }
        }
    }
}

/// The figures of the table for eight nodes, over all 5,040 orders.
#[test]
fn eight_nodes_cost_what_the_table_says() {
    let expected = [
        ("chang-roberts", 15, 21.742_857, 36),
        ("lelann", 64, 64.0, 64),
        ("hirschberg-sinclair", 64, 80.08, 89),
        ("franklin", 32, 48.05, 64),
        ("peterson", 24, 40.05, 56),
    ];
    for (name, min, mean, max) in expected {
        let entry = rings().into_iter().find(|entry| entry.facts.profile.name == name).unwrap();
        let result = survey(entry, 8, Start::All);
        assert_eq!((result.election.min, result.election.max, result.runs), (min, max, 5_040), "{name}");
        assert!((result.election.mean - mean).abs() < 0.005, "{name}: {}", result.election.mean);
    }
}

/// Larger sizes, sampled: no run exceeds a bound, and means match the formulas.
#[test]
fn larger_rings_match_their_formulas() {
    for entry in rings() {
        for nodes in [9, 17, 33] {
            for start in [Start::One, Start::All] {
                let result = survey(entry, nodes, start);
                let name = entry.facts.profile.name;
                assert!(
                    result.holds() && result.is_as_expected() == Some(true),
                    "{name}, {nodes}, {start:?}: {result:?}"
                );
                assert!(!result.exhaustive && result.counted.margin.is_some());
            }
        }
    }
}

/// The same node wins whatever the starters, the order, the attributes and the link speeds.
#[test]
fn the_result_does_not_depend_on_the_starters() {
    for entry in rings() {
        for (prefer, winner) in [(Prefer::Highest, 3), (Prefer::Lowest, 5)] {
            for starters in ["lowest", "highest", "all", "successor-of-highest", "2,5", "4"] {
                for (order, latency) in
                    [("numbers", "fixed:1ms"), ("4,2,6,1,3,5", "long-tail:2ms"), ("random", "uniform:1ms..5ms")]
                {
                    let settings = Settings {
                        starters: parsed(starters),
                        order: parsed(order),
                        prefer,
                        attribute: parsed("7,7,9,2,1,3"),
                        ..Settings::default()
                    };
                    let spec = Spec::<Election> {
                        nodes: 6,
                        latency: parsed(latency),
                        settings,
                        ..Spec::named(entry.facts.profile.name).unwrap()
                    };
                    let outcome = run_without_violations(&spec);
                    assert_eq!(outcome.summary.leader.map(NodeId::number), Some(winner), "{}", spec.command("sim"));
                    assert_eq!(outcome.summary.rounds, 1);
                }
            }
        }
    }
}

/// Crashes of every node at every millisecond of a run, with and without a restart: with repair,
/// one leader remains.
#[test]
fn a_ring_survives_a_crash_of_any_node_at_any_moment() {
    for entry in rings() {
        for repair in [Repair::Timeout, Repair::Detector] {
            for node in 1..=4 {
                for millis in 0..14 {
                    for restart in ["", " for 2ms", " for 40ms"] {
                        let spec = Spec::<Election> {
                            nodes: 4,
                            latency: parsed("fixed:1ms"),
                            faults: vec![parsed(&format!("crash {node} at {millis}.5ms{restart}"))],
                            settings: Settings { repair, order: parsed("3,1,4,2"), ..Settings::default() },
                            ..Spec::named(entry.facts.profile.name).unwrap()
                        };
                        let outcome = run_without_violations(&spec);
                        let expected = if node == 4 && restart.is_empty() { 3 } else { 4 };
                        assert_eq!(
                            outcome.summary.leader.map(NodeId::number),
                            Some(expected),
                            "{}",
                            spec.command("sim")
                        );
                    }
                }
            }
        }
    }
}

/// Without repair, the sweep finds the run that hangs, and the experiment names the violated
/// assumption.
#[test]
fn without_repair_a_crash_blocks_the_ring_and_the_sweep_names_the_assumption() {
    for entry in rings() {
        let settings = Settings { repair: Repair::None, ..Settings::default() };
        let faults = vec![parsed("crash 4 at 2ms")];
        let spec = Spec::<Election> { nodes: 5, faults, settings, ..Spec::named(entry.facts.profile.name).unwrap() };
        let (_, violation) = sweep_all(&spec, 50).first_failure.expect("a run that hangs");
        assert_eq!(violation.name, "agreed", "{}", entry.facts.profile.name);
        assert_eq!(spec.broken_assumptions(), ["no node crashes during an election"]);
        let outcome = run(&spec);
        assert!(outcome.holds() || outcome.ending == Ending::Stuck);
    }
}

#[test]
fn violated_assumptions_are_named() {
    let with = |fault: &str| Spec::<Election> {
        nodes: 5,
        faults: vec![parsed(fault)],
        ..Spec::named("chang-roberts").unwrap()
    };
    let fault_free = Spec::<Election> { nodes: 5, ..Spec::named("chang-roberts").unwrap() };
    assert!(fault_free.broken_assumptions().is_empty());
    assert!(with("crash 2 at 3ms for 10ms").broken_assumptions().is_empty());
    assert!(with("cut 1,2 | rest at 2ms for 5ms").broken_assumptions().contains(&"the group is not partitioned"));
    let minority_up = Spec {
        faults: vec![parsed("crash 1 at 2ms"), parsed("crash 2 at 4ms"), parsed("crash 3 at 9ms")],
        ..fault_free.clone()
    };
    assert_eq!(minority_up.broken_assumptions(), ["a majority of the group is up at any time"]);
    let unbounded = Spec {
        latency: parsed("long-tail:2ms"),
        settings: Settings { repair: Repair::Timeout, ..Settings::default() },
        ..fault_free.clone()
    };
    assert_eq!(unbounded.broken_assumptions(), ["no delay exceeds the bounds that nodes know"]);
    let lossy = Spec { loss: parsed("10%"), links: quorate_lab::LinkChoice::Bare, ..fault_free };
    assert_eq!(lossy.broken_assumptions(), ["links neither lose nor duplicate messages"]);
}

#[test]
fn invalid_orders_and_attributes_are_refused() {
    let order = |text: &str| Spec::<Election> {
        nodes: 4,
        settings: Settings { order: parsed(text), ..Settings::default() },
        ..Spec::named("chang-roberts").unwrap()
    };
    assert!(order("4,1,3,2").validate().is_ok());
    for text in ["1,2,3", "1,2,3,4,5", "1,2,3,3"] {
        assert!(
            matches!(order(text).validate().err(), Some(LabError::Election(ElectionError::InvalidOrder { .. }))),
            "{text}"
        );
    }
    let settings = Settings { attribute: Attribute::Given(vec![1, 2]), ..Settings::default() };
    let too_few = Spec::<Election> { nodes: 4, settings, ..Spec::named("chang-roberts").unwrap() };
    assert!(matches!(
        too_few.validate().err(),
        Some(LabError::Election(ElectionError::WrongAttributeCount { given: 2, nodes: 4 }))
    ));
}

/// A ring of ten thousand nodes in random order, so that neighbours of every relative rank occur.
#[test]
fn a_long_ring_elects_within_its_bound() {
    for name in ["hirschberg-sinclair", "chang-roberts"] {
        let starters = if name == "chang-roberts" { Starters::SuccessorOfHighest } else { Starters::All };
        let settings = Settings { starters, order: RingOrder::Random, ..Settings::default() };
        let spec =
            Spec::<Election> { nodes: 10_000, latency: parsed("fixed:1ms"), settings, ..Spec::named(name).unwrap() };
        let outcome = run_to_completion(&spec);
        let bound = if name == "chang-roberts" { 2 * 10_000 - 1 } else { 8 * 10_000 * 15 };
        assert!(outcome.summary.election_messages <= bound);
        assert_eq!(outcome.summary.announcement_messages, 10_000);
    }
}
