//! What nodes round a ring send each other.

use super::{Rank, Side};
use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use alloc::vec::Vec;

/// A run: its number, and those whom it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Run {
    pub epoch: Epoch,
    /// Who is taken for dead by whoever began it, in the order of their numbers.
    pub without: Vec<NodeId>,
}

impl Run {
    /// The number of the run after this one.
    pub fn next(&self) -> Epoch {
        Epoch(self.epoch.0.saturating_add(1))
    }
}

/// A message, and the run that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Letter<M> {
    pub run: Run,
    /// Its number among those that the sender wants acknowledged, if it does.
    pub number: Option<u64>,
    pub body: Body<M>,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Body<M> {
    /// The contest's own message, from the neighbour on this side of the receiver.
    Contest { from: Side, message: M },
    /// The leader has won, and `by` announces it.
    Won { leader: NodeId, by: NodeId },
    /// The receiver's message of this number has arrived.
    Received(u64),
    /// The receiver is late: the run is the sender's latest.
    Behind { is_over: bool },
}

/// A rank on its way round the ring, or to the next candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Claim(pub Rank);

impl Describe for Claim {
    fn kind(&self) -> &'static str {
        "election"
    }
}

impl<M: Describe> Describe for Letter<M> {
    fn kind(&self) -> &'static str {
        match &self.body {
            Body::Contest { message, .. } => message.kind(),
            Body::Won { .. } => "elected",
            Body::Received(_) => "received",
            Body::Behind { .. } => "behind",
        }
    }

    fn class(&self) -> Class {
        match &self.body {
            Body::Contest { message, .. } => message.class(),
            Body::Won { .. } => Class::Announcement,
            Body::Received(_) | Body::Behind { .. } => Class::Control,
        }
    }
}
