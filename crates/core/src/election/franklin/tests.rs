//! Tests of the rules, and of the cost over all orders. The rank of a node is its number. The
//! agreed leader `(4, 1)` is node 4 in epoch 1.

use super::{Candidate, FACTS};
use crate::election::circuit::test_ring::{TestRing, assert_cost_within_bound, default_plan, elect_on_ring_of_four};

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
    assert_eq!(elect_on_ring_of_four::<Candidate>(1).nodes_that_applied("FR-2"), [4]);
}

#[test]
fn fr_3_other_candidates_withdraw() {
    assert_eq!(elect_on_ring_of_four::<Candidate>(1).sorted_nodes_that_applied("FR-3"), [1, 2, 3]);
}

#[test]
fn fr_4_a_candidate_that_receives_its_own_rank_has_won() {
    let ring = elect_on_ring_of_four::<Candidate>(1);
    assert_eq!((ring.nodes_that_applied("FR-4"), ring.agreed_leader()), (alloc::vec![4], Some((4, 1))));
    // Two rounds, first with four candidates and then with one, in which two messages take each
    // hop.
    assert_eq!(ring.counts, [16, 4, 0], "algorithm, announcement and control messages");
}

#[test]
fn the_cost_stays_within_its_bound_for_any_starters() {
    assert_cost_within_bound::<Candidate>(&FACTS, |size, _, election, announcement| {
        // In every round two messages take each hop.
        assert_eq!((election % u64::from(2 * size), announcement), (0, u64::from(size)));
    });
}
