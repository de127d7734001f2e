//! Small clusters in the simulator: one scenario for each guarantee of a replica.

use crate::{completed_request, members, node};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::{Addresses, Command, Event, Members, Proposal, ReadMode, Refusal, Settings, Ticket};

type Cluster = crate::simulated::Cluster<Registers>;

/// Settings under which replicas soon drop log entries and send snapshots in several pieces.
fn settings(voters: usize) -> Settings {
    Settings {
        tick: Duration::from_millis(10),
        checkpoint_every: 20,
        keep_entries: 5,
        piece_bytes: 16,
        audit: true,
        ..Settings::new(Members::voters(&Group::of_size(voters)))
    }
}

impl Cluster {
    fn new(seed: u64, nodes: usize, settings: Settings, faults: &[&str]) -> Self {
        Self::start(seed, nodes, faults, move |_| Settings { seed, ..settings.clone() })
    }

    fn outcome(&mut self, ticket: Ticket) -> Event<Registers> {
        let is_outcome = |event: &&Event<Registers>| completed_request(event) == Some(ticket);
        self.run_until("outcome", |cluster| cluster.events.iter().map(|(_, _, event)| event).find(is_outcome).cloned())
    }

    fn write(&mut self, replica: NodeId, key: u64, value: u64) -> Event<Registers> {
        let command = Change::Write { key, value };
        let ticket = self.request(replica, |ticket| Command::Propose(vec![Proposal { ticket, command }]));
        self.outcome(ticket)
    }

    fn read(&mut self, replica: NodeId, key: u64) -> Option<u64> {
        let ticket = self.request(replica, |ticket| Command::Query { ticket, query: Read { key } });
        match self.outcome(ticket) {
            Event::Answered { answer: Answer::Value(value), .. } => value,
            other => panic!("{other:?}"),
        }
    }

    fn change(&mut self, replica: NodeId, members: Members) -> Event<Registers> {
        let ticket = self.request(replica, |ticket| Command::Change { ticket, members, addresses: Addresses::new() });
        self.outcome(ticket)
    }

    /// Repeats a change at the current leader until the learners have the log, no other change is
    /// in progress, the leader does not have to hand over, and it succeeds.
    fn change_with_retries(&mut self, members: Members) {
        for _ in 0..1_000 {
            let leader = self.leader();
            match self.change(leader, members.clone()) {
                Event::Changed { .. } => return,
                Event::Refused {
                    refusal: Refusal::NotYetLearner(_) | Refusal::ChangeInProgress | Refusal::TransferInProgress,
                    ..
                } => self.run_for(Duration::from_millis(10)),
                other => panic!("{other:?}"),
            }
        }
        panic!("the members never changed to {members}");
    }

    /// Repeats a write at the current leader until it succeeds, and returns that leader.
    fn write_with_retries(&mut self, key: u64, value: u64) -> NodeId {
        for _ in 0..1_000 {
            let leader = self.leader();
            if matches!(self.write(leader, key, value), Event::Answered { .. }) {
                return leader;
            }
        }
        panic!("no leader ever accepted the write");
    }
}

#[test]
fn a_single_replica_elects_itself_and_answers() {
    let mut cluster = Cluster::new(1, 1, settings(1), &[]);
    let leader = cluster.leader();
    assert!(matches!(cluster.write(leader, 1, 7), Event::Answered { answer: Answer::Written, .. }));
    assert_eq!(cluster.read(leader, 1), Some(7));
}

#[test]
fn three_replicas_agree_and_any_of_them_answers_queries() {
    let mut cluster = Cluster::new(2, 3, settings(3), &[]);
    cluster.write_with_retries(1, 7);
    for number in 1..=3 {
        assert_eq!(cluster.read(node(number), 1), Some(7));
    }
}

/// Raft drops a round that begins before the leader knows the commit index. The round would be
/// repeated after five ticks.
#[test]
fn queries_at_a_new_leader_and_its_followers_wait_only_for_its_first_commit() {
    let settings = settings(3);
    let max_wait = settings.tick.times(3);
    let mut cluster = Cluster::new(2, 3, settings, &["crash 1 at 5s", "crash 2 at 5s", "restart 2 at 6s"]);
    cluster.run_to(Time::ZERO + Duration::from_secs(6));
    let asked_at = cluster.run_until("new leader", |cluster| {
        let leads = |(_, _, event): &(Time, NodeId, Event<Registers>)| matches!(event, Event::Leads { .. });
        let (time, ..) = cluster.events.iter().rfind(|event| leads(event))?;
        (*time > Time::ZERO + Duration::from_secs(6)).then_some(*time)
    });
    for number in [2, 3] {
        assert_eq!(cluster.read(node(number), 1), None);
    }
    let waited = cluster.world.time().since(asked_at);
    assert!(waited < max_wait, "the queries waited {waited}");
}

#[test]
fn a_follower_refuses_commands_and_names_the_leader() {
    let mut cluster = Cluster::new(3, 3, settings(3), &[]);
    let leader = cluster.write_with_retries(1, 7);
    let follower = node(if leader == node(1) { 2 } else { 1 });
    let refused = cluster.write(follower, 1, 8);
    let expected = Refusal::NotLeader { leader: Some(leader) };
    assert!(matches!(refused, Event::Refused { refusal, .. } if refusal == expected), "{refused:?}");
}

#[test]
fn all_data_survives_when_all_replicas_crash_at_once() {
    let faults = ["crash 1 at 5s for 1s", "crash 2 at 5s for 2s", "crash 3 torn at 5s for 3s"];
    let mut cluster = Cluster::new(4, 3, settings(3), &faults);
    for value in 0..50 {
        cluster.write_with_retries(value % 3, value);
    }
    cluster.run_for(Duration::from_secs(10));
    // Of the values 0 to 49, key k has the last one that leaves the remainder k when divided by 3.
    assert_eq!(
        (cluster.read(node(1), 0), cluster.read(node(2), 1), cluster.read(node(3), 2)),
        (Some(48), Some(49), Some(47))
    );
}

#[test]
fn a_partitioned_replica_catches_up_by_a_snapshot_in_pieces() {
    let mut cluster = Cluster::new(5, 3, settings(3), &["cut 3 | 1,2 at 1s for 5s"]);
    cluster.run_for(Duration::from_secs(2));
    for value in 0..60 {
        cluster.write_with_retries(value % 9, value);
    }
    cluster.run_until("caught-up replica", |cluster| {
        (cluster.world.node(node(3)).unwrap().applied_index() > 60).then_some(())
    });
    // Each replica restored the founding state, at index 1, when it started.
    let is_installed = |(_, replica, event): &(Time, NodeId, Event<Registers>)| {
        *replica == node(3) && matches!(event, Event::Restored(restored) if restored.index > 1)
    };
    assert!(cluster.events.iter().any(is_installed), "node 3 caught up without a snapshot");
    // 53 is the last of the values 0 to 59 that was written to key 8.
    assert_eq!(cluster.read(node(3), 8), Some(53));
}

#[test]
fn members_join_as_learners_become_voters_and_leave() {
    let mut cluster = Cluster::new(6, 5, settings(3), &[]);
    for value in 0..30 {
        cluster.write_with_retries(1, value);
    }
    let leader = cluster.leader();
    let too_early = cluster.change(leader, members(&[1, 2, 3, 4, 5], &[]));
    assert!(matches!(too_early, Event::Refused { refusal: Refusal::NotYetLearner(_), .. }), "{too_early:?}");
    let learners = cluster.change(leader, members(&[1, 2, 3], &[4, 5]));
    assert!(matches!(learners, Event::Changed { .. }), "{learners:?}");
    cluster.run_until("caught-up learners", |cluster| {
        let has_caught_up = |number| cluster.world.node(node(number)).unwrap().applied_index() > 30;
        (has_caught_up(4) && has_caught_up(5)).then_some(())
    });
    cluster.change_with_retries(members(&[leader.number(), 4, 5], &[]));
    cluster.write_with_retries(1, 99);
    assert_eq!(cluster.read(node(4), 1), Some(99));
    // A leader hands its leadership over before it is removed.
    let leader = cluster.leader();
    let others: Vec<u32> = [4, 5].into_iter().filter(|number| *number != leader.number()).collect();
    let refused = cluster.change(leader, members(&others, &[]));
    assert!(matches!(refused, Event::Refused { refusal: Refusal::TransferInProgress, .. }), "{refused:?}");
    cluster.change_with_retries(members(&others, &[]));
    cluster.write_with_retries(1, 100);
    assert_ne!(cluster.leader(), leader);
}

#[test]
fn leadership_is_transferred_on_request() {
    let mut cluster = Cluster::new(7, 3, settings(3), &[]);
    let leader = cluster.write_with_retries(1, 1);
    let next = node(leader.number() % 3 + 1);
    cluster.request(leader, |_| Command::Transfer(next));
    cluster.run_until("transfer of the leadership", |cluster| cluster.world.node(next).unwrap().leads().then_some(()));
    cluster.write_with_retries(1, 2);
    assert_eq!(cluster.read(leader, 1), Some(2));
}

#[test]
fn a_full_disk_refuses_commands_answers_queries_and_recovers() {
    let mut cluster = Cluster::new(8, 1, settings(1), &["disk 1 full at 2s for 3s"]);
    let leader = cluster.write_with_retries(1, 7);
    cluster.run_for(Duration::from_secs(2));
    let refused = cluster.write(leader, 1, 8);
    assert!(matches!(refused, Event::Refused { refusal: Refusal::DiskFull, .. }), "{refused:?}");
    assert_eq!(cluster.read(leader, 1), Some(7));
    cluster.run_for(Duration::from_secs(4));
    cluster.write_with_retries(1, 9);
    assert_eq!(cluster.read(leader, 1), Some(9));
}

#[test]
fn a_node_with_a_full_disk_does_not_lead_and_the_others_continue() {
    let faults = ["disk 1 full at 2s for 30s"];
    let mut cluster = Cluster::new(9, 3, settings(3), &faults);
    cluster.leader();
    // Node 1 should lead when its disk fills. It ignores this if it has promised another leader not
    // to campaign.
    cluster.request(node(1), |_| Command::Campaign);
    cluster.run_for(Duration::from_secs(3));
    for value in 0..40 {
        assert_ne!(cluster.write_with_retries(1, value), node(1), "node 1 has a full disk and must not lead");
    }
    let ticket = cluster.request(node(1), |ticket| Command::Query { ticket, query: Read { key: 1 } });
    let refused = cluster.outcome(ticket);
    assert!(matches!(refused, Event::Refused { refusal: Refusal::DiskFull, .. }), "{refused:?}");
    assert_eq!(cluster.read(node(2), 1), Some(39));
    cluster.run_for(Duration::from_secs(40));
    assert_eq!(cluster.read(node(1), 1), Some(39));
}

#[test]
fn a_replica_that_lost_its_disk_takes_no_part_until_it_is_admitted_as_a_learner() {
    let faults = ["crash 3 at 2s", "restart 3 blank at 3s"];
    let mut cluster = Cluster::new(10, 3, settings(3), &faults);
    for value in 0..30 {
        cluster.write_with_retries(1, value);
    }
    cluster.run_for(Duration::from_secs(6));
    assert_eq!(cluster.world.node(node(3)).unwrap().applied_index(), 0);
    let leader = cluster.leader();
    for new_members in [members(&[1, 2], &[]), members(&[1, 2], &[3])] {
        let outcome = cluster.change(leader, new_members);
        assert!(matches!(outcome, Event::Changed { .. }), "{outcome:?}");
    }
    cluster.run_until("admitted replica with the log", |cluster| {
        (cluster.world.node(node(3)).unwrap().applied_index() > 30).then_some(())
    });
    cluster.change_with_retries(members(&[1, 2, 3], &[]));
}

#[test]
fn a_leased_read_needs_no_round() {
    let mut cluster = Cluster::new(11, 3, Settings { reads: ReadMode::Lease, ..settings(3) }, &[]);
    let leader = cluster.write_with_retries(1, 7);
    cluster.run_for(Duration::from_millis(500));
    let before = cluster.world.time();
    assert_eq!(cluster.read(leader, 1), Some(7));
    assert_eq!(cluster.world.time(), before, "a leased read needs no message");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let faults = ["crash 1 at 3s for 1s", "cut 2 | 1,3 at 5s for 1s"];
        let mut cluster = Cluster::new(12, 3, settings(3), &faults);
        for value in 0..40 {
            cluster.write_with_retries(value % 4, value);
        }
        cluster.run_for(Duration::from_secs(9));
        format!("{:?}", cluster.events)
    };
    assert_eq!(run(), run());
}

/// The rounds of a single replica succeed at once, but give no lease in a term in which it offered
/// its leadership. The replica must not begin such rounds forever.
#[test]
fn a_single_leader_whose_transfer_failed_still_answers_queries() {
    let faults = ["link 1-2 > 1-2 loss 1 at 5s for 30ms"];
    let mut cluster = Cluster::new(13, 2, Settings { reads: ReadMode::Lease, ..settings(2) }, &faults);
    cluster.write_with_retries(1, 7);
    // The link fault begins at 5 s.
    cluster.run_until("start of the link fault", |cluster| {
        (cluster.world.time() >= Time::from_nanos(5_005_000_000)).then_some(())
    });
    let leader = cluster.leader();
    cluster.request(leader, |_| Command::Transfer(node(3 - leader.number())));
    cluster.run_for(Duration::from_secs(1));
    assert_eq!(cluster.leader(), leader, "the offer was lost");
    cluster.change_with_retries(members(&[leader.number()], &[]));
    assert_eq!(cluster.read(leader, 1), Some(7));
}

/// Partitions a leader with a slow clock from followers with fast clocks. Counts the answers that
/// it gives under its lease with an older value than another leader had committed before.
fn count_stale_answers(seed: u64, bound_ppm: u32, drift_ppm: i32) -> usize {
    let settings = Settings { reads: ReadMode::Lease, drift_ppm: bound_ppm, ..settings(3) };
    let mut cluster = Cluster::new(seed, 3, settings, &[]);
    let old_leader = cluster.write_with_retries(1, 1);
    let next_instant = |cluster: &Cluster| format!("{}ns", cluster.world.time().nanos() + 1);
    for number in 1..=3 {
        let ppm = if node(number) == old_leader { -drift_ppm } else { drift_ppm };
        cluster
            .world
            .schedule_fault(format!("drift {number} by {ppm}ppm at {}", next_instant(&cluster)).parse().unwrap());
    }
    cluster.run_for(Duration::from_millis(300));
    cluster.world.schedule_fault(
        format!("cut {} | rest at {} for 1s", old_leader.number(), next_instant(&cluster)).parse().unwrap(),
    );
    let (mut value, mut committed, mut pending_write) = (1, 1, None);
    let mut stale_count = 0;
    // For each read, the value that was committed when it began.
    let mut committed_before = std::collections::BTreeMap::new();
    for _ in 0..400 {
        let new_leader =
            (1..=3).map(node).find(|replica| *replica != old_leader && cluster.world.node(*replica).unwrap().leads());
        if let Some(new_leader) = new_leader.filter(|_| pending_write.is_none()) {
            value += 1;
            let command = Change::Write { key: 1, value };
            pending_write =
                Some(cluster.request(new_leader, |ticket| Command::Propose(vec![Proposal { ticket, command }])));
        }
        let read = cluster.request(old_leader, |ticket| Command::Query { ticket, query: Read { key: 1 } });
        committed_before.insert(read, committed);
        let known_events = cluster.events.len();
        cluster.run_for(Duration::from_micros(500));
        for (_, _, event) in &cluster.events[known_events..] {
            match event {
                Event::Answered { ticket, .. } if Some(*ticket) == pending_write => {
                    (committed, pending_write) = (value, None);
                }
                Event::Answered { ticket, answer: Answer::Value(found), .. } => {
                    let is_stale = |committed: &u64| found.unwrap_or(0) < *committed;
                    stale_count += usize::from(committed_before.get(ticket).is_some_and(is_stale));
                }
                _ => {}
            }
        }
    }
    assert!(committed > 1, "seed {seed}: no other leader was elected");
    stale_count
}

#[test]
fn leases_are_safe_within_the_drift_bound_and_not_beyond_it() {
    for seed in 0..150 {
        assert_eq!(count_stale_answers(seed, 1_000, 1_000), 0, "seed {seed}");
    }
    let broken_leases = (0..150).filter(|seed| count_stale_answers(*seed, 1_000, 400_000) > 0).count();
    assert!(broken_leases > 0, "clocks that drift by 40 % broke no lease, so this test detects no unsafe lease");
}

/// The drift by which the clocks differ takes longer than an election.
#[test]
fn leases_are_safe_within_a_bound_of_40_percent() {
    for seed in 0..50 {
        assert_eq!(count_stale_answers(seed, 400_000, 400_000), 0, "seed {seed}");
    }
}
