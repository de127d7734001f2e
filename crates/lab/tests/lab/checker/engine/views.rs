//! Groups whose views change: every order of crashes, ends of leases, decisions and news.

use crate::checker::engine::common::{breach, check, checker, group_of, only, plain, reduced, verdicts};
use crate::checker::engine::compare::agree;
use crate::checker::engine::reference::{Bounds, Maker};
use quorate_check::{CheckError, Checker, Effort, Search, Setup, Timing, Views, Walks};
use quorate_core::Time;
use quorate_core::fixtures::viewed::{Carefree, Unheard};
use quorate_core::mutex::{Central, Lamport, TokenRequest};
use quorate_core::wrap::Viewed;
use quorate_lab::mutex::run::{Expectations, Properties};

fn central(nodes: usize) -> Maker {
    group_of(nodes, |me, group| Viewed::new(me, Central::new(me, group)))
}

fn token_request(nodes: usize) -> Maker {
    group_of(nodes, |me, group| Viewed::new(me, TokenRequest::new(me, group)))
}

/// Both explorers see the same, and nothing is broken.
fn stands(make: &Maker, bounds: &Bounds) {
    let seen = agree(make, bounds);
    let breaches = [seen.two_inside, seen.unasked, seen.fence_back, seen.deadlock, seen.end];
    assert_eq!(breaches, [None; 5], "{bounds:?}");
}

#[test]
fn two_members_are_explored_to_the_last_state() {
    let bounds = |rounds| Bounds::new(2, rounds).fences().crashes(1).views(1, true);
    stands(&central(2), &bounds(2));
    stands(&central(2), &bounds(1).cancels());
    stands(&token_request(2), &bounds(1));
    stands(&token_request(2), &bounds(1).fifo());
}

#[test]
fn both_explorers_see_the_same_where_nodes_restart_and_news_comes_late() {
    let restarts = Bounds::new(2, 1).fences().crashes(1).restarts(1).views(1, true);
    stands(&central(2), &restarts);
    stands(&token_request(2), &restarts);
    let twice = Bounds::new(2, 1).views(2, true);
    stands(&central(2), &twice);
    stands(&central(2), &twice.fifo());
}

#[test]
fn three_members_of_which_one_crashes_or_lets_its_lease_end_stay_safe_and_serve() {
    let bounds = Bounds::new(3, 1).fences().crashes(1).views(1, true);
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
fn without_a_change_of_the_view_nobody_crashes_and_no_lease_ends() {
    let calm = check(&central(2), &Bounds::new(2, 1).views(1, true), &plain());
    let still = check(&central(2), &Bounds::new(2, 1).crashes(1).views(0, true), &plain());
    let book = check(&group_of(2, Central::new), &Bounds::new(2, 1), &plain());
    assert_eq!(still.states.states, book.states.states, "a view that never changes is a group that never does");
    assert!(calm.states.states > still.states.states);
}

#[test]
fn a_membership_that_does_not_wait_lets_two_in() {
    for nodes in [2, 3] {
        let bounds = Bounds::new(nodes, 1).views(1, false);
        let findings = check(&central(nodes), &bounds, &plain());
        assert!(breach(&findings, "exclusion").is_some());
        let short = check(&central(nodes), &bounds, &reduced());
        assert_eq!(breach(&findings, "exclusion"), breach(&short, "exclusion"));
    }
    let seen = agree(&central(2), &Bounds::new(2, 1).fences().views(1, false));
    assert!(seen.two_inside.is_some());
    assert!(seen.fence_back.is_some(), "whoever enters in the older view has the smaller fence");
}

#[test]
fn whoever_does_not_wait_for_reports_lets_two_in() {
    let unheard = group_of(3, |me, group| Unheard::node(me, Central::new(me, group)));
    let findings = check(&unheard, &Bounds::new(3, 1).crashes(1).views(1, true), &plain());
    assert!(breach(&findings, "exclusion").is_some());
}

#[test]
fn whoever_does_not_freeze_acts_for_a_group_that_went_on_without_it() {
    // The membership does not count it any more. But a coordinator that goes on gives fences of a view that is over.
    let carefree = group_of(3, |me, group| Carefree::node(me, Central::new(me, group)));
    let findings = check(&carefree, &Bounds::new(3, 1).fences().views(1, true), &plain());
    assert!(breach(&findings, "fences-grow").is_some());
}

/// A counterexample is played by real nodes, and the simulator's judges come to the same verdict.
fn is_judged_alike(make: &Maker, bounds: &Bounds, name: &str) {
    let mut checker = checker(make, bounds);
    let findings = checker.run(&plain(), &mut |_, _| true);
    let broken = findings.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    let example = broken.counterexample.as_ref().unwrap_or_else(|| panic!("{name} holds"));
    let expects = Expectations { fences: true, leases: true, ..Expectations::default() };
    let judged = checker.play(example, Properties::new(bounds.setup.nodes, expects)).unwrap();
    let verdict = judged.verdicts().into_iter().find(|verdict| verdict.name == name).unwrap();
    assert!(verdict.is_breach(), "{name}");
}

#[test]
fn counterexamples_with_views_are_played_again() {
    is_judged_alike(&central(3), &Bounds::new(3, 1).fences().views(1, false), "exclusion");
    let unheard = group_of(3, |me, group| Unheard::node(me, Central::new(me, group)));
    is_judged_alike(&unheard, &Bounds::new(3, 1).fences().crashes(1).views(1, true), "exclusion");
}

#[test]
fn depth_first_and_at_random_find_what_breadth_first_does() {
    let bounds = Bounds::new(2, 1).crashes(1).views(1, true);
    let deep = check(&central(2), &bounds, &Effort { search: Search::Depth, ..plain() });
    assert_eq!(deep.states.states, check(&central(2), &bounds, &plain()).states.states);
    let walks = Search::Walks(Walks { count: 2_000, steps: 60, seed: 1 });
    let rash = check(&central(2), &Bounds::new(2, 1).views(1, false), &Effort { search: walks, ..plain() });
    assert!(rash.is_broken());
}

#[test]
fn over_links_that_must_keep_the_order_a_view_may_still_be_late() {
    let lamport = group_of(2, |me, group| Viewed::new(me, Lamport::new(me, group)));
    stands(&lamport, &Bounds::new(2, 1).fences().fifo().crashes(1).views(1, true));
}

#[test]
fn views_are_checked_without_time() {
    let timing = Some(Timing::until(Time::from_nanos(1)));
    let setup = Setup { timing, views: Some(Views::default()), ..Setup::new(2) };
    let refused = Checker::new(central(2).make, Bounds::new(2, 1).users, setup).err();
    assert_eq!(refused, Some(CheckError::TimedViews));
}
