//! A cluster of replicas in the simulator, whose commands a test gives.

use crate::setup;
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::TimedFault;
use quorate_journal::workload::ClientEvent;
use quorate_replica::{Command, Event, Replica, Settings, StateMachine, Ticket};
use quorate_sim::World;
use std::fmt;

pub(crate) struct Cluster<S: StateMachine + 'static> {
    pub(crate) world: World<Replica<S>, ()>,
    nodes: usize,
    last_ticket: u64,
    pub(crate) events: Vec<(Time, NodeId, Event<S>)>,
}

impl<S: StateMachine + fmt::Debug> Cluster<S> {
    /// A cluster with these faults, which are lines of a script: `crash 3 torn at 5s for 3s`
    /// crashes node 3 during a write, and restarts it 3 s later; `restart 3 blank` restarts it with
    /// an empty disk; `cut 3 | 1,2` partitions the network; and `link 1-2 > 1-2 loss 1` lets the
    /// links between nodes 1 and 2 lose every message.
    pub(crate) fn start(
        seed: u64,
        nodes: usize,
        faults: &[&str],
        settings_of: impl Fn(NodeId) -> Settings + 'static,
    ) -> Self {
        let no_loss_or_duplicates = ["0", "0"];
        let setup = setup(nodes, seed, "uniform:1ms..3ms", no_loss_or_duplicates, "uniform:0ms..2ms");
        let mut world = World::new(&setup, move |me| Replica::new(me, settings_of(me)), ());
        for fault in faults {
            world.schedule_fault(fault.parse::<TimedFault>().unwrap());
        }
        world.start();
        Self { world, nodes, last_ticket: 0, events: Vec::new() }
    }

    /// Runs until `select` returns a value, which is returned. Fails after a simulated minute
    /// without the `awaited` value.
    pub(crate) fn run_until<T>(&mut self, awaited: &str, mut select: impl FnMut(&Self) -> Option<T>) -> T {
        let deadline = self.world.time() + Duration::from_secs(60);
        loop {
            if let Some(value) = select(self) {
                return value;
            }
            assert!(self.world.time() < deadline, "no {awaited} by {}: {:?}", self.world.time(), self.events.last());
            assert!(self.world.advance(), "no event is left, but no {awaited}");
            while let Some((node, notification)) = self.world.next_client_event() {
                if let ClientEvent::Emitted(event) = notification {
                    self.events.push((self.world.time(), node, event));
                }
            }
        }
    }

    pub(crate) fn run_to(&mut self, end: Time) {
        self.run_until("end of the wait", |cluster| (cluster.world.time() >= end).then_some(()));
    }

    pub(crate) fn run_for(&mut self, length: Duration) {
        self.run_to(self.world.time() + length);
    }

    pub(crate) fn leader(&mut self) -> NodeId {
        self.run_until("leader", |cluster| {
            let leads = |node: &NodeId| cluster.world.is_up(*node) && cluster.world.node(*node).unwrap().leads();
            (0..cluster.nodes).map(NodeId::from_index).find(leads)
        })
    }

    /// Gives a replica a command with a new ticket.
    pub(crate) fn request(&mut self, replica: NodeId, command: impl FnOnce(Ticket) -> Command<S>) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.world.schedule_command_this_incarnation(self.world.time(), replica, command(ticket));
        ticket
    }
}
