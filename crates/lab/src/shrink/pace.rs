//! The longest durations in a run. A liveness property must not fail because a smaller run is
//! slower than the first.

use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::settings::{Direction, Fate, Latency};

/// No duration up to this counts as slower than in the first run.
const QUICK: Duration = Duration::from_millis(10);

/// The longest duration of completed messages, timers and syncs in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    messages: Duration,
    timers: Duration,
    syncs: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { messages: QUICK, timers: QUICK, syncs: QUICK }
    }
}

impl Pace {
    pub(super) fn record(&mut self, direction: &Direction) {
        let (longest, length) = match direction {
            Direction::Message { fate: Fate::Takes(length) | Fate::Again(length), .. } => (&mut self.messages, *length),
            Direction::Message { fate: Fate::Lost, .. } => return,
            Direction::Timer { takes, .. } => (&mut self.timers, *takes),
            Direction::Sync { takes, .. } => (&mut self.syncs, *takes),
        };
        *longest = length.max(*longest);
    }

    /// Whether the direction takes no longer than in the first run.
    pub(super) fn allows(&self, direction: &Direction) -> bool {
        let mut slower = *self;
        slower.record(direction);
        (slower.messages, slower.timers, slower.syncs) == (self.messages, self.timers, self.syncs)
    }

    /// Whether nothing in the experiment takes longer than in the first run.
    pub(super) fn allows_spec<F: FamilyLab>(&self, spec: &Spec<F>) -> bool {
        let fits = |latency: Latency, maximum: Duration| !matches!(latency, Latency::Fixed(length) if length > maximum);
        fits(spec.latency, self.messages)
            && fits(spec.disk, self.syncs)
            && spec.directions().iter().all(|direction| self.allows(direction))
    }
}
