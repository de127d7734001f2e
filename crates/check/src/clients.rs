//! The clients of a group: the commands they may give, and the part of their state that properties
//! inspect.

use crate::tables::PastEvent;
use quorate_core::{NodeId, Time};
use std::fmt;
use std::hash::Hash;

/// The clients of a family's nodes. Each node has one client, whose state is part of the node's
/// local state.
///
/// An implementation defines everything that a family's properties depend on, once for all its
/// algorithms.
pub trait Clients {
    /// Commands that the family's nodes accept.
    type Command: Clone;
    /// Events that the family's nodes emit.
    type Event;
    /// The state of one client.
    type Client: Clone + Eq + Hash + fmt::Debug + Send + Sync;

    /// Returns the initial state of a node's client.
    fn initial(&self, node: NodeId) -> Self::Client;

    /// Returns the commands that a client may give next.
    fn offers(&self, client: &Self::Client) -> Vec<Offer<Self::Command>>;

    /// Updates a client when it acts or observes something. If this violates a property, the
    /// implementation stores the property's number in `record.violation`. It appends the events
    /// that properties about the past remember to `record.past`.
    fn observe(
        &self,
        client: &mut Self::Client,
        step: ClientStep<'_, Self::Command, Self::Event>,
        record: &mut StepRecord,
    );

    /// Whether the client waits for something that must eventually happen.
    fn is_waiting(&self, client: &Self::Client) -> bool;

    /// Returns the part of a client's state that state properties inspect. `may_act` is whether its
    /// node may act, that is, whether the node needs no lease or its lease is valid.
    fn facet(&self, client: &Self::Client, may_act: bool) -> u64;

    /// A condition over all clients' facets that must eventually hold, if there is one. While it
    /// does not hold, the checker treats the group as waiting.
    fn goal(&self) -> Option<StateCondition> {
        None
    }

    /// The time, by the node's own clock, until which the client holds something exclusive; `None`
    /// if it holds nothing.
    fn held_until(&self, _client: &Self::Client) -> Option<Time> {
        None
    }

    /// Maximum number of view changes that the clients can keep track of; `None` if there is no
    /// limit.
    fn max_view_changes(&self) -> Option<u8> {
        None
    }

    /// Returns the properties, at most 32 (a set of them is a `u32`); a property's number is its
    /// index.
    fn properties(&self) -> Vec<Property>;
}

/// A command that a client may give next.
pub struct Offer<C> {
    pub command: C,
    /// Whether a fair client eventually gives this or another obliged command, as a holder
    /// eventually releases.
    pub is_obliged: bool,
}

/// Something that a client does or observes.
pub enum ClientStep<'a, C, E> {
    /// The client gives its node a command.
    Issued(&'a C),
    /// The client's node emits an event.
    Emitted(&'a E),
    /// The client's node crashes.
    Crashed,
    /// The client's node restarts and has lost all pending requests.
    Restarted,
    /// A notice arrives that the process of another node crashed. Notices are sent only if
    /// [`CrashNotices`](crate::CrashNotices) asks for them.
    PeerCrashed(NodeId),
    /// A notice arrives that the process of another node restarted.
    PeerRestarted(NodeId),
}

/// A record of one step, for properties.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// Events that properties about the past remember, in order.
    pub past: Vec<PastEvent>,
    /// The number of the property that the step itself violates, if any.
    pub violation: Option<u8>,
    /// The true time of the step, where time is modelled.
    pub now: Time,
}

impl StepRecord {
    /// An empty record of a step at this instant.
    pub(crate) fn empty_at(now: Time) -> Self {
        Self { past: Vec::new(), violation: None, now }
    }
}

/// A condition on states: receives the facet of each client in order, and returns whether it holds.
pub type StateCondition = fn(&[u64]) -> bool;

/// A condition on states with a bound: receives the facet of each client in order and the bound of
/// [`Judged::ByBound`], and returns whether it holds.
pub type BoundedStateCondition = fn(&[u64], u64) -> bool;

/// A property of a family, and how it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    pub name: &'static str,
    pub judged: Judged,
}

/// How the checker judges a property.
#[derive(Clone, Copy, Debug)]
pub enum Judged {
    /// In each state, by the clients' facets.
    ByState(StateCondition),
    /// In each state, by the clients' facets and an upper bound.
    ByBound(BoundedStateCondition, u64),
    /// In each state in which a run may end, by the clients' facets. A run may end where nothing is
    /// obliged to happen, such as a delivery, a timer or an obliged command. Infinite runs are the
    /// subject of [`Judged::ByFairRuns`].
    ByEnds(StateCondition),
    /// In each step alone: the step itself reports the violation.
    ByStep,
    /// By the fences of entries: each must exceed those of earlier conflicting entries.
    ByFences,
    /// By the happened-before order of requests, which conflicting entries must respect.
    ByOrder,
    /// By the results of elections: at most one leader per epoch over the whole run.
    ByResults,
    /// In each state and instant: at most one client holds something exclusive.
    ByExclusiveHolds,
    /// In states in which no progress is possible, not even by an optional command, although a
    /// client waits or [`Clients::goal`] does not hold.
    ByDeadlock,
    /// By runs that continue forever, or end, while a client waits or [`Clients::goal`] does not
    /// hold.
    ByFairRuns,
}

impl Judged {
    /// Whether only a search with memory of the past can judge the property.
    pub(crate) fn is_about_the_past(&self) -> bool {
        match self {
            Self::ByFences | Self::ByOrder | Self::ByResults => true,
            Self::ByState(_)
            | Self::ByBound(..)
            | Self::ByEnds(_)
            | Self::ByStep
            | Self::ByExclusiveHolds
            | Self::ByDeadlock
            | Self::ByFairRuns => false,
        }
    }

    /// Whether each state or step can be judged alone.
    pub(crate) fn is_judged_state_by_state(&self) -> bool {
        match self {
            Self::ByState(_)
            | Self::ByBound(..)
            | Self::ByEnds(_)
            | Self::ByStep
            | Self::ByExclusiveHolds
            | Self::ByDeadlock => true,
            Self::ByFences | Self::ByOrder | Self::ByResults | Self::ByFairRuns => false,
        }
    }
}
