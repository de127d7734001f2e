//! What is under way, what is quiet, how many events there were; and every message accounted for.

use crate::common::{Acts, Stage, at, cancel, chaos, emit, multicast, save, send, set};
use quorate_core::Duration;
use quorate_journal::moment::{Done, Happening, MessageId, Moment, Observer, Taken, receivers};
use quorate_journal::settings::{DiskTrouble, Fault};
use std::collections::BTreeMap;

#[test]
fn what_is_under_way_is_counted_until_it_has_arrived() {
    let stage = Stage::of(3).tell("0ms", 1, [multicast(3), send(1)]).tell("0.5ms", 2, [send(3)]);
    let mut world = stage.world(());
    let mut counts = Vec::new();
    while world.advance() {
        counts.push(world.under_way());
    }
    // The command, the message to itself, the other command, then three arrivals.
    assert_eq!(counts, [3, 2, 3, 2, 1, 0]);
    assert_eq!(world.events(), 3 + 6);
}

#[test]
fn copies_count_and_losses_do_not() {
    let mut world = Stage::of(2).duplicate("1").tell("0ms", 1, [send(2)]).world(());
    world.advance();
    assert_eq!(world.under_way(), 2);
    let mut world = Stage::of(2).loss("1").tell("0ms", 1, [send(2)]).world(());
    world.advance();
    assert_eq!(world.under_way(), 0);
    assert_eq!(world.events(), 3);
}

/// Whether it is quiet after each event.
fn quiet(stage: &Stage) -> Vec<bool> {
    let mut world = stage.world(());
    let mut quiet = vec![world.is_quiet()];
    while world.advance() {
        quiet.push(world.is_quiet());
    }
    quiet
}

#[test]
fn a_world_is_quiet_when_no_message_timer_or_command_is_to_come() {
    assert_eq!(quiet(&Stage::of(2)), [true]);
    assert_eq!(quiet(&Stage::of(2).tell("1ms", 1, [])), [false, true]);
    assert_eq!(quiet(&Stage::of(2).tell("1ms", 1, [send(2)])), [false, false, true]);
    assert_eq!(quiet(&Stage::of(2).tell("1ms", 1, [set('a', "5ms", [])])), [false, false, true]);
    // A cancelled timer makes no noise, and neither do its remains in the queue, nor a fault to come.
    let cancelled = Stage::of(2).tell("1ms", 1, [set('a', "5ms", []), cancel('a')]).fault("heal at 9ms");
    assert_eq!(quiet(&cancelled), [false, true, true, true]);
    // A crash silences the node's timers.
    let crashed = Stage::of(2).tell("1ms", 1, [set('a', "5ms", [])]).fault("crash 1 at 2ms");
    assert_eq!(quiet(&crashed), [false, false, true, true]);
}

/// What waits for the disk will be sent, so the world is not quiet before the disk is.
#[test]
fn a_world_is_not_quiet_while_a_disk_is_busy() {
    let stage = Stage::of(2).sync("fixed:5ms").tell("1ms", 1, [save(1), send(2)]);
    assert_eq!(quiet(&stage), [false, false, false, true]);
    let crashed = stage.fault("crash 1 at 3ms for 1ms");
    assert_eq!(quiet(&crashed), [false, false, true, true, true]);
}

#[test]
fn a_paused_node_keeps_the_world_waiting() {
    let stage = Stage::of(2).fault("pause 2 at 1ms for 9ms").tell("2ms", 1, [send(2)]).tell("3ms", 2, [emit("done")]);
    let mut world = stage.world(());
    while world.time() < at("9ms") && world.advance() {
        assert!(world.time() >= at("10ms") || !world.is_quiet());
    }
    assert!(world.is_quiet());
}

/// For each transmission: how many copies left, and how many arrived or were lost.
#[derive(Default)]
struct Ledger(BTreeMap<MessageId, (u32, u32)>);

impl Observer<Acts, String> for Ledger {
    fn observe(&mut self, moment: &Moment<'_, Acts, String>) {
        match moment {
            Moment::Effect { effect: Done::Send { sent, .. }, .. } => {
                assert!(self.0.insert(sent.id, (1, 0)).is_none(), "{} was sent before", sent.id);
            }
            Moment::Effect { effect: Done::Multicast { to, sent }, .. } => {
                for (_, id) in receivers(to, sent.id) {
                    assert!(self.0.insert(id, (1, 0)).is_none(), "{id} was sent before");
                }
            }
            Moment::World { what: Happening::Duplicated { id }, .. } => self.0.get_mut(id).unwrap().0 += 1,
            Moment::World { what: Happening::Lost { id, .. }, .. }
            | Moment::Input { input: Taken::Message { id, .. }, .. } => self.0.get_mut(id).unwrap().1 += 1,
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// Whatever was paused, crashed or resumed on the way: where nothing at all is left, nothing is left but timers.
#[test]
fn in_the_end_nothing_is_left() {
    for seed in 0..3_000 {
        let world = chaos(seed).played(());
        assert!(world.is_left_to_timers(), "seed {seed}");
        assert_eq!(world.next_time(), None, "seed {seed}");
    }
}

/// The world of this seed, but every full disk has room again some time: one that has not keeps what waits for it.
fn chaos_with_room(seed: u64) -> Stage {
    let mut stage = chaos(seed);
    for timed in &mut stage.faults {
        if matches!(timed.fault, Fault::Disk { trouble: DiskTrouble::Full, .. }) {
            timed.lasts.get_or_insert(Duration::from_secs(90));
        }
    }
    stage
}

/// Lengths that fill all of time, clocks as wrong as they can be: nothing overflows, and everything ends.
#[test]
fn extremes_of_time_trip_nothing() {
    let far = "5000000h";
    for seed in 0..300 {
        let mut stage = chaos_with_room(seed);
        let laws =
            [format!("fixed:{far}"), format!("uniform:0ns..{far}"), format!("long-tail:{far}"), "fixed:0ns".into()];
        let law = |shift: u64| laws[(seed >> shift) as usize % laws.len()].as_str();
        stage = stage.latency(law(0)).processing(law(2)).sync(law(4));
        for node in 1..=stage.setup.nodes {
            let jump = ["2562047h", "-2562047h"][seed as usize % 2];
            let drift = ["-999999ppm", "1000000ppm"][(seed / 2) as usize % 2];
            stage = stage
                .fault(&format!("skew {node} by {jump} at 1ms"))
                .fault(&format!("drift {node} by {drift} at 3ms"))
                .fault(&format!("crash {node} at 2000000h for {far}"))
                .fault(&format!("resume {node} at {far}"))
                .tell("30ms", node as u32, [set('z', far, [])])
                .tell(far, node as u32, [send(1)]);
        }
        let world = stage.played(());
        assert_eq!(world.under_way(), 0, "seed {seed}");
        assert!(world.is_quiet(), "seed {seed}");
    }
}

/// Random worlds with random faults, run to the end of the queue. A node that is paused for good keeps what reached
/// it, so everyone is resumed in the end.
#[test]
fn every_message_is_accounted_for() {
    for seed in 0..3_000 {
        let mut stage = chaos_with_room(seed);
        for node in 1..=stage.setup.nodes {
            stage = stage.fault(&format!("resume {node} at 100s"));
        }
        let world = stage.played(Ledger::default());
        assert_eq!(world.under_way(), 0, "seed {seed}");
        assert!(world.is_quiet(), "seed {seed}");
        let open: Vec<_> = world.observer().0.iter().filter(|(_, (copies, ends))| copies != ends).collect();
        assert!(open.is_empty(), "seed {seed}: nobody knows what became of {open:?}");
    }
}
