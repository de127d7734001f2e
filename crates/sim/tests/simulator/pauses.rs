//! Pauses: a node stands still, forgets nothing, and goes on where it stood.

use crate::common::{Stage, emit, node, save, send, set};
use expect_test::expect;

#[test]
fn a_pause_holds_everything_and_lets_it_go_in_order() {
    let stage = Stage::of(3)
        .sync("fixed:2ms")
        .tell("0ms", 2, [set('b', "4ms", []), set('a', "3ms", []), save(1)])
        .fault("pause 2 at 1ms for 9ms")
        .tell("2ms", 2, [emit("first command")])
        .tell("4ms", 1, [send(2)])
        .tell("5ms", 3, [send(2)])
        .tell("6ms", 1, [send(2)])
        .tell("7ms", 2, [emit("second command")]);
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
    .assert_eq(&after(&stage.story(), "10ms"));
}

/// The story from this instant on.
fn after(story: &str, instant: &str) -> String {
    story.lines().skip_while(|line| !line.starts_with(instant)).map(|line| format!("{line}\n")).collect()
}

/// What waited is taken before what arrives at the instant of the resume, so links stay first in, first out.
#[test]
fn what_waited_comes_before_what_comes_now() {
    let stage = Stage::of(2).fault("pause 2 at 1ms for 9ms").tell("4ms", 1, [send(2)]).tell("9ms", 1, [send(2)]).tell(
        "9.5ms",
        1,
        [send(2)],
    );
    expect![[r#"
        10ms * 2 resumed
        10ms 2 < ping 1.1
        10ms 2 < ping 1.2
        10.5ms 2 < ping 1.3
    "#]]
    .assert_eq(&after(&stage.story(), "10ms"));
}

/// A timer that came due in the pause is cancelled by a message that waited too.
#[test]
fn a_timer_may_be_cancelled_by_what_waited_before_it() {
    let stage = Stage::of(2).tell("0ms", 2, [set('a', "3ms", [])]).fault("pause 2 at 1ms for 9ms").tell(
        "4ms",
        1,
        [crate::common::send_message(2, crate::common::ping([crate::common::cancel('a')]))],
    );
    expect![[r#"
        10ms * 2 resumed
        10ms 2 < ping 1.1
        10ms 2 > cancel a
    "#]]
    .assert_eq(&after(&stage.story(), "10ms"));
}

#[test]
fn a_crash_in_a_pause_loses_what_waited() {
    let stage = Stage::of(2)
        .tell("0ms", 2, [set('a', "3ms", [])])
        .fault("pause 2 at 1ms for 9ms")
        .tell("2ms", 1, [send(2)])
        .tell("4ms", 2, [emit("never")])
        .fault("crash 2 at 5ms for 10ms");
    expect![[r#"
        0ms 2 < command
        0ms 2 > set a 3ms
        1ms * 2 paused
        2ms 1 < command
        2ms 1 > ping 1.1 to 2
        5ms * 2 crashed, 0 writes lost
        5ms * lost 1.1 to 2: its receiver is down
        15ms 2 < start 1
        15ms 2 > finds []
    "#]]
    .assert_eq(&stage.story());
    assert!(stage.played(()).is_quiet());
}

#[test]
fn pausing_the_paused_and_resuming_the_running_does_nothing() {
    let stage = Stage::of(1)
        .fault("resume 1 at 1ms")
        .fault("pause 1 at 2ms")
        .fault("pause 1 at 3ms for 1ms")
        .fault("restart 1 at 5ms")
        .fault("resume 1 at 6ms");
    expect![[r#"
        2ms * 1 paused
        6ms * 1 resumed
    "#]]
    .assert_eq(&stage.story());
}

/// The end of a pause belongs to that pause.
#[test]
fn the_end_of_one_pause_does_not_end_another() {
    let stage = Stage::of(1)
        .fault("pause 1 at 1ms for 9ms")
        .fault("resume 1 at 3ms")
        .fault("pause 1 at 5ms")
        .fault("resume 1 at 20ms");
    let story = stage.story();
    let lines: Vec<_> = story.lines().collect();
    assert_eq!(lines, ["1ms * 1 paused", "3ms * 1 resumed", "5ms * 1 paused", "20ms * 1 resumed"]);
}

#[test]
fn a_node_that_is_paused_from_the_start_starts_when_it_goes_on() {
    let stage = Stage::of(2).opening([send(2)]).fault("pause 2 for 5ms");
    expect![[r#"
        0ms * 2 paused
        0ms 1 > ping 1.1 to 2
        5ms * 2 resumed
        5ms 2 < start 0
        5ms 2 > ping 2.1 to 2
        5ms 2 < ping 1.1
        5ms 2 < ping 2.1
    "#]]
    .assert_eq(&stage.story());
    let world = stage.fault("crash 2 at 3ms").played(());
    assert!(!world.is_up(node(2)));
    assert_eq!(world.events(), 1);
}

/// A cut stops what is between nodes. What reached a paused node waits inside it, whatever is cut later; what came
/// during the cut never did.
#[test]
fn cuts_are_judged_when_a_message_arrives() {
    let stage = Stage::of(2)
        .fault("pause 2 at 0ms for 20ms")
        .tell("1ms", 1, [send(2)])
        .tell("4.5ms", 1, [send(2)])
        .fault("cut 1 | 2 at 5ms for 10ms")
        .tell("8ms", 1, [send(2)])
        .fault("cut 1 | 2 at 19ms");
    expect![[r#"
        5.5ms * lost 1.2 to 2: stopped by a cut
        8ms * lost 1.3 to 2: stopped by a cut
        20ms 2 < ping 1.1
    "#]]
    .assert_eq(
        &stage
            .story()
            .lines()
            .filter(|line| line.contains("lost") || line.contains("< ping"))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
}

#[test]
fn a_paused_node_is_up() {
    let world = Stage::of(1).fault("pause 1 at 1ms").played(());
    assert!(world.is_up(node(1)));
}
