//! Tests: the rules, and the cost over all orders.

use super::Roll;
use crate::election::circuit::bench::{Bench, try_all, usual};

#[test]
fn ll_1_whoever_starts_or_hears_of_it_sends_its_rank_once() {
    let mut ring: Bench<Roll> = Bench::new(usual(3));
    ring.campaign(1);
    assert_eq!(ring.wires.len(), 1);
    ring.settle();
    assert_eq!(ring.who("LL-1"), [1, 2, 3]);
}

#[test]
fn ll_2_another_ones_rank_is_passed_on() {
    let mut ring: Bench<Roll> = Bench::new(usual(3));
    ring.campaign(1);
    ring.deliver();
    assert_eq!(ring.wires.len(), 2, "the second node sends its own rank and passes the first one on");
    assert_eq!(ring.who("LL-2"), [2]);
    ring.settle();
    assert_eq!(ring.who("LL-3").len(), 3);
    assert_eq!(ring.result(), Some((3, 1)));
    assert_eq!(ring.counts, [9, 0, 0]);
}

/// The last message first: links need not keep order.
#[test]
fn ll_3_ranks_that_overtake_each_other_are_counted_all_the_same() {
    let mut ring: Bench<Roll> = Bench::new(usual(4));
    (1..=4).for_each(|number| ring.campaign(number));
    while let Some(last) = ring.wires.pop_back() {
        ring.wires.push_front(last);
        ring.deliver();
    }
    assert_eq!(ring.result(), Some((4, 1)));
    assert_eq!(ring.counts, [16, 0, 0]);
}

#[test]
fn it_costs_a_square_whoever_starts() {
    for size in 1..=5 {
        try_all::<Roll>(size, |_, election, announcement| {
            assert_eq!((election, announcement), (u64::from(size * size), 0));
        });
    }
}
