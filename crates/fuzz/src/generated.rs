//! Generates most of the corpus, with the code that writes such data in real runs.

use crate::corpus::{Corpus, Example};
use crate::targets::{disks, frames};
use bytes::Bytes;
use quorate_core::{Bounds, Codec, Describe, Effect, Effects, Group, Incarnation, Input, NodeId, Protocol, Time};
use quorate_core::{deadlock, election, multicast, mutex};
use quorate_erased::{AnyCodec, AnyMessage, AnyTimer, Erased};
use quorate_lab::mutex::MutexNode;
use quorate_lab::registry::{Entry, Environment, all};
use quorate_net::frame::{Body, Dial, Generation, Hello, LinkEnd, ProcessNonce, Refusal, Welcome, encode};
use quorate_replica::batch::{Batch, Image};
use quorate_replica::directory::Directory;
use quorate_replica::machine::{LogPosition, LogTime, Outbox, SessionId, StateMachine};
use quorate_replica::registers::Change;
use quorate_replica::sessions;
use std::collections::{BTreeMap, VecDeque};

/// Returns the generated examples of a target. `None` for `gathering` and `journals`, whose
/// examples come from real runs.
pub fn generate_examples(target: &str) -> Option<Corpus> {
    let examples = match target {
        "batches" => vec![example("three-messages", &three_messages()), example("one-long-message", &long_message())],
        "certificates" => certificates(),
        "contents" => frame_contents(),
        "disks" => disk_files(),
        "entries" => log_entries(),
        // The byte 6 chooses the length limit during the handshake, and pieces of four bytes.
        "frames" => vec![frame_of_each_kind(), example("hello-in-small-pieces", &[&[6][..], &hello_frame()].concat())],
        // Each byte is an event of `targets::links`. Its lower three bits choose the event (0 and
        // 1: push a message; 2: send a frame; 3: receive it; 4: acknowledge; 5: connect; 6: replace
        // the receiver or forge; 7: send and receive), and the other bits are its size.
        "links" => vec![example("sent-cut-sent-again", &[5, 8, 16, 0, 2, 3, 4, 8, 2, 5, 2, 3, 4, 0xFE, 0, 7, 4])],
        "messages" => all().iter().flat_map(message_examples).collect(),
        _ => return None,
    };
    Some(Corpus(examples))
}

fn example(name: &str, bytes: &[u8]) -> Example {
    Example { name: name.to_owned(), bytes: bytes.to_vec() }
}

// ------------------------------------------------------------------------------------- connections

/// Returns a batch: the first number, then for each message the difference to the previous number,
/// the length and the bytes. `200, 1` is 200 as a varint.
fn three_messages() -> Vec<u8> {
    [&9_u64.to_le_bytes()[..], &[0, 2, 7, 7, 1, 0, 200, 1, 3, 1, 2, 3]].concat()
}

/// Returns a batch of one message with 300 bytes. `AC 02` is 300 as a varint.
fn long_message() -> Vec<u8> {
    [&1_u64.to_le_bytes()[..], &[0, 0xAC, 0x02], &[5; 300]].concat()
}

fn hello() -> Hello {
    Hello {
        group: "orders-east".into(),
        algorithm: "ricart-agrawala".into(),
        message_format: 1,
        to: NodeId::from_index(0),
        group_size: 3,
        dial: Dial(2),
        last_welcomed_dial: Dial(1),
        known_end: Some(LinkEnd { incarnation: Incarnation(4), generation: Generation(2) }),
        process_nonce: ProcessNonce(0x0123_4567_89AB_CDEF),
        generation: Generation(5),
    }
}

fn bodies() -> Vec<(&'static str, Body)> {
    let welcome = Welcome {
        dial: Dial(2),
        receiver_end: LinkEnd { incarnation: Incarnation(3), generation: Generation(1) },
        process_nonce: ProcessNonce(99),
        generation: Generation(6),
    };
    vec![
        ("hello", Body::Hello(hello())),
        ("welcome", Body::Welcome(welcome)),
        ("refuse-other-group", Body::Refuse(Refusal::OtherGroup { group: "orders-west".into() })),
        ("refuse-twin", Body::Refuse(Refusal::DuplicateIncarnation { known_incarnation: Incarnation(3) })),
        ("refuse-crossed", Body::Refuse(Refusal::Crossed)),
        ("refuse-stranger", Body::Refuse(Refusal::NotAPeer)),
        ("batch", Body::Batch(Bytes::from(three_messages()))),
        ("ack", Body::Ack),
        ("ping", Body::Ping),
        ("bye", Body::Bye("it was stopped".into())),
    ]
}

fn hello_frame() -> Bytes {
    encode(&frames::header(), &Body::Hello(hello()))
}

fn frame_of_each_kind() -> Example {
    // The byte 1 chooses the length limit after the handshake, and pieces of one byte.
    let mut bytes = vec![1];
    bodies().iter().for_each(|(_, body)| bytes.extend_from_slice(&encode(&frames::header(), body)));
    example("one-frame-of-each-kind", &bytes)
}

/// Returns the kind and the body of one frame of each kind. The target adds the rest of the frame.
fn frame_contents() -> Vec<Example> {
    let kind_and_body = |(name, body): &(&str, Body)| {
        let frame = encode(&frames::header(), body);
        // The kind is byte 9, and the body is between the first 46 bytes and the checksum of 4.
        let content = [&frame[9..10], &frame[46..frame.len() - 4]].concat();
        assert_eq!(frames::seal(content[0], &content[1..]), frame, "the layout of frames has changed");
        example(name, &content)
    };
    bodies().iter().map(kind_and_body).collect()
}

// ------------------------------------------------------------------------------------- disks, logs

fn disk_files() -> Vec<Example> {
    let file = |(index, (path, content)): (usize, (std::path::PathBuf, Vec<u8>))| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // As in `targets::disks`, the first byte chooses the file to replace.
        example(&name, &[&[index as u8][..], &content].concat())
    };
    disks::example_files().into_iter().enumerate().map(file).filter(|example| example.bytes.len() > 1).collect()
}

type Machine = quorate_lab::replica::ReplicaMachine;

fn log_entries() -> Vec<Example> {
    let machine = Machine::default();
    let time = LogTime::default();
    let batch = Batch::<<Machine as StateMachine>::Command>::of_notices(time, Vec::new()).write().unwrap_or_default();
    let snapshot = Image::write(time, &Directory::default(), &machine);
    let mut used = Machine::default();
    let mut outbox = Outbox::default();
    for command in [
        sessions::Command::Open { nonce: 1, ttl: sessions::MIN_TTL },
        sessions::Command::Request(sessions::Request {
            session: SessionId(1),
            number: 1,
            seen: sessions::Seen::default(),
            command: Change::Await { key: 0 },
        }),
        sessions::Command::Direct(Change::Write { key: 0, value: 7 }),
    ] {
        used.apply(LogPosition::default(), None, &command, &mut outbox);
    }
    let with_session = Image::write(time, &Directory::default(), &used);
    vec![
        example("empty-batch", &batch),
        example("empty-snapshot", &snapshot),
        example("snapshot-with-session", &with_session),
    ]
}

/// Returns valid certificates and keys of every kind, one with a changed byte, and one (`hollow`)
/// with valid PEM but invalid content. As in `targets::certificates`, the first byte of each
/// chooses the file. With its highest bit (0x80), changes of the valid content follow: here none,
/// or an x at byte 90.
fn certificates() -> Vec<Example> {
    let kinds = ["ca", "certificate", "key", "ca-of-an-authority", "key-of-an-authority"];
    let good = kinds.iter().zip(0x80..).map(|(kind, first)| example(&format!("good-{kind}"), &[first]));
    let hollow = "\0-----BEGIN CERTIFICATE-----\nMAAwADAA\n-----END CERTIFICATE-----\n";
    good.chain([example("changed-certificate", &[0x81, 90, 0, b'x']), example("hollow", hollow.as_bytes())]).collect()
}

// ---------------------------------------------------------------------------------------- messages

fn message_examples(entry: &Entry) -> Vec<Example> {
    let group = Group::of_size(3);
    let bounds =
        Bounds { message: quorate_core::Duration::from_millis(10), processing: quorate_core::Duration::from_millis(1) };
    let environment = Environment { group: group.clone(), seed: 1, bounds };
    let kinds = match entry {
        Entry::Mutex(entry) => {
            let nodes = group.iter().map(|node| entry.node(node, &environment)).collect();
            collect_kinds(nodes, |_| vec![mutex::Command::Acquire, mutex::Command::Release])
        }
        Entry::Election(entry) => {
            let plan = std::sync::Arc::new(election::Plan::new(group.len(), bounds));
            let nodes = group.iter().map(|node| (entry.make)(node, &plan)).collect();
            collect_kinds(nodes, |index| vec![election::Command::Campaign; usize::from(index == 0)])
        }
        Entry::Multicast(entry) => {
            // With a window of one message, members acknowledge every message immediately.
            let default = multicast::Plan::new(group.clone());
            let window = multicast::Window { messages: 1, ..default.window };
            let plan = std::sync::Arc::new(multicast::Plan { window, ..default });
            let nodes = group.iter().map(|node| (entry.make)(node, &plan).in_fixed_group()).collect();
            collect_kinds(nodes, |_| vec![multicast::Command::send("hello"), multicast::Command::leave()])
        }
        Entry::Deadlock(entry) => {
            let plan = std::sync::Arc::new(deadlock::Plan {
                victim_policy: Some(deadlock::Policy::Youngest),
                ..deadlock::Plan::new(group.len())
            });
            let nodes = group.iter().map(|node| entry.node_with_requests(node, &plan)).collect();
            // Each node requests the next one.
            collect_kinds(nodes, |index| {
                let next = NodeId::from_index((index + 1) % group.len());
                let need = deadlock::Need::All(vec![deadlock::Agent::process(next, 0)]);
                vec![deadlock::Command::Ask { process: 0, need }]
            })
        }
        Entry::Replica(entry) => {
            let settings = quorate_replica::Settings::new(quorate_replica::Members::voters(&group));
            let nodes = group.iter().map(|node| (entry.make)(node, settings.clone())).collect();
            collect_kinds(nodes, |index| vec![quorate_replica::Command::Campaign; usize::from(index == 0)])
        }
    };
    let encode_example = |(kind, message): (&'static str, AnyMessage)| {
        let mut bytes = format!("{}\n", entry.name()).into_bytes();
        let codec: AnyCodec = entry.codec();
        // The codec is the same for nodes of every family, but the call must name one of them.
        Codec::<MutexNode>::encode(&codec, &message, &mut bytes).ok()?;
        Some(example(&format!("{}-{kind}", entry.name()), &bytes))
    };
    kinds.into_iter().filter_map(encode_example).collect()
}

/// Returns one message of each kind that the nodes send after their commands; `commands_of` takes
/// the index of a node.
fn collect_kinds<C: 'static, E: 'static>(
    nodes: Vec<Erased<C, E>>,
    commands_of: impl Fn(usize) -> Vec<C>,
) -> BTreeMap<&'static str, AnyMessage>
where
    Erased<C, E>: Protocol<Command = C, Message = AnyMessage, Timer = AnyTimer>,
{
    let mut run =
        GroupRun { nodes, in_flight: VecDeque::new(), save_counts: BTreeMap::new(), messages_by_kind: BTreeMap::new() };
    for index in 0..run.nodes.len() {
        run.step(index, Input::Start { durable: Default::default(), incarnation: Incarnation(0) });
    }
    // Each node takes its first command, and its second one after all messages are delivered.
    let mut commands: Vec<VecDeque<C>> = (0..run.nodes.len()).map(|index| commands_of(index).into()).collect();
    for _ in 0..2 {
        for (index, queue) in commands.iter_mut().enumerate() {
            queue.pop_front().into_iter().for_each(|command| run.step(index, Input::Command(command)));
        }
        run.deliver_all();
    }
    run.messages_by_kind
}

/// Nodes whose messages arrive in order and whose saves are durable immediately.
struct GroupRun<C, E>
where
    Erased<C, E>: Protocol<Command = C, Message = AnyMessage>,
{
    nodes: Vec<Erased<C, E>>,
    /// Sender, receiver and message.
    in_flight: VecDeque<(usize, usize, AnyMessage)>,
    /// Number of saves of each node.
    save_counts: BTreeMap<usize, u64>,
    /// The first message of each kind that a node sent.
    messages_by_kind: BTreeMap<&'static str, AnyMessage>,
}

impl<C, E> GroupRun<C, E>
where
    Erased<C, E>: Protocol<Command = C, Message = AnyMessage>,
{
    /// Steps a node with this input, and then with the completion of its saves.
    fn step(&mut self, index: usize, input: Input<Erased<C, E>>) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut effects: Vec<Effect<Erased<C, E>>> = Vec::new();
            if let Some(node) = self.nodes.get_mut(index) {
                node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
            }
            let saves_before = self.save_counts.get(&index).copied();
            effects.into_iter().for_each(|effect| self.carry_out(index, effect));
            let saves_after = self.save_counts.get(&index).copied();
            inputs.extend(saves_after.filter(|_| saves_before != saves_after).map(Input::Saved));
        }
    }

    /// Delivers up to 500 messages: some algorithms never stop sending.
    fn deliver_all(&mut self) {
        for _ in 0..500 {
            let Some((from, to, message)) = self.in_flight.pop_front() else { return };
            self.step(to, Input::Message { from: NodeId::from_index(from), message });
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect<Erased<C, E>>) {
        match effect {
            Effect::Send { to, message, .. } => self.send(index, to, message),
            Effect::Multicast { to, message, .. } => {
                to.others(NodeId::from_index(index)).for_each(|to| self.send(index, to, message.clone()));
            }
            Effect::Save(_) => *self.save_counts.entry(index).or_default() += 1,
            Effect::SetTimer { .. } | Effect::CancelTimer(_) | Effect::Emit { .. } => {}
        }
    }

    fn send(&mut self, from: usize, to: NodeId, message: AnyMessage) {
        self.messages_by_kind.entry(message.kind()).or_insert_with(|| message.clone());
        self.in_flight.push_back((from, to.index(), message));
    }
}
