//! Mutual exclusion.

use quorate_check::differential::{self, MOST_ORDERED};
use quorate_check::{Checked, Make, Setup};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Central, Command, Event, RicartAgrawala, Service};
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_core::{Group, NodeId};
use quorate_lab::mutex::check::Contenders;
use quorate_lab::mutex::run::{Expectations, OrderWatch, Properties};
use std::collections::BTreeSet;
use std::sync::Arc;

const USERS: Contenders = Contenders {
    rounds: Some(3),
    tries: true,
    cancels: true,
    readers: false,
    shares: false,
    fences: true,
    order: true,
    service: Service::Certain,
    views: false,
};

/// The names of the properties that some walk broke.
fn broken_by_walks<P>(
    make: impl Fn(NodeId) -> P + Send + Sync + 'static,
    setup: Setup,
    walks: u64,
) -> BTreeSet<&'static str>
where
    P: Checked<Command = Command, Event = Event>,
{
    let make: Make<P> = Arc::new(make);
    let order = if setup.nodes <= MOST_ORDERED { OrderWatch::Promised } else { OrderWatch::Ignored };
    let expects = Expectations { fences: true, order, ..Expectations::default() };
    let observer = || Properties::new(setup.nodes, expects);
    differential::broken_by_walks(&make, &USERS, &setup, walks, observer, |judges| judges.verdicts())
}

fn group() -> Group {
    Group::of_size(3)
}

#[test]
fn on_bare_links_both_judge_alike() {
    let flawed = |flaw| move |me| RicartAgrawala1981::new(me, group(), flaw);
    for fifo in [false, true] {
        let setup = || Setup { fifo, ..Setup::new(3) };
        let order = "happened-before-order";
        let bare = broken_by_walks(flawed(Flaw::BareReplies), setup(), 800);
        assert!(bare.contains(order) && bare.contains("exclusion"), "{bare:?}");
        let node_only = broken_by_walks(flawed(Flaw::NodeOnly), setup(), 400);
        assert!(node_only.contains(order) && node_only.contains("exclusion"), "{node_only:?}");
        let central = broken_by_walks(|me| Central::new(me, group()), setup(), 400);
        assert_eq!(central, BTreeSet::from([order]), "it promises the order of arrival only");
        let right = broken_by_walks(|me| RicartAgrawala::new(me, group()), setup(), 400);
        assert_eq!(right, BTreeSet::new());
    }
}

#[test]
fn in_a_group_too_large_for_its_order_fences_are_judged_alike() {
    let nodes = MOST_ORDERED + 3;
    let make = move |me| Central::new(me, Group::of_size(nodes));
    assert_eq!(broken_by_walks(make, Setup::new(nodes), 100), BTreeSet::new());
    let setup = Setup { crashes: 9, restarts: 9, ..Setup::new(nodes) };
    assert!(broken_by_walks(make, setup, 200).contains("fences-grow"), "a coordinator that restarts begins again");
}

#[test]
fn when_nodes_crash_and_restart_both_judge_alike() {
    let setup = Setup { crashes: 2, restarts: 2, duplicates: 2, losses: 1, ..Setup::new(3) };
    let central = broken_by_walks(|me| Central::new(me, group()), setup.clone(), 600);
    assert!(central.contains("fences-grow") && central.contains("exclusion"), "{central:?}");
    broken_by_walks(|me| RicartAgrawala::new(me, group()), setup, 600);
}

#[test]
fn over_links_that_hold_messages_back_both_judge_alike() {
    let over = |flaw| {
        move |me| {
            let inner = RicartAgrawala1981::new(me, group(), flaw);
            Reliable::new(me, inner, Retransmission::default())
        }
    };
    let setup = Setup { losses: 3, duplicates: 2, hasty_timers: 3, ..Setup::new(3) };
    let bare = broken_by_walks(over(Flaw::BareReplies), setup.clone(), 600);
    assert!(bare.contains("happened-before-order"), "{bare:?}");
    let right = |me| Reliable::new(me, RicartAgrawala::new(me, group()), Retransmission::default());
    assert_eq!(broken_by_walks(right, setup, 300), BTreeSet::new());
}
