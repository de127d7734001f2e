//! Tests of delay and overtaking measures on hand-written runs. In each action, the time in
//! milliseconds comes first and the node second; an entry also has its fence.

use crate::mutex_script::{HandWrittenRun, coordinator};
use quorate_core::{Duration, NodeId};
use quorate_journal::metrics::{Delay, MessageCounts};
use quorate_lab::mutex::run::{Expectations, Measures, MutexSummary, OrderCheck, Properties};

/// Four nodes, of which one may be the coordinator. A request arrives everywhere within 4 ms.
fn run_with(coordinator: Option<NodeId>) -> HandWrittenRun<Measures> {
    HandWrittenRun::new(Measures::new(4, coordinator, Duration::from_millis(4)))
}

/// Four nodes without a coordinator. A request arrives everywhere within 4 ms.
fn run() -> HandWrittenRun<Measures> {
    run_with(None)
}

fn summary(run: &HandWrittenRun<Measures>) -> MutexSummary {
    let expects = Expectations { order: OrderCheck::Ignored, ..Expectations::default() };
    let properties = Properties::new(4, expects);
    run.observer.summary(&MessageCounts::new(4), &properties, Duration::from_millis(1), "ms")
}

/// A measured delay, in milliseconds.
fn delay(mean: f64, max: f64, samples: u64) -> Option<Delay> {
    Some(Delay { mean, max, samples })
}

#[test]
fn client_delay_is_from_request_to_entry() {
    let run = run().requests(10, 1).enters(12, 1, 1).releases(20, 1).tries(30, 2).enters(34, 2, 2).releases(40, 2);
    let summary = summary(&run);
    assert_eq!(summary.client_delay, delay(3.0, 4.0, 2));
    assert_eq!((summary.entries, summary.sync_delay), (2, None));
}

#[test]
fn client_delay_counts_only_without_contention() {
    // Another node holds the lock.
    let while_held = run().requests(0, 1).enters(2, 1, 1).requests(5, 2).releases(6, 1).enters(7, 2, 2);
    assert_eq!(summary(&while_held).client_delay, delay(2.0, 2.0, 1));
    // Another node already waits; another node requests later, and even cancels.
    let earlier = run().requests(0, 1).requests(1, 2).enters(2, 2, 1).releases(3, 2).enters(4, 1, 2);
    assert_eq!(summary(&earlier).client_delay, None);
    let later = run().requests(0, 1).requests(1, 2).cancels(2, 2).enters(3, 1, 1);
    assert_eq!(summary(&later).client_delay, None);
    // Requests that ended before do not count.
    let after_ended_requests =
        run().requests(0, 2).cancels(1, 2).tries(2, 3).gets_denied(3, 3).requests(4, 1).enters(6, 1, 1);
    assert_eq!(summary(&after_ended_requests).client_delay, delay(2.0, 2.0, 1));
}

#[test]
fn crashed_nodes_do_not_count_as_contention() {
    let waiter = run().requests(0, 1).crashes(1, 1).requests(2, 2).enters(4, 2, 1);
    assert_eq!(summary(&waiter).client_delay, delay(2.0, 2.0, 1));
    let holder = run().requests(0, 1).enters(1, 1, 1).crashes(2, 1).requests(3, 2).enters(6, 2, 2);
    assert_eq!(summary(&holder).client_delay, delay(2.0, 3.0, 2));
}

#[test]
fn sync_delay_is_from_the_release_to_the_waiters_entry() {
    let run = run().requests(0, 1).enters(2, 1, 1).requests(3, 2).releases(10, 1).enters(11, 2, 2);
    assert_eq!(summary(&run).sync_delay, delay(1.0, 1.0, 1));
}

#[test]
fn sync_delay_counts_only_with_exactly_one_waiter_whose_request_is_known_everywhere() {
    let held = || run().requests(0, 1).enters(2, 1, 1);
    let no_waiter = held().releases(10, 1).requests(11, 2).enters(13, 2, 2);
    let two_waiters = held().requests(3, 2).requests(3, 3).releases(10, 1).enters(11, 2, 2);
    let recent_waiter = held().requests(7, 2).releases(10, 1).enters(12, 2, 2);
    let another_enters_first =
        held().requests(3, 2).releases(10, 1).requests(10, 3).enters(11, 3, 2).releases(12, 3).enters(13, 2, 3);
    for (name, run) in [("no waiter", &no_waiter), ("two waiters", &two_waiters), ("recent waiter", &recent_waiter)] {
        assert_eq!(summary(run).sync_delay, None, "{name}");
    }
    // The delay counts from the release of the node that entered first.
    assert_eq!(summary(&another_enters_first).sync_delay, delay(1.0, 1.0, 1));
    let just_known = held().requests(6, 2).releases(10, 1).enters(12, 2, 2);
    assert_eq!(summary(&just_known).sync_delay, delay(2.0, 2.0, 1));
}

/// If the waiter cancels or crashes and requests again much later, its entry is no handover.
#[test]
fn sync_delay_is_not_measured_across_a_request_that_ended() {
    let released = || run().requests(0, 1).enters(2, 1, 1).requests(3, 2).releases(10, 1);
    let cancelled = released().cancels(11, 2).requests(50, 2).enters(52, 2, 2);
    assert_eq!(summary(&cancelled).sync_delay, None);
    let crashed = released().crashes(11, 2).starts(20, 2).requests(50, 2).enters(52, 2, 2);
    assert_eq!(summary(&crashed).sync_delay, None);
}

#[test]
fn the_coordinators_own_entries_are_counted_separately() {
    let run = run_with(coordinator(1))
        .requests(0, 1)
        .enters(0, 1, 1)
        .requests(1, 2)
        .releases(10, 1)
        .enters(11, 2, 2)
        .requests(12, 1)
        .releases(20, 2)
        .enters(21, 1, 3)
        .releases(30, 1)
        .requests(40, 3)
        .enters(42, 3, 4);
    let summary = summary(&run);
    assert_eq!(
        (summary.coordinator.unwrap().entries, summary.other_nodes.unwrap().entries, summary.entries),
        (2, 2, 4)
    );
    assert_eq!(summary.client_delay, delay(2.0, 2.0, 1), "only node 3 of the other nodes had no contention");
    assert_eq!(summary.sync_delay, None, "handovers to and from the coordinator do not count");
}

#[test]
fn overtaking_is_counted_for_the_overtaken_node() {
    let run = run()
        .requests(0, 1)
        .requests(1, 2)
        .requests(2, 3)
        .enters(3, 3, 1)
        .releases(4, 3)
        .requests(5, 3)
        .enters(6, 2, 2)
        .releases(7, 2)
        .enters(8, 3, 3)
        .releases(9, 3)
        .enters(10, 1, 4);
    // Node 1 was overtaken by three entries, node 2 by one.
    assert_eq!(summary(&run).max_overtaken, 3);
    let in_order = run_in_order();
    assert_eq!(summary(&in_order).max_overtaken, 0);
}

fn run_in_order() -> HandWrittenRun<Measures> {
    run()
        .requests(0, 1)
        .requests(1, 2)
        .requests(2, 3)
        .enters(3, 1, 1)
        .releases(4, 1)
        .enters(5, 2, 2)
        .releases(6, 2)
        .enters(7, 3, 3)
}

/// A second request of a waiter or holder is refused and has no effect.
#[test]
fn a_refused_request_does_not_count() {
    let run = run()
        .requests(0, 1)
        .requests(1, 1)
        .gets_refused(1, 1)
        .enters(2, 1, 1)
        .tries(3, 1)
        .gets_refused(3, 1)
        .releases(9, 1);
    let summary = summary(&run.requests(10, 2).enters(12, 2, 2));
    assert_eq!(summary.client_delay, delay(2.0, 2.0, 2));
    assert_eq!((summary.entries, summary.max_overtaken), (2, 0));
}

/// A faulty algorithm must not distort later measurements.
#[test]
fn measures_recover_from_invalid_runs() {
    let invalid = run()
        .requests(0, 1)
        .enters(1, 1, 1)
        .enters(2, 1, 2)
        .releases(3, 1)
        .requests(4, 2)
        .releases(5, 2)
        .requests(6, 3)
        .enters(7, 3, 3)
        .cancels(8, 3)
        .releases(9, 4);
    let after = invalid.requests(20, 1).enters(25, 1, 4);
    // Nodes 1 and 3 each entered 1 ms after a request, and then node 1 after 5 ms.
    assert_eq!(summary(&after).client_delay.map(|delay| (delay.max, delay.samples)), Some((5.0, 3)));
}

#[test]
fn messages_per_entry_are_known_only_if_there_are_entries() {
    let run = run().requests(0, 1).enters(1, 1, 1).releases(2, 1).requests(3, 2).enters(4, 2, 2);
    assert_eq!(summary(&run).messages_per_entry, Some(0.0));
    assert_eq!(summary(&HandWrittenRun::new(Measures::new(4, None, Duration::ZERO))).messages_per_entry, None);
}
