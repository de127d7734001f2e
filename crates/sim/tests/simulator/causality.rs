//! Compares vector clocks with a search of the happened-before graph.

use crate::common::{Actions, Message, Scenario, ScriptedNode, at, node, ping, random_scenario, send, send_message};
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
use quorate_core::{Class, NodeId, PayloadId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, receivers};
use quorate_journal::settings::{DiskTrouble, Fault, FaultKind};
use quorate_sim::World;
use std::collections::{BTreeMap, BTreeSet};

/// The happened-before graph of a run. Every input and every effect of a node is an event. Edges
/// lead to an event from the node's previous event, and to a receipt or delivery from the event
/// that sent the message. A payload is a message that `Reliable` may resend but delivers once.
#[derive(Default)]
struct Graph {
    /// For each event, its direct predecessors.
    edges: Vec<Vec<usize>>,
    /// The last event of each node.
    last_events: BTreeMap<NodeId, usize>,
    /// The event in which each message without a payload was sent.
    message_sends: BTreeMap<MessageId, usize>,
    /// The event in which each payload was first sent, by sender, receiver and id.
    payload_sends: BTreeMap<(NodeId, NodeId, PayloadId), usize>,
}

impl Graph {
    /// Adds an event of a node, after the node's previous event and, for a receipt or delivery, the
    /// event that sent the message.
    fn add(&mut self, node: NodeId, send_event: Option<usize>) -> usize {
        let event = self.edges.len();
        let previous = self.last_events.insert(node, event);
        self.edges.push(previous.into_iter().chain(send_event).collect());
        event
    }

    /// Records that `event` sends a message. A retransmitted payload keeps its first event.
    fn record_send(&mut self, from: NodeId, to: NodeId, id: MessageId, payload: Option<PayloadId>, event: usize) {
        match payload {
            Some(payload) => {
                self.payload_sends.entry((from, to, payload)).or_insert(event);
            }
            None => {
                self.message_sends.insert(id, event);
            }
        }
    }

    /// Returns all events that happened before this one, including itself.
    fn history(&self, event: usize) -> BTreeSet<usize> {
        let mut history = BTreeSet::from([event]);
        let mut unexplored = vec![event];
        while let Some(found) = unexplored.pop() {
            unexplored.extend(self.edges[found].iter().filter(|predecessor| history.insert(**predecessor)));
        }
        history
    }
}

/// A step of a node.
struct Step {
    node: NodeId,
    /// Position among the node's steps, counted from 1.
    number: u64,
    input_event: usize,
    /// The event of the last effect, or of the input if the step has no effects.
    last_event: usize,
    /// The node's vector clock after the step.
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
            let history = self.graph.history(later.last_event);
            for earlier in &self.steps {
                let is_earlier_by_graph = history.contains(&earlier.input_event);
                let is_earlier_by_clock = later.clock.get(earlier.node) >= earlier.number;
                let name = |step: &Step| format!("step {} of node {}", step.number, step.node);
                assert!(
                    is_earlier_by_graph == is_earlier_by_clock,
                    "seed {seed}: whether {} happened before {}: {is_earlier_by_graph} by the graph, \
                     {is_earlier_by_clock} by the clock",
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
                let send_event = match input {
                    ObservedInput::Message { id, is_wrapped: false, .. } => Some(self.graph.message_sends[id]),
                    _ => None,
                };
                let event = self.graph.add(*node, send_event);
                let number = self.last_step_of(*node).map_or(1, |step| step.number + 1);
                let clock = VectorClock::new();
                self.steps.push(Step { node: *node, number, input_event: event, last_event: event, clock });
            }
            Moment::Effect { node, effect, .. } => {
                let send_event = match effect {
                    ObservedEffect::Delivered { from, payload_id } => {
                        self.graph.payload_sends.get(&(*from, *node, *payload_id)).copied()
                    }
                    _ => None,
                };
                let event = self.graph.add(*node, send_event);
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
                self.last_step_of(*node).unwrap().last_event = event;
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
        let mut scenario = random_scenario(seed);
        // Messages to a node that stays paused would remain in flight.
        for node in 1..=scenario.setup.nodes {
            scenario = scenario.fault(&format!("resume {node} at 100s"));
        }
        let comparison = scenario.run_observed(Comparison::new(scenario.setup.nodes));
        comparison.assert_agreement(seed);
        assert_eq!(comparison.causality.pending_count(), 0, "seed {seed}: no message is in flight any more");
        steps += comparison.steps.len();
    }
    assert!(steps > 5_000, "{steps} steps are too few");
}

/// Runs a scenario with reliable links until no events are left. Leaves out crashes, restarts and
/// disk failures, and cuts, pauses and full disks without an end, because retransmission might not
/// end.
fn run_over_reliable_links<O: Observer<Actions, String>>(scenario: &Scenario, observer: O) -> O {
    let create_node = |me| Reliable::new(me, ScriptedNode::default(), RetransmissionTimeouts::default());
    let mut world = World::new(&scenario.setup, create_node, observer);
    for fault in &scenario.faults {
        let retransmission_ends = match fault.fault.kind() {
            FaultKind::Crash | FaultKind::Restart => false,
            FaultKind::Pause | FaultKind::Cut => fault.duration.is_some(),
            FaultKind::Disk => {
                fault.duration.is_some() && matches!(fault.fault, Fault::Disk { trouble: DiskTrouble::Full, .. })
            }
            FaultKind::Resume
            | FaultKind::Close
            | FaultKind::Heal
            | FaultKind::Skew
            | FaultKind::Drift
            | FaultKind::Link => true,
        };
        if retransmission_ends {
            world.schedule_fault(fault.clone());
        }
    }
    world.start();
    for (instant, node, actions) in &scenario.commands {
        world.schedule_command(*instant, *node, actions.clone());
    }
    while world.advance() {
        assert!(world.taken_inputs() < 100_000, "retransmission never ends");
    }
    world.into_observer()
}

#[test]
fn clocks_agree_with_the_graph_over_reliable_links() {
    let mut steps = 0;
    for seed in 0..300 {
        let scenario = random_scenario(seed);
        let comparison = run_over_reliable_links(&scenario, Comparison::new(scenario.setup.nodes));
        comparison.assert_agreement(seed);
        assert_eq!(comparison.causality.pending_count(), 0, "seed {seed}: every payload was delivered");
        steps += comparison.steps.len();
    }
    assert!(steps > 10_000, "{steps} steps are too few");
}

/// Returns the clocks after a scenario with reliable links.
fn clocks(scenario: &Scenario) -> Causality {
    run_over_reliable_links(scenario, Causality::new(scenario.setup.nodes))
}

/// Node 2 acknowledges the payload, but the acknowledgement carries no causality from node 2's
/// protocol to node 1.
#[test]
fn an_acknowledgement_carries_no_causality() {
    let scenario = Scenario::new(2).command("0ms", 2, []).command("1ms", 1, [send(2)]).command("9ms", 1, []);
    let causality = clocks(&scenario);
    assert_eq!(causality.clock(node(1)).unwrap().get(node(2)), 0);
    assert!(causality.clock(node(2)).unwrap().get(node(1)) >= 2);
}

/// The second payload overtakes the first one and waits for it: until the first one arrives, the
/// protocol of node 2 receives neither.
#[test]
fn a_waiting_payload_carries_no_causality_yet() {
    let scenario = Scenario::new(2)
        .fifo_links(false)
        .fault("link 1 > 2 latency fixed:9ms for 1ms")
        .command("0ms", 1, [send(2)])
        .command("1ms", 1, [send(2)]);
    let mut comparison = run_over_reliable_links(&scenario, Comparison::new(2));
    let clocks: Vec<_> =
        comparison.steps.drain(..).filter(|step| step.node == node(2)).map(|step| step.clock).collect();
    // The start of node 2, the frame of the second payload, and that of the first one, after which
    // `Reliable` delivers both. Node 1 sent the second payload in its third step.
    assert_eq!(clocks.iter().map(|clock| clock.get(node(1))).collect::<Vec<_>>(), [0, 0, 3]);
}

/// A delivered payload is retransmitted because its acknowledgement was lost. The copy carries no
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
    assert_eq!(causality.pending_count(), 0);
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
    assert!(one.is_concurrent_with(two));
    assert!(one.happened_before(three) && two.happened_before(three));
}

/// `Causality` keeps a message until the last of its copies has arrived, and keeps no lost one.
#[test]
fn messages_in_flight_are_kept() {
    let scenario = Scenario::new(2).duplicate("1").latency("uniform:1ms..5ms").command(
        "0ms",
        1,
        [send(2), send_message(2, ping([]))],
    );
    let mut world = scenario.world(Causality::new(2));
    world.advance();
    assert_eq!(world.observer().pending_count(), 2);
    while world.messages_in_flight() > 0 {
        assert!(world.observer().pending_count() > 0 && world.time() <= at("5ms"));
        world.advance();
    }
    assert_eq!(world.observer().pending_count(), 0);
    let lost = Scenario::new(2).loss("1").command("0ms", 1, [send(2)]).run_observed(Causality::new(2));
    assert_eq!(lost.pending_count(), 0);
}
