//! Tests: the rules, and the cost over all orders.

use super::{Collector, Message};
use crate::election::Ranking;
use crate::election::circuit::bench::{Bench, node, one_starts, try_all, usual};
use crate::election::circuit::{Body, Letter, Run, Side};
use crate::group::Epoch;
use crate::protocol::Input;
use alloc::vec::Vec;

fn hears(ring: &mut Bench<Collector>, number: u32, message: Message) {
    let run = Run { epoch: Epoch(1), without: Vec::new() };
    let letter = Letter { run, number: None, body: Body::Contest { from: Side::Before, message } };
    ring.step(node(number), Input::Message { from: node(number - 1), message: letter });
}

fn ranks(numbers: &[u32]) -> Vec<crate::election::Rank> {
    numbers.iter().map(|number| Ranking::default().of(node(*number))).collect()
}

#[test]
fn rl_1_whoever_starts_asks_who_is_up() {
    assert_eq!(one_starts::<Collector>(2).who("RL-1"), [2]);
}

#[test]
fn rl_2_everyone_else_adds_itself() {
    assert_eq!(one_starts::<Collector>(2).who("RL-2"), [3, 4, 1]);
}

#[test]
fn rl_3_whoever_started_reads_the_greatest_off_its_list() {
    let ring = one_starts::<Collector>(2);
    assert_eq!(ring.who("RL-3"), [2]);
    assert_eq!(ring.result(), Some((4, 1)));
}

#[test]
fn rl_4_the_announcement_goes_round_once() {
    let ring = one_starts::<Collector>(2);
    assert_eq!(ring.who("RL-4"), [3, 4, 1]);
    assert_eq!(ring.counts, [4, 4, 0]);
}

#[test]
fn rl_5_a_winner_that_has_not_heard_of_it_is_dead() {
    let mut ring: Bench<Collector> = Bench::new(usual(4));
    ring.campaign(2);
    ring.wires.clear();
    let leader = Ranking::default().of(node(4));
    hears(&mut ring, 2, Message::Elected { leader, heard: ranks(&[2, 3, 1]) });
    assert_eq!(ring.told[1].last(), Some(&crate::election::Event::Began { epoch: Epoch(2) }));
}

#[test]
fn rl_6_the_node_after_a_dead_starter_notices() {
    let mut ring: Bench<Collector> = Bench::new(usual(4));
    hears(&mut ring, 3, Message::List(ranks(&[2])));
    ring.wires.clear();
    hears(&mut ring, 3, Message::List(ranks(&[2, 3, 4, 1])));
    assert_eq!(ring.told[2].last(), Some(&crate::election::Event::Began { epoch: Epoch(2) }));
    ring.settle();
    assert_eq!(ring.result(), Some((4, 2)));
}

#[test]
fn it_costs_twice_the_ring_for_each_who_starts() {
    for size in 1..=5 {
        try_all::<Collector>(size, |starters, election, announcement| {
            let each = u64::from(size) * starters as u64;
            assert_eq!((election, announcement), (each, each));
        });
    }
}
