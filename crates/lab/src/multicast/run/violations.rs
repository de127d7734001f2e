//! The violations found so far.

use super::property_set::{Property, PropertySet};
use quorate_core::Time;
use quorate_journal::property::{Verdict, Violation};

/// A position in a run: the time, and the line of the trace.
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
    /// By property: the number of violations, and the earliest one.
    by_property: [(u64, Option<Violation>); Property::ALL.len()],
}

impl Violations {
    pub(super) fn new(promised: PropertySet, judged: PropertySet) -> Self {
        Self { promised, judged, by_property: Default::default() }
    }

    /// Whether the algorithm promises uniform delivery: survivors deliver all that any node
    /// delivers.
    pub(super) fn is_uniform(&self) -> bool {
        self.promised.uniform
    }

    /// Records a violation, unless the property is not judged. `relevant_from` is the start of the
    /// part of the run that explains the violation.
    pub(super) fn record(
        &mut self,
        property: Property,
        at: Position,
        relevant_from: Time,
        text: impl FnOnce() -> String,
    ) {
        if !self.judged.contains(property) {
            return;
        }
        let Some((count, first)) = self.by_property.get_mut(property as usize) else { return };
        *count += 1;
        let is_earlier = first.as_ref().is_none_or(|first| at.time < first.time);
        if is_earlier {
            *first = Some(Violation { time: at.time, line: at.line, relevant_from, text: text() });
        }
    }

    pub(super) fn count(&self, property: Property) -> u64 {
        self.by_property.get(property as usize).map_or(0, |(count, _)| *count)
    }

    pub(super) fn verdict(&self, property: Property) -> Option<Verdict> {
        if !self.judged.contains(property) {
            return None;
        }
        let (_, first) = self.by_property.get(property as usize)?;
        Some(Verdict::from_violation(property.name(), property.kind(), first.clone()))
    }
}
