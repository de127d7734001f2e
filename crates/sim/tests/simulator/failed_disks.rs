//! Disks that fail: the node stops rather than go on with writes of which it knows nothing.

use crate::common::{Stage, at, emit, save, send};
use expect_test::expect;
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use quorate_journal::workload::News;
use std::collections::BTreeSet;

/// The sync that was under way is never confirmed, and neither does what waited for it go out.
#[test]
fn a_sync_under_way_fails_when_it_would_be_complete() {
    let stage = Stage::of(2)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1), emit("one")])
        .tell("6ms", 1, [save(2), send(2), emit("never")])
        .fault("disk 1 fails at 8ms for 10ms")
        .tell("10ms", 1, [save(3)]);
    let story = stage.story();
    let lines: Vec<_> = story.lines().filter(|line| line.contains('*') || line.contains("start")).collect();
    assert_eq!(lines[0], "8ms * disk 1 fails");
    assert!(lines[1].starts_with("11ms * 1 crashed, "), "{story}");
    assert_eq!(lines[2], "21ms 1 < start 1");
    assert!(!story.contains("never") && !story.contains("ping") && !story.contains("saved 2"), "{story}");
}

/// Without a sync under way there is nothing to wait for, and no write to lose.
#[test]
fn a_disk_without_a_sync_fails_at_once() {
    let stage =
        Stage::of(1).tell("0ms", 1, [save(1)]).fault("disk 1 fails at 1ms for 2ms").tell("2ms", 1, [emit("never")]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 < saved 1
        1ms * disk 1 fails
        1ms * 1 crashed, 0 writes lost
        3ms 1 < start 1
        3ms 1 > finds [1]
    "#]]
    .assert_eq(&stage.story());
    let for_good = Stage::of(1).fault("disk 1 fails at 1ms").played(());
    assert!(for_good.is_left_to_timers());
    assert_eq!(for_good.time(), at("1ms"));
}

/// Writes that wait for room when the disk fails may survive or not, as in a torn crash.
#[test]
fn a_failed_disk_keeps_any_prefix_and_nothing_but_a_prefix() {
    for full in [false, true] {
        let mut found = BTreeSet::new();
        for seed in 0..200 {
            let mut stage = Stage::of(1)
                .seed(seed)
                .sync("fixed:5ms")
                .tell("0ms", 1, [save(1)])
                .tell("6ms", 1, [save(2), emit("never")])
                .tell("7ms", 1, [save(3)])
                .fault("disk 1 fails at 8ms for 5ms");
            if full {
                stage = stage.fault("disk 1 full at 5.5ms for 1s");
            }
            let story = stage.story();
            assert!(!story.contains("never"), "seed {seed}:\n{story}");
            let crash = if full { "8ms" } else { "11ms" };
            assert!(story.contains(&format!("\n{crash} * 1 crashed")), "seed {seed}:\n{story}");
            found.insert(story.lines().find_map(|line| line.split_once("finds ")).unwrap().1.to_string());
        }
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            ["[1, 2, 3]", "[1, 2]", "[1]"],
            "full: {full}"
        );
    }
}

/// A node that is down has no disk at work: nothing is to be seen, and nothing is left over for its next life.
#[test]
fn a_disk_cannot_fail_a_node_that_is_down() {
    let stage = Stage::of(1)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1)])
        .fault("crash 1 at 2ms for 2ms")
        .fault("disk 1 fails at 3ms for 1ms")
        .tell("5ms", 1, [save(2), emit("two")]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        2ms * 1 crashed, 1 writes lost
        4ms 1 < start 1
        4ms 1 > finds []
        5ms 1 < command
        5ms 1 > save 2
        10ms 1 < saved 1
        10ms 1 > emit two
    "#]]
    .assert_eq(&stage.story());
}

/// The node crashes for another reason before its sync is over: the failure is over with that sync, and its length too.
#[test]
fn a_failure_does_not_outlive_the_sync_it_was_for() {
    let stage = Stage::of(1)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1)])
        .fault("disk 1 fails at 1ms for 1ms")
        .fault("crash 1 at 2ms for 8ms")
        .tell("11ms", 1, [save(2), emit("two")]);
    let story = stage.story();
    assert_eq!(story.matches("crashed").count(), 1, "{story}");
    assert!(story.contains("10ms 1 < start 1") && story.contains("16ms 1 > emit two"), "{story}");
}

/// Two failures, one sync: the first one counts.
#[test]
fn a_sync_fails_once() {
    let stage = Stage::of(1)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1)])
        .fault("disk 1 fails at 1ms for 1ms")
        .fault("disk 1 fails at 2ms");
    let story = stage.story();
    assert!(story.contains("5ms * 1 crashed") && story.contains("6ms 1 < start 1"), "{story}");
    assert_eq!(story.matches("crashed").count(), 1, "{story}");
}

/// A paused node takes the end of its sync when it goes on, and so its failure; what came after it is lost, not taken by a
/// node that is down.
#[test]
fn a_paused_node_goes_down_when_it_goes_on() {
    let stage = Stage::of(2)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1), emit("never")])
        .fault("pause 1 at 1ms for 19ms")
        .fault("disk 1 fails at 3ms for 5ms")
        .tell("6ms", 2, [send(1)])
        .tell("7ms", 1, [emit("nor this")]);
    let story = stage.story();
    let after = story.split_once("20ms * 1 resumed\n").unwrap().1;
    assert!(after.starts_with("20ms * 1 crashed"), "{story}");
    assert!(
        after.contains("20ms * lost 2.1 to 1: its receiver is down") && after.contains("25ms 1 < start 1"),
        "{story}"
    );
    assert!(!story.contains("never") && !story.contains("nor this"), "{story}");
    let world = stage.played(());
    assert!(world.is_quiet() && world.is_left_to_timers());
    // If there is no sync, a paused node goes down at once, like by a crash.
    let idle = Stage::of(1).fault("pause 1 at 1ms").fault("disk 1 fails at 3ms").story();
    assert!(idle.contains("3ms * 1 crashed"), "{idle}");
}

/// While a disk is about to fail, its world is not quiet; users hear of the crash and of the restart.
#[test]
fn users_hear_of_a_failure_as_of_a_crash() {
    let stage = Stage::of(1).sync("fixed:5ms").tell("0ms", 1, [save(1)]).fault("disk 1 fails at 1ms for 4ms");
    let mut world = stage.world(());
    while world.time() < at("1ms") && world.advance() {}
    assert!(!world.is_quiet() && !world.is_left_to_timers());
    while world.time() < at("5ms") && world.advance() {}
    assert!(!world.is_up(crate::common::node(1)));
    assert!(!world.is_left_to_timers(), "it is to come back");
    while world.advance() {}
    let news: Vec<_> = std::iter::from_fn(|| world.next_news()).map(|(_, news)| news).collect();
    assert_eq!(news, [News::Crashed, News::Restarted]);
    assert_eq!(world.time(), at("9ms"));
}

/// Down from the start, by a disk that fails before anybody starts.
#[test]
fn a_disk_can_fail_before_the_start() {
    let story = Stage::of(1).fault("disk 1 fails for 3ms").story();
    assert_eq!(story, "0ms * disk 1 fails\n0ms * 1 crashed, 0 writes lost\n3ms 1 < start 1\n3ms 1 > finds []\n");
}

/// The same seed fails in the same way, and the record of it replays.
#[test]
fn a_failure_replays() {
    for seed in 0..100 {
        let stage = Stage::of(2)
            .seed(seed)
            .sync("long-tail:2ms")
            .tell("0ms", 1, [save(1), save(2), send(2)])
            .tell("1ms", 1, [save(3), save(4), send(2)])
            .fault("disk 1 fails at 2ms for 3ms")
            .tell("9ms", 1, [save(5), send(2)]);
        let journal = stage.journal();
        assert_eq!(journal, stage.journal());
        let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), stage.maker(), &mut ()).unwrap();
        assert_eq!(lines, journal.lines().count() as u64, "seed {seed}");
    }
}
