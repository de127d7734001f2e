//! Counters of a world: messages in flight, quietness, inputs taken; and the fate of every message.
//! A message takes 1 ms, and processing and syncs take no time, unless a scenario sets them.

use crate::common::{Actions, Scenario, at, cancel, emit, multicast, random_scenario, save, send, set};
use quorate_core::Duration;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers};
use quorate_journal::settings::{DiskTrouble, Fault};
use std::collections::BTreeMap;

#[test]
fn messages_in_flight_are_counted_until_they_arrive() {
    let scenario = Scenario::new(3).command("0ms", 1, [multicast(3), send(1)]).command("0.5ms", 2, [send(3)]);
    let mut world = scenario.world(());
    let mut counts = Vec::new();
    while world.advance() {
        counts.push(world.messages_in_flight());
    }
    // After the first command, whose multicast leaves out the sender; after the arrival of node 1's
    // message to itself; after the second command; and after the other three arrivals.
    assert_eq!(counts, [3, 2, 3, 2, 1, 0]);
    // The starts of three nodes, two commands and four arrivals.
    assert_eq!(world.taken_inputs(), 3 + 6);
}

#[test]
fn duplicates_count_as_in_flight_and_lost_messages_do_not() {
    let mut world = Scenario::new(2).duplicate("1").command("0ms", 1, [send(2)]).world(());
    world.advance();
    assert_eq!(world.messages_in_flight(), 2);
    let mut world = Scenario::new(2).loss("1").command("0ms", 1, [send(2)]).world(());
    world.advance();
    assert_eq!(world.messages_in_flight(), 0);
    // The starts of two nodes, and the command.
    assert_eq!(world.taken_inputs(), 3);
}

/// Returns whether the world is quiet, at the start and after each event.
fn quietness_after_each_event(scenario: &Scenario) -> Vec<bool> {
    let mut world = scenario.world(());
    let mut quietness = vec![world.is_quiet()];
    while world.advance() {
        quietness.push(world.is_quiet());
    }
    quietness
}

#[test]
fn a_world_is_quiet_without_pending_messages_timers_and_commands() {
    assert_eq!(quietness_after_each_event(&Scenario::new(2)), [true]);
    assert_eq!(quietness_after_each_event(&Scenario::new(2).command("1ms", 1, [])), [false, true]);
    assert_eq!(quietness_after_each_event(&Scenario::new(2).command("1ms", 1, [send(2)])), [false, false, true]);
    assert_eq!(
        quietness_after_each_event(&Scenario::new(2).command("1ms", 1, [set('a', "5ms", [])])),
        [false, false, true]
    );
    // Neither a cancelled timer, nor its leftover in the queue, nor a future fault keeps the world
    // from being quiet.
    let cancelled = Scenario::new(2).command("1ms", 1, [set('a', "5ms", []), cancel('a')]).fault("heal at 9ms");
    assert_eq!(quietness_after_each_event(&cancelled), [false, true, true, true]);
    // A crash removes the node's timers.
    let crashed = Scenario::new(2).command("1ms", 1, [set('a', "5ms", [])]).fault("crash 1 at 2ms");
    assert_eq!(quietness_after_each_event(&crashed), [false, false, true, true]);
}

/// Effects that wait for a disk are still to come, so the world is not quiet until the disk is.
#[test]
fn a_world_is_not_quiet_while_a_disk_is_busy() {
    let scenario = Scenario::new(2).sync("fixed:5ms").command("1ms", 1, [save(1), send(2)]);
    assert_eq!(quietness_after_each_event(&scenario), [false, false, false, true]);
    let crashed = scenario.fault("crash 1 at 3ms for 1ms");
    assert_eq!(quietness_after_each_event(&crashed), [false, false, true, true, true]);
}

#[test]
fn a_paused_node_with_inputs_keeps_the_world_from_being_quiet() {
    let scenario =
        Scenario::new(2).fault("pause 2 at 1ms for 9ms").command("2ms", 1, [send(2)]).command("3ms", 2, [emit("done")]);
    let mut world = scenario.world(());
    while world.advance() {
        assert!(world.time() >= at("10ms") || !world.is_quiet());
    }
    assert!(world.is_quiet());
}

/// For each transmission, the number of copies sent and the number of copies that the receiver took
/// or that were lost.
#[derive(Default)]
struct MessageAccounts(BTreeMap<MessageId, (u32, u32)>);

impl Observer<Actions, String> for MessageAccounts {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        match moment {
            Moment::Effect { effect: ObservedEffect::Send { sent, .. }, .. } => {
                assert!(self.0.insert(sent.id, (1, 0)).is_none(), "{} was sent before", sent.id);
            }
            Moment::Effect { effect: ObservedEffect::Multicast { to, sent }, .. } => {
                for (_, id) in receivers(to, sent.id) {
                    assert!(self.0.insert(id, (1, 0)).is_none(), "{id} was sent before");
                }
            }
            Moment::World { event: WorldEvent::Duplicated { id }, .. } => self.0.get_mut(id).unwrap().0 += 1,
            Moment::World { event: WorldEvent::Lost { id, .. }, .. }
            | Moment::Input { input: ObservedInput::Message { id, .. }, .. } => self.0.get_mut(id).unwrap().1 += 1,
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// After all events, nothing but the inputs of paused nodes and the writes for full disks is left.
#[test]
fn no_events_are_left_at_the_end() {
    for seed in 0..3_000 {
        let world = random_scenario(seed).run_to_end(());
        assert!(world.has_only_timers_left(), "seed {seed}");
        assert_eq!(world.next_time(), None, "seed {seed}");
    }
}

/// Returns the random scenario of this seed, with an end for every full disk: a disk that stays
/// full keeps its waiting writes.
fn random_scenario_with_finite_full_disks(seed: u64) -> Scenario {
    let mut scenario = random_scenario(seed);
    for timed in &mut scenario.faults {
        if matches!(timed.fault, Fault::Disk { trouble: DiskTrouble::Full, .. }) {
            timed.duration.get_or_insert(Duration::from_secs(90));
        }
    }
    scenario
}

/// Extreme delays, offsets and drifts cause no overflow, and all events end.
#[test]
fn extreme_times_do_not_overflow() {
    // About 570 years, nearly the longest `Duration`, which counts nanoseconds in 64 bits.
    let far = "5000000h";
    for seed in 0..300 {
        let mut scenario = random_scenario_with_finite_full_disks(seed);
        let distributions =
            [format!("fixed:{far}"), format!("uniform:0ns..{far}"), format!("long-tail:{far}"), "fixed:0ns".into()];
        let distribution = |shift: u64| distributions[(seed >> shift) as usize % distributions.len()].as_str();
        scenario = scenario.latency(distribution(0)).processing(distribution(2)).sync(distribution(4));
        for node in 1..=scenario.setup.nodes {
            // The largest offsets, which count nanoseconds in 64 bits with a sign, and drifts.
            let offset = ["2562047h", "-2562047h"][seed as usize % 2];
            let drift = ["-999999ppm", "1000000ppm"][(seed / 2) as usize % 2];
            scenario = scenario
                .fault(&format!("skew {node} by {offset} at 1ms"))
                .fault(&format!("drift {node} by {drift} at 3ms"))
                .fault(&format!("crash {node} at 2000000h for {far}"))
                .fault(&format!("resume {node} at {far}"))
                .command("30ms", node as u32, [set('z', far, [])])
                .command(far, node as u32, [send(1)]);
        }
        let world = scenario.run_to_end(());
        assert_eq!(world.messages_in_flight(), 0, "seed {seed}");
        assert!(world.is_quiet(), "seed {seed}");
    }
}

/// Random scenarios with random faults. A node that stays paused would keep its inputs, so all
/// nodes are resumed at the end.
#[test]
fn every_message_is_accounted_for() {
    for seed in 0..3_000 {
        let mut scenario = random_scenario_with_finite_full_disks(seed);
        for node in 1..=scenario.setup.nodes {
            scenario = scenario.fault(&format!("resume {node} at 100s"));
        }
        let world = scenario.run_to_end(MessageAccounts::default());
        assert_eq!(world.messages_in_flight(), 0, "seed {seed}");
        assert!(world.is_quiet(), "seed {seed}");
        let unaccounted: Vec<_> = world.observer().0.iter().filter(|(_, (sent, ended))| sent != ended).collect();
        assert!(unaccounted.is_empty(), "seed {seed}: unknown fate of {unaccounted:?}");
    }
}
