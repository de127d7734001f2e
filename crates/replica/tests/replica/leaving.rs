//! Members that leave, and voters that stand at the same time, step by step. The tests are named
//! after the rules at the head of `replica.rs`.

use crate::stepped::lose_nothing;
use crate::{members, node};
use quorate_core::{Incarnation, Input};
use quorate_replica::registers::{Read, Registers};
use quorate_replica::settings::OldRelease;
use quorate_replica::{Command, Event, Message, ReadMode, Refusal, Settings, Timer};

type Harness = crate::stepped::Harness<Registers>;

fn settled(hosts: u32, founders: u32, reads: ReadMode) -> Harness {
    let founders: Vec<u32> = (1..=founders).collect();
    let mut harness = Harness::with_settings(hosts, Settings { reads, ..Settings::new(members(&founders, &[])) });
    harness.elect(1);
    harness.ticks(10);
    harness
}

fn query(harness: &mut Harness, replica: u32, ticks: usize) -> Option<Event<Registers>> {
    harness.request(replica, ticks, |ticket| Command::Query { ticket, query: Read { key: 1 } })
}

/// Nothing is lost. The removed voter runs for another 30 ticks.
#[test]
fn rp_9_a_removed_voter_refuses_later_requests() {
    let mut harness = settled(3, 3, ReadMode::Quorum);
    // The leader's own command: no follower waits for it.
    assert!(harness.write(1, 5));
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    assert_eq!(harness.count_sent(1, |message| matches!(message, Message::NotMember { .. })), 1);
    harness.ticks(30);
    let outcome = query(&mut harness, 3, 200);
    assert!(outcome.is_some(), "waits forever");
}

/// The same, but the new commit index does not reach the removed voter.
#[test]
fn rp_9_a_removed_voter_that_missed_the_notice_refuses_requests() {
    let mut harness = settled(3, 3, ReadMode::Quorum);
    harness.partitioned.insert(3);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    harness.partitioned.clear();
    let outcome = query(&mut harness, 3, 200);
    assert!(outcome.is_some(), "waits forever");
}

/// A learner is partitioned while it is removed and the leadership moves.
#[test]
fn rp_9_a_removed_learner_refuses_requests_although_the_leader_changed() {
    let mut harness = settled(3, 2, ReadMode::Quorum);
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    harness.ticks(20);
    assert!(query(&mut harness, 3, 5).is_some());
    harness.partitioned.insert(3);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    harness.request(1, 3, |_| Command::Transfer(node(2)));
    assert_eq!(harness.leaders(), [2]);
    harness.partitioned.clear();
    assert!(query(&mut harness, 3, 200).is_some(), "waits forever");
}

/// A learner is removed and added again. The voters restart before they save the commit index of
/// that addition.
#[test]
fn rp_9_a_leader_that_has_not_applied_its_log_dismisses_no_member() {
    let old = OldRelease { level: 1, until: Incarnation(9) };
    let old_releases = (1..=4).map(|number| (number, old)).collect();
    let mut harness = Harness::with_old_releases(4, Settings::new(members(&[1, 2, 3], &[])), old_releases);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1, 2, 3], &[4]), None);
    harness.ticks(20);
    harness.partitioned.insert(4);
    assert_eq!(harness.change(1, &[1, 2, 3], &[]), None);
    assert_eq!(harness.change(1, &[1, 2, 3], &[4]), None);
    harness.partitioned.clear();
    harness.drop_rule = Box::new(|_, _, message| matches!(message, Message::Report(_)));
    harness.ticks(6);
    assert_eq!(harness.applied_index(4), harness.applied_index(1));
    assert!(matches!(query(&mut harness, 4, 3), Some(Event::Answered { .. })));
    (1..=3).for_each(|number| harness.restart(number, 1));
    harness.ticks(7);
    harness.give(1, |_| Command::Campaign);
    while !harness.leaders().contains(&1) {
        let (from, to, message) = harness.messages.pop_front().expect("an election");
        harness.receive(from, to, message);
    }
    let ticket = harness.give(4, |ticket| Command::Query { ticket, query: Read { key: 1 } });
    let question = harness.messages.iter().position(|(from, _, _)| *from == 4).expect("node 4 still follows node 1");
    let (from, to, message) = harness.messages.remove(question).unwrap();
    harness.sent.clear();
    harness.receive(from, to, message);
    harness.deliver();
    harness.ticks(20);
    assert_ne!(harness.refusal(ticket), Some(Refusal::NotMember), "node 4 is a member");
}

/// The leader crashes while the removal of node 2 is in progress; node 2 is elected and commits it.
#[test]
fn rp_9_a_new_leader_that_an_inherited_change_removes_hands_over() {
    let mut harness = settled(5, 5, ReadMode::Quorum);
    harness.drop_rule = Box::new(|_, to, message| to == 1 && matches!(message, Message::AppendReply { .. }));
    harness.give_change(1, &[1, 3, 4, 5], &[]);
    harness.deliver();
    harness.drop_rule = lose_nothing();
    harness.hosts.remove(&1);
    harness.messages.clear();
    (2..=5).for_each(|witness| harness.step(witness, Input::Suspect(node(1))));
    harness.ticks(3);
    assert!(harness.events.iter().any(|(number, event)| *number == 2 && matches!(event, Event::Leads { .. })));
    harness.ticks(4);
    assert!(!harness.leaders().is_empty(), "no leader until an election timeout");
}

/// Node 1 leads, does not, and leads again. Its first append to node 3 is lost.
#[test]
fn rp_2_an_acknowledgement_of_an_earlier_term_leaves_out_no_heartbeat() {
    let mut harness = settled(3, 3, ReadMode::Quorum);
    harness.propose(1, quorate_replica::registers::Change::Write { key: 1, value: 5 });
    harness.deliver();
    harness.request(1, 0, |_| Command::Transfer(node(2)));
    assert_eq!(harness.leaders(), [2]);
    harness.drop_rule = Box::new(|from, to, message| (from, to) == (1, 3) && matches!(message, Message::Append { .. }));
    harness.request(2, 0, |_| Command::Transfer(node(1)));
    assert_eq!(harness.leaders(), [1]);
    harness.sent.clear();
    harness.ticks(2);
    let heartbeats = |to: u32| {
        let sent = harness.sent.iter().filter(|(from, receivers, message)| {
            *from == 1 && receivers.contains(&to) && matches!(message, Message::Heartbeat { .. })
        });
        sent.count()
    };
    assert_eq!(heartbeats(3), 1, "node 3 has acknowledged nothing in this term");
}

/// Node 2 has crashed, and the leader knows it.
#[test]
fn rp_9_a_leader_that_leaves_offers_its_leadership_to_no_crashed_voter() {
    let mut harness = settled(3, 3, ReadMode::Quorum);
    harness.hosts.remove(&2);
    harness.step(1, Input::Suspect(node(2)));
    harness.step(3, Input::Suspect(node(2)));
    let change = harness.give_change(1, &[2, 3], &[]);
    harness.deliver();
    assert_eq!(harness.refusal(change), Some(Refusal::TransferInProgress));
    harness.ticks(2);
    assert_eq!(harness.leaders(), [3], "node 1 takes no commands until the offer expires");
}

/// The ticks from the crash of node 1 to the next leader; `None` if there is none within 200 ticks.
/// Messages take a quarter of a tick. Node 2 learns of the crash `suspicion_delay` ticks after node
/// 3. Without `last_heartbeat_to_2`, node 1 crashes after it has sent its last heartbeat to node 3
/// and before it sends it to node 2.
fn ticks_to_a_leader(reads: ReadMode, last_heartbeat_to_2: bool, suspicion_delay: usize) -> Option<usize> {
    let mut harness = settled(3, 3, reads);
    let beats = |harness: &Harness| harness.count_sent(1, |message| matches!(message, Message::Heartbeat { .. }));
    let before = beats(&harness);
    while beats(&harness) == before {
        harness.ticks(1);
    }
    // The next heartbeat is two ticks later.
    if !last_heartbeat_to_2 {
        harness.drop_rule = Box::new(|from, to, _| (from, to) == (1, 2));
    }
    harness.ticks(2);
    harness.drop_rule = lose_nothing();
    harness.hosts.remove(&1);
    harness.messages.clear();
    harness.step(3, Input::Suspect(node(1)));
    if suspicion_delay == 0 {
        harness.step(2, Input::Suspect(node(1)));
    }
    let quarter = i64::try_from(harness.settings.tick.nanos() / 4).unwrap();
    for quarters in 1..=4 * 200 {
        harness.now += quarter;
        let arriving: Vec<_> = harness.messages.drain(..).collect();
        for number in [2, 3] {
            harness.turn(number, Vec::new());
            if quarters % 4 == 0 {
                harness.step(number, Input::Timer(Timer::Tick));
            }
        }
        if suspicion_delay > 0 && quarters == 4 * suspicion_delay {
            harness.step(2, Input::Suspect(node(1)));
        }
        for (from, to, message) in arriving {
            harness.receive(from, to, message);
        }
        if !harness.leaders().is_empty() {
            return Some(quarters / 4);
        }
    }
    None
}

/// The ticks from the crash of node 1 to the next leader. Node 2 learns of it two ticks and `skew`
/// sixteenths of a tick after node 3. Messages take half a tick.
fn ticks_to_a_leader_with_skew(skew: i64) -> Option<i64> {
    let mut harness = settled(3, 3, ReadMode::Quorum);
    harness.hosts.remove(&1);
    harness.messages.clear();
    let part = i64::try_from(harness.settings.tick.nanos() / 16).unwrap();
    harness.step(3, Input::Suspect(node(1)));
    let mut in_flight: Vec<(i64, (u32, u32, Message))> = Vec::new();
    for parts in 1..=16 * 200 {
        harness.now += part;
        if parts == 32 + skew {
            harness.step(2, Input::Suspect(node(1)));
        }
        for number in [2, 3] {
            harness.turn(number, Vec::new());
            if parts % 16 == 0 {
                harness.step(number, Input::Timer(Timer::Tick));
            }
        }
        in_flight.extend(harness.messages.drain(..).map(|message| (parts + 8, message)));
        let (arriving, later): (Vec<_>, Vec<_>) = in_flight.into_iter().partition(|(at, _)| *at <= parts);
        in_flight = later;
        for (_, (from, to, message)) in arriving {
            harness.receive(from, to, message);
        }
        in_flight.extend(harness.messages.drain(..).map(|message| (parts + 8, message)));
        if !harness.leaders().is_empty() {
            return Some(parts / 16);
        }
    }
    None
}

#[test]
fn rp_13_voters_that_stand_half_a_message_apart_do_not_split_the_votes_forever() {
    let times: Vec<_> = (-16..=16).step_by(2).map(|skew| (skew, ticks_to_a_leader_with_skew(skew))).collect();
    assert!(times.iter().all(|(_, time)| time.is_some_and(|ticks| ticks <= 30)), "{times:?}");
}

#[test]
fn rp_13_voters_that_stand_at_the_same_time_do_not_split_the_votes_forever() {
    let lease = ReadMode::Lease;
    let times = [
        ticks_to_a_leader(lease, true, 0),
        ticks_to_a_leader(lease, false, 0),
        ticks_to_a_leader(ReadMode::Quorum, true, 0),
        ticks_to_a_leader(ReadMode::Quorum, true, 1),
        ticks_to_a_leader(ReadMode::Quorum, true, 2),
    ];
    assert!(times.iter().all(|time| time.is_some_and(|ticks| ticks <= 30)), "{times:?}");
}

/// Node 3 is removed and added again before the notice arrives.
#[test]
fn rp_9_a_late_notice_ends_no_request_of_a_member() {
    let old = OldRelease { level: 1, until: Incarnation(9) };
    let old_releases = (1..=3).map(|number| (number, old)).collect();
    let mut harness = Harness::with_old_releases(3, Settings::new(members(&[1, 2, 3], &[])), old_releases);
    harness.elect(1);
    harness.ticks(10);
    harness.drop_rule = Box::new(|_, _, message| matches!(message, Message::NotMember { .. }));
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    harness.ticks(20);
    assert_eq!(harness.applied_index(3), harness.applied_index(1));
    let ticket = harness.give(3, |ticket| Command::Query { ticket, query: Read { key: 1 } });
    harness.receive(1, 3, Message::NotMember { index: harness.applied_index(3) - 1 });
    harness.deliver();
    harness.ticks(10);
    assert!(matches!(harness.outcome(ticket), Some(Event::Answered { .. })), "{:?}", harness.outcome(ticket));
}
