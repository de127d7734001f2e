//! Fuzzes every parser of untrusted input, and the link between two nodes.
//!
//! A [`Target`] passes bytes to a parser, or lets them choose the events of a link. It panics if it
//! finds a bug, and otherwise returns a [`PathSignature`], a hash of the path that the input took
//! through the code. A [`Campaign`]
//! mutates the corpus in `corpus/TARGET/` and keeps the inputs with new signatures. It is
//! deterministic: the same seed tries the same inputs in the same order. [`Target::run`] is
//! a plain function of bytes, so any other fuzzer can call it.

mod campaign;
mod corpus;
mod generated;
mod mutate;
mod rng;
mod signature;
pub mod targets;

pub use campaign::{Campaign, Failure, Statistics};
pub use corpus::{Corpus, Example, corpus_folder};
pub use generated::generate_examples;
pub use mutate::mutate;
pub use rng::Rng;
pub use signature::PathSignature;

/// The code that the fuzzer runs on one kind of input.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of the target and of its folder in the corpus.
    pub name: &'static str,
    /// A short description of the input.
    pub description: &'static str,
    /// Runs the code on the input. Panics if the code violates an invariant, never because the
    /// input is invalid.
    pub run: fn(&[u8]) -> PathSignature,
}

/// All targets, in alphabetical order.
pub const TARGETS: [Target; 10] = [
    Target { name: "batches", description: "the messages of a batch", run: targets::frames::read_batch },
    Target { name: "certificates", description: "certificates and keys in PEM", run: targets::certificates::load },
    Target {
        name: "contents",
        description: "frames of every kind with a valid checksum",
        run: targets::frames::read_sealed,
    },
    Target { name: "disks", description: "the files of a data folder", run: targets::disks::open_folder },
    Target {
        name: "entries",
        description: "entries and snapshots of a replicated log",
        run: targets::messages::read_entry,
    },
    Target { name: "frames", description: "bytes on a connection, in pieces", run: targets::frames::read_in_pieces },
    Target { name: "gathering", description: "live journals to gather into one", run: targets::journals::gather },
    Target { name: "journals", description: "the journal of a run", run: targets::journals::read },
    Target { name: "links", description: "events of a link, one per byte", run: targets::links::drive },
    Target { name: "messages", description: "a message of each algorithm", run: targets::messages::read_message },
];

pub fn find_target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
