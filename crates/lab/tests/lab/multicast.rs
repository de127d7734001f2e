//! Sweeps of ordered multicasts with faults: the algorithms violate no property, and seeded bugs
//! are found.

use crate::common::{assert_every_seed_holds, sweep_seeds};
use quorate_core::Duration;
use quorate_core::multicast::Delivery;
use quorate_journal::settings::{Latency, TimedFault};
use quorate_lab::FamilyTypes;
use quorate_lab::RunFamily;
use quorate_lab::multicast::MulticastEntry;
use quorate_lab::multicast::{Settings, ViewSettings};
use quorate_lab::registry::{Entry, Family, all, find, fixtures};
use quorate_lab::sweep::PropertyTally;
use quorate_lab::{Multicast, Spec};

fn algorithms() -> impl Iterator<Item = &'static MulticastEntry> {
    all().iter().filter_map(Multicast::entry)
}

fn assert_each_holds(specs: Vec<Spec<Multicast>>, seeds: u64) {
    specs.iter().for_each(|spec| assert_every_seed_holds(spec, seeds));
}

/// A sample of what `quorate sweep --family multicast --seeds 100000` tries.
#[test]
fn in_a_static_group_every_member_delivers_everything_in_order() {
    assert!(algorithms().count() >= 10);
    algorithms().for_each(|entry| assert_each_holds(Multicast::stress_specs(entry), 20));
}

/// A sample of what `quorate sweep --family multicast --views --seeds 100000` tries.
#[test]
fn survivors_of_any_faults_deliver_the_same() {
    algorithms().for_each(|entry| assert_each_holds(Multicast::stress_specs_in_views(entry), 4));
}

#[test]
#[ignore = "long: ./check long"]
fn survivors_of_any_faults_deliver_the_same_over_many_seeds() {
    algorithms().for_each(|entry| assert_each_holds(Multicast::stress_specs_in_views(entry), 12));
}

/// Faulty variants, and the property that each one violates.
#[test]
fn every_seeded_bug_is_found() {
    let expected = [
        ("basic-deaf", "validity"),
        ("reliable-unrelayed", "agreement"),
        ("fifo-hasty", "fifo"),
        ("causal-blind", "causal"),
        ("sequencer-hasty", "total"),
        ("isis-hasty", "total"),
        ("uniform-hasty", "uniform"),
    ];
    let names = fixtures().iter().filter(|entry| entry.family() == Family::Multicast).map(Entry::name);
    assert_eq!(names.collect::<Vec<_>>(), expected.map(|(name, _)| name));
    for (name, property) in expected {
        let entry = find(name).and_then(Multicast::entry).unwrap();
        // Without views, the sender's retransmissions would hide the bug of `reliable-unrelayed`
        // unless the sender crashes.
        let faults: Vec<TimedFault> = vec!["crash 1 at 10ms".parse().unwrap()];
        let with_crash = Multicast::stress_specs(entry).into_iter().map(|spec| Spec { faults: faults.clone(), ..spec });
        let specs =
            Multicast::stress_specs(entry).into_iter().chain(with_crash).chain(Multicast::stress_specs_in_views(entry));
        let specs: Vec<_> = specs.collect();
        let is_found_by = |seeds| {
            let is_violated = |tally: &PropertyTally| tally.name == property && tally.held_seeds < seeds;
            specs.iter().any(|spec| sweep_seeds(spec, seeds).properties.iter().any(is_violated))
        };
        // Three seeds reveal most of the bugs, and save the time of a longer sweep.
        assert!(is_found_by(3) || is_found_by(40), "{name} does not break {property}");
    }
}

/// One member misses the multicasts of a sender for some time, in which this sender crashes. Node 1
/// is also the sequencer, if the algorithm has one.
fn assert_missed_multicasts_are_recovered(seeds: u64) {
    for entry in algorithms() {
        for (crashed, receiver) in [(1, 3), (2, 4), (1, 2)] {
            for delivery in [Delivery::Prompt, Delivery::Uniform] {
                let faults = [format!("cut {crashed}>{receiver} at 2ms for 60ms"), format!("crash {crashed} at 40ms")];
                let settings = Settings {
                    messages: 30,
                    interval: Some(Latency::Uniform { min: Duration::ZERO, max: Duration::from_millis(8) }),
                    delivery,
                    views: Some(ViewSettings::default()),
                    ..Settings::default()
                };
                let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
                assert_every_seed_holds(&Spec::<Multicast> { nodes: 4, faults, settings, ..Spec::new(entry) }, seeds);
            }
        }
    }
}

#[test]
fn survivors_recover_what_one_member_missed_before_its_sender_crashed() {
    assert_missed_multicasts_are_recovered(10);
}

#[test]
#[ignore = "long: ./check long"]
fn survivors_recover_what_one_member_missed_over_many_seeds() {
    assert_missed_multicasts_are_recovered(50);
}

#[test]
fn registry_entries_belong_to_their_family() {
    for entry in all() {
        assert_eq!(matches!(entry, Entry::Multicast(_)), Multicast::entry(entry).is_some());
    }
}
