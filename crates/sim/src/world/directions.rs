//! What a script takes from chance, and which thing it is the turn of.

use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Destiny, Direction};
use std::collections::HashMap;

/// The directions of a run by what they are about, and how many of each there were so far. A world without directions has
/// none of this, and counts nothing.
#[derive(Default)]
pub(crate) struct Directions {
    messages: HashMap<(NodeId, NodeId), Counted<Told>>,
    timers: HashMap<NodeId, Counted<Duration>>,
    syncs: HashMap<NodeId, Counted<Duration>>,
}

/// What is told of a message. Nothing of what is not told is left to chance but how long it takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) takes: Option<Duration>,
    pub(crate) lost: bool,
    pub(crate) again: Option<Duration>,
}

/// Things of one kind, of which so many have been, and what some of them are told.
struct Counted<T> {
    count: u64,
    told: HashMap<u64, T>,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { count: 0, told: HashMap::new() }
    }
}

impl<T> Counted<T> {
    /// The next one, and what it is told.
    fn next(&mut self) -> Option<T> {
        self.count += 1;
        self.told.remove(&self.count)
    }
}

impl Directions {
    pub(crate) fn new(directions: &[Direction]) -> Self {
        let mut all = Self::default();
        for direction in directions {
            match *direction {
                Direction::Message { from, to, number, fate } => {
                    let told = all.messages.entry((from, to)).or_default().told.entry(number).or_default();
                    match fate {
                        Destiny::Takes(length) => (told.takes, told.lost) = (Some(length), false),
                        Destiny::Lost => *told = Told { lost: true, ..Told::default() },
                        Destiny::Again(length) => (told.again, told.lost) = (Some(length), false),
                    }
                }
                Direction::Timer { node, number, takes } => {
                    all.timers.entry(node).or_default().told.insert(number, takes);
                }
                Direction::Sync { node, number, takes } => {
                    all.syncs.entry(node).or_default().told.insert(number, takes);
                }
            }
        }
        all
    }

    /// What becomes of the next message on a link.
    pub(crate) fn message(&mut self, from: NodeId, to: NodeId) -> Option<Told> {
        self.messages.get_mut(&(from, to))?.next()
    }

    /// How long the next timer of a node takes, by the node's own clock.
    pub(crate) fn timer(&mut self, node: NodeId) -> Option<Duration> {
        self.timers.get_mut(&node)?.next()
    }

    /// How long the next sync of a node's disk takes.
    pub(crate) fn sync(&mut self, node: NodeId) -> Option<Duration> {
        self.syncs.get_mut(&node)?.next()
    }
}
