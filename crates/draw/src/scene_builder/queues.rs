//! Contents of hold-back queues over time.

use crate::scene::{Queue, Scene, TimePosition};
use crate::text::shorten;
use quorate_journal::words;
use std::collections::BTreeMap;

/// Maximum number of names per queue, and of characters per name.
const MAX_NAMES: usize = 12;
const MAX_NAME_CHARS: usize = 40;

/// Contents of a queue: the number of messages, and the names of the first ones.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct QueueContents {
    count: usize,
    names: Vec<String>,
}

impl QueueContents {
    pub(super) fn new(count: usize, names: &str) -> Self {
        let name = |name: &str| shorten(&words::escape_controls(name), MAX_NAME_CHARS).into_owned();
        let names = names.split(", ").filter(|name| !name.is_empty() && count > 0);
        Self { count, names: names.map(name).take(MAX_NAMES.min(count)).collect() }
    }
}

/// The hold-back queues of all nodes shown, by lane.
#[derive(Default)]
pub(super) struct HoldBackQueues {
    /// The current contents of each queue.
    current: BTreeMap<usize, QueueContents>,
    /// The contents of each queue at the start of the window, and every change since.
    changes: BTreeMap<usize, Vec<(TimePosition, QueueContents)>>,
    /// Whether the run is too large for a scene.
    is_too_large: bool,
}

impl HoldBackQueues {
    /// Records new contents of a queue. Of several changes at one position, only the last counts.
    pub(super) fn record_change(&mut self, lane: usize, position: TimePosition, contents: QueueContents) {
        if self.is_too_large || self.current.get(&lane).unwrap_or(&QueueContents::default()) == &contents {
            return;
        }
        self.current.insert(lane, contents.clone());
        let changes = self.changes.entry(lane).or_default();
        if changes.last().is_some_and(|(last, _)| *last == position) {
            changes.pop();
        }
        changes.push((position, contents));
    }

    /// Begins the window with the current contents.
    pub(super) fn begin_window(&mut self, position: TimePosition) {
        self.changes =
            self.current.iter().map(|(lane, contents)| (*lane, vec![(position, contents.clone())])).collect();
    }

    /// Stops recording, because no scene will be drawn.
    pub(super) fn stop_recording(&mut self) {
        *self = Self { is_too_large: true, ..Self::default() };
    }

    pub(super) fn finish(mut self, scene: &mut Scene, end: TimePosition) {
        for (index, lane) in scene.lanes.iter_mut().enumerate() {
            let changes = self.changes.remove(&index).unwrap_or_default();
            let ends: Vec<TimePosition> = changes.iter().skip(1).map(|(position, _)| *position).chain([end]).collect();
            let queues = changes.into_iter().zip(ends).filter(|((_, contents), _)| contents.count > 0);
            let queue = |((from, QueueContents { count, names }), to)| Queue { count, names, from, to };
            lane.queues = queues.map(queue).collect();
        }
    }
}
