//! Shorter times: moves events together and rounds times.

use super::saturating_difference;
use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::Duration;
use quorate_journal::settings::{Direction, Fate, Script};

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
/// With more times than this, few values are tried for each.
const MAX_THOROUGH: usize = 24;
/// With more times than this, pairs are not shortened together.
const MAX_PAIRED: usize = 12;

impl<F: FamilyLab> Search<'_, F> {
    /// Moves events together, and rounds times.
    pub(super) fn shorten_times(&mut self) {
        if self.best.script.is_none() {
            return;
        }
        for step in [1, 2, 3].map(Duration::from_millis) {
            self.try_script(compressed(&self.script(), step));
            self.try_script(Script { directions: Vec::new(), ..compressed(&self.script(), step) });
        }
        self.close_gaps();
        if self.tries_many_values {
            self.scale();
        }
        let mut index = 0;
        while index < times(&mut self.script()).len() && !self.should_stop() {
            while self.simplify_time(index) && self.tries_many_values {}
            index += 1;
        }
        if self.tries_many_values {
            self.shorten_pairs();
        }
        self.close_gaps();
    }

    /// Whether it is worth trying many values: not while most are about to be removed, nor if there
    /// are too many.
    fn tries_more_values(&self) -> bool {
        self.tries_many_values && times(&mut self.script()).len() <= MAX_THOROUGH
    }

    /// Shortens the gaps between events; all later events move as well.
    fn close_gaps(&mut self) {
        let mut index = 0;
        while let Some((before, after)) = gap(&self.script(), index)
            && !self.should_stop()
        {
            let shorter = shorter(saturating_difference(after, before), self.tries_more_values());
            let closed = shorter
                .into_iter()
                .any(|shorter| self.try_script(moved_earlier(&self.script(), after, before + shorter)));
            // A shortened gap may be shortened again.
            if !closed {
                index += 1;
            }
        }
    }

    /// Shortens all times by the same factor.
    fn scale(&mut self) {
        let scaled_to = |script: &Script, tenths: u64| {
            let mut script = script.clone();
            for time in times(&mut script) {
                let scaled = Duration::from_nanos(time.nanos() / 10 * tenths);
                *time = if *time >= MILLISECOND { floor(scaled, MILLISECOND).max(MILLISECOND) } else { *time };
            }
            script
        };
        for tenths in [1, 2, 5, 7, 9] {
            while !self.should_stop() && self.try_script(scaled_to(&self.script(), tenths)) {}
        }
    }

    /// Gives one time or duration a simpler value. Returns whether that was possible.
    fn simplify_time(&mut self, index: usize) -> bool {
        let Some(now) = times(&mut self.script()).get(index).map(|time| **time) else { return false };
        // A duration of zero is hard to imagine. Only fractions of a millisecond, which are just as
        // hard, become zero.
        let instant_count = self.script().commands.len() + self.script().faults.len();
        let minimum = if index < instant_count || now < MILLISECOND { Duration::ZERO } else { MILLISECOND };
        let values = shorter(now, self.tries_more_values())
            .into_iter()
            .chain(rounded_up(now).into_iter().filter(|_| !self.has_random_choices));
        let values: Vec<_> = values.filter(|value| *value >= minimum).collect();
        values.into_iter().any(|value| self.try_times(&[(index, value)]))
    }

    /// Shortens two times or durations by the same amount: their difference may matter.
    fn shorten_pairs(&mut self) {
        let count = times(&mut self.script()).len();
        if count > MAX_PAIRED {
            return;
        }
        for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
            while !self.should_stop() && self.shorten_pair(one, other) {}
        }
    }

    fn shorten_pair(&mut self, one: usize, other: usize) -> bool {
        let mut script = self.script();
        let all = times(&mut script);
        let (Some(first), Some(second)) = (all.get(one).map(|time| **time), all.get(other).map(|time| **time)) else {
            return false;
        };
        let minimum = first.min(second);
        shorter(minimum, false).into_iter().filter(|value| *value >= MILLISECOND).any(|value| {
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
            if let Some(time) = times(&mut script).get_mut(*index) {
                **time = *value;
            }
        }
        sort(&mut script);
        self.try_script(script)
    }
}

/// Simple values that are shorter, the shortest first; more of them if `tries_more_values`.
fn shorter(now: Duration, tries_more_values: bool) -> Vec<Duration> {
    let part = |eighths: u64| floor(Duration::from_nanos(now.nanos() / 8 * eighths), MILLISECOND);
    let mut values = vec![Duration::ZERO, MILLISECOND, part(4)];
    values.extend([1_000, 100, 10, 1].map(|unit| floor(now, Duration::from_millis(unit))));
    if tries_more_values {
        values.extend([2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1_000].map(Duration::from_millis));
        values.extend([6, 7].map(part));
        values.push(saturating_difference(now, MILLISECOND));
    }
    values.retain(|value| *value < now);
    values.sort_unstable();
    values.dedup();
    values
}

/// Slightly longer values in whole milliseconds, for a value with a fraction.
fn rounded_up(now: Duration) -> Vec<Duration> {
    let whole = floor(now, MILLISECOND);
    let has_fraction = whole != now;
    [1, 2, 5, 10].into_iter().filter(|_| has_fraction).map(|more| whole + Duration::from_millis(more)).collect()
}

/// Every instant of a script, then every duration.
pub(super) fn times(script: &mut Script) -> Vec<&mut Duration> {
    let Script { commands, faults, directions } = script;
    let mut all: Vec<&mut Duration> = commands.iter_mut().map(|command| &mut command.at).collect();
    let mut lengths = Vec::new();
    for fault in faults {
        all.push(&mut fault.at);
        lengths.extend(fault.lasts.as_mut());
    }
    all.extend(lengths);
    all.extend(directions.iter_mut().filter_map(|direction| match direction {
        Direction::Message { fate: Fate::Takes(length) | Fate::Again(length), .. }
        | Direction::Timer { takes: length, .. }
        | Direction::Sync { takes: length, .. } => Some(length),
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
fn gap(script: &Script, index: usize) -> Option<(Duration, Duration)> {
    let instants = instants(script);
    let after = *instants.get(index)?;
    let before = index.checked_sub(1).and_then(|before| instants.get(before)).copied().unwrap_or(Duration::ZERO);
    Some((before, after))
}

/// Moves everything from one instant on to an earlier one.
fn moved_earlier(script: &Script, from: Duration, to: Duration) -> Script {
    let mut script = script.clone();
    let earlier = saturating_difference(from, to);
    let commands = script.commands.iter_mut().map(|command| &mut command.at);
    for at in commands.chain(script.faults.iter_mut().map(|fault| &mut fault.at)) {
        if *at >= from {
            *at = saturating_difference(*at, earlier);
        }
    }
    sort(&mut script);
    script
}

/// Spaces all instants of a script evenly, one per `step`.
pub(super) fn compressed(script: &Script, step: Duration) -> Script {
    let instants = instants(script);
    let mut script = script.clone();
    let compress = |at: &mut Duration| {
        *at = step.times(instants.iter().position(|instant| instant == at).unwrap_or(0) as u64);
    };
    script.commands.iter_mut().for_each(|command| compress(&mut command.at));
    script.faults.iter_mut().for_each(|fault| compress(&mut fault.at));
    script
}

fn sort(script: &mut Script) {
    script.commands.sort_by_key(|command| command.at);
    script.faults.sort_by_key(|fault| fault.at);
}

/// The largest multiple of a unit that is not longer.
pub(super) fn floor(length: Duration, unit: Duration) -> Duration {
    unit.times(length.nanos() / unit.nanos().max(1))
}
