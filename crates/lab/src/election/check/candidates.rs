//! The clients of the election family in a check. Some clients, the starters, may start elections.
//! Each client may start some more after its leader has crashed.
//!
//! No client is required to start an election on its own. But a client that learns of the crash of
//! its leader starts a new election eventually, if it may start one more, because a crashed leader
//! answers no requests. Crashes during an election are for the algorithm to detect.

use crate::election::run::Expectation;
use quorate_check::{ClientStep, Clients, Judged, Offer, PastEvent, Property, StateCondition, StepRecord};
use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, Group, NodeId, Time};

/// The clients of all nodes in a check.
#[derive(Clone, Debug)]
pub struct ElectionClients {
    pub starters: Group,
    /// Number of elections that each starter may start; `None` for no limit.
    pub rounds: Option<u8>,
    /// Number of times that each client may start an election because its leader has crashed.
    pub reelections: u8,
    /// Number of times that each client may resign.
    pub resignations: u8,
    /// Whether leaders have leases, of which no two may be valid at once.
    pub has_leases: bool,
    pub expectation: Expectation,
}

impl ElectionClients {
    /// Every client of a group of this size may start one election, and two more after crashes.
    pub fn new(nodes: usize) -> Self {
        Self {
            starters: Group::of_size(nodes),
            rounds: Some(1),
            reelections: 2,
            resignations: 0,
            has_leases: false,
            expectation: Expectation::default(),
        }
    }
}

/// The client of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElectionClient {
    node: NodeId,
    state: ClientState,
    /// Whether the client sent a command and has received no event since.
    awaits_event: bool,
    /// Number of elections that the client may still start; `None` for no limit.
    remaining_elections: Option<u8>,
    remaining_reelections: u8,
    remaining_resignations: u8,
    /// Nodes that the client believes to be down, one bit per node. The checker supports at most 16
    /// nodes.
    down_nodes: u16,
    /// The latest epoch that its node reported in its current incarnation.
    latest_epoch: Option<Epoch>,
    /// The latest epoch whose winner the client learnt, in any incarnation.
    latest_known_result: Option<Epoch>,
    /// When the leadership of its node expires, on that node's clock.
    lease_until: Option<Time>,
}

/// The activity of a client and its knowledge of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ClientState {
    Idle,
    Campaigning,
    /// The node takes part in an election, or has lost its leader.
    KnowsNoLeader,
    KnowsLeader {
        leader: NodeId,
        epoch: Epoch,
    },
    Down,
}

/// The index of `epochs-grow` in the list of properties.
const EPOCHS_GROW: u8 = 1;

/// Values of the lowest byte of a client's facet, the part of its state that properties inspect.
/// With `KNOWS_LEADER`, the second byte is the leader's index, and the rest the epoch.
const IDLE: u64 = 0;
const DOWN: u64 = 1;
const KNOWS_NO_LEADER: u64 = 2;
const KNOWS_LEADER: u64 = 3;

impl ElectionClient {
    fn is_leader_down(&self) -> bool {
        matches!(self.state, ClientState::KnowsLeader { leader, .. } if self.down_nodes >> leader.index() & 1 == 1)
    }

    fn leads(&self) -> bool {
        matches!(self.state, ClientState::KnowsLeader { leader, .. } if leader == self.node)
    }

    /// Records an epoch that the node reported, which must be at least `minimum`.
    fn record_epoch(&mut self, epoch: Epoch, minimum: Option<Epoch>, record: &mut StepRecord) {
        if minimum.is_some_and(|minimum| epoch < minimum) {
            record.violation = Some(EPOCHS_GROW);
        }
        self.latest_epoch = self.latest_epoch.max(Some(epoch));
    }

    fn record_command(&mut self, command: Command) {
        match command {
            Command::Campaign if self.is_leader_down() => {
                self.remaining_reelections = self.remaining_reelections.saturating_sub(1);
            }
            Command::Campaign => {
                self.remaining_elections = self.remaining_elections.map(|remaining| remaining.saturating_sub(1));
            }
            Command::Resign => self.remaining_resignations = self.remaining_resignations.saturating_sub(1),
        }
        if self.state == ClientState::Idle {
            self.state = ClientState::Campaigning;
        }
    }

    fn record_event(&mut self, event: &Event, has_leases: bool, record: &mut StepRecord) {
        match *event {
            Event::Began { epoch } => {
                self.record_epoch(epoch, self.latest_epoch, record);
                (self.state, self.lease_until) = (ClientState::KnowsNoLeader, None);
            }
            Event::Elected { leader, epoch, until } => {
                self.record_epoch(epoch, self.latest_epoch.max(self.latest_known_result), record);
                self.latest_known_result = self.latest_known_result.max(Some(epoch));
                self.state = ClientState::KnowsLeader { leader, epoch };
                self.lease_until = (has_leases && self.leads()).then_some(until);
                let epoch = u32::try_from(epoch.0).unwrap_or(u32::MAX);
                record.past.push(PastEvent::Elected { epoch, leader: leader.index() as u32 });
            }
            Event::Extended { until } => self.lease_until = (has_leases && self.leads()).then_some(until),
            Event::Ended { .. } => (self.state, self.lease_until) = (ClientState::KnowsNoLeader, None),
            Event::Refused(_) if self.state == ClientState::Campaigning => self.state = ClientState::Idle,
            Event::Refused(_) => {}
        }
    }
}

impl Clients for ElectionClients {
    type Command = Command;
    type Event = Event;
    type Client = ElectionClient;

    fn initial(&self, node: NodeId) -> ElectionClient {
        ElectionClient {
            node,
            state: ClientState::Idle,
            awaits_event: false,
            remaining_elections: if self.starters.contains(node) { self.rounds } else { Some(0) },
            remaining_reelections: self.reelections,
            remaining_resignations: self.resignations,
            down_nodes: 0,
            latest_epoch: None,
            latest_known_result: None,
            lease_until: None,
        }
    }

    fn offers(&self, client: &ElectionClient) -> Vec<Offer<Command>> {
        let mut offers = Vec::new();
        if client.state == ClientState::Down || client.awaits_event {
            return offers;
        }
        if client.is_leader_down() {
            if client.remaining_reelections > 0 {
                offers.push(Offer { command: Command::Campaign, is_obliged: true });
            }
        } else if client.remaining_elections != Some(0) {
            offers.push(Offer { command: Command::Campaign, is_obliged: false });
        }
        if client.leads() && client.remaining_resignations > 0 {
            offers.push(Offer { command: Command::Resign, is_obliged: false });
        }
        offers
    }

    fn observe(&self, client: &mut ElectionClient, step: ClientStep<'_, Command, Event>, record: &mut StepRecord) {
        client.awaits_event = match step {
            ClientStep::Issued(_) => true,
            ClientStep::Emitted(_) | ClientStep::Crashed | ClientStep::Restarted => false,
            ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => client.awaits_event,
        };
        match step {
            ClientStep::Issued(command) => client.record_command(*command),
            ClientStep::Emitted(event) => client.record_event(event, self.has_leases, record),
            ClientStep::Crashed => {
                (client.state, client.lease_until, client.latest_epoch, client.down_nodes) =
                    (ClientState::Down, None, None, 0);
            }
            ClientStep::Restarted => client.state = ClientState::Idle,
            ClientStep::PeerCrashed(node) => client.down_nodes |= 1 << node.index(),
            ClientStep::PeerRestarted(node) => client.down_nodes &= !(1 << node.index()),
        }
    }

    fn is_waiting(&self, _client: &ElectionClient) -> bool {
        // `goal` judges instead whether the clients learn a leader eventually.
        false
    }

    /// The facet of a node that may not act says nothing about a leader.
    fn facet(&self, client: &ElectionClient, may_act: bool) -> u64 {
        match client.state {
            _ if !may_act => IDLE,
            ClientState::Idle => IDLE,
            ClientState::Down => DOWN,
            ClientState::Campaigning | ClientState::KnowsNoLeader => KNOWS_NO_LEADER,
            ClientState::KnowsLeader { leader, epoch } => KNOWS_LEADER | (leader.index() as u64) << 8 | epoch.0 << 16,
        }
    }

    fn goal(&self) -> Option<StateCondition> {
        Some(match self.expectation {
            Expectation::SameLeader => all_know_the_same,
            Expectation::SomeLeader => all_know_a_leader,
        })
    }

    fn held_until(&self, client: &ElectionClient) -> Option<Time> {
        client.lease_until
    }

    fn properties(&self) -> Vec<Property> {
        let property = |name, judged| Property { name, judged };
        let mut properties =
            vec![property("one-leader-per-epoch", Judged::ByResults), property("epochs-grow", Judged::ByStep)];
        debug_assert_eq!(properties.len(), usize::from(EPOCHS_GROW) + 1);
        if self.has_leases {
            properties.push(property("one-leader-at-a-time", Judged::ByExclusiveHolds));
        }
        properties.push(property("agreed", Judged::ByFairRuns));
        properties
    }
}

/// Whether all live nodes know the same live leader of the same epoch, or all have idle facets.
fn all_know_the_same(facets: &[u64]) -> bool {
    let mut live = facets.iter().filter(|facet| **facet != DOWN);
    let first = live.clone().next();
    live.all(|facet| Some(facet) == first) && all_know_a_leader(facets)
}

/// Whether every live node knows a live leader, or all have idle facets.
fn all_know_a_leader(facets: &[u64]) -> bool {
    let live = || facets.iter().filter(|facet| **facet != DOWN);
    let leader_facet = |facet: &u64| facets.get((*facet >> 8 & 0xff) as usize);
    let knows_a_live_leader =
        |facet: &u64| *facet & 0xff == KNOWS_LEADER && leader_facet(facet).is_some_and(|facet| *facet != DOWN);
    live().all(|facet| *facet == IDLE) || live().all(knows_a_live_leader)
}
