//! Pauses: a paused node keeps its state and its inputs, and continues when it resumes.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `start 1` is the first restart, and `finds`
//! lists the saved writes that the restarted node reads. A message takes 1 ms, and processing and
//! syncs take no time, unless a scenario sets them.

use crate::common::{Scenario, emit, node, save, send, set};
use expect_test::expect;

#[test]
fn a_pause_delays_all_inputs_and_keeps_the_order_within_each_kind() {
    let scenario = Scenario::new(3)
        .sync("fixed:2ms")
        .command("0ms", 2, [set('b', "4ms", []), set('a', "3ms", []), save(1)])
        .fault("pause 2 at 1ms for 9ms")
        .command("2ms", 2, [emit("first command")])
        .command("4ms", 1, [send(2)])
        .command("5ms", 3, [send(2)])
        .command("6ms", 1, [send(2)])
        .command("7ms", 2, [emit("second command")]);
    expect![[r#"
        10ms * 2 resumed
        10ms 2 < saved 1
        10ms 2 < ping 1.1
        10ms 2 < ping 3.1
        10ms 2 < ping 1.2
        10ms 2 < timer a
        10ms 2 < timer b
        10ms 2 < command
        10ms 2 > emit first command
        10ms 2 < command
        10ms 2 > emit second command
    "#]]
    .assert_eq(&trace_from(&scenario.trace(), "10ms"));
}

/// Returns the trace from this time on.
fn trace_from(trace: &str, instant: &str) -> String {
    trace.lines().skip_while(|line| !line.starts_with(instant)).map(|line| format!("{line}\n")).collect()
}

/// Waiting inputs come before inputs that arrive at the time of the resume, so links stay FIFO.
#[test]
fn waiting_inputs_come_before_new_ones() {
    let scenario = Scenario::new(2)
        .fault("pause 2 at 1ms for 9ms")
        .command("4ms", 1, [send(2)])
        .command("9ms", 1, [send(2)])
        .command("9.5ms", 1, [send(2)]);
    expect![[r#"
        10ms * 2 resumed
        10ms 2 < ping 1.1
        10ms 2 < ping 1.2
        10.5ms 2 < ping 1.3
    "#]]
    .assert_eq(&trace_from(&scenario.trace(), "10ms"));
}

/// A waiting message cancels a timer that expired during the pause.
#[test]
fn a_waiting_message_may_cancel_a_timer() {
    let scenario = Scenario::new(2).command("0ms", 2, [set('a', "3ms", [])]).fault("pause 2 at 1ms for 9ms").command(
        "4ms",
        1,
        [crate::common::send_message(2, crate::common::ping([crate::common::cancel('a')]))],
    );
    expect![[r#"
        10ms * 2 resumed
        10ms 2 < ping 1.1
        10ms 2 > cancel a
    "#]]
    .assert_eq(&trace_from(&scenario.trace(), "10ms"));
}

#[test]
fn a_crash_during_a_pause_loses_waiting_inputs() {
    let scenario = Scenario::new(2)
        .command("0ms", 2, [set('a', "3ms", [])])
        .fault("pause 2 at 1ms for 9ms")
        .command("2ms", 1, [send(2)])
        .command("4ms", 2, [emit("never")])
        .fault("crash 2 at 5ms for 10ms");
    expect![[r#"
        0ms 2 < command
        0ms 2 > set a 3ms
        1ms * 2 paused
        2ms 1 < command
        2ms 1 > ping 1.1 to 2
        5ms * 2 crashed, 0 writes lost
        5ms * lost 1.1 to 2: the receiver is down
        15ms 2 < start 1
        15ms 2 > finds []
    "#]]
    .assert_eq(&scenario.trace());
    assert!(scenario.run_to_end(()).is_quiet());
}

/// Restarting a paused node has no effect either, because it is not down.
#[test]
fn pausing_a_paused_node_and_resuming_a_running_one_has_no_effect() {
    let scenario = Scenario::new(1)
        .fault("resume 1 at 1ms")
        .fault("pause 1 at 2ms")
        .fault("pause 1 at 3ms for 1ms")
        .fault("restart 1 at 5ms")
        .fault("resume 1 at 6ms");
    expect![[r#"
        2ms * 1 paused
        6ms * 1 resumed
    "#]]
    .assert_eq(&scenario.trace());
}

/// The end of a pause belongs to that pause.
#[test]
fn the_end_of_one_pause_does_not_end_another() {
    let scenario = Scenario::new(1)
        .fault("pause 1 at 1ms for 9ms")
        .fault("resume 1 at 3ms")
        .fault("pause 1 at 5ms")
        .fault("resume 1 at 20ms");
    let trace = scenario.trace();
    let lines: Vec<_> = trace.lines().collect();
    assert_eq!(lines, ["1ms * 1 paused", "3ms * 1 resumed", "5ms * 1 paused", "20ms * 1 resumed"]);
}

#[test]
fn a_node_paused_from_the_start_starts_when_it_resumes() {
    let scenario = Scenario::new(2).on_start([send(2)]).fault("pause 2 for 5ms");
    expect![[r#"
        0ms * 2 paused
        0ms 1 > ping 1.1 to 2
        5ms * 2 resumed
        5ms 2 < start 0
        5ms 2 > ping 2.1 to 2
        5ms 2 < ping 1.1
        5ms 2 < ping 2.1
    "#]]
    .assert_eq(&scenario.trace());
    let world = scenario.fault("crash 2 at 3ms").run_to_end(());
    assert!(!world.is_up(node(2)));
    assert_eq!(world.taken_inputs(), 1, "the start of node 1");
}

/// A cut blocks messages in flight. It does not affect messages that already wait in a paused node.
#[test]
fn cuts_apply_when_a_message_arrives() {
    let scenario = Scenario::new(2)
        .fault("pause 2 at 0ms for 20ms")
        .command("1ms", 1, [send(2)])
        .command("4.5ms", 1, [send(2)])
        .fault("cut 1 | 2 at 5ms for 10ms")
        .command("8ms", 1, [send(2)])
        .fault("cut 1 | 2 at 19ms");
    expect![[r#"
        5.5ms * lost 1.2 to 2: blocked by a cut
        8ms * lost 1.3 to 2: blocked by a cut
        20ms 2 < ping 1.1
    "#]]
    .assert_eq(
        &scenario
            .trace()
            .lines()
            .filter(|line| line.contains("lost") || line.contains("< ping"))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
}

#[test]
fn a_paused_node_is_up() {
    let world = Scenario::new(1).fault("pause 1 at 1ms").run_to_end(());
    assert!(world.is_up(node(1)));
}
