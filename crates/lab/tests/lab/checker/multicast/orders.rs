//! Multicast orders: each keeps its promise in every schedule.
//!
//! `Case::new(3, 2, 4)` is a group of three nodes, the first two of which send four messages
//! in total.

use crate::checker::multicast::{Case, counterexample_length, violated_properties};
use quorate_check::{Effort, Findings, Search};
use quorate_core::multicast::{Causal, Delivery, Fifo, Isis, Plan, Sequencer, Sequencing, Unordered};
use quorate_lab::multicast::run::PropertySet;

const FIFO: PropertySet = PropertySet { fifo: true, ..PropertySet::RELIABLE };
const CAUSAL: PropertySet = PropertySet { causal: true, ..FIFO };
const TOTAL: PropertySet = PropertySet { total: true, ..PropertySet::RELIABLE };

/// Checks eight orders, each against its own promises and those of `case` about views and
/// uniformity.
fn check_all(case: &Case) -> Vec<(&'static str, Findings)> {
    let promising = |promises: PropertySet| {
        let PropertySet { views, uniform, .. } = case.promises;
        Case { promises: PropertySet { views, uniform, ..promises }, ..case.clone() }
    };
    let through_sequencer = Plan { sequencing: Sequencing::ThroughSequencer, ..case.plan.clone() };
    vec![
        ("unordered", promising(PropertySet::RELIABLE).check::<Unordered>()),
        ("fifo", promising(FIFO).check::<Fifo>()),
        ("causal", promising(CAUSAL).check::<Causal>()),
        ("sequencer", promising(TOTAL).check::<Sequencer<Unordered>>()),
        ("through the sequencer", Case { plan: through_sequencer, ..promising(TOTAL) }.check::<Sequencer<Unordered>>()),
        ("isis", promising(TOTAL).check::<Isis<Unordered>>()),
        ("fifo-total", promising(PropertySet { total: true, ..FIFO }).check::<Sequencer<Fifo>>()),
        ("causal-isis", promising(PropertySet { total: true, ..CAUSAL }).check::<Isis<Causal>>()),
    ]
}

fn assert_all_hold(case: &Case) {
    for (name, findings) in check_all(case) {
        println!("{name}: {} states, {:.1} s", findings.main_pass.states, findings.main_pass.seconds);
        assert_eq!(violated_properties(&findings), [""; 0], "{name}: {case:?}");
    }
}

#[test]
fn orders_keep_their_promises_without_crashes() {
    assert_all_hold(&Case::new(3, 2, 2));
    assert_all_hold(&Case::new(2, 2, 3));
    assert_all_hold(&Case::new(1, 1, 2));
}

#[test]
fn in_views_orders_keep_their_promises_with_a_crash_at_every_point() {
    let case = Case { crashes: 1, ..Case::new(3, 2, 2).in_views() };
    assert_all_hold(&Case { fifo: true, ..case.clone() });
    assert_all_hold(&Case { fifo: true, ..Case { crashes: 1, ..Case::new(2, 2, 3).in_views() } });
}

#[test]
fn uniform_delivery_binds_survivors_to_deliveries_of_crashed_nodes() {
    let case = Case { crashes: 1, fifo: true, ..Case::new(3, 1, 1).in_views() };
    let plan = Plan { delivery: Delivery::Uniform, ..case.plan.clone() };
    assert_all_hold(&Case { plan, promises: PropertySet { uniform: true, ..case.promises }, ..case });
}

#[test]
fn views_may_follow_in_quick_succession() {
    assert_all_hold(&Case { crashes: 2, fifo: true, ..Case::new(3, 1, 1).in_views() });
}

#[test]
fn a_full_window_never_blocks_forever() {
    let case = Case { fifo: true, ..Case::new(2, 1, 3) };
    let mut plan = case.plan.clone();
    plan.window.messages = 1;
    assert_all_hold(&Case { plan: plan.clone(), ..case.clone() });
    assert_all_hold(&Case { plan, crashes: 1, ..case.in_views() });
}

#[test]
fn without_views_a_sender_that_crashes_midway_leaves_members_that_disagree() {
    let case = Case { crashes: 1, ..Case::new(3, 1, 1) };
    let findings = case.check::<Unordered>();
    assert_eq!(violated_properties(&findings), ["agreement"]);
    // The node sends and crashes; one message arrives and the other is lost.
    assert_eq!(counterexample_length(&findings, "agreement"), Some(4));
    let relay = Plan { relays: true, ..case.plan.clone() };
    let relayed = Case { plan: relay, ..case.clone() };
    assert_eq!(violated_properties(&relayed.check::<Unordered>()), [""; 0]);
    // If all messages arrive, the sender's crash has no effect.
    let uninterrupted = Case { crash_interrupts_sends: false, ..case };
    assert_eq!(violated_properties(&uninterrupted.check::<Unordered>()), [""; 0]);
}

#[test]
fn without_views_a_crashed_member_blocks_orders_that_need_it_but_violates_no_order() {
    let case = Case { crashes: 1, ..Case::new(3, 2, 2) };
    for (name, findings) in check_all(&case) {
        let violated = violated_properties(&findings);
        assert!(violated.contains(&"agreement"), "{name}");
        assert!(
            violated.iter().all(|property| ["agreement", "validity", "delivered"].contains(property)),
            "{name}: {violated:?}"
        );
        let needs_others = ["sequencer", "through the sequencer", "isis", "fifo-total", "causal-isis"].contains(&name);
        assert_eq!(violated.contains(&"validity"), needs_others, "{name}");
    }
}

/// Reduction changes no verdict, and depth-first search contradicts none.
#[test]
fn other_searches_find_the_same_verdicts() {
    for crashes in [0, 1] {
        let case = Case { crashes, ..Case::new(3, 2, 2) };
        let full = Case { effort: Effort { reduce: false, ..case.effort.clone() }, ..case.clone() };
        let depth_first = Case { effort: Effort { search: Search::Depth, ..case.effort.clone() }, ..case.clone() };
        let searches = check_all(&case).into_iter().zip(check_all(&full)).zip(check_all(&depth_first));
        for (((name, reduced), (_, full)), (_, depth_first)) in searches {
            assert_eq!(violated_properties(&reduced), violated_properties(&full), "{name}");
            for verdict in depth_first.verdicts.iter().filter(|verdict| verdict.holds.is_some()) {
                let is_violated = verdict.holds == Some(false);
                assert_eq!(is_violated, violated_properties(&full).contains(&verdict.name), "{name}: {}", verdict.name);
            }
        }
    }
}
