//! Groups whose views change: every order of crashes, lease expiries, decisions and notifications.

use crate::checker::engine::common::{
    check, checker, counterexample_len, group_of, plain, plain_only, reduced, verdicts,
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

/// Asserts that both explorers agree and that no property is violated.
fn assert_correct(factory: &NodeFactory, bounds: &Bounds) {
    let seen = assert_agreement(factory, bounds);
    let violations = [seen.two_holders, seen.unrequested, seen.fence_decrease, seen.deadlock, seen.unserved_end];
    assert_eq!(violations, [None; 5], "{bounds:?}");
}

#[test]
fn two_members_are_explored_completely() {
    let bounds = |rounds| Bounds::new(2, rounds).fences().crashes(1).views(1, true);
    assert_correct(&central(2), &bounds(2));
    assert_correct(&central(2), &bounds(1).cancels());
    assert_correct(&token_request(2), &bounds(1));
    assert_correct(&token_request(2), &bounds(1).fifo());
}

#[test]
fn both_explorers_agree_with_restarts_and_late_views() {
    let restarts = Bounds::new(2, 1).fences().crashes(1).restarts(1).views(1, true);
    assert_correct(&central(2), &restarts);
    assert_correct(&token_request(2), &restarts);
    let twice = Bounds::new(2, 1).views(2, true);
    assert_correct(&central(2), &twice);
    assert_correct(&central(2), &twice.fifo());
}

#[test]
fn three_members_of_which_one_crashes_or_loses_its_lease_stay_safe_and_live() {
    let bounds = Bounds::new(3, 1).fences().crashes(1).views(1, true);
    let safe = plain_only(&["exclusion", "fences-grow", "no-deadlock"]);
    for findings in [
        check(&central(3), &bounds, &plain()),
        check(&central(3), &bounds, &reduced()),
        check(&token_request(3), &bounds, &safe),
    ] {
        assert!(findings.is_complete());
        assert!(verdicts(&findings).iter().all(|(_, holds)| *holds == Some(true)), "{:?}", verdicts(&findings));
    }
}

#[test]
fn without_view_changes_no_node_crashes_and_no_lease_expires() {
    let calm = check(&central(2), &Bounds::new(2, 1).views(1, true), &plain());
    let unchanged = check(&central(2), &Bounds::new(2, 1).crashes(1).views(0, true), &plain());
    let static_group = check(&group_of(2, Central::new), &Bounds::new(2, 1), &plain());
    assert_eq!(
        unchanged.states.states, static_group.states.states,
        "a view that never changes must be like a static group"
    );
    assert!(calm.states.states > unchanged.states.states);
}

#[test]
fn an_impatient_membership_violates_exclusion() {
    for nodes in [2, 3] {
        let bounds = Bounds::new(nodes, 1).views(1, false);
        let findings = check(&central(nodes), &bounds, &plain());
        assert!(counterexample_len(&findings, "exclusion").is_some());
        let short = check(&central(nodes), &bounds, &reduced());
        assert_eq!(counterexample_len(&findings, "exclusion"), counterexample_len(&short, "exclusion"));
    }
    let seen = assert_agreement(&central(2), &Bounds::new(2, 1).fences().views(1, false));
    assert!(seen.two_holders.is_some());
    assert!(seen.fence_decrease.is_some(), "an entry in the older view has the smaller fence");
}

#[test]
fn not_waiting_for_reports_violates_exclusion() {
    let unheard = group_of(3, |me, group| IgnoresReports::node(me, Central::new(me, group)));
    let findings = check(&unheard, &Bounds::new(3, 1).crashes(1).views(1, true), &plain());
    assert!(counterexample_len(&findings, "exclusion").is_some());
}

#[test]
fn a_member_that_does_not_freeze_violates_fences() {
    // The membership has removed the member. But a coordinator that continues issues fences of an
    // old view.
    let carefree = group_of(3, |me, group| IgnoresLeaseEnd::node(me, Central::new(me, group)));
    let findings = check(&carefree, &Bounds::new(3, 1).fences().views(1, true), &plain());
    assert!(counterexample_len(&findings, "fences-grow").is_some());
}

/// Replays a counterexample with real nodes, and asserts that the simulator's observers reach the
/// same verdict.
fn assert_judged_alike(factory: &NodeFactory, bounds: &Bounds, name: &str) {
    let mut checker = checker(factory, bounds);
    let findings = checker.run(&plain(), &mut |_, _| true);
    let broken = findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    let example = broken.counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"));
    let expects = Expectations { fences: true, leases: true, ..Expectations::default() };
    let judged = checker.replay(example, Properties::new(bounds.setup.nodes, expects)).unwrap();
    let verdict = judged.verdicts().into_iter().find(|verdict| verdict.name == name).unwrap();
    assert!(verdict.is_violated(), "{name}");
}

#[test]
fn counterexamples_with_views_replay() {
    assert_judged_alike(&central(3), &Bounds::new(3, 1).fences().views(1, false), "exclusion");
    let unheard = group_of(3, |me, group| IgnoresReports::node(me, Central::new(me, group)));
    assert_judged_alike(&unheard, &Bounds::new(3, 1).fences().crashes(1).views(1, true), "exclusion");
}

#[test]
fn depth_first_search_and_random_walks_agree_with_breadth_first() {
    let bounds = Bounds::new(2, 1).crashes(1).views(1, true);
    let deep = check(&central(2), &bounds, &Effort { search: Search::Depth, ..plain() });
    assert_eq!(deep.states.states, check(&central(2), &bounds, &plain()).states.states);
    let walks = Search::Walks(Walks { count: 2_000, steps: 60, seed: 1 });
    let impatient = check(&central(2), &Bounds::new(2, 1).views(1, false), &Effort { search: walks, ..plain() });
    assert!(impatient.has_violation());
}

#[test]
fn over_fifo_links_a_view_may_still_be_late() {
    let lamport = group_of(2, |me, group| Viewed::new(me, Lamport::new(me, group)));
    assert_correct(&lamport, &Bounds::new(2, 1).fences().fifo().crashes(1).views(1, true));
}

#[test]
fn views_are_checked_without_time() {
    let timing = Some(Timing::until(Time::from_nanos(1)));
    let setup = Setup { timing, views: Some(Views::default()), ..Setup::new(2) };
    let refused = Checker::new(central(2).make, Bounds::new(2, 1).clients, setup).err();
    assert_eq!(refused, Some(CheckError::TimedViews));
}
