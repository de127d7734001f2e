//! Members in the simulator, each with a user who wants in again and again, and a judge who watches them.

use super::informed::{Informed, Told};
use crate::setup;
use quorate_core::mutex::{Command, Event};
use quorate_core::wrap::InViews;
use quorate_core::{Describe, Duration, Fence, Group, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::TimedFault;
use quorate_journal::workload::News;
use quorate_replica::membership::{Member, Plan};
use quorate_sim::World;
use serde::Serialize;

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
pub(crate) struct Weather {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    pub(crate) loss_percent: u32,
    /// How much each clock is too fast, in millionths.
    pub(crate) drift: Vec<i32>,
    pub(crate) faults: Vec<String>,
    pub(crate) gone: Vec<(Duration, NodeId, NodeId)>,
}

impl Weather {
    pub(crate) fn fair(seed: u64, nodes: usize) -> Self {
        Self { seed, nodes, loss_percent: 0, drift: vec![0; nodes], faults: Vec::new(), gone: Vec::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Out,
    In(Time),
}

pub(crate) struct Fleet<P: Algorithm> {
    pub(crate) world: World<Informed<P>, ()>,
    weather: Weather,
    dice: Dice,
    places: Vec<Place>,
    highest: Option<Fence>,
    /// Every entry: when, and whose.
    pub(crate) entries: Vec<(Time, NodeId)>,
}

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn instant(count: u64) -> Time {
    Time::ZERO + millis(count)
}

impl<P: Algorithm> Fleet<P> {
    pub(crate) fn new(weather: Weather, plan: Plan, make: impl Fn(NodeId, Group) -> P + 'static) -> Self {
        let chances = [weather.loss_percent, weather.loss_percent / 2].map(|percent| format!("{percent}%"));
        let chances = [&*chances[0], &*chances[1]];
        let setup = setup(weather.nodes, weather.seed, "uniform:1ms..5ms", chances, "uniform:1ms..8ms");
        let group = Group::of_size(weather.nodes);
        let make = move |me| Informed(Member::new(me, make(me, group.clone()), plan.clone()));
        let mut world = World::new(&setup, make, ());
        for fault in &weather.faults {
            world.schedule(fault.parse::<TimedFault>().unwrap());
        }
        for (place, ppm) in weather.drift.iter().enumerate() {
            world.schedule(format!("drift {} by {ppm}ppm", place + 1).parse().unwrap());
        }
        for (after, who, whom) in &weather.gone {
            world.command(Time::ZERO + *after, *who, Told::Gone(*whom));
        }
        world.start();
        let nodes = weather.nodes;
        let dice = Dice::new(weather.seed, Stream::Workload);
        let mut fleet =
            Self { world, weather, dice, places: vec![Place::Out; nodes], highest: None, entries: Vec::new() };
        (0..nodes).map(NodeId::from_index).for_each(|node| fleet.pause_for_thought(node));
        fleet
    }

    /// Runs until something is so, or until this instant has come.
    pub(crate) fn until<T>(&mut self, deadline: Time, mut found: impl FnMut(&Self) -> Option<T>) -> Option<T> {
        while self.world.time() < deadline {
            if let Some(found) = found(self) {
                return Some(found);
            }
            assert!(self.world.advance(), "nothing is left to happen");
            while let Some((node, news)) = self.world.next_news() {
                match news {
                    News::Told(event) => self.told(node, event),
                    News::Crashed => self.places[node.index()] = Place::Out,
                    News::Restarted => self.pause_for_thought(node),
                    News::Alarm => {}
                }
            }
        }
        None
    }

    pub(crate) fn run_until(&mut self, deadline: Time) {
        self.until(deadline, |_| None::<()>);
    }

    pub(crate) fn leader(&self) -> Option<NodeId> {
        let leads = |node: &NodeId| self.world.is_up(*node) && self.world.node(*node).unwrap().0.replica().leads();
        (0..self.weather.nodes).map(NodeId::from_index).find(leads)
    }

    pub(crate) fn member(&self, node: NodeId) -> &Member<P> {
        &self.world.node(node).unwrap().0
    }

    pub(crate) fn was_served(&self, node: NodeId, since: Time) -> bool {
        self.entries.iter().rev().take_while(|(at, _)| *at >= since).any(|(_, who)| *who == node)
    }

    /// A user that is out asks again after a while.
    fn pause_for_thought(&mut self, node: NodeId) {
        let at = self.world.time() + self.dice.between(millis(20), millis(300));
        self.world.command_this_life(at, node, Told::User(Command::Acquire));
    }

    fn told(&mut self, node: NodeId, event: Event) {
        match event {
            Event::Entered { fence, until } => {
                assert!(self.highest < Some(fence), "{node} enters with {fence} after {:?}", self.highest);
                self.highest = Some(fence);
                self.entries.push((self.world.time(), node));
                self.stay(node, until);
                let at = self.world.time() + self.dice.between(millis(5), millis(200));
                self.world.command_this_life(at, node, Told::User(Command::Release));
            }
            Event::Extended { until } => self.stay(node, until),
            Event::Left => self.leave(node),
            // Whoever is thrown out may have asked to leave before it knew; the answer is then a refusal.
            Event::Lost => self.leave(node),
            Event::Refused(_) => {}
            Event::Denied | Event::Cancelled => panic!("{node} is told {event}"),
        }
    }

    fn leave(&mut self, node: NodeId) {
        self.places[node.index()] = Place::Out;
        self.pause_for_thought(node);
    }

    /// The judge: nobody is in the right to be inside while another is.
    fn stay(&mut self, node: NodeId, until: Time) {
        let now = self.world.time();
        for (place, other) in self.places.iter().enumerate() {
            let other_node = NodeId::from_index(place);
            assert!(
                other_node == node || !matches!(other, Place::In(end) if *end > now),
                "{node} and {other_node} are both inside at {now}: {other:?}, {:?}",
                self.weather
            );
        }
        let rate = 1_000_000 + i128::from(self.weather.drift[node.index()]);
        let end = i128::from(until.nanos()) * 1_000_000 / rate;
        self.places[node.index()] = Place::In(Time::from_nanos(i64::try_from(end).unwrap()));
    }
}
