//! Tests of the rules, and of the cost over all orders.

use super::{Candidate, FACTS};
use crate::election::circuit::test_ring::{TestRing, assert_cost_within_bound, default_plan, elected_by_starter};

#[test]
fn fr_1_every_node_that_receives_a_message_becomes_a_candidate() {
    let mut ring: TestRing<Candidate> = TestRing::new(default_plan(4));
    ring.campaign(1);
    assert_eq!(ring.in_flight.len(), 2);
    ring.settle();
    assert_eq!(ring.sorted_nodes_that_applied("FR-1"), [1, 2, 3, 4]);
}

#[test]
fn fr_2_a_candidate_greater_than_both_neighbours_remains() {
    assert_eq!(elected_by_starter::<Candidate>(1).nodes_that_applied("FR-2"), [4]);
}

#[test]
fn fr_3_other_candidates_withdraw() {
    assert_eq!(elected_by_starter::<Candidate>(1).sorted_nodes_that_applied("FR-3"), [1, 2, 3]);
}

#[test]
fn fr_4_a_candidate_that_receives_its_own_rank_has_won() {
    let ring = elected_by_starter::<Candidate>(1);
    assert_eq!((ring.nodes_that_applied("FR-4"), ring.result()), (alloc::vec![4], Some((4, 1))));
    // Two rounds: four candidates, then one.
    assert_eq!(ring.counts, [16, 4, 0]);
}

#[test]
fn the_cost_stays_within_its_bound_for_any_starters() {
    assert_cost_within_bound::<Candidate>(&FACTS, |size, _, election, announcement| {
        assert_eq!((election % u64::from(2 * size), announcement), (0, u64::from(size)));
    });
}
