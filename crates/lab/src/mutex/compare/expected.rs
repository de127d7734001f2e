//! The expected cost of an algorithm, and the measured one.
//!
//! Measurements come from the simulator ([`simulate`]) or from real processes, which the crate
//! `quorate-live` runs. Both sources give the same kinds of figures and verdicts, which
//! [`Measured`] compares with the same [`ExpectedCost`]. The expected figures come from the
//! textbook that the project follows.
//!
//! ```
//! use quorate_lab::mutex::compare::{self, Variants};
//! use quorate_lab::mutex;
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! for entry in compare::select_algorithms(&[], Variants::Default)? {
//!     // Five nodes, seed 1.
//!     let (expected, measured) = compare::simulate(&compare::simulation_spec(entry, 5, 1, &settings))?;
//!     assert_eq!(measured.is_as_expected(&expected), Some(true));
//! }
//! # Ok::<(), quorate_lab::LabError>(())
//! ```

use crate::algorithm::Algorithm;
use crate::error::LabError;
use crate::experiment;
use crate::family::FamilyTypes;
use crate::mutex::MutexEntry;
use crate::mutex::run::{MutexSummary, Pattern};
use crate::mutex::{Mutex, Settings};
use crate::registry::all;
use crate::spec::Spec;
use quorate_core::mutex::{Case, Load, Range};
use quorate_core::{Duration, Group};
use quorate_journal::metrics::{Delay, MessageSummary};
use quorate_journal::property::{PropertyKind, Verdict};
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;
use serde::Serialize;
use std::fmt;

/// The variants of an algorithm to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variants {
    /// The default variant, and all that are named.
    Default,
    All,
}

/// Returns the named algorithms, or all correct ones of the family if none is named, in the chosen
/// variants.
pub fn select_algorithms(names: &[String], variants: Variants) -> Result<Vec<&'static MutexEntry>, LabError> {
    let correct = || all().iter().filter_map(Mutex::entry);
    if names.is_empty() {
        return Ok(correct()
            .filter(|entry| variants == Variants::All || !entry.facts.is_nondefault_variant())
            .collect());
    }
    let mut selected: Vec<&MutexEntry> = Vec::new();
    for name in names {
        let named = Algorithm::<Mutex>::named(name)?.entry();
        let others = correct().filter(|entry| variants == Variants::All && entry.facts.algorithm() == name);
        for entry in std::iter::once(named).chain(others) {
            if !selected.iter().any(|other| other.facts.profile.name == entry.facts.profile.name) {
                selected.push(entry);
            }
        }
    }
    Ok(selected)
}

/// The experiment that simulates one algorithm in a group of one size. Every message takes 1 ms, so
/// delays are multiples of one message time, the unit of the expected figures.
pub fn simulation_spec(entry: &'static MutexEntry, nodes: usize, seed: u64, settings: &Settings) -> Spec<Mutex> {
    let latency = Latency::Fixed(Duration::from_millis(1));
    Spec { nodes, seed, latency, settings: settings.clone(), ..Spec::new(entry) }
}

/// Runs a simulation and compares it with the expected cost.
pub fn simulate(spec: &Spec<Mutex>) -> Result<(ExpectedCost, Measured), LabError> {
    spec.validate()?;
    let expected = ExpectedCost::of_experiment(&spec.algorithm, spec);
    let outcome = experiment::run(spec)?;
    let unit = DelayUnit::MessageTimes;
    let measured =
        Measured::new(&expected, unit, outcome.ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
    Ok((expected, measured))
}

/// The expected cost of an algorithm in a group of some size under some load.
#[derive(Clone, Debug)]
pub struct ExpectedCost {
    /// Messages per entry, as a formula.
    pub messages_formula: &'static str,
    /// Delay from request to entry without contention, as a formula.
    pub client_formula: &'static str,
    /// Delay from a release to the next entry with exactly one waiter, as a formula.
    pub sync_formula: &'static str,
    /// Whether one node is the coordinator of all. Its own entries cost no messages, and are
    /// counted separately.
    pub has_coordinator: bool,
    /// Delay from request to entry, in message times.
    pub client_delay: Range,
    /// Delay from a release to the next entry, in message times.
    pub sync_delay: Range,
    /// Whether every run without faults must have these figures. `false` for fixtures, even correct
    /// ones, and for runs with tries or cancels.
    pub is_binding: bool,
    /// Whether the algorithm sends messages without end, even before the first request and after
    /// the last release.
    is_never_quiescent: bool,
    /// Expected number of messages, given the number of entries.
    message_count: fn(&Case<'_>, u64) -> Range,
    group: Group,
    load: Load,
}

impl ExpectedCost {
    pub fn of_experiment(algorithm: &MutexEntry, spec: &Spec<Mutex>) -> Self {
        let (facts, cost) = (algorithm.facts, &algorithm.facts.cost);
        let (group, load) = (spec.group(), load(spec));
        let case = Case { group: &group, load };
        let Settings { tries, cancels, .. } = spec.settings;
        Self {
            messages_formula: cost.messages_formula,
            client_formula: cost.client_delay_formula,
            sync_formula: cost.sync_delay_formula,
            has_coordinator: (facts.coordinator)(&group).is_some(),
            client_delay: (cost.client_delay)(&case),
            sync_delay: (cost.sync_delay)(&case),
            is_binding: facts.profile.flaw.is_none()
                && tries.is_zero()
                && cancels.is_zero()
                && all().iter().any(|entry| entry.name() == facts.profile.name),
            is_never_quiescent: facts.is_never_quiescent,
            message_count: cost.message_count,
            group,
            load,
        }
    }

    /// Expected number of messages of `entries` entries by other nodes than the coordinator.
    pub fn total_messages(&self, entries: u64) -> Range {
        (self.message_count)(&Case { group: &self.group, load: self.load }, entries)
    }

    /// Like [`total_messages`](Self::total_messages), for a run whose delays have this unit. Delays
    /// in milliseconds mean real processes. They also run for an unknown time before and after
    /// their clients, in which a protocol that never becomes quiet sends any number of messages.
    pub fn total_messages_in(&self, unit: DelayUnit, entries: u64) -> Range {
        match (self.is_never_quiescent, unit) {
            (true, DelayUnit::Milliseconds) => Range { max: None, ..self.total_messages(entries) },
            (true, DelayUnit::MessageTimes) | (false, _) => self.total_messages(entries),
        }
    }

    /// Messages per entry: the minimum, and the maximum if there is one.
    pub fn messages_per_entry(&self, entries: u64) -> (f64, Option<f64>) {
        let Range { min, max } = self.total_messages(entries);
        let per_entry = |total: u64| total as f64 / entries.max(1) as f64;
        (per_entry(min), max.map(per_entry))
    }
}

/// The load that the workload puts on the group.
fn load(spec: &Spec<Mutex>) -> Load {
    let Settings { workload, requesters, .. } = &spec.settings;
    // With `Pattern::Single`, only the last requester requests entry.
    let last = requesters.last().copied().or_else(|| spec.group().iter().last());
    match (workload, last) {
        _ if spec.is_scripted() => Load::SomeNodes,
        (Pattern::Single, Some(requester)) => Load::OneNode(requester),
        (Pattern::All, _) if requesters.is_empty() => Load::AllNodes,
        (Pattern::Single | Pattern::All | Pattern::Random, _) => Load::SomeNodes,
    }
}

/// The unit of the measured delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayUnit {
    /// Every message took the same time, so delays are multiples of one message time.
    MessageTimes,
    /// Message times varied, so there is no expected delay.
    Milliseconds,
}

/// The figures of one run, compared with the expected ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub ending: Ending,
    pub entries: u64,
    /// Number of entries without those of the coordinator, if there is one.
    pub counted_entries: u64,
    /// Messages per counted entry; `None` if there is none.
    pub messages_per_entry: Option<f64>,
    /// Messages per entry of the coordinator, if there is one and it entered.
    pub coordinator_messages_per_entry: Option<f64>,
    /// Delay from request to entry without contention.
    pub client_delay: Option<Delay>,
    /// Delay from a release to the next entry with exactly one waiter.
    pub sync_delay: Option<Delay>,
    /// Maximum number of entries by later requests ahead of an earlier one.
    pub max_overtaken: u64,
    /// Share of all messages that the busiest node sent or received.
    pub busiest_share: f64,
    pub violations: Vec<Verdict>,
    /// The unexpected figures, if the expected cost is binding and the run was complete.
    pub differences: Vec<Difference>,
}

impl Measured {
    pub fn new(
        expected: &ExpectedCost,
        unit: DelayUnit,
        ending: Ending,
        summary: &MutexSummary,
        messages: &MessageSummary,
        verdicts: &[Verdict],
    ) -> Self {
        let messages_per_entry = summary.messages_per_entry;
        let mut measured = Self {
            ending,
            entries: summary.entries,
            counted_entries: summary.other_nodes.map_or(summary.entries, |others| others.entries),
            messages_per_entry: summary.other_nodes.map_or(messages_per_entry, |others| others.messages_per_entry),
            coordinator_messages_per_entry: summary.coordinator.and_then(|coordinator| coordinator.messages_per_entry),
            client_delay: summary.client_delay,
            sync_delay: summary.sync_delay,
            max_overtaken: summary.max_overtaken,
            busiest_share: messages.busiest_share,
            violations: verdicts.iter().filter(|verdict| is_violation(verdict, ending)).cloned().collect(),
            differences: Vec::new(),
        };
        if expected.is_binding && ending == Ending::Done {
            measured.differences = measured.compare(expected, unit);
        }
        measured
    }

    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }

    /// Whether every measured figure is as expected: equal where the expected figure is exact,
    /// within bounds elsewhere. `None` if the expected cost is not binding, the run was incomplete,
    /// or no node entered.
    pub fn is_as_expected(&self, expected: &ExpectedCost) -> Option<bool> {
        let is_judged = expected.is_binding && self.ending == Ending::Done && self.entries > 0;
        is_judged.then_some(self.differences.is_empty())
    }

    fn compare(&self, expected: &ExpectedCost, unit: DelayUnit) -> Vec<Difference> {
        let in_message_times = |delay: Option<Delay>| delay.filter(|_| unit == DelayUnit::MessageTimes);
        let messages = self.messages_per_entry.and_then(|measured| {
            // The mean has rounding errors; the number of messages is a whole number.
            let total = (measured * self.counted_entries as f64).round();
            let (expected_min, expected_max) = expected.messages_per_entry(self.counted_entries);
            let is_expected = is_within(total, expected.total_messages_in(unit, self.counted_entries));
            (!is_expected).then_some(Difference { figure: Figure::Messages, measured, expected_min, expected_max })
        });
        let coordinator =
            self.coordinator_messages_per_entry.filter(|messages| expected.has_coordinator && *messages != 0.0);
        let coordinator = coordinator.map(|measured| Difference {
            figure: Figure::CoordinatorMessages,
            measured,
            expected_min: 0.0,
            expected_max: Some(0.0),
        });
        let delay = |figure, delay: Option<Delay>, range: Range| {
            let delay = in_message_times(delay)?;
            let unexpected = [delay.mean, delay.max]
                .into_iter()
                .find(|measured| !is_within(round_to_thousandths(*measured), range))?;
            let (expected_min, expected_max) = (range.min as f64, range.max.map(|maximum| maximum as f64));
            Some(Difference { figure, measured: unexpected, expected_min, expected_max })
        };
        let client = delay(Figure::ClientDelay, self.client_delay, expected.client_delay);
        let sync = delay(Figure::SyncDelay, self.sync_delay, expected.sync_delay);
        [messages, coordinator, client, sync].into_iter().flatten().collect()
    }
}

/// Rounds to thousandths of a message time, because an algorithm that waits until just after a
/// bound adds a tiny delay.
fn round_to_thousandths(delay: f64) -> f64 {
    (delay * 1_000.0).round() / 1_000.0
}

fn is_within(measured: f64, range: Range) -> bool {
    measured >= range.min as f64 && range.max.is_none_or(|maximum| measured <= maximum as f64)
}

/// Whether a verdict is a violation. A stopped run cannot decide `eventually` properties.
fn is_violation(verdict: &Verdict, ending: Ending) -> bool {
    let is_judged = match verdict.kind {
        PropertyKind::Always => true,
        PropertyKind::Eventually => ending != Ending::Stopped,
        PropertyKind::Sometimes => false,
    };
    is_judged && verdict.holds == Some(false)
}

/// A figure with an expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    #[serde(rename = "messages_per_entry")]
    Messages,
    /// Messages per entry of the coordinator.
    #[serde(rename = "own_messages_per_entry")]
    CoordinatorMessages,
    ClientDelay,
    SyncDelay,
}

/// An unexpected figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub figure: Figure,
    pub measured: f64,
    #[serde(rename = "least")]
    pub expected_min: f64,
    /// The expected maximum, if there is a bound.
    #[serde(rename = "most")]
    pub expected_max: Option<f64>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, measured, expected_min, expected_max } = self;
        let measurement = match figure {
            Figure::Messages => write!(f, "an entry took {measured} messages"),
            Figure::CoordinatorMessages => write!(f, "the coordinator's own entry took {measured} messages"),
            Figure::ClientDelay => write!(f, "the client delay was {measured} T"),
            Figure::SyncDelay => write!(f, "the synchronization delay was {measured} T"),
        };
        measurement?;
        match expected_max {
            Some(maximum) if maximum == expected_min => write!(f, "; expected {expected_min}"),
            Some(maximum) => write!(f, "; expected between {expected_min} and {maximum}"),
            None => write!(f, "; expected at least {expected_min}"),
        }
    }
}

#[cfg(test)]
mod tests;
