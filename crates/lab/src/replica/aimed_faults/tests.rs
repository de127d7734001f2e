//! Tests of aimed faults: they hit their targets after their triggers, and end in time.

use super::{AimedFault, AimedFaults, Harm, Part, Target, Trigger};
use crate::replica::chaos::ChaosLimits;
use crate::replica::{Command, Event};
use expect_test::expect;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{TimedFault, UnsyncedSaves};
use quorate_journal::workload::{ClientEvent, Plan, PlannedAction};
use quorate_replica::sessions::Answer;
use quorate_replica::{LogTime, Restoration, Ticket};
use std::collections::BTreeSet;

const TICK: Duration = Duration::from_millis(10);

fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

fn limits(nodes: usize, founders: usize) -> ChaosLimits {
    ChaosLimits { nodes, founders, window: TICK.times(200), has_changes: nodes > 3, tick: TICK, drift_ppm: 500 }
}

fn answered(index: u64) -> Event {
    Event::Answered { ticket: Ticket(1), index, answer: Answer::Closed }
}

/// Notifies the faults of an event, and returns those that they inject then.
fn notify(aimed: &mut AimedFaults, now: Time, node: NodeId, notification: &ClientEvent<Event>) -> Vec<TimedFault> {
    let mut plan: Plan<Command> = Plan::new();
    aimed.on_event(now, node, notification, &mut plan);
    let timed = plan.drain().map(|planned| match planned.action {
        PlannedAction::Fault { fault, duration } => {
            TimedFault { at: planned.at.since(Time::ZERO), fault: *fault, duration }
        }
        other => panic!("{other:?}"),
    });
    timed.collect()
}

fn emit(aimed: &mut AimedFaults, millis: u64, number: u32, event: Event) -> String {
    let now = Time::ZERO + Duration::from_millis(millis);
    let faults = notify(aimed, now, node(number), &ClientEvent::Emitted(event));
    faults.iter().map(|timed| format!("{timed}\n")).collect()
}

fn in_group_of_five(trigger: Trigger, parts: Vec<Part>) -> AimedFaults {
    let order = [4, 2, 5, 1, 3].map(node).into();
    let aimed = AimedFault { armed_at: Time::ZERO + Duration::from_millis(100), trigger, order, parts };
    let window_end = Time::ZERO + Duration::from_secs(1);
    AimedFaults {
        waiting: vec![aimed],
        window_end,
        nodes: 5,
        voters: (1..=5).map(node).collect(),
        ..Default::default()
    }
}

fn part(target: Target, harm: Harm) -> Part {
    Part { delay: Duration::from_millis(2), target, harm, duration: Duration::from_millis(30) }
}

/// An answer at an index that was answered before is no acknowledgement.
#[test]
fn a_fault_hits_the_current_leader_after_an_acknowledgement() {
    let mut aimed = in_group_of_five(Trigger::Acknowledgement, vec![part(Target::Leader, Harm::Isolate)]);
    assert_eq!(emit(&mut aimed, 10, 1, Event::Leads { term: 2 }), "");
    assert_eq!(emit(&mut aimed, 20, 1, answered(7)), "", "the fault is not armed yet");
    assert_eq!(emit(&mut aimed, 110, 3, Event::Leads { term: 3 }), "");
    assert_eq!(emit(&mut aimed, 120, 2, Event::Leads { term: 1 }), "", "an old leader");
    assert_eq!(emit(&mut aimed, 140, 3, answered(7)), "");
    assert_eq!(emit(&mut aimed, 150, 2, answered(8)), "cut 3 | rest at 152ms for 30ms\n");
    assert_eq!(emit(&mut aimed, 160, 3, answered(9)), "", "each fault happens once");
}

#[test]
fn a_fault_waits_for_a_leader_and_lapses() {
    let crash = Harm::Crash(UnsyncedSaves::Lost);
    let mut aimed = in_group_of_five(Trigger::AnyEvent, vec![part(Target::Leader, crash)]);
    emit(&mut aimed, 10, 1, Event::Leads { term: 2 });
    notify(&mut aimed, Time::ZERO + Duration::from_millis(20), node(1), &ClientEvent::Crashed);
    assert_eq!(emit(&mut aimed, 120, 2, answered(8)), "");
    assert_eq!(emit(&mut aimed, 1_001, 2, Event::Leads { term: 3 }), "");
}

/// The followers are hit in the order 4, 2, 5, after the one that caused the trigger.
#[test]
fn every_target_is_resolved_when_the_trigger_comes() {
    let all = [
        Target::Leader,
        Target::Follower,
        Target::Majority,
        Target::Minority,
        Target::FollowerMajority,
        Target::LeaderMinority,
        Target::All,
    ];
    let mut text = String::new();
    for target in all {
        let mut aimed =
            in_group_of_five(Trigger::Restoration, vec![part(target, Harm::Deafen), part(target, Harm::Pause)]);
        emit(&mut aimed, 10, 1, Event::Leads { term: 2 });
        let restored = Restoration { index: 5, time: LogTime::ZERO, state_fingerprint: 0 };
        let faults = emit(&mut aimed, 120, 3, Event::Restored(restored));
        text += &format!("{target:?}: {}\n", faults.replace(" at 122ms for 30ms\n", "; "));
    }
    expect![[r#"
        Leader: cut rest > 1; pause 1; 
        Follower: cut rest > 3; pause 3; 
        Majority: cut rest > 1,3,4; pause 1; pause 3; pause 4; 
        Minority: cut rest > 2,5; pause 2; pause 5; 
        FollowerMajority: cut rest > 2-4; pause 3; pause 4; pause 2; 
        LeaderMinority: cut rest > 1,5; pause 1; pause 5; 
        All: pause 1; pause 3; pause 4; pause 2; pause 5; 
    "#]]
    .assert_eq(&text);
}

/// Feeds random events to the faults of many seeds.
#[test]
fn every_aimed_fault_is_possible_and_ends_in_time() {
    let mut texts = BTreeSet::new();
    for (nodes, founders) in [(1, 1), (2, 2), (3, 3), (5, 3), (5, 5)] {
        for seed in 0..200 {
            let mut rng = SeededRng::new(seed, Stream::Workload);
            let mut aimed = AimedFaults::draw(seed, limits(nodes, founders));
            let (window_end, latest_end) = (aimed.window_end, aimed.latest_end().unwrap());
            let (mut now, mut term) = (Time::ZERO, 0);
            while now < window_end + TICK.times(2) {
                now += rng.between(Duration::ZERO, TICK);
                let node = NodeId::from_index(rng.below(founders as u64) as usize);
                term += 1;
                let event = match rng.below(5) {
                    0 => ClientEvent::Emitted(Event::Leads { term }),
                    1 => ClientEvent::Crashed,
                    2 => ClientEvent::Emitted(Event::Restored(Restoration {
                        index: term,
                        time: LogTime::ZERO,
                        state_fingerprint: 0,
                    })),
                    _ => ClientEvent::Emitted(answered(term)),
                };
                for timed in notify(&mut aimed, now, node, &event) {
                    timed.validate(nodes).unwrap_or_else(|error| panic!("{timed}: {error}"));
                    let (begin, duration) = (Time::ZERO + timed.at, timed.duration.unwrap());
                    assert!(now <= window_end && begin > now && duration > Duration::ZERO, "{timed}");
                    assert!(begin + duration <= latest_end, "{timed}");
                    texts.insert(timed.fault.to_string());
                }
            }
            assert!(aimed.waiting.is_empty());
        }
    }
    let kinds = ["crash 1", "crash 2 torn", "pause 3", "disk 2 full", "disk 3 fails"];
    let cuts = ["cut 1 | rest", "cut 1,2 | rest", "cut 2 > rest", "cut rest > 2"];
    for kind in kinds.into_iter().chain(cuts) {
        assert!(texts.contains(kind), "no {kind} in {texts:?}");
    }
}
