//! Failing disks: the node crashes, because it cannot know which of its writes are durable.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. `save 7` writes the number 7, but `saved 2`
//! says that the first 2 saves of the incarnation are durable. `start 1` is the first restart, and
//! `finds` lists the saved writes that the restarted node reads. A message takes 1 ms, and
//! processing and syncs take no time, unless a scenario sets them.
//!
//! After the crash that `disk 1 fails at 8ms for 10ms` causes, node 1 stays down for 10 ms.

use crate::common::{Scenario, at, emit, save, send};
use expect_test::expect;
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use quorate_journal::workload::ClientEvent;
use std::collections::BTreeSet;

/// The failed sync is never confirmed, and the effects that waited for it are never carried out.
#[test]
fn a_sync_in_progress_fails_when_it_would_have_completed() {
    let scenario = Scenario::new(2)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1), emit("one")])
        .command("6ms", 1, [save(2), send(2), emit("never")])
        .fault("disk 1 fails at 8ms for 10ms")
        .command("10ms", 1, [save(3)]);
    let trace = scenario.trace();
    let lines: Vec<_> = trace.lines().filter(|line| line.contains('*') || line.contains("start")).collect();
    assert_eq!(lines[0], "8ms * disk 1 fails");
    assert!(lines[1].starts_with("11ms * 1 crashed, "), "{trace}");
    assert_eq!(lines[2], "21ms 1 < start 1");
    assert!(!trace.contains("never") && !trace.contains("ping") && !trace.contains("saved 2"), "{trace}");
}

/// If no sync is in progress, the node crashes at once. Here no write waits, so none is lost.
#[test]
fn an_idle_disk_fails_at_once() {
    let scenario = Scenario::new(1).command("0ms", 1, [save(1)]).fault("disk 1 fails at 1ms for 2ms").command(
        "2ms",
        1,
        [emit("never")],
    );
    expect![[r#"
        0ms 1 < command
        0ms 1 > save 1
        0ms 1 < saved 1
        1ms * disk 1 fails
        1ms * 1 crashed, 0 writes lost
        3ms 1 < start 1
        3ms 1 > finds [1]
    "#]]
    .assert_eq(&scenario.trace());
    let permanent_failure = Scenario::new(1).fault("disk 1 fails at 1ms").run_to_end(());
    assert!(permanent_failure.has_only_timers_left());
    assert_eq!(permanent_failure.time(), at("1ms"));
}

/// As after the fault `crash 1 torn`, any prefix of the unsynced writes may survive, even of writes
/// that wait for space on a full disk.
#[test]
fn a_failed_disk_keeps_a_random_prefix_of_the_writes() {
    for is_full in [false, true] {
        let mut recovered = BTreeSet::new();
        for seed in 0..200 {
            let mut scenario = Scenario::new(1)
                .seed(seed)
                .sync("fixed:5ms")
                .command("0ms", 1, [save(1)])
                .command("6ms", 1, [save(2), emit("never")])
                .command("7ms", 1, [save(3)])
                .fault("disk 1 fails at 8ms for 5ms");
            if is_full {
                scenario = scenario.fault("disk 1 full at 5.5ms for 1s");
            }
            let trace = scenario.trace();
            assert!(!trace.contains("never"), "seed {seed}:\n{trace}");
            // On the full disk no sync is in progress at 8 ms, so the node crashes at once.
            let crash_time = if is_full { "8ms" } else { "11ms" };
            assert!(trace.contains(&format!("\n{crash_time} * 1 crashed")), "seed {seed}:\n{trace}");
            recovered.insert(trace.lines().find_map(|line| line.split_once("finds ")).unwrap().1.to_string());
        }
        assert_eq!(
            recovered.iter().map(String::as_str).collect::<Vec<_>>(),
            ["[1, 2, 3]", "[1, 2]", "[1]"],
            "disk full: {is_full}"
        );
    }
}

/// A disk failure has no effect on a node that is down, nor on its next incarnation.
#[test]
fn a_disk_failure_has_no_effect_on_a_node_that_is_down() {
    let scenario = Scenario::new(1)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1)])
        .fault("crash 1 at 2ms for 2ms")
        .fault("disk 1 fails at 3ms for 1ms")
        .command("5ms", 1, [save(2), emit("two")]);
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
    .assert_eq(&scenario.trace());
}

/// If the node crashes for another reason before its sync completes, the disk failure is cancelled
/// along with the sync: it neither crashes the node again nor delays its restart.
#[test]
fn a_crash_cancels_a_pending_disk_failure() {
    let scenario = Scenario::new(1)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1)])
        .fault("disk 1 fails at 1ms for 1ms")
        .fault("crash 1 at 2ms for 8ms")
        .command("11ms", 1, [save(2), emit("two")]);
    let trace = scenario.trace();
    assert_eq!(trace.matches("crashed").count(), 1, "{trace}");
    assert!(trace.contains("10ms 1 < start 1") && trace.contains("16ms 1 > emit two"), "{trace}");
}

/// Of two disk failures during one sync, only the first has an effect.
#[test]
fn a_sync_fails_once() {
    let scenario = Scenario::new(1)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1)])
        .fault("disk 1 fails at 1ms for 1ms")
        .fault("disk 1 fails at 2ms");
    let trace = scenario.trace();
    assert!(trace.contains("5ms * 1 crashed") && trace.contains("6ms 1 < start 1"), "{trace}");
    assert_eq!(trace.matches("crashed").count(), 1, "{trace}");
}

/// A paused node receives the result of its sync when it resumes, and crashes if the sync failed.
/// The inputs that wait behind the sync are lost.
#[test]
fn a_paused_node_with_a_failed_sync_crashes_when_it_resumes() {
    let scenario = Scenario::new(2)
        .sync("fixed:5ms")
        .command("0ms", 1, [save(1), emit("never")])
        .fault("pause 1 at 1ms for 19ms")
        .fault("disk 1 fails at 3ms for 5ms")
        .command("6ms", 2, [send(1)])
        .command("7ms", 1, [emit("also never")]);
    let trace = scenario.trace();
    let after_resume = trace.split_once("20ms * 1 resumed\n").unwrap().1;
    assert!(after_resume.starts_with("20ms * 1 crashed"), "{trace}");
    assert!(
        after_resume.contains("20ms * lost 2.1 to 1: the receiver is down")
            && after_resume.contains("25ms 1 < start 1"),
        "{trace}"
    );
    assert!(!trace.contains("never"), "{trace}");
    let world = scenario.run_to_end(());
    assert!(world.is_quiet() && world.has_only_timers_left());
    // If no sync is in progress, a paused node crashes at once.
    let idle = Scenario::new(1).fault("pause 1 at 1ms").fault("disk 1 fails at 3ms").trace();
    assert!(idle.contains("3ms * 1 crashed"), "{idle}");
}

/// The world is not quiet while a sync is about to fail. Clients are notified of the crash and of
/// the restart.
#[test]
fn clients_are_notified_of_a_disk_failure_as_a_crash() {
    let scenario = Scenario::new(1).sync("fixed:5ms").command("0ms", 1, [save(1)]).fault("disk 1 fails at 1ms for 4ms");
    let mut world = scenario.world(());
    while world.time() < at("1ms") && world.advance() {}
    assert!(!world.is_quiet() && !world.has_only_timers_left());
    while world.time() < at("5ms") && world.advance() {}
    assert!(!world.is_up(crate::common::node(1)));
    assert!(!world.has_only_timers_left(), "the restart is pending");
    while world.advance() {}
    let client_events: Vec<_> = std::iter::from_fn(|| world.next_client_event()).map(|(_, event)| event).collect();
    assert_eq!(client_events, [ClientEvent::Crashed, ClientEvent::Restarted]);
    assert_eq!(world.time(), at("9ms"));
}

/// The disk fails before the nodes start, so the node is down at the start.
#[test]
fn a_disk_can_fail_before_the_start() {
    let trace = Scenario::new(1).fault("disk 1 fails for 3ms").trace();
    assert_eq!(trace, "0ms * disk 1 fails\n0ms * 1 crashed, 0 writes lost\n3ms 1 < start 1\n3ms 1 > finds []\n");
}

/// Two runs with the same seed write the same journal, and the journal replays.
#[test]
fn a_run_with_a_disk_failure_replays() {
    for seed in 0..100 {
        let scenario = Scenario::new(2)
            .seed(seed)
            .sync("long-tail:2ms")
            .command("0ms", 1, [save(1), save(2), send(2)])
            .command("1ms", 1, [save(3), save(4), send(2)])
            .fault("disk 1 fails at 2ms for 3ms")
            .command("9ms", 1, [save(5), send(2)]);
        let journal = scenario.journal();
        assert_eq!(journal, scenario.journal());
        let replayed_lines =
            replay(&mut Journal::open(journal.as_bytes()).unwrap(), scenario.node_factory(), &mut ()).unwrap();
        assert_eq!(replayed_lines, journal.lines().count() as u64, "seed {seed}");
    }
}
