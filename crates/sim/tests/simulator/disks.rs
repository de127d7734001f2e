//! Disks: effects that wait for a sync, and the writes that survive a crash.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `save 7` writes the number 7, but `saved 2`
//! says that the first 2 saves of the incarnation are durable. `start 1` is the first restart, and
//! `finds` lists the saved writes that the restarted node reads. `send(2)` sends to node 2, and
//! `multicast(2)` to the nodes 1 and 2, of which the sender receives no copy. A message takes 1 ms,
//! and processing and syncs take no time, unless a scenario sets them.

use crate::common::{Scenario, emit, emit_ahead, multicast, multicast_ahead, save, send, send_ahead};
use expect_test::expect;
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use std::collections::BTreeMap;

/// Sends and emits that are issued ahead do not wait.
#[test]
fn sends_and_emits_wait_for_the_saves_before_them() {
    let scenario = Scenario::new(2).sync("fixed:5ms").command(
        "1ms",
        1,
        [
            emit("before any save"),
            save(7),
            send(2),
            send_ahead(2),
            multicast(2),
            multicast_ahead(2),
            save(8),
            emit("after both"),
            emit_ahead("ahead"),
        ],
    );
    expect![[r#"
        1ms 1 < command
        1ms 1 > emit before any save
        1ms 1 > save 7
        1ms 1 > ping 1.1 to 2
        1ms 1 > ping 1.2 to 1,2
        1ms 1 > save 8
        1ms 1 > emit ahead
        2ms 2 < ping 1.1
        2ms 2 < ping 1.2
        6ms 1 < saved 2
        6ms 1 > ping 1.3 to 2
        6ms 1 > ping 1.4 to 1,2
        6ms 1 > emit after both
        7ms 2 < ping 1.3
        7ms 2 < ping 1.4
    "#]]
    .assert_eq(&scenario.trace());
}

/// A sync covers all saves made before it started; later saves wait for the next sync.
#[test]
fn saves_share_a_sync() {
    let scenario = Scenario::new(1)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1), emit("one")])
        .command("1ms", 1, [save(2), emit("two")])
        .command("2ms", 1, [save(3)])
        .command("3ms", 1, [emit("three")])
        .command("20ms", 1, [emit("at once"), save(4), emit("four")]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        1ms 1 < command
        1ms 1 > save 2
        2ms 1 < command
        2ms 1 > save 3
        3ms 1 < command
        5ms 1 < saved 1
        5ms 1 > emit one
        10ms 1 < saved 3
        10ms 1 > emit two
        10ms 1 > emit three
        20ms 1 < command
        20ms 1 > emit at once
        20ms 1 > save 4
        25ms 1 < saved 4
        25ms 1 > emit four
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn a_crash_loses_unsynced_writes_and_the_effects_that_waited_for_them() {
    let scenario = Scenario::new(2)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1), send(2)])
        .command("6ms", 1, [save(2), send(2), emit("never"), save(3)])
        .command("7ms", 1, [save(4)])
        .fault("crash 1 at 10ms for 10ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        5ms 1 < saved 1
        5ms 1 > ping 1.1 to 2
        6ms 2 < ping 1.1
        6ms 1 < command
        6ms 1 > save 2
        6ms 1 > save 3
        7ms 1 < command
        7ms 1 > save 4
        10ms * 1 crashed, 3 writes lost
        20ms 1 < start 1
        20ms 1 > finds [1]
    "#]]
    .assert_eq(&scenario.trace());
}

/// The sync would complete at the time of the crash: faults come first.
#[test]
fn an_incomplete_sync_makes_nothing_durable() {
    let scenario = Scenario::new(1).sync("fixed:5ms").command("0ms", 1, [save(1)]).fault("crash 1 at 5ms for 1ms");
    assert!(scenario.trace().contains("finds []"));
    let scenario =
        Scenario::new(1).sync("fixed:5ms").command("0ms", 1, [save(1)]).fault("crash 1 at 5.000001ms for 1ms");
    assert!(scenario.trace().contains("finds [1]"));
}

/// Each incarnation counts its own saves, and a sync of an earlier incarnation confirms none of
/// them.
#[test]
fn saves_are_counted_in_each_incarnation() {
    let scenario = Scenario::new(1)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1), save(2)])
        .command("6ms", 1, [save(3)])
        .fault("crash 1 at 7ms for 1ms")
        .command("8.5ms", 1, [save(4), emit("four is safe")])
        .fault("crash 1 at 20ms for 1ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 > save 2
        5ms 1 < saved 2
        6ms 1 < command
        6ms 1 > save 3
        7ms * 1 crashed, 1 writes lost
        8ms 1 < start 1
        8ms 1 > finds [1, 2]
        8.5ms 1 < command
        8.5ms 1 > save 4
        13.5ms 1 < saved 1
        13.5ms 1 > emit four is safe
        20ms * 1 crashed, 0 writes lost
        21ms 1 < start 2
        21ms 1 > finds [1, 2, 4]
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn a_torn_crash_keeps_a_random_prefix_of_the_writes() {
    let mut frequencies: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..400 {
        let scenario = Scenario::new(1)
            .seed(seed)
            .sync("fixed:5ms")
            .command("0ms", 1, [save(1)])
            .command("6ms", 1, [save(2), save(3), emit("never")])
            .command("7ms", 1, [save(4)])
            .fault("crash 1 torn at 8ms for 1ms");
        let trace = scenario.trace();
        assert!(!trace.contains("never"), "seed {seed}");
        let survivors = trace.lines().find_map(|line| line.split_once("finds ")).unwrap().1.to_string();
        let kept = survivors.matches(char::is_numeric).count();
        assert!(trace.contains(&format!("crashed, {} writes lost", 4 - kept)), "seed {seed}:\n{trace}");
        *frequencies.entry(survivors).or_default() += 1;
    }
    let prefixes: Vec<_> = frequencies.keys().map(String::as_str).collect();
    assert_eq!(prefixes, ["[1, 2, 3, 4]", "[1, 2, 3]", "[1, 2]", "[1]"]);
    assert!(frequencies.values().all(|count| (60..140).contains(count)), "expected about 100 of each: {frequencies:?}");
}

#[test]
fn a_blank_restart_loses_all_writes() {
    let scenario = Scenario::new(1)
        .command("0ms", 1, [save(1)])
        .fault("crash 1 at 1ms")
        .fault("restart 1 blank at 2ms")
        .command("3ms", 1, [save(2)])
        .fault("crash 1 at 4ms for 1ms");
    let trace = scenario.trace();
    let found: Vec<_> = trace.lines().filter_map(|line| line.split_once("finds ")).map(|(_, found)| found).collect();
    assert_eq!(found, ["[]", "[2]"]);
}

/// A node learns that its disk was lost, whether or not it had saved anything, and so does every
/// later incarnation. A node whose disk is merely empty does not. The replay finds the same disks
/// as the simulator.
#[test]
fn a_lost_disk_differs_from_an_empty_one() {
    for first_actions in [vec![], vec![save(1)]] {
        let scenario = Scenario::new(2)
            .command("0ms", 1, first_actions)
            .fault("crash 1 at 1ms")
            .fault("crash 2 at 1ms for 1ms")
            .fault("restart 1 blank at 2ms")
            .command("3ms", 1, [save(2)])
            .fault("crash 1 at 4ms for 1ms");
        let trace = scenario.trace();
        let found: Vec<_> = trace.lines().filter(|line| line.contains("finds") || line.contains("lost its")).collect();
        let expected_of_node_2 = "2ms 2 > finds []";
        let expected_of_node_1 =
            ["2ms 1 > finds []", "2ms 1 > lost its disk", "5ms 1 > finds [2]", "5ms 1 > lost its disk"];
        let (of_node_2, of_node_1): (Vec<_>, Vec<_>) = found.into_iter().partition(|line| line.contains(" 2 > "));
        assert_eq!((of_node_2, of_node_1), (vec![expected_of_node_2], expected_of_node_1.to_vec()), "{trace}");
        let journal = scenario.journal();
        let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), scenario.node_factory(), &mut ()).unwrap();
        assert_eq!(lines, journal.lines().count() as u64);
    }
}

/// The disk is lost before the world starts; the node starts at once, after a pause, or in a later
/// incarnation.
#[test]
fn a_disk_lost_before_the_start_is_reported() {
    let scenario = Scenario::new(1).fault("crash 1").fault("restart 1 blank");
    let scenarios = [
        scenario.clone(),
        scenario.clone().fault("pause 1 for 2ms"),
        scenario.clone().fault("crash 1").fault("restart 1"),
        scenario.fault("crash 1").fault("restart 1 at 3ms"),
    ];
    for scenario in scenarios {
        let scenario = scenario.fault("crash 1 at 5ms for 1ms");
        let trace = scenario.trace();
        assert_eq!(trace.matches(" blank\n").count(), 1, "{trace}");
        assert_eq!(trace.matches("lost its disk").count(), 2, "{trace}");
        let journal = scenario.journal();
        let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), scenario.node_factory(), &mut ()).unwrap();
        assert_eq!(lines, journal.lines().count() as u64);
    }
}

/// Effects wait until the node is notified of the sync, so a crash during a pause may lose the
/// write.
#[test]
fn a_paused_node_is_notified_of_its_sync_when_it_resumes() {
    let scenario =
        Scenario::new(2).sync("fixed:5ms").command("0ms", 1, [save(1), send(2)]).fault("pause 1 at 3ms for 7ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        3ms * 1 paused
        10ms * 1 resumed
        10ms 1 < saved 1
        10ms 1 > ping 1.1 to 2
        11ms 2 < ping 1.1
    "#]]
    .assert_eq(&scenario.trace());
    let crashed = scenario.fault("crash 1 at 9ms for 3ms").trace();
    assert!(crashed.contains("9ms * 1 crashed, 1 writes lost") && crashed.contains("finds []"), "{crashed}");
}

/// With random sync durations, an event that the node issues after a save comes out only once that
/// save is durable, so no crash loses a write whose event was seen.
#[test]
fn effects_depend_only_on_durable_writes() {
    for seed in 0..200 {
        let scenario = (0..20).fold(Scenario::new(2).seed(seed).sync("long-tail:1ms"), |scenario, number| {
            scenario.command(&format!("{number}ms"), 1, [save(number), emit(&format!("saved-{number};"))])
        });
        let trace = scenario.fault("crash 1 torn at 11.5ms for 1ms").trace();
        let (before, after) = trace.split_once("finds ").unwrap();
        let found = after.lines().next().unwrap();
        for number in 0..20 {
            let promised = before.contains(&format!("saved-{number};"));
            let kept = found.split(|c: char| !c.is_numeric()).any(|word| word == number.to_string());
            assert!(kept || !promised, "seed {seed}: {number} was promised, but the disk has {found}");
        }
    }
}
