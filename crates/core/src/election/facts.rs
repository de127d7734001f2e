//! Properties and expected costs of an election algorithm, as data that tables print beside
//! measurements.

use crate::about::Profile;
use crate::model::{Links, Model};

/// The properties and expected costs of one algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub cost: Cost,
    pub structure: Structure,
    /// The order of messages on links that the algorithm assumes.
    pub links: Links,
    /// The bounds on delays that the algorithm assumes, if any.
    pub model: Model,
    /// Whether the algorithm tolerates lost, duplicated and reordered messages. If it does not,
    /// drivers run it over reliable links.
    pub tolerates_loss: bool,
    /// Whether the group can still elect a leader after a node has crashed.
    pub survives_crashes: bool,
    /// Whether leaders hold leases. If so, at most one leader holds a valid lease at a time.
    pub has_leases: bool,
    pub splits: Splits,
}

impl Facts {
    /// Creates the facts of an algorithm with the usual properties: asynchronous, over reliable
    /// links in any order, without leases, with one leader that is replaced after a crash.
    pub const fn new(profile: Profile, structure: Structure, cost: Cost) -> Self {
        Self {
            profile,
            cost,
            structure,
            links: Links::AnyOrder,
            model: Model::Asynchronous,
            tolerates_loss: false,
            survives_crashes: true,
            has_leases: false,
            splits: Splits::Never,
        }
    }
}

/// When several leaders may exist at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splits {
    /// The whole group has one leader.
    Never,
    /// Each side of a partition has its own leader; once the partition has healed, there is one
    /// leader again.
    WhilePartitioned,
    /// There are always several leaders, each responsible for a part of the nodes.
    ByDesign,
}

/// The structure that an election relies on. Determines which options apply to the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Nodes form a ring, and the highest rank wins.
    Ring,
    /// Every node knows the ranks of all nodes, and the highest rank wins.
    Bully,
    /// The nodes form several groups, which merge, each under its own coordinator.
    Groups,
    /// The candidate with enough votes or permissions wins, whatever its rank.
    Votes,
    /// Each region of an overlay has a leader: its first node.
    Regions,
}

/// The message cost of an election.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The number of messages as a formula, to print.
    pub formula: &'static str,
    /// Returns the expected number of messages in a case; `None` if there is no figure for it.
    pub expected_messages: fn(&Case) -> Option<ExpectedMessages>,
}

/// The parameters of an election during which no node fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub live_nodes: usize,
    /// Nodes that are down from the start.
    pub dead_nodes: usize,
    pub starting: Starting,
}

impl Case {
    /// Returns the number of nodes that start an election.
    pub const fn starter_count(&self) -> usize {
        match self.starting {
            Starting::One | Starting::Lowest | Starting::Highest => 1,
            Starting::Several(starters) => starters,
            Starting::All => self.live_nodes,
        }
    }
}

/// The nodes that start an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    /// One node of any rank.
    One,
    /// The live node of lowest rank.
    Lowest,
    /// The live node of highest rank.
    Highest,
    /// This number of nodes at once, but not all of them.
    Several(usize),
    All,
}

impl Starting {
    /// Returns whether exactly one node starts.
    pub const fn is_one(self) -> bool {
        matches!(self, Self::One | Self::Lowest | Self::Highest)
    }
}

/// The expected number of messages of an election in one [`Case`], over all choices of starters
/// that the case allows and, on a ring, all orders of the nodes. A figure is `None` if it is not
/// known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedMessages {
    pub counts: Counts,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    /// The maximum, or only an upper bound of it (see `is_max_reached`).
    pub max: Option<f64>,
    /// Whether some election is known to take `max` messages.
    pub is_max_reached: bool,
}

impl ExpectedMessages {
    /// Returns the figures of elections that all take this number of messages.
    pub const fn exactly(counts: Counts, messages: f64) -> Self {
        Self { counts, min: Some(messages), mean: Some(messages), max: Some(messages), is_max_reached: true }
    }

    /// Returns an upper bound that no election need reach.
    pub const fn at_most(counts: Counts, messages: f64) -> Self {
        Self { counts, min: None, mean: None, max: Some(messages), is_max_reached: false }
    }
}

/// The messages that an expected figure counts. Textbooks differ in whether they count the
/// announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Counts {
    /// Only messages that determine the winner.
    Election,
    /// Messages that determine the winner, and messages that announce it.
    WithAnnouncement,
}

/// The measured numbers of messages of an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub election: u64,
    pub announcement: u64,
}

impl Tally {
    /// Returns the sum of both counts.
    pub const fn total(self) -> u64 {
        self.election.saturating_add(self.announcement)
    }

    /// Returns the number of messages to compare with an expected figure that uses these `counts`.
    pub const fn count(self, counts: Counts) -> u64 {
        match counts {
            Counts::Election => self.election,
            Counts::WithAnnouncement => self.total(),
        }
    }
}
