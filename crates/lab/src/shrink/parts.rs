//! Removing parts of a script: all lines of a kind at once, then half as many, and so on down to
//! single lines.

use super::search::Search;
use crate::family::FamilyLab;
use quorate_journal::settings::Script;

/// A kind of script lines.
#[derive(Clone, Copy)]
enum LineKind {
    Directions,
    Faults,
    Commands,
}

impl LineKind {
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
    pub(super) fn try_fewer_lines(&mut self) {
        if self.best.script.is_none() {
            return;
        }
        // Directions again at the end, because with fewer other lines, fewer directions are needed.
        for kind in [LineKind::Directions, LineKind::Faults, LineKind::Commands, LineKind::Directions] {
            self.try_fewer_lines_of(kind);
        }
    }

    fn try_fewer_lines_of(&mut self, kind: LineKind) {
        let mut chunk = kind.count(&self.script());
        while chunk > 0 && !self.should_stop() {
            // From the end, so that the beginning of the run stays unchanged for as long as
            // possible.
            let mut end = kind.count(&self.script());
            while end > 0 && !self.should_stop() {
                let from = end.saturating_sub(chunk);
                self.try_script(kind.without(&self.script(), from, end - from));
                end = from.min(kind.count(&self.script()));
            }
            chunk /= 2;
        }
    }
}
