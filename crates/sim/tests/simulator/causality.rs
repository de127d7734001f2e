//! Compares vector clocks with a search of the happened-before graph.

use crate::common::{Actions, Message, Scenario, ScriptedNode, at, chaos, node, ping, send, send_message};
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_core::{Class, NodeId, PayloadId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, receivers};
use quorate_journal::settings::{DiskTrouble, Fault, FaultKind};
use quorate_sim::World;
use std::collections::{BTreeMap, BTreeSet};

/// The happened-before graph of a run. A parcel is a payload that `Reliable` delivers once, however
/// often it retransmits it. Every moment of a node is an event. Edges lead to it from
/// the node's previous event and from the sending of the message that it receives.
#[derive(Default)]
struct Graph {
    /// For each event, its direct predecessors.
    edges: Vec<Vec<usize>>,
    /// The last event of each node.
    last_events: BTreeMap<NodeId, usize>,
    /// The event in which each message without a parcel was sent.
    sends: BTreeMap<MessageId, usize>,
    /// The event in which each parcel was first sent.
    parcels: BTreeMap<(NodeId, NodeId, PayloadId), usize>,
}

impl Graph {
    /// Adds an event of a node, after the node's previous event and the event `received`.
    fn add(&mut self, node: NodeId, received: Option<usize>) -> usize {
        let event = self.edges.len();
        let previous = self.last_events.insert(node, event);
        self.edges.push(previous.into_iter().chain(received).collect());
        event
    }

    /// Records that `event` sends a message. A retransmitted parcel keeps its first event.
    fn record_send(&mut self, from: NodeId, to: NodeId, id: MessageId, parcel: Option<PayloadId>, event: usize) {
        match parcel {
            Some(parcel) => {
                self.parcels.entry((from, to, parcel)).or_insert(event);
            }
            None => {
                self.sends.insert(id, event);
            }
        }
    }

    /// Returns all events that happened before this one, including itself.
    fn history(&self, event: usize) -> BTreeSet<usize> {
        let mut history = BTreeSet::from([event]);
        let mut unexplored = vec![event];
        while let Some(event) = unexplored.pop() {
            unexplored.extend(self.edges[event].iter().filter(|predecessor| history.insert(**predecessor)));
        }
        history
    }
}

/// A step of a node: the events of its input and of its last effect, and the node's vector clock
/// after it.
struct Step {
    node: NodeId,
    /// Position among the node's steps, counted from 1.
    number: u64,
    input: usize,
    end: usize,
    clock: VectorClock,
}

/// Builds the graph and the clocks side by side.
struct Comparison {
    causality: Causality,
    graph: Graph,
    steps: Vec<Step>,
}

impl Comparison {
    fn new(nodes: usize) -> Self {
        Self { causality: Causality::new(nodes), graph: Graph::default(), steps: Vec::new() }
    }

    fn last_step_of(&mut self, node: NodeId) -> Option<&mut Step> {
        self.steps.iter_mut().rfind(|step| step.node == node)
    }

    /// Asserts that the clocks order every two steps as the graph does.
    fn assert_agreement(&self, seed: u64) {
        for later in &self.steps {
            let history = self.graph.history(later.end);
            for earlier in &self.steps {
                let by_graph = history.contains(&earlier.input);
                let by_clock = later.clock.get(earlier.node) >= earlier.number;
                let name = |step: &Step| format!("step {} of node {}", step.number, step.node);
                assert!(
                    by_graph == by_clock,
                    "seed {seed}: whether {} happened before {}: {by_graph} by the graph, {by_clock} by the clock",
                    name(earlier),
                    name(later)
                );
            }
        }
    }
}

impl Observer<Actions, String> for Comparison {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        self.causality.observe(moment);
        match moment {
            Moment::Input { node, input, .. } => {
                let received = match input {
                    ObservedInput::Message { id, wrapped: false, .. } => Some(self.graph.sends[id]),
                    _ => None,
                };
                let event = self.graph.add(*node, received);
                let number = self.last_step_of(*node).map_or(1, |step| step.number + 1);
                let clock = VectorClock::new();
                self.steps.push(Step { node: *node, number, input: event, end: event, clock });
            }
            Moment::Effect { node, effect, .. } => {
                let received = match effect {
                    ObservedEffect::Delivered { from, parcel } => {
                        self.graph.parcels.get(&(*from, *node, *parcel)).copied()
                    }
                    _ => None,
                };
                let event = self.graph.add(*node, received);
                match effect {
                    ObservedEffect::Send { to, sent } => {
                        self.graph.record_send(*node, *to, sent.id, sent.payload_id, event);
                    }
                    ObservedEffect::Multicast { to, sent } => {
                        receivers(to, sent.id)
                            .for_each(|(to, id)| self.graph.record_send(*node, to, id, sent.payload_id, event));
                    }
                    _ => {}
                }
                self.last_step_of(*node).unwrap().end = event;
            }
            Moment::World { .. } => return,
        }
        let (Moment::Input { node, .. } | Moment::Effect { node, .. }) = moment else { return };
        let clock = self.causality.clock(*node).unwrap().clone();
        self.last_step_of(*node).unwrap().clock = clock;
    }
}

/// Random runs with losses, duplicates, crashes and cuts.
#[test]
fn clocks_agree_with_the_graph() {
    let mut steps = 0;
    for seed in 0..400 {
        let mut scenario = chaos(seed);
        for node in 1..=scenario.setup.nodes {
            scenario = scenario.fault(&format!("resume {node} at 100s"));
        }
        let comparison = scenario.run_observed(Comparison::new(scenario.setup.nodes));
        comparison.assert_agreement(seed);
        assert_eq!(comparison.causality.pending(), 0, "seed {seed}: no message is in flight any more");
        steps += comparison.steps.len();
    }
    assert!(steps > 5_000, "{steps} steps are too few");
}

/// Runs a scenario with reliable links until no events are left. It leaves out crashes, and cuts,
/// pauses and full disks without an end, so that retransmission ends.
fn run_over_reliable_links<O: Observer<Actions, String>>(scenario: &Scenario, observer: O) -> O {
    let create_node = |me| Reliable::new(me, ScriptedNode::default(), Retransmission::default());
    let mut world = World::new(&scenario.setup, create_node, observer);
    for fault in &scenario.faults {
        let retransmission_ends = match fault.fault.kind() {
            FaultKind::Crash | FaultKind::Restart => false,
            FaultKind::Pause | FaultKind::Cut => fault.lasts.is_some(),
            FaultKind::Disk => {
                fault.lasts.is_some() && matches!(fault.fault, Fault::Disk { trouble: DiskTrouble::Full, .. })
            }
            FaultKind::Resume
            | FaultKind::Close
            | FaultKind::Heal
            | FaultKind::Skew
            | FaultKind::Drift
            | FaultKind::Link => true,
        };
        if retransmission_ends {
            world.schedule(fault.clone());
        }
    }
    world.start();
    for (instant, node, actions) in &scenario.commands {
        world.command(*instant, *node, actions.clone());
    }
    while world.advance() {
        assert!(world.events() < 100_000, "retransmission never ends");
    }
    world.into_observer()
}

#[test]
fn clocks_agree_with_the_graph_over_reliable_links() {
    let mut steps = 0;
    for seed in 0..300 {
        let scenario = chaos(seed);
        let comparison = run_over_reliable_links(&scenario, Comparison::new(scenario.setup.nodes));
        comparison.assert_agreement(seed);
        assert_eq!(comparison.causality.pending(), 0, "seed {seed}: every parcel was delivered");
        steps += comparison.steps.len();
    }
    assert!(steps > 10_000, "{steps} steps are too few");
}

/// Returns the clocks after a scenario with reliable links.
fn clocks(scenario: &Scenario) -> Causality {
    run_over_reliable_links(scenario, Causality::new(scenario.setup.nodes))
}

/// Node 2 acknowledges the first parcel, but that carries no causality from node 2's protocol to
/// node 1.
#[test]
fn an_acknowledgement_carries_no_causality() {
    let scenario = Scenario::new(2).command("0ms", 2, []).command("1ms", 1, [send(2)]).command("9ms", 1, []);
    let causality = clocks(&scenario);
    assert_eq!(causality.clock(node(1)).unwrap().get(node(2)), 0);
    assert!(causality.clock(node(2)).unwrap().get(node(1)) >= 2);
}

/// The second parcel overtakes the first one and waits for it: until then node 2 has received
/// neither.
#[test]
fn a_waiting_parcel_carries_no_causality_yet() {
    let scenario = Scenario::new(2)
        .fifo(false)
        .fault("link 1 > 2 latency fixed:9ms for 1ms")
        .command("0ms", 1, [send(2)])
        .command("1ms", 1, [send(2)]);
    let mut comparison = run_over_reliable_links(&scenario, Comparison::new(2));
    let clocks: Vec<_> =
        comparison.steps.drain(..).filter(|step| step.node == node(2)).map(|step| step.clock).collect();
    // The start of the node, the early frame, and the late frame that releases both parcels.
    assert_eq!(clocks.iter().map(|clock| clock.get(node(1))).collect::<Vec<_>>(), [0, 0, 3]);
}

/// A delivered parcel is retransmitted because its acknowledgement was lost. The copy carries no
/// new causality.
#[test]
fn a_retransmission_carries_no_new_causality() {
    let scenario = Scenario::new(3)
        .fault("cut 2 > 1 for 60ms")
        .command("0ms", 1, [send(2)])
        .command("5ms", 3, [send(1)])
        .command("200ms", 2, []);
    let causality = clocks(&scenario);
    assert!(causality.clock(node(1)).unwrap().get(node(3)) >= 2);
    assert_eq!(causality.clock(node(2)).unwrap().get(node(3)), 0);
    assert_eq!(causality.pending(), 0);
}

/// A control message of the protocol inside a wrapper still carries causality.
#[test]
fn a_control_message_of_the_inner_protocol_carries_causality() {
    let beat = Message { class: Class::Control, on_behalf_of: None, then: vec![] };
    let causality = clocks(&Scenario::new(2).command("0ms", 1, [send_message(2, beat)]));
    assert_eq!(causality.clock(node(2)).unwrap().get(node(1)), 2);
}

/// Two nodes without messages between them, and one that received messages from both.
#[test]
fn steps_without_a_chain_of_messages_are_concurrent() {
    let scenario = Scenario::new(3).command("0ms", 1, [send(3)]).command("0ms", 2, [send(3)]);
    let causality = scenario.run_observed(Causality::new(3));
    let [one, two, three] = [1, 2, 3].map(|number| causality.clock(node(number)).unwrap());
    assert!(one.concurrent_with(two));
    assert!(one.happened_before(three) && two.happened_before(three));
}

/// A message in flight is kept with all its copies; a lost one is not.
#[test]
fn messages_in_flight_are_kept() {
    let scenario = Scenario::new(2).duplicate("1").latency("uniform:1ms..5ms").command(
        "0ms",
        1,
        [send(2), send_message(2, ping([]))],
    );
    let mut world = scenario.world(Causality::new(2));
    world.advance();
    assert_eq!(world.observer().pending(), 2);
    while world.in_flight() > 0 {
        assert!(world.observer().pending() > 0 && world.time() <= at("5ms"));
        world.advance();
    }
    assert_eq!(world.observer().pending(), 0);
    let lost = Scenario::new(2).loss("1").command("0ms", 1, [send(2)]).run_observed(Causality::new(2));
    assert_eq!(lost.pending(), 0);
}
