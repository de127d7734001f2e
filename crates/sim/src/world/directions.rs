//! The choices that a script has fixed, by the message, timer or sync that they apply to.

use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Direction, Fate};
use std::collections::HashMap;

/// The directions of a run, and the number of messages, timers and syncs so far. Worlds without
/// directions have no such counters.
#[derive(Default)]
pub(crate) struct Directions {
    messages: HashMap<(NodeId, NodeId), Counted<FixedFate>>,
    timers: HashMap<NodeId, Counted<Duration>>,
    syncs: HashMap<NodeId, Counted<Duration>>,
}

/// The fixed fate of a message. If `delay` is `None`, the delay is random; loss and duplication are
/// never random.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FixedFate {
    pub(crate) delay: Option<Duration>,
    pub(crate) is_lost: bool,
    /// The delay of a second copy, or `None` if the message is not duplicated.
    pub(crate) duplicate_delay: Option<Duration>,
}

/// The number of items of one kind so far, and the fixed choices for some of them by number.
struct Counted<T> {
    count: u64,
    fixed: HashMap<u64, T>,
}

impl<T> Default for Counted<T> {
    fn default() -> Self {
        Self { count: 0, fixed: HashMap::new() }
    }
}

impl<T> Counted<T> {
    /// Counts the next item and returns its fixed choice, if any.
    fn next(&mut self) -> Option<T> {
        self.count += 1;
        self.fixed.remove(&self.count)
    }
}

impl Directions {
    pub(crate) fn new(directions: &[Direction]) -> Self {
        let mut all = Self::default();
        for direction in directions {
            match *direction {
                Direction::Message { from, to, number, fate } => {
                    let fixed = all.messages.entry((from, to)).or_default().fixed.entry(number).or_default();
                    match fate {
                        Fate::Takes(length) => (fixed.delay, fixed.is_lost) = (Some(length), false),
                        Fate::Lost => *fixed = FixedFate { is_lost: true, ..FixedFate::default() },
                        Fate::Again(length) => (fixed.duplicate_delay, fixed.is_lost) = (Some(length), false),
                    }
                }
                Direction::Timer { node, number, takes } => {
                    all.timers.entry(node).or_default().fixed.insert(number, takes);
                }
                Direction::Sync { node, number, takes } => {
                    all.syncs.entry(node).or_default().fixed.insert(number, takes);
                }
            }
        }
        all
    }

    /// Returns the fixed fate of the next message of a link.
    pub(crate) fn message(&mut self, from: NodeId, to: NodeId) -> Option<FixedFate> {
        self.messages.get_mut(&(from, to))?.next()
    }

    /// Returns the fixed duration of a node's next timer, by the node's own clock.
    pub(crate) fn timer(&mut self, node: NodeId) -> Option<Duration> {
        self.timers.get_mut(&node)?.next()
    }

    /// Returns the fixed duration of the next sync of a node's disk.
    pub(crate) fn sync(&mut self, node: NodeId) -> Option<Duration> {
        self.syncs.get_mut(&node)?.next()
    }
}
