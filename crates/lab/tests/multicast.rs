//! Ordered multicast: what holds whatever goes wrong.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use quorate_lab::sweep::{self, Sweep};
use quorate_lab::{FamilyLab, Multicast, Spec};
use quorate_registry::{Entry, MulticastEntry, all};

/// Every order.
fn orders() -> impl Iterator<Item = &'static MulticastEntry> {
    all().iter().filter_map(Multicast::entry)
}

fn name(entry: &MulticastEntry) -> &'static str {
    entry.facts.profile.name
}

fn all_hold(entry: &MulticastEntry, specs: Vec<Spec<Multicast>>, seeds: u64) {
    for spec in specs {
        let summary = sweep::run(&Sweep { spec, seeds, threads: 2, keep_going: false }, |_| true).unwrap();
        assert!(summary.holds(), "{}: {:#?}", name(entry), summary.first_failure);
    }
}

/// A sample of what `quorate sweep --family multicast --seeds 100000` tries.
#[test]
fn in_a_group_that_never_changes_everyone_hears_everything_in_order() {
    assert!(orders().count() >= 10);
    for entry in orders() {
        all_hold(entry, Multicast::weather(entry), 20);
    }
}

/// A sample of what `quorate sweep --family multicast --views --seeds 100000` tries.
#[test]
fn whatever_goes_wrong_survivors_hear_the_same() {
    for entry in orders() {
        all_hold(entry, Multicast::weather_in_views(entry), 12);
    }
}

#[test]
fn entries_of_the_table_are_of_their_family() {
    for entry in all() {
        assert_eq!(matches!(entry, Entry::Multicast(_)), Multicast::entry(entry).is_some());
    }
}
