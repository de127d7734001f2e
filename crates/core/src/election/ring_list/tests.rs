//! Tests of the rules, and of the cost over all orders. The rank of a node is its number. The
//! agreed leader `(4, 1)` is node 4 in epoch 1.

use super::{Collector, Message};
use crate::election::Ranking;
use crate::election::circuit::test_ring::{TestRing, default_plan, elect_in_all_orders, elect_on_ring_of_four, node};
use crate::election::circuit::{Body, Envelope, Run, Side};
use crate::group::Epoch;
use crate::protocol::Input;
use alloc::vec::Vec;

/// Delivers a message of the contest, in the first epoch, to a node from the node before it.
fn deliver_from_predecessor(ring: &mut TestRing<Collector>, number: u32, message: Message) {
    let run = Run { epoch: Epoch(1), left_out: Vec::new() };
    let envelope = Envelope { run, number: None, body: Body::Contest { from: Side::Before, message } };
    ring.step(node(number), Input::Message { from: node(number - 1), message: envelope });
}

fn ranks(numbers: &[u32]) -> Vec<crate::election::Rank> {
    numbers.iter().map(|number| Ranking::default().rank_of(node(*number))).collect()
}

#[test]
fn rl_1_a_starter_sends_a_list() {
    assert_eq!(elect_on_ring_of_four::<Collector>(2).nodes_that_applied("RL-1"), [2]);
}

#[test]
fn rl_2_every_other_node_adds_itself() {
    assert_eq!(elect_on_ring_of_four::<Collector>(2).nodes_that_applied("RL-2"), [3, 4, 1]);
}

#[test]
fn rl_3_the_starter_finds_the_greatest_rank_on_its_list() {
    let ring = elect_on_ring_of_four::<Collector>(2);
    assert_eq!(ring.nodes_that_applied("RL-3"), [2]);
    assert_eq!(ring.agreed_leader(), Some((4, 1)));
}

#[test]
fn rl_4_the_announcement_goes_around_once() {
    let ring = elect_on_ring_of_four::<Collector>(2);
    assert_eq!(ring.nodes_that_applied("RL-4"), [3, 4, 1]);
    assert_eq!(ring.counts, [4, 4, 0], "algorithm, announcement and control messages");
}

#[test]
fn rl_5_a_winner_missing_from_the_announcement_makes_the_starter_start_over() {
    let mut ring: TestRing<Collector> = TestRing::new(default_plan(4));
    ring.campaign(2);
    ring.in_flight.clear();
    let leader = Ranking::default().rank_of(node(4));
    deliver_from_predecessor(&mut ring, 2, Message::Elected { leader, receivers: ranks(&[2, 3, 1]) });
    assert_eq!(ring.events[1].last(), Some(&crate::election::Event::Began { epoch: Epoch(2) }));
}

#[test]
fn rl_6_the_node_after_a_dead_starter_starts_over() {
    let mut ring: TestRing<Collector> = TestRing::new(default_plan(4));
    deliver_from_predecessor(&mut ring, 3, Message::List(ranks(&[2])));
    ring.in_flight.clear();
    deliver_from_predecessor(&mut ring, 3, Message::List(ranks(&[2, 3, 4, 1])));
    assert_eq!(ring.events[2].last(), Some(&crate::election::Event::Began { epoch: Epoch(2) }));
    ring.settle();
    assert_eq!(ring.agreed_leader(), Some((4, 2)));
}

#[test]
fn the_cost_is_twice_the_ring_size_per_starter() {
    for size in 1..=5 {
        elect_in_all_orders::<Collector>(size, |starters, election, announcement| {
            let around_once = u64::from(size) * starters as u64;
            assert_eq!((election, announcement), (around_once, around_once));
        });
    }
}
