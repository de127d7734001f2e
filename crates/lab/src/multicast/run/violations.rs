//! The violations found so far.

use super::property_set::{Property, PropertySet};
use quorate_core::Time;
use quorate_journal::property::{Verdict, Violation};

/// A position in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) time: Time,
    pub(super) line: u64,
}

/// The violations of each judged property.
#[derive(Clone, Debug)]
pub(super) struct Violations {
    promised: PropertySet,
    judged: PropertySet,
    /// By property: the number of violations, and the first one.
    found: [(u64, Option<Violation>); Property::ALL.len()],
}

impl Violations {
    pub(super) fn new(promised: PropertySet, judged: PropertySet) -> Self {
        Self { promised, judged, found: Default::default() }
    }

    /// Whether the algorithm promises uniform delivery: survivors deliver all that any node
    /// delivers.
    pub(super) fn is_uniform(&self) -> bool {
        self.promised.uniform
    }

    /// Records a violation of a judged property.
    pub(super) fn record(&mut self, property: Property, at: Position, since: Time, text: impl FnOnce() -> String) {
        if !self.judged.contains(property) {
            return;
        }
        let Some((count, first)) = self.found.get_mut(property as usize) else { return };
        *count += 1;
        let is_earlier = first.as_ref().is_none_or(|first| at.time < first.time);
        if is_earlier {
            *first = Some(Violation { time: at.time, line: at.line, since, text: text() });
        }
    }

    pub(super) fn count(&self, property: Property) -> u64 {
        self.found.get(property as usize).map_or(0, |(count, _)| *count)
    }

    pub(super) fn verdict(&self, property: Property) -> Option<Verdict> {
        if !self.judged.contains(property) {
            return None;
        }
        let (_, first) = self.found.get(property as usize)?;
        Some(Verdict::judged(property.name(), property.kind(), first.clone()))
    }
}
