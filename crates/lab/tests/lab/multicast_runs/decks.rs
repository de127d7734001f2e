//! The sequences m0 … m8 of the lecture: three senders of three messages each, and the orders in which they are delivered.

use super::{Act, NON_UNIFORM, breached, delivers, id, node};
use quorate_lab::multicast::run::Property;

/// P1 sends m0, m1, m2; P2 m3, m4, m5; P3 m6, m7, m8.
fn m(number: u64) -> (u32, u64) {
    (u32::try_from(number / 3).expect("there are nine") + 1, number % 3 + 1)
}

fn sent(number: u64) -> Act {
    let (sender, number) = m(number);
    Act::Sends(node(sender), id(sender, number), "m")
}

fn delivered(receiver: u32, number: u64) -> Act {
    let (sender, number) = m(number);
    delivers(receiver, sender, number)
}

/// All are sent before anything is heard; then each node delivers in its order.
fn heard(orders: [[u64; 9]; 3]) -> Vec<Act> {
    let said = (0..9).map(sent);
    let receivers = (1..).zip(orders);
    said.chain(receivers.flat_map(|(receiver, order)| order.map(|number| delivered(receiver, number)))).collect()
}

const FIFO: [u64; 9] = [0, 3, 6, 1, 4, 7, 2, 5, 8];
const TOTAL: [u64; 9] = [7, 1, 2, 4, 5, 3, 6, 0, 8];

#[test]
fn the_fifo_example_keeps_every_order_if_all_hear_it_so() {
    assert_eq!(breached(3, NON_UNIFORM, &heard([FIFO, FIFO, FIFO])), []);
}

#[test]
fn the_total_order_example_is_total_and_not_fifo() {
    // What one sender says follows from what it said before, so that it is not causal either.
    assert_eq!(breached(3, NON_UNIFORM, &heard([TOTAL, TOTAL, TOTAL])), [Property::Fifo, Property::Causal]);
}

#[test]
fn fifo_alone_is_no_total_order() {
    let other = [6, 0, 3, 1, 4, 7, 2, 5, 8];
    assert_eq!(breached(3, NON_UNIFORM, &heard([FIFO, other, FIFO])), [Property::Total]);
}

/// The causal example: m0 → m4, because P2 heard m0 before it said m4, and m5 → m8.
fn causal_example(third: [u64; 9]) -> Vec<Act> {
    let said = [0, 3, 6, 1, 7].map(sent);
    let replies = [delivered(2, 0), sent(4), sent(5)];
    let heard = [3, 6, 1, 4, 7].map(|number| delivered(2, number));
    // P3 says m8 when it has heard m5, and all before that in the order given.
    let before: Vec<_> =
        third.into_iter().take_while(|number| *number != 8).map(|number| delivered(3, number)).collect();
    let after = third.into_iter().skip_while(|number| *number != 8).map(|number| delivered(3, number));
    let mut acts: Vec<_> = said.into_iter().chain(replies).chain(heard).chain(before).collect();
    acts.extend([sent(2), sent(8)]);
    acts.extend(after);
    acts
}

#[test]
fn the_causal_example_is_causal() {
    // P1 says m2 late, so P3 hears it after m5.
    let acts = causal_example([0, 3, 6, 1, 4, 7, 5, 8, 2]);
    let found = breached(3, NON_UNIFORM, &acts);
    assert!(!found.contains(&Property::Causal) && !found.contains(&Property::Fifo), "{found:?}");
}

#[test]
fn an_effect_before_its_cause_is_fifo_and_not_causal() {
    // m4 before m0, from which it follows; each sender's own order is kept.
    let acts = causal_example([3, 6, 4, 0, 1, 7, 5, 8, 2]);
    let found = breached(3, NON_UNIFORM, &acts);
    assert!(found.contains(&Property::Causal) && !found.contains(&Property::Fifo), "{found:?}");
}
