//! The input of a check (group, faults, effort) and its result.

use crate::breadth::SearchEnd;
use crate::membership::Views;
use crate::notices::CrashNotices;
use crate::replay::Counterexample;
use crate::walk::Walks;
use quorate_core::{Span, Time};
use quorate_journal::property::PropertyKind;

/// The group to check, and the faults that may occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    pub nodes: usize,
    /// Whether each link delivers messages in the order they were sent.
    pub has_fifo_links: bool,
    /// How many messages the network may lose in a run. The following fields limit other faults in
    /// the same way.
    pub losses: u8,
    pub duplicates: u8,
    pub crashes: u8,
    pub restarts: u8,
    /// How many timers may fire while messages are in flight, where time is not modelled. All other
    /// timers fire only when no message is in flight.
    pub early_timers: u8,
    /// The model of time. If `None`, time does not pass, and timers may fire in any order, whatever
    /// their spans, within the limit of `early_timers`.
    pub timing: Option<Timing>,
    /// How views change, if the group has views. Its nodes then receive views and leases as inputs.
    pub views: Option<Views>,
    /// Which parties are notified when a node crashes or restarts.
    pub crash_notices: CrashNotices,
    /// Whether a save is durable at once; ignored unless `restarts` is 0. Without restarts, a slow
    /// disk only changes the order of events, which the check need not explore.
    pub has_prompt_disks: bool,
    /// Whether a crash may interrupt sends: from the crash until the restart, any message in flight
    /// that the node sent may be lost, without counting as one of `losses`; on a FIFO link, a
    /// message only together with all later ones of the link.
    pub crash_interrupts_sends: bool,
}

impl Setup {
    /// A group of this size without faults.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            has_fifo_links: false,
            losses: 0,
            duplicates: 0,
            crashes: 0,
            restarts: 0,
            early_timers: 0,
            timing: None,
            views: None,
            crash_notices: CrashNotices::Off,
            has_prompt_disks: false,
            crash_interrupts_sends: false,
        }
    }
}

/// A model of time: timers fire within their spans, by clocks that drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// By how much each clock runs too fast or too slow, in parts per million. The check tries both
    /// directions for every node.
    pub drift_ppm: u32,
    /// The last instant to which the check advances time.
    pub until: Time,
    /// The shortest and longest delay of a message. If `None`, a message may arrive at any instant
    /// from its sending on.
    pub delay: Option<Span>,
}

impl Timing {
    /// Exact clocks and unbounded message delays, up to this instant.
    pub const fn until(until: Time) -> Self {
        Self { drift_ppm: 0, until, delay: None }
    }
}

/// How to search, and within which limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    pub search: Search,
    pub threads: usize,
    /// Memory limit in bytes.
    pub memory_limit: u64,
    /// Whether to skip interleavings that differ only in the order of independent steps. Ignored by
    /// random walks, and by a depth-first search with several threads.
    pub reduce: bool,
    /// Whether to stop soon after the first violation of any property.
    pub stop_at_first: bool,
    /// Names of the properties to judge; all if `None`. A name that no property has is ignored.
    pub properties: Option<Vec<String>>,
}

/// The order in which states are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Level by level, for shortest counterexamples and liveness.
    Breadth,
    /// Deepest states first, which takes less memory than level by level.
    Depth,
    /// Random walks, for state spaces too large to explore completely.
    Walks(Walks),
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Findings {
    /// `Stopped` if any search ended so; otherwise why the first incomplete search ended, and
    /// `Complete` if every search was complete.
    pub end: SearchEnd,
    /// The main search, over the group's states.
    pub main_pass: Pass,
    /// The separate search for properties about the past (such as the order of requests), if there
    /// was one. Its states also contain history variables.
    pub past_pass: Option<Pass>,
    /// The search for infinite fair runs, if it was needed.
    pub fair_pass: Option<Pass>,
    /// Number of random walks taken; `None` for other searches.
    pub walk_count: Option<u64>,
    /// Whether a node set a timer. A depth-first search and random walks take only the initial
    /// states and the counterexamples into account.
    pub has_timers: bool,
    pub verdicts: Vec<Verdict>,
}

impl Findings {
    /// Whether no search ended early and every property was decided, except for properties that are
    /// out of scope ([`Verdict::is_out_of_scope`]).
    pub fn is_complete(&self) -> bool {
        let is_settled = |verdict: &Verdict| verdict.holds.is_some() || verdict.is_out_of_scope;
        self.end == SearchEnd::Complete && self.verdicts.iter().all(is_settled)
    }

    /// Whether any property is violated.
    pub fn has_violation(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.holds == Some(false))
    }

    /// Upper bound on the probability that two states shared a fingerprint, so the search
    /// skipped one of them.
    pub fn collision_probability(&self) -> f64 {
        let passes = [Some(&self.main_pass), self.past_pass.as_ref(), self.fair_pass.as_ref()];
        let probabilities = passes.into_iter().flatten().map(|pass| {
            let states = pass.states as f64;
            states * (states - 1.0).max(0.0) / 2.0 / 2.0_f64.powi(64)
        });
        probabilities.sum::<f64>().min(1.0)
    }
}

/// The measurements of one search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pass {
    pub end: SearchEnd,
    /// Number of distinct states; zero for random walks, which do not compare states.
    pub states: u64,
    /// Number of transitions taken, plus, except for random walks, the initial states.
    pub generated: u64,
    /// Number of steps of the longest path followed. Breadth-first, it is the largest distance of a
    /// state from the initial states.
    pub depth: u64,
    pub seconds: f64,
    /// Bytes kept per state, without the frontier; `None` for random walks.
    pub bytes_per_state: Option<f64>,
}

/// The verdict on one property.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub name: &'static str,
    pub kind: PropertyKind,
    /// Whether the property holds; `None` if the check could not decide.
    pub holds: Option<bool>,
    /// Why the check could not decide; `None` if it did.
    pub undecided_reason: Option<&'static str>,
    /// Whether the property may stay undecided: no search with this setup can decide it, and the
    /// caller did not ask for it by name.
    pub is_out_of_scope: bool,
    pub counterexample: Option<Counterexample>,
}

/// The part of a check that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The main search.
    States,
    /// The search with history variables, for properties about the past.
    Past,
    /// The search for fair runs on which a client waits forever, or the goal of all clients
    /// together (such as an elected leader) never holds.
    Fair,
    /// The search without reduction, for shortest counterexamples.
    Shortest,
}

/// The reason why a group cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckError {
    NoNodes,
    TooManyNodes {
        nodes: usize,
        max: usize,
    },
    /// Too many faults of one kind.
    TooManyFaults {
        option: &'static str,
        given: u8,
        max: u8,
    },
    /// The group has views, and time is modelled.
    TimedViews,
    /// More view changes than the clients can keep track of.
    TooManyChanges {
        given: u8,
        max: u8,
    },
    TooManyMessages {
        given: u64,
        max: usize,
        senders: usize,
    },
    /// More nodes, processes, resources or rounds than a check of the deadlock family allows.
    DeadlockGroupTooLarge {
        max_nodes: usize,
        max_resources: usize,
        /// With resources, the maximum of the rounds of all nodes together.
        max_rounds: u8,
    },
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNodes => f.write_str("--nodes must be at least 1; got 0. Use for example --nodes 3."),
            Self::TooManyNodes { nodes, max } => {
                write!(f, "--nodes must be at most {max} in a check; got {nodes}. For larger groups use 'quorate sweep'.")
            }
            Self::TimedViews => f.write_str(
                "views are checked without time: a lease may end at any moment, whatever its length. Omit --drift, --delay and --until.",
            ),
            Self::TooManyChanges { given, max } => {
                write!(f, "--changes must be at most {max} in a check of this group; got {given}.")
            }
            Self::DeadlockGroupTooLarge { max_nodes, max_resources, max_rounds } => write!(
                f,
                "the group is too large for a check: --nodes must be at most {max_nodes}, --processes 1, --resources at most \
                 {max_resources} and not more than there are nodes, and --rounds at most {max_rounds}; with resources, the rounds of \
                 all nodes together at most {max_rounds}."
            ),
            Self::TooManyMessages { given, max, senders } => {
                let senders = if *senders == 1 { "1 sender".into() } else { format!("{senders} senders") };
                write!(f, "--messages must be at most {max} in a check with {senders}; got {given}.")
            }
            Self::TooManyFaults { option, given, max } => {
                write!(f, "{option} must be at most {max} in a check; got {given}.")
            }
        }
    }
}

impl std::error::Error for CheckError {}
