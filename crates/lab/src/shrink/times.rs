//! Shorter times: moves events together and rounds times.

use super::saturating_difference;
use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::Duration;
use quorate_journal::settings::{Direction, Fate, Script};

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
/// With more times than this, few values are tried for each.
const MAX_TIMES_WITH_MANY_VALUES: usize = 24;
/// With more times than this, pairs are not shortened together.
const MAX_TIMES_FOR_PAIRS: usize = 12;

impl<F: FamilyLab> Search<'_, F> {
    pub(super) fn shorten_times(&mut self) {
        if self.best.script.is_none() {
            return;
        }
        for step in [1, 2, 3].map(Duration::from_millis) {
            self.try_script(compress_times(&self.script(), step));
            self.try_script(Script { directions: Vec::new(), ..compress_times(&self.script(), step) });
        }
        self.close_gaps();
        if self.tries_many_values {
            self.scale_times();
        }
        let mut index = 0;
        while index < all_times(&mut self.script()).len() && !self.should_stop() {
            while self.simplify_time(index) && self.tries_many_values {}
            index += 1;
        }
        if self.tries_many_values {
            self.shorten_pairs();
        }
        self.close_gaps();
    }

    /// Whether to try many values for each time: not while the search may still remove most times,
    /// nor if there are too many times.
    fn should_try_many_values(&self) -> bool {
        self.tries_many_values && all_times(&mut self.script()).len() <= MAX_TIMES_WITH_MANY_VALUES
    }

    /// Shortens the gaps between events; all later events move as well.
    fn close_gaps(&mut self) {
        let mut index = 0;
        while let Some((before, after)) = gap_before(&self.script(), index)
            && !self.should_stop()
        {
            let gap_values = shorter_values(saturating_difference(after, before), self.should_try_many_values());
            let was_shortened = gap_values
                .into_iter()
                .any(|shorter| self.try_script(move_earlier(&self.script(), after, before + shorter)));
            // A shortened gap may be shortened again.
            if !was_shortened {
                index += 1;
            }
        }
    }

    /// Shortens all times of at least a millisecond by about the same factor.
    fn scale_times(&mut self) {
        let scaled_to = |script: &Script, tenths: u64| {
            let mut script = script.clone();
            for time in all_times(&mut script) {
                let scaled = Duration::from_nanos(time.nanos() / 10 * tenths);
                *time = if *time >= MILLISECOND { floor_to(scaled, MILLISECOND).max(MILLISECOND) } else { *time };
            }
            script
        };
        for tenths in [1, 2, 5, 7, 9] {
            while !self.should_stop() && self.try_script(scaled_to(&self.script(), tenths)) {}
        }
    }

    /// Gives one time or duration a simpler value. Returns whether that was possible.
    fn simplify_time(&mut self, index: usize) -> bool {
        let Some(current) = all_times(&mut self.script()).get(index).map(|time| **time) else { return false };
        // Readers find durations of zero strange. Only fractions of a millisecond, which they find
        // just as strange, become zero.
        let instant_count = self.script().commands.len() + self.script().faults.len();
        let minimum = if index < instant_count || current < MILLISECOND { Duration::ZERO } else { MILLISECOND };
        let values = shorter_values(current, self.should_try_many_values())
            .into_iter()
            .chain(rounded_up_values(current).into_iter().filter(|_| !self.has_random_choices));
        let values: Vec<_> = values.filter(|value| *value >= minimum).collect();
        values.into_iter().any(|value| self.try_times(&[(index, value)]))
    }

    /// Shortens two times or durations by the same amount: their difference may matter.
    fn shorten_pairs(&mut self) {
        let count = all_times(&mut self.script()).len();
        if count > MAX_TIMES_FOR_PAIRS {
            return;
        }
        for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
            while !self.should_stop() && self.shorten_pair(one, other) {}
        }
    }

    fn shorten_pair(&mut self, one: usize, other: usize) -> bool {
        let mut script = self.script();
        let all = all_times(&mut script);
        let (Some(first), Some(second)) = (all.get(one).map(|time| **time), all.get(other).map(|time| **time)) else {
            return false;
        };
        let minimum = first.min(second);
        let tries_many_values = false;
        shorter_values(minimum, tries_many_values).into_iter().filter(|value| *value >= MILLISECOND).any(|value| {
            let shortening = saturating_difference(minimum, value);
            self.try_times(&[
                (one, saturating_difference(first, shortening)),
                (other, saturating_difference(second, shortening)),
            ])
        })
    }

    fn try_times(&mut self, values: &[(usize, Duration)]) -> bool {
        let mut script = self.script();
        for (index, value) in values {
            if let Some(time) = all_times(&mut script).get_mut(*index) {
                **time = *value;
            }
        }
        sort_by_time(&mut script);
        self.try_script(script)
    }
}

/// Simple values that are shorter, the shortest first; more of them if `tries_many_values`.
fn shorter_values(current: Duration, tries_many_values: bool) -> Vec<Duration> {
    let part = |eighths: u64| floor_to(Duration::from_nanos(current.nanos() / 8 * eighths), MILLISECOND);
    let mut values = vec![Duration::ZERO, MILLISECOND, part(4)];
    values.extend([1_000, 100, 10, 1].map(|unit| floor_to(current, Duration::from_millis(unit))));
    if tries_many_values {
        values.extend([2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1_000].map(Duration::from_millis));
        values.extend([6, 7].map(part));
        values.push(saturating_difference(current, MILLISECOND));
    }
    values.retain(|value| *value < current);
    values.sort_unstable();
    values.dedup();
    values
}

/// Slightly longer values in whole milliseconds, for a value with a fraction.
fn rounded_up_values(current: Duration) -> Vec<Duration> {
    let whole = floor_to(current, MILLISECOND);
    let has_fraction = whole != current;
    [1, 2, 5, 10].into_iter().filter(|_| has_fraction).map(|more| whole + Duration::from_millis(more)).collect()
}

/// Every instant of a script, then every duration.
pub(super) fn all_times(script: &mut Script) -> Vec<&mut Duration> {
    let Script { commands, faults, directions } = script;
    let mut all: Vec<&mut Duration> = commands.iter_mut().map(|command| &mut command.at).collect();
    let mut lengths = Vec::new();
    for fault in faults {
        all.push(&mut fault.at);
        lengths.extend(fault.duration.as_mut());
    }
    all.extend(lengths);
    all.extend(directions.iter_mut().filter_map(|direction| match direction {
        Direction::Message { fate: Fate::Takes(length) | Fate::Duplicated(length), .. }
        | Direction::Timer { delay: length, .. }
        | Direction::Sync { duration: length, .. } => Some(length),
        Direction::Message { fate: Fate::Lost, .. } => None,
    }));
    all
}

/// The instants at which events are scheduled, without duplicates.
fn instants(script: &Script) -> Vec<Duration> {
    let commands = script.commands.iter().map(|command| command.at);
    let faults = script.faults.iter().map(|fault| fault.at);
    let mut all: Vec<_> = commands.chain(faults).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The gap before the instant with this index: its beginning and its end.
fn gap_before(script: &Script, index: usize) -> Option<(Duration, Duration)> {
    let instants = instants(script);
    let after = *instants.get(index)?;
    let before = index.checked_sub(1).and_then(|previous| instants.get(previous)).copied().unwrap_or(Duration::ZERO);
    Some((before, after))
}

/// Moves all events at or after `from` earlier, by the difference of `from` and `to`.
fn move_earlier(script: &Script, from: Duration, to: Duration) -> Script {
    let mut script = script.clone();
    let earlier = saturating_difference(from, to);
    let commands = script.commands.iter_mut().map(|command| &mut command.at);
    for at in commands.chain(script.faults.iter_mut().map(|fault| &mut fault.at)) {
        if *at >= from {
            *at = saturating_difference(*at, earlier);
        }
    }
    sort_by_time(&mut script);
    script
}

/// Spaces all instants of a script evenly, one per `step`.
pub(super) fn compress_times(script: &Script, step: Duration) -> Script {
    let instants = instants(script);
    let mut script = script.clone();
    let compress = |at: &mut Duration| {
        *at = step.times(instants.iter().position(|instant| instant == at).unwrap_or(0) as u64);
    };
    script.commands.iter_mut().for_each(|command| compress(&mut command.at));
    script.faults.iter_mut().for_each(|fault| compress(&mut fault.at));
    script
}

fn sort_by_time(script: &mut Script) {
    script.commands.sort_by_key(|command| command.at);
    script.faults.sort_by_key(|fault| fault.at);
}

/// The largest multiple of `unit` that is not longer than `length`.
pub(super) fn floor_to(length: Duration, unit: Duration) -> Duration {
    unit.times(length.nanos() / unit.nanos().max(1))
}
