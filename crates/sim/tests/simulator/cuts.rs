//! Cuts: in both directions, in one direction, not transitive, temporary, and with messages in
//! flight.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. A message takes 1 ms, and processing
//! and syncs take no time, unless a scenario sets them.

use crate::common::{Actions, Scenario, send};
use expect_test::expect;

/// Lets every node send a message to every other node at this time.
fn all_send(scenario: Scenario, nodes: u32, instant: &str) -> Scenario {
    let to_all = |from: u32| (1..=nodes).filter(|to| *to != from).map(send).collect::<Actions>();
    (1..=nodes).fold(scenario, |scenario, from| scenario.command(instant, from, to_all(from)))
}

/// Returns the lines about the fate of messages.
fn fates(scenario: &Scenario) -> String {
    let trace = scenario.trace();
    let lines = trace.lines().filter(|line| line.contains("< ping") || line.contains("lost"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_cut_blocks_both_directions() {
    expect![[r#"
        5ms * lost 1.1 to 2: blocked by a cut
        5ms * lost 1.2 to 3: blocked by a cut
        5ms * lost 2.1 to 1: blocked by a cut
        5ms * lost 3.1 to 1: blocked by a cut
        6ms 3 < ping 2.2
        6ms 2 < ping 3.2
    "#]]
    .assert_eq(&fates(&all_send(Scenario::new(3).fault("cut 1 | rest at 5ms"), 3, "5ms")));
}

#[test]
fn a_one_way_cut_leaves_the_opposite_direction_open() {
    expect![[r#"
        5ms * lost 1.1 to 2: blocked by a cut
        6ms 1 < ping 2.1
    "#]]
    .assert_eq(&fates(&all_send(Scenario::new(2).fault("cut 1 > 2"), 2, "5ms")));
}

/// Node 2 is on neither side of the cut, so it communicates with nodes 1 and 3, which cannot
/// communicate with each other.
#[test]
fn connectivity_need_not_be_transitive() {
    expect![[r#"
        5ms * lost 1.2 to 3: blocked by a cut
        5ms * lost 3.1 to 1: blocked by a cut
        6ms 2 < ping 1.1
        6ms 1 < ping 2.1
        6ms 3 < ping 2.2
        6ms 2 < ping 3.2
    "#]]
    .assert_eq(&fates(&all_send(Scenario::new(3).fault("cut 1 | 3"), 3, "5ms")));
}

#[test]
fn a_cut_blocks_messages_in_flight() {
    expect![[r#"
        1ms * lost 1.1 to 2: blocked by a cut
        1ms * lost 2.1 to 1: blocked by a cut
    "#]]
    .assert_eq(&fates(&all_send(Scenario::new(2).fault("cut 1 | 2 at 0.5ms"), 2, "0ms")));
}

#[test]
fn a_cut_that_ends_in_time_blocks_no_message_in_flight() {
    expect![[r#"
        1ms 2 < ping 1.1
        1ms 1 < ping 2.1
    "#]]
    .assert_eq(&fates(&all_send(Scenario::new(2).fault("cut 1 | 2 at 0.5ms for 0.5ms"), 2, "0ms")));
}

#[test]
fn messages_sent_after_a_cut_arrive() {
    let scenario = Scenario::new(2).fault("cut 1 | 2 at 5ms for 5ms");
    let scenario =
        ["4ms", "5ms", "9.9ms", "10ms"].iter().fold(scenario, |scenario, at| scenario.command(at, 1, [send(2)]));
    expect![[r#"
        5ms * lost 1.1 to 2: blocked by a cut
        5ms * lost 1.2 to 2: blocked by a cut
        9.9ms * lost 1.3 to 2: blocked by a cut
        11ms 2 < ping 1.4
    "#]]
    .assert_eq(&fates(&scenario));
}

/// The end of one cut does not end another.
#[test]
fn overlapping_cuts_end_one_by_one() {
    let scenario = Scenario::new(3).fault("cut 1 | rest at 0ms for 10ms").fault("cut 1 | 2 at 5ms for 10ms");
    expect![[r#"
        12ms * lost 1.1 to 2: blocked by a cut
        12ms * lost 2.1 to 1: blocked by a cut
        13ms 3 < ping 1.2
        13ms 3 < ping 2.2
        13ms 1 < ping 3.1
        13ms 2 < ping 3.2
    "#]]
    .assert_eq(&fates(&all_send(scenario, 3, "12ms")));
}

/// Healing ends all cuts, including those with a duration; their own ends then have no effect and
/// are not reported.
#[test]
fn heal_ends_every_cut() {
    let scenario = Scenario::new(2)
        .fault("cut 1 | 2 at 1ms for 9ms")
        .fault("cut 2 > 1 at 2ms")
        .fault("link 1 > 2 latency fixed:3ms at 2ms for 9ms")
        .fault("heal at 5ms")
        .command("4ms", 1, [send(2)])
        .command("5ms", 1, [send(2)])
        .command("5ms", 2, [send(1)]);
    expect![[r#"
        1ms * cut 1 | 2
        2ms * cut 2 > 1
        2ms * link 1 > 2 latency fixed:3ms
        4ms 1 < command
        4ms 1 > ping 1.1 to 2
        4ms * lost 1.1 to 2: blocked by a cut
        5ms * heal
        5ms 1 < command
        5ms 1 > ping 1.2 to 2
        5ms 2 < command
        5ms 2 > ping 2.1 to 1
        6ms 1 < ping 2.1
        8ms 2 < ping 1.2
        11ms * end of link 1 > 2 latency fixed:3ms
    "#]]
    .assert_eq(&scenario.trace());
}

/// Each copy of a duplicated message has its own fate.
#[test]
fn a_cut_may_block_only_one_of_two_copies() {
    let scenarios = (0..200).map(|seed| {
        Scenario::new(2).seed(seed).latency("uniform:1ms..5ms").duplicate("1").fault("cut 1 | 2 at 3ms").command(
            "0ms",
            1,
            [send(2)],
        )
    });
    let endings: std::collections::BTreeSet<(usize, usize)> = scenarios
        .map(|scenario| {
            let fates = fates(&scenario);
            (fates.matches("< ping").count(), fates.matches("blocked by a cut").count())
        })
        .collect();
    assert_eq!(endings, [(0, 2), (1, 1), (2, 0)].into());
}
