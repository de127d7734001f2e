//! Groups whose views change: every order of crashes, lease expiries, decisions and notifications.

use crate::checker::engine::common::{check, checker, counterexample_len, group_of, only, plain, reduced, verdicts};
use crate::checker::engine::compare::assert_agreement;
use crate::checker::engine::reference::{Bounds, Maker};
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
fn assert_correct(make: &Maker, bounds: &Bounds) {
    let seen = assert_agreement(make, bounds);
    let violations = [seen.two_holders, seen.unrequested, seen.fence_decrease, seen.deadlock, seen.end];
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
    let twice = Bounds::new(2, 1).views(2);
    assert_correct(&central(2), &twice);
    assert_correct(&central(2), &twice.fifo());
}

#[test]
fn three_members_of_which_one_crashes_or_loses_its_lease_stay_safe_and_live() {
    let bounds = Bounds::new(3, 1).fences().crashes(1).views(1);
    let safe = only(&["exclusion", "fences-grow", "no-deadlock"]);
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
fn without_view_changes_nodes_neither_crash_nor_lose_their_leases() {
    let changing = check(&central(2), &Bounds::new(2, 1).views(1), &plain());
    let unchanged = check(&central(2), &Bounds::new(2, 1).crashes(1).views(0), &plain());
    let static_group = check(&group_of(2, Central::new), &Bounds::new(2, 1), &plain());
    assert_eq!(
        unchanged.states.states, static_group.states.states,
        "a group whose view never changes must have the states of a static group"
    );
    assert!(changing.states.states > unchanged.states.states);
}

#[test]
fn a_membership_that_does_not_wait_for_leases_violates_exclusion() {
    for nodes in [2, 3] {
        let bounds = Bounds::new(nodes, 1).premature_views(1);
        let findings = check(&central(nodes), &bounds, &plain());
        assert!(counterexample_len(&findings, "exclusion").is_some());
        let with_reduction = check(&central(nodes), &bounds, &reduced());
        assert_eq!(counterexample_len(&findings, "exclusion"), counterexample_len(&with_reduction, "exclusion"));
    }
    let seen = assert_agreement(&central(2), &Bounds::new(2, 1).fences().views(1, false));
    assert!(seen.two_holders.is_some());
    assert!(seen.fence_decrease.is_some(), "an entry in the older view has the smaller fence");
}

#[test]
fn not_waiting_for_reports_violates_exclusion() {
    let ignores_reports = group_of(3, |me, group| IgnoresReports::node(me, Central::new(me, group)));
    let findings = check(&ignores_reports, &Bounds::new(3, 1).crashes(1).views(1), &plain());
    assert!(counterexample_len(&findings, "exclusion").is_some());
}

#[test]
fn a_member_that_ignores_the_end_of_its_lease_violates_fences() {
    // A coordinator that has been removed from the view continues, and issues fences of the old
    // view.
    let ignores_lease_end = group_of(3, |me, group| IgnoresLeaseEnd::node(me, Central::new(me, group)));
    let findings = check(&ignores_lease_end, &Bounds::new(3, 1).fences().views(1), &plain());
    assert!(counterexample_len(&findings, "fences-grow").is_some());
}

/// Replays the counterexample to a property with real nodes, and asserts that the simulator's
/// observers find the property violated too.
fn assert_replay_is_violated(factory: &NodeFactory, bounds: &Bounds, name: &str) {
    let mut checker = checker(factory, bounds);
    let findings = checker.run(&plain(), &mut |_, _| true);
    let violated = findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    let example = violated.counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"));
    let expectations = Expectations { fences: true, leases: true, ..Expectations::default() };
    let judged = checker.replay(example, Properties::new(bounds.setup.nodes, expectations)).unwrap();
    let verdict = judged.verdicts().into_iter().find(|verdict| verdict.name == name).unwrap();
    assert!(verdict.is_violated(), "{name}");
}

#[test]
fn counterexamples_with_views_replay() {
    assert_replay_is_violated(&central(3), &Bounds::new(3, 1).fences().premature_views(1), "exclusion");
    let ignores_reports = group_of(3, |me, group| IgnoresReports::node(me, Central::new(me, group)));
    assert_replay_is_violated(&ignores_reports, &Bounds::new(3, 1).fences().crashes(1).views(1), "exclusion");
}

#[test]
fn depth_first_search_and_random_walks_agree_with_breadth_first() {
    let bounds = Bounds::new(2, 1).crashes(1).views(1);
    let depth_first = check(&central(2), &bounds, &Effort { search: Search::Depth, ..plain() });
    assert_eq!(depth_first.states.states, check(&central(2), &bounds, &plain()).states.states);
    let walks = Search::Walks(Walks { count: 2_000, steps: 60, seed: 1 });
    let walked = check(&central(2), &Bounds::new(2, 1).premature_views(1), &Effort { search: walks, ..plain() });
    assert!(walked.has_violation());
}

#[test]
fn a_view_may_arrive_late_over_fifo_links_too() {
    let lamport = group_of(2, |me, group| Viewed::new(me, Lamport::new(me, group)));
    assert_correct(&lamport, &Bounds::new(2, 1).fences().fifo().crashes(1).views(1));
}

#[test]
fn views_together_with_timing_are_rejected() {
    let timing = Some(Timing::until(Time::from_nanos(1)));
    let setup = Setup { timing, views: Some(Views::default()), ..Setup::new(2) };
    let rejection = Checker::new(central(2).make, Bounds::new(2, 1).clients, setup).err();
    assert_eq!(rejection, Some(CheckError::TimedViews));
}
