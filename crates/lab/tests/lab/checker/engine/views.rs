//! Groups whose views change: every order of crashes, lease expiries, decisions and notifications.
//!
//! `Bounds::new(3, 2)` stands for three nodes that may request entry twice each.

use crate::checker::engine::common::{
    check, counterexample_len, group_of, new_checker, plain_search, plain_search_for, reduced_search, verdicts,
};
use crate::checker::engine::compare::assert_agreement;
use crate::checker::engine::reference::{Bounds, NodeFactory};
use quorate_check::{CheckError, Checker, Effort, Search, Setup, Timing, Views, Walks};
use quorate_core::Time;
use quorate_core::fixtures::viewed::{IgnoresLeaseEnd, IgnoresReports};
use quorate_core::mutex::{Central, Lamport, TokenRequest};
use quorate_core::wrap::Viewed;
use quorate_lab::mutex::run::{Expectations, Properties};

fn central(nodes: usize) -> NodeFactory {
    group_of(nodes, |me, group| Viewed::new(me, Central::new(me, group)))
}

fn token_request(nodes: usize) -> NodeFactory {
    group_of(nodes, |me, group| Viewed::new(me, TokenRequest::new(me, group)))
}

/// Asserts that the checker and the reference explorer agree, that no state and no entry violates a
/// property, and that no run ends while a client waits.
fn assert_correct(factory: &NodeFactory, bounds: &Bounds) {
    let reference = assert_agreement(factory, bounds);
    let violations = [
        reference.two_holders,
        reference.unrequested,
        reference.fence_decrease,
        reference.deadlock,
        reference.unserved_end,
    ];
    assert_eq!(violations, [None; 5], "{bounds:?}");
}

#[test]
fn two_members_are_explored_completely() {
    let bounds = |rounds| Bounds::new(2, rounds).fences().crashes(1).views(1);
    assert_correct(&central(2), &bounds(2));
    assert_correct(&central(2), &bounds(1).cancels());
    assert_correct(&token_request(2), &bounds(1));
    assert_correct(&token_request(2), &bounds(1).fifo());
}

#[test]
fn both_explorers_agree_with_restarts_and_late_views() {
    let restarts = Bounds::new(2, 1).fences().crashes(1).restarts(1).views(1);
    assert_correct(&central(2), &restarts);
    assert_correct(&token_request(2), &restarts);
    let two_changes = Bounds::new(2, 1).views(2);
    assert_correct(&central(2), &two_changes);
    assert_correct(&central(2), &two_changes.fifo());
}

#[test]
fn three_members_of_which_one_crashes_or_loses_its_lease_violate_nothing() {
    let bounds = Bounds::new(3, 1).fences().crashes(1).views(1);
    let safety_only = plain_search_for(&["exclusion", "fences-grow", "no-deadlock"]);
    for findings in [
        check(&central(3), &bounds, &plain_search()),
        check(&central(3), &bounds, &reduced_search()),
        check(&token_request(3), &bounds, &safety_only),
    ] {
        assert!(findings.is_complete());
        assert!(verdicts(&findings).iter().all(|(_, holds)| *holds == Some(true)), "{:?}", verdicts(&findings));
    }
}

#[test]
fn without_view_changes_no_node_crashes_and_no_lease_expires() {
    let one_change = check(&central(2), &Bounds::new(2, 1).views(1), &plain_search());
    let unchanged = check(&central(2), &Bounds::new(2, 1).crashes(1).views(0), &plain_search());
    let static_group = check(&group_of(2, Central::new), &Bounds::new(2, 1), &plain_search());
    assert_eq!(
        unchanged.main_pass.states, static_group.main_pass.states,
        "a view that never changes must be like a static group"
    );
    assert!(one_change.main_pass.states > unchanged.main_pass.states);
}

/// An impatient membership removes a member before that member's lease has expired.
#[test]
fn an_impatient_membership_violates_exclusion() {
    for nodes in [2, 3] {
        let bounds = Bounds::new(nodes, 1).impatient_views(1);
        let findings = check(&central(nodes), &bounds, &plain_search());
        assert!(counterexample_len(&findings, "exclusion").is_some());
        let reduced = check(&central(nodes), &bounds, &reduced_search());
        assert_eq!(counterexample_len(&findings, "exclusion"), counterexample_len(&reduced, "exclusion"));
    }
    let reference = assert_agreement(&central(2), &Bounds::new(2, 1).fences().impatient_views(1));
    assert!(reference.two_holders.is_some());
    assert!(reference.fence_decrease.is_some(), "an entry in the older view has the smaller fence");
}

/// A node must not act in a new view before the other members have reported their states to it.
#[test]
fn not_waiting_for_reports_violates_exclusion() {
    let ignores_reports = group_of(3, |me, group| IgnoresReports::node(me, Central::new(me, group)));
    let findings = check(&ignores_reports, &Bounds::new(3, 1).crashes(1).views(1), &plain_search());
    assert!(counterexample_len(&findings, "exclusion").is_some());
}

#[test]
fn a_member_that_does_not_stop_when_its_lease_ends_violates_fences() {
    // A coordinator that the membership has removed continues, and issues fences of an old view.
    let ignores_lease_end = group_of(3, |me, group| IgnoresLeaseEnd::node(me, Central::new(me, group)));
    let findings = check(&ignores_lease_end, &Bounds::new(3, 1).fences().views(1), &plain_search());
    assert!(counterexample_len(&findings, "fences-grow").is_some());
}

/// Replays a counterexample with real nodes, and asserts that the simulator's observers reach the
/// same verdict.
fn assert_judged_alike(factory: &NodeFactory, bounds: &Bounds, name: &str) {
    let mut checker = new_checker(factory, bounds);
    let findings = checker.run(&plain_search(), &mut |_, _| true);
    let violated = findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    let example = violated.counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"));
    let expects = Expectations { has_fences: true, has_leases: true, ..Expectations::default() };
    let judged = checker.replay(example, Properties::new(bounds.setup.nodes, expects)).unwrap();
    let verdict = judged.verdicts().into_iter().find(|verdict| verdict.name == name).unwrap();
    assert!(verdict.is_violated(), "{name}");
}

#[test]
fn counterexamples_with_views_replay() {
    assert_judged_alike(&central(3), &Bounds::new(3, 1).fences().impatient_views(1), "exclusion");
    let ignores_reports = group_of(3, |me, group| IgnoresReports::node(me, Central::new(me, group)));
    assert_judged_alike(&ignores_reports, &Bounds::new(3, 1).fences().crashes(1).views(1), "exclusion");
}

#[test]
fn depth_first_search_visits_the_same_states_and_random_walks_find_violations() {
    let bounds = Bounds::new(2, 1).crashes(1).views(1);
    let depth_first = check(&central(2), &bounds, &Effort { search: Search::Depth, ..plain_search() });
    assert_eq!(depth_first.main_pass.states, check(&central(2), &bounds, &plain_search()).main_pass.states);
    let walks = Search::Walks(Walks { count: 2_000, steps: 60, seed: 1 });
    let impatient =
        check(&central(2), &Bounds::new(2, 1).impatient_views(1), &Effort { search: walks, ..plain_search() });
    assert!(impatient.has_violation());
}

/// FIFO links order messages only: a node may receive messages of a view before the view itself.
#[test]
fn over_fifo_links_late_views_violate_nothing() {
    let lamport = group_of(2, |me, group| Viewed::new(me, Lamport::new(me, group)));
    assert_correct(&lamport, &Bounds::new(2, 1).fences().fifo().crashes(1).views(1));
}

#[test]
fn a_check_of_views_with_timing_is_refused() {
    let timing = Some(Timing::until(Time::from_nanos(1)));
    let setup = Setup { timing, views: Some(Views::default()), ..Setup::new(2) };
    let error = Checker::new(central(2).make, Bounds::new(2, 1).clients, setup).err();
    assert_eq!(error, Some(CheckError::TimedViews));
}
