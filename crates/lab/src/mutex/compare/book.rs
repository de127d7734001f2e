//! What the book says of an algorithm, and what was measured.
//!
//! What was measured may come from the simulator ([`simulate`]) or from real processes, which the crate `quorate-live`
//! runs: both end in the same summary and verdicts, and [`Measured`] holds both against the same [`Book`].
//!
//! ```
//! use quorate_lab::mutex::compare::{self, Forms};
//! use quorate_lab::mutex;
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! for entry in compare::contenders(&[], Forms::Usual)? {
//!     let (book, measured) = compare::simulate(&compare::simulation(entry, 5, 1, &settings))?;
//!     assert_eq!(measured.is_exact(&book), Some(true));
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

/// Which forms of algorithms are compared that have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// The one that users get unless they ask for another, and whatever is named.
    Usual,
    All,
}

/// The algorithms of these names, or all of the family that are meant to be right.
pub fn contenders(names: &[String], forms: Forms) -> Result<Vec<&'static MutexEntry>, LabError> {
    let right = || all().iter().filter_map(Mutex::entry);
    if names.is_empty() {
        return Ok(right().filter(|entry| forms == Forms::All || !entry.facts.is_special()).collect());
    }
    let mut found: Vec<&MutexEntry> = Vec::new();
    for name in names {
        let named = Algorithm::<Mutex>::named(name)?.entry();
        let others = right().filter(|entry| forms == Forms::All && entry.facts.algorithm() == name);
        for entry in std::iter::once(named).chain(others) {
            if !found.iter().any(|other| other.facts.profile.name == entry.facts.profile.name) {
                found.push(entry);
            }
        }
    }
    Ok(found)
}

/// The experiment that simulates one algorithm in a group of one size. A message takes 1 ms, always, so that delays come
/// out in message times, as the book counts them.
pub fn simulation(entry: &'static MutexEntry, nodes: usize, seed: u64, settings: &Settings) -> Spec<Mutex> {
    let latency = Latency::Fixed(Duration::from_millis(1));
    Spec { nodes, seed, latency, settings: settings.clone(), ..Spec::new(entry) }
}

/// Runs a simulation, and holds it against the book.
pub fn simulate(spec: &Spec<Mutex>) -> Result<(Book, Measured), LabError> {
    spec.validate()?;
    let book = Book::of(&spec.algorithm, spec);
    let outcome = experiment::run(spec)?;
    let delays = Delays::InMessageTimes;
    let measured = Measured::new(&book, delays, outcome.ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
    Ok((book, measured))
}

/// What the book says of an algorithm in a group of some size under some load.
#[derive(Clone, Debug)]
pub struct Book {
    /// Messages an entry, as the book writes it.
    pub messages: &'static str,
    /// From asking to entering when nobody else wants in, as the book writes it.
    pub client: &'static str,
    /// From a leave to the next entry when exactly one waits, as the book writes it.
    pub sync: &'static str,
    /// Whether one node keeps the lock for all. Its own entries cost nothing, and are counted apart.
    pub keeper: bool,
    /// From asking to entering, in message times.
    pub client_delay: Range,
    /// From a leave to the next entry, in message times.
    pub sync_delay: Range,
    /// Whether that is so in every run without faults in which everyone waits for what was asked. What is wrong on
    /// purpose is in no book.
    pub binding: bool,
    /// Whether it sends messages for ever, even before anybody asks and after all have left.
    restless: bool,
    total: fn(&Case<'_>, u64) -> Range,
    group: Group,
    load: Load,
}

impl Book {
    pub fn of(algorithm: &MutexEntry, spec: &Spec<Mutex>) -> Self {
        let (facts, cost) = (algorithm.facts, &algorithm.facts.cost);
        let (group, load) = (spec.group(), load(spec));
        let case = Case { group: &group, load };
        let Settings { tries, cancels, .. } = spec.settings;
        Self {
            messages: cost.messages,
            client: cost.client,
            sync: cost.sync,
            keeper: (facts.keeper)(&group).is_some(),
            client_delay: (cost.client_delay)(&case),
            sync_delay: (cost.sync_delay)(&case),
            binding: facts.profile.flaw.is_none()
                && tries.is_zero()
                && cancels.is_zero()
                && all().iter().any(|entry| entry.name() == facts.profile.name),
            restless: facts.restless,
            total: cost.total,
            group,
            load,
        }
    }

    pub fn total(&self, entries: u64) -> Range {
        (self.total)(&Case { group: &self.group, load: self.load }, entries)
    }

    /// Messages of so many entries, measured like this. Real processes begin before their users and end after them, and
    /// nobody knows how long they were idle: one that never falls quiet then sends any number of messages.
    pub fn total_in(&self, delays: Delays, entries: u64) -> Range {
        match (self.restless, delays) {
            (true, Delays::InMilliseconds) => Range { most: None, ..self.total(entries) },
            (true, Delays::InMessageTimes) | (false, _) => self.total(entries),
        }
    }

    /// Messages an entry, the least and the most if there is one, where there are so many.
    pub fn per_entry(&self, entries: u64) -> (f64, Option<f64>) {
        let Range { least, most } = self.total(entries);
        let share = |total: u64| total as f64 / entries.max(1) as f64;
        (share(least), most.map(share))
    }
}

fn load(spec: &Spec<Mutex>) -> Load {
    let Settings { workload, requesters, .. } = &spec.settings;
    let last = requesters.last().copied().or_else(|| spec.group().iter().last());
    match (workload, last) {
        _ if spec.is_scripted() => Load::Some,
        (Pattern::Single, Some(asker)) => Load::Alone(asker),
        (Pattern::All, _) if requesters.is_empty() => Load::Everyone,
        (Pattern::Single | Pattern::All | Pattern::Random, _) => Load::Some,
    }
}

/// What delays were measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// Every message took the same time, so that delays are counts of messages, as in the book.
    InMessageTimes,
    /// Messages took whatever they took, and nobody can say what a delay should have been.
    InMilliseconds,
}

/// What came of one run, held against the book.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub ending: Ending,
    pub entries: u64,
    /// How many of them are counted in `messages_per_entry`.
    pub counted: u64,
    /// Messages an entry; where a node keeps the lock, an entry of the others.
    pub messages_per_entry: Option<f64>,
    /// Messages an entry of the node that keeps the lock, if there is one and it entered.
    pub own_messages_per_entry: Option<f64>,
    /// From asking to entering when nobody else wanted in.
    pub client_delay: Option<Delay>,
    /// From a leave to the next entry when exactly one waited.
    pub sync_delay: Option<Delay>,
    /// The most entries that later requests made ahead of an earlier one.
    pub overtaken_max: u64,
    /// The share of all messages that the busiest node sent or received.
    pub busiest_share: f64,
    pub breaches: Vec<Verdict>,
    /// The figures that are not the book's, if the book is exact and the run came to its end.
    pub differences: Vec<Difference>,
}

impl Measured {
    pub fn new(
        book: &Book,
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
            breaches: verdicts.iter().filter(|verdict| is_breach(verdict, ending)).cloned().collect(),
            differences: Vec::new(),
        };
        if book.binding && ending == Ending::Done {
            measured.differences = measured.compare(book, delays);
        }
        measured
    }

    pub fn holds(&self) -> bool {
        self.breaches.is_empty()
    }

    /// Whether every figure that was measured is the book's: the very figure where the book is exact, and within its
    /// bounds elsewhere. Nobody can say so of a book that is not binding, or of a run that did not come to its end or in
    /// which nobody entered.
    pub fn is_exact(&self, book: &Book) -> Option<bool> {
        let is_judged = book.binding && self.ending == Ending::Done && self.entries > 0;
        is_judged.then_some(self.differences.is_empty())
    }

    fn compare(&self, book: &Book, delays: Delays) -> Vec<Difference> {
        let in_times = |delay: Option<Delay>| delay.filter(|_| delays == Delays::InMessageTimes);
        let messages = self.messages_per_entry.and_then(|measured| {
            // What was counted is a whole number, which the mean must not hide.
            let total = (measured * self.counted as f64).round();
            let (least, most) = book.per_entry(self.counted);
            let is_book = within(total, book.total_in(delays, self.counted));
            (!is_book).then_some(Difference { figure: Figure::Messages, measured, least, most })
        });
        let own = self.own_messages_per_entry.filter(|own| book.keeper && *own != 0.0);
        let own = own.map(|measured| Difference { figure: Figure::OwnMessages, measured, least: 0.0, most: Some(0.0) });
        let delay = |figure, delay: Option<Delay>, range: Range| {
            let delay = in_times(delay)?;
            let wrong = [delay.mean, delay.max].into_iter().find(|measured| !within(rounded(*measured), range))?;
            let (least, most) = (range.least as f64, range.most.map(|most| most as f64));
            Some(Difference { figure, measured: wrong, least, most })
        };
        let client = delay(Figure::ClientDelay, self.client_delay, book.client_delay);
        let sync = delay(Figure::SyncDelay, self.sync_delay, book.sync_delay);
        [messages, own, client, sync].into_iter().flatten().collect()
    }
}

/// Whoever waits until a bound has passed waits a little longer, which is no message time.
fn rounded(delay: f64) -> f64 {
    (delay * 1_000.0).round() / 1_000.0
}

fn within(measured: f64, range: Range) -> bool {
    measured >= range.least as f64 && range.most.is_none_or(|most| measured <= most as f64)
}

/// Of a run that was stopped nobody can say what would have come of it.
fn is_breach(verdict: &Verdict, ending: Ending) -> bool {
    let is_judged = match verdict.kind {
        Kind::Always => true,
        Kind::Eventually => ending != Ending::Stopped,
        Kind::Sometimes => false,
    };
    is_judged && verdict.holds == Some(false)
}

/// What is measured and in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    #[serde(rename = "messages_per_entry")]
    Messages,
    /// Messages an entry of the node that keeps the lock.
    #[serde(rename = "own_messages_per_entry")]
    OwnMessages,
    ClientDelay,
    SyncDelay,
}

/// A figure that is not the book's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub figure: Figure,
    pub measured: f64,
    pub least: f64,
    /// The most that the book allows, if there is a bound.
    pub most: Option<f64>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, measured, least, most } = self;
        let unit = match figure {
            Figure::Messages => write!(f, "an entry took {measured} messages"),
            Figure::OwnMessages => write!(f, "the coordinator's own entry took {measured} messages"),
            Figure::ClientDelay => write!(f, "the client delay was {measured} T"),
            Figure::SyncDelay => write!(f, "the synchronization delay was {measured} T"),
        };
        unit?;
        match most {
            Some(most) if most == least => write!(f, ", and in the book it is {least}"),
            Some(most) => write!(f, ", and in the book it is between {least} and {most}"),
            None => write!(f, ", and in the book it is at least {least}"),
        }
    }
}

#[cfg(test)]
mod tests;
