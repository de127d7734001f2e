//! The checker finds seeded bugs in multicast orders, in relaying and in uniform delivery.
//!
//! `Case::new(3, 2, 4)` is a group of three nodes, the first two of which send four messages
//! in total. `Board` is the members' replicated state, a list of the latest messages; here its
//! capacity is zero.

use crate::checker::multicast::{Case, counterexample_length, violated_properties};
use quorate_core::fixtures::multicast::{
    BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty, hasty_uniform, unrelayed,
};
use quorate_core::multicast::{Board, Delivery, Plan};
use quorate_core::wrap::Viewed;
use quorate_erased::Erased;
use quorate_lab::multicast::run::PropertySet;

#[test]
fn not_delivering_own_messages_violates_validity() {
    let findings = Case::new(3, 1, 1).check::<BasicDeaf>();
    assert!(violated_properties(&findings).contains(&"validity"));
    assert_eq!(counterexample_length(&findings, "validity"), Some(3), "a send and two receipts");
}

#[test]
fn not_relaying_violates_agreement() {
    let case = Case { crashes: 1, ..Case::new(3, 1, 1) };
    let plan = Plan { relays: true, ..case.plan.clone() };
    let findings = case.check_nodes(move |me| Erased::new(unrelayed::<Board>(me, &plan)));
    assert_eq!(violated_properties(&findings), ["agreement"]);
    assert_eq!(
        counterexample_length(&findings, "agreement"),
        Some(4),
        "a send, the sender's crash, the receipt of one message and the loss of the other"
    );
}

#[test]
fn not_waiting_for_missing_messages_violates_fifo() {
    let case = Case::new(2, 1, 2);
    let case = Case { promises: PropertySet { fifo: true, ..case.promises }, ..case };
    let findings = case.check::<FifoHasty>();
    assert_eq!(violated_properties(&findings), ["fifo"]);
    assert_eq!(
        counterexample_length(&findings, "fifo"),
        Some(3),
        "two sends, and the receipt of the second message first"
    );
}

#[test]
fn comparing_one_entry_of_the_vector_clock_violates_causal_order() {
    let case = Case::new(3, 2, 2);
    let case = Case { promises: PropertySet { fifo: true, causal: true, ..case.promises }, ..case };
    let findings = case.check::<CausalBlind>();
    assert_eq!(violated_properties(&findings), ["causal"]);
    assert_eq!(
        counterexample_length(&findings, "causal"),
        Some(4),
        "a message, its receipt, a reply, and the receipt of the reply"
    );
}

#[test]
fn not_waiting_for_sequence_numbers_violates_total_order() {
    let case = Case::new(3, 2, 2);
    let case = Case { promises: PropertySet { total: true, ..case.promises }, ..case };
    let by_sequencer = case.check::<SequencerHasty>();
    assert!(violated_properties(&by_sequencer).contains(&"total"));
    assert_eq!(
        counterexample_length(&by_sequencer, "total"),
        Some(4),
        "each sends, and delivers the other's message after its own"
    );
    let by_agreement = case.check::<IsisHasty>();
    assert!(violated_properties(&by_agreement).contains(&"total"));
    assert_eq!(counterexample_length(&by_agreement, "total"), Some(4));
}

#[test]
fn not_waiting_until_all_hold_a_message_violates_uniformity() {
    let case = Case { crashes: 1, fifo: true, ..Case::new(3, 1, 1).in_views() };
    let plan = Plan { delivery: Delivery::Uniform, ..case.plan.clone() };
    let case = Case { promises: PropertySet { uniform: true, ..case.promises }, ..case };
    let findings = case.check_nodes(move |me| Erased::new(Viewed::new(me, hasty_uniform::<Board>(me, &plan))));
    assert_eq!(violated_properties(&findings), ["uniform"]);
}
