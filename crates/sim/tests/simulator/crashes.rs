//! Crashes and restarts: what is lost, what is not, and which life it is.

use crate::common::{Stage, Story, at, emit, node, ping, save, send, send_message, set};
use expect_test::expect;
use quorate_journal::workload::News;

#[test]
fn a_crash_loses_timers_and_what_arrives_meanwhile() {
    let stage = Stage::of(2)
        .tell("0ms", 2, [set('a', "5ms", [])])
        .tell("3.5ms", 1, [send(2)])
        .fault("crash 2 at 4ms for 10ms")
        .tell("6ms", 1, [send(2)])
        .tell("7ms", 2, [emit("nobody hears")])
        .tell("13.5ms", 1, [send(2)]);
    expect![[r#"
        0ms 2 < command
        0ms 2 > set a 5ms
        3.5ms 1 < command
        3.5ms 1 > ping 1.1 to 2
        4ms * 2 crashed, 0 writes lost
        4.5ms * lost 1.1 to 2: its receiver is down
        6ms 1 < command
        6ms 1 > ping 1.2 to 2
        7ms * lost 1.2 to 2: its receiver is down
        13.5ms 1 < command
        13.5ms 1 > ping 1.3 to 2
        14ms 2 < start 1
        14ms 2 > finds []
        14.5ms 2 < ping 1.3
    "#]]
    .assert_eq(&stage.story());
}

/// What a node sent before it went down is on its way, whatever becomes of the node; and numbers go on in its next
/// life, so that no two transmissions share one.
#[test]
fn what_was_sent_before_a_crash_arrives() {
    let stage = Stage::of(2).tell("0ms", 1, [send(2)]).fault("crash 1 at 0.5ms for 1ms").tell("3ms", 1, [send(2)]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > ping 1.1 to 2
        0.5ms * 1 crashed, 0 writes lost
        1ms 2 < ping 1.1
        1.5ms 1 < start 1
        1.5ms 1 > finds []
        3ms 1 < command
        3ms 1 > ping 1.2 to 2
        4ms 2 < ping 1.2
    "#]]
    .assert_eq(&stage.story().replace("500µs", "0.5ms"));
}

/// A user's plan ends with the life of the node that it was made for; a script's does not.
#[test]
fn a_command_for_this_life_does_not_reach_the_next() {
    let mut world = Stage::of(1).fault("crash 1 at 5ms for 1ms").world(Story::default());
    world.command_this_life(at("4ms"), node(1), [emit("in time")].into());
    world.command_this_life(at("9ms"), node(1), [emit("too late")].into());
    world.command(at("9ms"), node(1), [emit("any life will do")].into());
    while world.advance() {}
    assert!(world.is_quiet());
    let mut told = Vec::new();
    while let Some((_, news)) = world.next_news() {
        if let News::Told(text) = news {
            told.push(text);
        }
    }
    assert_eq!(told, ["in time", "any life will do"]);
}

/// A timer of the next life is another one, even if it has the name of one that was set before the crash.
#[test]
fn timers_of_the_past_life_do_not_fire_in_the_next() {
    let stage = Stage::of(1).opening([set('a', "10ms", [])]).fault("crash 1 at 4ms for 2ms");
    let story = stage.story();
    let fired: Vec<_> = story.lines().filter(|line| line.contains("timer")).collect();
    assert_eq!(fired, ["16ms 1 < timer a"]);
}

/// What is not on the disk is gone, with the node itself.
#[test]
fn a_new_life_remembers_nothing() {
    let stage = Stage::of(1).tell("0ms", 1, [save(1)]).tell("1ms", 1, []).fault("crash 1 at 2ms");
    assert_eq!(stage.played(()).node(node(1)).unwrap().steps, 4);
    assert_eq!(stage.fault("restart 1 at 3ms").played(()).node(node(1)).unwrap().steps, 1);
}

#[test]
fn every_restart_is_the_next_life() {
    let stage = Stage::of(1)
        .fault("crash 1 at 1ms for 1ms")
        .fault("crash 1 at 3ms")
        .fault("restart 1 at 4ms")
        .fault("crash 1 torn at 5ms")
        .fault("restart 1 blank at 6ms");
    let story = stage.story();
    let lives: Vec<_> = story.lines().filter(|line| line.contains("start")).collect();
    assert_eq!(lives, ["2ms 1 < start 1", "4ms 1 < start 2", "6ms 1 < start 3 blank"]);
}

#[test]
fn crashing_the_crashed_and_restarting_the_running_does_nothing() {
    let stage = Stage::of(1)
        .fault("restart 1 at 1ms")
        .fault("restart 1 blank at 2ms")
        .fault("crash 1 at 3ms")
        .fault("crash 1 torn at 4ms")
        .fault("pause 1 at 5ms")
        .fault("resume 1 at 6ms")
        .fault("restart 1 at 7ms")
        .fault("restart 1 at 8ms")
        .tell("0ms", 1, [save(1)]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 < saved 1
        3ms * 1 crashed, 0 writes lost
        7ms 1 < start 1
        7ms 1 > finds [1]
    "#]]
    .assert_eq(&stage.story());
}

/// The end of a crash belongs to that crash: a later one is not cut short, nor does one that changed nothing end.
#[test]
fn the_end_of_one_crash_does_not_end_another() {
    let stage = Stage::of(1)
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
    .assert_eq(&stage.story());
}

#[test]
fn a_node_that_is_crashed_from_the_start_never_starts() {
    let stage = Stage::of(2).opening([send(1), send(2)]).fault("crash 1");
    expect![[r#"
        0ms * 1 crashed, 0 writes lost
        0ms 2 > ping 2.1 to 1
        0ms 2 > ping 2.2 to 2
        0ms 2 < ping 2.2
        1ms * lost 2.1 to 1: its receiver is down
    "#]]
    .assert_eq(&stage.story());
    let world = stage.played(());
    assert!(!world.is_up(node(1)) && world.is_up(node(2)));
    assert_eq!(world.events(), 2);
}

/// One life, one start: also for a node that is crashed and restarted before the world begins.
#[test]
fn nobody_starts_twice_in_one_life() {
    let stage = Stage::of(1).opening([send(1)]).fault("crash 1").fault("restart 1");
    expect![[r#"
        0ms * 1 crashed, 0 writes lost
        0ms 1 < start 1
        0ms 1 > finds []
        0ms 1 > ping 1.1 to 1
        0ms 1 < ping 1.1
    "#]]
    .assert_eq(&stage.story());
}

#[test]
fn faults_of_the_start_hold_before_the_first_step() {
    let stage = Stage::of(2).opening([send(2)]).fault("cut 1 | 2").fault("skew 1 by 5ms");
    let journal = stage.journal();
    assert!(journal.contains(r#"{"time":0,"node":1,"clock":5000000,"input":{"start":{"incarnation":0}}"#), "{journal}");
    assert!(journal.contains(r#"{"time":0,"world":{"lost":{"id":"1.1","to":2,"why":"cut"}}}"#), "{journal}");
}

/// The user learns of the crash, then of the restart, then of what the new life says.
#[test]
fn news_come_in_the_order_of_their_happening() {
    let stage = Stage::of(1).opening([emit("hello")]).fault("crash 1 at 1ms for 1ms").tell("3ms", 1, [emit("again")]);
    let mut world = stage.played(());
    let news: Vec<_> = std::iter::from_fn(|| world.next_news()).map(|(_, news)| news).collect();
    let told = |text: &str| News::Told(text.to_string());
    assert_eq!(news, [told("hello"), News::Crashed, News::Restarted, told("hello"), told("again")]);
}

/// A message to a node that does not exist is lost like one to a node that is down.
#[test]
fn a_message_to_nobody_is_lost() {
    let stage = Stage::of(2).tell("0ms", 1, [send(3), send_message(2, ping([]))]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > ping 1.1 to 3
        0ms 1 > ping 1.2 to 2
        1ms * lost 1.1 to 3: its receiver is down
        1ms 2 < ping 1.2
    "#]]
    .assert_eq(&stage.story());
    let mut world = stage.world(());
    world.command(at("5ms"), node(7), vec![]);
    while world.advance() {}
    assert!(world.is_quiet());
}
