//! What a check is asked to do, and what it found.

use crate::breadth::End;
use crate::deaths::Deaths;
use crate::membership::Views;
use crate::play::Counterexample;
use crate::walk::Walks;
use quorate_core::{Span, Time};
use quorate_journal::property::Kind;

/// The group and all that may happen to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    pub nodes: usize,
    /// Links keep the order of messages.
    pub fifo: bool,
    pub losses: u8,
    pub duplicates: u8,
    pub crashes: u8,
    pub restarts: u8,
    /// How many timers may fire although messages are under way, where time does not count. All others wait until
    /// nothing is.
    pub hasty_timers: u8,
    /// What time is like, where it counts. Else it stands still, and a timer fires at any time.
    pub timing: Option<Timing>,
    /// How views change, if the group has views. Its nodes are then told of them, and of their leases.
    pub views: Option<Views>,
    /// Who is told when a node goes down, and when it is back.
    pub deaths: Deaths,
    /// Whether what is saved is durable at once. Where nobody restarts, a slow disk changes nothing but the order of things, and orders
    /// that make no difference cost states.
    pub prompt_disks: bool,
    /// Whether a crash may come in the middle of a step's sending: whatever the node has under way when it goes down may be lost, each
    /// message by itself, or the latest ones of a link where links keep the order.
    pub cut_short: bool,
}

impl Setup {
    /// A group of this size to which nothing happens.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            fifo: false,
            losses: 0,
            duplicates: 0,
            crashes: 0,
            restarts: 0,
            hasty_timers: 0,
            timing: None,
            views: None,
            deaths: Deaths::Untold,
            prompt_disks: false,
            cut_short: false,
        }
    }
}

/// Time that counts: timers fire at the ends of their spans, on clocks that are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// By how much each clock runs too fast or too slow, in millionths. Both are tried for every node.
    pub drift_ppm: u32,
    /// How far time is followed.
    pub until: Time,
    /// How long a message is under way: at least, and at most. Unless given, it may arrive at any instant, the one at which it was sent too.
    pub delay: Option<Span>,
}

impl Timing {
    /// Exact clocks, and messages that arrive whenever they like.
    pub const fn until(until: Time) -> Self {
        Self { drift_ppm: 0, until, delay: None }
    }
}

/// How to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    pub search: Search,
    pub threads: usize,
    /// How many bytes it may take.
    pub memory: u64,
    /// Whether orders that make no difference are left out.
    pub reduce: bool,
    /// Whether to stop at the first breach.
    pub first: bool,
    /// Which properties are judged; all if not given.
    pub properties: Option<Vec<String>>,
}

/// In which order states are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Level by level, for shortest counterexamples and liveness.
    Breadth,
    /// Deep first, for little memory.
    Depth,
    /// At random, for spaces too large to see all of.
    Walks(Walks),
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Findings {
    pub end: End,
    /// The main search. It sees the group's states as they are.
    pub states: Pass,
    /// The search with memory of the past beside the states, if a property needs it.
    pub past: Option<Pass>,
    /// The search for fair runs that go on for ever, if it was needed.
    pub fair: Option<Pass>,
    pub walks: Option<u64>,
    /// Whether the nodes set timers.
    pub timers: bool,
    pub verdicts: Vec<Verdict>,
}

impl Findings {
    /// Whether every reachable state was seen, and every property judged that can be.
    pub fn is_complete(&self) -> bool {
        let settled = |verdict: &Verdict| verdict.holds.is_some() || verdict.out_of_scope;
        self.end == End::Complete && self.verdicts.iter().all(settled)
    }

    /// Whether any property is broken.
    pub fn is_broken(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.holds == Some(false))
    }

    /// How likely it is at most that two states shared a fingerprint, so that one of them was not looked at.
    pub fn collision(&self) -> f64 {
        let passes = [Some(&self.states), self.past.as_ref(), self.fair.as_ref()];
        let odds = passes.into_iter().flatten().map(|pass| {
            let states = pass.states as f64;
            states * (states - 1.0).max(0.0) / 2.0 / 2.0_f64.powi(64)
        });
        odds.sum::<f64>().min(1.0)
    }
}

/// The figures of one search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pass {
    pub end: End,
    /// Distinct states; none are told apart by random walks.
    pub states: u64,
    /// Transitions taken, and initial states.
    pub generated: u64,
    /// The longest of the shortest paths.
    pub depth: u64,
    pub seconds: f64,
    /// What it kept for each state, beyond the states that waited to be expanded.
    pub bytes_per_state: Option<f64>,
}

/// What came of one property.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it holds, if that is known.
    pub holds: Option<bool>,
    /// Why it is not known.
    pub unknown: Option<&'static str>,
    /// It is not known because no search of such a group can judge it, not because this one did not finish.
    pub out_of_scope: bool,
    pub counterexample: Option<Counterexample>,
}

/// What part of a check is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The main search.
    States,
    /// The search with memory of the past.
    Past,
    Fair,
    Shortest,
}

/// Why a group cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckError {
    NoNodes,
    TooManyNodes { most: usize },
    TooManyFaults { most: u8 },
    TimedViews,
    TooManyChanges { most: u8 },
    TooManyMessages { most: usize, of_one: usize },
    TooManyWaits { sites: usize, resources: usize, rounds: u8 },
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNodes => f.write_str("A group needs at least one node; --nodes 3 is a good start."),
            Self::TooManyNodes { most } => {
                write!(f, "Checking all orders of so many nodes is hopeless: at most {most} can be told apart.")
            }
            Self::TimedViews => f.write_str(
                "Views are checked without time: a lease may end at any moment, whatever its length. Leave --drift, --delay and --until out.",
            ),
            Self::TooManyChanges { most } => write!(f, "The views of such a group can change at most {most} times in a check."),
            Self::TooManyWaits { sites, resources, rounds } => write!(
                f,
                "Checking all graphs of so many would never end: it takes at most {sites} nodes with one process each, {resources} resources on \
                 nodes of their own, and {rounds} rounds; where there are resources, {rounds} of all nodes together."
            ),
            Self::TooManyMessages { most, of_one } => write!(
                f,
                "Checking all orders of so many messages is hopeless: at most {most} are told apart, and at most {of_one} of one sender.",
            ),
            Self::TooManyFaults { most } => write!(f, "Each kind of fault can happen at most {most} times in a check."),
        }
    }
}

impl std::error::Error for CheckError {}
