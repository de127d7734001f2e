//! The algorithms of a family side by side: what the book says of each, and what was measured.
//!
//! What was measured may come from the simulator ([`simulate`]) or from real processes, which the crate `quorate-live`
//! runs: both end in the same summary and verdicts, and [`Measured`] holds both against the same [`Book`].
//!
//! ```
//! use quorate_lab::{compare, mutex};
//!
//! let settings = mutex::Settings { entries: 20, ..Default::default() };
//! for entry in compare::contenders(&[])? {
//!     let (book, measured) = compare::simulate(&compare::simulation(entry, 5, 1, &settings))?;
//!     assert_eq!(measured.is_exact(&book), Some(true));
//! }
//! # Ok::<(), quorate_lab::LabError>(())
//! ```

use crate::error::LabError;
use crate::experiment;
use crate::family::FamilyLab;
use crate::mutex::{Mutex, Settings};
use crate::spec::Spec;
use quorate_core::{Duration, Group};
use quorate_registry::{MutexEntry, all};
use quorate_sim::metrics::{Delay, MessageSummary};
use quorate_sim::mutex::MutexSummary;
use quorate_sim::property::{Kind, Verdict};
use quorate_sim::run::Ending;
use quorate_sim::settings::Latency;
use serde::Serialize;
use std::fmt;

/// The algorithms of these names, or all of the family that are meant to be right.
pub fn contenders(names: &[String]) -> Result<Vec<&'static MutexEntry>, LabError> {
    if names.is_empty() {
        return Ok(all().iter().filter_map(Mutex::entry).collect());
    }
    names.iter().map(|name| Spec::<Mutex>::new(name).validate()).collect()
}

/// The experiment that simulates one algorithm in a group of one size. A message takes 1 ms, always, so that delays come
/// out in message times, as the book counts them.
pub fn simulation(entry: &MutexEntry, nodes: usize, seed: u64, settings: &Settings) -> Spec<Mutex> {
    let latency = Latency::Fixed(Duration::from_millis(1));
    Spec { nodes, seed, latency, settings: settings.clone(), ..Spec::new(entry.facts.profile.name) }
}

/// Runs a simulation, and holds it against the book.
pub fn simulate(spec: &Spec<Mutex>) -> Result<(Book, Measured), LabError> {
    let book = Book::of(spec.validate()?, spec.nodes);
    let outcome = experiment::run(spec)?;
    let delays = Delays::InMessageTimes;
    let measured = Measured::new(&book, delays, outcome.ending, &outcome.summary, &outcome.messages, &outcome.verdicts);
    Ok((book, measured))
}

/// What the book says of an algorithm in a group of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Book {
    /// Messages an entry, as the book writes it.
    pub formula: &'static str,
    /// Messages an entry.
    pub messages_per_entry: u64,
    /// Messages an entry of the node that keeps the lock, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_messages_per_entry: Option<u64>,
    /// From asking to entering when nobody else wants in, in message times.
    pub client_delay: u64,
    /// From a leave to the next entry when exactly one waits, in message times.
    pub sync_delay: u64,
    /// Whether that is so in every run without faults. What is wrong on purpose is in no book.
    pub exact: bool,
}

impl Book {
    /// What the book says of this algorithm.
    pub fn of(algorithm: &MutexEntry, nodes: usize) -> Self {
        let (facts, cost) = (algorithm.facts, &algorithm.facts.cost);
        let has_keeper = (facts.keeper)(&Group::of_size(nodes)).is_some();
        Self {
            formula: cost.formula,
            messages_per_entry: (cost.messages)(nodes),
            own_messages_per_entry: has_keeper.then_some(cost.own_messages),
            client_delay: cost.client_delay,
            sync_delay: cost.sync_delay,
            exact: all().iter().any(|entry| entry.name() == facts.profile.name),
        }
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
    /// How the run ended.
    pub ending: Ending,
    /// How many entries there were.
    pub entries: u64,
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
    /// The properties that fail.
    pub breaches: Vec<Verdict>,
    /// The figures that are not the book's, if the book is exact and the run came to its end.
    pub differences: Vec<Difference>,
}

impl Measured {
    /// The figures of a run that was simulated or recorded.
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
            messages_per_entry: summary.others.map_or(all, |others| others.messages_per_entry),
            own_messages_per_entry: summary.own.and_then(|own| own.messages_per_entry),
            client_delay: summary.client_delay,
            sync_delay: summary.sync_delay,
            overtaken_max: summary.overtaken_max,
            busiest_share: messages.busiest_share,
            breaches: verdicts.iter().filter(|verdict| is_breach(verdict, ending)).cloned().collect(),
            differences: Vec::new(),
        };
        if book.exact && ending == Ending::Done {
            measured.differences = measured.compare(book, delays);
        }
        measured
    }

    /// Whether no property fails.
    pub fn holds(&self) -> bool {
        self.breaches.is_empty()
    }

    /// Whether every figure that was measured is the book's. Nobody can say so of a book that is not exact, or of a run
    /// that did not come to its end or in which nobody entered.
    pub fn is_exact(&self, book: &Book) -> Option<bool> {
        let is_judged = book.exact && self.ending == Ending::Done && self.entries > 0;
        is_judged.then_some(self.differences.is_empty())
    }

    fn compare(&self, book: &Book, delays: Delays) -> Vec<Difference> {
        let mean = |delay: Option<Delay>| delay.filter(|_| delays == Delays::InMessageTimes).map(|delay| delay.mean);
        let figures = [
            (Figure::Messages, self.messages_per_entry, Some(book.messages_per_entry)),
            (Figure::OwnMessages, self.own_messages_per_entry, book.own_messages_per_entry),
            (Figure::ClientDelay, mean(self.client_delay), Some(book.client_delay)),
            (Figure::SyncDelay, mean(self.sync_delay), Some(book.sync_delay)),
        ];
        let difference = |(figure, measured, book): (Figure, Option<f64>, Option<u64>)| {
            let (measured, book) = (measured?, book?);
            // Both are exact: a mean of equal whole numbers is that number.
            (measured != book as f64).then_some(Difference { figure, measured, book })
        };
        figures.into_iter().filter_map(difference).collect()
    }
}

/// Of a run that was stopped nobody can say what would have come of it.
fn is_breach(verdict: &Verdict, ending: Ending) -> bool {
    let is_judged = match verdict.kind {
        Kind::Always => true,
        Kind::Eventually => ending != Ending::Stopped,
        Kind::Sometimes => false,
    };
    is_judged && !verdict.holds
}

/// What is measured and in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Messages an entry.
    #[serde(rename = "messages_per_entry")]
    Messages,
    /// Messages an entry of the node that keeps the lock.
    #[serde(rename = "own_messages_per_entry")]
    OwnMessages,
    /// From asking to entering.
    ClientDelay,
    /// From a leave to the next entry.
    SyncDelay,
}

/// A figure that is not the book's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Which one.
    pub figure: Figure,
    /// What was measured.
    pub measured: f64,
    /// What the book says.
    pub book: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, measured, book } = self;
        match figure {
            Figure::Messages => write!(f, "an entry took {measured} messages, and in the book it takes {book}"),
            Figure::OwnMessages => {
                write!(f, "the coordinator's own entry took {measured} messages, and in the book it takes {book}")
            }
            Figure::ClientDelay => write!(f, "the client delay was {measured} T, and in the book it is {book} T"),
            Figure::SyncDelay => {
                write!(f, "the synchronization delay was {measured} T, and in the book it is {book} T")
            }
        }
    }
}

#[cfg(test)]
mod tests;
