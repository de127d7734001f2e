//! The sequences m0 … m8 of the lecture: three senders with three messages each, and their delivery
//! orders.

use super::{Action, NON_UNIFORM, delivers, id, node, violated};
use quorate_lab::multicast::run::Property;

/// P1 sends m0, m1, m2; P2 m3, m4, m5; P3 m6, m7, m8.
fn m(number: u64) -> (u32, u64) {
    (u32::try_from(number / 3).expect("there are nine") + 1, number % 3 + 1)
}

fn sent(number: u64) -> Action {
    let (sender, number) = m(number);
    Action::Sends(node(sender), id(sender, number), "m")
}

fn delivered(receiver: u32, number: u64) -> Action {
    let (sender, number) = m(number);
    delivers(receiver, sender, number)
}

/// All messages are sent before any is delivered; then each node delivers in its order.
fn deliver_in(orders: [[u64; 9]; 3]) -> Vec<Action> {
    let sends = (0..9).map(sent);
    let receivers = (1..).zip(orders);
    sends.chain(receivers.flat_map(|(receiver, order)| order.map(|number| delivered(receiver, number)))).collect()
}

const FIFO: [u64; 9] = [0, 3, 6, 1, 4, 7, 2, 5, 8];
const TOTAL: [u64; 9] = [7, 1, 2, 4, 5, 3, 6, 0, 8];

#[test]
fn the_fifo_example_keeps_every_order_if_all_deliver_it_so() {
    assert_eq!(violated(3, NON_UNIFORM, &deliver_in([FIFO, FIFO, FIFO])), []);
}

#[test]
fn the_total_order_example_is_total_and_not_fifo() {
    // A sender's messages depend on its earlier ones, so the order is not causal either.
    assert_eq!(violated(3, NON_UNIFORM, &deliver_in([TOTAL, TOTAL, TOTAL])), [Property::Fifo, Property::Causal]);
}

#[test]
fn fifo_alone_is_no_total_order() {
    let other = [6, 0, 3, 1, 4, 7, 2, 5, 8];
    assert_eq!(violated(3, NON_UNIFORM, &deliver_in([FIFO, other, FIFO])), [Property::Total]);
}

/// The causal example: m0 → m4, because P2 delivered m0 before it sent m4, and m5 → m8.
fn causal_example(third: [u64; 9]) -> Vec<Action> {
    let sends = [0, 3, 6, 1, 7].map(sent);
    let replies = [delivered(2, 0), sent(4), sent(5)];
    let deliver_in = [3, 6, 1, 4, 7].map(|number| delivered(2, number));
    // P3 sends m8 after it delivered m5, and everything before that in the order given.
    let before: Vec<_> =
        third.into_iter().take_while(|number| *number != 8).map(|number| delivered(3, number)).collect();
    let after = third.into_iter().skip_while(|number| *number != 8).map(|number| delivered(3, number));
    let mut actions: Vec<_> = sends.into_iter().chain(replies).chain(deliver_in).chain(before).collect();
    actions.extend([sent(2), sent(8)]);
    actions.extend(after);
    actions
}

#[test]
fn the_causal_example_is_causal() {
    // P1 sends m2 late, so P3 delivers it after m5.
    let actions = causal_example([0, 3, 6, 1, 4, 7, 5, 8, 2]);
    let found = violated(3, NON_UNIFORM, &actions);
    assert!(!found.contains(&Property::Causal) && !found.contains(&Property::Fifo), "{found:?}");
}

#[test]
fn an_effect_before_its_cause_is_fifo_and_not_causal() {
    // m4 is delivered before m0, its cause; each sender's own order is kept.
    let actions = causal_example([3, 6, 4, 0, 1, 7, 5, 8, 2]);
    let found = violated(3, NON_UNIFORM, &actions);
    assert!(found.contains(&Property::Causal) && !found.contains(&Property::Fifo), "{found:?}");
}
