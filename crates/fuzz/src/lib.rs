//! Everything that reads what others wrote, under input that somebody has tampered with.
//!
//! A [`Target`] is a plain function from bytes to a [`Trail`]: it panics if something is wrong, and tells otherwise how
//! far it came. The [`Campaign`] mutates the corpus in `corpus/TARGET/`, keeps what leads to a trail that it has not
//! seen, and follows from one seed: the same seed tries the same inputs in the same order. A target can be handed to any
//! other fuzzer as it is.

mod campaign;
mod chance;
mod corpus;
mod mutate;
mod seeds;
pub mod targets;
mod trail;

pub use campaign::{Campaign, Failure, Figures};
pub use chance::Chance;
pub use corpus::{Corpus, Example, folder};
pub use mutate::mutate;
pub use seeds::examples;
pub use trail::Trail;

/// Something that reads bytes which anybody may have written.
#[derive(Clone, Copy)]
pub struct Target {
    /// What it is called: the name of its folder in the corpus.
    pub name: &'static str,
    pub what: &'static str,
    /// Reads the input. It panics if something is wrong with how it was read, and never because of what it says.
    pub run: fn(&[u8]) -> Trail,
}

/// Every target, in the order of the alphabet.
pub const TARGETS: [Target; 10] = [
    Target { name: "batches", what: "the messages of a batch", run: targets::frames::batch },
    Target { name: "disks", what: "the files of a data folder", run: targets::disks::open },
    Target { name: "entries", what: "entries and snapshots of a replicated log", run: targets::messages::entry },
    Target { name: "frames", what: "bytes on a connection, in pieces", run: targets::frames::frames },
    Target { name: "gathering", what: "live journals that are put together", run: targets::journals::gather },
    Target { name: "greetings", what: "frames of every kind under a right checksum", run: targets::frames::sealed },
    Target { name: "journals", what: "the journal of a run", run: targets::journals::read },
    Target { name: "links", what: "what happens to a link, a byte an event", run: targets::links::drive },
    Target { name: "messages", what: "a message of each algorithm", run: targets::messages::message },
    Target { name: "papers", what: "certificates and keys in PEM", run: targets::papers::load },
];

pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
