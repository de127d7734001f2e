//! A planted mistake in each order is found, by a short way.

use crate::checker::multicast::{Case, broken, length};
use quorate_core::fixtures::multicast::{
    BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty, hasty_uniform, unrelayed,
};
use quorate_core::multicast::{Board, Delivery, Plan};
use quorate_core::wrap::Viewed;
use quorate_erased::Erased;
use quorate_lab::multicast::run::Promises;

#[test]
fn who_never_hears_itself_breaks_validity() {
    let found = Case::new(3, 1, 1).check::<BasicDeaf>();
    assert!(broken(&found).contains(&"validity"));
    assert_eq!(length(&found, "validity"), Some(3), "it sends, and both others hear it");
}

#[test]
fn who_passes_nothing_on_breaks_agreement() {
    let case = Case { crashes: 1, ..Case::new(3, 1, 1) };
    let plan = Plan { relay: true, ..case.plan.clone() };
    let found = case.check_nodes(move |me| Erased::new(unrelayed::<Board>(me, &plan)));
    assert_eq!(broken(&found), ["agreement"]);
    assert_eq!(length(&found, "agreement"), Some(4));
}

#[test]
fn who_does_not_wait_for_what_is_missing_breaks_the_order_of_a_sender() {
    let case = Case::new(2, 1, 2);
    let case = Case { promises: Promises { fifo: true, ..case.promises }, ..case };
    let found = case.check::<FifoHasty>();
    assert_eq!(broken(&found), ["fifo"]);
    assert_eq!(length(&found, "fifo"), Some(3), "it sends twice, and the second one comes first");
}

#[test]
fn who_looks_at_one_entry_of_a_vector_breaks_the_order_of_causes() {
    let case = Case::new(3, 2, 2);
    let case = Case { promises: Promises { fifo: true, causal: true, ..case.promises }, ..case };
    let found = case.check::<CausalBlind>();
    assert_eq!(broken(&found), ["causal"]);
    assert_eq!(length(&found, "causal"), Some(4), "a message, its receipt, the reply, and the receipt of that");
}

#[test]
fn who_does_not_wait_for_places_breaks_the_order_of_all() {
    let case = Case::new(3, 2, 2);
    let case = Case { promises: Promises { total: true, ..case.promises }, ..case };
    let by_sequencer = case.check::<SequencerHasty>();
    assert!(broken(&by_sequencer).contains(&"total"));
    assert_eq!(length(&by_sequencer, "total"), Some(4), "each sends, and hears the other after itself");
    let by_agreement = case.check::<IsisHasty>();
    assert!(broken(&by_agreement).contains(&"total"));
    assert_eq!(length(&by_agreement, "total"), Some(4));
}

#[test]
fn who_does_not_wait_until_everyone_holds_a_message_breaks_uniformity() {
    let case = Case { crashes: 1, fifo: true, ..Case::new(3, 1, 1).in_views() };
    let plan = Plan { delivery: Delivery::Uniform, ..case.plan.clone() };
    let case = Case { promises: Promises { uniform: true, ..case.promises }, ..case };
    let found = case.check_nodes(move |me| Erased::new(Viewed::new(me, hasty_uniform::<Board>(me, &plan))));
    assert_eq!(broken(&found), ["uniform"]);
}
