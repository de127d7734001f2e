//! Tests of the rules, and of the cost over all orders.

use super::{Candidacy, FACTS};
use crate::election::circuit::test_ring::{TestRing, default_plan, try_all};
use crate::election::{Case, Starting};
use alloc::vec;

/// Nodes 1 and 2 of three start.
fn two_start() -> TestRing<Candidacy> {
    let mut ring = TestRing::new(default_plan(3));
    ring.campaign(1);
    ring.campaign(2);
    ring
}

#[test]
fn cr_1_a_starter_sends_its_rank_on() {
    let ring = two_start();
    assert_eq!(ring.nodes_that_applied("CR-1"), [1, 2]);
    assert_eq!(ring.in_flight.len(), 2);
}

#[test]
fn cr_2_a_greater_rank_is_passed_on() {
    let mut ring = two_start();
    ring.settle();
    assert_eq!(ring.nodes_that_applied("CR-2"), [1, 2]);
}

/// Rank 3 overtakes rank 1 on the way from 1 to 2.
#[test]
fn cr_2_a_node_that_passed_a_greater_rank_on_takes_part() {
    let mut ring: TestRing<Candidacy> = TestRing::new(default_plan(3));
    ring.campaign(1);
    ring.campaign(3);
    ring.in_flight.rotate_left(1);
    ring.deliver();
    ring.in_flight.swap(0, 1);
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("CR-2"), ring.in_flight.len()), (vec![1, 2], 2));
    // Node 2 drops rank 1 and sends nothing instead.
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("CR-3"), ring.in_flight.len()), (vec![2], 1));
}

#[test]
fn cr_3_a_lesser_rank_is_replaced_once_and_then_dropped() {
    let mut ring = two_start();
    // Rank 1 is not replaced: node 2 takes part already.
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("CR-3"), ring.in_flight.len()), (vec![2], 1));
    // Rank 2 is replaced by rank 3, whose node had not started.
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("CR-3"), ring.in_flight.len()), (vec![2, 3], 1));
}

#[test]
fn cr_4_only_the_greatest_rank_comes_around() {
    let mut ring = two_start();
    ring.settle();
    assert_eq!(ring.nodes_that_applied("CR-4"), [3]);
    assert_eq!(ring.result(), Some((3, 1)));
    assert_eq!(ring.counts, [5, 3, 0]);
}

#[test]
fn the_cost_over_all_orders_is_the_expected_one() {
    for size in 1..=6 {
        let mut spread = [(u64::MAX, 0, 0, 0), (u64::MAX, 0, 0, 0)];
        try_all::<Candidacy>(size, |starters, election, announcement| {
            let all = starters == size as usize && size > 1;
            let (least, most, sum, count) = &mut spread[usize::from(all)];
            let messages = if all { election } else { election + announcement };
            (*least, *most) = ((*least).min(messages), (*most).max(messages));
            (*sum, *count) = (*sum + messages, *count + 1);
        });
        for (starting, (least, most, sum, count)) in [Starting::One, Starting::All].into_iter().zip(spread) {
            let Some(expected_messages) = (FACTS.cost.expected)(&Case { live: size as usize, dead: 0, starting })
            else {
                continue;
            };
            if count > 0 {
                assert_eq!(
                    (expected_messages.least, expected_messages.most),
                    (Some(least as f64), Some(most as f64)),
                    "{size}, {starting:?}"
                );
                let mean = sum as f64 / count as f64;
                assert!(
                    expected_messages.mean.is_some_and(|expected| (expected - mean).abs() < 1e-9),
                    "{size}, {starting:?}: {mean}"
                );
            }
        }
    }
}
