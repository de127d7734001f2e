//! The findings about each property during the searches, and the verdicts at the end.

use crate::breadth::SearchEnd;
use crate::clients::{Judged, Property};
use crate::findings::{Effort, Findings, Pass, Verdict};
use crate::replay::Counterexample;
use crate::system::Criterion;
use quorate_journal::property::PropertyKind;

/// Why a property is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undecided {
    Unfinished,
    BoundedTime,
    NoGraph,
    AtRandom,
    TooLarge,
}

impl Undecided {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Unfinished => "the search did not finish",
            Self::BoundedTime => "the check ends at a time limit, so it sees no infinite run",
            Self::NoGraph => "runs may contain cycles, which only a breadth-first search can judge",
            Self::AtRandom => "random walks do not visit every state",
            Self::TooLarge => "the group is too large to track which node knew of which request",
        }
    }

    /// Whether no search with this setup can decide the property.
    pub(crate) fn is_out_of_scope(self) -> bool {
        matches!(self, Self::BoundedTime | Self::TooLarge)
    }
}

/// The findings about each property so far.
pub(crate) struct Judgement {
    pub(crate) properties: Vec<Property>,
    /// For each property, whether the caller asked for it.
    is_wanted: Vec<bool>,
    /// For each property, why it is undecided; ignored if it has a counterexample.
    undecided: Vec<Option<Undecided>>,
    counterexamples: Vec<Option<Counterexample>>,
    pub(crate) main_pass: Pass,
    /// The search for properties about the past. Its states also contain past events.
    pub(crate) past_pass: Option<Pass>,
    pub(crate) fair_pass: Option<Pass>,
    /// Number of random walks taken; `None` for other searches.
    pub(crate) walk_count: Option<u64>,
    /// `Stopped` if any search ended so; otherwise why the first incomplete search ended, and
    /// `Complete` if every search so far was complete.
    end: SearchEnd,
    /// Whether the caller asked for properties by name.
    is_selected_by_name: bool,
}

impl Judgement {
    pub(crate) fn new(properties: Vec<Property>, effort: &Effort) -> Self {
        let is_wanted = |property: &Property| match &effort.properties {
            None => true,
            Some(names) => names.iter().any(|name| name == property.name),
        };
        Self {
            is_wanted: properties.iter().map(is_wanted).collect(),
            undecided: vec![None; properties.len()],
            counterexamples: vec![None; properties.len()],
            properties,
            main_pass: Pass::default(),
            past_pass: None,
            fair_pass: None,
            walk_count: None,
            end: SearchEnd::Complete,
            is_selected_by_name: effort.properties.is_some(),
        }
    }

    /// Returns the number of the first wanted property whose way of judging `selects` accepts.
    pub(crate) fn find_property(&self, selects: impl Fn(&Judged) -> bool) -> Option<u8> {
        let mut numbered = (0_u8..).zip(self.properties.iter().zip(&self.is_wanted));
        numbered.find(|(_, (property, wanted))| **wanted && selects(&property.judged)).map(|(number, _)| number)
    }

    pub(crate) fn has_property(&self, selects: impl Fn(&Judged) -> bool) -> bool {
        self.find_property(selects).is_some()
    }

    /// Returns what to check in each state, with the numbers of the wanted properties.
    pub(crate) fn criteria(&self) -> Vec<(u8, Criterion)> {
        let wanted = (0_u8..).zip(&self.properties).zip(&self.is_wanted).filter(|(_, wanted)| **wanted);
        let criterion = |((number, property), _): ((u8, &Property), &bool)| match property.judged {
            Judged::ByState(condition) => Some((number, Criterion::Facets(condition))),
            Judged::ByBound(condition, bound) => Some((number, Criterion::Bound(condition, bound))),
            Judged::ByEnds(condition) => Some((number, Criterion::AtEnds(condition))),
            Judged::ByExclusiveHolds => Some((number, Criterion::OneHolder)),
            Judged::ByStep
            | Judged::ByFences
            | Judged::ByOrder
            | Judged::ByResults
            | Judged::ByDeadlock
            | Judged::ByFairRuns => None,
        };
        wanted.filter_map(criterion).collect()
    }

    /// The properties that the caller asked for, one bit each.
    pub(crate) fn judged_bits(&self) -> u32 {
        (0..).zip(&self.is_wanted).filter(|(_, wanted)| **wanted).fold(0, |bits, (number, _)| bits | 1 << number)
    }

    pub(crate) fn is_violated(&self, property: u8) -> bool {
        self.counterexamples[usize::from(property)].is_some()
    }

    pub(crate) fn record_counterexample(&mut self, property: u8, example: Counterexample) {
        self.counterexamples[usize::from(property)] = Some(example);
    }

    pub(crate) fn mark_undecided(&mut self, property: u8, reason: Undecided) {
        self.undecided[usize::from(property)] = Some(reason);
    }

    /// Records how the search for the properties that `selects` accepts ended. Unless the search
    /// was complete, these properties are undecided.
    pub(crate) fn record_end(&mut self, end: SearchEnd, selects: impl Fn(&Judged) -> bool) {
        if end == SearchEnd::Complete {
            return;
        }
        if self.end == SearchEnd::Complete || end == SearchEnd::Stopped {
            self.end = end;
        }
        for (undecided, property) in self.undecided.iter_mut().zip(&self.properties) {
            if selects(&property.judged) {
                *undecided = Some(Undecided::Unfinished);
            }
        }
    }

    /// Whether the next search should run: no search was stopped, and the caller does not want the
    /// check to stop at a violation that was found.
    pub(crate) fn should_continue(&self, effort: &Effort) -> bool {
        let has_violation = self.counterexamples.iter().any(Option::is_some);
        self.end != SearchEnd::Stopped && !(effort.stop_at_first && has_violation)
    }

    pub(crate) fn conclude(self) -> Findings {
        let mut verdicts = Vec::new();
        for (((property, wanted), undecided), example) in
            self.properties.iter().zip(self.is_wanted).zip(self.undecided).zip(self.counterexamples)
        {
            if !wanted {
                continue;
            }
            let holds = if example.is_some() { Some(false) } else { undecided.is_none().then_some(true) };
            let kind = match property.judged {
                Judged::ByEnds(_) | Judged::ByFairRuns => PropertyKind::Eventually,
                Judged::ByState(_)
                | Judged::ByBound(..)
                | Judged::ByStep
                | Judged::ByFences
                | Judged::ByOrder
                | Judged::ByResults
                | Judged::ByExclusiveHolds
                | Judged::ByDeadlock => PropertyKind::Always,
            };
            let undecided = undecided.filter(|_| holds.is_none());
            verdicts.push(Verdict {
                name: property.name,
                kind,
                holds,
                undecided_reason: undecided.map(Undecided::reason),
                // If the caller asked for the property by name, the check is incomplete without a
                // verdict on it.
                is_out_of_scope: !self.is_selected_by_name && undecided.is_some_and(Undecided::is_out_of_scope),
                counterexample: example,
            });
        }
        let Self { main_pass, past_pass, fair_pass, walk_count, end, .. } = self;
        // The checker sets `has_timers` afterwards.
        Findings { end, main_pass, past_pass, fair_pass, walk_count, has_timers: false, verdicts }
    }
}
