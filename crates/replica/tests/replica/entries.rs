//! The way of entries, step by step: how many entries, messages and saves commands cost, what waits
//! for which disk, and what checkpoints and snapshots carry. The tests are named after the rules at
//! the head of `replica.rs`.

use crate::{members, node};
use quorate_core::{Incarnation, Input};
use quorate_replica::members::Configuration;
use quorate_replica::message::{SnapshotId, SnapshotPiece};
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::settings::OldRelease;
use quorate_replica::{Addresses, Audit, Command, Event, Message, Refusal, Settings};

type Harness = crate::stepped::Harness<Registers>;

/// Three replicas that node 1 leads, with nothing in flight.
fn settled(change: impl FnOnce(Settings) -> Settings) -> Harness {
    let mut harness = Harness::with_settings(3, change(Settings::new(members(&[1, 2, 3], &[]))));
    harness.elect(1);
    harness.ticks(10);
    harness
}

/// Settings under which a replica that misses a few entries needs a snapshot in several pieces.
fn with_short_logs(settings: Settings) -> Settings {
    Settings { checkpoint_every: 5, keep_entries: 1, piece_bytes: 16, ..settings }
}

fn write(value: u64) -> Change {
    Change::Write { key: 1, value }
}

impl Harness {
    fn is_answered(&self, ticket: quorate_replica::Ticket) -> bool {
        matches!(self.outcome(ticket), Some(Event::Answered { .. }))
    }

    fn has_equal_logs(&self) -> bool {
        self.hosts.keys().all(|number| self.applied_index(*number) == self.applied_index(1))
    }
}

fn is_announcement(message: &Message) -> bool {
    matches!(message, Message::Append { entries, .. } if entries.is_empty())
}

fn is_piece(message: &Message) -> bool {
    matches!(message, Message::Piece(_))
}

#[test]
fn rp_1_two_entries_are_in_flight_and_later_commands_share_the_next_one() {
    let mut harness = settled(|settings| settings);
    let before = harness.durable_index(1);
    let tickets: Vec<_> = (0..5).map(|value| harness.propose(1, write(value))).collect();
    assert_eq!(harness.durable_index(1), before + 2);
    harness.deliver();
    assert_eq!(harness.durable_index(1), before + 3);
    assert!(tickets.into_iter().all(|ticket| harness.is_answered(ticket)));
}

#[test]
fn rp_1_pending_commands_and_queries_are_bounded() {
    let mut harness = settled(|settings| Settings { max_pending_requests: 2, ..settings });
    let commands = [1, 2, 3].map(|value| harness.propose(1, write(value)));
    let queries = [1, 2, 3].map(|_| harness.give(1, |ticket| Command::Query { ticket, query: Read { key: 1 } }));
    for tickets in [commands, queries] {
        assert_eq!(tickets.map(|ticket| harness.refusal(ticket)), [None, None, Some(Refusal::Busy)]);
    }
}

#[test]
fn rp_1_and_9_a_leader_that_offers_its_leadership_refuses_commands_and_changes() {
    let mut harness = settled(|settings| settings);
    harness.drop_rule = crate::stepped::lose_transfers();
    harness.request(1, 0, |_| Command::Transfer(node(2)));
    let [command, change] = [harness.propose(1, write(5)), harness.give_change(1, &[1, 2], &[])];
    assert_eq!([command, change].map(|ticket| harness.refusal(ticket)), [Some(Refusal::TransferInProgress); 2]);
}

/// A replica that waits for its disk runs no election timeout, so raft still names the leader.
#[test]
fn rp_1_a_replica_without_contact_names_no_leader() {
    let mut harness = settled(|settings| settings);
    harness.host(2).is_disk_blocked = true;
    harness.write(1, 5);
    harness.partitioned.insert(2);
    harness.ticks(30);
    let ticket = harness.propose(2, write(6));
    assert_eq!(harness.refusal(ticket), Some(Refusal::NotLeader { leader: None }));
}

#[test]
fn rp_2_and_3_an_entry_is_committed_once_a_majority_of_disks_has_confirmed_it() {
    for blocked in [1, 2] {
        let mut harness = settled(|settings| settings);
        harness.partitioned.insert(3);
        harness.host(blocked).is_disk_blocked = true;
        let ticket = harness.propose(1, write(5));
        harness.deliver();
        assert!(!harness.is_answered(ticket), "the disk of node {blocked} has not confirmed the entry");
        harness.unblock_disk(blocked);
        harness.deliver();
        assert!(harness.is_answered(ticket), "node {blocked}");
    }
}

#[test]
fn rp_2_followers_save_an_entry_before_the_leaders_disk_confirms_it() {
    let mut harness = settled(|settings| settings);
    let before = harness.durable_index(1);
    harness.host(1).is_disk_blocked = true;
    harness.propose(1, write(5));
    harness.deliver();
    assert_eq!([1, 2, 3].map(|number| harness.durable_index(number)), [before, before + 1, before + 1]);
}

#[test]
fn rp_2_a_leader_by_its_own_vote_alone_sends_nothing_before_the_vote_is_saved() {
    let mut harness = Harness::new(2, &[1]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1], &[2]), None);
    harness.restart(1, 1);
    harness.host(1).is_disk_blocked = true;
    let is_from_leader = |message: &Message| matches!(message, Message::Append { .. } | Message::Heartbeat { .. });
    let before = harness.count_sent(1, is_from_leader);
    harness.ticks(20);
    assert_eq!(harness.count_sent(1, is_from_leader), before);
    harness.unblock_disk(1);
    harness.ticks(5);
    assert!(harness.write(1, 5) && harness.count_sent(1, is_from_leader) > before);
}

#[test]
fn rp_2_a_commit_index_costs_no_save_of_its_own() {
    let mut harness = settled(|settings| settings);
    harness.propose(1, write(5));
    harness.deliver();
    let (saves, applied) = (harness.saves(2), harness.applied_index(2));
    let (term, commit) = (harness.term(), harness.applied_index(1));
    harness.receive(1, 2, Message::Heartbeat { term, commit, round: None });
    assert_eq!((harness.saves(2), harness.applied_index(2)), (saves, applied + 1));
}

#[test]
fn rp_2_an_append_goes_to_all_followers_at_once() {
    let mut harness = settled(|settings| settings);
    harness.sent.clear();
    harness.propose(1, write(5));
    let appends: Vec<_> = harness.sent.iter().map(|(_, receivers, _)| receivers.clone()).collect();
    assert_eq!(appends, [[2, 3]]);
}

#[test]
fn rp_7_a_peer_that_lags_a_little_gets_entries_and_no_snapshot() {
    let mut harness = settled(|settings| Settings { checkpoint_every: 5, keep_entries: 5, ..settings });
    harness.partitioned.insert(3);
    (0..5).for_each(|value| assert!(harness.write(1, value)));
    harness.partitioned.clear();
    harness.ticks(10);
    assert!(harness.has_equal_logs());
    assert_eq!(harness.count_sent(1, is_piece), 0);
}

#[test]
fn rp_7_a_replica_with_a_full_disk_saves_no_checkpoint() {
    let mut harness = settled(|settings| Settings { checkpoint_every: 1, ..settings });
    let applied = harness.applied_index(1);
    harness.propose(1, write(5));
    harness.drop_rule = crate::stepped::lose_transfers();
    harness.step(1, Input::DiskFull);
    let saves = harness.saves(1);
    harness.deliver();
    assert_eq!((harness.applied_index(1), harness.saves(1)), (applied + 1, saves));
    harness.step(1, Input::DiskFree);
    assert_eq!(harness.saves(1), saves + 1);
}

/// Node 3 is removed and added again while it is partitioned. A snapshot from before does not have
/// it among the members.
#[test]
fn rp_7_a_peer_gets_a_snapshot_with_the_present_members() {
    let founders = Settings::new(members(&[1, 2, 3], &[]));
    let settings = Settings { checkpoint_every: 10, ..with_short_logs(founders) };
    // With the first format level, members need not report anything, so no report outdates the
    // checkpoint.
    let old_release = OldRelease { level: 1, until: Incarnation(9) };
    let mut harness = Harness::with_old_releases(3, settings, (1..=3).map(|number| (number, old_release)).collect());
    harness.elect(1);
    harness.partitioned.insert(3);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    (0..25).for_each(|value| assert!(harness.write(1, value)));
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    harness.partitioned.clear();
    harness.ticks(20);
    assert!(harness.has_equal_logs());
}

/// Three replicas of which node 3 needs a snapshot.
fn lagging(change: impl FnOnce(&mut Harness)) -> Harness {
    let mut harness = settled(|settings| Settings { audit: true, ..with_short_logs(settings) });
    harness.partitioned.insert(3);
    change(&mut harness);
    (0..20).for_each(|value| assert!(harness.write(1, value)));
    harness.partitioned.clear();
    harness
}

#[test]
fn rp_8_a_snapshot_whose_pieces_are_all_lost_is_sent_again_later() {
    let mut harness = lagging(|_| {});
    harness.drop_rule = Box::new(|_, _, message| is_piece(message));
    harness.ticks(60);
    assert!(harness.count_sent(1, is_piece) > 0 && !harness.has_equal_logs());
    harness.drop_rule = crate::stepped::lose_nothing();
    harness.ticks(40);
    assert!(harness.has_equal_logs());
}

/// A piece that contains a whole snapshot, which no replica can decode.
fn undecodable_snapshot(term: u64) -> Message {
    let snapshot = SnapshotId { term, index: 900, log_term: 1 };
    let members = Configuration::founding(members(&[1, 2, 3], &[]));
    let bytes = vec![1; 9].into();
    Message::Piece(SnapshotPiece { snapshot, members, snapshot_bytes: 9, offset_bytes: 0, bytes })
}

#[test]
fn rp_8_a_snapshot_that_cannot_be_decoded_changes_nothing() {
    let mut harness = settled(|settings| settings);
    let leads =
        harness.events.iter().find_map(|(_, event)| if let Event::Leads { term } = event { Some(*term) } else { None });
    harness.receive(1, 3, undecodable_snapshot(leads.unwrap()));
    assert!(!harness.events.iter().any(|(_, event)| matches!(event, Event::Halted { .. })));
    assert!(harness.write(1, 5) && harness.has_equal_logs());
}

#[test]
fn rp_8_the_snapshot_of_an_old_leader_gets_no_reply() {
    let mut harness = settled(|settings| settings);
    let replies = |harness: &Harness| harness.count_sent(3, |message| matches!(message, Message::PieceReply { .. }));
    let first_term = 1;
    harness.receive(1, 3, undecodable_snapshot(first_term));
    assert_eq!(replies(&harness), 0);
}

#[test]
fn rp_8_a_former_leader_stops_sending_its_snapshots() {
    let mut harness = lagging(|_| {});
    harness.drop_rule = Box::new(|from, _, message| from == 3 && matches!(message, Message::PieceReply { .. }));
    harness.ticks(4);
    let (_, _, reply) = harness
        .sent
        .iter()
        .rfind(|(from, _, message)| *from == 3 && matches!(message, Message::PieceReply { .. }))
        .cloned()
        .expect("a piece was sent");
    harness.request(1, 0, |_| Command::Transfer(node(2)));
    assert_eq!(harness.leaders(), [2]);
    let pieces = harness.count_sent(1, is_piece);
    harness.receive(3, 1, reply);
    harness.ticks(20);
    assert_eq!(harness.count_sent(1, is_piece), pieces);
}

#[test]
fn rp_8_a_snapshot_restores_the_state_the_log_time_and_the_addresses_at_its_index() {
    let addresses = Addresses::from([(node(4), "host-4:7400".to_string())]);
    let expected = (members(&[1, 2, 3], &[4]), addresses.clone());
    let mut harness = lagging(|harness| {
        let members = members(&[1, 2, 3], &[4]);
        let change = harness.request(1, 5, |ticket| Command::Change { ticket, members, addresses });
        assert!(matches!(change, Some(Event::Changed { .. })), "{change:?}");
    });
    harness.ticks(20);
    assert!(harness.has_equal_logs());
    let restored = harness.events.iter().rev().find_map(|(number, event)| match event {
        Event::Restored(restored) if *number == 3 => Some(*restored),
        _ => None,
    });
    let restored = restored.unwrap();
    let audits = harness.events.iter().filter_map(|(number, event)| match event {
        Event::Applied { audit, .. } if *number == 1 => Some(*audit),
        _ => None,
    });
    let Audit { time, state_fingerprint, .. } = audits.into_iter().find(|audit| audit.index == restored.index).unwrap();
    assert_eq!((restored.time, restored.state_fingerprint), (time, state_fingerprint));
    let configured = harness.events.iter().rev().find_map(|(number, event)| match event {
        Event::Configured { members, addresses, .. } if *number == 3 => Some((members.clone(), addresses.clone())),
        _ => None,
    });
    assert_eq!(configured, Some(expected));
}

/// The last entry of node 1 is in the log of node 2, which has not applied it when it leads.
#[test]
fn rp_12_a_new_leader_continues_the_log_time_of_its_log() {
    let mut harness = settled(|settings| Settings { audit: true, ..settings });
    harness.ticks(20);
    harness.drop_rule = Box::new(|_, _, message| is_announcement(message));
    harness.propose(1, write(5));
    harness.deliver();
    harness.drop_rule = crate::stepped::lose_nothing();
    harness.hosts.remove(&1);
    for witness in [2, 3] {
        harness.step(witness, Input::Suspect(node(1)));
    }
    harness.ticks(2);
    assert!(harness.write(2, 6));
    let times = harness.events.iter().filter_map(|(number, event)| match event {
        Event::Applied { audit, .. } if *number == 3 => Some(audit.time),
        _ => None,
    });
    assert!(times.is_sorted(), "log time went back");
}
