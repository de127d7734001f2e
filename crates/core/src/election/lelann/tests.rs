//! Tests of the rules, and of the cost over all orders. The rank of a node is its number. The
//! agreed leader `(3, 1)` is node 3 in epoch 1, and `counts` has the numbers of algorithm,
//! announcement and control messages.

use super::RankCount;
use crate::election::circuit::test_ring::{TestRing, default_plan, elect_in_all_orders};

#[test]
fn ll_1_every_node_sends_its_rank_once() {
    let mut ring: TestRing<RankCount> = TestRing::new(default_plan(3));
    ring.campaign(1);
    assert_eq!(ring.in_flight.len(), 1);
    ring.settle();
    assert_eq!(ring.nodes_that_applied("LL-1"), [1, 2, 3]);
}

#[test]
fn ll_2_a_node_passes_on_the_ranks_of_others() {
    let mut ring: TestRing<RankCount> = TestRing::new(default_plan(3));
    ring.campaign(1);
    ring.deliver();
    assert_eq!(ring.in_flight.len(), 2, "the second node sends its own rank and passes the first one on");
    assert_eq!(ring.nodes_that_applied("LL-2"), [2]);
    ring.settle();
    assert_eq!(ring.nodes_that_applied("LL-3").len(), 3);
    assert_eq!(ring.agreed_leader(), Some((3, 1)));
    assert_eq!(ring.counts, [9, 0, 0]);
}

/// Delivers the newest message first, because links need not be FIFO.
#[test]
fn ll_3_ranks_that_overtake_each_other_are_counted() {
    let mut ring: TestRing<RankCount> = TestRing::new(default_plan(4));
    (1..=4).for_each(|number| ring.campaign(number));
    while let Some(last) = ring.in_flight.pop_back() {
        ring.in_flight.push_front(last);
        ring.deliver();
    }
    assert_eq!(ring.agreed_leader(), Some((4, 1)));
    assert_eq!(ring.counts, [16, 0, 0]);
}

#[test]
fn the_cost_is_n_squared_for_any_starters() {
    for size in 1..=5 {
        elect_in_all_orders::<RankCount>(size, |_, election, announcement| {
            assert_eq!((election, announcement), (u64::from(size * size), 0));
        });
    }
}
