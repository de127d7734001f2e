//! Contents of hold-back queues over time.

use crate::lettering::shortened;
use crate::scene::{Place, Queue, Scene};
use quorate_journal::words;
use std::collections::BTreeMap;

/// Maximum number of names per queue, and of characters per name.
const MOST_NAMES: usize = 12;
const MOST_LETTERS: usize = 40;

/// Contents of a queue: the number of messages, and the names of the first ones.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    count: usize,
    names: Vec<String>,
}

impl Waiting {
    pub(super) fn new(count: usize, names: &str) -> Self {
        let name = |name: &str| shortened(&words::clean(name), MOST_LETTERS).into_owned();
        let names = names.split(", ").filter(|name| !name.is_empty() && count > 0);
        Self { count, names: names.map(name).take(MOST_NAMES.min(count)).collect() }
    }
}

/// The hold-back queues of all nodes shown, by lane.
#[derive(Default)]
pub(super) struct Queues {
    now: BTreeMap<usize, Waiting>,
    /// The initial contents of each queue and every change since.
    changes: BTreeMap<usize, Vec<(Place, Waiting)>>,
    /// Whether the run is too large for a scene.
    full: bool,
}

impl Queues {
    /// Records new contents of a queue. Only the last change of a step counts.
    pub(super) fn change(&mut self, lane: usize, place: Place, waiting: Waiting) {
        if self.full || self.now.get(&lane).unwrap_or(&Waiting::default()) == &waiting {
            return;
        }
        self.now.insert(lane, waiting.clone());
        let changes = self.changes.entry(lane).or_default();
        if changes.last().is_some_and(|(last, _)| *last == place) {
            changes.pop();
        }
        changes.push((place, waiting));
    }

    /// Begins the window with the current contents.
    pub(super) fn begin(&mut self, place: Place) {
        self.changes = self.now.iter().map(|(lane, waiting)| (*lane, vec![(place, waiting.clone())])).collect();
    }

    /// Stops recording, because no scene will be drawn.
    pub(super) fn forget(&mut self) {
        *self = Self { full: true, ..Self::default() };
    }

    pub(super) fn finish(mut self, scene: &mut Scene, end: Place) {
        for (index, lane) in scene.lanes.iter_mut().enumerate() {
            let changes = self.changes.remove(&index).unwrap_or_default();
            let ends: Vec<Place> = changes.iter().skip(1).map(|(place, _)| *place).chain([end]).collect();
            let queues = changes.into_iter().zip(ends).filter(|((_, waiting), _)| waiting.count > 0);
            let queue = |((from, Waiting { count, names }), to)| Queue { count, names, from, to };
            lane.queues = queues.map(queue).collect();
        }
    }
}
