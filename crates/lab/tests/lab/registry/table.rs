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
        let same_entry = find(entry.name()).unwrap_or_else(|| panic!("{} is not found", entry.name()));
        assert_eq!((same_entry.name(), same_entry.family()), (entry.name(), entry.family()));
    }
    assert!(find("").is_none() && find("Central").is_none());
}

/// Whether a copy equals its original; the copy of a node that cannot be copied is empty.
fn can_be_copied(entry: &Entry) -> bool {
    let (me, group) = (NodeId::from_index(0), Group::of_size(3));
    match entry {
        Entry::Mutex(entry) => {
            let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
            let environment = Environment { group, seed: 1, bounds };
            let viewed = entry.node_in_views(me, &environment).map(|node| node.in_views(me));
            viewed.into_iter().chain([entry.node(me, &environment)]).all(|node| node == node.clone())
        }
        Entry::Election(entry) => {
            let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
            let node = (entry.make)(me, &Plan::new(3, bounds).into());
            node == node.clone()
        }
        Entry::Multicast(entry) => {
            let plan = Arc::new(multicast::Plan::new(group));
            let plans = [Arc::clone(&plan)];
            let single_group = || (entry.make)(me, &plan);
            let several = [entry.node_in_fixed_groups(me, &plans), entry.node_in_viewed_groups(me, &plans)];
            [single_group().in_fixed_group(), single_group().in_views(me)]
                .iter()
                .chain(&several)
                .all(|node| *node == node.clone())
        }
        Entry::Deadlock(entry) => {
            let plan = Arc::new(deadlock::Plan::new(3));
            [entry.node_with_requests(me, &plan), entry.node_with_locks(me, &plan)]
                .iter()
                .all(|node| *node == node.clone())
        }
        Entry::Replica(entry) => {
            let node = (entry.make)(me, Settings::new(Members::voters(&group)));
            node == node.clone()
        }
    }
}

/// The checker copies the nodes of every algorithm that the registry marks as checkable.
#[test]
fn exactly_the_checkable_entries_can_be_copied() {
    for entry in entries() {
        assert_eq!(entry.profile().is_checkable, can_be_copied(entry), "{}", entry.name());
    }
    assert!(entries().any(|entry| !entry.profile().is_checkable));
}

#[test]
fn every_profile_has_a_class_a_summary_a_title_and_an_idea() {
    for entry in entries() {
        let profile = entry.profile();
        assert!(!profile.class.is_empty() && !profile.summary.is_empty(), "{}", profile.name);
        assert!(!profile.about().title.is_empty() && !profile.about().idea.is_empty(), "{}", profile.name);
    }
    assert!(all().iter().all(|entry| entry.profile().flaw.is_none()), "a regular algorithm has no seeded bug");
}
