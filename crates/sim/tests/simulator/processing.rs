//! Processing time: a node is busy with one input at a time, and the others wait their turn.

use crate::common::{Stage, cancel, emit, ping, save, send, send_message, set};
use expect_test::expect;

/// The lines of this node's inputs.
fn inputs(story: &str, node: u32) -> String {
    let mark = format!(" {node} < ");
    story.lines().filter(|line| line.contains(&mark)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn inputs_are_handled_one_at_a_time_in_the_order_they_come() {
    let stage = Stage::of(3)
        .processing("fixed:2ms")
        .tell("0ms", 1, [send(3), send(3)])
        .tell("0.5ms", 2, [send(3)])
        .tell("3.2ms", 3, [emit("told")])
        .tell("20ms", 3, []);
    // The first message arrives at 3ms and is done at 5ms; each of the others takes its 2ms after that.
    expect![[r#"
        5ms 3 < ping 1.1
        7ms 3 < ping 1.2
        9ms 3 < command
        11ms 3 < ping 2.1
        22ms 3 < command
    "#]]
    .assert_eq(&inputs(&stage.story(), 3));
}

#[test]
fn delays_add_up() {
    // Command (2ms), message (1ms + 2ms), message back (1ms + 2ms), save and sync (3ms + 2ms), timer (4ms + 2ms).
    let last = [save(1), set('a', "4ms", [])];
    let stage = Stage::of(2).processing("fixed:2ms").sync("fixed:3ms").tell(
        "0ms",
        1,
        [send_message(2, ping([send_message(1, ping(last))]))],
    );
    expect![[r#"
        2ms 1 < command
        2ms 1 > ping 1.1 to 2
        5ms 2 < ping 1.1
        5ms 2 > ping 2.1 to 1
        8ms 1 < ping 2.1
        8ms 1 > save 1
        8ms 1 > set a 4ms
        13ms 1 < saved 1
        15ms 1 < timer a
    "#]]
    .assert_eq(&stage.story());
}

#[test]
fn nodes_are_busy_each_for_itself() {
    let stage = Stage::of(3).processing("fixed:5ms").tell("0ms", 1, []).tell("0ms", 2, []).tell("1ms", 3, []);
    expect![[r#"
        5ms 1 < command
        5ms 2 < command
        6ms 3 < command
    "#]]
    .assert_eq(&stage.story());
}

/// Even where some of them take no time at all.
#[test]
fn random_processing_times_keep_the_order() {
    for seed in 0..50 {
        let stage = Stage::of(2).seed(seed).processing("uniform:0ns..1ns").latency("uniform:0ns..5ns");
        let stage = stage.tell("0ms", 1, vec![send(2); 100]);
        let story = inputs(&stage.story(), 2);
        let numbers: Vec<u64> = story.lines().map(|line| line.rsplit('.').next().unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// What comes first is taken first, even if a later input of a better rank is done at the same instant.
#[test]
fn the_order_of_coming_is_the_order_of_taking() {
    let stage = (0..200).map(|seed| {
        Stage::of(2).seed(seed).latency("fixed:5ns").processing("uniform:0ns..2ns").opening([set('a', "4ns", [])]).tell(
            "0ms",
            2,
            [send(1)],
        )
    });
    for (seed, stage) in stage.enumerate() {
        let story = inputs(&stage.story(), 1);
        let timer = story.lines().position(|line| line.contains("timer a"));
        let message = story.lines().position(|line| line.contains("ping 2.1"));
        assert!(timer < message, "seed {seed}:\n{story}");
    }
}

/// A timer that was replaced or cancelled keeps nobody busy.
#[test]
fn a_cancelled_timer_takes_no_time() {
    let stage = Stage::of(1)
        .processing("fixed:1ms")
        .tell("0ms", 1, [set('a', "10ms", []), set('b', "10ms", []), set('b', "20ms", []), cancel('a')])
        .tell("11.5ms", 1, [emit("prompt")]);
    expect![[r#"
        1ms 1 < command
        12.5ms 1 < command
        22ms 1 < timer b
    "#]]
    .assert_eq(&inputs(&stage.story(), 1));
}

/// The disk of a past life has nothing to say, and keeps nobody busy with saying it.
#[test]
fn the_sync_of_a_past_life_takes_no_time() {
    let stage = Stage::of(1)
        .processing("fixed:2ms")
        .sync("fixed:10ms")
        .tell("0ms", 1, [save(1)])
        .fault("crash 1 at 3ms for 1ms")
        .tell("12ms", 1, [emit("prompt")]);
    expect![[r#"
        2ms 1 < command
        4ms 1 < start 1
        14ms 1 < command
    "#]]
    .assert_eq(&inputs(&stage.story(), 1));
}

/// It is cancelled by an input that was ahead of it in the queue.
#[test]
fn a_timer_that_waits_its_turn_can_still_be_cancelled() {
    let stage = Stage::of(1).processing("fixed:5ms").opening([set('a', "3ms", []), set('b', "4ms", [])]).tell(
        "0ms",
        1,
        [cancel('a')],
    );
    expect![[r#"
        5ms 1 < command
        15ms 1 < timer b
    "#]]
    .assert_eq(&inputs(&stage.story(), 1));
}

/// What waits in the queue of a node that crashes is lost with it, and does not reach the next life.
#[test]
fn a_crash_loses_what_waits() {
    let stage = Stage::of(2)
        .processing("fixed:4ms")
        .tell("0ms", 1, [send(2), send(2)])
        .tell("6ms", 2, [emit("never told")])
        .fault("crash 2 at 7ms for 1ms")
        .tell("8ms", 2, [emit("told")]);
    expect![[r#"
        4ms 1 < command
        4ms 1 > ping 1.1 to 2
        4ms 1 > ping 1.2 to 2
        7ms * 2 crashed, 0 writes lost
        7ms * lost 1.1 to 2: its receiver is down
        7ms * lost 1.2 to 2: its receiver is down
        8ms 2 < start 1
        8ms 2 > finds []
        12ms 2 < command
        12ms 2 > emit told
    "#]]
    .assert_eq(&stage.story());
}

/// A message that arrives while the node is down is lost even if the node is back before it would be done with it.
#[test]
fn a_message_that_comes_while_the_node_is_down_is_lost_at_once() {
    let stage = Stage::of(2)
        .processing("fixed:4ms")
        .tell("0ms", 1, [send(2)])
        .fault("crash 2 at 4.5ms")
        .fault("restart 2 at 6ms");
    expect![[r#"
        4ms 1 < command
        4ms 1 > ping 1.1 to 2
        4.5ms * 2 crashed, 0 writes lost
        5ms * lost 1.1 to 2: its receiver is down
        6ms 2 < start 1
        6ms 2 > finds []
    "#]]
    .assert_eq(&stage.story());
}

/// A cut stops what is between nodes, not what waits inside one.
#[test]
fn a_cut_does_not_stop_what_has_arrived() {
    let stage = Stage::of(2)
        .processing("fixed:4ms")
        .tell("0ms", 1, [send(2), send(2)])
        .fault("cut 1 | 2 at 5.5ms for 1ms")
        .tell("1ms", 1, []);
    expect![[r#"
        9ms 2 < ping 1.1
        13ms 2 < ping 1.2
    "#]]
    .assert_eq(&inputs(&stage.story(), 2));
    let still_cut = stage.fault("cut 1 | 2 at 6ms");
    expect![[r#"
        9ms 2 < ping 1.1
        13ms 2 < ping 1.2
    "#]]
    .assert_eq(&inputs(&still_cut.story(), 2));
}

/// A pause interrupts the work on an input; it begins anew when the node goes on, and the order stays.
#[test]
fn a_pause_keeps_the_order_of_what_waits() {
    let stage = Stage::of(2)
        .processing("fixed:4ms")
        .tell("0ms", 1, [send(2)])
        .tell("6ms", 2, [emit("second")])
        .fault("pause 2 at 7ms for 10ms")
        .tell("9ms", 2, [emit("third")])
        .tell("18ms", 2, [emit("fourth")]);
    expect![[r#"
        21ms 2 < ping 1.1
        25ms 2 < command
        29ms 2 < command
        33ms 2 < command
    "#]]
    .assert_eq(&inputs(&stage.story(), 2));
    let story = stage.story();
    let emitted: Vec<_> = story.lines().filter_map(|line| line.split_once("> emit ")).map(|(_, text)| text).collect();
    assert_eq!(emitted, ["second", "third", "fourth"]);
}

#[test]
fn a_short_pause_begins_the_work_anew() {
    let stage = Stage::of(1)
        .processing("fixed:4ms")
        .tell("0ms", 1, [])
        .tell("1ms", 1, [])
        .fault("pause 1 at 2ms for 1ms")
        .fault("pause 1 at 4ms for 0ms");
    expect![[r#"
        8ms 1 < command
        12ms 1 < command
    "#]]
    .assert_eq(&inputs(&stage.story(), 1));
}
