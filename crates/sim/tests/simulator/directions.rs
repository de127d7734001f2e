//! Directions: fixed choices, and the faults that take precedence over them.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. A message takes 1 ms, and processing
//! and syncs take no time, unless a scenario sets them.

use crate::common::{Scenario, cancel, emit, multicast, save, send, set};
use expect_test::expect;

/// Lets node 1 send three messages to node 2, one millisecond apart, over links that are not FIFO.
fn send_three(scenario: Scenario) -> Scenario {
    ["1ms", "2ms", "3ms"]
        .into_iter()
        .fold(scenario.fifo_links(false), |scenario, at| scenario.command(at, 1, [send(2)]))
}

fn arrivals(scenario: &Scenario) -> Vec<String> {
    let is_relevant = |line: &&str| line.contains(" < ping") || line.contains(" * ");
    scenario.trace().lines().filter(is_relevant).map(str::to_owned).collect()
}

#[test]
fn a_direction_fixes_the_delay_of_a_message() {
    let scenario = send_three(Scenario::new(2))
        .direction("message 1 of 1 > 2 takes 9ms")
        .direction("message 3 of 1 > 2 takes 0ms");
    assert_eq!(arrivals(&scenario), ["3ms 2 < ping 1.2", "3ms 2 < ping 1.3", "10ms 2 < ping 1.1"]);
}

#[test]
fn a_direction_loses_or_duplicates_a_message() {
    let scenario = send_three(Scenario::new(2))
        .direction("message 1 of 1 > 2 is lost")
        .direction("message 2 of 1 > 2 comes again after 7ms");
    assert_eq!(
        arrivals(&scenario),
        [
            "1ms * lost 1.1 to 2: lost by the network",
            "2ms * duplicated 1.2",
            "3ms 2 < ping 1.2",
            "4ms 2 < ping 1.3",
            "9ms 2 < ping 1.2"
        ]
    );
}

/// A direction for a message overrides random loss and duplication.
#[test]
fn a_direction_overrides_random_choices() {
    let scenario = send_three(Scenario::new(2).loss("1").duplicate("1"));
    assert_eq!(arrivals(&scenario).iter().filter(|line| line.contains("lost")).count(), 3);
    let directed = scenario.direction("message 2 of 1 > 2 takes 1ms");
    assert_eq!(arrivals(&directed)[1], "3ms 2 < ping 1.2");
    assert_eq!(arrivals(&directed).len(), 3);
}

/// The later of two directions applies, and each link counts its own messages.
#[test]
fn each_link_counts_its_own_messages() {
    let scenario =
        Scenario::new(3).fifo_links(false).command("1ms", 1, [multicast(3)]).command("2ms", 1, [send(3), send(2)]);
    let scenario = scenario.direction("message 2 of 1 > 2 is lost").direction("message 2 of 1 > 2 takes 5ms");
    let scenario = scenario.direction("message 1 of 1 > 3 takes 4ms").direction("message 9 of 1 > 3 is lost");
    assert_eq!(arrivals(&scenario), ["2ms 2 < ping 1.1", "3ms 3 < ping 1.3", "5ms 3 < ping 1.2", "7ms 2 < ping 1.4"]);
}

#[test]
fn cuts_and_fifo_order_override_directions() {
    let cut = send_three(Scenario::new(2)).fault("cut 1 | 2 at 5ms for 9ms").direction("message 1 of 1 > 2 takes 6ms");
    assert!(arrivals(&cut).contains(&"7ms * lost 1.1 to 2: blocked by a cut".to_owned()), "{:?}", arrivals(&cut));
    let ordered = send_three(Scenario::new(2)).fifo_links(true).direction("message 1 of 1 > 2 takes 9ms");
    assert_eq!(arrivals(&ordered), ["10ms 2 < ping 1.1", "10ms 2 < ping 1.2", "10ms 2 < ping 1.3"]);
}

/// A timer never fires before its span starts, but it may fire after its span ends, like the timer
/// of a busy node.
#[test]
fn a_direction_fixes_when_a_timer_fires() {
    let scenario = Scenario::new(1)
        .command("1ms", 1, [set('a', "5ms", [emit("a")]), set('b', "5ms", [emit("b")]), set('c', "5ms", [emit("c")])])
        .command("2ms", 1, [cancel('c')])
        .direction("timer 1 of 1 takes 2ms")
        .direction("timer 2 of 1 takes 20ms")
        .direction("timer 3 of 1 takes 30ms");
    let fired: Vec<_> = scenario.trace().lines().filter(|line| line.contains(" < timer")).map(str::to_owned).collect();
    assert_eq!(fired, ["6ms 1 < timer a", "21ms 1 < timer b"]);
}

/// Directions count the syncs of all incarnations together: the second sync is the first one after
/// the restart.
#[test]
fn a_direction_fixes_the_duration_of_a_sync_in_every_incarnation() {
    let scenario = Scenario::new(1)
        .command("1ms", 1, [save(1)])
        .fault("crash 1 at 3ms for 1ms")
        .command("5ms", 1, [save(2)])
        .direction("sync 1 of 1 takes 9ms")
        .direction("sync 2 of 1 takes 4ms");
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
    .assert_eq(&scenario.trace());
}

#[test]
fn a_crash_keeps_at_most_the_given_number_of_writes() {
    for (kept, finds) in [(0, "[]"), (2, "[1, 2]"), (9, "[1, 2, 3]")] {
        let scenario = Scenario::new(1)
            .sync("fixed:50ms")
            .command("1ms", 1, [save(1), save(2), save(3)])
            .fault(&format!("crash 1 keeping {kept} at 3ms for 1ms"));
        assert!(scenario.trace().contains(&format!("finds {finds}\n")), "{}", scenario.trace());
    }
}

#[test]
fn directions_for_events_that_never_occur_have_no_effect() {
    let random = || send_three(Scenario::new(3).latency("uniform:1ms..9ms").loss("0.3").duplicate("0.3")).seed(7);
    let directed = random()
        .direction("message 4 of 1 > 2 is lost")
        .direction("timer 1 of 3 takes 1ms")
        .direction("sync 1 of 2 takes 1ms");
    assert_eq!(directed.journal(), random().journal());
}
