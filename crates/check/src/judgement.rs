//! The findings about each property during the searches, and the verdicts at the end.

use crate::breadth::End;
use crate::clients::{Judged, Property};
use crate::findings::{Effort, Findings, Pass, Verdict};
use crate::replay::Counterexample;
use crate::system::Criterion;
use quorate_journal::property::Kind;

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
            Self::BoundedTime => "the check bounds time, and an infinite run has no bound",
            Self::NoGraph => "runs may contain cycles, which only a breadth-first search can judge",
            Self::AtRandom => "random walks do not visit every state",
            Self::TooLarge => "the group is too large to track which node knew of which request",
        }
    }

    /// Whether no search of such a group can decide the property.
    pub(crate) fn is_out_of_scope(self) -> bool {
        matches!(self, Self::BoundedTime | Self::TooLarge)
    }
}

/// The findings about each property so far.
pub(crate) struct Judgement {
    pub(crate) properties: Vec<Property>,
    wanted: Vec<bool>,
    open: Vec<Option<Undecided>>,
    examples: Vec<Option<Counterexample>>,
    pub(crate) states: Pass,
    pub(crate) past: Option<Pass>,
    pub(crate) fair: Option<Pass>,
    pub(crate) walks: Option<u64>,
    ended: End,
    /// Whether the caller asked for properties by name.
    by_name: bool,
}

impl Judgement {
    pub(crate) fn new(properties: Vec<Property>, effort: &Effort) -> Self {
        let wanted = |property: &Property| match &effort.properties {
            None => true,
            Some(names) => names.iter().any(|name| name == property.name),
        };
        Self {
            wanted: properties.iter().map(wanted).collect(),
            open: vec![None; properties.len()],
            examples: vec![None; properties.len()],
            properties,
            states: Pass::default(),
            past: None,
            fair: None,
            walks: None,
            ended: End::Complete,
            by_name: effort.properties.is_some(),
        }
    }

    /// Returns the number of the wanted property that is judged this way.
    pub(crate) fn number(&self, judged: impl Fn(&Judged) -> bool) -> Option<u8> {
        let mut places = (0_u8..).zip(self.properties.iter().zip(&self.wanted));
        places.find(|(_, (property, wanted))| **wanted && judged(&property.judged)).map(|(number, _)| number)
    }

    pub(crate) fn any(&self, judged: impl Fn(&Judged) -> bool) -> bool {
        self.number(judged).is_some()
    }

    pub(crate) fn criteria(&self) -> Vec<(u8, Criterion)> {
        let wanted = (0_u8..).zip(&self.properties).zip(&self.wanted).filter(|(_, wanted)| **wanted);
        let judge = |((number, property), _): ((u8, &Property), &bool)| match property.judged {
            Judged::ByState(judge) => Some((number, Criterion::Facets(judge))),
            Judged::ByBound(judge, bound) => Some((number, Criterion::Bound(judge, bound))),
            Judged::ByEnds(judge) => Some((number, Criterion::AtEnds(judge))),
            Judged::ByExclusiveHolds => Some((number, Criterion::OneHolder)),
            Judged::ByStep
            | Judged::ByFences
            | Judged::ByOrder
            | Judged::ByResults
            | Judged::ByDeadlock
            | Judged::ByFairRuns => None,
        };
        wanted.filter_map(judge).collect()
    }

    /// The properties that are judged, one bit each.
    pub(crate) fn judged_bits(&self) -> u32 {
        (0..).zip(&self.wanted).filter(|(_, wanted)| **wanted).fold(0, |bits, (number, _)| bits | 1 << number)
    }

    pub(crate) fn is_violated(&self, property: u8) -> bool {
        self.examples[usize::from(property)].is_some()
    }

    pub(crate) fn record_counterexample(&mut self, property: u8, example: Counterexample) {
        self.examples[usize::from(property)] = Some(example);
    }

    pub(crate) fn mark_undecided(&mut self, property: u8, why: Undecided) {
        self.open[usize::from(property)] = Some(why);
    }

    /// Records how a search ended. Unless it is complete, the properties that it judges stay
    /// undecided.
    pub(crate) fn end(&mut self, end: End, judged: impl Fn(&Judged) -> bool) {
        if end == End::Complete {
            return;
        }
        if self.ended == End::Complete {
            self.ended = end;
        }
        for (open, property) in self.open.iter_mut().zip(&self.properties) {
            if judged(&property.judged) {
                *open = Some(Undecided::Unfinished);
            }
        }
    }

    /// Whether the next search should run.
    pub(crate) fn should_continue(&self, effort: &Effort) -> bool {
        let broken = self.examples.iter().any(Option::is_some);
        self.ended != End::Stopped && !(effort.stop_at_first && broken)
    }

    pub(crate) fn conclude(self) -> Findings {
        let mut ended = self.ended;
        let mut verdicts = Vec::new();
        for (((property, wanted), open), example) in
            self.properties.iter().zip(self.wanted).zip(self.open).zip(self.examples)
        {
            if !wanted {
                continue;
            }
            let holds = if example.is_some() { Some(false) } else { open.is_none().then_some(true) };
            let kind = match property.judged {
                Judged::ByEnds(_) | Judged::ByFairRuns => Kind::Eventually,
                Judged::ByState(_)
                | Judged::ByBound(..)
                | Judged::ByStep
                | Judged::ByFences
                | Judged::ByOrder
                | Judged::ByResults
                | Judged::ByExclusiveHolds
                | Judged::ByDeadlock => Kind::Always,
            };
            let open = open.filter(|_| holds.is_none());
            verdicts.push(Verdict {
                name: property.name,
                kind,
                holds,
                unknown: open.map(Undecided::reason),
                // A caller that asks for a property by name gets an answer even if it is out of
                // scope.
                out_of_scope: !self.by_name && open.is_some_and(Undecided::is_out_of_scope),
                counterexample: example,
            });
        }
        if ended == End::Complete && self.walks.is_some() {
            ended = End::Stopped;
        }
        let Self { states, past, fair, walks, .. } = self;
        Findings { end: ended, states, past, fair, walks, timers: false, verdicts }
    }
}
