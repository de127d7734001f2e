//! Every registered algorithm can be serialized: a run whose messages and disks are encoded and
//! decoded is the same run.
//!
//! A new entry of the registry is tested automatically.

use quorate_core::deadlock::Policy;
use quorate_core::mutex::Command;
use quorate_core::{Codec, Durable, Duration, Effect, Effects, Group, Input, NodeId, Note, Protocol, Sink, Time};
use quorate_erased::{AnyCodec, AnyDurable, AnyMessage, AnyTimer, AnyWrite, Erased};
use quorate_journal::record::{Header, Writer};
use quorate_journal::settings::TimedFault;
use quorate_journal::settings::{Length, NodeSet};
use quorate_lab::election::Detector;
use quorate_lab::experiment::run_with;
use quorate_lab::multicast::{MembershipService, ViewSettings};
use quorate_lab::registry::{Entry, Family, all, find, fixtures};
use quorate_lab::{Deadlock, Election, FamilyLab, Multicast, Mutex, NodeOf, Replica, Spec};
use quorate_sim::run::run;
use quorate_sim::{LinkDefaults, Setup, World};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the nodes of a run encoded and decoded.
#[derive(Default)]
struct Traffic {
    messages: AtomicU64,
    writes: AtomicU64,
    /// Disks that a starting node found and that were neither new nor lost.
    restored_disks: AtomicU64,
}

fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A node whose messages and disk are encoded and decoded.
struct EncodedNode<C: 'static, E: 'static> {
    node: Erased<C, E>,
    transcoder: Transcoder,
}

/// Encodes and decodes messages and writes, and keeps the disk in both its typed and its sealed
/// form.
struct Transcoder {
    codec: AnyCodec,
    traffic: Arc<Traffic>,
    /// The disk as the algorithm's type.
    typed: AnyDurable,
    /// The disk as bytes, followed by writes.
    sealed: AnyDurable,
    saves: u64,
}

impl<C: 'static, E: 'static> Protocol for EncodedNode<C, E> {
    type Command = C;
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Event = E;
    type Durable = AnyDurable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        let input = match input {
            Input::Start { durable, incarnation } => {
                Input::Start { durable: self.transcoder.start(durable), incarnation }
            }
            Input::Command(command) => Input::Command(command),
            Input::Message { from, message } => Input::Message { from, message },
            Input::Timer(timer) => Input::Timer(timer),
            Input::Saved(count) => Input::Saved(count),
            Input::Suspect(node) => Input::Suspect(node),
            Input::Trust(node) => Input::Trust(node),
            Input::DiskFull => Input::DiskFull,
            Input::DiskFree => Input::DiskFree,
            Input::View(view) => Input::View(view),
            Input::Lease(until) => Input::Lease(until),
            Input::EndOfTurn => Input::EndOfTurn,
        };
        self.node.step(now, input, &mut Effects::new(&mut EncodingSink { transcoder: &mut self.transcoder, out }));
    }

    fn uses_end_of_turn(&self) -> bool {
        self.node.uses_end_of_turn()
    }
}

/// Encodes and decodes the messages and writes among the effects.
struct EncodingSink<'a, 'b, C: 'static, E: 'static> {
    transcoder: &'a mut Transcoder,
    out: &'a mut Effects<'b, EncodedNode<C, E>>,
}

impl<C: 'static, E: 'static> Sink<Erased<C, E>> for EncodingSink<'_, '_, C, E> {
    fn effect(&mut self, effect: Effect<Erased<C, E>>) {
        self.out.put(match effect {
            Effect::Send { to, message, order } => {
                Effect::Send { to, message: self.transcoder.transcode::<C, E>(&message), order }
            }
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: self.transcoder.transcode::<C, E>(&message), order }
            }
            Effect::Save(write) => {
                self.transcoder.save(&write);
                Effect::Save(write)
            }
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer, span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(timer),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}

impl Transcoder {
    /// Returns the message as its receiver decodes it. Truncated or extended bytes must be refused.
    fn transcode<C: 'static, E: 'static>(&self, message: &AnyMessage) -> AnyMessage {
        let codec: &dyn Codec<Erased<C, E>> = &self.codec;
        let mut bytes = b"before".to_vec();
        codec.encode(message, &mut bytes).unwrap();
        let mut bytes = bytes.strip_prefix(b"before").expect("encode must append").to_vec();
        assert_eq!(bytes, postcard::to_allocvec(message).unwrap(), "the size in journals is the size on the wire");
        let decoded = codec.decode(&bytes).unwrap();
        assert_eq!(&decoded, message);
        // The first 64 bytes of long messages are enough, and keep the test fast.
        for end in 0..bytes.len().min(64) {
            assert!(codec.decode(&bytes[..end]).is_err(), "{end} bytes of {message:?}");
        }
        for index in 0..bytes.len().min(64) {
            for flip in [1, 0x80, 0xFF] {
                bytes[index] ^= flip;
                // Decoding may fail or give another message, but must not panic.
                let _ = codec.decode(&bytes);
                bytes[index] ^= flip;
            }
        }
        bytes.push(0);
        assert_eq!(codec.decode(&bytes).unwrap_err().0, "a byte follows its end");
        bytes.push(0);
        assert_eq!(codec.decode(&bytes).unwrap_err().0, "2 bytes follow its end");
        increment(&self.traffic.messages);
        decoded
    }

    /// Returns the disk as the starting node reads it.
    fn start(&mut self, durable: AnyDurable) -> AnyDurable {
        self.sealed = round_trip(&durable);
        self.typed = self.codec.unseal(self.sealed.clone()).unwrap();
        assert!(self.typed == durable, "a disk must be read back unchanged");
        if durable != AnyDurable::default() && durable != AnyDurable::wiped() {
            increment(&self.traffic.restored_disks);
        }
        self.typed.clone()
    }

    /// Applies a write to both forms of the disk, which must stay equal when they are read back.
    fn save(&mut self, write: &AnyWrite) {
        let read: AnyWrite = round_trip(write);
        self.typed.apply(write.clone());
        self.sealed.apply(read);
        assert!(self.codec.unseal(self.sealed.clone()).unwrap() == self.typed, "a write must be read back unchanged");
        self.saves += 1;
        // Every eighth save, the sealed form becomes the complete disk, as after a checkpoint.
        if self.saves.is_multiple_of(8) {
            self.sealed = round_trip(&self.typed);
        }
        increment(&self.traffic.writes);
    }
}

fn round_trip<T: Serialize + DeserializeOwned>(value: &T) -> T {
    postcard::from_bytes(&postcard::to_allocvec(value).unwrap()).unwrap()
}

/// The simulator setup of an experiment.
fn setup<F: FamilyLab>(spec: &Spec<F>) -> Setup {
    Setup {
        nodes: spec.nodes,
        seed: spec.seed,
        link_defaults: LinkDefaults {
            latency: spec.latency,
            loss: spec.loss,
            duplicate: spec.duplicate,
            is_fifo: spec.is_fifo(),
        },
        processing: spec.processing,
        sync: spec.disk,
    }
}

/// Runs an experiment twice, plainly and with encoded messages and disks. Both must leave the same
/// journal, byte for byte.
fn assert_survives_encoding<F: FamilyLab>(spec: &Spec<F>) -> Arc<Traffic> {
    let name = &spec.algorithm;
    spec.validate().unwrap();
    assert!(!spec.is_reliable(), "{name}: reliable links have other messages");
    let mut journal = Vec::new();
    let (outcome, ()) = run_with(spec, &mut journal, ()).unwrap();
    let first_line = journal.split(|byte| *byte == b'\n').next().unwrap();
    let header: Header = serde_json::from_slice(first_line).unwrap();

    let traffic = Arc::new(Traffic::default());
    let make_node = F::node_factory(spec);
    let encoded_node = {
        let (traffic, codec) = (Arc::clone(&traffic), F::codec(spec));
        move |me: NodeId| encoded_node::<F>(make_node(me), codec.clone(), Arc::clone(&traffic))
    };
    let mut world = World::new(&setup(spec), encoded_node, Writer::new(io::sink(), &header));
    for fault in spec.faults.iter().cloned().chain(F::family_faults(spec)) {
        world.schedule_fault(fault);
    }
    if let Some(views) = F::simulated_views(spec) {
        world.add_membership_service(&views, spec.seed);
    }
    if F::needs_crash_notices(spec) {
        world.enable_crash_notices(F::crash_notice_delay(spec));
    }
    world.start();
    let ending = run(&mut world, &mut F::clients(spec), F::limits(spec));
    let (fingerprint, lines) = world.into_observer().finish_with(Some(ending)).unwrap();
    assert_eq!((fingerprint.to_string(), lines), (outcome.journal_hash, outcome.journal_lines), "{name}");
    // In a group of three, these algorithms need not send anything.
    let is_silent = ["no-lock", "maekawa-rows", "voting-half", "super-peer"].contains(&name.name());
    assert!(is_silent || traffic.messages.load(Ordering::Relaxed) > 0, "{name} sends nothing");
    traffic
}

fn encoded_node<F: FamilyLab>(
    node: NodeOf<F>,
    codec: AnyCodec,
    traffic: Arc<Traffic>,
) -> EncodedNode<F::Command, F::Event> {
    let (typed, sealed) = Default::default();
    EncodedNode { node, transcoder: Transcoder { codec, traffic, typed, sealed, saves: 0 } }
}

fn group(members: &str) -> Group {
    members.parse::<NodeSet>().unwrap().iter().collect()
}

fn short_leases() -> ViewSettings {
    let lease = ViewSettings { lease: Length(Duration::from_millis(100)), ..ViewSettings::default() };
    ViewSettings { keepalive: Length(Duration::from_millis(20)), ..lease }
}

/// Faults that end the stay of a member, so that members exchange reports.
fn crash_and_restart() -> Vec<TimedFault> {
    ["crash 2 at 30ms", "restart 2 at 300ms"].map(|fault| fault.parse().unwrap()).into()
}

/// Asserts that nodes saved, and that restarted nodes found their disks, if the algorithm saves.
fn assert_saves_and_restores(entry: &Entry, traffic: &Traffic) {
    // These elections save nothing, or forget what they saved.
    let is_exempt = ["peterson-forgetful", "super-peer", "by-mutex"].contains(&entry.name());
    if !is_exempt && entry.codec().has_durable_state() {
        assert!(traffic.writes.load(Ordering::Relaxed) > 0, "{} saves nothing", entry.name());
        assert!(traffic.restored_disks.load(Ordering::Relaxed) > 0, "{} finds no disk", entry.name());
    }
}

/// Runs an algorithm briefly with several settings of its family. Nodes also crash and restart in
/// elections, in replicas, and in one run with views.
fn test_algorithm(entry: &Entry) {
    match entry.family() {
        Family::Mutex => {
            let mut spec = Spec::<Mutex>::named(entry.name()).unwrap();
            spec.settings.tries = "0.2".parse().unwrap();
            spec.settings.cancels = "0.2".parse().unwrap();
            assert_survives_encoding(&spec);
            if let Entry::Mutex(mutex) = entry
                && mutex.runs_in_views()
            {
                spec.settings.views = Some(short_leases());
                spec.faults = crash_and_restart();
                assert_survives_encoding(&spec);
            }
        }
        Family::Election => {
            let mut spec = Spec::<Election>::named(entry.name()).unwrap();
            spec.faults = ["crash 2 at 30ms", "restart 2 at 60ms", "crash 1 at 90ms", "restart 1 at 120ms"]
                .map(|fault| fault.parse().unwrap())
                .into();
            let traffic = assert_survives_encoding(&spec);
            assert_saves_and_restores(entry, &traffic);
        }
        Family::Multicast => {
            assert_survives_encoding(&Spec::<Multicast>::named(entry.name()).unwrap());
            // Faulty variants do not run in several groups or in views.
            if entry.profile().flaw.is_some() {
                return;
            }
            let mut several_groups = Spec::<Multicast>::named(entry.name()).unwrap();
            several_groups.nodes = 4;
            several_groups.settings.groups = ["1-3", "2-4"].map(group).into();
            assert_survives_encoding(&several_groups);
            let mut with_views = Spec::<Multicast>::named(entry.name()).unwrap();
            with_views.settings.views = Some(short_leases());
            with_views.faults = crash_and_restart();
            assert_survives_encoding(&with_views);
            several_groups.settings.views = with_views.settings.views;
            assert_survives_encoding(&several_groups);
        }
        Family::Deadlock => {
            let mut spec = Spec::<Deadlock>::named(entry.name()).unwrap();
            (spec.settings.rounds, spec.settings.victim) = (4, Some(Policy::Youngest));
            assert_survives_encoding(&spec);
            (spec.settings.resources, spec.nodes) = (2, 4);
            assert_survives_encoding(&spec);
        }
        Family::Replica => {
            let mut spec = Spec::<Replica>::named(entry.name()).unwrap();
            (spec.settings.operations, spec.settings.changes, spec.settings.chaos) = (30, 2, true);
            spec.nodes = 5;
            let traffic = assert_survives_encoding(&spec);
            assert_saves_and_restores(entry, &traffic);
        }
    }
}

#[test]
fn every_algorithm_survives_encoding() {
    all().iter().for_each(test_algorithm);
}

#[test]
fn every_fixture_survives_encoding() {
    fixtures().iter().for_each(test_algorithm);
}

/// Messages of members that replicate their membership do not depend on the wrapped algorithm, so
/// one algorithm of each family that has views is enough.
#[test]
fn members_with_a_replicated_log_survive_encoding() {
    let views = ViewSettings { membership: MembershipService::Replica, ..ViewSettings::default() };
    let mut mutex = Spec::<Mutex>::named("ricart-agrawala").unwrap();
    mutex.settings.views = Some(views);
    let mut multicast = Spec::<Multicast>::named("fifo").unwrap();
    multicast.settings.views = Some(views);
    for traffic in [assert_survives_encoding(&mutex), assert_survives_encoding(&multicast)] {
        assert!(traffic.writes.load(Ordering::Relaxed) > 0, "the log must be saved");
    }
}

#[test]
fn heartbeats_survive_encoding() {
    let mut spec = Spec::<Election>::named("bully").unwrap();
    spec.settings.detector = Detector::Heartbeat;
    assert_survives_encoding(&spec);
}

#[test]
fn a_message_of_another_algorithm_cannot_be_encoded() {
    struct Captured(Option<AnyMessage>);
    impl Sink<NodeOf<Mutex>> for Captured {
        fn effect(&mut self, effect: Effect<NodeOf<Mutex>>) {
            if let Effect::Send { message, .. } | Effect::Multicast { message, .. } = effect {
                self.0 = Some(message);
            }
        }
        fn note(&mut self, _note: Note<'_>) {}
    }
    let Some(Entry::Mutex(entry)) = find("ricart-agrawala") else { panic!("not in the registry") };
    let environment = Spec::<Mutex> { nodes: 2, ..Spec::named("ricart-agrawala").unwrap() }.environment();
    let mut node = entry.node(NodeId::from_index(0), &environment);
    let mut captured = Captured(None);
    node.step(Time::ZERO, Input::Command(Command::Acquire), &mut Effects::new(&mut captured));
    let message = captured.0.expect("a request to its peer");
    let mut bytes = Vec::new();
    let encode = |name: &str, bytes: &mut Vec<u8>| {
        let codec: &dyn Codec<NodeOf<Mutex>> = &find(name).unwrap().codec();
        codec.encode(&message, bytes)
    };
    assert_eq!(encode("ricart-agrawala", &mut bytes), Ok(()));
    assert_eq!(encode("central", &mut bytes).unwrap_err().0, "it belongs to another algorithm");
}
