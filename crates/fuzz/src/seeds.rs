//! Generates the corpus with the code that writes such data.

use crate::corpus::{Corpus, Example};
use crate::targets::{disks, frames};
use bytes::Bytes;
use quorate_core::{Bounds, Codec, Describe, Effect, Effects, Group, Incarnation, Input, NodeId, Protocol, Time};
use quorate_core::{deadlock, election, multicast, mutex};
use quorate_erased::{AnyCodec, AnyMessage, AnyTimer, Erased};
use quorate_lab::mutex::MutexNode;
use quorate_lab::registry::{Entry, Environment, all};
use quorate_net::frame::{Body, Dial, Hello, ProcessNonce, Refusal, Welcome, encode};
use quorate_replica::batch::{Batch, Image};
use quorate_replica::machine::{LogTime, StateMachine};
use std::collections::{BTreeMap, VecDeque};

/// Returns the generated examples of a target. `None` for `gathering` and `journals`, whose
/// examples come from real runs.
pub fn examples(target: &str) -> Option<Corpus> {
    let examples = match target {
        "batches" => vec![example("three-messages", &three_messages()), example("one-long-message", &long_message())],
        "disks" => disk_files(),
        "entries" => log_entries(),
        "frames" => vec![whole_conversation(), example("hello-in-small-pieces", &[&[6][..], &hello_frame()].concat())],
        "greetings" => greetings(),
        "links" => vec![example("sent-cut-sent-again", &[5, 8, 16, 0, 2, 3, 4, 8, 2, 5, 2, 3, 4, 0xFE, 0, 7, 4])],
        "messages" => all().iter().flat_map(messages).collect(),
        "papers" => certificates(),
        _ => return None,
    };
    Some(Corpus(examples))
}

fn example(name: &str, bytes: &[u8]) -> Example {
    Example { name: name.to_owned(), bytes: bytes.to_vec() }
}

// ------------------------------------------------------------------------------------- connections

fn three_messages() -> Vec<u8> {
    [&9_u64.to_le_bytes()[..], &[0, 2, 7, 7, 1, 0, 200, 1, 3, 1, 2, 3]].concat()
}

fn long_message() -> Vec<u8> {
    [&1_u64.to_le_bytes()[..], &[0, 0xAC, 0x02], &[5; 300]].concat()
}

fn hello() -> Hello {
    Hello {
        group: "orders-east".into(),
        algorithm: "ricart-agrawala".into(),
        format: 1,
        to: NodeId::from_index(0),
        members: 3,
        dial: Dial(2),
        welcomed: Dial(1),
        knows: Some(Incarnation(4)),
        process_nonce: ProcessNonce(0x0123_4567_89AB_CDEF),
    }
}

fn bodies() -> Vec<(&'static str, Body)> {
    let welcome = Welcome { dial: Dial(2), knows: Incarnation(3), birth: ProcessNonce(99) };
    vec![
        ("hello", Body::Hello(hello())),
        ("welcome", Body::Welcome(welcome)),
        ("refuse-other-group", Body::Refuse(Refusal::OtherGroup { group: "orders-west".into() })),
        ("refuse-twin", Body::Refuse(Refusal::DuplicateIncarnation { known: Incarnation(3) })),
        ("refuse-crossed", Body::Refuse(Refusal::Crossed)),
        ("batch", Body::Batch(Bytes::from(three_messages()))),
        ("ack", Body::Ack),
        ("ping", Body::Ping),
        ("bye", Body::Bye("it was stopped".into())),
    ]
}

fn hello_frame() -> Bytes {
    encode(&frames::header(), &Body::Hello(hello()))
}

fn whole_conversation() -> Example {
    let mut bytes = vec![1];
    bodies().iter().for_each(|(_, body)| bytes.extend_from_slice(&encode(&frames::header(), body)));
    example("one-frame-of-each-kind", &bytes)
}

fn greetings() -> Vec<Example> {
    let stripped = |(name, body): &(&str, Body)| {
        let frame = encode(&frames::header(), body);
        let content = [&frame[9..10], &frame[46..frame.len() - 4]].concat();
        assert_eq!(frames::seal(content[0], &content[1..]), frame, "the layout of frames has changed");
        example(name, &content)
    };
    bodies().iter().map(stripped).collect()
}

// ------------------------------------------------------------------------------------- disks, logs

fn disk_files() -> Vec<Example> {
    let file = |(index, (path, content)): (usize, (std::path::PathBuf, Vec<u8>))| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        example(&name, &[&[index as u8][..], &content].concat())
    };
    disks::contents().into_iter().enumerate().map(file).filter(|example| example.bytes.len() > 1).collect()
}

type Machine = quorate_lab::replica::ReplicaMachine;

fn log_entries() -> Vec<Example> {
    let machine = Machine::default();
    let time = LogTime::default();
    let batch = Batch::<<Machine as StateMachine>::Command>::write(time, &[], [].iter()).unwrap_or_default();
    vec![example("empty-batch", &batch), example("empty-snapshot", &Image::write(time, &BTreeMap::default(), &machine))]
}

/// Returns valid certificates and keys of every kind, one with a changed byte, and one with valid
/// PEM but invalid content.
fn certificates() -> Vec<Example> {
    let kinds = ["ca", "certificate", "key", "ca-of-an-authority", "key-of-an-authority"];
    let good = kinds.iter().zip(0x80..).map(|(kind, first)| example(&format!("good-{kind}"), &[first]));
    let hollow = "\0-----BEGIN CERTIFICATE-----\nMAAwADAA\n-----END CERTIFICATE-----\n";
    good.chain([example("changed-certificate", &[0x81, 90, 0, b'x']), example("hollow", hollow.as_bytes())]).collect()
}

// ---------------------------------------------------------------------------------------- messages

fn messages(entry: &Entry) -> Vec<Example> {
    let group = Group::of_size(3);
    let bounds =
        Bounds { message: quorate_core::Duration::from_millis(10), processing: quorate_core::Duration::from_millis(1) };
    let surroundings = Environment { group: group.clone(), seed: 1, bounds };
    let kinds = match entry {
        Entry::Mutex(entry) => {
            let nodes = group.iter().map(|node| entry.node(node, &surroundings)).collect();
            kinds(nodes, |_| vec![mutex::Command::Acquire, mutex::Command::Release])
        }
        Entry::Election(entry) => {
            let plan = std::sync::Arc::new(election::Plan::new(group.len(), bounds));
            let nodes = group.iter().map(|node| (entry.make)(node, &plan)).collect();
            kinds(nodes, |index| vec![election::Command::Campaign; usize::from(index == 0)])
        }
        Entry::Multicast(entry) => {
            // A window of one message makes members report held messages at once.
            let default = multicast::Plan::new(group.clone());
            let window = multicast::Window { messages: 1, ..default.window };
            let plan = std::sync::Arc::new(multicast::Plan { window, ..default });
            let nodes = group.iter().map(|node| (entry.make)(node, &plan).bare()).collect();
            kinds(nodes, |_| vec![multicast::Command::send("hello"), multicast::Command::leave()])
        }
        Entry::Deadlock(entry) => {
            let plan = std::sync::Arc::new(deadlock::Plan {
                victim: Some(deadlock::Policy::Youngest),
                ..deadlock::Plan::new(group.len())
            });
            let nodes = group.iter().map(|node| entry.asking(node, &plan)).collect();
            // Each node requests the next one.
            kinds(nodes, |index| {
                let next = NodeId::from_index((index + 1) % group.len());
                let need = deadlock::Need::All(vec![deadlock::Agent::process(next, 0)]);
                vec![deadlock::Command::Ask { process: 0, need }]
            })
        }
        Entry::Replica(entry) => {
            let settings = quorate_replica::Settings::new(quorate_replica::Members::voters(&group));
            let nodes = group.iter().map(|node| (entry.make)(node, settings.clone())).collect();
            kinds(nodes, |index| vec![quorate_replica::Command::Campaign; usize::from(index == 0)])
        }
    };
    let written = |(kind, message): (&'static str, AnyMessage)| {
        let mut bytes = format!("{}\n", entry.name()).into_bytes();
        let codec: AnyCodec = entry.codec();
        Codec::<MutexNode>::encode(&codec, &message, &mut bytes).ok()?;
        Some(example(&format!("{}-{kind}", entry.name()), &bytes))
    };
    kinds.into_iter().filter_map(written).collect()
}

/// Returns one message of each kind that the nodes send after these commands.
fn kinds<C: 'static, E: 'static>(
    nodes: Vec<Erased<C, E>>,
    commands: impl Fn(usize) -> Vec<C>,
) -> BTreeMap<&'static str, AnyMessage>
where
    Erased<C, E>: Protocol<Command = C, Message = AnyMessage, Timer = AnyTimer>,
{
    let mut run = GroupRun { nodes, queue: VecDeque::new(), saves: BTreeMap::new(), found: BTreeMap::new() };
    for index in 0..run.nodes.len() {
        run.step(index, Input::Start { durable: Default::default(), incarnation: Incarnation(0) });
    }
    // Each node takes its first command, and its second one after all messages are delivered.
    let mut commands: Vec<VecDeque<C>> = (0..run.nodes.len()).map(|index| commands(index).into()).collect();
    for _ in 0..2 {
        for (index, queue) in commands.iter_mut().enumerate() {
            queue.pop_front().into_iter().for_each(|command| run.step(index, Input::Command(command)));
        }
        run.deliver_all();
    }
    run.found
}

/// Nodes whose messages arrive in order and whose saves are durable at once.
struct GroupRun<C, E>
where
    Erased<C, E>: Protocol<Command = C, Message = AnyMessage>,
{
    nodes: Vec<Erased<C, E>>,
    queue: VecDeque<(usize, usize, AnyMessage)>,
    saves: BTreeMap<usize, u64>,
    found: BTreeMap<&'static str, AnyMessage>,
}

impl<C, E> GroupRun<C, E>
where
    Erased<C, E>: Protocol<Command = C, Message = AnyMessage>,
{
    fn step(&mut self, index: usize, input: Input<Erased<C, E>>) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut effects: Vec<Effect<Erased<C, E>>> = Vec::new();
            if let Some(node) = self.nodes.get_mut(index) {
                node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
            }
            let before = self.saves.get(&index).copied();
            effects.into_iter().for_each(|effect| self.carry_out(index, effect));
            let after = self.saves.get(&index).copied();
            inputs.extend(after.filter(|_| before != after).map(Input::Saved));
        }
    }

    /// Delivers messages until none is left, at most 500.
    fn deliver_all(&mut self) {
        for _ in 0..500 {
            let Some((from, to, message)) = self.queue.pop_front() else { return };
            self.step(to, Input::Message { from: NodeId::from_index(from), message });
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect<Erased<C, E>>) {
        match effect {
            Effect::Send { to, message, .. } => self.send(index, to, message),
            Effect::Multicast { to, message, .. } => {
                to.others(NodeId::from_index(index)).for_each(|to| self.send(index, to, message.clone()));
            }
            Effect::Save(_) => *self.saves.entry(index).or_default() += 1,
            Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Emit { .. } => {}
        }
    }

    fn send(&mut self, from: usize, to: NodeId, message: AnyMessage) {
        self.found.entry(message.kind()).or_insert_with(|| message.clone());
        self.queue.push_back((from, to.index(), message));
    }
}
