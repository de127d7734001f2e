//! Simulated ring elections: exact message counts, crashes at every moment, and violated
//! assumptions.

use crate::common::{parse, run, run_to_completion, run_without_violations, sweep_seeds};
use quorate_core::NodeId;
use quorate_core::election::{Preference, Repair, Structure};
use quorate_journal::workload::Ending;
use quorate_lab::FamilyTypes;
use quorate_lab::election::ElectionEntry;
use quorate_lab::election::ElectionError;
use quorate_lab::election::Settings;
use quorate_lab::election::run::{Attribute, RingOrder, Starters};
use quorate_lab::election::survey::{StartChoice, Survey, SurveyResult};
use quorate_lab::registry::all;
use quorate_lab::{Election, LabError, Spec};

fn ring_elections() -> Vec<&'static ElectionEntry> {
    let rings: Vec<_> =
        all().iter().filter_map(Election::entry).filter(|entry| entry.facts.structure == Structure::Ring).collect();
    assert!(rings.len() >= 6);
    rings
}

fn run_survey(entry: &'static ElectionEntry, nodes: usize, start: StartChoice) -> SurveyResult {
    let survey = Survey { entry, nodes, start, samples: 40, seed: 7 };
    survey.run(|| true).unwrap().unwrap()
}

/// Over every order of up to six nodes, the minimum, mean and maximum match the literature, where
/// it gives them.
#[test]
fn small_rings_cost_exactly_what_the_literature_says() {
    for entry in ring_elections() {
        for nodes in 2..=6 {
            for start in StartChoice::ALL {
                let result = run_survey(entry, nodes, start);
                let name = entry.facts.profile.name;
                assert!(result.holds(), "{name}, {nodes} nodes: {:?}", result.failed_command);
                assert_ne!(result.is_as_expected(), Some(false), "{name}, {nodes} nodes, {start:?}: {result:?}");
                assert!(result.is_exhaustive);
            }
        }
    }
}

/// Minimum, mean and maximum number of messages, over all 5,040 orders of a ring of eight. Those of
/// Chang and Roberts are 2n−1, n·Hₙ and n(n+1)/2, those of LeLann n²; the others were counted.
#[test]
fn eight_nodes_cost_the_expected_numbers_of_messages() {
    let expected = [
        ("chang-roberts", 15, 21.742_857, 36),
        ("lelann", 64, 64.0, 64),
        ("hirschberg-sinclair", 64, 80.08, 89),
        ("franklin", 32, 48.05, 64),
        ("peterson", 24, 40.05, 56),
    ];
    for (name, min, mean, max) in expected {
        let entry = ring_elections().into_iter().find(|entry| entry.facts.profile.name == name).unwrap();
        let result = run_survey(entry, 8, StartChoice::All);
        assert_eq!((result.election.min, result.election.max, result.runs), (min, max, 5_040), "{name}");
        assert!((result.election.mean - mean).abs() < 0.005, "{name}: {}", result.election.mean);
    }
}

/// Larger sizes, sampled: no run exceeds a bound, and means match the formulas.
#[test]
fn larger_rings_match_their_formulas() {
    for entry in ring_elections() {
        for nodes in [9, 17, 33] {
            for start in [StartChoice::One, StartChoice::All] {
                let result = run_survey(entry, nodes, start);
                let name = entry.facts.profile.name;
                assert!(
                    result.holds() && result.is_as_expected() == Some(true),
                    "{name}, {nodes}, {start:?}: {result:?}"
                );
                assert!(!result.is_exhaustive && result.counted.margin.is_some());
            }
        }
    }
}

/// The same node wins with any starters, ring order and latency.
#[test]
fn the_result_does_not_depend_on_the_starters() {
    for entry in ring_elections() {
        for (prefer, winner) in [(Preference::Highest, 3), (Preference::Lowest, 5)] {
            for starters in ["lowest", "highest", "all", "successor-of-highest", "2,5", "4"] {
                for (order, latency) in
                    [("numbers", "fixed:1ms"), ("4,2,6,1,3,5", "long-tail:2ms"), ("random", "uniform:1ms..5ms")]
                {
                    let settings = Settings {
                        starters: parse(starters),
                        order: parse(order),
                        prefer,
                        attribute: parse("7,7,9,2,1,3"),
                        ..Settings::default()
                    };
                    let spec = Spec::<Election> {
                        nodes: 6,
                        latency: parse(latency),
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

/// In each run one node crashes in one of the first 14 milliseconds, with or without a restart.
/// With repair, one leader remains.
#[test]
fn a_ring_survives_a_crash_of_any_node_at_any_moment() {
    for entry in ring_elections() {
        for repair in [Repair::Timeout, Repair::Detector] {
            for node in 1..=4 {
                for millis in 0..14 {
                    for restart in ["", " for 2ms", " for 40ms"] {
                        let spec = Spec::<Election> {
                            nodes: 4,
                            latency: parse("fixed:1ms"),
                            faults: vec![parse(&format!("crash {node} at {millis}.5ms{restart}"))],
                            settings: Settings { repair, order: parse("3,1,4,2"), ..Settings::default() },
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

#[test]
fn without_repair_a_crash_blocks_the_ring_and_the_violated_assumption_is_named() {
    for entry in ring_elections() {
        let settings = Settings { repair: Repair::None, ..Settings::default() };
        let faults = vec![parse("crash 4 at 2ms")];
        let spec = Spec::<Election> { nodes: 5, faults, settings, ..Spec::named(entry.facts.profile.name).unwrap() };
        let (_, violation) = sweep_seeds(&spec, 50).first_failure.expect("a run that hangs");
        assert_eq!(violation.name, "agreed", "{}", entry.facts.profile.name);
        assert_eq!(spec.broken_assumptions(), ["no node crashes during an election"]);
        let outcome = run(&spec);
        assert!(outcome.holds() || outcome.ending == Ending::Stuck);
    }
}

#[test]
fn violated_assumptions_are_named() {
    let with_fault = |fault: &str| Spec::<Election> {
        nodes: 5,
        faults: vec![parse(fault)],
        ..Spec::named("chang-roberts").unwrap()
    };
    let fault_free = Spec::<Election> { nodes: 5, ..Spec::named("chang-roberts").unwrap() };
    assert!(fault_free.broken_assumptions().is_empty());
    assert!(with_fault("crash 2 at 3ms for 10ms").broken_assumptions().is_empty());
    assert!(with_fault("cut 1,2 | rest at 2ms for 5ms").broken_assumptions().contains(&"the group is not partitioned"));
    let minority_up = Spec {
        faults: vec![parse("crash 1 at 2ms"), parse("crash 2 at 4ms"), parse("crash 3 at 9ms")],
        ..fault_free.clone()
    };
    assert_eq!(minority_up.broken_assumptions(), ["a majority of the group is up at any time"]);
    let unbounded = Spec {
        latency: parse("long-tail:2ms"),
        settings: Settings { repair: Repair::Timeout, ..Settings::default() },
        ..fault_free.clone()
    };
    assert_eq!(unbounded.broken_assumptions(), ["no delay exceeds the bounds that nodes know"]);
    let lossy = Spec { loss: parse("10%"), links: quorate_lab::LinkChoice::Bare, ..fault_free };
    assert_eq!(lossy.broken_assumptions(), ["links neither lose nor duplicate messages"]);
}

#[test]
fn invalid_orders_and_attributes_are_refused() {
    let spec_with_order = |text: &str| Spec::<Election> {
        nodes: 4,
        settings: Settings { order: parse(text), ..Settings::default() },
        ..Spec::named("chang-roberts").unwrap()
    };
    assert!(spec_with_order("4,1,3,2").validate().is_ok());
    for text in ["1,2,3", "1,2,3,4,5", "1,2,3,3"] {
        assert!(
            matches!(
                spec_with_order(text).validate().err(),
                Some(LabError::Election(ElectionError::InvalidOrder { .. }))
            ),
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
            Spec::<Election> { nodes: 10_000, latency: parse("fixed:1ms"), settings, ..Spec::named(name).unwrap() };
        let outcome = run_to_completion(&spec);
        // 2n − 1 messages from one starter, and 8n(⌈log₂ n⌉ + 1) if all start.
        let bound = if name == "chang-roberts" { 2 * 10_000 - 1 } else { 8 * 10_000 * 15 };
        assert!(outcome.summary.election_messages <= bound);
        assert_eq!(outcome.summary.announcement_messages, 10_000);
    }
}
