//! Tests of the registry: names are found, and entries marked as checkable can be copied.

use quorate_core::election::Bounds;
use quorate_core::election::Plan;
use quorate_core::{Duration, Group, NodeId, deadlock, multicast};
use quorate_lab::registry::{Entry, Environment, all, find, fixtures};
use quorate_replica::{Members, Settings};
use std::collections::BTreeSet;
use std::sync::Arc;

fn entries() -> impl Iterator<Item = &'static Entry> {
    all().iter().chain(fixtures())
}

#[test]
fn every_name_is_found_and_unique() {
    let names: BTreeSet<_> = entries().map(Entry::name).collect();
    assert_eq!(names.len(), entries().count());
    for entry in entries() {
        let found = find(entry.name()).unwrap_or_else(|| panic!("{} is not found", entry.name()));
        assert_eq!((found.name(), found.family()), (entry.name(), entry.family()));
    }
    assert!(find("").is_none() && find("Central").is_none());
}

/// Whether a copy equals its original; the copy of a node that cannot be copied is empty.
fn can_be_copied(entry: &Entry) -> bool {
    let (me, group) = (NodeId::from_index(0), Group::of_size(3));
    match entry {
        Entry::Mutex(entry) => {
            let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
            let around = Environment { group, seed: 1, bounds };
            let viewed = entry.node_in_views(me, &around).map(|node| node.viewed(me));
            viewed.into_iter().chain([entry.node(me, &around)]).all(|node| node == node.clone())
        }
        Entry::Election(entry) => {
            let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
            let node = (entry.make)(me, &Plan::new(3, bounds).into());
            node == node.clone()
        }
        Entry::Multicast(entry) => {
            let plan = Arc::new(multicast::Plan::new(group));
            let plans = [Arc::clone(&plan)];
            let one = || (entry.make)(me, &plan);
            let several = [entry.several(me, &plans), entry.several_viewed(me, &plans)];
            [one().bare(), one().viewed(me)].iter().chain(&several).all(|node| *node == node.clone())
        }
        Entry::Deadlock(entry) => {
            let plan = Arc::new(deadlock::Plan::new(3));
            [entry.asking(me, &plan), entry.taking(me, &plan)].iter().all(|node| *node == node.clone())
        }
        Entry::Replica(entry) => {
            let node = (entry.make)(me, Settings::new(Members::voters(&group)));
            node == node.clone()
        }
    }
}

/// The checker copies nodes, and relies on the registry.
#[test]
fn exactly_the_checkable_entries_can_be_copied() {
    for entry in entries() {
        assert_eq!(entry.profile().checkable, can_be_copied(entry), "{}", entry.name());
    }
    assert!(entries().any(|entry| !entry.profile().checkable));
}

/// Lists need a summary, and documents need a title and an idea.
#[test]
fn every_profile_has_a_summary() {
    for entry in entries() {
        let profile = entry.profile();
        assert!(!profile.class.is_empty() && !profile.summary.is_empty(), "{}", profile.name);
        assert!(!profile.about().title.is_empty() && !profile.about().idea.is_empty(), "{}", profile.name);
    }
    assert!(all().iter().all(|entry| entry.profile().flaw.is_none()), "a regular algorithm has no seeded bug");
}
