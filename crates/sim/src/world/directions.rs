//! Directions: the choices of a run that a script fixes, by the number of the message, timer or
//! sync that they apply to.

use quorate_core::{Duration, NodeId};
use quorate_journal::settings::{Direction, Fate};
use std::collections::HashMap;

/// The directions of a run, and the numbers of messages, timers and syncs so far. Links and nodes
/// without directions have no such counters.
#[derive(Default)]
pub(crate) struct Directions {
    messages: HashMap<(NodeId, NodeId), FixedChoices<FixedFate>>,
    timers: HashMap<NodeId, FixedChoices<Duration>>,
    syncs: HashMap<NodeId, FixedChoices<Duration>>,
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
struct FixedChoices<T> {
    count: u64,
    fixed: HashMap<u64, T>,
}

impl<T> Default for FixedChoices<T> {
    fn default() -> Self {
        Self { count: 0, fixed: HashMap::new() }
    }
}

impl<T> FixedChoices<T> {
    /// Counts the next item and returns its fixed choice, if any.
    fn count_next(&mut self) -> Option<T> {
        self.count += 1;
        self.fixed.remove(&self.count)
    }
}

impl Directions {
    pub(crate) fn new(directions: &[Direction]) -> Self {
        let mut this = Self::default();
        for direction in directions {
            match *direction {
                Direction::Message { from, to, number, fate } => {
                    // A later direction for the same message overrides an earlier one, but a delay
                    // and a duplication combine.
                    let fixed = this.messages.entry((from, to)).or_default().fixed.entry(number).or_default();
                    match fate {
                        Fate::Takes(delay) => (fixed.delay, fixed.is_lost) = (Some(delay), false),
                        Fate::Lost => *fixed = FixedFate { is_lost: true, ..FixedFate::default() },
                        Fate::Duplicated(delay) => (fixed.duplicate_delay, fixed.is_lost) = (Some(delay), false),
                    }
                }
                Direction::Timer { node, number, delay } => {
                    this.timers.entry(node).or_default().fixed.insert(number, delay);
                }
                Direction::Sync { node, number, duration } => {
                    this.syncs.entry(node).or_default().fixed.insert(number, duration);
                }
            }
        }
        this
    }

    /// Counts the next message of a link and returns its fixed fate, if any.
    pub(crate) fn next_message_fate(&mut self, from: NodeId, to: NodeId) -> Option<FixedFate> {
        self.messages.get_mut(&(from, to))?.count_next()
    }

    /// Counts the next timer of a node and returns its fixed duration by the node's own clock, if
    /// any.
    pub(crate) fn next_timer_duration(&mut self, node: NodeId) -> Option<Duration> {
        self.timers.get_mut(&node)?.count_next()
    }

    /// Counts the next sync of a node's disk and returns its fixed duration, if any.
    pub(crate) fn next_sync_duration(&mut self, node: NodeId) -> Option<Duration> {
        self.syncs.get_mut(&node)?.count_next()
    }
}
