//! A small simulation with time and crashes, in which a seed determines all delays, commands and
//! crashes, within the synchronous model unless the scenario allows longer message delays.
//!
//! Messages take any time up to a maximum, often exactly 0 or exactly the maximum, and overtake
//! each other. Nodes queue their inputs. A node may crash at any instant, often right after a step,
//! when the messages of that step are still in transit; they arrive all the same. In the last part
//! of a run no node crashes, no client requests, and every live client must get an answer. Times
//! are in nanoseconds.

use super::super::{Message, PassContent, Timer, TokenRingAcknowledged};
use crate::bounds::Bounds;
use crate::effects::Effect;
use crate::mutex::prelude::*;
use crate::node::Incarnation;
use std::format;
use std::string::String;

type Node = TokenRingAcknowledged;

/// The bound on message delays in the synchronous model: so small that events often coincide.
pub(super) const MESSAGE_BOUND: u64 = 10;

/// The longest time after `World::calm_from` in which all clients must get an answer: much longer
/// than any round of the token.
const MAX_CALM_TIME: u64 = 1_000_000;

/// The number of nodes, the maximum number of crashes, and the durations in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) nodes: usize,
    pub(super) crashes: usize,
    /// The longest time that a message takes: [`MESSAGE_BOUND`] in the synchronous model.
    pub(super) max_delay: u64,
    /// The longest time that a node is busy with one input.
    pub(super) max_processing: u64,
}

/// Counts of a run, which show that it covers what it should.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) entries: u64,
    pub(super) crashes: u64,
    /// Number of crashes of nodes that had the token.
    pub(super) crashes_with_token: u64,
    /// The largest generation of a token that a node has entered with.
    pub(super) max_generation: u64,
}

/// A deterministic random generator (Steele, Lea and Flood's `SplitMix`).
struct TestRng(u64);

impl TestRng {
    /// Returns a number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound.max(1)
    }

    /// Returns `true` with probability 1/`count`.
    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Returns a number up to `maximum`, often 0 or `maximum`.
    fn up_to(&mut self, maximum: u64) -> u64 {
        match self.below(4) {
            0 => 0,
            1 => maximum,
            _ => self.below(maximum + 1),
        }
    }
}

/// A planned event at a node.
enum Occurrence {
    Message {
        from: NodeId,
        message: Message,
    },
    /// A timer fires, unless it was cancelled or set again after the setting with this serial
    /// number.
    Timer {
        timer: Timer,
        serial: u64,
    },
    /// The client gives a command, if it is valid then and the client has made exactly this number
    /// of requests so far.
    Command {
        command: Command,
        requests: u64,
    },
    Crash,
}

/// A node with its timers, queue and client.
struct Host {
    node: Node,
    is_alive: bool,
    /// The timers that are set, by their debug text, with the serial number of the setting.
    timers: BTreeMap<String, u64>,
    /// The time until which the node is busy with its queue.
    busy_until: u64,
    client: Client,
    /// Number of requests that the client has made so far.
    requests: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Idle,
    Waiting,
    Inside,
}

pub(super) struct World {
    scenario: Scenario,
    rng: TestRng,
    now: u64,
    /// The planned events by time and serial number: the node, whether the event has already waited
    /// in the node's queue, and the event.
    agenda: BTreeMap<(u64, u64), (NodeId, bool, Occurrence)>,
    last_serial: u64,
    hosts: Vec<Host>,
    remaining_crashes: usize,
    /// From this time on no node crashes and no client requests.
    calm_from: u64,
    /// Whether tokens and searches are fast and acknowledgements slow, so that a token goes round
    /// before they arrive.
    is_hurried: bool,
    last_fence: Option<Fence>,
    tally: Tally,
}

impl World {
    /// Runs the scenario with this seed. Returns the counts, or the first violation.
    pub(super) fn run(scenario: Scenario, seed: u64) -> Result<Tally, String> {
        let mut world = Self::new(scenario, seed);
        world.run_to_end().map_err(|violation| format!("seed {seed}, {scenario:?}: at {}, {violation}", world.now))?;
        Ok(world.tally)
    }

    fn new(scenario: Scenario, seed: u64) -> Self {
        let group = Group::of_size(scenario.nodes);
        let bounds = Bounds {
            message: Duration::from_nanos(MESSAGE_BOUND),
            processing: Duration::from_nanos(scenario.max_processing),
        };
        let host = |me| Host {
            node: Node::new(me, group.clone(), bounds),
            is_alive: true,
            timers: BTreeMap::new(),
            busy_until: 0,
            client: Client::Idle,
            requests: 0,
        };
        let mut rng = TestRng(seed);
        let calm_from = 50 + rng.below(3_000);
        let is_hurried = rng.one_in(3);
        let hosts = group.iter().map(host).collect();
        let mut world = Self {
            scenario,
            rng,
            now: 0,
            agenda: BTreeMap::new(),
            last_serial: 0,
            hosts,
            remaining_crashes: scenario.crashes,
            calm_from,
            is_hurried,
            last_fence: None,
            tally: Tally::default(),
        };
        for node in group.iter() {
            world.plan_request(node);
        }
        for _ in 0..scenario.crashes {
            let victim = NodeId::from_index(world.rng.below(scenario.nodes as u64) as usize);
            let at = world.rng.below(calm_from);
            world.plan(at, victim, Occurrence::Crash);
        }
        world
    }

    fn run_to_end(&mut self) -> Result<(), String> {
        for index in 0..self.hosts.len() {
            let start = Input::Start { durable: (), incarnation: Incarnation::FIRST };
            self.step(NodeId::from_index(index), start)?;
        }
        while let Some(((at, _), (node, is_queued, occurrence))) = self.agenda.pop_first() {
            self.now = at;
            if at > self.calm_from && self.all_clients_are_idle() {
                return Ok(());
            }
            if at > self.calm_from + MAX_CALM_TIME {
                return Err(format!("{:?} wait forever", self.nodes_with_client(Client::Waiting)));
            }
            self.handle(node, is_queued, occurrence)?;
        }
        if self.all_clients_are_idle() {
            Ok(())
        } else {
            Err(format!("no event is left, and {:?} wait", self.nodes_with_client(Client::Waiting)))
        }
    }

    fn all_clients_are_idle(&self) -> bool {
        self.hosts.iter().all(|host| !host.is_alive || host.client == Client::Idle)
    }

    /// Returns the numbers of the live nodes whose client is in this state.
    fn nodes_with_client(&self, client: Client) -> Vec<usize> {
        let alive = self.hosts.iter().enumerate().filter(|(_, host)| host.is_alive && host.client == client);
        alive.map(|(index, _)| index + 1).collect()
    }

    fn plan(&mut self, at: u64, node: NodeId, occurrence: Occurrence) {
        self.last_serial += 1;
        self.agenda.insert((at, self.last_serial), (node, false, occurrence));
    }

    /// Plans a request after a short or long delay, and perhaps its cancellation. Plans nothing if
    /// the request would come at or after `calm_from`.
    fn plan_request(&mut self, node: NodeId) {
        let delay = if self.rng.one_in(2) { self.rng.below(20) } else { self.rng.below(400) };
        let command = if self.rng.one_in(5) { Command::Try } else { Command::Acquire };
        let requests = self.hosts[node.index()].requests;
        let at = self.now + delay;
        if at >= self.calm_from {
            return;
        }
        self.plan(at, node, Occurrence::Command { command, requests });
        if self.rng.one_in(4) {
            let at = at + self.rng.below(300);
            self.plan(at, node, Occurrence::Command { command: Command::Cancel, requests: requests + 1 });
        }
    }

    /// Plans a release: at once, soon, or after up to 900 ns, which is longer than any round timer
    /// if inputs take no time.
    fn plan_release(&mut self, node: NodeId) {
        let delay = match self.rng.below(6) {
            0 | 1 => 0,
            2 => self.rng.below(900),
            _ => self.rng.below(15),
        };
        let requests = self.hosts[node.index()].requests;
        self.plan(self.now + delay, node, Occurrence::Command { command: Command::Release, requests });
    }

    /// Handles an event at a live node: queues it first if inputs take time, and sometimes crashes
    /// the node afterwards.
    fn handle(&mut self, node: NodeId, is_queued: bool, occurrence: Occurrence) -> Result<(), String> {
        let host = &mut self.hosts[node.index()];
        if !host.is_alive {
            return Ok(());
        }
        if let Occurrence::Crash = occurrence {
            self.crash(node);
            return Ok(());
        }
        if self.scenario.max_processing > 0 && !is_queued {
            host.busy_until = host.busy_until.max(self.now) + self.rng.up_to(self.scenario.max_processing);
            self.last_serial += 1;
            self.agenda.insert((host.busy_until, self.last_serial), (node, true, occurrence));
            return Ok(());
        }
        let Some(input) = self.input(node, occurrence) else { return Ok(()) };
        self.step(node, input)?;
        if self.now < self.calm_from && self.remaining_crashes > 0 && self.rng.one_in(60) {
            self.crash(node);
        }
        Ok(())
    }

    /// Returns the input that a planned event causes, and records it in the node's timers or
    /// client. Returns `None` if the event is obsolete or a crash.
    fn input(&mut self, node: NodeId, occurrence: Occurrence) -> Option<Input<Node>> {
        let host = &mut self.hosts[node.index()];
        match occurrence {
            Occurrence::Message { from, message } => Some(Input::Message { from, message }),
            Occurrence::Timer { timer, serial } => {
                let key = format!("{timer:?}");
                if host.timers.get(&key) != Some(&serial) {
                    return None;
                }
                host.timers.remove(&key);
                Some(Input::Timer(timer))
            }
            Occurrence::Command { command, requests } => {
                let is_valid = match command {
                    Command::Acquire | Command::Try | Command::Share => host.client == Client::Idle,
                    Command::Cancel => host.client == Client::Waiting,
                    Command::Release => host.client == Client::Inside,
                };
                if !is_valid || host.requests != requests {
                    return None;
                }
                if let Command::Acquire | Command::Try | Command::Share = command {
                    host.requests += 1;
                    host.client = Client::Waiting;
                }
                Some(Input::Command(command))
            }
            Occurrence::Crash => None,
        }
    }

    /// Crashes a node, unless it is the last live one or no crash remains.
    fn crash(&mut self, node: NodeId) {
        if self.remaining_crashes == 0 || self.hosts.iter().filter(|host| host.is_alive).count() == 1 {
            return;
        }
        self.remaining_crashes -= 1;
        self.tally.crashes += 1;
        let host = &mut self.hosts[node.index()];
        self.tally.crashes_with_token += u64::from(host.node.slot.has_token());
        host.is_alive = false;
    }

    /// Passes an input to a node and carries out the effects. The time is not `now`, because the
    /// algorithm does not read it.
    fn step(&mut self, node: NodeId, input: Input<Node>) -> Result<(), String> {
        let mut effects = Vec::new();
        self.hosts[node.index()].node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => {
                    let at = self.now + self.message_delay(&message);
                    self.plan(at, to, Occurrence::Message { from: node, message });
                }
                Effect::SetTimer { timer, span } => {
                    let serial = self.last_serial + 1;
                    self.hosts[node.index()].timers.insert(format!("{timer:?}"), serial);
                    self.plan(self.now + span.earliest.nanos(), node, Occurrence::Timer { timer, serial });
                }
                Effect::CancelTimer(timer) => {
                    self.hosts[node.index()].timers.remove(&format!("{timer:?}"));
                }
                Effect::Emit { event, .. } => self.on_event(node, event)?,
                Effect::Multicast { .. } | Effect::Save(_) => {
                    return Err("the algorithm never multicasts or saves".into());
                }
            }
        }
        match self.count_tokens() {
            0 | 1 => Ok(()),
            tokens => Err(format!("there are {tokens} tokens")),
        }
    }

    fn message_delay(&mut self, message: &Message) -> u64 {
        match message {
            Message::Pass { .. } if self.is_hurried => self.rng.below(2),
            Message::Acknowledgement(_) if self.is_hurried => self.scenario.max_delay,
            Message::Pass { .. } | Message::Acknowledgement(_) => self.rng.up_to(self.scenario.max_delay),
        }
    }

    /// Counts the tokens at live nodes or in transit to one of them.
    fn count_tokens(&self) -> usize {
        let at_nodes = self.hosts.iter().filter(|host| host.is_alive && host.node.slot.has_token()).count();
        let in_transit = self.agenda.values().filter(|(to, _, occurrence)| {
            let is_token = matches!(
                occurrence,
                Occurrence::Message { message: Message::Pass { content: PassContent::Token(_), .. }, .. }
            );
            is_token && self.hosts[to.index()].is_alive
        });
        at_nodes + in_transit.count()
    }

    fn on_event(&mut self, node: NodeId, event: Event) -> Result<(), String> {
        let client = match (self.hosts[node.index()].client, event) {
            (Client::Waiting, Event::Entered { fence, .. }) => {
                self.check_entry(node, fence)?;
                Client::Inside
            }
            (Client::Waiting, Event::Denied | Event::Cancelled) | (Client::Inside, Event::Left) => Client::Idle,
            (client, event) => return Err(format!("{node}, whose client is {client:?}, emits '{event}'")),
        };
        self.hosts[node.index()].client = client;
        match client {
            Client::Inside => self.plan_release(node),
            Client::Idle => self.plan_request(node),
            Client::Waiting => {}
        }
        Ok(())
    }

    /// Checks that no other live node is in the critical section and that the fence is the largest
    /// so far, and records the entry.
    fn check_entry(&mut self, node: NodeId, fence: Fence) -> Result<(), String> {
        if let [other, ..] = self.nodes_with_client(Client::Inside)[..] {
            return Err(format!("{node} enters while {other} is in the critical section"));
        }
        if self.last_fence.is_some_and(|last| fence <= last) {
            return Err(format!("{node} enters with {fence} after {:?}", self.last_fence));
        }
        self.last_fence = Some(fence);
        self.tally.entries += 1;
        self.tally.max_generation = self.tally.max_generation.max(fence.epoch.0);
        Ok(())
    }
}
