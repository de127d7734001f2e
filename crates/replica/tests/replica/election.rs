//! Raft's election: its rules (`RF-…`, at the head of the module `election`), and its cost for
//! groups of up to 49 nodes.

use crate::{node, setup};
use quorate_core::election::{Bounds, Case, Command, Counts, Event, ExpectedMessages, Plan, Refusal, Starting};
use quorate_core::{Duration, Epoch, NodeId, Time};
use quorate_journal::metrics::MessageCounts;
use quorate_journal::settings::TimedFault;
use quorate_journal::workload::ClientEvent;
use quorate_replica::election::{FACTS, RaftElection};
use quorate_sim::World;
use std::collections::BTreeMap;

struct Election {
    world: World<RaftElection, MessageCounts>,
    /// The leader and the epoch that each node knows.
    known_leaders: BTreeMap<NodeId, (NodeId, Epoch)>,
    refusals: Vec<(NodeId, Refusal)>,
}

impl Election {
    fn new(nodes: usize, seed: u64, loss: &str, faults: &[&str]) -> Self {
        let message = Duration::from_millis(1);
        let setup = setup(nodes, seed, "fixed:1ms", [loss, "0"], "fixed:100us");
        let bounds = Bounds { message, processing: Duration::ZERO };
        let make = move |me| RaftElection::new(me, &Plan { seed, ..Plan::new(nodes, bounds) });
        let mut world = World::new(&setup, make, MessageCounts::new(nodes));
        for fault in faults {
            world.schedule_fault(fault.parse::<TimedFault>().unwrap());
        }
        world.start();
        Self { world, known_leaders: BTreeMap::new(), refusals: Vec::new() }
    }

    fn campaign(&mut self, number: u32) {
        self.world.schedule_command(self.world.time(), node(number), Command::Campaign);
    }

    /// Runs until there are no more events, at most for this long.
    fn run(&mut self, length: Duration) {
        let end = self.world.time() + length;
        while self.world.next_time().is_some_and(|next| next <= end) && self.world.advance() {
            while let Some((node, notification)) = self.world.next_client_event() {
                match notification {
                    ClientEvent::Emitted(Event::Began { .. } | Event::Ended { .. }) | ClientEvent::Crashed => {
                        self.known_leaders.remove(&node);
                    }
                    ClientEvent::Emitted(Event::Elected { leader, epoch, .. }) => {
                        self.known_leaders.insert(node, (leader, epoch));
                    }
                    ClientEvent::Emitted(Event::Refused(refusal)) => self.refusals.push((node, refusal)),
                    ClientEvent::Emitted(Event::Extended { .. }) | ClientEvent::Restarted | ClientEvent::Alarm => {}
                }
            }
        }
    }

    /// Returns the leader, on which all `live_nodes` nodes must agree.
    fn leader(&self, live_nodes: usize) -> NodeId {
        assert_eq!(self.known_leaders.len(), live_nodes, "{:?}", self.known_leaders);
        let (leader, epoch) = *self.known_leaders.values().next().unwrap();
        assert!(self.known_leaders.values().all(|known| *known == (leader, epoch)), "{:?}", self.known_leaders);
        leader
    }
}

#[test]
fn rf_1_2_3_4_6_one_candidate_costs_exactly_the_formula_and_then_all_nodes_stop() {
    for nodes in 1..=49 {
        let mut election = Election::new(nodes, 1, "0", &[]);
        election.campaign(1);
        election.run(Duration::from_secs(60));
        assert_eq!(election.leader(nodes), node(1));
        assert!(election.world.is_quiet());
        let kinds = election.world.observer().summary().by_kind;
        let count = |kind| kinds.get(kind).copied().unwrap_or(0);
        let others = nodes as u64 - 1;
        assert_eq!(count("vote") + count("vote-reply"), 2 * others, "{nodes} nodes");
        assert_eq!(count("append"), others, "{nodes} nodes");
        let total = election.world.observer().summary().total;
        let case = Case { live_nodes: nodes, dead_nodes: 0, starting: Starting::Lowest };
        assert_eq!(
            (FACTS.cost.expected_messages)(&case),
            Some(ExpectedMessages::exactly(Counts::WithAnnouncement, total as f64))
        );
    }
}

#[test]
fn rf_5_candidates_that_split_the_votes_try_again() {
    for seed in 0..200 {
        let mut election = Election::new(4, seed, "0.1", &[]);
        (1..=4).for_each(|number| election.campaign(number));
        election.run(Duration::from_secs(60));
        election.leader(4);
    }
}

#[test]
fn an_unnecessary_election_is_allowed_and_raises_the_epoch() {
    let mut election = Election::new(3, 1, "0", &[]);
    election.campaign(1);
    election.run(Duration::from_secs(10));
    let (_, first_epoch) = election.known_leaders[&node(1)];
    election.campaign(2);
    election.run(Duration::from_secs(10));
    assert_eq!(election.leader(3), node(2));
    let (_, second_epoch) = election.known_leaders[&node(1)];
    assert!(second_epoch > first_epoch);
}

#[test]
fn campaigns_of_candidates_and_leaders_are_refused() {
    let mut election = Election::new(3, 1, "0", &[]);
    election.campaign(1);
    election.campaign(1);
    election.run(Duration::from_secs(10));
    election.campaign(1);
    election.run(Duration::from_secs(10));
    assert_eq!(election.refusals, [(node(1), Refusal::AlreadyRunning), (node(1), Refusal::AlreadyLeading)]);
}

#[test]
fn a_minority_elects_no_leader_until_another_node_restarts() {
    let mut election = Election::new(3, 1, "0", &["crash 2 at 0s for 2s", "crash 3 at 0s"]);
    election.campaign(1);
    election.run(Duration::from_secs(1));
    assert!(election.known_leaders.is_empty(), "{:?}", election.known_leaders);
    election.run(Duration::from_secs(10));
    assert_eq!(election.known_leaders.len(), 2);
    assert!(election.world.time() > Time::ZERO + Duration::from_secs(2));
}
