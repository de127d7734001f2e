//! Processing time: a node processes one input at a time, and the others wait.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent, `start 1` starts incarnation 1, and `finds []`
//! lists the saved numbers that a restarted node finds on its disk. A message takes 1 ms, and
//! processing and syncs take no time, unless a scenario sets them. Links are FIFO. A trace shows an
//! input when its processing ends.

use crate::common::{Scenario, cancel, emit, ping, save, send, send_message, set};
use expect_test::expect;

/// Returns the lines of a trace that show inputs of this node.
fn inputs(trace: &str, node: u32) -> String {
    let mark = format!(" {node} < ");
    trace.lines().filter(|line| line.contains(&mark)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn inputs_are_processed_one_at_a_time_in_order_of_arrival() {
    let scenario = Scenario::new(3)
        .processing("fixed:2ms")
        .command("0ms", 1, [send(3), send(3)])
        .command("0.5ms", 2, [send(3)])
        .command("3.2ms", 3, [emit("done")])
        .command("20ms", 3, []);
    // The first message arrives at 3ms and is processed at 5ms; each of the next three inputs takes
    // 2ms more.
    expect![[r#"
        5ms 3 < ping 1.1
        7ms 3 < ping 1.2
        9ms 3 < command
        11ms 3 < ping 2.1
        22ms 3 < command
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 3));
}

#[test]
fn latency_processing_sync_and_timer_delays_add_up() {
    // Command (2ms), message (1ms + 2ms), reply (1ms + 2ms), save and sync (3ms + 2ms). The timer
    // expires meanwhile, at 12ms, waits until the node has processed the sync at 13ms, and takes
    // 2ms.
    let reply_actions = [save(1), set('a', "4ms", [])];
    let scenario = Scenario::new(2).processing("fixed:2ms").sync("fixed:3ms").command(
        "0ms",
        1,
        [send_message(2, ping([send_message(1, ping(reply_actions))]))],
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
    .assert_eq(&scenario.trace());
}

#[test]
fn nodes_process_inputs_independently() {
    let scenario =
        Scenario::new(3).processing("fixed:5ms").command("0ms", 1, []).command("0ms", 2, []).command("1ms", 3, []);
    expect![[r#"
        5ms 1 < command
        5ms 2 < command
        6ms 3 < command
    "#]]
    .assert_eq(&scenario.trace());
}

/// The order is kept even if some processing times are zero.
#[test]
fn random_processing_times_keep_the_order() {
    for seed in 0..50 {
        let scenario = Scenario::new(2).seed(seed).processing("uniform:0ns..1ns").latency("uniform:0ns..5ns");
        let scenario = scenario.command("0ms", 1, vec![send(2); 100]);
        let trace = inputs(&scenario.trace(), 2);
        let numbers: Vec<u64> = trace.lines().map(|line| line.rsplit('.').next().unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// The timer expires at 4ns, and the message arrives at 5ns or later. The node processes the timer
/// first even if the processing of both ends at the same time, although the simulator orders
/// messages before timers at equal times.
#[test]
fn a_timer_precedes_a_message_that_arrives_later() {
    let scenario = (0..200).map(|seed| {
        Scenario::new(2)
            .seed(seed)
            .latency("fixed:5ns")
            .processing("uniform:0ns..2ns")
            .on_start([set('a', "4ns", [])])
            .command("0ms", 2, [send(1)])
    });
    for (seed, scenario) in scenario.enumerate() {
        let trace = inputs(&scenario.trace(), 1);
        let timer = trace.lines().position(|line| line.contains("timer a"));
        let message = trace.lines().position(|line| line.contains("ping 2.1"));
        assert!(timer.is_some() && timer < message, "seed {seed}:\n{trace}");
    }
}

/// A timer that was replaced or cancelled before it expired takes no processing time.
#[test]
fn a_cancelled_timer_takes_no_time() {
    let scenario = Scenario::new(1)
        .processing("fixed:1ms")
        .command("0ms", 1, [set('a', "10ms", []), set('b', "10ms", []), set('b', "20ms", []), cancel('a')])
        .command("11.5ms", 1, [emit("prompt")]);
    expect![[r#"
        1ms 1 < command
        12.5ms 1 < command
        22ms 1 < timer b
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 1));
}

#[test]
fn a_sync_of_an_earlier_incarnation_takes_no_processing_time() {
    let scenario = Scenario::new(1)
        .processing("fixed:2ms")
        .sync("fixed:10ms")
        .command("0ms", 1, [save(1)])
        .fault("crash 1 at 3ms for 1ms")
        .command("12ms", 1, [emit("prompt")]);
    expect![[r#"
        2ms 1 < command
        4ms 1 < start 1
        14ms 1 < command
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 1));
}

/// The node processes the command first, which cancels timer a while it waits in the inbox. The
/// node drops timer a only after its processing time, so it processes timer b at 15ms.
#[test]
fn a_waiting_timer_can_still_be_cancelled() {
    let scenario = Scenario::new(1)
        .processing("fixed:5ms")
        .on_start([set('a', "3ms", []), set('b', "4ms", [])])
        .command("0ms", 1, [cancel('a')]);
    expect![[r#"
        5ms 1 < command
        15ms 1 < timer b
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 1));
}

/// The waiting inputs of a node that crashes are lost and do not reach its next incarnation.
#[test]
fn a_crash_loses_waiting_inputs() {
    let scenario = Scenario::new(2)
        .processing("fixed:4ms")
        .command("0ms", 1, [send(2), send(2)])
        .command("6ms", 2, [emit("never")])
        .fault("crash 2 at 7ms for 1ms")
        .command("8ms", 2, [emit("done")]);
    expect![[r#"
        4ms 1 < command
        4ms 1 > ping 1.1 to 2
        4ms 1 > ping 1.2 to 2
        7ms * 2 crashed, 0 writes lost
        7ms * lost 1.1 to 2: the receiver is down
        7ms * lost 1.2 to 2: the receiver is down
        8ms 2 < start 1
        8ms 2 > finds []
        12ms 2 < command
        12ms 2 > emit done
    "#]]
    .assert_eq(&scenario.trace());
}

/// A message that arrives while the node is down is lost, even if the node restarts before it would
/// be processed.
#[test]
fn a_message_to_a_node_that_is_down_is_lost_at_once() {
    let scenario = Scenario::new(2)
        .processing("fixed:4ms")
        .command("0ms", 1, [send(2)])
        .fault("crash 2 at 4.5ms")
        .fault("restart 2 at 6ms");
    expect![[r#"
        4ms 1 < command
        4ms 1 > ping 1.1 to 2
        4.5ms * 2 crashed, 0 writes lost
        5ms * lost 1.1 to 2: the receiver is down
        6ms 2 < start 1
        6ms 2 > finds []
    "#]]
    .assert_eq(&scenario.trace());
}

/// A cut blocks messages in flight, not those that wait in a node.
#[test]
fn a_cut_does_not_block_messages_that_have_arrived() {
    let scenario = Scenario::new(2)
        .processing("fixed:4ms")
        .command("0ms", 1, [send(2), send(2)])
        .fault("cut 1 | 2 at 5.5ms for 1ms");
    expect![[r#"
        9ms 2 < ping 1.1
        13ms 2 < ping 1.2
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 2));
    let still_cut = scenario.fault("cut 1 | 2 at 6ms");
    expect![[r#"
        9ms 2 < ping 1.1
        13ms 2 < ping 1.2
    "#]]
    .assert_eq(&inputs(&still_cut.trace(), 2));
}

/// A pause interrupts the processing of an input, which starts again when the node resumes.
/// Waiting inputs keep their order.
#[test]
fn a_pause_keeps_the_order_of_waiting_inputs() {
    let scenario = Scenario::new(2)
        .processing("fixed:4ms")
        .command("0ms", 1, [send(2)])
        .command("6ms", 2, [emit("second")])
        .fault("pause 2 at 7ms for 10ms")
        .command("9ms", 2, [emit("third")])
        .command("18ms", 2, [emit("fourth")]);
    expect![[r#"
        21ms 2 < ping 1.1
        25ms 2 < command
        29ms 2 < command
        33ms 2 < command
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 2));
    let trace = scenario.trace();
    let emitted: Vec<_> = trace.lines().filter_map(|line| line.split_once("> emit ")).map(|(_, text)| text).collect();
    assert_eq!(emitted, ["second", "third", "fourth"]);
}

#[test]
fn a_short_pause_restarts_the_processing() {
    let scenario = Scenario::new(1)
        .processing("fixed:4ms")
        .command("0ms", 1, [])
        .command("1ms", 1, [])
        .fault("pause 1 at 2ms for 1ms")
        .fault("pause 1 at 4ms for 0ms");
    expect![[r#"
        8ms 1 < command
        12ms 1 < command
    "#]]
    .assert_eq(&inputs(&scenario.trace(), 1));
}
