//! Messages of every algorithm, and the entries and snapshots of a replicated log.

use crate::PathSignature;
use quorate_core::{Codec, Describe};
use quorate_erased::{AnyCodec, AnyMessage};
use quorate_lab::mutex::MutexNode;
use quorate_lab::registry::{Entry, all, fixtures};
use quorate_lab::replica::ReplicaMachine;
use quorate_replica::StateMachine;
use quorate_replica::batch::{Batch, Image};

/// Parses a message. The input is the name of an algorithm, a newline, and the encoded message.
pub fn read_message(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let name_end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (name, bytes) = (&input[..name_end], input.get(name_end + 1..).unwrap_or_default());
    let (index, algorithm) = find_algorithm(name);
    signature.record(index as u64);
    // `quorate_replica` also has a decoder of its own, which parses the same bytes.
    if matches!(algorithm, Entry::Replica(_)) {
        read_replica_message(bytes, &mut signature);
    }
    let codec = algorithm.codec();
    match decode(&codec, bytes) {
        Ok(message) => {
            signature.record_message(message.kind());
            let written = encode(&codec, &message);
            let reread = decode(&codec, &written).expect("an encoded value can be decoded");
            assert_eq!(encode(&codec, &reread), written, "the message does not read back as written");
        }
        Err(error) => signature.record_message(error),
    }
    signature
}

/// Parses the input as an entry of a replicated log, and then as a snapshot.
pub fn read_entry(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    match Batch::<<ReplicaMachine as StateMachine>::Command>::read(input, ReplicaMachine::LEVEL) {
        Ok(batch) => signature.record_magnitude(batch.groups.len()),
        Err(error) => signature.record_message(error),
    }
    match Image::<ReplicaMachine>::read(input) {
        Ok(image) => {
            let written = Image::write(image.time, &image.directory, &image.machine);
            let reread = Image::<ReplicaMachine>::read(&written).expect("an encoded value can be decoded");
            assert!(reread.machine == image.machine, "the snapshot does not read back as written");
            signature.record(1);
        }
        Err(error) => signature.record_message(error),
    }
    signature
}

fn read_replica_message(bytes: &[u8], signature: &mut PathSignature) {
    match quorate_replica::wire::decode(bytes) {
        Ok(message) => {
            let reread = quorate_replica::wire::decode(&quorate_replica::wire::encode(&message));
            assert_eq!(reread.as_ref(), Ok(&message), "the message does not read back as written");
        }
        Err(error) => signature.record_message(error),
    }
}

/// Returns the algorithm with this name, or one chosen by a hash of the name.
fn find_algorithm(name: &[u8]) -> (usize, &'static Entry) {
    let algorithms: Vec<&Entry> = all().iter().chain(fixtures()).collect();
    let named = algorithms.iter().position(|algorithm| algorithm.name().as_bytes() == name);
    let hash = || name.iter().map(|byte| usize::from(*byte)).sum::<usize>() % algorithms.len();
    let index = named.unwrap_or_else(hash);
    (index, algorithms[index])
}

// All families share the same codec, so any family may be used here.
fn decode(codec: &AnyCodec, bytes: &[u8]) -> Result<AnyMessage, quorate_core::Malformed> {
    Codec::<MutexNode>::decode(codec, bytes)
}

fn encode(codec: &AnyCodec, message: &AnyMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    Codec::<MutexNode>::encode(codec, message, &mut bytes).expect("a decoded message can be encoded");
    bytes
}
