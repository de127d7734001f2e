//! The leadership, step by step: promises, campaigns for a crashed leader, transfers. The tests are
//! named after the rules at the head of `replica.rs`.

use crate::node;
use crate::stepped::{lose_nothing, lose_transfers};
use quorate_core::Input;
use quorate_replica::message::LastCommit;
use quorate_replica::registers::{Change, Read, Registers};
use quorate_replica::{Command, Event, Message, ReadMode, Refusal, Settings};

type Harness = crate::stepped::Harness<Registers>;

/// Replicas that all are voters, and that node 1 leads.
fn settled(voters: u32, reads: ReadMode) -> Harness {
    let numbers: Vec<u32> = (1..=voters).collect();
    let mut harness =
        Harness::with_settings(voters, Settings { reads, ..Settings::new(crate::members(&numbers, &[])) });
    harness.elect(1);
    harness.ticks(10);
    harness
}

impl Harness {
    /// Ends the process of a replica. These survivors notice, in this order.
    fn kill(&mut self, victim: u32, witnesses: &[u32]) {
        self.hosts.remove(&victim);
        self.messages.clear();
        self.suspect(victim, witnesses);
    }

    fn suspect(&mut self, suspected: u32, witnesses: &[u32]) {
        witnesses.iter().for_each(|witness| self.step(*witness, Input::Suspect(node(suspected))));
    }

    fn has_retired(&self, number: u32) -> bool {
        self.events.contains(&(number, Event::Retired))
    }

    /// The answer to a read that needs no message.
    fn leased_read(&mut self, replica: u32) -> bool {
        let ticket = self.give(replica, |ticket| Command::Query { ticket, query: Read { key: 1 } });
        matches!(self.outcome(ticket), Some(Event::Answered { .. }))
    }
}

fn is_vote(message: &Message) -> bool {
    matches!(message, Message::Vote { .. })
}

/// Node 2 has a promise to the leader, whose lease depends on it. Node 3's promise has expired.
#[test]
fn rp_19_a_replica_that_has_promised_does_not_campaign() {
    let mut harness = settled(3, ReadMode::Lease);
    harness.partitioned.insert(3);
    harness.ticks(20);
    assert!(harness.leased_read(1));
    harness.partitioned = [1].into();
    harness.request(2, 1, |_| Command::Campaign);
    assert_eq!(harness.leaders(), [1]);
}

/// The replies to a round take six ticks, so that the lease of the round before it has expired. The
/// promises count from before them, and so must the lease.
#[test]
fn rp_6_a_lease_ends_before_another_replica_leads_although_the_replies_were_slow() {
    let mut harness = settled(3, ReadMode::Lease);
    let is_reply = |message: &Message| matches!(message, Message::HeartbeatReply { round: Some(_), .. });
    harness.drop_rule = Box::new(move |_, _, message| is_reply(message));
    harness.sent.clear();
    while harness.count_sent(2, is_reply) == 0 {
        harness.ticks(1);
    }
    harness.drop_rule = Box::new(|from, to, _| from == 1 || to == 1);
    let replies: Vec<_> = harness.sent.iter().filter(|(_, _, message)| is_reply(message)).cloned().collect();
    let slow_ticks = 6;
    harness.ticks(slow_ticks);
    assert!(!harness.leased_read(1));
    for (from, _, reply) in replies {
        harness.receive(from, 1, reply);
    }
    assert!(harness.leased_read(1), "the round has confirmed the leader");
    let election_ticks = 8;
    harness.ticks(election_ticks - slow_ticks);
    assert_eq!(harness.leaders().len(), 2, "node 1 has not noticed that another replica leads");
    assert!(!harness.leased_read(1));
}

/// The other voters keep no promise to a leader that transfers its leadership.
#[test]
fn rp_6_a_leader_has_no_lease_after_it_has_offered_its_leadership() {
    let mut harness = settled(3, ReadMode::Lease);
    assert!(harness.leased_read(1));
    harness.drop_rule = Box::new(|_, to, _| to == 1);
    harness.request(1, 0, |_| Command::Transfer(node(2)));
    assert_eq!(harness.leaders(), [1, 2]);
    assert!(!harness.leased_read(1));
}

#[test]
fn rp_19_a_message_of_an_old_leader_makes_no_promise() {
    let mut harness = settled(3, ReadMode::Quorum);
    let old_term = harness.term();
    harness.request(1, 0, |_| Command::Transfer(node(2)));
    harness.partitioned = [2].into();
    let promise_ticks = 8;
    for _ in 0..promise_ticks {
        harness.ticks(1);
        harness.receive(1, 3, Message::Heartbeat { term: old_term, commit: 1, round: None });
    }
    harness.sent.clear();
    // Far in the future of all logs and terms, so that only a promise can deny the vote.
    let commit = LastCommit::default();
    let vote = Message::Vote { term: 99, is_pre_vote: false, is_forced: false, log_term: 98, index: 999, commit };
    harness.receive(1, 3, vote);
    let is_granted = |message: &Message| matches!(message, Message::VoteReply { is_granted: true, .. });
    assert_eq!(harness.count_sent(3, is_granted), 1);
}

#[test]
fn rp_6_a_leader_that_has_offered_its_leadership_begins_no_rounds_for_a_lease() {
    let mut harness = settled(3, ReadMode::Lease);
    harness.drop_rule = lose_transfers();
    harness.request(1, 3, |_| Command::Transfer(node(2)));
    let is_round = |message: &Message| matches!(message, Message::Heartbeat { round: Some(_), .. });
    let rounds = harness.count_sent(1, is_round);
    harness.ticks(20);
    assert_eq!((harness.leaders(), harness.count_sent(1, is_round)), (vec![1], rounds));
}

/// Node 3 suspects the leader half a tick after node 2, which has to wait for it.
#[test]
fn rp_13_the_first_campaign_waits_until_the_others_have_noticed() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.kill(1, &[2]);
    harness.deliver();
    harness.now += i64::try_from(harness.settings.tick.nanos() / 2).unwrap();
    harness.suspect(1, &[3]);
    harness.ticks(1);
    assert_eq!(harness.leaders(), [2]);
}

#[test]
fn rp_13_a_crashed_replica_has_no_turn_to_campaign() {
    let mut harness = settled(5, ReadMode::Quorum);
    harness.kill(2, &[1, 3, 4, 5]);
    harness.kill(1, &[3, 4, 5]);
    harness.ticks(1);
    assert_eq!(harness.leaders(), [3]);
}

#[test]
fn rp_13_the_crash_of_a_follower_moves_no_leadership() {
    let mut harness = settled(5, ReadMode::Quorum);
    let term = harness.term();
    harness.kill(5, &[2, 3, 4]);
    let ticket = harness.propose(2, Change::Write { key: 1, value: 1 });
    assert_eq!(harness.refusal(ticket), Some(Refusal::NotLeader { leader: Some(node(1)) }));
    harness.ticks(20);
    assert_eq!((harness.leaders(), harness.term()), (vec![1], term));
}

#[test]
fn rp_13_messages_of_a_peer_that_runs_again_count_at_once() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.partitioned.insert(2);
    harness.suspect(3, &[1]);
    harness.step(1, Input::Trust(node(3)));
    let no_ticks = 0;
    let query = harness.request(1, no_ticks, |ticket| Command::Query { ticket, query: Read { key: 1 } });
    assert!(matches!(query, Some(Event::Answered { .. })), "{query:?}");
}

/// Node 3 suspects node 2 wrongly, and hears from it later. So node 2 has the first turn again.
#[test]
fn rp_13_a_later_message_ends_a_suspicion() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.request(1, 3, |_| Command::Transfer(node(2)));
    harness.suspect(2, &[3]);
    harness.ticks(10);
    assert_eq!(harness.leaders(), [2]);
    harness.request(2, 3, |_| Command::Transfer(node(1)));
    harness.kill(1, &[3]);
    harness.sent.clear();
    harness.ticks(1);
    assert_eq!(harness.count_sent(3, is_vote), 0);
}

#[test]
fn rp_13_no_replica_stands_any_more_when_there_is_a_leader() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.kill(1, &[2, 3]);
    assert!(harness.is_standing(2) && harness.is_standing(3));
    harness.ticks(4);
    assert_eq!(harness.leaders(), [2]);
    assert!(!harness.is_standing(2) && !harness.is_standing(3));
}

/// The first voter stands a tick after its promise has expired, and the second one two ticks later.
/// The seed determines the election timeouts.
#[test]
fn rp_13_where_leaders_have_leases_the_voters_stand_in_order_when_their_promises_have_expired() {
    for seed in 1..=20 {
        let voters = crate::members(&[1, 2, 3], &[]);
        let settings = Settings { seed, reads: ReadMode::Lease, ..Settings::new(voters) };
        let mut harness = Harness::with_settings(3, settings);
        harness.elect(1);
        // The leader sends heartbeats at every second tick.
        harness.ticks(11);
        harness.kill(1, &[2, 3]);
        harness.sent.clear();
        let promise_ticks = 7;
        harness.ticks(promise_ticks);
        assert_eq!(harness.count_sent(2, is_vote) + harness.count_sent(3, is_vote), 0, "seed {seed}");
        harness.ticks(1);
        assert_eq!(harness.leaders(), [2], "seed {seed}");
    }
}

#[test]
fn rp_13_a_replica_that_was_not_elected_stands_again() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.kill(1, &[2, 3]);
    harness.drop_rule = Box::new(|_, _, message| is_vote(message));
    harness.ticks(4);
    assert_eq!(harness.leaders(), [0_u32; 0]);
    harness.drop_rule = lose_nothing();
    harness.ticks(2);
    assert_eq!(harness.leaders(), [2]);
}

#[test]
fn rp_13_a_replica_that_waits_for_its_disk_stands_when_the_disk_has_confirmed() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.host(2).is_disk_blocked = true;
    harness.write(1, 5);
    harness.kill(1, &[2, 3]);
    harness.partitioned.insert(3);
    harness.ticks(2);
    harness.unblock_disk(2);
    harness.partitioned.clear();
    harness.ticks(1);
    assert_eq!(harness.leaders(), [2]);
}

#[test]
fn rp_18_only_a_voter_is_offered_the_leadership() {
    let mut harness = settled(3, ReadMode::Lease);
    harness.request(1, 1, |_| Command::Transfer(node(9)));
    assert!(harness.leased_read(1), "an offer that is not made ends no lease");
}

#[test]
fn rp_18_a_replica_that_has_retired_does_not_campaign_until_much_later() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.request(1, 3, |_| Command::Retire);
    assert_eq!((harness.leaders(), harness.has_retired(1)), (vec![2], true));
    harness.hosts.remove(&2);
    harness.partitioned.insert(3);
    harness.sent.clear();
    harness.ticks(20);
    harness.request(1, 1, |_| Command::Campaign);
    assert_eq!(harness.count_sent(1, is_vote), 0);
    harness.ticks(40);
    assert!(harness.count_sent(1, is_vote) > 0, "its process has not ended");
}

#[test]
fn rp_18_a_leader_has_retired_when_another_replica_leads() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.drop_rule = lose_transfers();
    harness.request(1, 3, |_| Command::Retire);
    assert_eq!((harness.leaders(), harness.has_retired(1)), (vec![1], false));
    harness.drop_rule = lose_nothing();
    harness.ticks(20);
    assert!(!harness.leaders().contains(&1) && harness.has_retired(1));
}

#[test]
fn rp_18_a_leader_without_a_successor_retires_at_once() {
    let mut harness = settled(1, ReadMode::Quorum);
    harness.request(1, 1, |_| Command::Retire);
    assert!(harness.has_retired(1));
}

/// Node 2 lags behind, and then it is down: in both cases the leadership goes to node 3 at once.
#[test]
fn rp_18_the_leadership_goes_to_a_voter_that_is_up_and_has_the_log() {
    let mut harness = settled(3, ReadMode::Quorum);
    harness.drop_rule =
        Box::new(|_, to, message| to == 2 && matches!(message, Message::Append { entries, .. } if !entries.is_empty()));
    harness.write(1, 5);
    harness.request(1, 0, |_| Command::Retire);
    assert_eq!(harness.leaders(), [3]);

    let mut harness = settled(3, ReadMode::Quorum);
    harness.hosts.remove(&2);
    harness.ticks(20);
    harness.request(1, 0, |_| Command::Retire);
    assert_eq!(harness.leaders(), [3]);
}
