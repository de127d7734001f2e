//! Clock skew and clock drift.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `start 1` is the first restart, and `finds`
//! lists the saved writes that the restarted node reads. A message takes 1 ms, and processing and
//! syncs take no time, unless a scenario sets them.

use crate::common::{Scenario, at, node, send, set};
use expect_test::expect;
use quorate_core::Time;

#[test]
fn skew_shifts_the_clock() {
    let scenario = Scenario::new(2)
        .fault("skew 1 by 30ms at 2ms")
        .command("1ms", 1, [send(2)])
        .command("2ms", 1, [send(2)])
        .fault("skew 1 by -50ms at 3ms")
        .command("4ms", 1, []);
    expect![[r#"
        1ms 1 < command
        1ms 1 > ping 1.1 to 2
        2ms * skew 1 by 30ms
        2ms 2 < ping 1.1
        2ms 1 < command (clock 32ms)
        2ms 1 > ping 1.2 to 2
        3ms * skew 1 by -50ms
        3ms 2 < ping 1.2
        4ms 1 < command (clock -16ms)
    "#]]
    .assert_eq(&scenario.trace());
    assert_eq!(scenario.run_to_end(()).node(node(1)).unwrap().now, Time::from_nanos(-16_000_000));
}

/// The largest offset in both directions: a clock saturates instead of overflowing.
#[test]
fn the_largest_offsets_do_not_overflow() {
    for jump in ["2562047h", "-2562047h"] {
        let scenario = Scenario::new(1)
            .fault(&format!("skew 1 by {jump}"))
            .fault(&format!("skew 1 by {jump} at 1ms"))
            .fault(&format!("skew 1 by {jump} at 1ms"))
            .fault("drift 1 by 1000000ppm at 1ms")
            .command("2ms", 1, [set('a', "1s", [])]);
        let now = scenario.run_to_end(()).node(node(1)).unwrap().now;
        assert_eq!(now > Time::ZERO, !jump.starts_with('-'), "{jump}: {now}");
    }
}

#[test]
fn a_clock_runs_fast_or_slow_by_exactly_its_drift() {
    let scenario = Scenario::new(2)
        .fault("drift 1 by 100000ppm at 10ms")
        .fault("drift 2 by -250000ppm")
        .command("10ms", 1, [])
        .command("110ms", 1, [])
        .command("100ms", 2, []);
    expect![[r#"
        0ms * drift 2 by -250000ppm
        10ms * drift 1 by 100000ppm
        10ms 1 < command
        100ms 2 < command (clock 75ms)
        110ms 1 < command (clock 120ms)
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn timers_fire_early_or_late_by_exactly_the_drift_of_their_clock() {
    // The true nanoseconds until the timer fires, and the clock when it does.
    let fires_after = |drift: &str, duration: &str| {
        let scenario =
            Scenario::new(1).fault(&format!("drift 1 by {drift}")).command("1s", 1, [set('a', duration, [])]);
        let world = scenario.run_to_end(());
        (world.time().since(at("1s")).nanos(), world.node(node(1)).unwrap().now)
    };
    // At twice the rate, the timer takes half the time; at 5/4 of the rate, 4/5 of the time; at
    // half the rate, twice the time.
    assert_eq!(fires_after("1000000ppm", "10ms"), (5_000_000, at("2010ms")));
    assert_eq!(fires_after("250000ppm", "10ms"), (8_000_000, at("1260ms")));
    assert_eq!(fires_after("-500000ppm", "10ms"), (20_000_000, at("510ms")));
    assert_eq!(fires_after("0ppm", "10ms"), (10_000_000, at("1010ms")));
    // If the duration is not a whole number of nanoseconds, the timer fires when the clock first
    // shows its time, never before.
    let (true_nanos, now) = fires_after("200ppm", "10ms");
    assert_eq!(true_nanos, 9_998_001);
    assert!(now >= at("1000.2ms") + crate::common::duration("10ms"));
}

/// A timer measures elapsed time, so a change of the clock offset neither delays nor hastens it.
#[test]
fn skew_does_not_move_timers() {
    let scenario = Scenario::new(1).command("0ms", 1, [set('a', "10ms", [])]).fault("skew 1 by 9ms at 5ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > set a 10ms
        5ms * skew 1 by 9ms
        10ms 1 < timer a (clock 19ms)
    "#]]
    .assert_eq(&scenario.trace());
}

/// A change of the drift changes only the remaining duration of a timer.
#[test]
fn drift_moves_the_timers_that_are_set() {
    let scenario = Scenario::new(1)
        .command("0ms", 1, [set('a', "10ms", []), set('b', "30ms", [])])
        .fault("drift 1 by 1000000ppm at 4ms")
        .fault("drift 1 by 0ppm at 12ms")
        .fault("skew 1 by 50ms at 13ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > set a 10ms
        0ms 1 > set b 30ms
        4ms * drift 1 by 1000000ppm
        7ms 1 < timer a (clock 10ms)
        12ms * drift 1 by 0ppm
        13ms * skew 1 by 50ms
        22ms 1 < timer b (clock 80ms)
    "#]]
    .assert_eq(&scenario.trace());
}

/// The hardware clock runs while the node is paused or down.
#[test]
fn a_clock_runs_during_pauses_and_crashes() {
    let scenario = Scenario::new(1)
        .fault("drift 1 by 1000000ppm")
        .fault("pause 1 at 10ms for 10ms")
        .fault("crash 1 at 30ms for 10ms")
        .command("15ms", 1, [])
        .command("50ms", 1, []);
    expect![[r#"
        0ms * drift 1 by 1000000ppm
        10ms * 1 paused
        20ms * 1 resumed
        20ms 1 < command (clock 40ms)
        30ms * 1 crashed, 0 writes lost
        40ms 1 < start 1 (clock 80ms)
        40ms 1 > finds []
        50ms 1 < command (clock 100ms)
    "#]]
    .assert_eq(&scenario.trace());
}
