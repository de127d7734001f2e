//! Failure scenarios, step by step: lost disks, delayed snapshots, old leaders, full disks, changed
//! settings. Tests named `rp_10_…` test rule RP-10, at the head of `replica.rs`, and so on.

use crate::stepped::{lose_nothing, lose_transfers};
use crate::{members, node};
use quorate_core::{Durable as _, Input};
use quorate_replica::message::LastCommit;
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Command, Durable, Event, Message, Proposal, ReadMode, Refusal, Settings};

type Harness = crate::stepped::Harness<Registers>;

/// Ticks that a test waits for the outcome of a read or write.
const ACCESS_TICKS: usize = 6;

impl Harness {
    /// Writes register 1, which all tests use. Returns whether the write succeeds.
    pub(crate) fn write(&mut self, replica: u32, value: u64) -> bool {
        let command = Change::Write { key: 1, value };
        let outcome =
            self.request(replica, ACCESS_TICKS, |ticket| Command::Propose(vec![Proposal { ticket, command }]));
        matches!(outcome, Some(Event::Answered { .. }))
    }

    /// Reads the register. Returns its value, or the refusal, or `Err(None)` without an outcome.
    pub(crate) fn read(&mut self, replica: u32) -> Result<Option<u64>, Option<Refusal>> {
        match self.request(replica, ACCESS_TICKS, |ticket| Command::Query { ticket, query: Read { key: 1 } }) {
            Some(Event::Answered { answer: Answer::Value(value), .. }) => Ok(value),
            Some(Event::Refused { refusal, .. }) => Err(Some(refusal)),
            Some(other) => panic!("{other:?}"),
            None => Err(None),
        }
    }
}

/// The late snapshot admits the first incarnation of node 3 as a learner, but not the next one.
#[test]
fn rp_10_a_late_copy_of_a_snapshot_does_not_admit_a_replica_that_lost_its_disk() {
    let mut harness = Harness::new(3, &[1, 2]);
    harness.elect(1);
    assert!(harness.write(1, 5));
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    let is_piece = |(_, _, message): &&(u32, Vec<u32>, Message)| matches!(message, Message::Piece(_));
    let (from, _, copy) = harness.sent.iter().rfind(is_piece).cloned().expect("a snapshot was sent");
    assert_eq!(harness.change(1, &[1, 2, 3], &[]), None);
    harness.partitioned.insert(2);
    assert!(harness.write(1, 777), "nodes 1 and 3 are a majority");
    // Node 3 loses its disk, and with it that write. A copy of the snapshot arrives late.
    harness.boot(3, Durable::wiped(), 1);
    harness.receive(from, 3, copy);
    harness.messages.clear();
    harness.partitioned = [1].into();
    harness.ticks(100);
    assert_eq!(harness.applied_index(3), 0);
    assert!(!harness.leaders().contains(&2), "a replica that lost its disk must not help to elect");
    harness.partitioned.clear();
    harness.ticks(100);
    let leader = harness.leaders()[0];
    assert_eq!(harness.read(leader), Ok(Some(777)));
}

#[test]
fn rp_10_an_old_leader_does_not_admit_a_replica_that_lost_its_disk() {
    let mut harness = Harness::new(4, &[1, 2, 3]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1, 2, 3], &[4]), None);
    let paused = harness.hosts.remove(&1).unwrap();
    harness.ticks(60);
    // One of nodes 2 and 3 leads now; `other` is the other one.
    let leader = harness.leaders()[0];
    let other = 5 - leader;
    assert_eq!(harness.change(leader, &[1, 2, 3, 4], &[]), None);
    assert_eq!(harness.change(leader, &[2, 3, 4], &[]), None);
    harness.partitioned.insert(other);
    assert!(harness.write(leader, 777));
    harness.boot(4, Durable::wiped(), 1);
    // The old leader continues, knows only the old members, and proposes a write to them and to its
    // learner, node 4.
    harness.partitioned.insert(leader);
    harness.hosts.insert(1, paused);
    harness.write(1, 9);
    harness.ticks(20);
    harness.partitioned = [leader].into();
    harness.ticks(100);
    assert_eq!(harness.applied_index(4), 0);
    assert!(!harness.leaders().contains(&other), "a replica that lost its disk must not help to elect");
}

#[test]
fn rp_10_a_replica_that_lost_its_disk_is_admitted_as_a_learner_with_its_new_incarnation() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
    (0..5).for_each(|value| assert!(harness.write(1, value)));
    harness.boot(3, Durable::wiped(), 1);
    harness.ticks(20);
    assert_eq!(harness.applied_index(3), 0);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    assert_eq!(harness.change(1, &[1, 2], &[3]), None);
    harness.ticks(20);
    assert_eq!(harness.read(3), Ok(Some(4)));
    assert_eq!(harness.change(1, &[1, 2, 3], &[]), None);
}

#[test]
fn rp_9_a_learner_that_lost_its_disk_is_not_made_a_voter() {
    let mut harness = Harness::new(2, &[1]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1], &[2]), None);
    harness.boot(2, Durable::wiped(), 1);
    harness.ticks(2);
    // The leader learns that the learner has no log, and admits it again. Only a voter would have
    // to be removed first.
    assert_eq!(harness.change(1, &[1, 2], &[]), Some(Refusal::NotYetLearner(node(2))));
    harness.ticks(40);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    assert!(harness.write(1, 1));
}

/// With the seed of `Settings::new`, the election timeout of the restarted node 1 is longer than 12
/// ticks. By then node 2's promise to it, which lasts for 9 ticks, has expired; so node 2 stays out
/// of the election only because it is no voter.
#[test]
fn only_voters_become_candidates() {
    let mut harness = Harness::new(2, &[1]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1], &[2]), None);
    harness.restart(1, 1);
    harness.ticks(8);
    assert_eq!(harness.leaders(), [0_u32; 0]);
    harness.campaign(2);
    assert!(!harness.leaders().contains(&2), "a learner must not lead");

    let mut harness = Harness::new(2, &[1, 2]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1], &[]), None);
    harness.restart(1, 1);
    harness.ticks(8);
    assert_eq!(harness.leaders(), [0_u32; 0]);
    harness.campaign(2);
    assert!(!harness.leaders().contains(&2), "a removed member must not lead");
}

#[test]
fn rp_11_a_leader_with_a_full_disk_offers_its_leadership_until_a_voter_takes_it() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
    harness.drop_rule = lose_transfers();
    harness.step(1, Input::DiskFull);
    harness.ticks(50);
    assert_eq!(harness.leaders(), [1]);
    harness.drop_rule = lose_nothing();
    harness.ticks(50);
    assert!(!harness.leaders().contains(&1), "{:?}", harness.leaders());
}

#[test]
fn rp_11_a_replica_with_a_full_disk_does_not_become_leader_and_refuses_queries_it_cannot_answer() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
    harness.step(2, Input::DiskFull);
    let ticks = 40;
    harness.request(1, ticks, |_| Command::Transfer(node(2)));
    assert_eq!(harness.leaders(), [1]);
    assert_eq!(harness.read(2), Ok(None));
    assert!(harness.write(1, 1));
    assert_eq!(harness.read(2), Err(Some(Refusal::DiskFull)));
    harness.step(2, Input::DiskFree);
    harness.ticks(20);
    assert_eq!(harness.read(2), Ok(Some(1)));
}

/// The leaders shortly after the leader's process has ended and another replica campaigns at once.
fn leaders_after_a_kill(reads: ReadMode, is_suspected: bool) -> Vec<u32> {
    let settings = Settings { reads, ..Settings::new(members(&[1, 2, 3], &[])) };
    let mut harness = Harness::with_settings(3, settings);
    harness.elect(1);
    harness.ticks(4);
    harness.hosts.remove(&1);
    for survivor in [2, 3].into_iter().filter(|_| is_suspected) {
        harness.step(survivor, Input::Suspect(node(1)));
    }
    harness.campaign(2);
    harness.leaders()
}

/// The reply of node 2 to a candidate, if any. `ticks_after_restart` pass after node 2 restarts.
fn vote_of_a_restarted_voter(reads: ReadMode, ticks_after_restart: usize) -> Option<bool> {
    let mut harness = Harness::with_settings(3, Settings { reads, ..Settings::new(members(&[1, 2, 3], &[])) });
    harness.elect(1);
    assert!(harness.write(1, 5));
    harness.restart(2, 1);
    harness.partitioned.insert(2);
    harness.ticks(ticks_after_restart);
    harness.messages.clear();
    // Far in the future of all logs and terms, so that only a promise can deny the vote.
    let commit = LastCommit::default();
    let candidate = Message::Vote { term: 9, is_pre_vote: false, is_forced: false, log_term: 9, index: 99, commit };
    harness.receive(3, 2, candidate);
    harness.messages.iter().find_map(|(_, _, message)| match message {
        Message::VoteReply { is_granted, .. } => Some(*is_granted),
        _ => None,
    })
}

#[test]
fn rp_19_a_restarted_voter_keeps_the_promise_of_its_last_incarnation() {
    for reads in [ReadMode::Quorum, ReadMode::Lease] {
        // A promise lasts for one tick less than the shortest election timeout, of eight ticks.
        assert_eq!(vote_of_a_restarted_voter(reads, 6), None, "{reads:?}: the promise still holds");
        assert_eq!(vote_of_a_restarted_voter(reads, 8), Some(true), "{reads:?}: the promise has expired");
    }
}

#[test]
fn rp_19_a_founder_that_starts_for_the_first_time_has_promised_nothing() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
}

#[test]
fn rp_13_a_suspicion_of_the_leader_ends_the_promise_to_it_but_not_under_leases() {
    const NO_LEADERS: [u32; 0] = [];
    let (suspected, unsuspected) = (true, false);
    assert_eq!(leaders_after_a_kill(ReadMode::Quorum, suspected), [2]);
    assert_eq!(leaders_after_a_kill(ReadMode::Quorum, unsuspected), NO_LEADERS);
    assert_eq!(leaders_after_a_kill(ReadMode::Lease, suspected), NO_LEADERS);
}

#[test]
fn rp_13_a_wrongly_suspected_leader_is_followed_again() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
    harness.step(2, Input::Suspect(node(1)));
    // A leader ignores a suspicion of itself.
    harness.step(1, Input::Suspect(node(1)));
    harness.ticks(6);
    assert_eq!(harness.leaders(), [1]);
    assert!(harness.write(1, 7));
    assert_eq!(harness.read(2), Ok(Some(7)));
}

#[test]
fn rp_5_a_removed_member_refuses_queries() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
    assert_eq!(harness.change(1, &[1, 2], &[]), None);
    harness.ticks(5);
    assert_eq!(harness.read(3), Err(Some(Refusal::NotMember)));
}

#[test]
fn the_founders_matter_only_at_the_first_start() {
    let mut harness = Harness::new(3, &[1, 2, 3]);
    harness.elect(1);
    assert!(harness.write(1, 1));
    harness.partitioned = [1].into();
    harness.settings.founders = members(&[1], &[]);
    harness.restart(1, 1);
    harness.ticks(60);
    assert!(!harness.leaders().contains(&1), "a restarted founder must not found the group again");
}

#[test]
fn with_a_drift_bound_of_100_percent_writes_and_reads_succeed_without_a_lease() {
    let settings = Settings { reads: ReadMode::Lease, drift_ppm: 1_000_000, ..Settings::new(members(&[1], &[])) };
    let mut harness = Harness::with_settings(1, settings);
    harness.elect(1);
    assert!(harness.write(1, 1));
    assert_eq!(harness.read(1), Ok(Some(1)));
}
