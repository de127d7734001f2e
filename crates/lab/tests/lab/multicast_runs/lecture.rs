//! The examples of delivery orders from the lecture slides on multicast: three senders with three
//! messages each, m0 … m8.

use super::{Action, NON_UNIFORM, delivers, id, node, violated_properties};
use quorate_lab::multicast::run::Property;

/// Returns the sender of a message of the slides, and its sequence number at this sender: P1 sends
/// m0, m1, m2; P2 sends m3, m4, m5; P3 sends m6, m7, m8.
fn sender_and_number(message: u64) -> (u32, u64) {
    (u32::try_from(message / 3).expect("there are nine messages") + 1, message % 3 + 1)
}

fn send_action(message: u64) -> Action {
    let (sender, number) = sender_and_number(message);
    Action::Sends(node(sender), id(sender, number), "m")
}

fn delivery_action(receiver: u32, message: u64) -> Action {
    let (sender, number) = sender_and_number(message);
    delivers(receiver, sender, number)
}

/// A history in which all messages are sent first, and then each node delivers them in its order.
fn deliver_in(orders: [[u64; 9]; 3]) -> Vec<Action> {
    let sends = (0..9).map(send_action);
    let receivers = (1..).zip(orders);
    sends
        .chain(receivers.flat_map(|(receiver, order)| order.map(|message| delivery_action(receiver, message))))
        .collect()
}

const FIFO: [u64; 9] = [0, 3, 6, 1, 4, 7, 2, 5, 8];
const TOTAL: [u64; 9] = [7, 1, 2, 4, 5, 3, 6, 0, 8];

#[test]
fn the_fifo_example_satisfies_every_order_if_all_nodes_deliver_in_it() {
    assert_eq!(violated_properties(3, NON_UNIFORM, &deliver_in([FIFO, FIFO, FIFO])), []);
}

#[test]
fn the_total_order_example_is_total_and_not_fifo() {
    // A message causally follows its sender's earlier ones, so the order is not causal either.
    assert_eq!(
        violated_properties(3, NON_UNIFORM, &deliver_in([TOTAL, TOTAL, TOTAL])),
        [Property::Fifo, Property::Causal]
    );
}

#[test]
fn fifo_orders_that_differ_between_nodes_are_not_total() {
    let other_fifo_order = [6, 0, 3, 1, 4, 7, 2, 5, 8];
    assert_eq!(violated_properties(3, NON_UNIFORM, &deliver_in([FIFO, other_fifo_order, FIFO])), [Property::Total]);
}

/// The causal example: m0 causes m4, because P2 delivers m0 before it sends m4; and m5 causes m8,
/// because P3 delivers m5 before it sends m8. P3 delivers in the given order.
fn causal_example(order_of_p3: [u64; 9]) -> Vec<Action> {
    let sends = [0, 3, 6, 1, 7].map(send_action);
    let replies = [delivery_action(2, 0), send_action(4), send_action(5)];
    let other_deliveries_of_p2 = [3, 6, 1, 4, 7].map(|message| delivery_action(2, message));
    // P3 delivers everything that precedes m8 in its order, and then sends m8.
    let before_m8: Vec<_> = order_of_p3
        .into_iter()
        .take_while(|message| *message != 8)
        .map(|message| delivery_action(3, message))
        .collect();
    let from_m8_on =
        order_of_p3.into_iter().skip_while(|message| *message != 8).map(|message| delivery_action(3, message));
    let mut actions: Vec<_> = sends.into_iter().chain(replies).chain(other_deliveries_of_p2).chain(before_m8).collect();
    actions.extend([send_action(2), send_action(8)]);
    actions.extend(from_m8_on);
    actions
}

#[test]
fn the_causal_example_is_causal() {
    // P1 sends m2 late, so P3 delivers it last.
    let actions = causal_example([0, 3, 6, 1, 4, 7, 5, 8, 2]);
    let violated = violated_properties(3, NON_UNIFORM, &actions);
    assert!(!violated.contains(&Property::Causal) && !violated.contains(&Property::Fifo), "{violated:?}");
}

#[test]
fn delivering_an_effect_before_its_cause_is_fifo_but_not_causal() {
    // m4 is delivered before m0, its cause; each sender's own order is kept.
    let actions = causal_example([3, 6, 4, 0, 1, 7, 5, 8, 2]);
    let violated = violated_properties(3, NON_UNIFORM, &actions);
    assert!(violated.contains(&Property::Causal) && !violated.contains(&Property::Fifo), "{violated:?}");
}
