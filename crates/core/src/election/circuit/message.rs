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
    /// Nodes that the starter considered dead, in the order of their numbers.
    #[cfg_attr(feature = "serde", serde(rename = "without"))]
    pub left_out: Vec<NodeId>,
}

impl Run {
    /// Returns the epoch of the next run.
    pub fn next_epoch(&self) -> Epoch {
        Epoch(self.epoch.0.saturating_add(1))
    }
}

/// A message with the run that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Envelope<M> {
    pub run: Run,
    /// Number for the acknowledgement; `None` if the sender wants none.
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
    /// `leader` has won, and `announcer` announces it.
    Won {
        leader: NodeId,
        #[cfg_attr(feature = "serde", serde(rename = "by"))]
        announcer: NodeId,
    },
    /// Acknowledges the receiver's message with this number.
    #[cfg_attr(feature = "serde", serde(rename = "received"))]
    Acknowledgement(u64),
    /// The receiver missed the envelope's run, or the run leaves it out. The run is the sender's
    /// latest; `is_over` tells whether it has ended.
    Behind { is_over: bool },
}

/// A message of a contest that consists of a rank alone. It travels around the ring or to the next
/// candidate.
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
            Body::Acknowledgement(_) => "acknowledgement",
            Body::Behind { .. } => "behind",
        }
    }

    fn class(&self) -> Class {
        match &self.body {
            Body::Contest { message, .. } => message.class(),
            Body::Won { .. } => Class::Announcement,
            Body::Acknowledgement(_) | Body::Behind { .. } => Class::Control,
        }
    }
}
