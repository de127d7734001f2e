//! Tests of the rules, and of the cost over all orders.

use super::{Collector, Message};
use crate::election::Ranking;
use crate::election::circuit::test_ring::{TestRing, default_plan, elected_by_starter, node, try_all};
use crate::election::circuit::{Body, Envelope, Run, Side};
use crate::group::Epoch;
use crate::protocol::Input;
use alloc::vec::Vec;

/// Makes a node receive a message of the contest from the node before it.
fn receives(ring: &mut TestRing<Collector>, number: u32, message: Message) {
    let run = Run { epoch: Epoch(1), without: Vec::new() };
    let envelope = Envelope { run, number: None, body: Body::Contest { from: Side::Before, message } };
    ring.step(node(number), Input::Message { from: node(number - 1), message: envelope });
}

fn ranks(numbers: &[u32]) -> Vec<crate::election::Rank> {
    numbers.iter().map(|number| Ranking::default().rank_of(node(*number))).collect()
}

#[test]
fn rl_1_a_starter_sends_a_list() {
    assert_eq!(elected_by_starter::<Collector>(2).nodes_that_applied("RL-1"), [2]);
}

#[test]
fn rl_2_every_other_node_adds_itself() {
    assert_eq!(elected_by_starter::<Collector>(2).nodes_that_applied("RL-2"), [3, 4, 1]);
}

#[test]
fn rl_3_the_starter_finds_the_greatest_rank_on_its_list() {
    let ring = elected_by_starter::<Collector>(2);
    assert_eq!(ring.nodes_that_applied("RL-3"), [2]);
    assert_eq!(ring.result(), Some((4, 1)));
}

#[test]
fn rl_4_the_announcement_goes_around_once() {
    let ring = elected_by_starter::<Collector>(2);
    assert_eq!(ring.nodes_that_applied("RL-4"), [3, 4, 1]);
    assert_eq!(ring.counts, [4, 4, 0]);
}

#[test]
fn rl_5_a_winner_missing_from_the_announcement_makes_the_starter_start_over() {
    let mut ring: TestRing<Collector> = TestRing::new(default_plan(4));
    ring.campaign(2);
    ring.in_flight.clear();
    let leader = Ranking::default().rank_of(node(4));
    receives(&mut ring, 2, Message::Elected { leader, heard: ranks(&[2, 3, 1]) });
    assert_eq!(ring.events[1].last(), Some(&crate::election::Event::Began { epoch: Epoch(2) }));
}

#[test]
fn rl_6_the_node_after_a_dead_starter_starts_over() {
    let mut ring: TestRing<Collector> = TestRing::new(default_plan(4));
    receives(&mut ring, 3, Message::List(ranks(&[2])));
    ring.in_flight.clear();
    receives(&mut ring, 3, Message::List(ranks(&[2, 3, 4, 1])));
    assert_eq!(ring.events[2].last(), Some(&crate::election::Event::Began { epoch: Epoch(2) }));
    ring.settle();
    assert_eq!(ring.result(), Some((4, 2)));
}

#[test]
fn the_cost_is_twice_the_ring_size_per_starter() {
    for size in 1..=5 {
        try_all::<Collector>(size, |starters, election, announcement| {
            let per_phase = u64::from(size) * starters as u64;
            assert_eq!((election, announcement), (per_phase, per_phase));
        });
    }
}
