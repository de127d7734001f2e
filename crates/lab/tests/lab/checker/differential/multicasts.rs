//! Differential tests of ordered multicasts.

use quorate_check::differential;
use quorate_check::{MakeNode, Setup};
use quorate_core::Group;
use quorate_core::fixtures::multicast::{CausalBlind, IsisHasty, SequencerHasty};
use quorate_core::multicast::{Board, Causal, Fifo, Isis, Member, Ordering, Plan, Unordered};
use quorate_erased::Erased;
use quorate_lab::multicast::MulticastNode;
use quorate_lab::multicast::check::Senders;
use quorate_lab::multicast::run::{Properties, PropertySet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Asserts that the checker and the simulator's observers judge random walks alike. Returns the
/// properties that some walk of this multicast violated, even those that it does not promise.
fn broken_by_walks<O: Ordering>() -> BTreeSet<&'static str> {
    const NODES: usize = 3;
    const MESSAGES: u8 = 8;
    // The members replicate a bulletin board of the latest messages, which here keeps none.
    let plan = Arc::new(Plan { board_capacity: 0, ..Plan::new(Group::of_size(NODES)) });
    let member = move |me| Erased::new(Member::<Board>::new(me, Arc::clone(&plan), O::boxed));
    let make: MakeNode<MulticastNode> = Arc::new(member);
    let properties = PropertySet { views: false, uniform: false, expects_contention: false, ..PropertySet::ALL };
    let clients = Senders::new(Group::of_size(NODES), MESSAGES.into(), properties).expect("few messages");
    let setup = Setup { duplicates: 3, ..Setup::new(NODES) };
    let make_observer = || Properties::new(NODES, properties);
    differential::violated_by_walks(&make, &clients, &setup, 400, make_observer, |observer| observer.verdicts())
}

#[test]
fn four_orders_violate_exactly_the_orders_that_they_do_not_promise() {
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
