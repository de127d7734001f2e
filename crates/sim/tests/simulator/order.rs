//! The order of events at the same time.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `save 7` writes the number 7, but `saved 2`
//! says that the first 2 saves of the incarnation are durable. A message takes 1 ms, and
//! processing and syncs take no time, unless a scenario sets them.

use crate::common::{Scenario, emit, multicast, ping, save, send, send_message, set};
use expect_test::expect;

/// The order does not depend on when the events were scheduled: timer `a` is set before the message
/// is sent, and timer `b` after it.
#[test]
fn faults_then_disks_then_messages_then_timers_then_commands() {
    let scenario = Scenario::new(2)
        .sync("fixed:1ms")
        .command("1ms", 1, [emit("last")])
        .command("0ms", 1, [set('a', "1ms", []), save(7)])
        .command("0ms", 2, [send(1)])
        .command("0ms", 1, [set('b', "1ms", [])])
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
        1ms 1 > emit last
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn messages_at_one_time_arrive_in_sending_order() {
    let scenario = Scenario::new(3)
        .command("0ms", 2, [send(1), send(3), send(1)])
        .command("0ms", 3, [send(1)])
        .command("0ms", 1, [multicast(3), send(2)])
        .command("0ms", 2, [send(1)]);
    let trace = scenario.trace();
    let arrivals: Vec<_> = trace.lines().filter(|line| line.starts_with("1ms")).collect();
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

/// Messages that arrive at the same time keep their sending order, with and without FIFO links.
#[test]
fn ties_keep_the_sending_order_on_all_links() {
    for is_fifo in [false, true] {
        let scenario = Scenario::new(2).fifo_links(is_fifo).command("0ms", 1, vec![send(2); 200]);
        let trace = scenario.trace();
        let arrivals: Vec<_> = trace.lines().filter_map(|line| line.strip_prefix("1ms 2 < ping 1.")).collect();
        assert_eq!(arrivals, (1..=200).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

/// A message of a node to itself takes no time, but arrives after the step that sends it.
#[test]
fn a_message_of_a_node_to_itself_arrives_right_after_the_step() {
    let scenario = Scenario::new(1).command("3ms", 1, [send_message(1, ping([send(1)])), emit("last of the step")]);
    expect![[r#"
        3ms 1 < command
        3ms 1 > ping 1.1 to 1
        3ms 1 > emit last of the step
        3ms 1 < ping 1.1
        3ms 1 > ping 1.2 to 1
        3ms 1 < ping 1.2
    "#]]
    .assert_eq(&scenario.trace());
}

/// The queue stores times as 61 bits of nanoseconds, and limits later times to its maximum. If it
/// dropped the upper bits instead, the first two times would come after 191 s and 382 s.
#[test]
fn times_beyond_the_range_of_the_queue_are_limited() {
    for far in ["640512h", "1281024h", "5000000h"] {
        let scenario = Scenario::new(2)
            .fault(&format!("crash 1 at {far}"))
            .fault(&format!("link 1 > 2 latency fixed:{far}"))
            .command("0ms", 1, [send(2), set('a', far, [])])
            .command("1000s", 1, [emit("alive")]);
        let trace = scenario.trace();
        let first_lines: Vec<_> = trace.lines().skip(1).take(5).collect();
        let expected =
            ["0ms 1 < command", "0ms 1 > ping 1.1 to 2", "0ms 1 > set a", "1000s 1 < command", "1000s 1 > emit alive"];
        let fits = first_lines.iter().zip(expected).all(|(line, start)| line.starts_with(start));
        assert!(fits && first_lines.len() == 5, "far is {far}:\n{trace}");
    }
}
