//! Simulated runs: nodes compete for the critical section, with or without faults.

use quorate_core::fixtures::toys::{GrantOrder, Margin, Memory, Removal, VoterOrder};
use quorate_core::fixtures::{Flaw, RicartAgrawala1981};
use quorate_core::mutex::central::Central;
use quorate_core::mutex::ricart_agrawala::RicartAgrawala;
use quorate_core::mutex::{Command, Event};
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
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
use quorate_sim::{LinkDefaults, Setup, World};
use serde::Serialize;

/// A simulated run in which the nodes together make `entries` requests.
#[derive(Clone)]
pub(crate) struct MutexRun {
    setup: Setup,
    entries: u64,
    faults: Vec<TimedFault>,
}

impl MutexRun {
    /// A run with one entry and without faults, in which messages take from one to five
    /// milliseconds.
    pub(crate) fn of_nodes(nodes: usize) -> Self {
        let instant = Latency::Fixed(Duration::ZERO);
        let latency = "uniform:1ms..5ms".parse().expect("a latency");
        let link_defaults = LinkDefaults { latency, loss: Chance::NEVER, duplicate: Chance::NEVER, is_fifo: false };
        Self {
            setup: Setup { nodes, seed: 0, link_defaults, processing: instant, sync: instant },
            entries: 1,
            faults: Vec::new(),
        }
    }

    pub(crate) fn entries(self, entries: u64) -> Self {
        Self { entries, ..self }
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.setup.seed = seed;
        self
    }

    /// A run with losses, duplicates, a cut, a pause and a crash.
    pub(crate) fn with_faults(seed: u64) -> Self {
        let run = Self::of_nodes(3).entries(3).seed(seed).loss("0.1").duplicate("0.1");
        run.fault("cut 1 | 2,3 at 12ms for 20ms").fault("pause 2 at 3ms for 4ms").fault("crash 3 at 60ms for 10ms")
    }

    pub(crate) fn loss(mut self, chance: &str) -> Self {
        self.setup.link_defaults.loss = chance.parse().expect("a chance");
        self
    }

    pub(crate) fn duplicate(mut self, chance: &str) -> Self {
        self.setup.link_defaults.duplicate = chance.parse().expect("a chance");
        self
    }

    pub(crate) fn fault(mut self, fault: &str) -> Self {
        self.faults.push(fault.parse().expect("a fault"));
        self
    }

    pub(crate) fn run_ricart_agrawala<O: Observer<Command, Event>>(&self, observer: O) -> O {
        let group = Group::of_size(self.setup.nodes);
        self.run_observed(move |me| RicartAgrawala::new(me, group.clone()), observer)
    }

    /// Runs Ricart-Agrawala over reliable links.
    pub(crate) fn run_reliable<O: Observer<Command, Event>>(&self, observer: O) -> O {
        let group = Group::of_size(self.setup.nodes);
        let (first, max) = (Span::between(ms(15), ms(20)), ms(60));
        let make =
            move |me| Reliable::new(me, RicartAgrawala::new(me, group.clone()), RetransmissionTimeouts { first, max });
        self.run_observed(make, observer)
    }

    pub(crate) fn run_central<O: Observer<Command, Event>>(&self, observer: O) -> O {
        let group = Group::of_size(self.setup.nodes);
        self.run_observed(move |me| Central::new(me, group.clone()), observer)
    }

    /// Runs several algorithms with a seeded bug and returns the observer of each run.
    pub(crate) fn run_fixtures<O: Observer<Command, Event>>(&self, mut observer: impl FnMut() -> O) -> Vec<O> {
        let group = Group::of_size(self.setup.nodes);
        let flaws = [Flaw::BareReplies, Flaw::ClockOnly, Flaw::NodeOnly, Flaw::FirstOnly];
        let mut observers = Vec::new();
        for flaw in flaws {
            let group = group.clone();
            observers.push(self.run_observed(move |me| RicartAgrawala1981::new(me, group.clone(), flaw), observer()));
        }
        let copies = [(); 5].map(|()| group.clone());
        let [group_1, group_2, group_3, group_4, group_5] = copies;
        observers.push(self.run_observed(move |me| VoterOrder::ByParity.node(me, group_1.clone()), observer()));
        observers
            .push(self.run_observed(move |me| GrantOrder::LowestNumberFirst.node(me, group_2.clone()), observer()));
        observers.push(self.run_observed(move |me| Memory::Forgetful.node(me, group_3.clone()), observer()));
        observers.push(self.run_observed(move |me| Margin::Tick.node(me, group_4.clone()), observer()));
        observers.push(self.run_observed(move |me| Removal::BothOfTwo.node(me, group_5.clone()), observer()));
        observers
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
        super::finish_scene(self.run_ricart_agrawala(self.scene_builder("ricart-agrawala", Window::default())))
    }

    fn run_observed<P, O>(&self, make: impl Fn(NodeId) -> P + 'static, observer: O) -> O
    where
        P: Recordable<Command = Command, Event = Event>,
        WriteOf<P>: Serialize,
        O: Observer<Command, Event>,
    {
        let mut world = World::new(&self.setup, make, observer);
        for fault in &self.faults {
            world.schedule_fault(fault.clone());
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
            // The mean of the latency.
            message_time: ms(3),
        };
        let mut clients = Requests::new(self.setup.nodes, self.setup.seed, demand);
        let limits = Limits {
            max_time: Some(Time::ZERO + ms(500)),
            max_inputs: 5_000,
            max_settling: ms(1),
            max_silence: ms(300),
        };
        run(&mut world, &mut clients, limits);
        world.into_observer()
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
