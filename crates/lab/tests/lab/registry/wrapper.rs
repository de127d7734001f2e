//! Tests of a wrapper around a type-erased node: its disk, its messages, its copies.

use quorate_core::election::{Command, Plan};
use quorate_core::packed::{pack, unpack};
use quorate_core::wrap::{Detector, Watched};
use quorate_core::{
    Bounds, Codec, Describe, Duration, Effect, Effects, Group, Incarnation, Input, NodeId, Protocol, Time,
};
use quorate_erased::{AnyDurable, AnyMessage, Erased};
use quorate_lab::election::ElectionNode;
use quorate_lab::registry::{Entry, find};
use std::sync::Arc;

const ALGORITHM: &str = "chang-roberts";

fn detector() -> Detector {
    Detector::FixedBound { period: Duration::from_millis(10), bound: Duration::from_millis(5) }
}

fn plan() -> Arc<Plan> {
    Arc::new(Plan::new(2, Bounds { message: Duration::from_millis(1), processing: Duration::ZERO }))
}

fn bare_node(me: NodeId) -> ElectionNode {
    let Some(Entry::Election(entry)) = find(ALGORITHM) else { panic!("no such election") };
    (entry.make)(me, &plan())
}

fn watched_node(me: NodeId) -> ElectionNode {
    Erased::from_wrapper(Watched::new(me, Group::of_size(2), bare_node(me), detector()))
}

fn step(node: &mut ElectionNode, input: Input<ElectionNode>) -> Vec<Effect<ElectionNode>> {
    let mut effects = Vec::new();
    node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
    effects
}

fn start_node(node: &mut ElectionNode, durable: AnyDurable) -> Vec<Effect<ElectionNode>> {
    step(node, Input::Start { durable, incarnation: Incarnation::FIRST })
}

fn sent_messages(effects: Vec<Effect<ElectionNode>>) -> Vec<AnyMessage> {
    let message = |effect| match effect {
        Effect::Send { message, .. } | Effect::Multicast { message, .. } => Some(message),
        _ => None,
    };
    effects.into_iter().filter_map(message).collect()
}

/// The disk after the saves among the effects, as bytes.
fn saved_bytes(effects: &[Effect<ElectionNode>]) -> Vec<u8> {
    let mut disk = AnyDurable::default();
    for effect in effects {
        if let Effect::Save(write) = effect {
            quorate_core::Durable::apply(&mut disk, write.clone());
        }
    }
    let mut bytes = Vec::new();
    pack(&disk, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_disk_is_the_same_with_and_without_a_wrapper() {
    let me = NodeId::from_index(0);
    let disks = [bare_node(me), watched_node(me)].map(|mut node| {
        start_node(&mut node, AnyDurable::default());
        saved_bytes(&step(&mut node, Input::Command(Command::Campaign)))
    });
    assert_eq!(disks[0], disks[1]);
    let codec = find(ALGORITHM).unwrap().codec();
    let disk: AnyDurable = unpack(&disks[1]).unwrap();
    // A driver, too, converts the bytes of a disk to the algorithm's type before it starts a node.
    let disk = codec.unseal(disk).unwrap();
    let [mut restarted, mut new] = [bare_node(me), bare_node(me)];
    start_node(&mut restarted, disk.clone());
    start_node(&mut new, AnyDurable::default());
    assert!(restarted != new, "the saved state must be read");
    let [mut restarted, mut new] = [watched_node(me), watched_node(me)];
    start_node(&mut restarted, disk);
    start_node(&mut new, AnyDurable::default());
    assert!(restarted != new, "the saved state must be read through the wrapper");
}

#[test]
fn every_message_under_a_detector_survives_encoding() {
    let me = NodeId::from_index(0);
    let mut node = watched_node(me);
    let mut messages = sent_messages(start_node(&mut node, AnyDurable::default()));
    messages.extend(sent_messages(step(&mut node, Input::Command(Command::Campaign))));
    let kinds: Vec<_> = messages.iter().map(Describe::kind).collect();
    assert!(kinds.contains(&"beat") && kinds.len() > 1, "{kinds:?}");
    let codec = find(ALGORITHM).unwrap().codec().with_failure_detector();
    for message in messages {
        let mut bytes = Vec::new();
        Codec::<ElectionNode>::encode(&codec, &message, &mut bytes).unwrap();
        let decoded: AnyMessage = Codec::<ElectionNode>::decode(&codec, &bytes).unwrap();
        assert!(decoded == message, "{message:?} was decoded as {decoded:?}");
        let truncated = Codec::<ElectionNode>::decode(&codec, &bytes[..bytes.len() - 1]);
        assert!(truncated.is_err(), "{message:?} without its last byte");
    }
}

#[test]
fn a_codec_refuses_messages_of_other_types() {
    let mut node = bare_node(NodeId::from_index(0));
    start_node(&mut node, AnyDurable::default());
    let plain = sent_messages(step(&mut node, Input::Command(Command::Campaign)));
    let codec = find(ALGORITHM).unwrap().codec();
    let watched_codec = codec.clone().with_failure_detector();
    let encode =
        |codec: &quorate_erased::AnyCodec, message| Codec::<ElectionNode>::encode(codec, message, &mut Vec::new());
    assert!(encode(&codec, &plain[0]).is_ok() && encode(&watched_codec, &plain[0]).is_err());
    let mut watched = watched_node(NodeId::from_index(0));
    let beat = sent_messages(start_node(&mut watched, AnyDurable::default()))
        .into_iter()
        .find(|message| message.kind() == "beat")
        .unwrap();
    assert!(encode(&codec, &beat).is_err() && encode(&watched_codec, &beat).is_ok());
    assert_eq!(watched_codec.has_durable_state(), codec.has_durable_state());
}

#[test]
fn a_copy_is_equal_until_it_steps() {
    let mut node = watched_node(NodeId::from_index(0));
    start_node(&mut node, AnyDurable::default());
    let mut copy = node.clone();
    assert!(node == copy);
    step(&mut copy, Input::Suspect(NodeId::from_index(1)));
    assert!(node != copy);
}
