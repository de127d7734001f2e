//! A toy multicast, run with the family's clients: it promises little, and the properties show it.

use super::node;
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload, Refusal};
use quorate_core::{
    Class, Describe, Duration, Effects, Group, Incarnation, Input, Never, NodeId, Protocol, Time, View,
};
use quorate_journal::metrics::Messages;
use quorate_journal::settings::{Latency, TimedFault};
use quorate_journal::workload::Ending;
use quorate_lab::multicast::run::{
    Demand, Measures, MulticastSummary, Pattern, Properties, Property, PropertySet, Senders,
};
use quorate_sim::run::{Limits, run};
use quorate_sim::{Setup, Wire, World};
use serde::Serialize;
use std::collections::BTreeSet;

const NODES: usize = 4;

/// Sends to all, and delivers messages as they arrive, with at most `window` unacknowledged
/// messages.
struct Toy {
    me: NodeId,
    window: usize,
    life: Incarnation,
    number: u64,
    /// Messages that a node has not acknowledged.
    unacknowledged: BTreeSet<(u64, NodeId)>,
    waits: bool,
    has_left: bool,
}

#[derive(Clone, Serialize)]
enum Message {
    Text(MessageId, Payload),
    Acknowledgement(u64),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(..) => "text",
            Self::Acknowledgement(_) => "acknowledgement",
        }
    }
    fn class(&self) -> Class {
        match self {
            Self::Text(..) => Class::Algorithm,
            Self::Acknowledgement(_) => Class::Control,
        }
    }
}

impl Toy {
    fn new(me: NodeId, window: usize) -> Self {
        let (number, unacknowledged) = (0, BTreeSet::new());
        Self { me, window, life: Incarnation::FIRST, number, unacknowledged, waits: false, has_left: false }
    }

    fn send(&mut self, payload: Payload, out: &mut Effects<'_, Self>) {
        if self.life > Incarnation::FIRST {
            return out.emit(Event::Refused(Refusal::NoWayBack));
        }
        let in_flight: BTreeSet<_> = self.unacknowledged.iter().map(|(number, _)| number).collect();
        if in_flight.len() >= self.window {
            self.waits = true;
            let slow = self.unacknowledged.iter().map(|(_, node)| *node).collect();
            return out.emit(Event::Wait { group: GroupId::ONLY, slow });
        }
        self.number += 1;
        let everyone = Group::of_size(NODES);
        self.unacknowledged.extend(everyone.others(self.me).map(|node| (self.number, node)));
        let id = MessageId { group: GroupId::ONLY, view: View::FIRST, sender: self.me, number: self.number };
        out.multicast(&everyone, Message::Text(id, payload.clone()));
        out.emit(Event::Delivered { id, payload });
        out.emit(Event::Sent { id });
    }

    fn receive(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Text(id, payload) if self.life == Incarnation::FIRST && !self.has_left => {
                out.emit(Event::Delivered { id, payload });
                out.send(from, Message::Acknowledgement(id.number));
            }
            Message::Text(..) => {}
            Message::Acknowledgement(number) => {
                self.unacknowledged.remove(&(number, from));
                if std::mem::take(&mut self.waits) {
                    out.emit(Event::Ready { group: GroupId::ONLY });
                }
            }
        }
    }
}

impl Protocol for Toy {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { incarnation, .. } => self.life = incarnation,
            Input::Command(Command::Send { payload, .. }) => self.send(payload, out),
            Input::Command(Command::Leave { group }) => {
                self.has_left = true;
                out.emit(Event::Left { group });
            }
            Input::Message { from, message } => self.receive(from, message, out),
            Input::Timer(never) => match never {},
            Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

struct Outcome {
    ending: Ending,
    properties: Properties,
    summary: MulticastSummary,
    left: u64,
    remembered: (usize, usize),
}

fn demand(pattern: Pattern, messages: u64) -> Demand {
    Demand {
        pattern,
        messages,
        senders: (1..=4).map(node).collect(),
        payload: 0,
        interval: Latency::Fixed(Duration::from_millis(3)),
        groups: Vec::new(),
        leaves: 0,
        views: false,
        agreement: false,
    }
}

fn simulate(seed: u64, latency: &str, demand: Demand, faults: &[&str]) -> Outcome {
    // Only a flood fills the window; waiting for a crashed node would never end.
    let window = if demand.pattern == Pattern::Flood && demand.leaves == 0 { 3 } else { usize::MAX };
    let wire = Wire {
        latency: latency.parse().expect("a latency"),
        loss: Default::default(),
        duplicate: Default::default(),
        fifo: false,
    };
    let nothing = Latency::Fixed(Duration::ZERO);
    let setup = Setup { nodes: NODES, seed, wire, processing: nothing, sync: nothing };
    let promises = PropertySet { agreement: false, contention: true, ..PropertySet::RELIABLE };
    let all = PropertySet { views: false, ..PropertySet::ALL };
    let properties = Properties::new(NODES, promises).also_judging(all);
    let observer = (Messages::new(NODES), (Measures::new(NODES), properties));
    let mut world = World::new(&setup, move |me| Toy::new(me, window), observer);
    for fault in faults {
        world.schedule(fault.parse::<TimedFault>().expect("a fault"));
    }
    world.start();
    let mut clients = Senders::new(NODES, seed, demand);
    let second = Duration::from_secs(1);
    let limits = Limits { until: None, events: 1_000_000, settle: second, patience: second };
    let ending = run(&mut world, &mut clients, limits);
    let (messages, (measures, properties)) = world.into_observer();
    let summary = measures.summary(&messages, Duration::from_millis(1), "T");
    let remembered = (measures.in_flight(), properties.remembered_messages());
    Outcome { ending, summary, left: clients.left(), remembered, properties }
}

fn violated(outcome: &Outcome) -> Vec<&'static str> {
    outcome
        .properties
        .verdicts()
        .iter()
        .filter(|verdict| verdict.holds == Some(false))
        .map(|verdict| verdict.name)
        .collect()
}

#[test]
fn one_message_at_a_time_costs_what_the_formula_says() {
    let outcome = simulate(1, "fixed:1ms", demand(Pattern::Single, 20), &[]);
    // No node sends before all have delivered, so there is no contention and every order is kept.
    assert_eq!((outcome.ending, violated(&outcome)), (Ending::Done, vec!["contended"]));
    assert!(Property::ALL.into_iter().all(|property| outcome.properties.violation_count(property) == 0));
    let summary = outcome.summary;
    assert_eq!((summary.sent, summary.delivered), (20, 80));
    assert_eq!(summary.messages_per_multicast, Some(3.0));
    let delay = summary.delay.expect("something was delivered");
    assert_eq!((delay.mean, delay.max, delay.samples), (0.75, 1.0, 80));
    assert_eq!((outcome.remembered, summary.waits, summary.views), ((0, 0), 0, None));
}

#[test]
fn a_flood_runs_into_the_window_and_nothing_is_lost() {
    let outcome = simulate(1, "uniform:1ms..9ms", demand(Pattern::Flood, 2_000), &[]);
    assert_eq!((outcome.ending, violated(&outcome), outcome.left), (Ending::Done, vec![], 0));
    assert_eq!((outcome.summary.sent, outcome.summary.delivered), (2_000, 8_000));
    assert!(outcome.summary.waits > 100, "{} waits", outcome.summary.waits);
    assert!(outcome.summary.slowest.iter().all(|receiver| receiver.waited_for > 0));
    assert_eq!((outcome.summary.slowest.len(), outcome.remembered), (3, (0, 0)));
    // It promises no order, and keeps none.
    for property in [Property::Fifo, Property::Causal, Property::Total] {
        assert!(outcome.properties.violation_count(property) > 0, "{property:?} happened to hold");
    }
    assert_eq!(outcome.properties.violation_count(Property::Agreement), 0);
}

#[test]
fn other_nodes_send_the_messages_of_a_crashed_one() {
    for seed in 0..50 {
        let outcome =
            simulate(seed, "uniform:1ms..9ms", demand(Pattern::Random, 200), &["crash 2 at 40ms", "restart 2 at 60ms"]);
        assert_eq!((outcome.ending, outcome.left), (Ending::Done, 0), "seed {seed}");
        // A request in flight may be lost with the crashed node.
        assert!(outcome.summary.sent >= 199, "seed {seed}: {}", outcome.summary.sent);
        assert_eq!(violated(&outcome), [""; 0], "seed {seed}");
    }
}

#[test]
fn the_crash_of_the_only_sender_ends_the_run() {
    let demand = Demand { senders: vec![node(2)], ..demand(Pattern::Random, 200) };
    let outcome = simulate(1, "fixed:1ms", demand, &["crash 2 at 40ms"]);
    assert_eq!(outcome.ending, Ending::Done);
    assert!(outcome.left > 0);
}

#[test]
fn other_nodes_send_the_messages_of_members_that_left() {
    for (pattern, seed) in [Pattern::Single, Pattern::Random, Pattern::Flood]
        .into_iter()
        .flat_map(|pattern| (0..20).map(move |seed| (pattern, seed)))
    {
        let demand = Demand { leaves: 2, ..demand(pattern, 40) };
        let outcome = simulate(seed, "fixed:1ms", demand, &[]);
        assert_eq!(
            (outcome.ending, outcome.left, outcome.summary.sent),
            (Ending::Done, 0, 40),
            "{pattern:?}, seed {seed}"
        );
        let everyone = Demand { leaves: 9, ..super::toys::demand(pattern, 40) };
        assert_eq!(simulate(seed, "fixed:1ms", everyone, &[]).ending, Ending::Done, "{pattern:?}, seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let summary = |seed| simulate(seed, "uniform:1ms..9ms", demand(Pattern::Random, 100), &[]).summary;
    assert_eq!(summary(7), summary(7));
    assert_ne!(summary(7).delay, summary(8).delay);
}
