//! A builder for scenarios. `quorate_journal::settings` defines the syntax of faults, directions,
//! latencies and probabilities.

use super::{Actions, ScriptedNode, Trace, node};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::Observer;
use quorate_journal::record::{FORMAT, Header, Writer};
use quorate_journal::settings::{Chance, Direction, Latency, TimedFault};
use quorate_sim::{LinkDefaults, Setup, World};

/// A setup with faults, commands and directions.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) setup: Setup,
    pub(crate) faults: Vec<TimedFault>,
    pub(crate) commands: Vec<(Time, NodeId, Actions)>,
    pub(crate) directions: Vec<Direction>,
    on_start: Actions,
    collects: bool,
}

impl Scenario {
    /// Creates a scenario in which a message takes 1 ms, links are FIFO and lose nothing, and
    /// processing and syncs take no time.
    pub(crate) fn new(nodes: usize) -> Self {
        let instant = Latency::Fixed(Duration::ZERO);
        let link_defaults = LinkDefaults {
            latency: Latency::Fixed(Duration::from_millis(1)),
            loss: Chance::NEVER,
            duplicate: Chance::NEVER,
            is_fifo: true,
        };
        Self {
            setup: Setup { nodes, seed: 1, link_defaults, processing: instant, sync: instant },
            faults: Vec::new(),
            commands: Vec::new(),
            directions: Vec::new(),
            on_start: Vec::new(),
            collects: false,
        }
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.setup.seed = seed;
        self
    }

    pub(crate) fn latency(mut self, text: &str) -> Self {
        self.setup.link_defaults.latency = text.parse().unwrap();
        self
    }

    pub(crate) fn loss(mut self, text: &str) -> Self {
        self.setup.link_defaults.loss = text.parse().unwrap();
        self
    }

    pub(crate) fn duplicate(mut self, text: &str) -> Self {
        self.setup.link_defaults.duplicate = text.parse().unwrap();
        self
    }

    pub(crate) fn fifo_links(mut self, is_fifo: bool) -> Self {
        self.setup.link_defaults.is_fifo = is_fifo;
        self
    }

    pub(crate) fn processing(mut self, text: &str) -> Self {
        self.setup.processing = text.parse().unwrap();
        self
    }

    pub(crate) fn sync(mut self, text: &str) -> Self {
        self.setup.sync = text.parse().unwrap();
        self
    }

    pub(crate) fn fault(mut self, text: &str) -> Self {
        self.faults.push(text.parse().unwrap());
        self
    }

    /// Adds a direction, which fixes a choice that would otherwise be random.
    pub(crate) fn direction(mut self, text: &str) -> Self {
        self.directions.push(text.parse().unwrap());
        self
    }

    /// Sets the actions of every node at the start of every incarnation.
    pub(crate) fn on_start(mut self, actions: impl Into<Actions>) -> Self {
        self.on_start = actions.into();
        self
    }

    /// Makes every node carry out the actions of its inputs only at the end of their turn.
    pub(crate) fn collecting(mut self) -> Self {
        self.collects = true;
        self
    }

    /// Gives a node a command with these actions at this time.
    pub(crate) fn command(mut self, instant: &str, number: u32, actions: impl Into<Actions>) -> Self {
        self.commands.push((super::at(instant), node(number), actions.into()));
        self
    }

    /// Returns a function that creates the nodes.
    pub(crate) fn node_factory(&self) -> impl Fn(NodeId) -> ScriptedNode + 'static {
        let (on_start, collects) = (self.on_start.clone(), self.collects);
        move |_| {
            let node = ScriptedNode::new(on_start.clone());
            if collects { node.collecting() } else { node }
        }
    }

    /// Creates and starts the world.
    pub(crate) fn world<O: Observer<Actions, String>>(&self, observer: O) -> World<ScriptedNode, O> {
        let mut world = World::new(&self.setup, self.node_factory(), observer);
        for fault in &self.faults {
            fault.validate(self.setup.nodes).unwrap();
            world.schedule_fault(fault.clone());
        }
        world.set_directions(&self.directions);
        world.start();
        for (instant, node, actions) in &self.commands {
            world.schedule_command(*instant, *node, actions.clone());
        }
        world
    }

    /// Runs the world until no events are left, and returns it.
    pub(crate) fn run_to_end<O: Observer<Actions, String>>(&self, observer: O) -> World<ScriptedNode, O> {
        let mut world = self.world(observer);
        while world.advance() {}
        world
    }

    /// Runs the world until no events are left, and returns the observer.
    pub(crate) fn run_observed<O: Observer<Actions, String>>(&self, observer: O) -> O {
        self.run_to_end(observer).into_observer()
    }

    /// Runs the world until no events are left, and returns its trace.
    pub(crate) fn trace(&self) -> String {
        self.run_observed(Trace::default()).text
    }

    /// Runs the world until no events are left, and returns its journal.
    pub(crate) fn journal(&self) -> String {
        let mut bytes = Vec::new();
        let writer = self.run_observed(Writer::new(&mut bytes, &header(self.setup.nodes)));
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

pub(crate) fn header(nodes: usize) -> Header {
    Header {
        journal: FORMAT,
        algorithm: "scripted".into(),
        family: "toys".into(),
        nodes,
        seed: 1,
        found_by: None,
        recorded: false,
        origin: 0,
        live: None,
        run: serde_json::Value::Null,
    }
}
