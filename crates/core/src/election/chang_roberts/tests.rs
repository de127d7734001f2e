//! Tests of the rules, and of the cost over all orders. The rank of a node is its number. The
//! agreed leader `(3, 1)` is node 3 in epoch 1.

use super::{Candidacy, FACTS};
use crate::election::circuit::test_ring::{TestRing, default_plan, elect_in_all_orders};
use crate::election::{Case, Starting};
use alloc::vec;

/// Returns a ring of three on which nodes 1 and 2 have started.
fn ring_with_two_starters() -> TestRing<Candidacy> {
    let mut ring = TestRing::new(default_plan(3));
    ring.campaign(1);
    ring.campaign(2);
    ring
}

#[test]
fn cr_1_a_starter_sends_its_rank_on() {
    let ring = ring_with_two_starters();
    assert_eq!(ring.nodes_that_applied("CR-1"), [1, 2]);
    assert_eq!(ring.in_flight.len(), 2);
}

#[test]
fn cr_2_a_greater_rank_is_passed_on() {
    let mut ring = ring_with_two_starters();
    ring.settle();
    assert_eq!(ring.nodes_that_applied("CR-2"), [1, 2]);
}

#[test]
fn cr_2_a_node_that_passed_a_greater_rank_on_drops_lesser_ranks() {
    let mut ring: TestRing<Candidacy> = TestRing::new(default_plan(3));
    ring.campaign(1);
    ring.campaign(3);
    // Rank 3 arrives at node 1, and overtakes rank 1 on the link to node 2.
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
fn cr_3_a_lesser_rank_is_replaced_only_by_a_node_that_has_not_started() {
    let mut ring = ring_with_two_starters();
    // Rank 1 is not replaced: node 2 takes part already.
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("CR-3"), ring.in_flight.len()), (vec![2], 1));
    // Rank 2 is replaced by rank 3, whose node had not started.
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("CR-3"), ring.in_flight.len()), (vec![2, 3], 1));
}

#[test]
fn cr_4_only_the_greatest_rank_comes_around() {
    let mut ring = ring_with_two_starters();
    ring.settle();
    assert_eq!(ring.nodes_that_applied("CR-4"), [3]);
    assert_eq!(ring.agreed_leader(), Some((3, 1)));
    // Ranks 1 and 2 take one hop each, rank 3 and the announcement three hops each.
    assert_eq!(ring.counts, [5, 3, 0], "algorithm, announcement and control messages");
}

#[test]
fn the_cost_over_all_orders_is_the_expected_one() {
    for size in 1..=6 {
        // The minimum, maximum, sum and number of message counts: with one starter, and with all.
        let mut spreads = [(u64::MAX, 0, 0, 0), (u64::MAX, 0, 0, 0)];
        elect_in_all_orders::<Candidacy>(size, |starters, election, announcement| {
            let all_start = starters == size as usize && size > 1;
            let (min, max, sum, count) = &mut spreads[usize::from(all_start)];
            // The expected figures include the announcement for one starter, and not for all.
            let messages = if all_start { election } else { election + announcement };
            (*min, *max) = ((*min).min(messages), (*max).max(messages));
            (*sum, *count) = (*sum + messages, *count + 1);
        });
        for (starting, (min, max, sum, count)) in [Starting::One, Starting::All].into_iter().zip(spreads) {
            let Some(expected_messages) =
                (FACTS.cost.expected_messages)(&Case { live_nodes: size as usize, dead_nodes: 0, starting })
            else {
                continue;
            };
            if count > 0 {
                assert_eq!(
                    (expected_messages.min, expected_messages.max),
                    (Some(min as f64), Some(max as f64)),
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
