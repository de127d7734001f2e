//! Simulated runs: nodes compete for the critical section, with faults.

use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::central::Central;
use quorate_core::mutex::ricart_agrawala::RicartAgrawala;
use quorate_core::mutex::{Command, Event};
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_core::{Duration, Group, NodeId, Span, Time, WriteOf};
use quorate_draw::Window;
use quorate_draw::scene::Scene;
use quorate_draw::scene_builder::{Options, SceneBuilder};
use quorate_journal::Recordable;
use quorate_journal::moment::Observer;
use quorate_journal::settings::{Chance, Latency, TimedFault};
use quorate_lab::Mutex;
use quorate_lab::PresentFamily;
use quorate_lab::mutex::run::{Demand, Pattern, Requests};
use quorate_sim::run::{Limits, run};
use quorate_sim::{Setup, Wire, World};
use serde::Serialize;

/// A run in which all nodes request entry.
#[derive(Clone)]
pub(crate) struct MutexRun {
    setup: Setup,
    entries: u64,
    faults: Vec<TimedFault>,
}

impl MutexRun {
    /// Messages take from one to five milliseconds, and none are lost.
    pub(crate) fn of(nodes: usize, entries: u64, seed: u64) -> Self {
        let instant = Latency::Fixed(Duration::ZERO);
        let latency = "uniform:1ms..5ms".parse().expect("a latency");
        let wire = Wire { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, fifo: false };
        Self { setup: Setup { nodes, seed, wire, processing: instant, sync: instant }, entries, faults: Vec::new() }
    }

    /// A run with every kind of fault, for algorithms over reliable links.
    pub(crate) fn with_faults(seed: u64) -> Self {
        let run = Self::of(3, 3, seed).loss("0.1").duplicate("0.1");
        run.fault("cut 1 | 2,3 at 12ms for 20ms").fault("pause 2 at 3ms for 4ms").fault("crash 3 at 60ms for 10ms")
    }

    pub(crate) fn loss(mut self, chance: &str) -> Self {
        self.setup.wire.loss = chance.parse().expect("a chance");
        self
    }

    pub(crate) fn duplicate(mut self, chance: &str) -> Self {
        self.setup.wire.duplicate = chance.parse().expect("a chance");
        self
    }

    pub(crate) fn fault(mut self, fault: &str) -> Self {
        self.faults.push(fault.parse().expect("a fault"));
        self
    }

    pub(crate) fn ricart_agrawala<O: Observer<Command, Event>>(&self, observer: O) -> O {
        let group = Group::of_size(self.setup.nodes);
        self.observed(move |me| RicartAgrawala::new(me, group.clone()), observer)
    }

    pub(crate) fn reliable<O: Observer<Command, Event>>(&self, observer: O) -> O {
        let group = Group::of_size(self.setup.nodes);
        let (first, longest) = (Span::between(ms(15), ms(20)), ms(60));
        let make =
            move |me| Reliable::new(me, RicartAgrawala::new(me, group.clone()), Retransmission { first, longest });
        self.observed(make, observer)
    }

    pub(crate) fn central<O: Observer<Command, Event>>(&self, observer: O) -> O {
        let group = Group::of_size(self.setup.nodes);
        self.observed(move |me| Central::new(me, group.clone()), observer)
    }

    /// Runs each faulty algorithm variant and returns the observer of each run.
    pub(crate) fn fixtures<O: Observer<Command, Event>>(&self, mut observer: impl FnMut() -> O) -> Vec<O> {
        let group = Group::of_size(self.setup.nodes);
        let flaws = [Flaw::BareReplies, Flaw::ClockOnly, Flaw::NodeOnly, Flaw::FirstOnly];
        let mut observed = Vec::new();
        for flaw in flaws {
            let group = group.clone();
            observed.push(self.observed(move |me| RicartAgrawala1981::new(me, group.clone(), flaw), observer()));
        }
        let copies = [(); 5].map(|()| group.clone());
        let [embrace, favourite, forgetful, lease, slip] = copies;
        observed.push(self.observed(move |me| Asking::Embrace.node(me, embrace.clone()), observer()));
        observed.push(self.observed(move |me| Favour::Favourite.node(me, favourite.clone()), observer()));
        observed.push(self.observed(move |me| Memory::Forgetful.node(me, forgetful.clone()), observer()));
        observed.push(self.observed(move |me| Margin::Tick.node(me, lease.clone()), observer()));
        observed.push(self.observed(move |me| Care::Slip.node(me, slip.clone()), observer()));
        observed
    }

    pub(crate) fn scene_builder(&self, name: &str, window: Window) -> SceneBuilder<Command, Event> {
        let nodes = self.setup.nodes;
        let mut heading = super::heading(nodes);
        heading.algorithm = name.into();
        heading.detail = format!("seed {}", self.setup.seed);
        let options = Options { window, max_steps: 10_000, ..Options::default() };
        SceneBuilder::new(&super::header(nodes), heading, Mutex::role_after, options)
    }

    pub(crate) fn scene(&self) -> Scene {
        super::scene(self.ricart_agrawala(self.scene_builder("ricart-agrawala", Window::default())))
    }

    fn observed<P, O>(&self, make: impl Fn(NodeId) -> P + 'static, observer: O) -> O
    where
        P: Recordable<Command = Command, Event = Event>,
        WriteOf<P>: Serialize,
        O: Observer<Command, Event>,
    {
        let mut world = World::new(&self.setup, make, observer);
        for fault in &self.faults {
            world.schedule(fault.clone());
        }
        world.start();
        let hold = Latency::Fixed(ms(5));
        let demand = Demand {
            pattern: Pattern::All,
            entries: self.entries,
            requesters: Group::of_size(self.setup.nodes).iter().collect(),
            hold,
            think: Latency::Fixed(Duration::ZERO),
            tries: Chance::NEVER,
            cancels: Chance::NEVER,
            readers: Chance::NEVER,
            typical: ms(3),
        };
        let mut clients = Requests::new(self.setup.nodes, self.setup.seed, demand);
        let limits = Limits { until: Some(Time::ZERO + ms(500)), events: 5_000, settle: ms(1), patience: ms(300) };
        run(&mut world, &mut clients, limits);
        world.into_observer()
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
