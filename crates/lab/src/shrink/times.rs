//! Less time: what is left is pulled together and rounded.

use super::less;
use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::Duration;
use quorate_journal::settings::{Destiny, Direction, Script};

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
/// Of more times than this, few values are tried for each.
const MOST_THOROUGH: usize = 24;
/// Of more times than this, not every two are made shorter together.
const MOST_PAIRED: usize = 12;

impl<F: FamilyLab> Search<'_, F> {
    /// Pulls what is left together, and rounds it.
    pub(super) fn less_time(&mut self) {
        if self.best.script.is_none() {
            return;
        }
        for step in [1, 2, 3].map(Duration::from_millis) {
            self.try_script(compressed(&self.script(), step));
            self.try_script(Script { directions: Vec::new(), ..compressed(&self.script(), step) });
        }
        self.close_gaps();
        if self.is_fine {
            self.scale();
        }
        let mut place = 0;
        while place < times(&mut self.script()).len() && !self.is_tired() {
            while self.simpler_time(place) && self.is_fine {}
            place += 1;
        }
        if self.is_fine {
            self.simpler_pairs();
        }
        self.close_gaps();
    }

    /// Whether it is worth while to try many values: not where most are about to go, nor where there are too many.
    fn is_thorough(&self) -> bool {
        self.is_fine && times(&mut self.script()).len() <= MOST_THOROUGH
    }

    /// Lets things follow each other sooner, with all that comes later.
    fn close_gaps(&mut self) {
        let mut place = 0;
        while let Some((before, after)) = gap(&self.script(), place)
            && !self.is_tired()
        {
            let shorter = shorter(less(after, before), self.is_thorough());
            let closed =
                shorter.into_iter().any(|shorter| self.try_script(moved(&self.script(), after, before + shorter)));
            // A gap that was made shorter may be made shorter again.
            if !closed {
                place += 1;
            }
        }
    }

    /// Makes everything faster by the same measure.
    fn scale(&mut self) {
        let faster = |script: &Script, share: u64| {
            let mut script = script.clone();
            for time in times(&mut script) {
                let scaled = Duration::from_nanos(time.nanos() / 10 * share);
                *time = if *time >= MILLISECOND { floor(scaled, MILLISECOND).max(MILLISECOND) } else { *time };
            }
            script
        };
        for share in [1, 2, 5, 7, 9] {
            while !self.is_tired() && self.try_script(faster(&self.script(), share)) {}
        }
    }

    /// Gives one time or length a simpler value. Tells whether that was possible.
    fn simpler_time(&mut self, place: usize) -> bool {
        let Some(now) = times(&mut self.script()).get(place).map(|time| **time) else { return false };
        // What takes no time at all is hard to imagine, but so is what takes a part of a millisecond.
        let instants = self.script().commands.len() + self.script().faults.len();
        let least = if place < instants || now < MILLISECOND { Duration::ZERO } else { MILLISECOND };
        let values =
            shorter(now, self.is_thorough()).into_iter().chain(rounder(now).into_iter().filter(|_| !self.is_loose));
        let values: Vec<_> = values.filter(|value| *value >= least).collect();
        values.into_iter().any(|value| self.try_times(&[(place, value)]))
    }

    /// Takes the same away from two times or lengths at once: they may have to differ by so much.
    fn simpler_pairs(&mut self) {
        let count = times(&mut self.script()).len();
        if count > MOST_PAIRED {
            return;
        }
        for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
            while !self.is_tired() && self.simpler_pair(one, other) {}
        }
    }

    fn simpler_pair(&mut self, one: usize, other: usize) -> bool {
        let mut script = self.script();
        let all = times(&mut script);
        let (Some(first), Some(second)) = (all.get(one).map(|time| **time), all.get(other).map(|time| **time)) else {
            return false;
        };
        let least = first.min(second);
        shorter(least, false).into_iter().filter(|value| *value >= MILLISECOND).any(|value| {
            let gone = less(least, value);
            self.try_times(&[(one, less(first, gone)), (other, less(second, gone))])
        })
    }

    fn try_times(&mut self, values: &[(usize, Duration)]) -> bool {
        let mut script = self.script();
        for (place, value) in values {
            if let Some(time) = times(&mut script).get_mut(*place) {
                **time = *value;
            }
        }
        sort(&mut script);
        self.try_script(script)
    }
}

/// Simple values that are shorter, the shortest first; more of them if it is worth while.
fn shorter(now: Duration, is_thorough: bool) -> Vec<Duration> {
    let part = |share: u64| floor(Duration::from_nanos(now.nanos() / 8 * share), MILLISECOND);
    let mut values = vec![Duration::ZERO, MILLISECOND, part(4)];
    values.extend([1_000, 100, 10, 1].map(|unit| floor(now, Duration::from_millis(unit))));
    if is_thorough {
        values.extend([2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1_000].map(Duration::from_millis));
        values.extend([6, 7].map(part));
        values.push(less(now, MILLISECOND));
    }
    values.retain(|value| *value < now);
    values.sort_unstable();
    values.dedup();
    values
}

/// Whole milliseconds that are a little longer, for what has none.
fn rounder(now: Duration) -> Vec<Duration> {
    let whole = floor(now, MILLISECOND);
    let is_odd = whole != now;
    [1, 2, 5, 10].into_iter().filter(|_| is_odd).map(|more| whole + Duration::from_millis(more)).collect()
}

/// Every instant of a script, then every length.
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
        Direction::Message { fate: Destiny::Takes(length) | Destiny::Again(length), .. }
        | Direction::Timer { takes: length, .. }
        | Direction::Sync { takes: length, .. } => Some(length),
        Direction::Message { fate: Destiny::Lost, .. } => None,
    }));
    all
}

/// The instants at which anything is to happen, each once.
fn instants(script: &Script) -> Vec<Duration> {
    let commands = script.commands.iter().map(|command| command.at);
    let faults = script.faults.iter().map(|fault| fault.at);
    let mut all: Vec<_> = commands.chain(faults).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The gap before the instant at this place.
fn gap(script: &Script, place: usize) -> Option<(Duration, Duration)> {
    let instants = instants(script);
    let after = *instants.get(place)?;
    let before = place.checked_sub(1).and_then(|before| instants.get(before)).copied().unwrap_or(Duration::ZERO);
    Some((before, after))
}

/// All from one instant on happens so much earlier that it begins at another.
fn moved(script: &Script, from: Duration, to: Duration) -> Script {
    let mut script = script.clone();
    let earlier = less(from, to);
    let commands = script.commands.iter_mut().map(|command| &mut command.at);
    for at in commands.chain(script.faults.iter_mut().map(|fault| &mut fault.at)) {
        if *at >= from {
            *at = less(*at, earlier);
        }
    }
    sort(&mut script);
    script
}

/// One thing a step.
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
