//! A world described in the words of the settings, run to the end of its queue.

use super::{Acts, Puppet, Story, node};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::Observer;
use quorate_journal::record::{FORMAT, Header, Writer};
use quorate_journal::settings::{Chance, Direction, Latency, TimedFault};
use quorate_sim::{Setup, Wire, World};

/// What is to happen to some puppets.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) setup: Setup,
    pub(crate) faults: Vec<TimedFault>,
    pub(crate) commands: Vec<(Time, NodeId, Acts)>,
    pub(crate) directions: Vec<Direction>,
    opening: Acts,
}

impl Stage {
    /// A world where a message takes 1 ms and keeps its order, nothing is lost, and all else takes no time.
    pub(crate) fn of(nodes: usize) -> Self {
        let instant = Latency::Fixed(Duration::ZERO);
        let wire = Wire {
            latency: Latency::Fixed(Duration::from_millis(1)),
            loss: Chance::NEVER,
            duplicate: Chance::NEVER,
            fifo: true,
        };
        Self {
            setup: Setup { nodes, seed: 1, wire, processing: instant, sync: instant },
            faults: Vec::new(),
            commands: Vec::new(),
            directions: Vec::new(),
            opening: Vec::new(),
        }
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.setup.seed = seed;
        self
    }

    pub(crate) fn latency(mut self, text: &str) -> Self {
        self.setup.wire.latency = text.parse().unwrap();
        self
    }

    pub(crate) fn loss(mut self, text: &str) -> Self {
        self.setup.wire.loss = text.parse().unwrap();
        self
    }

    pub(crate) fn duplicate(mut self, text: &str) -> Self {
        self.setup.wire.duplicate = text.parse().unwrap();
        self
    }

    pub(crate) fn fifo(mut self, fifo: bool) -> Self {
        self.setup.wire.fifo = fifo;
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

    /// Takes a choice from chance.
    pub(crate) fn direct(mut self, text: &str) -> Self {
        self.directions.push(text.parse().unwrap());
        self
    }

    /// What every node does first in every life.
    pub(crate) fn opening(mut self, acts: impl Into<Acts>) -> Self {
        self.opening = acts.into();
        self
    }

    /// Tells a node at an instant what to do.
    pub(crate) fn tell(mut self, instant: &str, number: u32, acts: impl Into<Acts>) -> Self {
        self.commands.push((super::at(instant), node(number), acts.into()));
        self
    }

    /// A puppet of this world.
    pub(crate) fn maker(&self) -> impl Fn(NodeId) -> Puppet + 'static {
        let opening = self.opening.clone();
        move |_| Puppet::new(opening.clone())
    }

    /// The world, started.
    pub(crate) fn world<O: Observer<Acts, String>>(&self, observer: O) -> World<Puppet, O> {
        let mut world = World::new(&self.setup, self.maker(), observer);
        for fault in &self.faults {
            fault.validate(self.setup.nodes).unwrap();
            world.schedule(fault.clone());
        }
        world.direct(&self.directions);
        world.start();
        for (instant, node, acts) in &self.commands {
            world.command(*instant, *node, acts.clone());
        }
        world
    }

    /// The world, after all that can happen in it.
    pub(crate) fn played<O: Observer<Acts, String>>(&self, observer: O) -> World<Puppet, O> {
        let mut world = self.world(observer);
        while world.advance() {}
        world
    }

    /// What an observer makes of it all.
    pub(crate) fn watched<O: Observer<Acts, String>>(&self, observer: O) -> O {
        self.played(observer).into_observer()
    }

    /// What happens, a line each.
    pub(crate) fn story(&self) -> String {
        self.watched(Story::default()).text
    }

    pub(crate) fn journal(&self) -> String {
        let mut bytes = Vec::new();
        let writer = self.watched(Writer::new(&mut bytes, &header(self.setup.nodes)));
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

pub(crate) fn header(nodes: usize) -> Header {
    Header {
        journal: FORMAT,
        algorithm: "puppet".into(),
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
