//! A change of all members under load, in the simulator: no request fails.

use crate::{members, node};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_replica::registers::{Change, Registers};
use quorate_replica::sessions::{Answer, Command as SessionCommand, Request, Seen, Sessions};
use quorate_replica::{Addresses, Command, Event, Members, Proposal, Refusal, SessionId, Settings, Ticket};
use std::collections::BTreeSet;

type Machine = Sessions<Registers>;
type Cluster = crate::simulated::Cluster<Machine>;

/// Maximum time from a request to its answer, also while members change: much less than an election
/// by timeout would take.
const MAX_WAIT: Duration = Duration::from_millis(150);

/// A client that always has one request in flight. It repeats a request at another replica when its
/// own has been removed.
struct Client {
    session: SessionId,
    replica: NodeId,
    /// Number of the pending request, and the ticket of its last copy.
    number: u64,
    ticket: Ticket,
    requested_at: Time,
}

/// A cluster with one client at each of its founders.
struct LoadedCluster {
    cluster: Cluster,
    clients: Vec<Client>,
    /// Number of events that the clients have seen.
    seen: usize,
    answered: u64,
}

impl LoadedCluster {
    fn start(seed: u64, founders: usize, nodes: usize) -> Self {
        let voters = Members::voters(&Group::of_size(founders));
        let tick = Duration::from_millis(40);
        let settings = Settings { tick, seed, checkpoint_every: 50, keep_entries: 5, ..Settings::new(voters) };
        let mut cluster = Cluster::start(seed, nodes, &[], move |_| settings.clone());
        cluster.leader();
        let mut loaded = Self { cluster, clients: Vec::new(), seen: 0, answered: 0 };
        (1..=founders).for_each(|number| loaded.add_client(node(number as u32)));
        loaded
    }

    fn add_client(&mut self, replica: NodeId) {
        let (nonce, ttl) = (self.clients.len() as u64, Duration::from_secs(3_600));
        let command = SessionCommand::Open { nonce, ttl };
        let ticket = self.cluster.request(replica, |ticket| Command::Propose(vec![Proposal { ticket, command }]));
        let session = self.cluster.run_until("session", |cluster| {
            cluster.events.iter().find_map(|(_, _, event)| match event {
                Event::Answered { ticket: opened, answer: Answer::Opened { session }, .. } if *opened == ticket => {
                    Some(*session)
                }
                _ => None,
            })
        });
        let requested_at = self.cluster.world.time();
        self.clients.push(Client { session, replica, number: 1, ticket: Ticket(0), requested_at });
        self.send(self.clients.len() - 1);
    }

    /// Sends a copy of a client's pending request.
    fn send(&mut self, index: usize) {
        let Client { session, number, replica, .. } = self.clients[index];
        let command = Change::Write { key: session.0, value: number };
        let seen = Seen { answers: number - 1, outcomes: 0 };
        let command = SessionCommand::Request(Request { session, number, seen, command });
        self.clients[index].ticket =
            self.cluster.request(replica, |ticket| Command::Propose(vec![Proposal { ticket, command }]));
    }

    /// Runs under load until `select` returns a value, which is returned.
    fn run_until<T>(&mut self, awaited: &str, select: impl Fn(&Cluster) -> Option<T>) -> T {
        let deadline = self.cluster.world.time() + Duration::from_secs(60);
        loop {
            if let Some(value) = select(&self.cluster) {
                return value;
            }
            assert!(self.cluster.world.time() < deadline, "no {awaited}");
            self.cluster.run_for(Duration::from_millis(1));
            self.serve_clients();
        }
    }

    fn run_for(&mut self, length: Duration) {
        let end = self.cluster.world.time() + length;
        self.run_until("end of the wait", |cluster| (cluster.world.time() >= end).then_some(()));
    }

    fn serve_clients(&mut self) {
        let events = self.cluster.events[self.seen..].to_vec();
        self.seen = self.cluster.events.len();
        for (time, replica, event) in events {
            let completed = crate::completed_request(&event);
            let Some(index) = self.clients.iter().position(|client| Some(client.ticket) == completed) else { continue };
            let client = &mut self.clients[index];
            match event {
                Event::Answered { answer: Answer::Answered(_), .. } => {
                    let waited = time.since(client.requested_at);
                    assert!(waited <= MAX_WAIT, "a request at {} waited {waited}", client.replica);
                    client.number += 1;
                    client.requested_at = time;
                    self.answered += 1;
                }
                Event::Refused { refusal: Refusal::NotMember, .. } | Event::Unknown { .. }
                    if !self.last_configuration(replica).contains(&replica) =>
                {
                    self.clients[index].replica = *self.last_configuration(replica).first().unwrap();
                }
                other => panic!("a request failed: {other:?}"),
            }
            self.send(index);
        }
        let now = self.cluster.world.time();
        let late = self.clients.iter().find(|client| now.since(client.requested_at) > MAX_WAIT);
        assert!(late.is_none(), "a request at {} is not answered at {now}", late.unwrap().replica);
    }

    /// The voters that a replica last reported.
    fn last_configuration(&self, replica: NodeId) -> BTreeSet<NodeId> {
        let voters = |(_, reporting, event): &(Time, NodeId, Event<Machine>)| match event {
            Event::Configured { members, .. } if *reporting == replica => Some(members.voters.clone()),
            _ => None,
        };
        self.cluster.events.iter().rev().find_map(voters).unwrap()
    }

    /// Asks the leader for these members until they are, as an operator does.
    fn change(&mut self, target: &Members) {
        loop {
            let leader = self.cluster.leader();
            let members = target.clone();
            let ticket =
                self.cluster.request(leader, |ticket| Command::Change { ticket, members, addresses: Addresses::new() });
            let refusal = self.run_until("change of the members", |cluster| {
                cluster.events.iter().rev().find_map(|(_, _, event)| match event {
                    Event::Changed { ticket: changed, .. } if *changed == ticket => Some(None),
                    Event::Refused { ticket: refused, refusal } if *refused == ticket => Some(Some(*refusal)),
                    _ => None,
                })
            });
            match refusal {
                None => return,
                Some(
                    Refusal::NotYetLearner(_)
                    | Refusal::ChangeInProgress
                    | Refusal::TransferInProgress
                    | Refusal::NotLeader { .. },
                ) => self.run_for(Duration::from_millis(10)),
                Some(refusal) => panic!("{refusal}"),
            }
        }
    }
}

#[test]
fn three_members_become_five_and_three_again_under_load_and_no_request_fails() {
    for seed in 1..=10 {
        let mut loaded = LoadedCluster::start(seed, 3, 5);
        loaded.run_for(Duration::from_millis(500));
        loaded.change(&members(&[1, 2, 3], &[4, 5]));
        loaded.change(&members(&[1, 2, 3, 4, 5], &[]));
        [4, 5].into_iter().for_each(|number| loaded.add_client(node(number)));
        loaded.run_for(Duration::from_millis(500));
        // The leader leaves, and so does another founder.
        let leader = loaded.cluster.leader();
        let leaving = [leader, node(leader.number() % 3 + 1)];
        let rest: Vec<u32> = (1..=5).filter(|number| !leaving.contains(&node(*number))).collect();
        loaded.change(&members(&rest, &[]));
        loaded.run_for(Duration::from_secs(1));
        let is_at_member = |client: &Client| rest.contains(&client.replica.number());
        assert!(loaded.clients.iter().all(is_at_member), "a client is still at a removed replica");
        assert!(loaded.answered > 100, "only {} requests were answered", loaded.answered);
    }
}
