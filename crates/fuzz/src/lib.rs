//! Fuzzes every parser of untrusted input.
//!
//! A [`Target`] is a plain function from bytes to a [`PathSignature`]: it panics if it finds a bug,
//! and otherwise returns a signature of the path that the input took through the parser. A
//! [`Campaign`] mutates the corpus in `corpus/TARGET/` and keeps the inputs with new signatures. It
//! is deterministic: the same seed tries the same inputs in the same order. A target can be passed
//! to any other fuzzer unchanged.

mod campaign;
mod corpus;
mod mutate;
mod rng;
mod seeds;
mod signature;
pub mod targets;

pub use campaign::{Campaign, Failure, Statistics};
pub use corpus::{Corpus, Example, folder};
pub use mutate::mutate;
pub use rng::Rng;
pub use seeds::examples;
pub use signature::PathSignature;

/// A parser of untrusted input.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, which is also the name of its folder in the corpus.
    pub name: &'static str,
    /// A short description of its input.
    pub what: &'static str,
    /// Parses the input. Panics if the parser violates an invariant, never because the input is
    /// invalid.
    pub run: fn(&[u8]) -> PathSignature,
}

/// All targets, in alphabetical order.
pub const TARGETS: [Target; 10] = [
    Target { name: "batches", what: "the messages of a batch", run: targets::frames::batch },
    Target { name: "disks", what: "the files of a data folder", run: targets::disks::open },
    Target { name: "entries", what: "entries and snapshots of a replicated log", run: targets::messages::entry },
    Target { name: "frames", what: "bytes on a connection, in pieces", run: targets::frames::frames },
    Target { name: "gathering", what: "live journals that are gathered", run: targets::journals::gather },
    Target { name: "greetings", what: "frames of every kind with a valid checksum", run: targets::frames::sealed },
    Target { name: "journals", what: "the journal of a run", run: targets::journals::read },
    Target { name: "links", what: "events of a link, one per byte", run: targets::links::drive },
    Target { name: "messages", what: "a message of each algorithm", run: targets::messages::message },
    Target { name: "papers", what: "certificates and keys in PEM", run: targets::certificates::load },
];

pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
