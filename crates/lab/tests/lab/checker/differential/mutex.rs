//! Differential tests of mutual exclusion.

use crate::checker::engine::common::{flawed_group, group_of};
use crate::checker::engine::compare::group_with_reliable_links;
use crate::checker::engine::reference::NodeFactory;
use quorate_check::Setup;
use quorate_check::differential::{self, MAX_ORDERED_NODES};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::{Central, RicartAgrawala, Service};
use quorate_lab::mutex::check::Contenders;
use quorate_lab::mutex::run::{Expectations, OrderCheck, Properties};
use std::collections::BTreeSet;

const CLIENTS: Contenders = Contenders {
    rounds: Some(3),
    allows_tries: true,
    allows_cancels: true,
    allows_readers: false,
    readers_share: false,
    checks_fences: true,
    checks_order: true,
    service: Service::Certain,
    has_views: false,
};

/// Asserts that the checker and the simulator's observers judge random walks alike. Returns the
/// properties that some walk violated.
fn broken_by_walks(factory: &NodeFactory, setup: &Setup, walks: u64) -> BTreeSet<&'static str> {
    let order = if setup.nodes <= MAX_ORDERED_NODES { OrderCheck::Promised } else { OrderCheck::Ignored };
    let expects = Expectations { has_fences: true, order, ..Expectations::default() };
    let make_observer = || Properties::new(setup.nodes, expects);
    differential::violated_by_walks(&factory.make, &CLIENTS, setup, walks, make_observer, |observer| {
        observer.verdicts()
    })
}

#[test]
fn runs_on_bare_links_are_judged_alike() {
    for fifo in [false, true] {
        let setup = Setup { has_fifo_links: fifo, ..Setup::new(3) };
        let order = "happened-before-order";
        // Replies of the algorithm as published in 1981 name no request and carry no clock. This
        // violates the order of requests, and exclusion too, because the clients cancel requests.
        let bare_replies = broken_by_walks(&flawed_group(Flaw::BareReplies, 3), &setup, 800);
        assert!(bare_replies.contains(order) && bare_replies.contains("exclusion"), "{bare_replies:?}");
        let node_only = broken_by_walks(&flawed_group(Flaw::NodeOnly, 3), &setup, 400);
        assert!(node_only.contains(order) && node_only.contains("exclusion"), "{node_only:?}");
        let central = broken_by_walks(&group_of(3, Central::new), &setup, 400);
        assert_eq!(central, BTreeSet::from([order]), "the coordinator promises only the order of arrival");
        let correct = broken_by_walks(&group_of(3, RicartAgrawala::new), &setup, 400);
        assert_eq!(correct, BTreeSet::new());
    }
}

#[test]
fn fences_are_judged_alike_in_a_group_too_large_for_order_checks() {
    let nodes = MAX_ORDERED_NODES + 3;
    let factory = group_of(nodes, Central::new);
    assert_eq!(broken_by_walks(&factory, &Setup::new(nodes), 100), BTreeSet::new());
    let setup = Setup { crashes: 9, restarts: 9, ..Setup::new(nodes) };
    assert!(
        broken_by_walks(&factory, &setup, 200).contains("fences-grow"),
        "a restarted coordinator counts its fences from the start again"
    );
}

#[test]
fn runs_with_crashes_and_restarts_are_judged_alike() {
    let setup = Setup { crashes: 2, restarts: 2, duplicates: 2, losses: 1, ..Setup::new(3) };
    let central = broken_by_walks(&group_of(3, Central::new), &setup, 600);
    assert!(central.contains("fences-grow") && central.contains("exclusion"), "{central:?}");
    broken_by_walks(&group_of(3, RicartAgrawala::new), &setup, 600);
}

#[test]
fn runs_over_links_that_hold_messages_back_are_judged_alike() {
    let setup = Setup { losses: 3, duplicates: 2, early_timers: 3, ..Setup::new(3) };
    let published = |me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies);
    let bare_replies = broken_by_walks(&group_with_reliable_links(3, published), &setup, 600);
    assert!(bare_replies.contains("happened-before-order"), "{bare_replies:?}");
    assert_eq!(broken_by_walks(&group_with_reliable_links(3, RicartAgrawala::new), &setup, 300), BTreeSet::new());
}
