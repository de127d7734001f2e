//! What every mutual-exclusion algorithm promises: each breach is caught, and nothing else is.

use crate::common::ms;
use crate::mutex_tale::Tale;
use expect_test::expect;
use quorate_journal::property::{Kind, Verdict};
use quorate_lab::mutex::run::{Expectations, From, OrderWatch, Promise, Properties};

/// Of four nodes, everything promised.
fn tale() -> Tale<Properties> {
    let expects =
        Expectations { fences: true, order: OrderWatch::Promised, contention: true, ..Expectations::default() };
    Tale::to(Properties::new(4, expects))
}

/// What does not hold, a line each.
fn breaches(tale: &Tale<Properties>) -> String {
    let verdicts = tale.observer.verdicts();
    let broken = verdicts.iter().filter(|verdict| verdict.is_breach());
    let line = |verdict: &Verdict| {
        let violation = verdict.violation.as_ref().unwrap();
        format!("{} {}: {} (since {})\n", violation.time, verdict.name, violation.text, violation.since)
    };
    broken.map(line).collect()
}

#[test]
fn a_clean_run_is_not_flagged() {
    let tale = tale()
        .asks(0, 1)
        .tells(0, 1, 2)
        .asks(2, 2)
        .asks(3, 3)
        .enters(4, 1, 1)
        .leaves(5, 1)
        .enters(6, 2, 2)
        .leaves(7, 2)
        .cancels(8, 3)
        .tries(9, 4)
        .gets_denied(9, 4)
        .asks(10, 1)
        .asks(11, 1)
        .gets_refused(11, 1)
        .enters(12, 1, 5)
        .leaves(13, 1);
    let verdicts = tale.observer.verdicts();
    let names: Vec<_> =
        verdicts.iter().map(|verdict| (verdict.name, verdict.kind, verdict.holds == Some(true))).collect();
    let expected = [
        ("exclusion", Kind::Always, true),
        ("asked-first", Kind::Always, true),
        ("fences-grow", Kind::Always, true),
        ("happened-before-order", Kind::Always, true),
        ("served", Kind::Eventually, true),
        ("contention", Kind::Sometimes, true),
    ];
    assert_eq!(names, expected);
    assert_eq!(tale.observer.out_of_order(), Some(0));
    assert_eq!(tale.observer.end(), ms(13));
}

#[test]
fn two_inside_are_caught() {
    let tale = tale().asks(0, 1).asks(2, 3).enters(4, 3, 1).enters(5, 1, 2).leaves(6, 1).leaves(7, 3);
    expect![[r#"
        5ms exclusion: node 1 entered while node 3 was inside (since 0ms)
    "#]]
    .assert_eq(&breaches(&tale));
}

/// Two go ahead of node 1, and one may. Of node 2, which only tries, nobody is ahead: its denial is late, that is all.
#[test]
fn one_too_many_ahead_of_a_request_is_caught_but_a_try_waits_for_no_turn() {
    let overtaking = Some(Promise { most: 1, from: From::Asking });
    let tale = || Tale::to(Properties::new(4, Expectations { overtaking, ..Expectations::default() }));
    let passed = tale().asks(0, 1).asks(1, 3).asks(1, 4).enters(2, 3, 1).leaves(3, 3).enters(4, 4, 2).leaves(5, 4);
    let passed = passed.enters(6, 1, 3).leaves(7, 1);
    expect![[r#"
        4ms overtaking-bounded: node 4 is number 2 to go ahead of node 1, and at most 1 may (since 0ms)
    "#]]
    .assert_eq(&breaches(&passed));
    let tried = tale().tries(0, 2).asks(1, 3).asks(1, 4).enters(2, 3, 1).leaves(3, 3).enters(4, 4, 2).leaves(5, 4);
    assert_eq!(breaches(&tried.gets_denied(6, 2)), "");
}

/// The first breach is the one that is told.
#[test]
fn only_the_first_breach_is_told() {
    let tale = tale().asks(0, 1).asks(0, 2).asks(0, 3).enters(1, 2, 1).enters(2, 3, 2).enters(3, 1, 3);
    expect![[r#"
        2ms exclusion: node 3 entered while node 2 was inside (since 0ms)
    "#]]
    .assert_eq(&breaches(&tale));
}

#[test]
fn a_fence_that_goes_back_or_stays_is_caught() {
    let entry =
        |tale: Tale<Properties>, millis, fence| tale.asks(millis, 1).enters(millis + 1, 1, fence).leaves(millis + 2, 1);
    let back = entry(entry(entry(tale(), 0, 3), 10, 7), 20, 6);
    expect![[r#"
        21ms fences-grow: node 1 entered with fence 0.6, but 0.7 was given before (since 20ms)
    "#]]
    .assert_eq(&breaches(&back));
    let equal = entry(entry(tale(), 0, 3), 10, 3);
    expect![[r#"
        11ms fences-grow: node 1 entered with fence 0.3, but 0.3 was given before (since 10ms)
    "#]]
    .assert_eq(&breaches(&equal));
}

#[test]
fn entering_unasked_is_caught() {
    expect![[r#"
        3ms asked-first: node 2 entered without asking (since 3ms)
    "#]]
    .assert_eq(&breaches(&tale().asks(0, 1).cancels(1, 1).enters(3, 2, 1).leaves(4, 2)));
    // A request that was denied, given up or died with its node is no request.
    for ended in [tale().tries(0, 1).gets_denied(1, 1), tale().asks(0, 1).cancels(1, 1), tale().asks(0, 1).dies(1, 1)] {
        assert!(breaches(&ended.enters(3, 1, 1).leaves(4, 1)).contains("asked-first"));
    }
    // Nor does one request let in twice.
    let twice = tale().asks(0, 1).enters(1, 1, 1).enters(2, 1, 2).leaves(3, 1).asks(4, 2).enters(5, 2, 3).leaves(6, 2);
    expect![[r#"
        2ms asked-first: node 1 entered without asking (since 2ms)
    "#]]
    .assert_eq(&breaches(&twice));
}

#[test]
fn breaking_the_order_of_happened_before_is_caught() {
    let tale = tale().asks(0, 1).tells(0, 1, 2).asks(2, 2).enters(5, 2, 1).leaves(6, 2).enters(7, 1, 2).leaves(8, 1);
    expect![[r#"
        5ms happened-before-order: node 2 entered first, but node 1's request happened before node 2's (since 0ms)
    "#]]
    .assert_eq(&breaches(&tale));
    assert_eq!(tale.observer.out_of_order(), Some(1));
}

/// Concurrent requests may be served in any order, however long apart they were made.
#[test]
fn concurrent_requests_have_no_order() {
    let tale =
        tale().asks(0, 1).tells(0, 1, 3).asks(50, 2).enters(51, 2, 1).leaves(52, 2).enters(53, 1, 2).leaves(54, 1);
    assert_eq!(breaches(&tale), "");
}

/// What one hears after asking does not order the requests, nor does a request of the past.
#[test]
fn only_the_request_that_waits_counts() {
    let late = tale().asks(0, 1).asks(1, 2).tells(2, 1, 2).enters(5, 2, 1).leaves(6, 2).enters(7, 1, 2).leaves(8, 1);
    assert_eq!(breaches(&late), "");
    let past = tale()
        .asks(0, 1)
        .enters(1, 1, 1)
        .leaves(2, 1)
        .tells(2, 1, 2)
        .asks(4, 2)
        .asks(5, 1)
        .enters(6, 2, 2)
        .leaves(7, 2)
        .enters(8, 1, 3)
        .leaves(9, 1);
    assert_eq!(breaches(&past), "");
}

/// It is known by hearsay too: 1 tells 3, 3 tells 2.
#[test]
fn hearsay_counts() {
    let tale = tale().asks(0, 1).tells(0, 1, 3).tells(2, 3, 2).asks(4, 2).enters(5, 2, 1).leaves(6, 2);
    assert!(breaches(&tale).contains("node 1's request happened before node 2's"));
}

#[test]
fn order_may_be_counted_without_being_promised_or_not_at_all() {
    let out_of_order = |order| {
        let properties = Properties::new(4, Expectations { order, ..Expectations::default() });
        let tale = Tale::to(properties).asks(0, 1).tells(0, 1, 2).asks(2, 2).enters(5, 2, 1).leaves(6, 2);
        let tale = tale.asks(7, 2).enters(8, 2, 2).leaves(9, 2).enters(10, 1, 3).leaves(11, 1);
        assert_eq!(breaches(&tale), "");
        tale.observer.out_of_order()
    };
    assert_eq!(out_of_order(OrderWatch::Counted), Some(2));
    assert_eq!(out_of_order(OrderWatch::Ignored), None);
}

#[test]
fn somebody_unserved_is_caught() {
    let tale = tale().asks(0, 1).asks(3, 3).asks(2, 2).enters(5, 1, 1).leaves(6, 1).starts(30, 4);
    expect![[r#"
        30ms served: node 2 asked at 2ms and is not in at the end, and 1 more wait with it (since 2ms)
    "#]]
    .assert_eq(&breaches(&tale));
    let served = tale.enters(31, 2, 2).leaves(32, 2).enters(33, 3, 3).leaves(34, 3);
    assert_eq!(breaches(&served), "");
}

#[test]
fn the_dead_are_not_unserved() {
    assert_eq!(breaches(&tale().asks(0, 1).dies(1, 1)), "");
}

/// A holder that crashed is no longer inside: its locks died with it.
#[test]
fn a_crashed_holder_is_not_inside() {
    let tale = tale().asks(0, 1).enters(1, 1, 1).dies(2, 1).asks(3, 2).enters(4, 2, 2).leaves(5, 2);
    assert_eq!(breaches(&tale), "");
    let back = tale.starts(6, 1).asks(7, 1).enters(8, 1, 3);
    assert_eq!(breaches(&back), "");
    assert!(breaches(&back.asks(9, 2).enters(10, 2, 4)).contains("node 2 entered while node 1 was inside"));
}

#[test]
fn contention_is_two_who_want_in_at_once() {
    let contended = |tale: &Tale<Properties>| tale.observer.verdicts().last().unwrap().holds == Some(true);
    assert!(!contended(&tale().asks(0, 1).enters(1, 1, 1).leaves(2, 1).asks(3, 2).enters(4, 2, 2).leaves(5, 2)));
    assert!(!contended(&tale().asks(0, 1).dies(1, 1).asks(2, 2)));
    assert!(!contended(&tale().asks(0, 1).enters(1, 1, 1).dies(2, 1).asks(3, 2)));
    assert!(contended(&tale().asks(0, 1).asks(1, 2)));
    assert!(contended(&tale().asks(0, 1).enters(1, 1, 1).asks(2, 2)));
}

/// In views an entry holds as long as its lease, by its node's own clock.
fn leased() -> Tale<Properties> {
    Tale::to(Properties::new(4, Expectations { fences: true, leases: true, ..Expectations::default() }))
}

#[test]
fn an_entry_that_lapsed_excludes_nobody_and_one_that_holds_does() {
    let first = || leased().asks(0, 1).asks(0, 2).enters_until(1, 1, 1, 10);
    assert_eq!(breaches(&first().enters_until(10, 2, 2, 20).loses(12, 1).leaves(15, 2)), "");
    let early = first().enters_until(9, 2, 2, 20);
    assert!(breaches(&early).contains("9ms exclusion: node 2 entered while node 1 was inside"), "{}", breaches(&early));
    let extended = first().stays_until(5, 1, 15).enters_until(10, 2, 2, 20);
    assert!(breaches(&extended).contains("node 2 entered while node 1 was inside"), "{}", breaches(&extended));
}

#[test]
fn what_counts_is_the_clock_of_the_one_inside() {
    let entered = |drift| leased().drifts(0, drift).asks(0, 1).asks(0, 2).enters_until(0, 1, 1, 10).enters(11, 2, 2);
    assert!(breaches(&entered("drift 1 by -200000ppm")).contains("node 2 entered while node 1 was inside"));
    assert_eq!(breaches(&entered("drift 2 by -200000ppm").leaves(12, 2)), "");
}

#[test]
fn a_lapsed_entry_goes_on_only_if_nobody_was_inside_meanwhile() {
    let lapsed = || leased().asks(0, 1).asks(0, 2).enters_until(1, 1, 1, 10);
    assert_eq!(breaches(&lapsed().stays_until(15, 1, 25).leaves(20, 1).enters(21, 2, 2)), "");
    let beside = lapsed().enters_until(11, 2, 2, 20).stays_until(15, 1, 25);
    assert!(breaches(&beside).contains("node 1 went on inside while node 2 was inside"), "{}", breaches(&beside));
    let after = lapsed().enters_until(11, 2, 2, 20).leaves(12, 2).stays_until(15, 1, 25);
    assert!(breaches(&after).contains("node 1 went on inside after node 2 had entered"), "{}", breaches(&after));
    let again = lapsed().enters_until(11, 2, 2, 20).loses(12, 1).leaves(12, 2).asks(13, 1).enters_until(14, 1, 3, 20);
    assert_eq!(breaches(&again.stays_until(15, 1, 25)), "");
}
