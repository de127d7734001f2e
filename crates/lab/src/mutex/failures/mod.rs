//! What becomes of the others when a node fails: they go on, they stop, or they are no longer safe.
//!
//! No book's figure tells that, so it is tried. Everyone asks at random times. Each seed is run once without faults; then it
//! is known who is inside, who waits and who wants nothing at every instant, and the same seed is run again with one of
//! these as the victim, struck at some such instant: up to there both runs are the same. Algorithms are in their
//! textbook form: over bare links, without anybody who notices that a node is gone.
//!
//! ```
//! use quorate_lab::mutex::compare::{Forms, contenders};
//! use quorate_lab::mutex::failures::{Fate, Harm, Inquiry, Victim, inquire};
//!
//! let [central] = contenders(&["central".into()], Forms::Usual)?[..] else { panic!() };
//! let findings = inquire(&Inquiry { runs: 5, ..Inquiry::of(central, 4) }, &mut || true)?;
//! let fate = |victim, harm| findings.iter().find(|found| found.victim == victim && found.harm == harm)?.tally.fate();
//! assert_eq!(fate(Victim::Idle, Harm::Dies), Some(Fate::GoesOn));
//! assert_eq!(fate(Victim::Coordinator, Harm::Dies), Some(Fate::Stops));
//! # Ok::<(), quorate_lab::LabError>(())
//! ```

mod story;
#[cfg(test)]
mod tests;

use crate::mutex::MutexEntry;
use crate::mutex::{Mutex, Settings};
use crate::{Care, JudgeFamily, LabError, LinkChoice, Spec, experiment};
use quorate_core::{Duration, NodeId};
use quorate_journal::property::Verdict;
use quorate_journal::settings::{Fault, Latency, Length, TimedFault, Unsynced};
use quorate_journal::workload::Ending;
use serde::Serialize;
use story::{Aftermath, Story};

/// Whom it hits. Where a node keeps the lock for all, it is the coordinator and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// The node that keeps the lock for all, while another is inside and a third one waits.
    Coordinator,
    Holder,
    Waiter,
    /// One who wants nothing, while another is inside.
    Idle,
}

impl Victim {
    pub const ALL: [Self; 4] = [Self::Coordinator, Self::Holder, Self::Waiter, Self::Idle];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::Holder => "holder",
            Self::Waiter => "waiter",
            Self::Idle => "idle node",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    Dies,
    /// It goes down, and comes back soon with nothing that it knew.
    Restarts,
}

impl Harm {
    pub const ALL: [Self; 2] = [Self::Dies, Self::Restarts];
}

/// What becomes of all who are up: the worst comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    GoesOn,
    Stops,
    Unsafe,
}

impl Fate {
    pub const fn name(self) -> &'static str {
        match self {
            Self::GoesOn => "goes on",
            Self::Stops => "stops",
            Self::Unsafe => "unsafe",
        }
    }
}

#[derive(Clone, Copy)]
pub struct Inquiry {
    pub algorithm: &'static MutexEntry,
    pub nodes: usize,
    pub runs: u64,
    pub seed: u64,
}

impl Inquiry {
    pub fn of(algorithm: &'static MutexEntry, nodes: usize) -> Self {
        Self { algorithm, nodes, runs: 200, seed: 1 }
    }

    fn keeper(&self) -> Option<NodeId> {
        (self.algorithm.facts.keeper)(&quorate_core::Group::of_size(self.nodes))
    }

    fn spec(&self, seed: u64) -> Spec<Mutex> {
        let latency = Latency::Uniform { least: Duration::from_micros(200), most: MESSAGE };
        // Some stay inside for so long that one who was struck is back before they leave.
        let hold = Latency::Uniform { least: MESSAGE, most: MESSAGE.times(20) };
        let entries = REQUESTS_A_NODE * self.nodes as u64;
        Spec {
            nodes: self.nodes,
            seed,
            latency,
            links: LinkChoice::Bare,
            until: Some(Length(MESSAGE.times(LONGEST + 40 * entries))),
            settings: Settings { entries, hold: Some(hold), ..Settings::default() },
            ..Spec::new(self.algorithm)
        }
    }
}

const MESSAGE: Duration = Duration::from_millis(1);
/// So many requests there are in a run for each node: enough for everyone to ask after the fault too.
const REQUESTS_A_NODE: u64 = 8;
/// Whoever is not served within so many message times waits for ever. Some ask again and again meanwhile.
const LONGEST: u64 = 4_000;
/// So many seeds are tried for each run that is wanted: not in all of them somebody stands as the victim should.
const SEEDS_A_RUN: u64 = 4;

#[derive(Clone, Debug)]
pub struct Finding {
    pub victim: Victim,
    pub harm: Harm,
    pub tally: Tally,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub goes_on: u64,
    pub stops: u64,
    pub breaks: u64,
    /// Runs in which a fence was not larger than one before it: a service that checks fences would have refused an entry.
    pub fences_back: u64,
    pub example: Option<Example>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    pub spec: Spec<Mutex>,
    pub fate: Fate,
    pub why: Option<String>,
}

impl Tally {
    pub const fn runs(&self) -> u64 {
        self.goes_on + self.stops + self.breaks
    }

    pub const fn count(&self, fate: Fate) -> u64 {
        match fate {
            Fate::GoesOn => self.goes_on,
            Fate::Stops => self.stops,
            Fate::Unsafe => self.breaks,
        }
    }

    /// The worst that became of them; nothing if there were no runs.
    pub fn fate(&self) -> Option<Fate> {
        [Fate::Unsafe, Fate::Stops, Fate::GoesOn].into_iter().find(|fate| self.count(*fate) > 0)
    }

    fn add(&mut self, example: Example, fences_back: bool) {
        let count = match example.fate {
            Fate::GoesOn => &mut self.goes_on,
            Fate::Stops => &mut self.stops,
            Fate::Unsafe => &mut self.breaks,
        };
        *count += 1;
        self.fences_back += u64::from(fences_back);
        if self.example.as_ref().is_none_or(|worst| worst.fate < example.fate) {
            self.example = Some(example);
        }
    }
}

/// Tries every kind of failure. `goes_on` is asked before each seed whether to go on; what was found until then is told.
pub fn inquire(inquiry: &Inquiry, goes_on: &mut dyn FnMut() -> bool) -> Result<Vec<Finding>, LabError> {
    let keeper = inquiry.keeper();
    let victims = Victim::ALL.into_iter().filter(|victim| *victim != Victim::Coordinator || keeper.is_some());
    let mut findings: Vec<_> =
        victims.flat_map(|victim| Harm::ALL.map(|harm| Finding { victim, harm, tally: Tally::default() })).collect();
    for seed in (0..SEEDS_A_RUN * inquiry.runs).map(|place| inquiry.seed.wrapping_add(place)) {
        let mut open = findings.iter_mut().filter(|found| found.tally.runs() < inquiry.runs).peekable();
        if open.peek().is_none() || !goes_on() {
            break;
        }
        let spec = inquiry.spec(seed);
        spec.validate()?;
        let story = Story::of(&spec, keeper);
        for Finding { victim, harm, tally } in open {
            if let Some(fault) = story.strike(*victim, *harm) {
                let spec = Spec { faults: vec![fault], ..spec.clone() };
                if let Some((example, fences_back)) = run(spec) {
                    tally.add(example, fences_back);
                }
            }
        }
    }
    Ok(findings)
}

/// Runs a seed with its fault. A run in which all is well, but not everyone asked after the fault, shows nothing.
fn run(spec: Spec<Mutex>) -> Option<(Example, bool)> {
    let properties = Mutex::properties(&spec, Care::Verdicts);
    let played = experiment::play(&spec, (properties, Aftermath::new(spec.nodes)));
    let (properties, aftermath) = played.observer;
    let verdicts = properties.verdicts();
    let breach = |name: &str| verdicts.iter().find(|verdict| verdict.name == name && verdict.holds == Some(false));
    let (fate, breach_of) = match (breach("exclusion"), played.ending) {
        (Some(breach), _) => (Fate::Unsafe, Some(breach)),
        (None, Ending::Stuck | Ending::Stopped) => (Fate::Stops, breach("served")),
        (None, Ending::Done) if aftermath.has_heard_all() => (Fate::GoesOn, None),
        (None, Ending::Done) => return None,
    };
    let fences_back = breach("fences-grow").is_some();
    Some((Example { spec, fate, why: breach_of.and_then(why) }, fences_back))
}

fn why(verdict: &Verdict) -> Option<String> {
    verdict.violation.as_ref().map(|violation| violation.text.clone())
}

/// A node goes down at an instant, and comes back after a while if it only restarts.
fn fault(node: NodeId, at: Duration, lasts: Option<Duration>) -> TimedFault {
    TimedFault { at, lasts, fault: Fault::Crash { node, unsynced: Unsynced::Lost } }
}
