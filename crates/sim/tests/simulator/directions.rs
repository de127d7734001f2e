//! Directions: single choices that a script takes from chance, and what counts more than they do.

use crate::common::{Stage, cancel, emit, multicast, save, send, set};
use expect_test::expect;

/// Node 1 sends three messages to node 2, a millisecond apart.
fn three(stage: Stage) -> Stage {
    ["1ms", "2ms", "3ms"].into_iter().fold(stage.fifo(false), |stage, at| stage.tell(at, 1, [send(2)]))
}

fn heard(stage: &Stage) -> Vec<String> {
    let is_told = |line: &&str| line.contains(" < ping") || line.contains(" * ");
    stage.story().lines().filter(is_told).map(str::to_owned).collect()
}

#[test]
fn a_message_takes_as_long_as_it_is_told() {
    let stage = three(Stage::of(2)).direct("message 1 of 1 > 2 takes 9ms").direct("message 3 of 1 > 2 takes 0ms");
    assert_eq!(heard(&stage), ["3ms 2 < ping 1.2", "3ms 2 < ping 1.3", "10ms 2 < ping 1.1"]);
}

#[test]
fn a_message_is_lost_or_comes_again_as_it_is_told() {
    let stage =
        three(Stage::of(2)).direct("message 1 of 1 > 2 is lost").direct("message 2 of 1 > 2 comes again after 7ms");
    assert_eq!(
        heard(&stage),
        [
            "1ms * lost 1.1 to 2: lost on the way",
            "2ms * duplicated 1.2",
            "3ms 2 < ping 1.2",
            "4ms 2 < ping 1.3",
            "9ms 2 < ping 1.2"
        ]
    );
}

/// What is told of a message leaves nothing to chance but what is not told.
#[test]
fn where_a_direction_stands_chance_does_not() {
    let stage = three(Stage::of(2).loss("1").duplicate("1"));
    assert_eq!(heard(&stage).iter().filter(|line| line.contains("lost")).count(), 3);
    let told = stage.direct("message 2 of 1 > 2 takes 1ms");
    assert_eq!(heard(&told)[1], "3ms 2 < ping 1.2");
    assert_eq!(heard(&told).len(), 3);
}

/// The later line holds, and messages are counted on their own link.
#[test]
fn each_link_counts_for_itself() {
    let stage = Stage::of(3).fifo(false).tell("1ms", 1, [multicast(3)]).tell("2ms", 1, [send(3), send(2)]);
    let stage = stage.direct("message 2 of 1 > 2 is lost").direct("message 2 of 1 > 2 takes 5ms");
    let stage = stage.direct("message 1 of 1 > 3 takes 4ms").direct("message 9 of 1 > 3 is lost");
    assert_eq!(heard(&stage), ["2ms 2 < ping 1.1", "3ms 3 < ping 1.3", "5ms 3 < ping 1.2", "7ms 2 < ping 1.4"]);
}

/// A cut stops what would arrive, and an order is kept that must be.
#[test]
fn cuts_and_order_count_more() {
    let cut = three(Stage::of(2)).fault("cut 1 | 2 at 5ms for 9ms").direct("message 1 of 1 > 2 takes 6ms");
    assert!(heard(&cut).contains(&"7ms * lost 1.1 to 2: stopped by a cut".to_owned()), "{:?}", heard(&cut));
    let ordered = three(Stage::of(2)).fifo(true).direct("message 1 of 1 > 2 takes 9ms");
    assert_eq!(heard(&ordered), ["10ms 2 < ping 1.1", "10ms 2 < ping 1.2", "10ms 2 < ping 1.3"]);
}

/// Never before its span begins; later than it ends, as that of a busy node.
#[test]
fn a_timer_takes_as_long_as_it_is_told_if_it_may() {
    let stage = Stage::of(1)
        .tell("1ms", 1, [set('a', "5ms", [emit("a")]), set('b', "5ms", [emit("b")]), set('c', "5ms", [emit("c")])])
        .tell("2ms", 1, [cancel('c')])
        .direct("timer 1 of 1 takes 2ms")
        .direct("timer 2 of 1 takes 20ms")
        .direct("timer 3 of 1 takes 30ms");
    let fired: Vec<_> = stage.story().lines().filter(|line| line.contains(" < timer")).map(str::to_owned).collect();
    assert_eq!(fired, ["6ms 1 < timer a", "21ms 1 < timer b"]);
}

#[test]
fn a_sync_takes_as_long_as_it_is_told_in_every_life() {
    let stage = Stage::of(1)
        .tell("1ms", 1, [save(1)])
        .fault("crash 1 at 3ms for 1ms")
        .tell("5ms", 1, [save(2)])
        .direct("sync 1 of 1 takes 9ms")
        .direct("sync 2 of 1 takes 4ms");
    expect![[r#"
        1ms 1 < command
        1ms 1 > save 1
        3ms * 1 crashed, 1 writes lost
        4ms 1 < start 1
        4ms 1 > finds []
        5ms 1 < command
        5ms 1 > save 2
        9ms 1 < saved 1
    "#]]
    .assert_eq(&stage.story());
}

#[test]
fn a_crash_keeps_as_many_writes_as_it_is_told() {
    for (kept, finds) in [(0, "[]"), (2, "[1, 2]"), (9, "[1, 2, 3]")] {
        let stage = Stage::of(1)
            .sync("fixed:50ms")
            .tell("1ms", 1, [save(1), save(2), save(3)])
            .fault(&format!("crash 1 keeping {kept} at 3ms for 1ms"));
        assert!(stage.story().contains(&format!("finds {finds}\n")), "{}", stage.story());
    }
}

/// A direction about something that never comes changes nothing.
#[test]
fn directions_about_nothing_change_nothing() {
    let chance = || three(Stage::of(3).latency("uniform:1ms..9ms").loss("0.3").duplicate("0.3")).seed(7);
    let told =
        chance().direct("message 4 of 1 > 2 is lost").direct("timer 1 of 3 takes 1ms").direct("sync 1 of 2 takes 1ms");
    assert_eq!(told.journal(), chance().journal());
}
