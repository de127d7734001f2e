//! Tests of the rules, and of the cost over all orders. The rank of a node is its number. The
//! agreed leader `(4, 1)` is node 4 in epoch 1.

use super::{Candidate, FACTS};
use crate::election::circuit::test_ring::{TestRing, assert_cost_within_bound, default_plan, elect_on_ring_of_four};

#[test]
fn pe_1_every_node_that_receives_a_message_becomes_a_candidate() {
    let mut ring: TestRing<Candidate> = TestRing::new(default_plan(4));
    ring.campaign(2);
    assert_eq!(ring.in_flight.len(), 1);
    ring.settle();
    assert_eq!(ring.sorted_nodes_that_applied("PE-1"), [1, 2, 3, 4]);
}

#[test]
fn pe_2_every_candidate_receives_the_nearer_value() {
    assert_eq!(elect_on_ring_of_four::<Candidate>(2).sorted_nodes_that_applied("PE-2"), [1, 2, 3, 4]);
}

#[test]
fn pe_3_the_candidate_after_the_greatest_adopts_its_value() {
    assert_eq!(elect_on_ring_of_four::<Candidate>(2).nodes_that_applied("PE-3"), [1]);
}

#[test]
fn pe_4_other_candidates_withdraw() {
    assert_eq!(elect_on_ring_of_four::<Candidate>(2).sorted_nodes_that_applied("PE-4"), [2, 3, 4]);
}

#[test]
fn pe_5_a_value_that_returns_to_its_candidate_has_won() {
    let ring = elect_on_ring_of_four::<Candidate>(2);
    assert_eq!((ring.nodes_that_applied("PE-5"), ring.agreed_leader()), (alloc::vec![1], Some((4, 1))));
    // One round of two messages for each of four candidates, and one message once around the ring.
    assert_eq!(ring.counts, [12, 4, 0], "algorithm, announcement and control messages");
}

#[test]
fn the_cost_stays_within_its_bound_for_any_starters() {
    assert_cost_within_bound::<Candidate>(&FACTS, |size, _, _, announcement| assert_eq!(announcement, u64::from(size)));
}
