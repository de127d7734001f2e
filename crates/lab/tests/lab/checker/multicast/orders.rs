//! The orders of the book: each keeps what it promises, whatever happens in whichever order.

use crate::checker::multicast::{Case, broken, length};
use quorate_check::{Effort, Findings, Search};
use quorate_core::multicast::{Causal, Delivery, Fifo, Isis, Plan, Sequencer, Sequencing, Unordered};
use quorate_lab::multicast::run::Promises;

const FIFO: Promises = Promises { fifo: true, ..Promises::RELIABLE };
const CAUSAL: Promises = Promises { causal: true, ..FIFO };
const TOTAL: Promises = Promises { total: true, ..Promises::RELIABLE };

fn check_all(case: &Case) -> Vec<(&'static str, Findings)> {
    let with = |promises: Promises| {
        let Promises { views, uniform, .. } = case.promises;
        Case { promises: Promises { views, uniform, ..promises }, ..case.clone() }
    };
    let via = Plan { sequencing: Sequencing::Via, ..case.plan.clone() };
    vec![
        ("unordered", with(Promises::RELIABLE).check::<Unordered>()),
        ("fifo", with(FIFO).check::<Fifo>()),
        ("causal", with(CAUSAL).check::<Causal>()),
        ("sequencer", with(TOTAL).check::<Sequencer<Unordered>>()),
        ("via the sequencer", Case { plan: via, ..with(TOTAL) }.check::<Sequencer<Unordered>>()),
        ("isis", with(TOTAL).check::<Isis<Unordered>>()),
        ("fifo-total", with(Promises { total: true, ..FIFO }).check::<Sequencer<Fifo>>()),
        ("causal-total", with(Promises { total: true, ..CAUSAL }).check::<Isis<Causal>>()),
    ]
}

fn all_hold(case: &Case) {
    for (name, findings) in check_all(case) {
        let states = findings.states;
        println!("{name}: {} states, {:.1} s", states.states, states.seconds);
        assert_eq!(broken(&findings), [""; 0], "{name}: {case:?}");
    }
}

#[test]
fn every_order_keeps_its_promise_where_nobody_dies() {
    all_hold(&Case::new(3, 2, 2));
    all_hold(&Case::new(2, 2, 3));
    all_hold(&Case::new(1, 1, 2));
}

#[test]
fn in_views_every_order_keeps_its_promise_with_a_crash_at_every_point() {
    let case = Case { crashes: 1, ..Case::new(3, 2, 2).in_views() };
    all_hold(&Case { fifo: true, ..case.clone() });
    all_hold(&Case { fifo: true, ..Case { crashes: 1, ..Case::new(2, 2, 3).in_views() } });
}

#[test]
fn uniform_delivery_binds_survivors_to_what_the_dead_heard() {
    let case = Case { crashes: 1, fifo: true, ..Case::new(3, 1, 1).in_views() };
    let plan = Plan { delivery: Delivery::Uniform, ..case.plan.clone() };
    all_hold(&Case { plan, promises: Promises { uniform: true, ..case.promises }, ..case });
}

#[test]
fn views_may_follow_on_each_others_heels() {
    all_hold(&Case { crashes: 2, fifo: true, ..Case::new(3, 1, 1).in_views() });
}

#[test]
fn a_window_that_is_full_never_wedges() {
    let case = Case { fifo: true, ..Case::new(2, 1, 3) };
    let mut plan = case.plan.clone();
    plan.window.messages = 1;
    all_hold(&Case { plan: plan.clone(), ..case.clone() });
    all_hold(&Case { plan, crashes: 1, ..case.in_views() });
}

/// Whoever has no views and passes nothing on agrees only as long as nobody dies.
#[test]
fn without_views_a_sender_that_dies_midway_leaves_members_that_disagree() {
    let case = Case { crashes: 1, ..Case::new(3, 1, 1) };
    let found = case.check::<Unordered>();
    assert_eq!(broken(&found), ["agreement"]);
    // It sends, goes down, one message arrives and the other is lost.
    assert_eq!(length(&found, "agreement"), Some(4));
    let relay = Plan { relay: true, ..case.plan.clone() };
    let relayed = Case { plan: relay, ..case.clone() };
    assert_eq!(broken(&relayed.check::<Unordered>()), [""; 0]);
    // If all that was sent arrives, nobody can tell that the sender is dead.
    let whole = Case { cut_short: false, ..case };
    assert_eq!(broken(&whole.check::<Unordered>()), [""; 0]);
}

/// Orders for which a dead member says nothing any more stop, and stay in order.
#[test]
fn without_views_a_dead_member_stops_what_waits_for_it_and_nothing_comes_out_of_order() {
    let case = Case { crashes: 1, ..Case::new(3, 2, 2) };
    for (name, findings) in check_all(&case) {
        let broken = broken(&findings);
        assert!(broken.contains(&"agreement"), "{name}");
        assert!(broken.iter().all(|name| ["agreement", "validity", "delivered"].contains(name)), "{name}: {broken:?}");
        let stops = ["sequencer", "via the sequencer", "isis", "fifo-total", "causal-total"].contains(&name);
        assert_eq!(broken.contains(&"validity"), stops, "{name}");
    }
}

/// Orders that make no difference may be left out, and states searched deep first.
#[test]
fn other_searches_come_to_the_same_verdicts() {
    for crashes in [0, 1] {
        let case = Case { crashes, ..Case::new(3, 2, 2) };
        let full = Case { effort: Effort { reduce: false, ..case.effort.clone() }, ..case.clone() };
        let deep = Case { effort: Effort { search: Search::Depth, ..case.effort.clone() }, ..case.clone() };
        let searches = check_all(&case).into_iter().zip(check_all(&full)).zip(check_all(&deep));
        for (((name, reduced), (_, full)), (_, deep)) in searches {
            assert_eq!(broken(&reduced), broken(&full), "{name}");
            for verdict in deep.verdicts.iter().filter(|verdict| verdict.holds.is_some()) {
                let is_broken = verdict.holds == Some(false);
                assert_eq!(is_broken, broken(&full).contains(&verdict.name), "{name}: {}", verdict.name);
            }
        }
    }
}
