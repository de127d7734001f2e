//! A toy multicast without any order, run with the clients of the family: the properties find that
//! it violates every order if nodes send many messages at once.

use super::node;
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload, Refusal};
use quorate_core::{
    Class, Describe, Duration, Effects, Group, Incarnation, Input, Never, NodeId, Protocol, Time, View,
};
use quorate_journal::metrics::MessageCounts;
use quorate_journal::settings::{Latency, TimedFault};
use quorate_journal::workload::Ending;
use quorate_lab::multicast::run::{
    Demand, Measures, MulticastSummary, Properties, Property, PropertySet, Senders, Traffic,
};
use quorate_sim::run::{Limits, run};
use quorate_sim::{LinkDefaults, Setup, World};
use serde::Serialize;
use std::collections::BTreeSet;

const NODES: usize = 4;

/// A node that sends to all, and delivers messages as they arrive. It has at most `window`
/// unacknowledged messages.
struct ToyMulticast {
    me: NodeId,
    window: usize,
    incarnation: Incarnation,
    /// The number of its latest message.
    number: u64,
    /// The numbers of sent messages, with the nodes that have not acknowledged them.
    unacknowledged: BTreeSet<(u64, NodeId)>,
    /// Whether its client waits until it may send again.
    is_waiting: bool,
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

impl ToyMulticast {
    fn new(me: NodeId, window: usize) -> Self {
        let (number, unacknowledged) = (0, BTreeSet::new());
        Self { me, window, incarnation: Incarnation::FIRST, number, unacknowledged, is_waiting: false, has_left: false }
    }

    fn send(&mut self, payload: Payload, out: &mut Effects<'_, Self>) {
        if self.incarnation > Incarnation::FIRST {
            return out.emit(Event::Refused(Refusal::CannotRejoin));
        }
        let in_flight: BTreeSet<_> = self.unacknowledged.iter().map(|(number, _)| number).collect();
        if in_flight.len() >= self.window {
            self.is_waiting = true;
            let slow = self.unacknowledged.iter().map(|(_, node)| *node).collect();
            return out.emit(Event::Wait { group: GroupId::ONLY, slow });
        }
        self.number += 1;
        let group = Group::of_size(NODES);
        self.unacknowledged.extend(group.others(self.me).map(|node| (self.number, node)));
        let id = MessageId { group: GroupId::ONLY, view: View::FIRST, sender: self.me, number: self.number };
        out.multicast(&group, Message::Text(id, payload.clone()));
        out.emit(Event::Delivered { id, payload });
        out.emit(Event::Sent { id });
    }

    fn receive(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Text(id, payload) if self.incarnation == Incarnation::FIRST && !self.has_left => {
                out.emit(Event::Delivered { id, payload });
                out.send(from, Message::Acknowledgement(id.number));
            }
            Message::Text(..) => {}
            Message::Acknowledgement(number) => {
                self.unacknowledged.remove(&(number, from));
                if std::mem::take(&mut self.is_waiting) {
                    out.emit(Event::Ready { group: GroupId::ONLY });
                }
            }
        }
    }
}

impl Protocol for ToyMulticast {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { incarnation, .. } => self.incarnation = incarnation,
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
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

struct Outcome {
    ending: Ending,
    properties: Properties,
    summary: MulticastSummary,
    /// Number of requested messages that were not sent.
    unsent_messages: u64,
    /// Numbers of messages that the measures and the properties remember at the end.
    remembered_messages: (usize, usize),
}

fn demand(traffic: Traffic, messages: u64) -> Demand {
    Demand {
        traffic,
        messages,
        senders: (1..=4).map(node).collect(),
        payload: 0, // minimum length in bytes
        interval: Latency::Fixed(Duration::from_millis(3)),
        groups: Vec::new(),
        leaves: 0,
        has_views: false,
        requires_agreement: false,
    }
}

fn simulate(seed: u64, latency: &str, demand: Demand, faults: &[&str]) -> Outcome {
    // Only a flood without leaves is limited: in other runs a node could wait forever for
    // acknowledgements of a node that crashed or left.
    let window = if demand.traffic == Traffic::Flood && demand.leaves == 0 { 3 } else { usize::MAX };
    let link_defaults = LinkDefaults {
        latency: latency.parse().expect("a latency"),
        loss: Default::default(),
        duplicate: Default::default(),
        is_fifo: false,
    };
    let instant = Latency::Fixed(Duration::ZERO);
    let setup = Setup { nodes: NODES, seed, link_defaults, processing: instant, sync: instant };
    let promises = PropertySet { agreement: false, expects_contention: true, ..PropertySet::RELIABLE };
    let judged = PropertySet { views: false, ..PropertySet::ALL };
    let properties = Properties::new(NODES, promises).also_judging(judged);
    let observer = (MessageCounts::new(NODES), (Measures::new(NODES), properties));
    let mut world = World::new(&setup, move |me| ToyMulticast::new(me, window), observer);
    for fault in faults {
        world.schedule_fault(fault.parse::<TimedFault>().expect("a fault"));
    }
    world.start();
    let mut clients = Senders::new(NODES, seed, demand);
    let second = Duration::from_secs(1);
    let limits = Limits { max_time: None, max_inputs: 1_000_000, max_settling: second, max_silence: second };
    let ending = run(&mut world, &mut clients, limits);
    let (messages, (measures, properties)) = world.into_observer();
    let summary = measures.summary(&messages, Duration::from_millis(1), "T");
    let remembered = (measures.in_flight(), properties.remembered_messages());
    Outcome {
        ending,
        summary,
        unsent_messages: clients.remaining_messages(),
        remembered_messages: remembered,
        properties,
    }
}

fn violated_names(outcome: &Outcome) -> Vec<&'static str> {
    outcome
        .properties
        .verdicts()
        .iter()
        .filter(|verdict| verdict.holds == Some(false))
        .map(|verdict| verdict.name)
        .collect()
}

#[test]
fn one_message_at_a_time_costs_one_message_per_peer() {
    let outcome = simulate(1, "fixed:1ms", demand(Traffic::Single, 20), &[]);
    // No node sends before all have delivered, so there is no contention and every order is kept.
    assert_eq!((outcome.ending, violated_names(&outcome)), (Ending::Done, vec!["contended"]));
    assert!(Property::ALL.into_iter().all(|property| outcome.properties.violation_count(property) == 0));
    let summary = outcome.summary;
    assert_eq!((summary.sent, summary.delivered), (20, 80));
    assert_eq!(summary.messages_per_multicast, Some(3.0));
    let delay = summary.delay.expect("something was delivered");
    // The sender delivers at once, and the three others after one message delay.
    assert_eq!((delay.mean, delay.max, delay.samples), (0.75, 1.0, 80));
    assert_eq!((outcome.remembered_messages, summary.waits, summary.views), ((0, 0), 0, None));
}

#[test]
fn a_flood_is_limited_by_the_window_and_nothing_is_lost() {
    let outcome = simulate(1, "uniform:1ms..9ms", demand(Traffic::Flood, 2_000), &[]);
    assert_eq!((outcome.ending, violated_names(&outcome), outcome.unsent_messages), (Ending::Done, vec![], 0));
    assert_eq!((outcome.summary.sent, outcome.summary.delivered), (2_000, 8_000));
    assert!(outcome.summary.waits > 100, "{} waits", outcome.summary.waits);
    assert!(outcome.summary.slowest.iter().all(|receiver| receiver.waited_for > 0));
    // The summary lists the three slowest of the four receivers.
    assert_eq!((outcome.summary.slowest.len(), outcome.remembered_messages), (3, (0, 0)));
    // The toy promises no order, and keeps none.
    for property in [Property::Fifo, Property::Causal, Property::Total] {
        assert!(outcome.properties.violation_count(property) > 0, "{property:?} happened to hold");
    }
    assert_eq!(outcome.properties.violation_count(Property::Agreement), 0);
}

#[test]
fn other_nodes_send_the_messages_of_a_crashed_one() {
    for seed in 0..50 {
        let outcome =
            simulate(seed, "uniform:1ms..9ms", demand(Traffic::Random, 200), &["crash 2 at 40ms", "restart 2 at 60ms"]);
        assert_eq!((outcome.ending, outcome.unsent_messages), (Ending::Done, 0), "seed {seed}");
        // A request in flight may be lost with the crashed node.
        assert!(outcome.summary.sent >= 199, "seed {seed}: {}", outcome.summary.sent);
        assert_eq!(violated_names(&outcome), [""; 0], "seed {seed}");
    }
}

#[test]
fn the_crash_of_the_only_sender_ends_the_run() {
    let demand = Demand { senders: vec![node(2)], ..demand(Traffic::Random, 200) };
    let outcome = simulate(1, "fixed:1ms", demand, &["crash 2 at 40ms"]);
    assert_eq!(outcome.ending, Ending::Done);
    assert!(outcome.unsent_messages > 0);
}

#[test]
fn other_nodes_send_the_messages_of_members_that_left() {
    for (traffic, seed) in [Traffic::Single, Traffic::Random, Traffic::Flood]
        .into_iter()
        .flat_map(|traffic| (0..20).map(move |seed| (traffic, seed)))
    {
        let outcome = simulate(seed, "fixed:1ms", Demand { leaves: 2, ..demand(traffic, 40) }, &[]);
        assert_eq!(
            (outcome.ending, outcome.unsent_messages, outcome.summary.sent),
            (Ending::Done, 0, 40),
            "{traffic:?}, seed {seed}"
        );
        let more_leaves_than_nodes = Demand { leaves: 9, ..demand(traffic, 40) };
        assert_eq!(
            simulate(seed, "fixed:1ms", more_leaves_than_nodes, &[]).ending,
            Ending::Done,
            "{traffic:?}, seed {seed}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let summary = |seed| simulate(seed, "uniform:1ms..9ms", demand(Traffic::Random, 100), &[]).summary;
    assert_eq!(summary(7), summary(7));
    assert_ne!(summary(7).delay, summary(8).delay);
}
