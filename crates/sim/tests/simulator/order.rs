//! What comes first when several things come at the same instant.

use crate::common::{Stage, emit, multicast, ping, save, send, send_message, set};
use expect_test::expect;

/// The message and the timer were planned in both orders; the fault comes first, the user last.
#[test]
fn faults_then_the_disk_then_messages_then_timers_then_users() {
    let stage = Stage::of(2)
        .sync("fixed:1ms")
        .tell("1ms", 1, [emit("told")])
        .tell("0ms", 1, [set('a', "1ms", []), save(7)])
        .tell("0ms", 2, [send(1)])
        .tell("0ms", 1, [set('b', "1ms", [])])
        .fault("skew 2 by 5ms at 1ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > set a 1ms
        0ms 1 > save 7
        0ms 2 < command
        0ms 2 > ping 2.1 to 1
        0ms 1 < command
        0ms 1 > set b 1ms
        1ms * skew 2 by 5ms
        1ms 1 < saved 1
        1ms 1 < ping 2.1
        1ms 1 < timer a
        1ms 1 < timer b
        1ms 1 < command
        1ms 1 > emit told
    "#]]
    .assert_eq(&stage.story());
}

#[test]
fn messages_of_one_instant_arrive_in_the_order_they_were_sent() {
    let stage = Stage::of(3)
        .tell("0ms", 2, [send(1), send(3), send(1)])
        .tell("0ms", 3, [send(1)])
        .tell("0ms", 1, [multicast(3), send(2)])
        .tell("0ms", 2, [send(1)]);
    let story = stage.story();
    let arrivals: Vec<_> = story.lines().filter(|line| line.starts_with("1ms")).collect();
    expect![[r#"
        1ms 1 < ping 2.1
        1ms 3 < ping 2.2
        1ms 1 < ping 2.3
        1ms 1 < ping 3.1
        1ms 2 < ping 1.1
        1ms 3 < ping 1.2
        1ms 2 < ping 1.3
        1ms 1 < ping 2.4"#]]
    .assert_eq(&arrivals.join("\n"));
}

/// With or without first-in-first-out links: the same instant is the same instant.
#[test]
fn ties_keep_the_order_of_sending_on_any_links() {
    for fifo in [false, true] {
        let stage = Stage::of(2).fifo(fifo).tell("0ms", 1, vec![send(2); 200]);
        let story = stage.story();
        let arrivals: Vec<_> = story.lines().filter_map(|line| line.strip_prefix("1ms 2 < ping 1.")).collect();
        assert_eq!(arrivals, (1..=200).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

/// A message to oneself takes no time, and still comes after the step that sends it.
#[test]
fn a_message_to_oneself_arrives_at_once_and_never_earlier() {
    let stage = Stage::of(1).tell("3ms", 1, [send_message(1, ping([send(1)])), emit("last of the step")]);
    expect![[r#"
        3ms 1 < command
        3ms 1 > ping 1.1 to 1
        3ms 1 > emit last of the step
        3ms 1 < ping 1.1
        3ms 1 > ping 1.2 to 1
        3ms 1 < ping 1.2
    "#]]
    .assert_eq(&stage.story());
}

/// Further away than the queue has room for is the end of time. The first two of these, cut off to what there is
/// room for, would come after some minutes.
#[test]
fn what_is_planned_for_the_end_of_time_does_not_happen_soon() {
    for far in ["640512h", "1281024h", "5000000h"] {
        let stage = Stage::of(2)
            .fault(&format!("crash 1 at {far}"))
            .fault(&format!("link 1 > 2 latency fixed:{far}"))
            .tell("0ms", 1, [send(2), set('a', far, [])])
            .tell("1000s", 1, [emit("alive")]);
        let story = stage.story();
        let first: Vec<_> = story.lines().skip(1).take(5).collect();
        let expected =
            ["0ms 1 < command", "0ms 1 > ping 1.1 to 2", "0ms 1 > set a", "1000s 1 < command", "1000s 1 > emit alive"];
        let fits = first.iter().zip(expected).all(|(line, start)| line.starts_with(start));
        assert!(fits && first.len() == 5, "far is {far}:\n{story}");
    }
}
