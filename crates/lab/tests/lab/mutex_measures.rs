//! Delays and overtaking, measured on tales told by hand.

use crate::mutex_tale::{Tale, keeper};
use quorate_core::{Duration, NodeId};
use quorate_journal::metrics::{Delay, Messages};
use quorate_lab::mutex::run::{Expectations, Measures, MutexSummary, OrderWatch, Properties};

fn tale_with(keeper: Option<NodeId>) -> Tale<Measures> {
    Tale::to(Measures::new(4, keeper, Duration::from_millis(4)))
}

/// Of four nodes, with requests that are everywhere after 4 ms.
fn tale() -> Tale<Measures> {
    tale_with(None)
}

fn summary(tale: &Tale<Measures>) -> MutexSummary {
    let expects = Expectations { order: OrderWatch::Ignored, ..Expectations::default() };
    let properties = Properties::new(4, expects);
    tale.observer.summary(&Messages::new(4), &properties, Duration::from_millis(1), "ms")
}

fn samples(mean: f64, max: f64, samples: u64) -> Option<Delay> {
    Some(Delay { mean, max, samples })
}

#[test]
fn client_delay_is_from_asking_to_entering() {
    let tale = tale().asks(10, 1).enters(12, 1, 1).leaves(20, 1).tries(30, 2).enters(34, 2, 2).leaves(40, 2);
    let summary = summary(&tale);
    assert_eq!(summary.client_delay, samples(3.0, 4.0, 2));
    assert_eq!((summary.entries, summary.sync_delay), (2, None));
}

#[test]
fn client_delay_counts_only_when_nobody_else_wants_in() {
    // Somebody is inside.
    let inside = tale().asks(0, 1).enters(2, 1, 1).asks(5, 2).leaves(6, 1).enters(7, 2, 2);
    assert_eq!(summary(&inside).client_delay, samples(2.0, 2.0, 1));
    // Somebody waits already; somebody asks later, and even gives up again.
    let earlier = tale().asks(0, 1).asks(1, 2).enters(2, 2, 1).leaves(3, 2).enters(4, 1, 2);
    assert_eq!(summary(&earlier).client_delay, None);
    let later = tale().asks(0, 1).asks(1, 2).cancels(2, 2).enters(3, 1, 1);
    assert_eq!(summary(&later).client_delay, None);
    // What was over before does not count.
    let before = tale().asks(0, 2).cancels(1, 2).tries(2, 3).gets_denied(3, 3).asks(4, 1).enters(6, 1, 1);
    assert_eq!(summary(&before).client_delay, samples(2.0, 2.0, 1));
}

#[test]
fn the_dead_are_in_nobodys_way() {
    let waiter = tale().asks(0, 1).dies(1, 1).asks(2, 2).enters(4, 2, 1);
    assert_eq!(summary(&waiter).client_delay, samples(2.0, 2.0, 1));
    let holder = tale().asks(0, 1).enters(1, 1, 1).dies(2, 1).asks(3, 2).enters(6, 2, 2);
    assert_eq!(summary(&holder).client_delay, samples(2.0, 3.0, 2));
}

#[test]
fn sync_delay_is_from_the_leave_to_the_entry_of_the_one_who_waits() {
    let tale = tale().asks(0, 1).enters(2, 1, 1).asks(3, 2).leaves(10, 1).enters(11, 2, 2);
    assert_eq!(summary(&tale).sync_delay, samples(1.0, 1.0, 1));
}

#[test]
fn sync_delay_counts_only_with_exactly_one_settled_waiter() {
    let held = || tale().asks(0, 1).enters(2, 1, 1);
    let nobody = held().leaves(10, 1).asks(11, 2).enters(13, 2, 2);
    let two = held().asks(3, 2).asks(3, 3).leaves(10, 1).enters(11, 2, 2);
    let fresh = held().asks(7, 2).leaves(10, 1).enters(12, 2, 2);
    let another = held().asks(3, 2).leaves(10, 1).asks(10, 3).enters(11, 3, 2).leaves(12, 3).enters(13, 2, 3);
    for (name, tale) in [("nobody", &nobody), ("two", &two), ("fresh", &fresh), ("another", &another)] {
        let sync_delay = summary(tale).sync_delay;
        // Where another overtook, its own leave found a settled waiter.
        let expected = if name == "another" { samples(1.0, 1.0, 1) } else { None };
        assert_eq!(sync_delay, expected, "{name}");
    }
    let just_settled = held().asks(6, 2).leaves(10, 1).enters(12, 2, 2);
    assert_eq!(summary(&just_settled).sync_delay, samples(2.0, 2.0, 1));
}

/// The one who waited gives up or dies, and asks again much later: that is no handover.
#[test]
fn sync_delay_is_not_measured_across_a_request_that_ended() {
    let held = || tale().asks(0, 1).enters(2, 1, 1).asks(3, 2).leaves(10, 1);
    let cancelled = held().cancels(11, 2).asks(50, 2).enters(52, 2, 2);
    assert_eq!(summary(&cancelled).sync_delay, None);
    let dead = held().dies(11, 2).starts(20, 2).asks(50, 2).enters(52, 2, 2);
    assert_eq!(summary(&dead).sync_delay, None);
}

#[test]
fn the_keepers_own_entries_are_counted_apart() {
    let tale = tale_with(keeper(1))
        .asks(0, 1)
        .enters(0, 1, 1)
        .asks(1, 2)
        .leaves(10, 1)
        .enters(11, 2, 2)
        .asks(12, 1)
        .leaves(20, 2)
        .enters(21, 1, 3)
        .leaves(30, 1)
        .asks(40, 3)
        .enters(42, 3, 4);
    let summary = summary(&tale);
    assert_eq!((summary.own.unwrap().entries, summary.others.unwrap().entries, summary.entries), (2, 2, 4));
    assert_eq!(summary.client_delay, samples(2.0, 2.0, 1), "of node 3 alone");
    assert_eq!(summary.sync_delay, None, "neither to the keeper nor from it");
}

#[test]
fn overtaking_is_counted_for_the_one_who_is_overtaken() {
    let tale = tale()
        .asks(0, 1)
        .asks(1, 2)
        .asks(2, 3)
        .enters(3, 3, 1)
        .leaves(4, 3)
        .asks(5, 3)
        .enters(6, 2, 2)
        .leaves(7, 2)
        .enters(8, 3, 3)
        .leaves(9, 3)
        .enters(10, 1, 4);
    // Node 1 was overtaken by three entries, node 2 by one.
    assert_eq!(summary(&tale).overtaken_max, 3);
    let fair = tale_in_order();
    assert_eq!(summary(&fair).overtaken_max, 0);
}

fn tale_in_order() -> Tale<Measures> {
    tale().asks(0, 1).asks(1, 2).asks(2, 3).enters(3, 1, 1).leaves(4, 1).enters(5, 2, 2).leaves(6, 2).enters(7, 3, 3)
}

/// A second request of a node that waits or is inside is refused, and changes nothing.
#[test]
fn a_refused_request_is_no_request() {
    let tale =
        tale().asks(0, 1).asks(1, 1).gets_refused(1, 1).enters(2, 1, 1).tries(3, 1).gets_refused(3, 1).leaves(9, 1);
    let summary = summary(&tale.asks(10, 2).enters(12, 2, 2));
    assert_eq!(summary.client_delay, samples(2.0, 2.0, 2));
    assert_eq!((summary.entries, summary.overtaken_max), (2, 0));
}

/// An algorithm that goes wrong must not spoil what is measured later.
#[test]
fn measures_recover_from_nonsense() {
    let nonsense = tale()
        .asks(0, 1)
        .enters(1, 1, 1)
        .enters(2, 1, 2)
        .leaves(3, 1)
        .asks(4, 2)
        .leaves(5, 2)
        .asks(6, 3)
        .enters(7, 3, 3)
        .cancels(8, 3)
        .leaves(9, 4);
    let after = nonsense.asks(20, 1).enters(25, 1, 4);
    assert_eq!(summary(&after).client_delay.map(|delay| (delay.max, delay.samples)), Some((5.0, 3)));
}

#[test]
fn messages_are_divided_by_entries() {
    let tale = tale().asks(0, 1).enters(1, 1, 1).leaves(2, 1).asks(3, 2).enters(4, 2, 2);
    assert_eq!(summary(&tale).messages_per_entry, Some(0.0));
    assert_eq!(summary(&Tale::to(Measures::new(4, None, Duration::ZERO))).messages_per_entry, None);
}
