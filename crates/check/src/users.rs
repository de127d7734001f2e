//! The users of a group: what they may ask of their nodes, and what properties see of them.

use crate::tables::Past;
use quorate_core::{NodeId, Time};
use std::fmt;
use std::hash::Hash;

/// The users of a family's nodes. Each node has one, whose state is part of the node's local state.
///
/// All that a family's properties are judged by is here, so that they are written once for all its algorithms.
pub trait Users {
    /// What the family's nodes are asked.
    type Command: Clone;
    /// What they tell.
    type Event;
    /// Where one user stands.
    type User: Clone + Eq + Hash + fmt::Debug + Send + Sync;

    /// Where a node's user stands at first.
    fn begin(&self, node: NodeId) -> Self::User;

    /// What a user may do next.
    fn offers(&self, user: &Self::User) -> Vec<Offer<Self::Command>>;

    /// A user hears something, or does something. The number of a property that this breaks is told to `story`.
    fn hear(&self, user: &mut Self::User, news: News<'_, Self::Command, Self::Event>, story: &mut Story);

    /// Whether a user waits for something that must come.
    fn waits(&self, user: &Self::User) -> bool;

    /// What properties of states see of a user, whose node may act or not.
    fn facet(&self, user: &Self::User, acts: bool) -> u64;

    /// What all users must come to together, by what they show, if there is such a thing. As long as it does not hold, it is waited for.
    fn accord(&self) -> Option<Judge> {
        None
    }

    /// Up to when a user holds what only one may hold at a time, by its node's own clock, if it does.
    fn term(&self, _user: &Self::User) -> Option<Time> {
        None
    }

    /// How often the group's view may change, if users remember only so many views.
    fn most_changes(&self) -> Option<u8> {
        None
    }

    /// The properties, each with its number as its place.
    fn properties(&self) -> Vec<Property>;
}

/// Something that a user may do.
pub struct Offer<C> {
    pub command: C,
    /// Whether a fair user does so sooner or later, as one inside leaves.
    pub obliged: bool,
}

/// What a user does or hears.
pub enum News<'a, C, E> {
    /// It gives its node a command.
    Commands(&'a C),
    /// Its node tells it something.
    Told(&'a E),
    Crashed,
    /// Its node is back, and knows nothing of what was asked.
    Restarted,
    /// The process of another node is gone, where users are told so.
    Gone(NodeId),
    /// It is back.
    Back(NodeId),
}

/// What is kept of a step for properties.
#[derive(Clone, Debug)]
pub struct Story {
    /// What properties about the past remember, in order.
    pub past: Vec<Past>,
    /// The number of the property that the step itself breaks.
    pub breach: Option<u8>,
    /// The true time at which it happens, where time counts.
    pub now: Time,
}

impl Story {
    /// That of a step at this instant, of which nothing is told yet.
    pub(crate) fn at(now: Time) -> Self {
        Self { past: Vec::new(), breach: None, now }
    }
}

/// Whether something holds in a state, by what the users show, one after the other.
pub type Judge = fn(&[u64]) -> bool;

/// Whether something holds in a state, by what the users show, one after the other, and by a number that the check has fixed.
pub type BoundedJudge = fn(&[u64], u64) -> bool;

/// One property of a family.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    pub name: &'static str,
    pub judged: Judged,
}

/// How a property is judged.
#[derive(Clone, Copy, Debug)]
pub enum Judged {
    /// By each state: by what the users show, one after the other.
    ByState(Judge),
    /// By each state: by what the users show, and by how much it may be at most.
    ByBound(BoundedJudge, u64),
    /// By each state in which nothing need happen any more: by what the users show. A run that goes on for ever is judged by
    /// another property, [`Judged::ByFairRuns`].
    ByEnds(Judge),
    /// By each step alone, which says itself that it breaks it.
    ByStep,
    /// By the fences of entries, which must grow.
    ByFences,
    /// By the happened-before order of requests, which entries must keep.
    ByOrder,
    /// By the results of elections, of which there must be one an epoch over all time.
    ByResults,
    /// By each state and the instant that it is: at most one user's term is not over.
    ByTerms,
    /// By states in which nothing need happen though somebody waits.
    ByDeadlock,
    /// By runs that go on for ever, or end, while somebody waits, or while there is no accord.
    ByFairRuns,
}

impl Judged {
    /// Whether only a search with memory of the past can judge it.
    pub(crate) fn is_about_the_past(&self) -> bool {
        match self {
            Self::ByFences | Self::ByOrder | Self::ByResults => true,
            Self::ByState(_)
            | Self::ByBound(..)
            | Self::ByEnds(_)
            | Self::ByStep
            | Self::ByTerms
            | Self::ByDeadlock
            | Self::ByFairRuns => false,
        }
    }

    /// Whether each state, or each step, can be judged by itself.
    pub(crate) fn is_seen_at_once(&self) -> bool {
        match self {
            Self::ByState(_)
            | Self::ByBound(..)
            | Self::ByEnds(_)
            | Self::ByStep
            | Self::ByTerms
            | Self::ByDeadlock => true,
            Self::ByFences | Self::ByOrder | Self::ByResults | Self::ByFairRuns => false,
        }
    }
}
