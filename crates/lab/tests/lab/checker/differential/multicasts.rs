//! Differential tests of ordered multicasts.

use quorate_check::differential;
use quorate_check::{Make, Setup};
use quorate_core::Group;
use quorate_core::fixtures::multicast::{CausalBlind, IsisHasty, SequencerHasty};
use quorate_core::multicast::{Board, Causal, Fifo, Isis, Member, Ordering, Plan, Unordered};
use quorate_erased::Erased;
use quorate_lab::multicast::MulticastNode;
use quorate_lab::multicast::check::Senders;
use quorate_lab::multicast::run::{Properties, PropertySet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the orders that some walk of this multicast violated, whatever it promises.
fn broken_by_walks<O: Ordering>() -> BTreeSet<&'static str> {
    const NODES: usize = 3;
    let plan = Arc::new(Plan { board: 0, ..Plan::new(Group::of_size(NODES)) });
    let member = move |me| Erased::new(Member::<Board>::new(me, Arc::clone(&plan), O::boxed));
    let make: Make<MulticastNode> = Arc::new(member);
    let everything = PropertySet { views: false, uniform: false, contention: false, ..PropertySet::ALL };
    let clients = Senders::new(Group::of_size(NODES), 8, everything).expect("few messages");
    let setup = Setup { duplicates: 3, ..Setup::new(NODES) };
    let observer = || Properties::new(NODES, everything);
    differential::broken_by_walks(&make, &clients, &setup, 400, observer, |judges| judges.verdicts())
}

#[test]
fn both_find_the_same_violations_of_weaker_orders() {
    assert_eq!(broken_by_walks::<Unordered>(), BTreeSet::from(["fifo", "causal", "total"]));
    assert_eq!(broken_by_walks::<Fifo>(), BTreeSet::from(["causal", "total"]));
    assert_eq!(broken_by_walks::<Causal>(), BTreeSet::from(["total"]));
    assert_eq!(broken_by_walks::<Isis<Causal>>(), BTreeSet::new());
}

#[test]
fn seeded_bugs_are_judged_alike() {
    assert!(broken_by_walks::<CausalBlind>().contains("causal"));
    assert!(broken_by_walks::<SequencerHasty>().contains("total"));
    assert!(broken_by_walks::<IsisHasty>().contains("total"));
}
