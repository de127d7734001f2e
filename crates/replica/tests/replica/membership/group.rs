//! Members in the simulator, each with a client that requests entry repeatedly, and a check of
//! mutual exclusion.

use super::with_suspicions::{ExtendedCommand, WithSuspicions};
use crate::setup;
use quorate_core::mutex::{Command, Event};
use quorate_core::wrap::InViews;
use quorate_core::{Describe, Duration, Fence, Group, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::TimedFault;
use quorate_journal::workload::ClientEvent;
use quorate_replica::membership::{Member, Plan};
use quorate_sim::World;
use serde::Serialize;

/// An algorithm for mutual exclusion that can run in a simulated group.
pub(crate) trait Algorithm:
    InViews<Command = Command, Event = Event, Message: Describe + Serialize, Timer: Serialize, Report: Serialize> + 'static
{
}

impl<P> Algorithm for P where
    P: InViews<Command = Command, Event = Event, Message: Describe + Serialize, Timer: Serialize, Report: Serialize>
        + 'static
{
}

#[derive(Clone, Debug)]
pub(crate) struct FaultPlan {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    pub(crate) loss_percent: u32,
    /// The drift of each node's clock.
    pub(crate) drift_ppm: Vec<i32>,
    /// Faults as [`TimedFault`] parses them.
    pub(crate) schedule: Vec<String>,
    /// Suspicions: time since the start, suspecting node, suspected node.
    pub(crate) suspicions: Vec<(Duration, NodeId, NodeId)>,
}

impl FaultPlan {
    pub(crate) fn without_faults(seed: u64, nodes: usize) -> Self {
        Self { seed, nodes, loss_percent: 0, drift_ppm: vec![0; nodes], schedule: Vec::new(), suspicions: Vec::new() }
    }
}

/// Whether a node is in the critical section.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Occupancy {
    Out,
    /// The node is in the critical section until this simulated time at most.
    In(Time),
}

pub(crate) struct SimulatedGroup<P: Algorithm> {
    pub(crate) world: World<WithSuspicions<P>, ()>,
    faults: FaultPlan,
    rng: SeededRng,
    occupancies: Vec<Occupancy>,
    highest_fence: Option<Fence>,
    /// Time and node of every entry into the critical section.
    pub(crate) entries: Vec<(Time, NodeId)>,
}

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The time this many milliseconds after the start of the simulation.
pub(crate) fn at_millis(count: u64) -> Time {
    Time::ZERO + millis(count)
}

impl<P: Algorithm> SimulatedGroup<P> {
    pub(crate) fn new(faults: FaultPlan, plan: Plan, create: impl Fn(NodeId, Group) -> P + 'static) -> Self {
        // Half as many messages are duplicated as lost.
        let [loss, duplicate] = [faults.loss_percent, faults.loss_percent / 2].map(|percent| format!("{percent}%"));
        let (latency, sync) = ("uniform:1ms..5ms", "uniform:1ms..8ms");
        let setup = setup(faults.nodes, faults.seed, latency, [&loss, &duplicate], sync);
        let all = Group::of_size(faults.nodes);
        let create = move |me| WithSuspicions(Member::new(me, create(me, all.clone()), plan.clone()));
        let mut world = World::new(&setup, create, ());
        for fault in &faults.schedule {
            world.schedule_fault(fault.parse::<TimedFault>().unwrap());
        }
        for (index, ppm) in faults.drift_ppm.iter().enumerate() {
            world.schedule_fault(format!("drift {} by {ppm}ppm", index + 1).parse().unwrap());
        }
        for (after, suspecting, suspected) in &faults.suspicions {
            world.schedule_command(Time::ZERO + *after, *suspecting, ExtendedCommand::Suspect(*suspected));
        }
        world.start();
        let nodes = faults.nodes;
        let rng = SeededRng::new(faults.seed, Stream::Workload);
        let mut group = Self {
            world,
            faults,
            rng,
            occupancies: vec![Occupancy::Out; nodes],
            highest_fence: None,
            entries: Vec::new(),
        };
        (0..nodes).map(NodeId::from_index).for_each(|node| group.request_later(node));
        group
    }

    /// Runs until `select` returns a value, which is returned; `None` at the deadline.
    pub(crate) fn run_until_some<T>(
        &mut self,
        deadline: Time,
        mut select: impl FnMut(&Self) -> Option<T>,
    ) -> Option<T> {
        while self.world.time() < deadline {
            if let Some(value) = select(self) {
                return Some(value);
            }
            assert!(self.world.advance(), "no event is left");
            while let Some((node, notification)) = self.world.next_client_event() {
                match notification {
                    ClientEvent::Emitted(event) => self.handle(node, event),
                    ClientEvent::Crashed => self.occupancies[node.index()] = Occupancy::Out,
                    ClientEvent::Restarted => self.request_later(node),
                    ClientEvent::Alarm => {}
                }
            }
        }
        None
    }

    pub(crate) fn run_until(&mut self, deadline: Time) {
        self.run_until_some(deadline, |_| None::<()>);
    }

    pub(crate) fn leader(&self) -> Option<NodeId> {
        let leads = |node: &NodeId| self.world.is_up(*node) && self.world.node(*node).unwrap().0.replica().leads();
        (0..self.faults.nodes).map(NodeId::from_index).find(leads)
    }

    pub(crate) fn member(&self, node: NodeId) -> &Member<P> {
        &self.world.node(node).unwrap().0
    }

    /// Whether a node has entered the critical section at the time `since` or later.
    pub(crate) fn has_entered(&self, node: NodeId, since: Time) -> bool {
        self.entries.iter().rev().take_while(|(at, _)| *at >= since).any(|(_, entered)| *entered == node)
    }

    /// Lets the client request entry after a random delay.
    fn request_later(&mut self, node: NodeId) {
        let at = self.world.time() + self.rng.between(millis(20), millis(300));
        self.world.schedule_command_this_incarnation(at, node, ExtendedCommand::Client(Command::Acquire));
    }

    fn handle(&mut self, node: NodeId, event: Event) {
        match event {
            Event::Entered { fence, until } => {
                assert!(self.highest_fence < Some(fence), "{node} enters with {fence} after {:?}", self.highest_fence);
                self.highest_fence = Some(fence);
                self.entries.push((self.world.time(), node));
                self.enter_until(node, until);
                let at = self.world.time() + self.rng.between(millis(5), millis(200));
                self.world.schedule_command_this_incarnation(at, node, ExtendedCommand::Client(Command::Release));
            }
            Event::Extended { until } => self.enter_until(node, until),
            Event::Left | Event::Lost => self.leave(node),
            // The client may have released before it learnt that it lost its entry; then the
            // release is refused.
            Event::Refused(_) => {}
            Event::Denied | Event::Cancelled => panic!("unexpected event of {node}: {event}"),
        }
    }

    fn leave(&mut self, node: NodeId) {
        self.occupancies[node.index()] = Occupancy::Out;
        self.request_later(node);
    }

    /// Records that a node is in the critical section until `until` by its own clock, and checks
    /// that no other node is.
    fn enter_until(&mut self, node: NodeId, until: Time) {
        let now = self.world.time();
        for (index, other) in self.occupancies.iter().enumerate() {
            let other_node = NodeId::from_index(index);
            assert!(
                other_node == node || !matches!(other, Occupancy::In(end) if *end > now),
                "{node} and {other_node} are both in the critical section at {now}: {other:?}, {:?}",
                self.faults
            );
        }
        let rate = 1_000_000 + i128::from(self.faults.drift_ppm[node.index()]);
        // When the node's clock, which drifts, reaches `until`.
        let end = i128::from(until.nanos()) * 1_000_000 / rate;
        self.occupancies[node.index()] = Occupancy::In(Time::from_nanos(i64::try_from(end).unwrap()));
    }
}
