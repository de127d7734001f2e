//! What waits in hold-back queues as time goes by.

use crate::lettering::shortened;
use crate::scene::{Place, Queue, Scene};
use quorate_journal::words;
use std::collections::BTreeMap;

/// Nobody reads more names of one queue, or more letters of one name.
const MOST_NAMES: usize = 12;
const MOST_LETTERS: usize = 40;

/// What waits: how many messages, and the names of the first ones.
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

/// The hold-back queues of all nodes that are shown, by their lanes.
#[derive(Default)]
pub(super) struct Queues {
    now: BTreeMap<usize, Waiting>,
    /// What waited first, and every change since.
    changes: BTreeMap<usize, Vec<(Place, Waiting)>>,
    /// Whether there is too much to draw.
    full: bool,
}

impl Queues {
    /// This waits from now on. Of one step only what waits after it counts.
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

    /// What is to come is shown, and what waits now waits as it begins.
    pub(super) fn begin(&mut self, place: Place) {
        self.changes = self.now.iter().map(|(lane, waiting)| (*lane, vec![(place, waiting.clone())])).collect();
    }

    /// Nothing will be drawn.
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
