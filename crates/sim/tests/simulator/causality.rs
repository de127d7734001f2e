//! Happened-before by vector clocks, against a search of the graph of who heard what from whom.

use crate::common::{Acts, Message, Puppet, Stage, at, chaos, node, ping, send, send_message};
use quorate_core::wrap::{Reliable, Retransmission};
use quorate_core::{Class, NodeId, Parcel, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Done, MessageId, Moment, Observer, Taken, receivers};
use quorate_journal::settings::{DiskTrouble, Fault, FaultKind};
use quorate_sim::World;
use std::collections::{BTreeMap, BTreeSet};

/// Every moment of a node is a point; an arrow leads to it from the node's moment before, and from the sending of
/// what it hears.
#[derive(Default)]
struct Graph {
    /// For each point, where arrows to it come from.
    arrows: Vec<Vec<usize>>,
    /// The last point of each node.
    last: BTreeMap<NodeId, usize>,
    sent: BTreeMap<MessageId, usize>,
    /// The first sending of a parcel.
    parcels: BTreeMap<(NodeId, NodeId, Parcel), usize>,
}

impl Graph {
    fn add(&mut self, node: NodeId, heard: Option<usize>) -> usize {
        let point = self.arrows.len();
        let before = self.last.insert(node, point);
        self.arrows.push(before.into_iter().chain(heard).collect());
        point
    }

    fn sent(&mut self, from: NodeId, to: NodeId, id: MessageId, parcel: Option<Parcel>, point: usize) {
        match parcel {
            Some(parcel) => {
                self.parcels.entry((from, to, parcel)).or_insert(point);
            }
            None => {
                self.sent.insert(id, point);
            }
        }
    }

    /// All points from which arrows lead to this one.
    fn past(&self, point: usize) -> BTreeSet<usize> {
        let mut past = BTreeSet::from([point]);
        let mut open = vec![point];
        while let Some(point) = open.pop() {
            open.extend(self.arrows[point].iter().filter(|before| past.insert(**before)));
        }
        past
    }
}

/// A step of a node: the points of its input and of its last effect, and what the vector clock says after it.
struct Step {
    node: NodeId,
    /// Which of the node's steps it is, from 1.
    number: u64,
    input: usize,
    end: usize,
    clock: VectorClock,
}

/// Builds the graph, and the clocks beside it.
struct Comparison {
    causality: Causality,
    graph: Graph,
    steps: Vec<Step>,
}

impl Comparison {
    fn new(nodes: usize) -> Self {
        Self { causality: Causality::new(nodes), graph: Graph::default(), steps: Vec::new() }
    }

    fn step_of(&mut self, node: NodeId) -> Option<&mut Step> {
        self.steps.iter_mut().rfind(|step| step.node == node)
    }

    /// Whether every two steps are in the same order by the clocks as by the graph.
    fn check(&self, seed: u64) {
        for later in &self.steps {
            let past = self.graph.past(later.end);
            for earlier in &self.steps {
                let by_graph = past.contains(&earlier.input);
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

impl Observer<Acts, String> for Comparison {
    fn observe(&mut self, moment: &Moment<'_, Acts, String>) {
        self.causality.observe(moment);
        match moment {
            Moment::Input { node, input, .. } => {
                let heard = match input {
                    Taken::Message { id, wrapped: false, .. } => Some(self.graph.sent[id]),
                    _ => None,
                };
                let point = self.graph.add(*node, heard);
                let number = self.step_of(*node).map_or(1, |step| step.number + 1);
                let clock = VectorClock::new();
                self.steps.push(Step { node: *node, number, input: point, end: point, clock });
            }
            Moment::Effect { node, effect, .. } => {
                let heard = match effect {
                    Done::Handed { from, parcel } => self.graph.parcels.get(&(*from, *node, *parcel)).copied(),
                    _ => None,
                };
                let point = self.graph.add(*node, heard);
                match effect {
                    Done::Send { to, sent } => self.graph.sent(*node, *to, sent.id, sent.parcel, point),
                    Done::Multicast { to, sent } => {
                        receivers(to, sent.id).for_each(|(to, id)| self.graph.sent(*node, to, id, sent.parcel, point));
                    }
                    _ => {}
                }
                self.step_of(*node).unwrap().end = point;
            }
            Moment::World { .. } => return,
        }
        let (Moment::Input { node, .. } | Moment::Effect { node, .. }) = moment else { return };
        let clock = self.causality.clock(*node).unwrap().clone();
        self.step_of(*node).unwrap().clock = clock;
    }
}

/// Random runs with losses, duplicates, crashes and cuts.
#[test]
fn clocks_agree_with_the_graph() {
    let mut steps = 0;
    for seed in 0..400 {
        let mut stage = chaos(seed);
        for node in 1..=stage.setup.nodes {
            stage = stage.fault(&format!("resume {node} at 100s"));
        }
        let comparison = stage.watched(Comparison::new(stage.setup.nodes));
        comparison.check(seed);
        assert_eq!(comparison.causality.pending(), 0, "seed {seed}: nothing is under way any more");
        steps += comparison.steps.len();
    }
    assert!(steps > 5_000, "{steps} steps are hardly enough");
}

/// The puppets of a world behind reliable links, after all that can happen in it. Nobody crashes, every cut, every
/// pause and every full disk has an end, so that the links settle.
fn behind_reliable_links<O: Observer<Acts, String>>(stage: &Stage, observer: O) -> O {
    let make = |me| Reliable::new(me, Puppet::default(), Retransmission::default());
    let mut world = World::new(&stage.setup, make, observer);
    for fault in &stage.faults {
        let settles = match fault.fault.kind() {
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
        if settles {
            world.schedule(fault.clone());
        }
    }
    world.start();
    for (instant, node, acts) in &stage.commands {
        world.command(*instant, *node, acts.clone());
    }
    while world.advance() {
        assert!(world.events() < 100_000, "the links never settle");
    }
    world.into_observer()
}

#[test]
fn clocks_agree_with_the_graph_behind_reliable_links() {
    let mut steps = 0;
    for seed in 0..300 {
        let stage = chaos(seed);
        let comparison = behind_reliable_links(&stage, Comparison::new(stage.setup.nodes));
        comparison.check(seed);
        assert_eq!(comparison.causality.pending(), 0, "seed {seed}: every parcel was handed on");
        steps += comparison.steps.len();
    }
    assert!(steps > 10_000, "{steps} steps are hardly enough");
}

/// The clocks after a run of some acts behind reliable links.
fn clocks(stage: &Stage) -> Causality {
    behind_reliable_links(stage, Causality::new(stage.setup.nodes))
}

/// Node 2 acknowledges the first parcel, but 1 hears nothing from 2's user by that.
#[test]
fn an_acknowledgement_tells_nothing() {
    let stage = Stage::of(2).tell("0ms", 2, []).tell("1ms", 1, [send(2)]).tell("9ms", 1, []);
    let causality = clocks(&stage);
    assert_eq!(causality.clock(node(1)).unwrap().get(node(2)), 0);
    assert!(causality.clock(node(2)).unwrap().get(node(1)) >= 2);
}

/// The second parcel overtakes the first one, and waits for it: until then node 2 knows of neither.
#[test]
fn a_parcel_that_waits_tells_nothing_yet() {
    let stage = Stage::of(2).fifo(false).fault("link 1 > 2 latency fixed:9ms for 1ms").tell("0ms", 1, [send(2)]).tell(
        "1ms",
        1,
        [send(2)],
    );
    let mut comparison = behind_reliable_links(&stage, Comparison::new(2));
    let known: Vec<_> = comparison.steps.drain(..).filter(|step| step.node == node(2)).map(|step| step.clock).collect();
    // Its boot, the early frame, the late one that frees both.
    assert_eq!(known.iter().map(|clock| clock.get(node(1))).collect::<Vec<_>>(), [0, 0, 3]);
}

/// A parcel that was handed on is repeated because its acknowledgement was lost. It carries nothing new.
#[test]
fn a_repetition_tells_nothing_new() {
    let stage = Stage::of(3).fault("cut 2 > 1 for 60ms").tell("0ms", 1, [send(2)]).tell("5ms", 3, [send(1)]).tell(
        "200ms",
        2,
        [],
    );
    let causality = clocks(&stage);
    assert!(causality.clock(node(1)).unwrap().get(node(3)) >= 2);
    assert_eq!(causality.clock(node(2)).unwrap().get(node(3)), 0);
    assert_eq!(causality.pending(), 0);
}

/// What the puppets inside take for control traffic is still something they hear.
#[test]
fn a_control_message_of_the_protocol_inside_tells_something() {
    let beat = Message { class: Class::Control, on_behalf_of: None, then: vec![] };
    let causality = clocks(&Stage::of(2).tell("0ms", 1, [send_message(2, beat)]));
    assert_eq!(causality.clock(node(2)).unwrap().get(node(1)), 2);
}

/// Two nodes who never heard of each other, and one who heard of both.
#[test]
fn what_no_message_links_is_concurrent() {
    let stage = Stage::of(3).tell("0ms", 1, [send(3)]).tell("0ms", 2, [send(3)]);
    let causality = stage.watched(Causality::new(3));
    let [one, two, three] = [1, 2, 3].map(|number| causality.clock(node(number)).unwrap());
    assert!(one.concurrent_with(two));
    assert!(one.happened_before(three) && two.happened_before(three));
}

/// A message that is under way is remembered, with all its copies; one that is lost is not.
#[test]
fn what_is_under_way_is_remembered() {
    let stage =
        Stage::of(2).duplicate("1").latency("uniform:1ms..5ms").tell("0ms", 1, [send(2), send_message(2, ping([]))]);
    let mut world = stage.world(Causality::new(2));
    world.advance();
    assert_eq!(world.observer().pending(), 2);
    while world.under_way() > 0 {
        assert!(world.observer().pending() > 0 && world.time() <= at("5ms"));
        world.advance();
    }
    assert_eq!(world.observer().pending(), 0);
    let lost = Stage::of(2).loss("1").tell("0ms", 1, [send(2)]).watched(Causality::new(2));
    assert_eq!(lost.pending(), 0);
}
