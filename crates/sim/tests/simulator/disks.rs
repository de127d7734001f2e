//! Disks: what waits for a sync, what a crash leaves behind, and what a restart finds.

use crate::common::{Stage, emit, emit_ahead, multicast, multicast_ahead, save, send, send_ahead};
use expect_test::expect;
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use std::collections::BTreeMap;

/// x waits for one save, y for two; what goes ahead waits for nothing.
#[test]
fn sends_and_emits_wait_for_the_saves_before_them() {
    let stage = Stage::of(2).sync("fixed:5ms").tell(
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
    .assert_eq(&stage.story());
}

/// One sync at a time covers all that was saved when it began; what comes later waits for the next one.
#[test]
fn saves_share_a_sync() {
    let stage = Stage::of(1)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1), emit("one")])
        .tell("1ms", 1, [save(2), emit("two")])
        .tell("2ms", 1, [save(3)])
        .tell("3ms", 1, [emit("three")])
        .tell("20ms", 1, [emit("at once"), save(4), emit("four")]);
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
    .assert_eq(&stage.story());
}

#[test]
fn a_crash_loses_what_is_not_synced_and_all_that_waited_for_it() {
    let stage = Stage::of(2)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1), send(2)])
        .tell("6ms", 1, [save(2), send(2), emit("never"), save(3)])
        .tell("7ms", 1, [save(4)])
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
    .assert_eq(&stage.story());
}

/// The sync is due at the very instant of the crash: faults come first.
#[test]
fn a_sync_that_is_not_over_is_no_sync() {
    let stage = Stage::of(1).sync("fixed:5ms").tell("0ms", 1, [save(1)]).fault("crash 1 at 5ms for 1ms");
    assert!(stage.story().contains("finds []"));
    let stage = Stage::of(1).sync("fixed:5ms").tell("0ms", 1, [save(1)]).fault("crash 1 at 5.000001ms for 1ms");
    assert!(stage.story().contains("finds [1]"));
}

/// Saves are counted in each life anew, and the sync of a past life confirms nothing in the next.
#[test]
fn saves_are_counted_in_each_life() {
    let stage = Stage::of(1)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1), save(2)])
        .tell("6ms", 1, [save(3)])
        .fault("crash 1 at 7ms for 1ms")
        .tell("8.5ms", 1, [save(4), emit("four is safe")])
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
    .assert_eq(&stage.story());
}

#[test]
fn a_torn_crash_leaves_any_prefix_and_nothing_but_a_prefix() {
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..400 {
        let stage = Stage::of(1)
            .seed(seed)
            .sync("fixed:5ms")
            .tell("0ms", 1, [save(1)])
            .tell("6ms", 1, [save(2), save(3), emit("never")])
            .tell("7ms", 1, [save(4)])
            .fault("crash 1 torn at 8ms for 1ms");
        let story = stage.story();
        assert!(!story.contains("never"), "seed {seed}");
        let survivors = story.lines().find_map(|line| line.split_once("finds ")).unwrap().1.to_string();
        let kept = survivors.matches(char::is_numeric).count();
        assert!(story.contains(&format!("crashed, {} writes lost", 4 - kept)), "seed {seed}:\n{story}");
        *found.entry(survivors).or_default() += 1;
    }
    let prefixes: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(prefixes, ["[1, 2, 3, 4]", "[1, 2, 3]", "[1, 2]", "[1]"]);
    assert!(found.values().all(|count| (60..140).contains(count)), "all equally likely: {found:?}");
}

#[test]
fn a_blank_restart_finds_nothing_for_good() {
    let stage = Stage::of(1)
        .tell("0ms", 1, [save(1)])
        .fault("crash 1 at 1ms")
        .fault("restart 1 blank at 2ms")
        .tell("3ms", 1, [save(2)])
        .fault("crash 1 at 4ms for 1ms");
    let story = stage.story();
    let found: Vec<_> = story.lines().filter_map(|line| line.split_once("finds ")).map(|(_, found)| found).collect();
    assert_eq!(found, ["[]", "[2]"]);
}

/// A node is told that its disk was lost, whether or not it had saved anything, and so is every later life; one whose disk
/// was merely empty is not. What the replay finds on its disks is what the simulator found.
#[test]
fn a_lost_disk_is_no_empty_disk() {
    for before in [vec![], vec![save(1)]] {
        let stage = Stage::of(2)
            .tell("0ms", 1, before)
            .fault("crash 1 at 1ms")
            .fault("crash 2 at 1ms for 1ms")
            .fault("restart 1 blank at 2ms")
            .tell("3ms", 1, [save(2)])
            .fault("crash 1 at 4ms for 1ms");
        let story = stage.story();
        let found: Vec<_> = story.lines().filter(|line| line.contains("finds") || line.contains("lost its")).collect();
        let of_two = "2ms 2 > finds []";
        let of_one = ["2ms 1 > finds []", "2ms 1 > lost its disk", "5ms 1 > finds [2]", "5ms 1 > lost its disk"];
        let (two, one): (Vec<_>, Vec<_>) = found.into_iter().partition(|line| line.contains(" 2 > "));
        assert_eq!((two, one), (vec![of_two], of_one.to_vec()), "{story}");
        let journal = stage.journal();
        let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), stage.maker(), &mut ()).unwrap();
        assert_eq!(lines, journal.lines().count() as u64);
    }
}

/// The disk is lost before the world begins, and the node boots at once, after a pause, or in a later life.
#[test]
fn a_disk_that_is_lost_before_the_start_is_found_so() {
    let stage = Stage::of(1).fault("crash 1").fault("restart 1 blank");
    let stages = [
        stage.clone(),
        stage.clone().fault("pause 1 for 2ms"),
        stage.clone().fault("crash 1").fault("restart 1"),
        stage.fault("crash 1").fault("restart 1 at 3ms"),
    ];
    for stage in stages {
        let stage = stage.fault("crash 1 at 5ms for 1ms");
        let story = stage.story();
        assert_eq!(story.matches(" blank\n").count(), 1, "{story}");
        assert_eq!(story.matches("lost its disk").count(), 2, "{story}");
        let journal = stage.journal();
        let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), stage.maker(), &mut ()).unwrap();
        assert_eq!(lines, journal.lines().count() as u64);
    }
}

/// Nobody has promised anything before the disk said so, so a crash in a pause may lose what was on its way to it.
#[test]
fn a_paused_node_learns_of_its_sync_when_it_goes_on() {
    let stage = Stage::of(2).sync("fixed:5ms").tell("0ms", 1, [save(1), send(2)]).fault("pause 1 at 3ms for 7ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        3ms * 1 paused
        10ms * 1 resumed
        10ms 1 < saved 1
        10ms 1 > ping 1.1 to 2
        11ms 2 < ping 1.1
    "#]]
    .assert_eq(&stage.story());
    let crashed = stage.fault("crash 1 at 9ms for 3ms").story();
    assert!(crashed.contains("9ms * 1 crashed, 1 writes lost") && crashed.contains("finds []"), "{crashed}");
}

/// Random lengths of syncs: whatever left the node was durable, so no crash unsays it.
#[test]
fn what_others_saw_survives() {
    for seed in 0..200 {
        let stage = (0..20).fold(Stage::of(2).seed(seed).sync("long-tail:1ms"), |stage, turn| {
            stage.tell(&format!("{turn}ms"), 1, [save(turn), emit(&format!("saved-{turn};"))])
        });
        let story = stage.fault("crash 1 torn at 11.5ms for 1ms").story();
        let (before, after) = story.split_once("finds ").unwrap();
        let found = after.lines().next().unwrap();
        for turn in 0..20 {
            let promised = before.contains(&format!("saved-{turn};"));
            let kept = found.split(|c: char| !c.is_numeric()).any(|number| number == turn.to_string());
            assert!(kept || !promised, "seed {seed}: {turn} was promised, but the disk has {found}");
        }
    }
}
