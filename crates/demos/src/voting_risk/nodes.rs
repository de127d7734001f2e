//! The same with real nodes of the algorithm, in the simulator: voters that restart are all that is wrong.

use super::trial::Trial;
use super::{Ballot, Forgetting};
use quorate_core::mutex::voting::{Asks, Voting};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Bounds, Duration, Group, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::{Chance, Fault, Latency, TimedFault, Unsynced};
use quorate_journal::workload::News;
use quorate_journal::workload::{Plan, Workload};
use quorate_sim::run::{self, Limits};
use quorate_sim::{Setup, Wire, World};

/// Every message takes as long.
const MESSAGE: Duration = Duration::from_millis(1);

/// Real nodes: one for each voter, one that enters, and its rival.
///
/// The one that enters asks voter after voter until it has a majority, so that it has no more votes than that. The voters that forget
/// crash and come back while it is inside. Then the rival asks all of them at once.
pub struct Nodes {
    ballot: Ballot,
    forgetting: Forgetting,
    dice: Dice,
}

impl Nodes {
    pub fn new(ballot: Ballot, forgetting: Forgetting, seed: u64) -> Self {
        Self { ballot, forgetting, dice: Dice::new(seed, Stream::Faults) }
    }
}

impl Trial for Nodes {
    fn violates(&mut self) -> bool {
        let voters = Group::of_size(self.ballot.replicas as usize);
        let forgetful: Vec<_> = voters.iter().filter(|_| self.forgetting.strikes(&mut self.dice)).collect();
        let_in_two(self.ballot, &forgetful)
    }
}

pub(super) fn let_in_two(ballot: Ballot, forgetful: &[NodeId]) -> bool {
    let Ballot { replicas, majority } = ballot;
    let (voters, needed) = (replicas as usize, majority as usize);
    let (first, rival) = (NodeId::from_index(voters), NodeId::from_index(voters + 1));
    let hosts: Vec<_> = Group::of_size(voters).iter().collect();
    let group = Group::of_size(voters + 2);
    let nodes = group.len();
    let make = move |me: NodeId| {
        let asks = if me == first { Asks::Sequential } else { Asks::All };
        let bounds = Bounds { message: MESSAGE, processing: Duration::ZERO };
        Voting::with_hosts(me, group.clone(), hosts.clone(), needed, asks, bounds)
    };
    let latency = Latency::Fixed(MESSAGE);
    let wire = Wire { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, fifo: false };
    let instant = Latency::Fixed(Duration::ZERO);
    let mut world = World::new(&Setup { nodes, seed: 1, wire, processing: instant, sync: instant }, make, ());
    // The first one has asked a majority, one after the other.
    let inside = MESSAGE.times(2 * majority + 1);
    for node in forgetful {
        let fault = Fault::Crash { node: *node, unsynced: Unsynced::Lost };
        world.schedule(TimedFault { fault, at: inside, lasts: Some(MESSAGE) });
    }
    world.start();
    let mut rivalry =
        Rivalry { first, rival, asks: Time::ZERO + inside + MESSAGE.times(2), inside: [false; 2], over: false };
    run::run(&mut world, &mut rivalry, LIMITS);
    rivalry.inside == [true; 2]
}

/// Nothing here takes long.
const LIMITS: Limits =
    Limits { until: None, events: u64::MAX, settle: Duration::ZERO, patience: Duration::from_secs(3_600) };

/// The two users: one enters and stays, the other tries.
struct Rivalry {
    first: NodeId,
    rival: NodeId,
    asks: Time,
    inside: [bool; 2],
    over: bool,
}

impl Workload<Command, Event> for Rivalry {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        plan.command(Time::ZERO, self.first, Command::Acquire);
        plan.command(self.asks, self.rival, Command::Try);
    }

    fn hear(&mut self, _now: Time, node: NodeId, news: &News<Event>, _plan: &mut Plan<Command>) {
        let is_in = matches!(news, News::Told(Event::Entered { .. }));
        if node == self.first {
            self.inside[0] |= is_in;
        } else if node == self.rival {
            self.inside[1] |= is_in;
            self.over = true;
        }
    }

    fn is_done(&self) -> bool {
        self.over
    }
}
