//! Members, step by step: changes, admissions, reports and format levels. The tests are named after
//! the rules at the head of `replica.rs`.

use crate::stepped::lose_nothing;
use crate::{members, node};
use quorate_core::{Durable as _, Incarnation, Input};
use quorate_replica::batch::Batch;
use quorate_replica::message::EntryBody;
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::settings::OldRelease;
use quorate_replica::{Addresses, Command, Durable, Event, FormatError, MemberRecord, Message, Refusal, Settings};

type Harness = crate::stepped::Harness<Registers>;

/// Replicas of which the first `founders` are voters, and that node 1 leads, with nothing in
/// flight.
fn settled(hosts: u32, founders: u32, change: impl FnOnce(Settings) -> Settings) -> Harness {
    let founders: Vec<u32> = (1..=founders).collect();
    let mut harness = Harness::with_settings(hosts, change(Settings::new(members(&founders, &[]))));
    harness.elect(1);
    harness.ticks(10);
    harness
}

/// Settings under which a replica that misses a few entries needs a snapshot.
fn with_short_logs(settings: Settings) -> Settings {
    Settings { checkpoint_every: 5, keep_entries: 1, ..settings }
}

const SWAP: Change = Change::Swap { key: 1, value: 7 };

fn is_piece(message: &Message) -> bool {
    matches!(message, Message::Piece(_))
}

fn is_report(message: &Message) -> bool {
    matches!(message, Message::Report(_))
}

impl Harness {
    fn has_halted(&self) -> bool {
        self.events.iter().any(|(_, event)| matches!(event, Event::Halted { .. }))
    }
}

#[test]
fn rp_9_only_a_leader_changes_members_one_change_at_a_time_and_to_valid_members() {
    let mut harness = settled(3, 3, |settings| settings);
    assert_eq!(harness.change(2, &[1, 2], &[]), Some(Refusal::NotLeader { leader: Some(node(1)) }));
    assert_eq!(harness.change(1, &[1, 2], &[2]), Some(Refusal::InvalidMembers));
    let [first, second] = [[1, 2], [1, 3]].map(|voters| harness.give_change(1, &voters, &[]));
    assert_eq!([first, second].map(|ticket| harness.refusal(ticket)), [None, Some(Refusal::ChangeInProgress)]);
    harness.deliver();
    assert!(matches!(harness.outcome(first), Some(Event::Changed { .. })));
    // A change to the present members is a change too.
    let [first, second] = [[1, 2], [1, 3]].map(|voters| harness.give_change(1, &voters, &[]));
    assert_eq!([first, second].map(|ticket| harness.refusal(ticket)), [None, Some(Refusal::ChangeInProgress)]);
    harness.deliver();
    assert!(matches!(harness.outcome(first), Some(Event::Changed { .. })));
}

/// Node 2 leads and has a change of the former leader in its log, which is not committed.
#[test]
fn rp_9_no_change_is_confirmed_while_that_of_a_former_leader_is_in_progress() {
    let mut harness = settled(3, 3, |settings| settings);
    harness.drop_rule = Box::new(|from, _, message| from == 2 && matches!(message, Message::AppendReply { .. }));
    harness.partitioned.insert(3);
    harness.give_change(1, &[1, 2], &[]);
    harness.deliver();
    harness.drop_rule = Box::new(|from, _, message| from == 2 && matches!(message, Message::Append { .. }));
    harness.partitioned = [1].into();
    harness.ticks(20);
    assert!(harness.leaders().contains(&2), "node 3 does not have the change, so node 2 does not vote for it");
    let change = harness.give_change(2, &[1, 2, 3], &[]);
    assert_eq!(harness.refusal(change), Some(Refusal::ChangeInProgress));
}

#[test]
fn rp_9_a_change_to_the_present_members_is_confirmed_by_a_majority() {
    let mut harness = settled(3, 3, |settings| settings);
    let confirmed = harness.give_change(1, &[1, 2, 3], &[]);
    harness.deliver();
    assert!(matches!(harness.outcome(confirmed), Some(Event::Changed { .. })));
    // An entry of before is committed, but the one that confirms the change is lost.
    harness.propose(1, Change::Write { key: 1, value: 1 });
    let in_flight = harness.messages.len();
    let unconfirmed = harness.give_change(1, &[1, 2, 3], &[]);
    harness.messages.truncate(in_flight);
    harness.drop_rule = Box::new(|from, _, message| from == 1 && matches!(message, Message::Append { .. }));
    harness.deliver();
    assert_eq!(harness.outcome(unconfirmed), None);
}

#[test]
fn rp_9_a_joint_change_is_reported_when_another_one_may_follow() {
    let mut harness = settled(5, 3, |settings| settings);
    assert_eq!(harness.change(1, &[1, 2, 3], &[4, 5]), None);
    let change = harness.give_change(1, &[1, 4, 5], &[]);
    while !matches!(harness.outcome(change), Some(Event::Changed { .. })) {
        let (from, to, message) = harness.messages.pop_front().expect("the change is complete");
        harness.receive(from, to, message);
    }
    let next = harness.give_change(1, &[1, 4], &[]);
    assert_eq!(harness.refusal(next), None);
}

#[test]
fn rp_9_a_leader_that_loses_its_leadership_does_not_know_the_outcome_of_a_change() {
    let mut harness = settled(3, 3, |settings| settings);
    harness.partitioned.insert(1);
    let change = harness.give_change(1, &[1, 2], &[]);
    harness.deliver();
    harness.ticks(40);
    assert_eq!(harness.outcome(change), Some(Event::Unknown { ticket: change }));
}

/// Node 3 is a learner, is removed, and becomes a learner again after it has lost its disk. Then a
/// late acknowledgement from before arrives.
#[test]
fn rp_9_acknowledgements_of_a_removed_learner_do_not_make_it_a_voter() {
    // With the first format level, a learner need not report itself to become a voter.
    let old_releases = (1..=3).flat_map(old_release).collect();
    let mut harness = Harness::with_old_releases(3, Settings::new(members(&[1, 2], &[])), old_releases);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    assert!(harness.write(1, 5));
    let (_, _, late) = harness
        .sent
        .iter()
        .rfind(|(from, _, message)| *from == 3 && matches!(message, Message::AppendReply { .. }))
        .cloned()
        .expect("node 3 has acknowledged the write");
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    harness.hosts.remove(&3);
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    harness.receive(3, 1, late);
    assert_eq!(harness.change(1, &[1, 2, 3], &[]), Some(Refusal::NotYetLearner(node(3))));
}

/// Node 3 installs a snapshot that has the learner already; later all voters restart from
/// checkpoints that have it.
#[test]
fn rp_9_every_leader_knows_which_learners_may_become_voters() {
    for restarts in [false, true] {
        let mut harness = settled(4, 3, with_short_logs);
        harness.partitioned.insert(3);
        assert_eq!(harness.change(1, &[1, 2, 3], &[4]), None);
        (0..20).for_each(|value| assert!(harness.write(1, value)));
        harness.partitioned.clear();
        harness.ticks(20);
        assert!(harness.sent.iter().any(|(_, receivers, message)| receivers[..] == [3] && is_piece(message)));
        if restarts {
            (1..=3).for_each(|number| harness.restart(number, 1));
            harness.ticks(20);
        } else {
            harness.request(1, 3, |_| Command::Transfer(node(3)));
            assert_eq!(harness.leaders(), [3]);
        }
        harness.ticks(10);
        let leader = harness.leaders()[0];
        assert_eq!(harness.change(leader, &[1, 2, 3, 4], &[]), None);
    }
}

/// Node 3 has lost its disk. The leader cannot reach node 2.
#[test]
fn rp_10_a_replica_without_a_log_does_not_confirm_the_leader() {
    let mut harness = settled(3, 3, |settings| settings);
    harness.boot(3, Durable::wiped(), 1);
    harness.partitioned.insert(2);
    let read = harness.request(1, 2, |ticket| Command::Query { ticket, query: Read { key: 1 } });
    assert_eq!(read, None);
}

/// Node 2 restarts while it waits for its snapshot, of which all pieces are lost.
#[test]
fn rp_10_a_learner_is_admitted_by_one_entry_even_if_it_restarts() {
    let mut harness = settled(2, 1, |settings| settings);
    harness.drop_rule = Box::new(|_, _, message| is_piece(message));
    assert_eq!(harness.change(1, &[1], &[2]), None);
    let index = harness.durable_index(1);
    harness.restart(2, 1);
    harness.ticks(20);
    assert_eq!((harness.durable_index(1), harness.applied_index(2)), (index, 0));
    harness.drop_rule = lose_nothing();
    harness.ticks(80);
    assert!(harness.applied_index(2) >= index);
}

#[test]
fn rp_10_a_voter_that_lost_its_disk_costs_no_entries() {
    let mut harness = settled(3, 3, |settings| settings);
    harness.boot(3, Durable::wiped(), 1);
    let index = harness.durable_index(1);
    harness.ticks(20);
    assert_eq!(harness.durable_index(1), index);
    assert!(harness.count_sent(3, |message| matches!(message, Message::AdmissionRequest { .. })) > 0);
}

/// The leader cannot commit the admission, for which node 4 asks again and again. It knows nothing
/// of that admission when it leads again.
#[test]
fn rp_10_an_admission_is_proposed_once_by_each_leader() {
    let mut harness = settled(4, 3, |settings| settings);
    harness.drop_rule = Box::new(|_, _, message| matches!(message, Message::AdmissionRequest { .. }));
    assert_eq!(harness.change(1, &[1, 2, 3], &[4]), None);
    harness.drop_rule = lose_nothing();
    harness.partitioned = [2, 3].into();
    let index = harness.durable_index(1);
    harness.ticks(6);
    assert_eq!(harness.durable_index(1), index + 1);
    harness.ticks(30);
    harness.partitioned = [1, 4].into();
    harness.ticks(30);
    let leader = harness.leaders()[0];
    harness.partitioned = [4].into();
    harness.ticks(10);
    harness.request(leader, 3, |_| Command::Transfer(node(1)));
    assert_eq!(harness.leaders(), [1]);
    harness.partitioned.clear();
    harness.ticks(20);
    assert!(harness.applied_index(4) > index);
}

fn old_release(number: u32) -> [(u32, OldRelease); 1] {
    [(number, OldRelease { level: 1, until: Incarnation(1) })]
}

#[test]
fn rp_10_a_replica_of_an_older_release_is_not_admitted_until_it_is_upgraded() {
    let settings = Settings::new(members(&[1], &[]));
    let mut harness = Harness::with_old_releases(2, settings, old_release(2).into());
    harness.elect(1);
    harness.ticks(5);
    let swap = harness.propose(1, SWAP);
    assert!(matches!(harness.outcome(swap), Some(Event::Answered { .. })), "{:?}", harness.outcome(swap));
    assert_eq!(harness.change(1, &[1], &[2]), None);
    harness.ticks(20);
    assert_eq!(harness.applied_index(2), 0);
    harness.restart(2, 2);
    harness.ticks(40);
    assert_eq!(harness.applied_index(2), harness.applied_index(1));
}

#[test]
fn rp_17_an_entry_carries_the_level_of_its_commands() {
    let mut harness = settled(1, 1, |settings| settings);
    harness.propose(1, SWAP);
    let last = harness.hosts[&1].durable.entries.last().cloned().unwrap();
    let EntryBody::Batch(bytes) = last.body else { panic!("{last:?}") };
    assert!(matches!(Batch::<Change>::read(&bytes, 1), Err(FormatError::NewerLevel { found_level: 2, .. })));
    assert!(Batch::<Change>::read(&bytes, 2).is_ok());
}

#[test]
fn rp_17_a_recorded_report_costs_no_messages_and_no_entries() {
    let mut harness = settled(3, 3, |settings| settings);
    let (index, reports) = (harness.durable_index(1), harness.count_sent(2, is_report));
    harness.ticks(20);
    assert_eq!(harness.count_sent(2, is_report), reports);
    harness.receive(2, 1, Message::Report(MemberRecord { address: None, level: 2 }));
    assert_eq!(harness.durable_index(1), index);
}

/// Removes node 3 and adds it again as a learner, which it does not notice.
fn replaced_unnoticed(harness: &mut Harness) {
    harness.partitioned.insert(3);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    (0..20).for_each(|value| assert!(harness.write(1, value)));
    let swap = harness.propose(1, SWAP);
    harness.deliver();
    assert!(matches!(harness.outcome(swap), Some(Event::Answered { .. })), "{:?}", harness.outcome(swap));
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    harness.partitioned.clear();
}

#[test]
fn rp_17_a_member_that_was_replaced_unnoticed_is_asked_for_its_report() {
    for shorten in [with_short_logs, |settings| settings] {
        let mut harness = settled(3, 3, shorten);
        replaced_unnoticed(&mut harness);
        harness.ticks(40);
        assert_eq!(harness.applied_index(3), harness.applied_index(1));
    }
}

#[test]
fn rp_17_a_member_of_an_older_release_gets_no_snapshot_until_it_is_upgraded() {
    let settings = with_short_logs(Settings::new(members(&[1, 2, 3], &[])));
    let mut harness = Harness::with_old_releases(3, settings, old_release(3).into());
    harness.elect(1);
    harness.ticks(10);
    replaced_unnoticed(&mut harness);
    harness.ticks(40);
    assert_eq!((harness.count_sent(1, is_piece), harness.has_halted()), (0, false));
    harness.restart(3, 2);
    harness.ticks(40);
    assert_eq!(harness.applied_index(3), harness.applied_index(1));
}

/// A voter that gets no entries could keep the entry with its record from being committed.
#[test]
fn rp_17_a_learner_becomes_a_voter_only_after_its_report() {
    let mut harness = settled(2, 1, |settings| settings);
    harness.drop_rule = Box::new(|_, _, message| is_report(message));
    assert_eq!(harness.change(1, &[1], &[2]), None);
    harness.ticks(20);
    assert!(harness.applied_index(2) > 0, "its admission takes its level into account");
    assert_eq!(harness.change(1, &[1, 2], &[]), Some(Refusal::NotYetLearner(node(2))));
    harness.drop_rule = lose_nothing();
    harness.ticks(5);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
}

#[test]
fn rp_17_addresses_that_came_with_a_change_are_reported_once_and_stay() {
    let mut harness = settled(2, 1, |settings| settings);
    let addresses = Addresses::from([(node(2), "host-2:7400".to_string())]);
    let expected = (members(&[1], &[2]), addresses.clone());
    harness.request(1, 40, |ticket| Command::Change { ticket, members: members(&[1], &[2]), addresses });
    for number in 1..=2 {
        let configured: Vec<_> = harness
            .events
            .iter()
            .filter_map(|(replica, event)| match event {
                Event::Configured { members, addresses, level } if *replica == number => {
                    Some((members.clone(), addresses.clone(), *level))
                }
                _ => None,
            })
            .collect();
        assert!(configured.windows(2).all(|pair| pair[0] != pair[1]), "{configured:?}");
        let (members, addresses, _) = configured.last().cloned().unwrap();
        assert_eq!((members, addresses), expected, "node {number}");
    }
}

#[test]
fn rp_11_the_leadership_goes_to_each_voter_in_turn_and_changes_are_refused() {
    let mut harness = settled(3, 3, |settings| settings);
    harness.step(2, Input::DiskFull);
    harness.step(1, Input::DiskFull);
    let change = harness.give_change(1, &[1, 2], &[]);
    assert_eq!(harness.refusal(change), Some(Refusal::DiskFull));
    harness.ticks(60);
    assert_eq!(harness.leaders(), [3]);
}
