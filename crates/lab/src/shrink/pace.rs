//! The longest durations in a run. A liveness property must not fail because a smaller run is
//! slower than the first run, the one to shrink.

use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::settings::{Direction, Fate, Latency};

/// No duration up to this counts as slower than in the first run.
const ALWAYS_ALLOWED: Duration = Duration::from_millis(10);

/// The longest durations of completed messages, timers and syncs in a run, each at least
/// [`ALWAYS_ALLOWED`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    longest_message: Duration,
    longest_timer: Duration,
    longest_sync: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { longest_message: ALWAYS_ALLOWED, longest_timer: ALWAYS_ALLOWED, longest_sync: ALWAYS_ALLOWED }
    }
}

impl Pace {
    pub(super) fn record(&mut self, direction: &Direction) {
        let (longest, length) = match direction {
            Direction::Message { fate: Fate::Takes(length) | Fate::Duplicated(length), .. } => {
                (&mut self.longest_message, *length)
            }
            Direction::Message { fate: Fate::Lost, .. } => return,
            Direction::Timer { delay, .. } => (&mut self.longest_timer, *delay),
            Direction::Sync { duration, .. } => (&mut self.longest_sync, *duration),
        };
        *longest = length.max(*longest);
    }

    /// Whether the direction takes no longer than the longest event of its kind in the first run,
    /// or than [`ALWAYS_ALLOWED`].
    pub(super) fn allows(&self, direction: &Direction) -> bool {
        let mut with_direction = *self;
        with_direction.record(direction);
        (with_direction.longest_message, with_direction.longest_timer, with_direction.longest_sync)
            == (self.longest_message, self.longest_timer, self.longest_sync)
    }

    /// Like [`allows`](Self::allows), for all directions, fixed latencies and fixed sync durations
    /// of an experiment.
    pub(super) fn allows_spec<F: FamilyLab>(&self, spec: &Spec<F>) -> bool {
        let is_allowed =
            |latency: Latency, maximum: Duration| !matches!(latency, Latency::Fixed(length) if length > maximum);
        is_allowed(spec.latency, self.longest_message)
            && is_allowed(spec.disk, self.longest_sync)
            && spec.directions().iter().all(|direction| self.allows(direction))
    }
}
