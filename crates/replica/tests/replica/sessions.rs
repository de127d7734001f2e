//! Clusters whose clients have sessions, in the simulator: requests at any replica, outcomes,
//! expiry, format levels, and the end of a leader. The tests are named after the rules at the head
//! of `replica.rs`.

use crate::{members, node};
use quorate_core::{Duration, Group, Incarnation, NodeId, Time};
use quorate_replica::registers::{self, Change, Changed, Read, Registers};
use quorate_replica::sessions::{Answer, Command as SessionCommand, EndReason, Outcome, Request, Seen, Sessions};
use quorate_replica::settings::OldRelease;
use quorate_replica::{Command, Event, Members, Proposal, Refusal, SessionId, Settings, Ticket};

type Machine = Sessions<Registers>;
type Cluster = crate::simulated::Cluster<Machine>;

fn millis(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

const TTL: Duration = Duration::from_millis(600);

fn settings(voters: usize) -> Settings {
    let tick = Duration::from_millis(10);
    Settings { tick, checkpoint_every: 20, keep_entries: 5, ..Settings::new(Members::voters(&Group::of_size(voters))) }
}

impl Cluster {
    /// A cluster whose replicas learn of crashes at once. `change` changes the settings of a
    /// replica.
    fn new(nodes: usize, faults: &[&str], change: impl Fn(NodeId, Settings) -> Settings + 'static) -> Self {
        let mut cluster = Self::start(7, nodes, faults, move |me| change(me, settings(3)));
        cluster.world.enable_crash_notices("uniform:1ms..5ms".parse().unwrap());
        cluster
    }

    fn with_three_nodes(faults: &[&str]) -> Self {
        Self::new(3, faults, |_, settings| settings)
    }

    /// Transfers the leadership to this replica.
    fn make_leader(&mut self, replica: NodeId) {
        self.run_to(millis(500));
        let leader = self.leader();
        self.request(leader, |_| Command::Transfer(replica));
        self.run_until("transfer", |cluster| cluster.world.node(replica).unwrap().leads().then_some(()));
        self.run_to(millis(700));
    }

    fn follower(&mut self) -> NodeId {
        let leader = self.leader();
        if leader == node(1) { node(2) } else { node(1) }
    }

    fn propose(&mut self, replica: NodeId, command: SessionCommand<Change>) -> Ticket {
        self.request(replica, |ticket| Command::Propose(vec![Proposal { ticket, command }]))
    }

    /// The answer to a request, which must come from the replica that received it.
    fn answer(&mut self, replica: NodeId, ticket: Ticket) -> Result<Answer<registers::Answer>, Refusal> {
        self.run_until("answer", |cluster| {
            let answers = cluster.events.iter().filter(|(_, node, _)| *node == replica);
            answers.into_iter().find_map(|(_, _, event)| match event {
                Event::Answered { ticket: answered, answer, .. } if *answered == ticket => Some(Ok(answer.clone())),
                Event::Refused { ticket: refused, refusal } if *refused == ticket => Some(Err(*refusal)),
                _ => None,
            })
        })
    }

    fn open(&mut self, replica: NodeId, nonce: u64) -> SessionId {
        self.open_for(replica, nonce, Duration::from_secs(10))
    }

    fn open_for(&mut self, replica: NodeId, nonce: u64, ttl: Duration) -> SessionId {
        let ticket = self.propose(replica, SessionCommand::Open { nonce, ttl });
        match self.answer(replica, ticket) {
            Ok(Answer::Opened { session }) => session,
            other => panic!("{other:?}"),
        }
    }

    fn request_in(&mut self, replica: NodeId, session: SessionId, number: u64, command: Change) -> Ticket {
        let request = Request { session, number, seen: Seen::default(), command };
        self.propose(replica, SessionCommand::Request(request))
    }

    /// Attaches a session, and returns its unacknowledged outcomes.
    fn attach(&mut self, replica: NodeId, session: SessionId) -> Result<Vec<Outcome<Changed>>, Refusal> {
        let ticket = self.request(replica, |ticket| Command::Attach { ticket, session });
        self.run_until("attachment", |cluster| {
            cluster.events.iter().find_map(|(_, _, event)| match event {
                Event::Attached { ticket: Some(attached), outcomes, .. } if *attached == ticket => {
                    Some(Ok(outcomes.clone()))
                }
                Event::Refused { ticket: refused, refusal } if *refused == ticket => Some(Err(*refusal)),
                _ => None,
            })
        })
    }

    /// The outcomes that a replica has reported as they came.
    fn outcomes(&self, replica: NodeId) -> Vec<Outcome<Changed>> {
        let of_replica = self.events.iter().filter(|(_, node, _)| *node == replica);
        of_replica
            .filter_map(|(_, _, event)| match event {
                Event::Outcome { outcome, .. } => Some(outcome.clone()),
                _ => None,
            })
            .collect()
    }

    fn read(&mut self, replica: NodeId) -> Result<Answer<registers::Answer>, Refusal> {
        let ticket = self.request(replica, |ticket| Command::Query { ticket, query: Read { key: 0 } });
        self.answer(replica, ticket)
    }

    fn applied_count(&self, replica: NodeId) -> u64 {
        self.world.node(replica).and_then(|node| node.machine()).map_or(0, |machine| machine.inner().applied_count())
    }
}

const WRITTEN: Answer<registers::Answer> = Answer::Answered(registers::Answer::Written);

fn write(value: u64) -> Change {
    Change::Write { key: 0, value }
}

#[test]
fn rp_14_a_follower_forwards_requests_and_answers_them_itself() {
    let mut cluster = Cluster::with_three_nodes(&[]);
    let follower = cluster.follower();
    let session = cluster.open(follower, 1);
    let ticket = cluster.request_in(follower, session, 1, write(7));
    assert_eq!(cluster.answer(follower, ticket), Ok(WRITTEN));
}

/// The link to the leader loses most messages, and the link from it is slow, so that requests are
/// forwarded again although the leader has them.
#[test]
fn rp_14_a_forwarded_request_that_was_lost_is_sent_again_and_executed_once() {
    let faults = ["link 1 > 3 loss 0.8 at 2s for 2s", "link 3 > 1 latency fixed:150ms at 2s for 2s"];
    let mut cluster = Cluster::with_three_nodes(&faults);
    cluster.make_leader(node(3));
    let follower = node(1);
    let session = cluster.open(follower, 1);
    cluster.run_to(millis(2_100));
    let tickets = (1..=5).map(|number| cluster.request_in(follower, session, number, write(number)));
    for ticket in tickets.collect::<Vec<_>>() {
        assert_eq!(cluster.answer(follower, ticket), Ok(WRITTEN));
    }
    assert!(cluster.world.time() > millis(2_250), "the link from the leader is slow");
    assert_eq!(cluster.applied_count(follower), 5);
}

#[test]
fn rp_12_a_request_survives_the_crash_of_the_leader() {
    let mut cluster = Cluster::with_three_nodes(&["crash 3 at 2s for 2s"]);
    cluster.make_leader(node(3));
    let session = cluster.open(node(1), 1);
    cluster.run_to(millis(1_950));
    let ticket = cluster.request_in(node(1), session, 1, write(7));
    assert_eq!(cluster.answer(node(1), ticket), Ok(WRITTEN));
    assert_eq!(cluster.applied_count(node(1)), 1);
}

#[test]
fn rp_15_an_outcome_reaches_its_session_at_the_replica_to_which_it_is_attached() {
    let mut cluster = Cluster::with_three_nodes(&[]);
    let [waiting, writing] = [1, 2].map(|nonce| cluster.open(node(1), nonce));
    assert_eq!(cluster.attach(node(2), waiting), Ok(vec![]));
    let awaits = cluster.request_in(node(2), waiting, 1, Change::Await { key: 0 });
    assert_eq!(cluster.answer(node(2), awaits), Ok(Answer::Answered(registers::Answer::Waiting)));
    let written = cluster.request_in(node(3), writing, 1, write(7));
    assert_eq!(cluster.answer(node(3), written), Ok(WRITTEN));
    let outcome = Outcome::Numbered { number: 1, outcome: Changed { key: 0, value: 7 } };
    cluster.run_until("outcome", |cluster| (!cluster.outcomes(node(2)).is_empty()).then_some(()));
    assert_eq!(cluster.outcomes(node(2)), std::slice::from_ref(&outcome));
    assert_eq!([1, 3].map(|number| cluster.outcomes(node(number)).len()), [0, 0], "it is attached elsewhere");
    // A session that moves gets what it has not acknowledged, from a state that contains it.
    assert_eq!(cluster.attach(node(3), waiting), Ok(vec![outcome]));
    assert_eq!(cluster.attach(node(3), SessionId(99)), Err(Refusal::NoSession));
}

/// Node 3 misses the entry with the outcome, and catches up by a snapshot.
#[test]
fn rp_15_a_replica_that_installs_a_snapshot_reports_what_its_sessions_missed() {
    let mut cluster = Cluster::with_three_nodes(&["cut 3 | 1,2 at 2s for 3s"]);
    cluster.make_leader(node(1));
    let session = cluster.open(node(3), 1);
    let awaits = cluster.request_in(node(3), session, 1, Change::Await { key: 0 });
    cluster.answer(node(3), awaits).unwrap();
    cluster.attach(node(3), session).unwrap();
    cluster.run_to(millis(2_500));
    for value in 1..=60 {
        let ticket = cluster.propose(node(1), SessionCommand::Direct(write(value)));
        cluster.answer(node(1), ticket).unwrap();
    }
    let reported = cluster.run_until("report after the snapshot", |cluster| {
        cluster.events.iter().find_map(|(_, _, event)| match event {
            Event::Attached { ticket: None, outcomes, .. } => Some(outcomes.clone()),
            _ => None,
        })
    });
    assert_eq!(reported, [Outcome::Numbered { number: 1, outcome: Changed { key: 0, value: 1 } }]);
    assert!(cluster.outcomes(node(3)).is_empty());
}

#[test]
fn rp_16_a_session_expires_without_any_request() {
    let mut cluster = Cluster::with_three_nodes(&[]);
    let session = cluster.open_for(node(1), 1, TTL);
    cluster.attach(node(2), session).unwrap();
    let opened_at = cluster.world.time();
    cluster.run_until("end of the session", |cluster| (!cluster.outcomes(node(2)).is_empty()).then_some(()));
    assert_eq!(cluster.outcomes(node(2)), [Outcome::Ended(EndReason::Expired)]);
    let lived = cluster.world.time().since(opened_at);
    assert!(lived <= TTL + Duration::from_millis(40), "the session ended after {lived}");
}

/// Node 3 runs an older release until it restarts.
#[test]
fn rp_17_commands_wait_for_the_last_member_to_be_upgraded() {
    let old_release = OldRelease { level: 1, until: Incarnation::FIRST };
    let mut cluster = Cluster::new(3, &["crash 3 at 3s for 100ms"], move |me, settings| Settings {
        old_release: (me == node(3)).then_some(old_release),
        address: Some(format!("host-{me}:7400")),
        ..settings
    });
    cluster.run_to(millis(2_000));
    let swap = SessionCommand::Direct(Change::Swap { key: 0, value: 7 });
    let leader = cluster.leader();
    let too_early = cluster.propose(leader, swap.clone());
    assert_eq!(cluster.answer(leader, too_early), Err(Refusal::LevelTooNew { command: 2, group: 1 }));
    cluster.run_to(millis(5_000));
    let leader = cluster.leader();
    let ticket = cluster.propose(leader, swap);
    assert_eq!(cluster.answer(leader, ticket), Ok(Answer::Answered(registers::Answer::Value(None))));
    for number in 1..=3 {
        let configured = cluster.events.iter().rev().find_map(|(_, replica, event)| match event {
            Event::Configured { addresses, level, .. } if *replica == node(number) => Some((addresses.len(), *level)),
            _ => None,
        });
        assert_eq!(configured, Some((3, 2)), "node {number} knows all addresses and the level");
    }
}

/// Node 3 runs an older release. It is removed and added again while it is cut off, so that it does
/// not notice, and meanwhile the others begin to use commands that it does not know.
#[test]
fn rp_17_a_member_of_an_older_release_gets_no_entries_until_it_is_upgraded() {
    let old_release = OldRelease { level: 1, until: Incarnation::FIRST };
    let faults = ["cut 3 | 1,2 at 2s for 2s", "crash 3 at 8s for 100ms"];
    let mut cluster = Cluster::new(3, &faults, move |me, settings| Settings {
        old_release: (me == node(3)).then_some(old_release),
        ..settings
    });
    cluster.make_leader(node(1));
    cluster.run_to(millis(2_100));
    for (voters, learners) in [(&[1, 2][..], &[][..]), (&[1, 2], &[3])] {
        let members = members(voters, learners);
        let changed = members.clone();
        cluster.request(node(1), |ticket| Command::Change { ticket, members, addresses: [].into() });
        cluster.run_until("change of the members", |cluster| {
            let is_changed = |(_, _, event): &(Time, NodeId, Event<Machine>)| {
                matches!(event, Event::Changed { members, .. } if *members == changed)
            };
            cluster.events.iter().any(is_changed).then_some(())
        });
        if learners.is_empty() {
            let swap = cluster.propose(node(1), SessionCommand::Direct(Change::Swap { key: 0, value: 7 }));
            assert_eq!(cluster.answer(node(1), swap), Ok(Answer::Answered(registers::Answer::Value(None))));
        }
    }
    cluster.run_to(millis(7_900));
    assert_eq!(cluster.applied_count(node(3)), 0);
    let is_halted = |(_, _, event): &(Time, NodeId, Event<Machine>)| matches!(event, Event::Halted { .. });
    assert!(!cluster.events.iter().any(is_halted), "node 3 received an entry that it cannot read");
    cluster.run_until("upgraded node 3 with the log", |cluster| {
        (cluster.world.is_up(node(3)) && cluster.applied_count(node(3)) == 1).then_some(())
    });
}

#[test]
fn rp_18_a_leader_that_retires_hands_its_leadership_over() {
    let mut cluster = Cluster::with_three_nodes(&[]);
    let session = cluster.open(node(1), 1);
    let leader = cluster.leader();
    cluster.request(leader, |_| Command::Retire);
    let ticket = cluster.request_in(leader, session, 1, write(7));
    assert_eq!(cluster.answer(leader, ticket), Ok(WRITTEN));
    assert_ne!(cluster.leader(), leader);
    // A replica that does not lead has retired at once.
    let follower = cluster.follower();
    cluster.request(follower, |_| Command::Retire);
    for replica in [leader, follower] {
        cluster.run_until("retirement", |cluster| {
            cluster.events.iter().any(|(_, node, event)| (*node, event) == (replica, &Event::Retired)).then_some(())
        });
    }
}

/// Replicas that learn of the end of the leader's process replace it within a few ticks, before any
/// election timeout.
#[test]
fn rp_13_a_crashed_leader_is_replaced_within_a_few_ticks() {
    for number in 1..=3 {
        let crash = format!("crash {number} at 2s for 10s");
        let mut cluster = Cluster::with_three_nodes(&[&crash]);
        cluster.make_leader(node(number));
        cluster.run_to(millis(1_950));
        assert_eq!(cluster.leader(), node(number));
        cluster.run_to(millis(2_001));
        let other = node(number % 3 + 1);
        assert!(cluster.read(other).is_ok());
        let took = cluster.world.time().since(millis(2_000));
        let ticks = settings(3).tick.times(8);
        assert!(took < ticks, "node {number}: it took {took}");
    }
}

#[test]
fn rp_9_a_removed_replica_detaches_its_sessions() {
    let mut cluster = Cluster::with_three_nodes(&[]);
    let session = cluster.open(node(1), 1);
    let (leader, removed) = (cluster.leader(), cluster.follower());
    cluster.attach(removed, session).unwrap();
    let rest: Vec<u32> = (1..=3).filter(|number| node(*number) != removed).collect();
    let members = members(&rest, &[]);
    cluster.request(leader, |ticket| Command::Change { ticket, members, addresses: [].into() });
    cluster.run_until("end of the attachment", |cluster| {
        let is_detached = |(_, replica, event): &(Time, NodeId, Event<Machine>)| {
            *replica == removed && matches!(event, Event::Detached { session: detached } if *detached == session)
        };
        cluster.events.iter().any(is_detached).then_some(())
    });
}
