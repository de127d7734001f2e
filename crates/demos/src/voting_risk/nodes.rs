//! A trial with real nodes of the voting algorithm in the simulator. Restarts of voters are the
//! only faults.

use super::trial::Trial;
use super::{Electorate, ForgetModel};
use quorate_core::mutex::voting::{RequestMode, Voting};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Bounds, Duration, Group, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Chance, Fault, Latency, TimedFault, UnsyncedSaves};
use quorate_journal::workload::ClientEvent;
use quorate_journal::workload::{Plan, Workload};
use quorate_sim::run::{self, Limits};
use quorate_sim::{LinkDefaults, Setup, World};

/// The delay of every message.
const MESSAGE_DELAY: Duration = Duration::from_millis(1);

/// A trial with real nodes: one per voter, one that enters (the first node), and its rival.
///
/// The first node requests one vote after another, so that it has exactly a majority when it
/// enters. While it holds the lock, the forgetful voters crash and restart without their votes.
/// Then the rival requests all votes at the same time.
pub struct NodeTrial {
    electorate: Electorate,
    model: ForgetModel,
    rng: SeededRng,
}

impl NodeTrial {
    pub fn new(electorate: Electorate, model: ForgetModel, seed: u64) -> Self {
        Self { electorate, model, rng: SeededRng::new(seed, Stream::Faults) }
    }
}

impl Trial for NodeTrial {
    fn violates_exclusion(&mut self) -> bool {
        let voters = Group::of_size(self.electorate.replicas as usize);
        let forgetful: Vec<_> = voters.iter().filter(|_| self.model.draw_forgets(&mut self.rng)).collect();
        both_enter(self.electorate, &forgetful)
    }
}

/// Simulates one trial in which exactly these voters forget. Returns whether both nodes enter.
pub(super) fn both_enter(electorate: Electorate, forgetful: &[NodeId]) -> bool {
    let Electorate { replicas, majority } = electorate;
    let (voters, needed_votes) = (replicas as usize, majority as usize);
    let (first, rival) = (NodeId::from_index(voters), NodeId::from_index(voters + 1));
    let voter_nodes: Vec<_> = Group::of_size(voters).iter().collect();
    let group = Group::of_size(voters + 2);
    let nodes = group.len();
    let make_node = move |me: NodeId| {
        let request_mode = if me == first { RequestMode::Sequential } else { RequestMode::AllAtOnce };
        let bounds = Bounds { message: MESSAGE_DELAY, processing: Duration::ZERO };
        Voting::with_voters(me, group.clone(), voter_nodes.clone(), needed_votes, request_mode, bounds)
    };
    let latency = Latency::Fixed(MESSAGE_DELAY);
    let link_defaults = LinkDefaults { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, is_fifo: false };
    let instant = Latency::Fixed(Duration::ZERO);
    let mut world =
        World::new(&Setup { nodes, seed: 1, link_defaults, processing: instant, sync: instant }, make_node, ());
    // By this time the first node has entered: it requests the votes of a majority one after
    // another, a round trip for each. One delay is a margin.
    let after_first_entry = MESSAGE_DELAY.times(2 * majority + 1);
    for node in forgetful {
        let fault = Fault::Crash { node: *node, unsynced: UnsyncedSaves::Lost };
        world.schedule_fault(TimedFault { fault, at: after_first_entry, duration: Some(MESSAGE_DELAY) });
    }
    world.start();
    let mut clients = TwoClients {
        first,
        rival,
        rival_request_time: Time::ZERO + after_first_entry + MESSAGE_DELAY.times(2),
        have_entered: [false; 2],
        has_rival_answer: false,
    };
    run::run(&mut world, &mut clients, LIMITS);
    clients.have_entered == [true; 2]
}

/// A run ends as soon as the rival has its answer. It is short, so no other limit is ever reached.
const LIMITS: Limits = Limits {
    max_time: None,
    max_inputs: u64::MAX,
    max_settling: Duration::ZERO,
    max_silence: Duration::from_secs(3_600),
};

/// The first node's client, which enters and never releases, and the rival's client, which makes
/// one try.
struct TwoClients {
    first: NodeId,
    rival: NodeId,
    rival_request_time: Time,
    /// Whether the first node and the rival have entered.
    have_entered: [bool; 2],
    has_rival_answer: bool,
}

impl Workload<Command, Event> for TwoClients {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        plan.command(Time::ZERO, self.first, Command::Acquire);
        plan.command(self.rival_request_time, self.rival, Command::Try);
    }

    fn on_event(&mut self, _now: Time, node: NodeId, event: &ClientEvent<Event>, _plan: &mut Plan<Command>) {
        let is_entry = matches!(event, ClientEvent::Emitted(Event::Entered { .. }));
        if node == self.first {
            self.have_entered[0] |= is_entry;
        } else if node == self.rival {
            self.have_entered[1] |= is_entry;
            self.has_rival_answer = true;
        }
    }

    fn is_done(&self) -> bool {
        self.has_rival_answer
    }
}
