//! Less time: what is left is pulled together and rounded.

use super::search::Search;
use super::{Progress, less};
use crate::family::FamilyLab;
use quorate_core::Duration;
use quorate_sim::settings::{Destiny, Direction, Script};

const MILLISECOND: Duration = Duration::from_millis(1);

impl<F: FamilyLab, P: FnMut(&Progress) -> bool> Search<F, P> {
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
        let mut place = 0;
        while place < times(&mut self.script()).len() && !self.is_tired() {
            self.simpler_time(place);
            place += 1;
        }
        self.close_gaps();
    }

    /// Lets things follow each other sooner, with all that comes later.
    fn close_gaps(&mut self) {
        let mut place = 0;
        while let Some((before, after)) = gap(&self.script(), place)
            && !self.is_tired()
        {
            let gap = less(after, before);
            let half = Duration::from_nanos(gap.nanos() / 2);
            let shorter = [Duration::ZERO, MILLISECOND, floor(half, MILLISECOND), floor(gap, MILLISECOND)];
            let closed = shorter
                .into_iter()
                .filter(|shorter| *shorter < gap)
                .any(|shorter| self.try_script(moved(&self.script(), after, before + shorter)));
            // A gap that was halved may be halved again.
            if !closed {
                place += 1;
            }
        }
    }

    /// Gives one time or length a simpler value.
    fn simpler_time(&mut self, place: usize) {
        let Some(now) = times(&mut self.script()).get(place).map(|time| **time) else { return };
        let units = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000].map(Duration::from_nanos);
        let rounded = units.into_iter().flat_map(|unit| [floor(now, unit), floor(now, unit) + unit]);
        let candidates: Vec<_> = [Duration::ZERO, MILLISECOND].into_iter().chain(rounded).collect();
        // What takes no time at all is hard to imagine.
        let instants = self.script().commands.len() + self.script().faults.len();
        let least = if place < instants { Duration::ZERO } else { MILLISECOND };
        for value in candidates.into_iter().filter(|value| *value != now && *value >= least) {
            let mut script = self.script();
            if let Some(time) = times(&mut script).get_mut(place) {
                **time = value;
            }
            sort(&mut script);
            if self.try_script(script) {
                return;
            }
        }
    }
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
fn floor(length: Duration, unit: Duration) -> Duration {
    unit.times(length.nanos() / unit.nanos().max(1))
}
