//! Tests of the mutual-exclusion properties: each violation is caught, and correct runs pass.

use crate::common::ms;
use crate::mutex_script::HandWrittenRun;
use expect_test::expect;
use quorate_journal::property::{PropertyKind, Verdict};
use quorate_lab::mutex::run::{CountedFrom, Expectations, OrderCheck, OvertakingBound, Properties};

/// A run of four nodes, for which all properties except `overtaking-bounded` are judged. In each
/// action, the time in milliseconds comes first and the node second; an entry also has the counter
/// of its fence, such as 6 for the fence 0.6 of epoch 0.
fn run() -> HandWrittenRun<Properties> {
    let expects = Expectations {
        has_fences: true,
        order: OrderCheck::Promised,
        expects_contention: true,
        ..Expectations::default()
    };
    HandWrittenRun::new(Properties::new(4, expects))
}

/// Returns the violated properties, one per line.
fn violations(run: &HandWrittenRun<Properties>) -> String {
    let verdicts = run.observer.verdicts();
    let broken = verdicts.iter().filter(|verdict| verdict.is_violated());
    let line = |verdict: &Verdict| {
        let violation = verdict.violation.as_ref().unwrap();
        format!("{} {}: {} (since {})\n", violation.time, verdict.name, violation.text, violation.relevant_from)
    };
    broken.map(line).collect()
}

#[test]
fn a_clean_run_is_not_flagged() {
    let run = run()
        .requests(0, 1)
        .sends_to(0, 1, 2)
        .requests(2, 2)
        .requests(3, 3)
        .enters(4, 1, 1)
        .releases(5, 1)
        .enters(6, 2, 2)
        .releases(7, 2)
        .cancels(8, 3)
        .tries(9, 4)
        .gets_denied(9, 4)
        .requests(10, 1)
        .requests(11, 1)
        .gets_refused(11, 1)
        .enters(12, 1, 5)
        .releases(13, 1);
    let verdicts = run.observer.verdicts();
    let names: Vec<_> =
        verdicts.iter().map(|verdict| (verdict.name, verdict.kind, verdict.holds == Some(true))).collect();
    let expected = [
        ("exclusion", PropertyKind::Always, true),
        ("asked-first", PropertyKind::Always, true),
        ("fences-grow", PropertyKind::Always, true),
        ("happened-before-order", PropertyKind::Always, true),
        ("served", PropertyKind::Eventually, true),
        ("contention", PropertyKind::Sometimes, true),
    ];
    assert_eq!(names, expected);
    assert_eq!(run.observer.out_of_order(), Some(0));
    assert_eq!(run.observer.end(), ms(13));
}

#[test]
fn two_holders_are_caught() {
    let run = run().requests(0, 1).requests(2, 3).enters(4, 3, 1).enters(5, 1, 2).releases(6, 1).releases(7, 3);
    expect![[r#"
        5ms exclusion: node 1 entered while node 3 was in the critical section (since 0ms)
    "#]]
    .assert_eq(&violations(&run));
}

/// Two nodes overtake node 1, and the bound is one. In another run node 2 makes a try, which may be
/// denied late but cannot be overtaken.
#[test]
fn too_much_overtaking_is_caught_but_a_try_cannot_be_overtaken() {
    let overtaking = Some(OvertakingBound { max_entries: 1, counted_from: CountedFrom::Request });
    let run = || HandWrittenRun::new(Properties::new(4, Expectations { overtaking, ..Expectations::default() }));
    let overtaken = run()
        .requests(0, 1)
        .requests(1, 3)
        .requests(1, 4)
        .enters(2, 3, 1)
        .releases(3, 3)
        .enters(4, 4, 2)
        .releases(5, 4);
    let overtaken = overtaken.enters(6, 1, 3).releases(7, 1);
    expect![[r#"
        4ms overtaking-bounded: node 4 entered ahead of node 1, which was overtaken 2 times; the maximum is 1 (since 0ms)
    "#]]
    .assert_eq(&violations(&overtaken));
    let with_try =
        run().tries(0, 2).requests(1, 3).requests(1, 4).enters(2, 3, 1).releases(3, 3).enters(4, 4, 2).releases(5, 4);
    assert_eq!(violations(&with_try.gets_denied(6, 2)), "");
}

#[test]
fn only_the_first_violation_is_reported() {
    let run = run().requests(0, 1).requests(0, 2).requests(0, 3).enters(1, 2, 1).enters(2, 3, 2).enters(3, 1, 3);
    expect![[r#"
        2ms exclusion: node 3 entered while node 2 was in the critical section (since 0ms)
    "#]]
    .assert_eq(&violations(&run));
}

#[test]
fn a_fence_that_decreases_or_repeats_is_caught() {
    let entry = |run: HandWrittenRun<Properties>, millis, fence| {
        run.requests(millis, 1).enters(millis + 1, 1, fence).releases(millis + 2, 1)
    };
    let decreasing = entry(entry(entry(run(), 0, 3), 10, 7), 20, 6);
    expect![[r#"
        21ms fences-grow: node 1 entered with fence 0.6, but an earlier entry had 0.7 (since 20ms)
    "#]]
    .assert_eq(&violations(&decreasing));
    let equal = entry(entry(run(), 0, 3), 10, 3);
    expect![[r#"
        11ms fences-grow: node 1 entered with fence 0.3, but an earlier entry had 0.3 (since 10ms)
    "#]]
    .assert_eq(&violations(&equal));
}

#[test]
fn entering_without_a_request_is_caught() {
    expect![[r#"
        3ms asked-first: node 2 entered without a request (since 3ms)
    "#]]
    .assert_eq(&violations(&run().requests(0, 1).cancels(1, 1).enters(3, 2, 1).releases(4, 2)));
    // A request that was denied, cancelled or lost in a crash no longer counts.
    for ended in
        [run().tries(0, 1).gets_denied(1, 1), run().requests(0, 1).cancels(1, 1), run().requests(0, 1).crashes(1, 1)]
    {
        assert!(violations(&ended.enters(3, 1, 1).releases(4, 1)).contains("asked-first"));
    }
    // One request does not allow two entries.
    let twice = run()
        .requests(0, 1)
        .enters(1, 1, 1)
        .enters(2, 1, 2)
        .releases(3, 1)
        .requests(4, 2)
        .enters(5, 2, 3)
        .releases(6, 2);
    expect![[r#"
        2ms asked-first: node 1 entered without a request (since 2ms)
    "#]]
    .assert_eq(&violations(&twice));
}

#[test]
fn violating_happened_before_order_is_caught() {
    let run = run()
        .requests(0, 1)
        .sends_to(0, 1, 2)
        .requests(2, 2)
        .enters(5, 2, 1)
        .releases(6, 2)
        .enters(7, 1, 2)
        .releases(8, 1);
    expect![[r#"
        5ms happened-before-order: node 2 entered first, but the request of node 1 happened before that of node 2 (since 0ms)
    "#]]
    .assert_eq(&violations(&run));
    assert_eq!(run.observer.out_of_order(), Some(1));
}

/// Concurrent requests may be served in any order, whatever their times.
#[test]
fn concurrent_requests_have_no_order() {
    let run = run()
        .requests(0, 1)
        .sends_to(0, 1, 3)
        .requests(50, 2)
        .enters(51, 2, 1)
        .releases(52, 2)
        .enters(53, 1, 2)
        .releases(54, 1);
    assert_eq!(violations(&run), "");
}

/// A message that arrives after the receiver's request does not order the two requests, nor does a
/// message sent after the sender's request ended.
#[test]
fn a_message_that_is_sent_or_arrives_too_late_orders_no_requests() {
    let message_after_request = run()
        .requests(0, 1)
        .requests(1, 2)
        .sends_to(2, 1, 2)
        .enters(5, 2, 1)
        .releases(6, 2)
        .enters(7, 1, 2)
        .releases(8, 1);
    assert_eq!(violations(&message_after_request), "");
    let message_after_entry = run()
        .requests(0, 1)
        .enters(1, 1, 1)
        .releases(2, 1)
        .sends_to(2, 1, 2)
        .requests(4, 2)
        .requests(5, 1)
        .enters(6, 2, 2)
        .releases(7, 2)
        .enters(8, 1, 3)
        .releases(9, 1);
    assert_eq!(violations(&message_after_entry), "");
}

/// Node 1 sends to node 3, which sends to node 2.
#[test]
fn order_is_transitive() {
    let run = run().requests(0, 1).sends_to(0, 1, 3).sends_to(2, 3, 2).requests(4, 2).enters(5, 2, 1).releases(6, 2);
    assert!(violations(&run).contains("the request of node 1 happened before that of node 2"));
}

#[test]
fn order_may_be_ignored_or_counted_without_being_promised() {
    let out_of_order = |order| {
        let properties = Properties::new(4, Expectations { order, ..Expectations::default() });
        let run = HandWrittenRun::new(properties)
            .requests(0, 1)
            .sends_to(0, 1, 2)
            .requests(2, 2)
            .enters(5, 2, 1)
            .releases(6, 2);
        let run = run.requests(7, 2).enters(8, 2, 2).releases(9, 2).enters(10, 1, 3).releases(11, 1);
        assert_eq!(violations(&run), "");
        run.observer.out_of_order()
    };
    assert_eq!(out_of_order(OrderCheck::Counted), Some(2));
    assert_eq!(out_of_order(OrderCheck::Ignored), None);
}

#[test]
fn an_unserved_request_is_caught() {
    // The start of node 4 only makes the run end at 30 ms.
    let run = run().requests(0, 1).requests(3, 3).requests(2, 2).enters(5, 1, 1).releases(6, 1).starts(30, 4);
    expect![[r#"
        30ms served: node 2 has still not entered, although it requested entry at 2ms; other waiting requests: 1 (since 2ms)
    "#]]
    .assert_eq(&violations(&run));
    let served = run.enters(31, 2, 2).releases(32, 2).enters(33, 3, 3).releases(34, 3);
    assert_eq!(violations(&served), "");
}

#[test]
fn crashed_nodes_do_not_count_as_unserved() {
    assert_eq!(violations(&run().requests(0, 1).crashes(1, 1)), "");
}

#[test]
fn a_crashed_holder_does_not_hold_the_lock() {
    let run = run().requests(0, 1).enters(1, 1, 1).crashes(2, 1).requests(3, 2).enters(4, 2, 2).releases(5, 2);
    assert_eq!(violations(&run), "");
    let restarted = run.starts(6, 1).requests(7, 1).enters(8, 1, 3);
    assert_eq!(violations(&restarted), "");
    assert!(
        violations(&restarted.requests(9, 2).enters(10, 2, 4))
            .contains("node 2 entered while node 1 was in the critical section")
    );
}

#[test]
fn contention_is_two_nodes_that_wait_or_hold_at_once() {
    let is_contended = |run: &HandWrittenRun<Properties>| run.observer.verdicts().last().unwrap().holds == Some(true);
    assert!(!is_contended(
        &run().requests(0, 1).enters(1, 1, 1).releases(2, 1).requests(3, 2).enters(4, 2, 2).releases(5, 2)
    ));
    assert!(!is_contended(&run().requests(0, 1).crashes(1, 1).requests(2, 2)));
    assert!(!is_contended(&run().requests(0, 1).enters(1, 1, 1).crashes(2, 1).requests(3, 2)));
    assert!(is_contended(&run().requests(0, 1).requests(1, 2)));
    assert!(is_contended(&run().requests(0, 1).enters(1, 1, 1).requests(2, 2)));
}

/// A group with views, in which an entry is valid until its lease expires by its node's own clock.
/// `enters_until(1, 2, 3, 10)` lets node 2 enter at 1 ms with fence 3 and a lease until 10 ms.
fn with_leases() -> HandWrittenRun<Properties> {
    HandWrittenRun::new(Properties::new(
        4,
        Expectations { has_fences: true, has_leases: true, ..Expectations::default() },
    ))
}

#[test]
fn an_entry_excludes_others_until_it_expires() {
    let with_first_entry = || with_leases().requests(0, 1).requests(0, 2).enters_until(1, 1, 1, 10);
    assert_eq!(violations(&with_first_entry().enters_until(10, 2, 2, 20).loses_entry(12, 1).releases(15, 2)), "");
    let before_expiry = with_first_entry().enters_until(9, 2, 2, 20);
    assert!(
        violations(&before_expiry).contains("9ms exclusion: node 2 entered while node 1 was in the critical section"),
        "{}",
        violations(&before_expiry)
    );
    let extended = with_first_entry().extends_until(5, 1, 15).enters_until(10, 2, 2, 20);
    assert!(
        violations(&extended).contains("node 2 entered while node 1 was in the critical section"),
        "{}",
        violations(&extended)
    );
}

#[test]
fn the_holders_clock_decides() {
    let entered = |drift| {
        with_leases().changes_clock(0, drift).requests(0, 1).requests(0, 2).enters_until(0, 1, 1, 10).enters(11, 2, 2)
    };
    // The clock of node 1 is 20 % too slow: it shows less than 10 ms when node 2 enters.
    assert!(
        violations(&entered("drift 1 by -200000ppm"))
            .contains("node 2 entered while node 1 was in the critical section")
    );
    assert_eq!(violations(&entered("drift 2 by -200000ppm").releases(12, 2)), "");
}

#[test]
fn an_expired_entry_may_be_extended_only_if_no_other_node_entered() {
    let with_lease_until_10 = || with_leases().requests(0, 1).requests(0, 2).enters_until(1, 1, 1, 10);
    assert_eq!(violations(&with_lease_until_10().extends_until(15, 1, 25).releases(20, 1).enters(21, 2, 2)), "");
    let during_other_entry = with_lease_until_10().enters_until(11, 2, 2, 20).extends_until(15, 1, 25);
    assert!(
        violations(&during_other_entry).contains("node 1 extended its entry while node 2 was in the critical section"),
        "{}",
        violations(&during_other_entry)
    );
    let after_other_entry = with_lease_until_10().enters_until(11, 2, 2, 20).releases(12, 2).extends_until(15, 1, 25);
    assert!(
        violations(&after_other_entry).contains("node 1 extended its entry after node 2 had entered"),
        "{}",
        violations(&after_other_entry)
    );
    let in_new_entry = with_lease_until_10()
        .enters_until(11, 2, 2, 20)
        .loses_entry(12, 1)
        .releases(12, 2)
        .requests(13, 1)
        .enters_until(14, 1, 3, 20);
    assert_eq!(violations(&in_new_entry.extends_until(15, 1, 25)), "");
}
