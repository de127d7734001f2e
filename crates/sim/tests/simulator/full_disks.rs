//! Full disks: which effects wait for space, which do not, and that only crashes lose writes.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `save 7` writes the number 7, but `saved 2`
//! says that the first 2 saves of the incarnation are durable. `start 1` is the first restart, and
//! `finds` lists the saved writes that the restarted node reads. A message takes 1 ms, and
//! processing and syncs take no time, unless a scenario sets them.

use crate::common::{
    Scenario, ScriptedNode, Trace, at, emit, emit_ahead, node, random_scenario, save, send, send_ahead, set,
};
use expect_test::expect;
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use quorate_sim::World;
use std::collections::BTreeSet;

/// Effects that wait for a save wait for space; effects issued ahead, or without earlier saves, do
/// not. Once there is space, the waiting writes are synced before later ones.
#[test]
fn effects_wait_for_space_on_a_full_disk() {
    let scenario = Scenario::new(2)
        .sync("fixed:2ms")
        .fault("disk 1 full at 1ms for 10ms")
        .command("3ms", 1, [emit("needs no disk"), save(1), send(2), send_ahead(2), emit_ahead("ahead"), save(2)])
        .command("4ms", 1, [emit("after both"), set('t', "2ms", [save(3)])])
        .command("12ms", 1, [save(4), emit("last")]);
    expect![[r#"
        1ms * disk 1 full
        1ms 1 < disk full
        1ms 1 > has no disk space
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
        11ms 1 > has disk space again
        12ms 1 < command
        12ms 1 > save 4
        13ms 1 < saved 3
        13ms 1 > ping 1.2 to 2
        13ms 1 > emit after both
        14ms 2 < ping 1.2
        15ms 1 < saved 4
        15ms 1 > emit last
    "#]]
    .assert_eq(&scenario.trace());
}

/// A sync that started before the disk was full completes; writes that it did not cover wait.
#[test]
fn a_sync_in_progress_still_completes() {
    let scenario = Scenario::new(1)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1), emit("one")])
        .command("1ms", 1, [save(2), emit("two")])
        .fault("disk 1 full at 2ms for 10ms");
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        1ms 1 < command
        1ms 1 > save 2
        2ms * disk 1 full
        2ms 1 < disk full
        2ms 1 > has no disk space
        5ms 1 < saved 1
        5ms 1 > emit one
        12ms * end of disk 1 full
        12ms 1 < disk free
        12ms 1 > has disk space again
        17ms 1 < saved 2
        17ms 1 > emit two
    "#]]
    .assert_eq(&scenario.trace());
}

/// Writes that wait for space are not durable, and the next incarnation finds the disk full as
/// well.
#[test]
fn a_crash_loses_writes_that_wait_for_space() {
    let scenario = Scenario::new(2)
        .command("0ms", 1, [save(1)])
        .fault("disk 1 full at 1ms for 20ms")
        .command("2ms", 1, [save(2), send(2), emit("never")])
        .fault("crash 1 at 5ms for 5ms")
        .command("11ms", 1, [save(3), emit("three")]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 < saved 1
        1ms * disk 1 full
        1ms 1 < disk full
        1ms 1 > has no disk space
        2ms 1 < command
        2ms 1 > save 2
        5ms * 1 crashed, 1 writes lost
        10ms 1 < start 1
        10ms 1 > finds [1]
        10ms 1 < disk full
        10ms 1 > has no disk space
        11ms 1 < command
        11ms 1 > save 3
        21ms * end of disk 1 full
        21ms 1 < disk free
        21ms 1 > has disk space again
        21ms 1 < saved 1
        21ms 1 > emit three
    "#]]
    .assert_eq(&scenario.trace());
}

/// A node that is down receives no notification; if it restarts later, its disk has space.
#[test]
fn a_disk_that_is_full_only_while_its_node_is_down_goes_unnoticed() {
    let scenario = Scenario::new(1).fault("crash 1 at 1ms for 9ms").fault("disk 1 full at 2ms for 3ms");
    expect![[r#"
        1ms * 1 crashed, 0 writes lost
        2ms * disk 1 full
        5ms * end of disk 1 full
        10ms 1 < start 1
        10ms 1 > finds []
    "#]]
    .assert_eq(&scenario.trace());
}

/// If the disk is full before the world starts, the node learns it right after its start, and its
/// first writes wait.
#[test]
fn a_disk_can_be_full_from_the_start() {
    let scenario = Scenario::new(1).on_start([save(1), emit("hello")]).fault("disk 1 full for 4ms");
    expect![[r#"
        0ms * disk 1 full
        0ms 1 > save 1
        0ms 1 < disk full
        0ms 1 > has no disk space
        4ms * end of disk 1 full
        4ms 1 < disk free
        4ms 1 > has disk space again
        4ms 1 < saved 1
        4ms 1 > emit hello
    "#]]
    .assert_eq(&scenario.trace());
    let paused = scenario.fault("pause 1 for 2ms").trace();
    assert_eq!(paused.matches("disk full").count(), 1, "{paused}");
    assert!(paused.contains("2ms 1 < start 0\n2ms 1 > save 1\n2ms 1 < disk full"), "{paused}");
}

/// The disk is full until the last overlapping fault ends; the node is notified when the first one
/// begins and when the last one ends.
#[test]
fn overlapping_faults_make_one_full_disk() {
    let scenario = Scenario::new(1)
        .fault("disk 1 full at 1ms for 5ms")
        .fault("disk 1 full at 2ms for 2ms")
        .fault("disk 1 full at 3ms for 9ms")
        .command("5ms", 1, [save(1), emit("done")]);
    let trace = scenario.trace();
    let inputs: Vec<_> = trace.lines().filter(|line| line.contains('<') || line.contains("done")).collect();
    assert_eq!(
        inputs,
        ["1ms 1 < disk full", "5ms 1 < command", "12ms 1 < disk free", "12ms 1 < saved 1", "12ms 1 > emit done"]
    );
}

/// The disk of a paused node continues to work. When the node resumes, it learns the current state
/// of its disk only.
#[test]
fn a_paused_node_learns_the_current_state_of_its_disk() {
    let scenario = Scenario::new(1).sync("fixed:1ms").command("0ms", 1, [save(1)]).command("1.5ms", 1, [save(2)]);
    let brief = scenario.clone().fault("pause 1 at 2ms for 20ms").fault("disk 1 full at 1.2ms for 5ms").trace();
    let inputs: Vec<_> = brief.lines().filter(|line| line.contains('<')).collect();
    let expected = ["0ms 1 < command", "1ms 1 < saved 1", "1.2ms 1 < disk full", "1.5ms 1 < command"];
    assert_eq!(inputs, [expected.as_slice(), &["22ms 1 < disk free", "22ms 1 < saved 2"]].concat());
    let unnoticed = scenario.clone().fault("pause 1 at 2ms for 20ms").fault("disk 1 full at 3ms for 5ms").trace();
    assert!(!unnoticed.contains("1 < disk"), "{unnoticed}");
    let lasting = scenario.fault("pause 1 at 2ms for 20ms").fault("disk 1 full at 3ms").trace();
    assert!(lasting.contains("22ms 1 < disk full"), "{lasting}");
}

/// If inputs have a processing time, a notification about the disk waits in the inbox, but no sync
/// starts meanwhile.
#[test]
fn a_busy_node_learns_the_state_of_its_disk_in_order() {
    let scenario = Scenario::new(1)
        .processing("fixed:4ms")
        .command("0ms", 1, [save(1), emit("one")])
        .fault("disk 1 full at 2ms for 10ms")
        .command("3ms", 1, []);
    expect![[r#"
        2ms * disk 1 full
        4ms 1 < command
        4ms 1 > save 1
        8ms 1 < disk full
        8ms 1 > has no disk space
        12ms * end of disk 1 full
        12ms 1 < command
        16ms 1 < disk free
        16ms 1 > has disk space again
        20ms 1 < saved 1
        20ms 1 > emit one
    "#]]
    .assert_eq(&scenario.trace());
}

/// A blank restart finds an empty disk, but a full disk stays full.
#[test]
fn a_blank_restart_does_not_free_a_full_disk() {
    let scenario = Scenario::new(1)
        .command("0ms", 1, [save(1)])
        .fault("disk 1 full at 1ms")
        .fault("crash 1 at 2ms")
        .fault("restart 1 blank at 3ms")
        .command("4ms", 1, [save(2), emit("never")]);
    let trace = scenario.trace();
    assert!(
        trace.contains("3ms 1 < start 1 blank\n3ms 1 > finds []\n3ms 1 > lost its disk\n3ms 1 < disk full"),
        "{trace}"
    );
    assert!(!trace.contains("never"), "{trace}");
}

/// A write that waits for space keeps a world from being quiet until there is space or a crash
/// drops the write. If the disk stays full, the world counts as having only timers left.
#[test]
fn a_world_is_not_quiet_while_a_write_waits_for_space() {
    let scenario = Scenario::new(2).command("1ms", 1, [save(1), send(2)]);
    let mut world = scenario.clone().fault("disk 1 full for 50ms").world(());
    while world.time() < at("1ms") && world.advance() {}
    assert!(!world.is_quiet() && !world.has_only_timers_left());
    while world.advance() {}
    assert!(world.is_quiet() && world.has_only_timers_left());
    assert_eq!(world.time(), at("51ms"));

    let world = scenario.clone().fault("disk 1 full").run_to_end(());
    assert!(!world.is_quiet(), "a write still waits");
    assert!(world.has_only_timers_left(), "but the disk stays full");

    let world = scenario.fault("disk 1 full").fault("crash 1 at 9ms for 1ms").run_to_end(());
    assert!(world.is_quiet() && world.has_only_timers_left());
}

#[test]
fn a_full_disk_without_waiting_writes_leaves_the_world_quiet() {
    let world = Scenario::new(1).fault("disk 1 full at 1ms").run_to_end(());
    assert!(world.is_quiet() && world.has_only_timers_left());
}

/// With disks that are full at random times, but without crashes, all writes become durable once
/// and in order.
#[test]
fn full_disks_lose_no_writes() {
    for seed in 0..300 {
        let mut scenario = Scenario::new(1)
            .seed(seed)
            .sync("long-tail:1ms")
            .processing(["fixed:0ms", "uniform:0ms..1ms"][seed as usize % 2]);
        for number in 0..10 {
            let (begin_millis, length_millis) = (number * 7 + seed % 5, 1 + (seed * 31 + number * 17) % 11);
            scenario = scenario.fault(&format!("disk 1 full at {begin_millis}ms for {length_millis}ms"));
        }
        for number in 0..60 {
            scenario = scenario.command(&format!("{number}ms"), 1, [save(number), emit(&format!("<{number}>"))]);
        }
        // After the crash, the node lists the writes that it finds.
        let trace = scenario.fault("crash 1 at 1h for 1ms").trace();
        let emitted: Vec<String> =
            trace.lines().filter_map(|line| line.split_once("emit ")).map(|(_, text)| text.to_string()).collect();
        let all_numbers: Vec<_> = (0..60).collect();
        assert_eq!(
            emitted,
            all_numbers.iter().map(|number| format!("<{number}>")).collect::<Vec<String>>(),
            "seed {seed}"
        );
        assert!(trace.contains(&format!("finds {all_numbers:?}")), "seed {seed}:\n{trace}");
        assert!(trace.contains("crashed, 0 writes lost"), "seed {seed}");
    }
}

/// In random scenarios no sync starts while a disk is full: at most one sync completes meanwhile,
/// the one in progress, and none after a crash.
#[test]
fn no_sync_starts_while_a_disk_is_full() {
    let mut sync_count = 0;
    for seed in 0..3_000 {
        let trace = random_scenario(seed).trace();
        for number in 1..=4 {
            // Faults that keep the disk full now, and syncs that may still complete.
            let (mut active_faults, mut allowed_syncs) = (0, 0);
            for line in trace.lines() {
                let (_, line) = line.split_once(' ').unwrap();
                if line == format!("* disk {number} full") {
                    active_faults += 1;
                    allowed_syncs = if active_faults == 1 { 1 } else { allowed_syncs };
                } else if line == format!("* end of disk {number} full") {
                    active_faults -= 1;
                } else if line.starts_with(&format!("* {number} crashed")) {
                    allowed_syncs = 0;
                } else if active_faults > 0 && line.starts_with(&format!("{number} < saved")) {
                    assert!(allowed_syncs > 0, "seed {seed}: node {number} saves to a full disk:\n{trace}");
                    allowed_syncs -= 1;
                    sync_count += 1;
                }
            }
        }
    }
    assert!(sync_count > 40, "{sync_count} syncs of full disks are too few");
}

/// The journal contains the inputs `disk-full` and `disk-free`, and can be replayed.
#[test]
fn full_and_free_are_recorded_and_replayed() {
    let scenario = Scenario::new(2)
        .sync("fixed:1ms")
        .fault("disk 1 full at 1ms for 5ms")
        .command("2ms", 1, [save(1), send(2)])
        .fault("disk 2 fails at 3ms for 1ms");
    let journal = scenario.journal();
    for line in [
        r#"{"time":1000000,"world":{"changed":"disk 1 full"}}"#,
        r#"{"time":1000000,"node":1,"input":"disk-full","effects":[{"rule":{"id":"P-2","text":"has no disk space"}}]}"#,
        r#"{"time":6000000,"world":{"changed":"end of disk 1 full"}}"#,
        r#"{"time":6000000,"node":1,"input":"disk-free","effects":[{"rule":{"id":"P-2","text":"has disk space again"}}]}"#,
        r#"{"time":3000000,"world":{"changed":"disk 2 fails"}}"#,
    ] {
        assert!(journal.contains(line), "{line} is not in\n{journal}");
    }
    let lines = replay(&mut Journal::open(journal.as_bytes()).unwrap(), scenario.node_factory(), &mut ()).unwrap();
    assert_eq!(lines, journal.lines().count() as u64);
    // A notification instead of node 2's restart: a node that is down takes none.
    let altered = journal.replace(r#""node":2,"input":{"start":{"incarnation":1}}"#, r#""node":2,"input":"disk-full""#);
    let error = replay(&mut Journal::open(altered.as_bytes()).unwrap(), scenario.node_factory(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("node 2 is down"), "{error}");
}

/// A wrapper passes notifications about the disk to the protocol inside it, and its own frames wait
/// for space like other messages.
#[test]
fn a_wrapper_passes_on_the_state_of_the_disk() {
    let scenario = Scenario::new(2).fault("disk 1 full at 1ms for 5ms").command("2ms", 1, [save(1), send(2)]);
    let create_node = |me| Reliable::new(me, ScriptedNode::default(), RetransmissionTimeouts::default());
    let mut world = World::new(&scenario.setup, create_node, Trace::default());
    scenario.faults.iter().for_each(|fault| world.schedule_fault(fault.clone()));
    world.start();
    for (instant, node, actions) in scenario.commands {
        world.schedule_command(instant, node, actions);
    }
    while world.advance() {}
    let trace = world.into_observer().text;
    assert!(trace.contains("1ms 1 < disk full\n1ms 1 > has no disk space\n"), "{trace}");
    assert!(trace.contains("6ms 1 < disk free\n6ms 1 > has disk space again\n"), "{trace}");
    assert!(trace.contains("6ms 1 > ping 1.1 to 2") && trace.contains("7ms 2 < ping 1.1"), "{trace}");
}

#[test]
fn a_full_disk_affects_only_its_own_node() {
    let mut world = Scenario::new(3)
        .fault("disk 2 full")
        .command("1ms", 1, [save(1), emit("one")])
        .command("1ms", 2, [save(2), emit("two")])
        .command("1ms", 3, [save(3), emit("three")])
        .run_to_end(Trace::default());
    let emitting: BTreeSet<_> = std::iter::from_fn(|| world.next_client_event()).map(|(node, _)| node).collect();
    assert_eq!(emitting, BTreeSet::from([node(1), node(3)]));
}
