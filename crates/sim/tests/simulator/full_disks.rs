//! Disks that are full for a while: what waits for room, what goes on, and that nothing is lost.

use crate::common::{Puppet, Stage, Story, at, chaos, emit, emit_ahead, node, save, send, send_ahead, set};
use expect_test::expect;
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use quorate_sim::World;
use std::collections::BTreeSet;

/// What waits for a save waits for room; what goes ahead and what needs no disk does not. When there is room, what waited
/// is synced before what is saved then.
#[test]
fn what_a_full_disk_held_back_goes_out_when_it_is_free() {
    let stage = Stage::of(2)
        .sync("fixed:2ms")
        .fault("disk 1 full at 1ms for 10ms")
        .tell("3ms", 1, [emit("needs no disk"), save(1), send(2), send_ahead(2), emit_ahead("ahead"), save(2)])
        .tell("4ms", 1, [emit("after both"), set('t', "2ms", [save(3)])])
        .tell("12ms", 1, [save(4), emit("last")]);
    expect![[r#"
        1ms * disk 1 full
        1ms 1 < disk full
        1ms 1 > has no room
        3ms 1 < command
        3ms 1 > emit needs no disk
        3ms 1 > save 1
        3ms 1 > ping 1.1 to 2
        3ms 1 > emit ahead
        3ms 1 > save 2
        4ms 2 < ping 1.1
        4ms 1 < command
        4ms 1 > set t 2ms
        6ms 1 < timer t
        6ms 1 > save 3
        11ms * end of disk 1 full
        11ms 1 < disk free
        11ms 1 > has room again
        12ms 1 < command
        12ms 1 > save 4
        13ms 1 < saved 3
        13ms 1 > ping 1.2 to 2
        13ms 1 > emit after both
        14ms 2 < ping 1.2
        15ms 1 < saved 4
        15ms 1 > emit last
    "#]]
    .assert_eq(&stage.story());
}

/// The sync that began before is completed; what it did not cover waits.
#[test]
fn a_sync_under_way_is_still_completed() {
    let stage = Stage::of(1)
        .sync("fixed:5ms")
        .tell("0ms", 1, [save(1), emit("one")])
        .tell("1ms", 1, [save(2), emit("two")])
        .fault("disk 1 full at 2ms for 10ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        1ms 1 < command
        1ms 1 > save 2
        2ms * disk 1 full
        2ms 1 < disk full
        2ms 1 > has no room
        5ms 1 < saved 1
        5ms 1 > emit one
        12ms * end of disk 1 full
        12ms 1 < disk free
        12ms 1 > has room again
        17ms 1 < saved 2
        17ms 1 > emit two
    "#]]
    .assert_eq(&stage.story());
}

/// Writes that wait for room are no more durable than others, and the next life finds its disk as full as it was.
#[test]
fn a_crash_loses_what_waits_for_room() {
    let stage = Stage::of(2)
        .tell("0ms", 1, [save(1)])
        .fault("disk 1 full at 1ms for 20ms")
        .tell("2ms", 1, [save(2), send(2), emit("never")])
        .fault("crash 1 at 5ms for 5ms")
        .tell("11ms", 1, [save(3), emit("three")]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 < saved 1
        1ms * disk 1 full
        1ms 1 < disk full
        1ms 1 > has no room
        2ms 1 < command
        2ms 1 > save 2
        5ms * 1 crashed, 1 writes lost
        10ms 1 < start 1
        10ms 1 > finds [1]
        10ms 1 < disk full
        10ms 1 > has no room
        11ms 1 < command
        11ms 1 > save 3
        21ms * end of disk 1 full
        21ms 1 < disk free
        21ms 1 > has room again
        21ms 1 < saved 1
        21ms 1 > emit three
    "#]]
    .assert_eq(&stage.story());
}

/// A node that is down is told nothing; one that comes back later finds a disk with room.
#[test]
fn a_disk_that_is_full_only_while_its_node_is_down_goes_unnoticed() {
    let stage = Stage::of(1).fault("crash 1 at 1ms for 9ms").fault("disk 1 full at 2ms for 3ms");
    expect![[r#"
        1ms * 1 crashed, 0 writes lost
        2ms * disk 1 full
        5ms * end of disk 1 full
        10ms 1 < start 1
        10ms 1 > finds []
    "#]]
    .assert_eq(&stage.story());
}

/// Full before the world begins: the node learns of it right after its start, not before, and what its start saves waits.
#[test]
fn a_disk_can_be_full_from_the_start() {
    let stage = Stage::of(1).opening([save(1), emit("hello")]).fault("disk 1 full for 4ms");
    expect![[r#"
        0ms * disk 1 full
        0ms 1 > save 1
        0ms 1 < disk full
        0ms 1 > has no room
        4ms * end of disk 1 full
        4ms 1 < disk free
        4ms 1 > has room again
        4ms 1 < saved 1
        4ms 1 > emit hello
    "#]]
    .assert_eq(&stage.story());
    let paused = stage.fault("pause 1 for 2ms").story();
    assert_eq!(paused.matches("disk full").count(), 1, "{paused}");
    assert!(paused.contains("2ms 1 < start 0\n2ms 1 > save 1\n2ms 1 < disk full"), "{paused}");
}

/// The disk is full until the last fault that made it so is over, and the node hears of the first and the last.
#[test]
fn faults_that_overlap_make_one_full_disk() {
    let stage = Stage::of(1)
        .fault("disk 1 full at 1ms for 5ms")
        .fault("disk 1 full at 2ms for 2ms")
        .fault("disk 1 full at 3ms for 9ms")
        .tell("5ms", 1, [save(1), emit("done")]);
    let story = stage.story();
    let told: Vec<_> = story.lines().filter(|line| line.contains('<') || line.contains("done")).collect();
    assert_eq!(
        told,
        ["1ms 1 < disk full", "5ms 1 < command", "12ms 1 < disk free", "12ms 1 < saved 1", "12ms 1 > emit done"]
    );
}

/// A paused node's disk goes on by itself; the node learns how it is when it goes on, and not how it was.
#[test]
fn a_paused_node_learns_how_its_disk_is() {
    let stage = Stage::of(1).sync("fixed:1ms").tell("0ms", 1, [save(1)]).tell("1.5ms", 1, [save(2)]);
    let brief = stage.clone().fault("pause 1 at 2ms for 20ms").fault("disk 1 full at 1.2ms for 5ms").story();
    let inputs: Vec<_> = brief.lines().filter(|line| line.contains('<')).collect();
    let expected = ["0ms 1 < command", "1ms 1 < saved 1", "1.2ms 1 < disk full", "1.5ms 1 < command"];
    assert_eq!(inputs, [expected.as_slice(), &["22ms 1 < disk free", "22ms 1 < saved 2"]].concat());
    let unnoticed = stage.clone().fault("pause 1 at 2ms for 20ms").fault("disk 1 full at 3ms for 5ms").story();
    assert!(!unnoticed.contains("1 < disk"), "{unnoticed}");
    let lasting = stage.fault("pause 1 at 2ms for 20ms").fault("disk 1 full at 3ms").story();
    assert!(lasting.contains("22ms 1 < disk full"), "{lasting}");
}

/// Where inputs take time, news of the disk takes its turn among them, but no sync begins meanwhile.
#[test]
fn a_busy_node_learns_of_its_disk_in_its_turn() {
    let stage = Stage::of(1)
        .processing("fixed:4ms")
        .tell("0ms", 1, [save(1), emit("one")])
        .fault("disk 1 full at 2ms for 10ms")
        .tell("3ms", 1, []);
    expect![[r#"
        2ms * disk 1 full
        4ms 1 < command
        4ms 1 > save 1
        8ms 1 < disk full
        8ms 1 > has no room
        12ms * end of disk 1 full
        12ms 1 < command
        16ms 1 < disk free
        16ms 1 > has room again
        20ms 1 < saved 1
        20ms 1 > emit one
    "#]]
    .assert_eq(&stage.story());
}

/// A blank restart finds nothing, but does not make room.
#[test]
fn a_new_life_with_a_blank_disk_finds_it_full_too() {
    let stage = Stage::of(1)
        .tell("0ms", 1, [save(1)])
        .fault("disk 1 full at 1ms")
        .fault("crash 1 at 2ms")
        .fault("restart 1 blank at 3ms")
        .tell("4ms", 1, [save(2), emit("never")]);
    let story = stage.story();
    assert!(
        story.contains("3ms 1 < start 1 blank\n3ms 1 > finds []\n3ms 1 > lost its disk\n3ms 1 < disk full"),
        "{story}"
    );
    assert!(!story.contains("never"), "{story}");
}

/// While room is to come, the world waits for it; where none is, nothing but timers is left, and a crash takes with it
/// what waited.
#[test]
fn a_world_waits_for_room_that_is_to_come() {
    let stage = Stage::of(2).tell("1ms", 1, [save(1), send(2)]);
    let mut world = stage.clone().fault("disk 1 full for 50ms").world(());
    while world.time() < at("1ms") && world.advance() {}
    assert!(!world.is_quiet() && !world.is_left_to_timers());
    while world.advance() {}
    assert!(world.is_quiet() && world.is_left_to_timers());
    assert_eq!(world.time(), at("51ms"));

    let world = stage.clone().fault("disk 1 full").played(());
    assert!(!world.is_quiet(), "a write still waits");
    assert!(world.is_left_to_timers(), "but nothing will make room");

    let world = stage.fault("disk 1 full").fault("crash 1 at 9ms for 1ms").played(());
    assert!(world.is_quiet() && world.is_left_to_timers());
}

/// A full disk without anything to write keeps nobody waiting.
#[test]
fn a_full_disk_that_holds_nothing_is_quiet() {
    let world = Stage::of(1).fault("disk 1 full at 1ms").played(());
    assert!(world.is_quiet() && world.is_left_to_timers());
}

/// What a node saved, in the order it did, is what is durable in the end: with disks that fill and empty at random, but
/// no crash, nothing is lost, doubled or swapped.
#[test]
fn nothing_is_lost_by_fullness() {
    for seed in 0..300 {
        let mut stage = Stage::of(1)
            .seed(seed)
            .sync("long-tail:1ms")
            .processing(["fixed:0ms", "uniform:0ms..1ms"][seed as usize % 2]);
        for turn in 0..10 {
            let (begin, lasts) = (turn * 7 + seed % 5, 1 + (seed * 31 + turn * 17) % 11);
            stage = stage.fault(&format!("disk 1 full at {begin}ms for {lasts}ms"));
        }
        for turn in 0..60 {
            stage = stage.tell(&format!("{turn}ms"), 1, [save(turn), emit(&format!("<{turn}>"))]);
        }
        let story = stage.fault("crash 1 at 1h for 1ms").story();
        let told: Vec<String> =
            story.lines().filter_map(|line| line.split_once("emit ")).map(|(_, text)| text.to_string()).collect();
        let everything: Vec<_> = (0..60).collect();
        assert_eq!(told, everything.iter().map(|turn| format!("<{turn}>")).collect::<Vec<String>>(), "seed {seed}");
        assert!(story.contains(&format!("finds {everything:?}")), "seed {seed}:\n{story}");
        assert!(story.contains("crashed, 0 writes lost"), "seed {seed}");
    }
}

/// In no chaos does a sync begin while a disk is full: one at most is confirmed meanwhile, that which was under way, and
/// none after a crash.
#[test]
fn no_sync_begins_while_a_disk_is_full() {
    let mut seen = 0;
    for seed in 0..3_000 {
        let story = chaos(seed).story();
        for number in 1..=4 {
            let (mut full_by, mut allowed) = (0, 0);
            for line in story.lines() {
                let (_, line) = line.split_once(' ').unwrap();
                if line == format!("* disk {number} full") {
                    full_by += 1;
                    allowed = if full_by == 1 { 1 } else { allowed };
                } else if line == format!("* end of disk {number} full") {
                    full_by -= 1;
                } else if line.starts_with(&format!("* {number} crashed")) {
                    allowed = 0;
                } else if full_by > 0 && line.starts_with(&format!("{number} < saved")) {
                    assert!(allowed > 0, "seed {seed}: node {number} saves to a full disk:\n{story}");
                    allowed -= 1;
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 40, "{seen} syncs of full disks are hardly enough");
}

/// The journal has the two inputs by name, reads back, and replays to the last byte.
#[test]
fn full_and_free_are_recorded_and_replayed() {
    let stage = Stage::of(2)
        .sync("fixed:1ms")
        .fault("disk 1 full at 1ms for 5ms")
        .tell("2ms", 1, [save(1), send(2)])
        .fault("disk 2 fails at 3ms for 1ms");
    let journal = stage.journal();
    for line in [
        r#"{"time":1000000,"world":{"changed":"disk 1 full"}}"#,
        r#"{"time":1000000,"node":1,"input":"disk-full","effects":[{"rule":{"id":"P-2","text":"has no room"}}]}"#,
        r#"{"time":6000000,"world":{"changed":"end of disk 1 full"}}"#,
        r#"{"time":6000000,"node":1,"input":"disk-free","effects":[{"rule":{"id":"P-2","text":"has room again"}}]}"#,
        r#"{"time":3000000,"world":{"changed":"disk 2 fails"}}"#,
    ] {
        assert!(journal.contains(line), "{line} is not in\n{journal}");
    }
    let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), stage.maker(), &mut ()).unwrap();
    assert_eq!(lines, journal.lines().count() as u64);
    // A node that is down takes no news of its disk.
    let altered = journal.replace(r#""node":2,"input":{"start":{"incarnation":1}}"#, r#""node":2,"input":"disk-full""#);
    let error = replay(&mut Journal::open(altered.as_bytes()).unwrap(), stage.maker(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("node 2 is down"), "{error}");
}

/// A wrapper hands news of the disk on to what is inside, and its own frames wait for room like any message.
#[test]
fn what_is_behind_reliable_links_hears_of_its_disk() {
    let stage = Stage::of(2).fault("disk 1 full at 1ms for 5ms").tell("2ms", 1, [save(1), send(2)]);
    let make = |me| Reliable::new(me, Puppet::default(), Retransmission::default());
    let mut world = World::new(&stage.setup, make, Story::default());
    stage.faults.iter().for_each(|fault| world.schedule(fault.clone()));
    world.start();
    for (instant, node, acts) in stage.commands {
        world.command(instant, node, acts);
    }
    while world.advance() {}
    let story = world.into_observer().text;
    assert!(story.contains("1ms 1 < disk full\n1ms 1 > has no room\n"), "{story}");
    assert!(story.contains("6ms 1 < disk free\n6ms 1 > has room again\n"), "{story}");
    assert!(story.contains("6ms 1 > ping 1.1 to 2") && story.contains("7ms 2 < ping 1.1"), "{story}");
}

/// A disk of one node is no other node's.
#[test]
fn other_nodes_notice_nothing() {
    let mut world = Stage::of(3)
        .fault("disk 2 full")
        .tell("1ms", 1, [save(1), emit("one")])
        .tell("1ms", 2, [save(2), emit("two")])
        .tell("1ms", 3, [save(3), emit("three")])
        .played(Story::default());
    let told: BTreeSet<_> = std::iter::from_fn(|| world.next_news()).map(|(node, _)| node).collect();
    assert_eq!(told, BTreeSet::from([node(1), node(3)]));
}
