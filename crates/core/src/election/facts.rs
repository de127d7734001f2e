//! Properties and expected costs of an election algorithm, as data that tables print beside
//! measurements.

use crate::about::Profile;
use crate::model::{Links, Model};

/// The entry of one algorithm in the table of algorithms.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub cost: Cost,
    pub shape: Shape,
    pub links: Links,
    pub model: Model,
    /// Whether the algorithm tolerates lost, duplicated and reordered messages. If it does not,
    /// drivers run it over reliable links.
    pub tolerates_loss: bool,
    /// Whether the group can still elect a leader after a node has crashed.
    pub survives: bool,
    /// Whether leaders hold leases. If so, at most one leader holds a valid lease at a time.
    pub leases: bool,
    pub splits: Splits,
}

impl Facts {
    /// An algorithm with the usual properties: asynchronous, over reliable links, without leases.
    pub const fn new(profile: Profile, shape: Shape, cost: Cost) -> Self {
        Self {
            profile,
            cost,
            shape,
            links: Links::AnyOrder,
            model: Model::Asynchronous,
            tolerates_loss: false,
            survives: true,
            leases: false,
            splits: Splits::Never,
        }
    }
}

/// Whether an algorithm allows several leaders at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splits {
    /// One leader for the whole group.
    Never,
    /// Each side of a partition has its own leader; once the partition has healed, there is one
    /// leader again.
    WhileCut,
    /// Always several leaders, each responsible for a part of the nodes.
    ByDesign,
}

/// The structure that an election relies on. It determines which options apply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nodes form a ring, and the highest rank wins.
    Ring,
    /// Every node knows the ranks of all nodes, and the highest rank wins.
    Bully,
    /// Groups form and merge, each under its own coordinator.
    Groups,
    /// The candidate with enough votes wins, whatever its rank.
    Votes,
    /// Each region of an overlay has a leader: its first node.
    Regions,
}

/// The message cost of an election.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub formula: &'static str,
    /// Returns the expected number of messages in such a run; `None` if the literature gives no
    /// figure.
    pub expected: fn(&Case) -> Option<ExpectedMessages>,
}

/// Parameters of a run without failures, for which the literature may state a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub live: usize,
    pub dead: usize,
    pub starting: Starting,
}

impl Case {
    /// Returns the number of nodes that start an election.
    pub const fn starters(&self) -> usize {
        match self.starting {
            Starting::One | Starting::Lowest | Starting::Highest => 1,
            Starting::Several(starters) => starters,
            Starting::All => self.live,
        }
    }
}

/// The nodes that start an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    One,
    Lowest,
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

/// Expected number of messages of an election, over all ring orders and choices of starters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedMessages {
    pub counts: Counts,
    pub least: Option<f64>,
    pub mean: Option<f64>,
    /// The maximum, or an upper bound of it (see `tight`).
    pub most: Option<f64>,
    /// Whether some run reaches `most`; otherwise it is only an upper bound.
    pub tight: bool,
}

impl ExpectedMessages {
    /// Exactly this number of messages in every run.
    pub const fn exactly(counts: Counts, messages: f64) -> Self {
        Self { counts, least: Some(messages), mean: Some(messages), most: Some(messages), tight: true }
    }

    /// At most this number of messages; the bound need not be reached.
    pub const fn at_most(counts: Counts, messages: f64) -> Self {
        Self { counts, least: None, mean: None, most: Some(messages), tight: false }
    }
}

/// The messages that an expected figure counts. Textbooks differ in this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Counts {
    /// Messages that determine the winner.
    Election,
    /// These, and the messages that announce the winner.
    WithAnnouncement,
}

/// Message counts of an election. The announcement is counted separately, because textbooks differ
/// in whether they include it.
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

    /// Returns the number of messages that an expected figure with these `counts` refers to.
    pub const fn counted(self, counts: Counts) -> u64 {
        match counts {
            Counts::Election => self.election,
            Counts::WithAnnouncement => self.total(),
        }
    }
}
