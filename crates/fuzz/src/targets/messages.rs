//! Messages of every algorithm, and what a replicated log keeps.

use crate::Trail;
use quorate_core::{Codec, Describe};
use quorate_erased::{AnyCodec, AnyMessage};
use quorate_lab::mutex::MutexNode;
use quorate_lab::registry::{Entry, all, fixtures};
use quorate_lab::replica::ReplicaMachine;
use quorate_replica::StateMachine;
use quorate_replica::batch::{Batch, Image};

/// The name of an algorithm, the end of the line, and a message of it.
pub fn message(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (name, bytes) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let (place, entry) = entry_called(name);
    trail.step(place as u64);
    if matches!(entry, Entry::Replica(_)) {
        replica(bytes, &mut trail);
    }
    let codec = entry.codec();
    match decode(&codec, bytes) {
        Ok(message) => {
            trail.say(message.kind());
            let written = encode(&codec, &message);
            let again = decode(&codec, &written).expect("what was written can be read");
            assert_eq!(encode(&codec, &again), written, "it does not read as it was written");
        }
        Err(why) => trail.say(why),
    }
    trail
}

/// An entry of a replicated log, or a snapshot of it.
pub fn entry(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    match Batch::<<ReplicaMachine as StateMachine>::Command>::read(input) {
        Ok(batch) => trail.about(batch.commands.len()),
        Err(error) => trail.say(error),
    }
    match Image::<ReplicaMachine>::read(input) {
        Ok(image) => {
            let written = Image::write(image.time, &image.admitted, &image.machine);
            let again = Image::<ReplicaMachine>::read(&written).expect("what was written can be read");
            assert!(again.machine == image.machine, "it does not read as it was written");
            trail.step(1);
        }
        Err(error) => trail.say(error),
    }
    trail
}

fn replica(bytes: &[u8], trail: &mut Trail) {
    match quorate_replica::wire::decode(bytes) {
        Ok(message) => {
            let again = quorate_replica::wire::decode(&quorate_replica::wire::encode(&message));
            assert_eq!(again.as_ref(), Ok(&message), "it does not read as it was written");
        }
        Err(error) => trail.say(error),
    }
}

/// The algorithm with this name, or else whichever the name leads to.
fn entry_called(name: &[u8]) -> (usize, &'static Entry) {
    let entries: Vec<&Entry> = all().iter().chain(fixtures()).collect();
    let named = entries.iter().position(|entry| entry.name().as_bytes() == name);
    let sum = || name.iter().map(|byte| usize::from(*byte)).sum::<usize>() % entries.len();
    let place = named.unwrap_or_else(sum);
    (place, entries[place])
}

// A codec does not depend on the family that its nodes are erased into.
fn decode(codec: &AnyCodec, bytes: &[u8]) -> Result<AnyMessage, quorate_core::Malformed> {
    Codec::<MutexNode>::decode(codec, bytes)
}

fn encode(codec: &AnyCodec, message: &AnyMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    Codec::<MutexNode>::encode(codec, message, &mut bytes).expect("what was read can be written");
    bytes
}
