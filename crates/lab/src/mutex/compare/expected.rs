//! The expected cost of an algorithm, and the measured one.
//!
//! Measurements come from the simulator ([`simulate`]) or from real processes, which the crate
//! `quorate-live` runs. Both produce the same summary and verdicts, and [`Measured`] compares
//! either with the same [`ExpectedCost`]. The expected figures come from the textbook
//! that the project follows.
//!
//! ```
//! use quorate_lab::mutex::compare::{self, Forms};
//! use quorate_lab::mutex;
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! for entry in compare::contenders(&[], Forms::Default)? {
//!     let (expected, measured) = compare::simulate(&compare::simulation(entry, 5, 1, &settings))?;
//!     assert_eq!(measured.is_exact(&expected), Some(true));
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
use quorate_journal::property::{Kind, Verdict};
use quorate_journal::settings::Latency;
use quorate_journal::workload::Ending;
use serde::Serialize;
use std::fmt;

/// The variants of an algorithm to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// The default variant, and all that are named.
    Default,
    All,
}

/// Returns the named algorithms, or all correct ones of the family.
pub fn contenders(names: &[String], forms: Forms) -> Result<Vec<&'static MutexEntry>, LabError> {
    let correct = || all().iter().filter_map(Mutex::entry);
    if names.is_empty() {
        return Ok(correct().filter(|entry| forms == Forms::All || !entry.facts.is_special()).collect());
    }
    let mut found: Vec<&MutexEntry> = Vec::new();
    for name in names {
        let named = Algorithm::<Mutex>::named(name)?.entry();
        let others = correct().filter(|entry| forms == Forms::All && entry.facts.algorithm() == name);
        for entry in std::iter::once(named).chain(others) {
            if !found.iter().any(|other| other.facts.profile.name == entry.facts.profile.name) {
                found.push(entry);
            }
        }
    }
    Ok(found)
}

/// The experiment that simulates one algorithm in a group of one size. Every message takes 1 ms, so
/// that delays are multiples of one message time, the unit of the expected figures.
pub fn simulation(entry: &'static MutexEntry, nodes: usize, seed: u64, settings: &Settings) -> Spec<Mutex> {
    let latency = Latency::Fixed(Duration::from_millis(1));
    Spec { nodes, seed, latency, settings: settings.clone(), ..Spec::new(entry) }
}

/// Runs a simulation and compares it with the expected cost.
pub fn simulate(spec: &Spec<Mutex>) -> Result<(ExpectedCost, Measured), LabError> {
    spec.validate()?;
    let expected = ExpectedCost::of(&spec.algorithm, spec);
    let outcome = experiment::run(spec)?;
    let delays = Delays::InMessageTimes;
    let measured =
        Measured::new(&expected, delays, outcome.ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
    Ok((expected, measured))
}

/// The expected cost of an algorithm in a group of some size under some load.
#[derive(Clone, Debug)]
pub struct ExpectedCost {
    /// Messages per entry, as a formula.
    pub messages: &'static str,
    /// Delay from request to entry without contention, as a formula.
    pub client: &'static str,
    /// Delay from a release to the next entry with exactly one waiter, as a formula.
    pub sync: &'static str,
    /// Whether one node is the coordinator of all. Its own entries cost no messages, and are
    /// counted separately.
    pub has_coordinator: bool,
    /// Delay from request to entry, in message times.
    pub client_delay: Range,
    /// Delay from a release to the next entry, in message times.
    pub sync_delay: Range,
    /// Whether these figures hold in every run without faults, tries and cancels. `false` for
    /// faulty variants.
    pub binding: bool,
    /// Whether the algorithm sends messages without end, even before the first request and after
    /// the last release.
    never_quiescent: bool,
    total: fn(&Case<'_>, u64) -> Range,
    group: Group,
    load: Load,
}

impl ExpectedCost {
    pub fn of(algorithm: &MutexEntry, spec: &Spec<Mutex>) -> Self {
        let (facts, cost) = (algorithm.facts, &algorithm.facts.cost);
        let (group, load) = (spec.group(), load(spec));
        let case = Case { group: &group, load };
        let Settings { tries, cancels, .. } = spec.settings;
        Self {
            messages: cost.messages,
            client: cost.client,
            sync: cost.sync,
            has_coordinator: (facts.coordinator)(&group).is_some(),
            client_delay: (cost.client_delay)(&case),
            sync_delay: (cost.sync_delay)(&case),
            binding: facts.profile.flaw.is_none()
                && tries.is_zero()
                && cancels.is_zero()
                && all().iter().any(|entry| entry.name() == facts.profile.name),
            never_quiescent: facts.never_quiescent,
            total: cost.total,
            group,
            load,
        }
    }

    /// Expected number of messages of this many entries.
    pub fn total(&self, entries: u64) -> Range {
        (self.total)(&Case { group: &self.group, load: self.load }, entries)
    }

    /// Like [`total`](Self::total), depending on the measurement, which the unit of delays tells.
    /// Real processes start before their clients and stop after them, for an unknown time; a
    /// protocol that never becomes quiet then sends any number of messages.
    pub fn total_in(&self, delays: Delays, entries: u64) -> Range {
        match (self.never_quiescent, delays) {
            (true, Delays::InMilliseconds) => Range { most: None, ..self.total(entries) },
            (true, Delays::InMessageTimes) | (false, _) => self.total(entries),
        }
    }

    /// Messages per entry: the minimum, and the maximum if there is one.
    pub fn per_entry(&self, entries: u64) -> (f64, Option<f64>) {
        let Range { least, most } = self.total(entries);
        let share = |total: u64| total as f64 / entries.max(1) as f64;
        (share(least), most.map(share))
    }
}

/// The load that the workload puts on the group.
fn load(spec: &Spec<Mutex>) -> Load {
    let Settings { workload, requesters, .. } = &spec.settings;
    let last = requesters.last().copied().or_else(|| spec.group().iter().last());
    match (workload, last) {
        _ if spec.is_scripted() => Load::Some,
        (Pattern::Single, Some(requester)) => Load::Alone(requester),
        (Pattern::All, _) if requesters.is_empty() => Load::Everyone,
        (Pattern::Single | Pattern::All | Pattern::Random, _) => Load::Some,
    }
}

/// The unit of the measured delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// Every message took the same time, so delays are multiples of one message time.
    InMessageTimes,
    /// Message times varied, so there is no expected delay.
    InMilliseconds,
}

/// The figures of one run, compared with the expected ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub ending: Ending,
    pub entries: u64,
    /// Number of entries that `messages_per_entry` counts.
    pub counted: u64,
    /// Messages per entry; without the coordinator's entries if there is a coordinator.
    pub messages_per_entry: Option<f64>,
    /// Messages per entry of the coordinator, if there is one and it entered.
    pub own_messages_per_entry: Option<f64>,
    /// Delay from request to entry without contention.
    pub client_delay: Option<Delay>,
    /// Delay from a release to the next entry with exactly one waiter.
    pub sync_delay: Option<Delay>,
    /// Maximum number of entries by later requests ahead of an earlier one.
    pub overtaken_max: u64,
    /// Share of all messages that the busiest node sent or received.
    pub busiest_share: f64,
    pub violations: Vec<Verdict>,
    /// The unexpected figures, if the expected cost is binding and the run was complete.
    pub differences: Vec<Difference>,
}

impl Measured {
    pub fn new(
        expected: &ExpectedCost,
        delays: Delays,
        ending: Ending,
        summary: &MutexSummary,
        messages: &MessageSummary,
        verdicts: &[Verdict],
    ) -> Self {
        let all = summary.messages_per_entry;
        let mut measured = Self {
            ending,
            entries: summary.entries,
            counted: summary.others.map_or(summary.entries, |others| others.entries),
            messages_per_entry: summary.others.map_or(all, |others| others.messages_per_entry),
            own_messages_per_entry: summary.own.and_then(|own| own.messages_per_entry),
            client_delay: summary.client_delay,
            sync_delay: summary.sync_delay,
            overtaken_max: summary.overtaken_max,
            busiest_share: messages.busiest_share,
            violations: verdicts.iter().filter(|verdict| is_violation(verdict, ending)).cloned().collect(),
            differences: Vec::new(),
        };
        if expected.binding && ending == Ending::Done {
            measured.differences = measured.compare(expected, delays);
        }
        measured
    }

    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }

    /// Whether every measured figure is as expected: equal where the expected figure is exact,
    /// within bounds elsewhere. `None` if the expected cost is not binding, the run was incomplete,
    /// or no node entered.
    pub fn is_exact(&self, expected: &ExpectedCost) -> Option<bool> {
        let is_judged = expected.binding && self.ending == Ending::Done && self.entries > 0;
        is_judged.then_some(self.differences.is_empty())
    }

    fn compare(&self, expected: &ExpectedCost, delays: Delays) -> Vec<Difference> {
        let in_message_times = |delay: Option<Delay>| delay.filter(|_| delays == Delays::InMessageTimes);
        let messages = self.messages_per_entry.and_then(|measured| {
            // The count is a whole number, which the mean would hide.
            let total = (measured * self.counted as f64).round();
            let (least, most) = expected.per_entry(self.counted);
            let is_expected = within(total, expected.total_in(delays, self.counted));
            (!is_expected).then_some(Difference { figure: Figure::Messages, measured, least, most })
        });
        let own = self.own_messages_per_entry.filter(|own| expected.has_coordinator && *own != 0.0);
        let own = own.map(|measured| Difference { figure: Figure::OwnMessages, measured, least: 0.0, most: Some(0.0) });
        let delay = |figure, delay: Option<Delay>, range: Range| {
            let delay = in_message_times(delay)?;
            let unexpected = [delay.mean, delay.max].into_iter().find(|measured| !within(rounded(*measured), range))?;
            let (least, most) = (range.least as f64, range.most.map(|most| most as f64));
            Some(Difference { figure, measured: unexpected, least, most })
        };
        let client = delay(Figure::ClientDelay, self.client_delay, expected.client_delay);
        let sync = delay(Figure::SyncDelay, self.sync_delay, expected.sync_delay);
        [messages, own, client, sync].into_iter().flatten().collect()
    }
}

/// Rounds to thousandths: waiting until just after a bound adds a tiny delay, which is not a
/// message time.
fn rounded(delay: f64) -> f64 {
    (delay * 1_000.0).round() / 1_000.0
}

fn within(measured: f64, range: Range) -> bool {
    measured >= range.least as f64 && range.most.is_none_or(|most| measured <= most as f64)
}

/// A stopped run cannot decide `eventually` properties.
fn is_violation(verdict: &Verdict, ending: Ending) -> bool {
    let is_judged = match verdict.kind {
        Kind::Always => true,
        Kind::Eventually => ending != Ending::Stopped,
        Kind::Sometimes => false,
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
    OwnMessages,
    ClientDelay,
    SyncDelay,
}

/// An unexpected figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub figure: Figure,
    pub measured: f64,
    pub least: f64,
    /// The expected maximum, if there is a bound.
    pub most: Option<f64>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, measured, least, most } = self;
        let measurement = match figure {
            Figure::Messages => write!(f, "an entry took {measured} messages"),
            Figure::OwnMessages => write!(f, "the coordinator's own entry took {measured} messages"),
            Figure::ClientDelay => write!(f, "the client delay was {measured} T"),
            Figure::SyncDelay => write!(f, "the synchronization delay was {measured} T"),
        };
        measurement?;
        match most {
            Some(most) if most == least => write!(f, "; expected {least}"),
            Some(most) => write!(f, "; expected between {least} and {most}"),
            None => write!(f, "; expected at least {least}"),
        }
    }
}

#[cfg(test)]
mod tests;
