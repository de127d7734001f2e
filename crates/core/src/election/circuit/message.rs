//! Messages of ring elections.

use super::{Rank, Side};
use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use alloc::vec::Vec;

/// Identifies a run: its epoch, and the nodes that it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Run {
    pub epoch: Epoch,
    /// Nodes that the starter suspected to have crashed, in the order of their numbers.
    pub without: Vec<NodeId>,
}

impl Run {
    /// Returns the epoch of the next run.
    pub fn next(&self) -> Epoch {
        Epoch(self.epoch.0.saturating_add(1))
    }
}

/// A message with the run that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Envelope<M> {
    pub run: Run,
    /// Number of the message; `None` if the sender wants no acknowledgement.
    pub number: Option<u64>,
    pub body: Body<M>,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Body<M> {
    /// A message of the contest, from the neighbour on this side of the receiver.
    Contest { from: Side, message: M },
    /// `leader` has won, and `by` announces it.
    Won { leader: NodeId, by: NodeId },
    /// Acknowledges the receiver's message with this number.
    Received(u64),
    /// The receiver is behind: the enclosed run is the sender's latest. `is_over` if it has ended.
    Behind { is_over: bool },
}

/// A rank that travels around the ring or to the next candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Claim(pub Rank);

impl Describe for Claim {
    fn kind(&self) -> &'static str {
        "election"
    }
}

impl<M: Describe> Describe for Envelope<M> {
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
