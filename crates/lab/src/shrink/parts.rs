//! Removing parts of a script: halves first, then single lines.

use super::search::Search;
use crate::family::FamilyLab;
use quorate_journal::settings::Script;

/// A kind of script lines.
#[derive(Clone, Copy)]
enum Part {
    Directions,
    Faults,
    Commands,
}

impl Part {
    fn count(self, script: &Script) -> usize {
        match self {
            Self::Directions => script.directions.len(),
            Self::Faults => script.faults.len(),
            Self::Commands => script.commands.len(),
        }
    }

    fn without(self, script: &Script, from: usize, count: usize) -> Script {
        let mut script = script.clone();
        let range = |length: usize| from..(from + count).min(length);
        match self {
            Self::Directions => drop(script.directions.drain(range(script.directions.len()))),
            Self::Faults => drop(script.faults.drain(range(script.faults.len()))),
            Self::Commands => drop(script.commands.drain(range(script.commands.len()))),
        }
        script
    }
}

impl<F: FamilyLab> Search<'_, F> {
    /// Removes lines of the script.
    pub(super) fn fewer_lines(&mut self) {
        if self.best.script.is_none() {
            return;
        }
        for part in [Part::Directions, Part::Faults, Part::Commands, Part::Directions] {
            self.fewer_of(part);
        }
    }

    fn fewer_of(&mut self, part: Part) {
        let mut chunk = part.count(&self.script());
        while chunk > 0 && !self.should_stop() {
            // From the end, so that the beginning of the run stays unchanged for as long as
            // possible.
            let mut end = part.count(&self.script());
            while end > 0 && !self.should_stop() {
                let from = end.saturating_sub(chunk);
                self.try_script(part.without(&self.script(), from, end - from));
                end = from.min(part.count(&self.script()));
            }
            chunk /= 2;
        }
    }
}
