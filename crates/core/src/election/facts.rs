//! What the book says of an election, as data: tables print it beside what was measured.

use crate::about::Profile;
use crate::model::{Links, Model};

/// An algorithm's line in the book's table.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub cost: Cost,
    pub shape: Shape,
    pub links: Links,
    pub model: Model,
    /// Whether it copes by itself with messages that are lost, repeated or out of order. Where it does not, reliable
    /// links are put under it.
    pub tolerates_loss: bool,
    pub survives: bool,
    /// Whether its leaders lead by leases: then no two may lead at once, by their own clocks.
    pub leases: bool,
    pub splits: Splits,
}

impl Facts {
    /// An algorithm like most: it runs in the asynchronous model over links that lose nothing, without leases.
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

/// Whether there are several leaders on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splits {
    /// There is to be one for all.
    Never,
    /// Each part of a group that is cut in two has its own. When the cut has healed there is one for all again.
    WhileCut,
    /// There are always several, each for some.
    ByDesign,
}

/// What shapes an election, and thereby which options mean something to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nodes sit round a ring, and the highest rank wins.
    Ring,
    /// Everyone knows everyone's rank, and the highest wins.
    Bully,
    /// Groups form and merge, each under its coordinator.
    Groups,
    /// Votes decide, whoever gets them.
    Votes,
    /// Each region of an overlay has a leader, its first node.
    Regions,
}

/// What an election costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub formula: &'static str,
    /// What the book says of such a run, if it says anything.
    pub book: fn(&Case) -> Option<Book>,
}

/// A run whose cost a book may know: nothing fails while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub live: usize,
    pub dead: usize,
    pub starting: Starting,
}

impl Case {
    /// How many start.
    pub const fn starters(&self) -> usize {
        match self.starting {
            Starting::One | Starting::Lowest | Starting::Highest => 1,
            Starting::Several(starters) => starters,
            Starting::All => self.live,
        }
    }
}

/// Who starts an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    One,
    Lowest,
    Highest,
    /// So many at once, but not all.
    Several(usize),
    All,
}

impl Starting {
    /// Whether one node starts alone.
    pub const fn is_one(self) -> bool {
        matches!(self, Self::One | Self::Lowest | Self::Highest)
    }
}

/// What the book says of the messages of an election, over all ways in which nodes may sit and start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Book {
    pub counts: Counts,
    pub least: Option<f64>,
    pub mean: Option<f64>,
    /// The most, or what they never exceed.
    pub most: Option<f64>,
    /// Whether the most does come about; else it is a bound only.
    pub tight: bool,
}

impl Book {
    /// Always exactly so many.
    pub const fn exactly(counts: Counts, messages: f64) -> Self {
        Self { counts, least: Some(messages), mean: Some(messages), most: Some(messages), tight: true }
    }

    /// Never more than that.
    pub const fn at_most(counts: Counts, messages: f64) -> Self {
        Self { counts, least: None, mean: None, most: Some(messages), tight: false }
    }
}

/// Which messages a book counts. Textbooks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Counts {
    /// Those that find the winner.
    Election,
    /// Those too that tell who it is.
    WithAnnouncement,
}

/// Messages of an election. Textbooks differ in whether they count the announcement, so the two are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub election: u64,
    pub announcement: u64,
}

impl Tally {
    /// Both together.
    pub const fn total(self) -> u64 {
        self.election.saturating_add(self.announcement)
    }

    /// Those that a book counts.
    pub const fn counted(self, counts: Counts) -> u64 {
        match counts {
            Counts::Election => self.election,
            Counts::WithAnnouncement => self.total(),
        }
    }
}
