//! A trial with real nodes of the voting algorithm in the simulator. Restarts of voters are the
//! only faults.

use super::trial::Trial;
use super::{Ballot, Forgetting};
use quorate_core::mutex::voting::{RequestMode, Voting};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Bounds, Duration, Group, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Chance, Fault, Latency, TimedFault, Unsynced};
use quorate_journal::workload::ClientEvent;
use quorate_journal::workload::{Plan, Workload};
use quorate_sim::run::{self, Limits};
use quorate_sim::{Setup, Wire, World};

/// The delay of every message.
const MESSAGE_DELAY: Duration = Duration::from_millis(1);

/// A trial with real nodes: one per voter, one that enters (the first node), and its rival.
///
/// The first node requests one vote after another, so that it has exactly a majority when it
/// enters. While it holds the lock, the forgetful voters crash and restart without their votes.
/// Then the rival requests all votes at once.
pub struct NodeTrial {
    ballot: Ballot,
    forgetting: Forgetting,
    rng: SeededRng,
}

impl NodeTrial {
    pub fn new(ballot: Ballot, forgetting: Forgetting, seed: u64) -> Self {
        Self { ballot, forgetting, rng: SeededRng::new(seed, Stream::Faults) }
    }
}

impl Trial for NodeTrial {
    fn violates_exclusion(&mut self) -> bool {
        let voters = Group::of_size(self.ballot.replicas as usize);
        let forgetful: Vec<_> = voters.iter().filter(|_| self.forgetting.occurs(&mut self.rng)).collect();
        both_enter(self.ballot, &forgetful)
    }
}

/// Simulates one trial in which exactly these voters forget. Returns whether both nodes enter.
pub(super) fn both_enter(ballot: Ballot, forgetful: &[NodeId]) -> bool {
    let Ballot { replicas, majority } = ballot;
    let (voters, needed) = (replicas as usize, majority as usize);
    let (first, rival) = (NodeId::from_index(voters), NodeId::from_index(voters + 1));
    let hosts: Vec<_> = Group::of_size(voters).iter().collect();
    let group = Group::of_size(voters + 2);
    let nodes = group.len();
    let make = move |me: NodeId| {
        let order = if me == first { RequestMode::Sequential } else { RequestMode::AllAtOnce };
        let bounds = Bounds { message: MESSAGE_DELAY, processing: Duration::ZERO };
        Voting::with_hosts(me, group.clone(), hosts.clone(), needed, order, bounds)
    };
    let latency = Latency::Fixed(MESSAGE_DELAY);
    let wire = Wire { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, fifo: false };
    let instant = Latency::Fixed(Duration::ZERO);
    let mut world = World::new(&Setup { nodes, seed: 1, wire, processing: instant, sync: instant }, make, ());
    // By then the first node has the votes of a majority, at one round trip per vote.
    let first_entry = MESSAGE_DELAY.times(2 * majority + 1);
    for node in forgetful {
        let fault = Fault::Crash { node: *node, unsynced: Unsynced::Lost };
        world.schedule(TimedFault { fault, at: first_entry, lasts: Some(MESSAGE_DELAY) });
    }
    world.start();
    let mut clients = TwoClients {
        first,
        rival,
        rival_request: Time::ZERO + first_entry + MESSAGE_DELAY.times(2),
        entered: [false; 2],
        rival_answered: false,
    };
    run::run(&mut world, &mut clients, LIMITS);
    clients.entered == [true; 2]
}

/// Runs are short, so these limits are never reached.
const LIMITS: Limits =
    Limits { until: None, events: u64::MAX, settle: Duration::ZERO, patience: Duration::from_secs(3_600) };

/// The first node's client, which enters and never releases, and the rival's client, which tries
/// to enter.
struct TwoClients {
    first: NodeId,
    rival: NodeId,
    rival_request: Time,
    /// Whether the first node and the rival have entered.
    entered: [bool; 2],
    rival_answered: bool,
}

impl Workload<Command, Event> for TwoClients {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        plan.command(Time::ZERO, self.first, Command::Acquire);
        plan.command(self.rival_request, self.rival, Command::Try);
    }

    fn on_event(&mut self, _now: Time, node: NodeId, notification: &ClientEvent<Event>, _plan: &mut Plan<Command>) {
        let is_entry = matches!(notification, ClientEvent::Emitted(Event::Entered { .. }));
        if node == self.first {
            self.entered[0] |= is_entry;
        } else if node == self.rival {
            self.entered[1] |= is_entry;
            self.rival_answered = true;
        }
    }

    fn is_done(&self) -> bool {
        self.rival_answered
    }
}
