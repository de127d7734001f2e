//! Crashes and restarts: what is lost, what survives, and the incarnation numbers.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `start 1` is the first restart, because
//! incarnations are numbered from 0, and `finds` lists the saved writes that the restarted node
//! reads. A message takes 1 ms, and processing and syncs take no time, unless a scenario sets them.

use crate::common::{Scenario, Trace, at, emit, node, ping, save, send, send_message, set};
use expect_test::expect;
use quorate_journal::workload::ClientEvent;

#[test]
fn a_crash_loses_timers_and_messages_that_arrive_meanwhile() {
    let scenario = Scenario::new(2)
        .command("0ms", 2, [set('a', "5ms", [])])
        .command("3.5ms", 1, [send(2)])
        .fault("crash 2 at 4ms for 10ms")
        .command("6ms", 1, [send(2)])
        .command("7ms", 2, [emit("never")])
        .command("13.5ms", 1, [send(2)]);
    expect![[r#"
        0ms 2 < command
        0ms 2 > set a 5ms
        3.5ms 1 < command
        3.5ms 1 > ping 1.1 to 2
        4ms * 2 crashed, 0 writes lost
        4.5ms * lost 1.1 to 2: the receiver is down
        6ms 1 < command
        6ms 1 > ping 1.2 to 2
        7ms * lost 1.2 to 2: the receiver is down
        13.5ms 1 < command
        13.5ms 1 > ping 1.3 to 2
        14ms 2 < start 1
        14ms 2 > finds []
        14.5ms 2 < ping 1.3
    "#]]
    .assert_eq(&scenario.trace());
}

/// Messages sent before a crash still arrive. Message numbers continue in the next incarnation, so
/// they stay unique.
#[test]
fn messages_sent_before_a_crash_arrive() {
    let scenario =
        Scenario::new(2).command("0ms", 1, [send(2)]).fault("crash 1 at 0.5ms for 1ms").command("3ms", 1, [send(2)]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > ping 1.1 to 2
        500µs * 1 crashed, 0 writes lost
        1ms 2 < ping 1.1
        1.5ms 1 < start 1
        1.5ms 1 > finds []
        3ms 1 < command
        3ms 1 > ping 1.2 to 2
        4ms 2 < ping 1.2
    "#]]
    .assert_eq(&scenario.trace());
}

/// A client's command may be limited to one incarnation; a script's command is not.
#[test]
fn a_command_for_this_incarnation_does_not_reach_the_next() {
    let mut world = Scenario::new(1).fault("crash 1 at 5ms for 1ms").world(Trace::default());
    world.schedule_command_this_incarnation(at("4ms"), node(1), [emit("in time")].into());
    world.schedule_command_this_incarnation(at("9ms"), node(1), [emit("too late")].into());
    world.schedule_command(at("9ms"), node(1), [emit("any incarnation")].into());
    while world.advance() {}
    assert!(world.is_quiet());
    let mut emitted = Vec::new();
    while let Some((_, notification)) = world.next_client_event() {
        if let ClientEvent::Emitted(text) = notification {
            emitted.push(text);
        }
    }
    assert_eq!(emitted, ["in time", "any incarnation"]);
}

/// A timer of the next incarnation is a different one, even if it has the same name.
#[test]
fn timers_of_one_incarnation_do_not_fire_in_the_next() {
    let scenario = Scenario::new(1).on_start([set('a', "10ms", [])]).fault("crash 1 at 4ms for 2ms");
    let trace = scenario.trace();
    let fired: Vec<_> = trace.lines().filter(|line| line.contains("timer")).collect();
    assert_eq!(fired, ["16ms 1 < timer a"]);
}

/// A restarted node has lost all state that is not on its disk.
#[test]
fn a_restarted_node_has_lost_its_volatile_state() {
    let scenario = Scenario::new(1).command("0ms", 1, [save(1)]).command("1ms", 1, []).fault("crash 1 at 2ms");
    // The start, the first command, its save, and the second command; after the restart, the start.
    assert_eq!(scenario.run_to_end(()).node(node(1)).unwrap().steps, 4);
    assert_eq!(scenario.fault("restart 1 at 3ms").run_to_end(()).node(node(1)).unwrap().steps, 1);
}

#[test]
fn every_restart_is_the_next_incarnation() {
    let scenario = Scenario::new(1)
        .fault("crash 1 at 1ms for 1ms")
        .fault("crash 1 at 3ms")
        .fault("restart 1 at 4ms")
        .fault("crash 1 torn at 5ms")
        .fault("restart 1 blank at 6ms");
    let trace = scenario.trace();
    let starts: Vec<_> = trace.lines().filter(|line| line.contains("start")).collect();
    assert_eq!(starts, ["2ms 1 < start 1", "4ms 1 < start 2", "6ms 1 < start 3 blank"]);
}

#[test]
fn crashing_a_crashed_node_and_restarting_a_running_one_has_no_effect() {
    let scenario = Scenario::new(1)
        .fault("restart 1 at 1ms")
        .fault("restart 1 blank at 2ms")
        .fault("crash 1 at 3ms")
        .fault("crash 1 torn at 4ms")
        .fault("pause 1 at 5ms")
        .fault("resume 1 at 6ms")
        .fault("restart 1 at 7ms")
        .fault("restart 1 at 8ms")
        .command("0ms", 1, [save(1)]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 < saved 1
        3ms * 1 crashed, 0 writes lost
        7ms 1 < start 1
        7ms 1 > finds [1]
    "#]]
    .assert_eq(&scenario.trace());
}

/// The end of a crash belongs to that crash: it does not shorten a later one. If a crash has no
/// effect because the node is already down, its end has no effect either.
#[test]
fn the_end_of_one_crash_does_not_end_another() {
    let scenario = Scenario::new(1)
        .fault("crash 1 at 1ms for 9ms")
        .fault("restart 1 at 3ms")
        .fault("crash 1 at 5ms")
        .fault("crash 1 at 6ms for 1ms");
    expect![[r#"
        1ms * 1 crashed, 0 writes lost
        3ms 1 < start 1
        3ms 1 > finds []
        5ms * 1 crashed, 0 writes lost
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn a_node_that_stays_down_from_the_start_never_starts() {
    let scenario = Scenario::new(2).on_start([send(1), send(2)]).fault("crash 1");
    expect![[r#"
        0ms * 1 crashed, 0 writes lost
        0ms 2 > ping 2.1 to 1
        0ms 2 > ping 2.2 to 2
        0ms 2 < ping 2.2
        1ms * lost 2.1 to 1: the receiver is down
    "#]]
    .assert_eq(&scenario.trace());
    let world = scenario.run_to_end(());
    assert!(!world.is_up(node(1)) && world.is_up(node(2)));
    assert_eq!(world.taken_inputs(), 2);
}

/// An incarnation starts once, even if the node is crashed and restarted before the world starts.
#[test]
fn an_incarnation_starts_once() {
    let scenario = Scenario::new(1).on_start([send(1)]).fault("crash 1").fault("restart 1");
    expect![[r#"
        0ms * 1 crashed, 0 writes lost
        0ms 1 < start 1
        0ms 1 > finds []
        0ms 1 > ping 1.1 to 1
        0ms 1 < ping 1.1
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn faults_at_time_zero_apply_before_the_first_step() {
    let scenario = Scenario::new(2).on_start([send(2)]).fault("cut 1 | 2").fault("skew 1 by 5ms");
    let journal = scenario.journal();
    assert!(journal.contains(r#"{"time":0,"node":1,"clock":5000000,"input":{"start":{"incarnation":0}}"#), "{journal}");
    assert!(journal.contains(r#"{"time":0,"world":{"lost":{"id":"1.1","to":2,"why":"cut"}}}"#), "{journal}");
}

/// The client is notified of the crash, then of the restart, then of the events of the new
/// incarnation.
#[test]
fn clients_are_notified_in_order() {
    let scenario =
        Scenario::new(1).on_start([emit("hello")]).fault("crash 1 at 1ms for 1ms").command("3ms", 1, [emit("again")]);
    let mut world = scenario.run_to_end(());
    let notifications: Vec<_> =
        std::iter::from_fn(|| world.next_client_event()).map(|(_, notification)| notification).collect();
    let emitted = |text: &str| ClientEvent::Emitted(text.to_string());
    assert_eq!(
        notifications,
        [emitted("hello"), ClientEvent::Crashed, ClientEvent::Restarted, emitted("hello"), emitted("again")]
    );
}

/// A message to a node that does not exist is lost like a message to a node that is down.
#[test]
fn a_message_to_an_unknown_node_is_lost() {
    let scenario = Scenario::new(2).command("0ms", 1, [send(3), send_message(2, ping([]))]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > ping 1.1 to 3
        0ms 1 > ping 1.2 to 2
        1ms * lost 1.1 to 3: the receiver is down
        1ms 2 < ping 1.2
    "#]]
    .assert_eq(&scenario.trace());
    // A command to an unknown node is dropped as well.
    let mut world = scenario.world(());
    world.schedule_command(at("5ms"), node(7), vec![]);
    while world.advance() {}
    assert!(world.is_quiet());
}
