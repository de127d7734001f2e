//! The clients of the election family in a check: each starts a number of elections, and one more
//! whenever its leader has crashed.
//!
//! No client is required to start an election on its own. But a client that learns of the crash of
//! its leader starts a new election eventually, because a crashed leader answers no requests.
//! Crashes during an election are for the algorithm to detect.

use crate::election::run::Expectation;
use quorate_check::{ClientStep, Clients, Judge, Judged, Offer, PastEvent, Property, StepRecord};
use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, Group, NodeId, Time};

/// The clients of all nodes in a check.
#[derive(Clone, Debug)]
pub struct Voters {
    pub starters: Group,
    /// Number of elections that each of them starts; `None` for no limit.
    pub rounds: Option<u8>,
    /// Number of times that each client may start an election because its leader has crashed.
    pub recalls: u8,
    pub resignations: u8,
    /// Leaders have leases, of which no two may be valid at once.
    pub leases: bool,
    pub expects: Expectation,
}

impl Voters {
    /// Every client of a group of this size may start one election, and two more after crashes.
    pub fn new(nodes: usize) -> Self {
        Self {
            starters: Group::of_size(nodes),
            rounds: Some(1),
            recalls: 2,
            resignations: 0,
            leases: false,
            expects: Expectation::default(),
        }
    }
}

/// The client of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Voter {
    node: NodeId,
    belief: Belief,
    /// The client sent a command, and has received no event since.
    awaits_event: bool,
    /// Number of elections that it may still start; `None` for no limit.
    remaining: Option<u8>,
    recalls: u8,
    resignations: u8,
    /// Nodes that the client believes to be down, one bit per node.
    down_nodes: u16,
    /// The latest epoch that its node reported in its current incarnation.
    latest_epoch: Option<Epoch>,
    /// The latest epoch whose winner the client learnt, in any incarnation.
    latest_known_result: Option<Epoch>,
    /// When the leadership of its node expires, on that node's clock.
    lease_until: Option<Time>,
}

/// What a client knows about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    Idle,
    Campaigning,
    /// The node takes part in an election, or has lost its leader.
    Unaware,
    Knows {
        leader: NodeId,
        epoch: Epoch,
    },
    Down,
}

/// Index into the list of properties.
const EPOCHS_GROW: u8 = 1;

/// A client's facet, the part of its state that properties inspect: idle, node down, no known
/// leader, or the known leader. With `KNOWS`, the second byte is the leader's index, and the rest
/// the epoch.
const IDLE: u64 = 0;
const DOWN: u64 = 1;
const UNAWARE: u64 = 2;
const KNOWS: u64 = 3;

impl Voter {
    fn has_lost_leader(&self) -> bool {
        matches!(self.belief, Belief::Knows { leader, .. } if self.down_nodes >> leader.index() & 1 == 1)
    }

    fn leads(&self) -> bool {
        matches!(self.belief, Belief::Knows { leader, .. } if leader == self.node)
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
            Command::Campaign if self.has_lost_leader() => self.recalls = self.recalls.saturating_sub(1),
            Command::Campaign => self.remaining = self.remaining.map(|remaining| remaining.saturating_sub(1)),
            Command::Resign => self.resignations = self.resignations.saturating_sub(1),
        }
        if self.belief == Belief::Idle {
            self.belief = Belief::Campaigning;
        }
    }

    fn record_event(&mut self, event: &Event, leases: bool, record: &mut StepRecord) {
        match *event {
            Event::Began { epoch } => {
                self.record_epoch(epoch, self.latest_epoch, record);
                (self.belief, self.lease_until) = (Belief::Unaware, None);
            }
            Event::Elected { leader, epoch, until } => {
                self.record_epoch(epoch, self.latest_epoch.max(self.latest_known_result), record);
                self.latest_known_result = self.latest_known_result.max(Some(epoch));
                self.belief = Belief::Knows { leader, epoch };
                self.lease_until = (leases && self.leads()).then_some(until);
                let epoch = u32::try_from(epoch.0).unwrap_or(u32::MAX);
                record.past.push(PastEvent::Elected { epoch, leader: leader.index() as u32 });
            }
            Event::Extended { until } => self.lease_until = (leases && self.leads()).then_some(until),
            Event::Ended { .. } => (self.belief, self.lease_until) = (Belief::Unaware, None),
            Event::Refused(_) if self.belief == Belief::Campaigning => self.belief = Belief::Idle,
            Event::Refused(_) => {}
        }
    }
}

impl Clients for Voters {
    type Command = Command;
    type Event = Event;
    type Client = Voter;

    fn initial(&self, node: NodeId) -> Voter {
        Voter {
            node,
            belief: Belief::Idle,
            awaits_event: false,
            remaining: if self.starters.contains(node) { self.rounds } else { Some(0) },
            recalls: self.recalls,
            resignations: self.resignations,
            down_nodes: 0,
            latest_epoch: None,
            latest_known_result: None,
            lease_until: None,
        }
    }

    fn offers(&self, client: &Voter) -> Vec<Offer<Command>> {
        let mut offers = Vec::new();
        let mut offer = |command, obliged| offers.push(Offer { command, obliged });
        if client.belief == Belief::Down || client.awaits_event {
            return offers;
        }
        if client.has_lost_leader() {
            if client.recalls > 0 {
                offer(Command::Campaign, true);
            }
        } else if client.remaining != Some(0) {
            offer(Command::Campaign, false);
        }
        if client.leads() && client.resignations > 0 {
            offer(Command::Resign, false);
        }
        offers
    }

    fn observe(&self, client: &mut Voter, step: ClientStep<'_, Command, Event>, record: &mut StepRecord) {
        client.awaits_event = match step {
            ClientStep::Issued(_) => true,
            ClientStep::Emitted(_) | ClientStep::Crashed | ClientStep::Restarted => false,
            ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => client.awaits_event,
        };
        match step {
            ClientStep::Issued(command) => client.record_command(*command),
            ClientStep::Emitted(event) => client.record_event(event, self.leases, record),
            ClientStep::Crashed => {
                (client.belief, client.lease_until, client.latest_epoch, client.down_nodes) =
                    (Belief::Down, None, None, 0);
            }
            ClientStep::Restarted => client.belief = Belief::Idle,
            ClientStep::PeerCrashed(node) => client.down_nodes |= 1 << node.index(),
            ClientStep::PeerRestarted(node) => client.down_nodes &= !(1 << node.index()),
        }
    }

    fn is_waiting(&self, _client: &Voter) -> bool {
        false
    }

    fn facet(&self, client: &Voter, acts: bool) -> u64 {
        match client.belief {
            _ if !acts => IDLE,
            Belief::Idle => IDLE,
            Belief::Down => DOWN,
            Belief::Campaigning | Belief::Unaware => UNAWARE,
            Belief::Knows { leader, epoch } => KNOWS | (leader.index() as u64) << 8 | epoch.0 << 16,
        }
    }

    fn goal(&self) -> Option<Judge> {
        Some(match self.expects {
            Expectation::OneForAll => all_know_the_same,
            Expectation::OneForEach => all_know_a_leader,
        })
    }

    fn held_until(&self, client: &Voter) -> Option<Time> {
        client.lease_until
    }

    fn properties(&self) -> Vec<Property> {
        let property = |name, judged| Property { name, judged };
        let mut properties =
            vec![property("one-leader-an-epoch", Judged::ByResults), property("epochs-grow", Judged::ByStep)];
        debug_assert_eq!(properties.len(), usize::from(EPOCHS_GROW) + 1);
        if self.leases {
            properties.push(property("one-master", Judged::ByExclusiveHolds));
        }
        properties.push(property("agreed", Judged::ByFairRuns));
        properties
    }
}

/// Whether all live nodes know the same live leader, or no live node has started anything.
fn all_know_the_same(facets: &[u64]) -> bool {
    let mut live = facets.iter().filter(|facet| **facet != DOWN);
    let first = live.clone().next();
    live.all(|facet| Some(facet) == first) && all_know_a_leader(facets)
}

/// Whether every live node knows a live leader, or no live node has started anything.
fn all_know_a_leader(facets: &[u64]) -> bool {
    let live = || facets.iter().filter(|facet| **facet != DOWN);
    let leader = |facet: &u64| facets.get((*facet >> 8 & 0xff) as usize);
    let knows_a_live_leader = |facet: &u64| *facet & 0xff == KNOWS && leader(facet).is_some_and(|facet| *facet != DOWN);
    live().all(|facet| *facet == IDLE) || live().all(knows_a_live_leader)
}
