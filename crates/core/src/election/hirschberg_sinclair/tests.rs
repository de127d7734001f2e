//! Tests of the rules, and of the cost over all orders. The rank of a node is its number. The
//! agreed leader `(4, 1)` is node 4 in epoch 1.

use super::{FACTS, Message, Probing};
use crate::election::circuit::Body;
use crate::election::circuit::test_ring::{TestRing, assert_cost_within_bound, default_plan};

#[test]
fn hs_1_a_starter_probes_on_both_sides() {
    let mut ring: TestRing<Probing> = TestRing::new(default_plan(3));
    ring.campaign(2);
    assert_eq!((ring.nodes_that_applied("HS-1"), ring.in_flight.len()), (alloc::vec![2], 2));
}

#[test]
fn hs_2_a_node_at_the_end_of_a_probes_reach_replies() {
    let mut ring: TestRing<Probing> = TestRing::new(default_plan(3));
    ring.campaign(2);
    // Node 3 has a greater rank, so it drops the probe and sends two of its own.
    ring.deliver();
    // Node 1 has a lesser rank, so it replies.
    ring.deliver();
    assert_eq!(ring.nodes_that_applied("HS-2"), [1]);
    let kinds: alloc::vec::Vec<_> =
        ring.in_flight.iter().map(|(_, _, envelope)| crate::describe::Describe::kind(envelope)).collect();
    assert_eq!(kinds, ["probe", "probe", "reply"]);
    ring.settle();
    assert_eq!(ring.agreed_leader(), Some((3, 1)));
}

#[test]
fn hs_3_a_node_drops_a_probe_of_a_lesser_rank_and_starts() {
    let mut ring: TestRing<Probing> = TestRing::new(default_plan(3));
    ring.campaign(2);
    ring.deliver();
    assert_eq!((ring.nodes_that_applied("HS-3"), ring.nodes_that_applied("HS-1")), (alloc::vec![3], alloc::vec![2, 3]));
    assert_eq!(ring.in_flight.len(), 3, "one probe of node 2 and two of node 3");
}

/// Returns a ring of four after an election that all nodes started, in the order of their numbers.
fn elected_by_all() -> TestRing<Probing> {
    let mut ring: TestRing<Probing> = TestRing::new(default_plan(4));
    (1..=4).for_each(|number| ring.campaign(number));
    ring.settle();
    ring
}

#[test]
fn hs_4_only_the_greatest_node_within_reach_probes_further() {
    assert_eq!(elected_by_all().nodes_that_applied("HS-4"), [4, 4], "two hops, then four");
}

/// Replies that name another reach than the node's current one must not count.
#[test]
fn hs_4_replies_to_another_reach_do_not_count() {
    let mut ring: TestRing<Probing> = TestRing::new(default_plan(4));
    ring.campaign(4);
    while let Some((_, _, envelope)) = ring.in_flight.front_mut() {
        if let Body::Contest { message: Message::Reply { reach, .. }, .. } = &mut envelope.body {
            *reach += 1;
        }
        ring.deliver();
    }
    assert!(
        ring.nodes_that_applied("HS-2").len() == 2 && ring.nodes_that_applied("HS-4").is_empty(),
        "{:?}",
        ring.rules
    );
}

#[test]
fn hs_5_replies_return_to_the_prober() {
    assert_eq!(
        elected_by_all().nodes_that_applied("HS-5"),
        [1, 3],
        "the neighbours of the greatest node pass on replies from two hops away"
    );
}

#[test]
fn hs_6_both_last_probes_go_all_the_way_around() {
    let ring = elected_by_all();
    assert_eq!((ring.nodes_that_applied("HS-6"), ring.agreed_leader()), (alloc::vec![4], Some((4, 1))));
    // Eight probes over one hop and four replies, then two probes of node 4 over two hops with
    // their replies, then two around the ring: 8 + 4 + 4 + 4 + 8.
    assert_eq!(ring.counts, [28, 4, 0], "algorithm, announcement and control messages");
}

#[test]
fn the_cost_stays_within_its_bound_and_matches_the_figures_for_four_nodes() {
    let (mut min, mut max, mut sum, mut count) = (u64::MAX, 0, 0, 0_u64);
    assert_cost_within_bound::<Probing>(&FACTS, |size, starters, election, announcement| {
        assert_eq!(announcement, u64::from(size));
        if (size, starters) == (4, 4) {
            (min, max, sum, count) = (min.min(election), max.max(election), sum + election, count + 1);
        }
    });
    // The mean is 88/3, which `FACTS` gives as 29.33.
    assert_eq!((min, sum * 3, max), (28, 88 * count, 32));
}
