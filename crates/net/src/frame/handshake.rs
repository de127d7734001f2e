//! What two nodes say to each other before the first message, and why they may part at once.

use super::error::malformed;
use super::{FrameError, Header};
use crate::group::GroupName;
use quorate_core::{Incarnation, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

const MOST_NAME: usize = 128;

/// Which attempt of a node's life to reach a certain other it is, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dial(pub u64);

impl Dial {
    /// No attempt.
    pub const NONE: Self = Self(0);

    /// The attempt after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number that a process draws when it starts and that no other draws: two processes that say that they are the same
/// life of a node are told apart by it.
///
/// Without it a node that is started again as the same life, with its numbers from 1 again, would have all it sends
/// taken for repetitions and thrown away without a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Birth(pub u64);

/// The first frame of the node that dialled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The name of its group: the header's number could be that of another name, too.
    pub group: String,
    pub algorithm: String,
    pub format: u32,
    pub to: NodeId,
    pub members: u32,
    pub dial: Dial,
    /// The last attempt that it welcomed of the life that it `knows` of us.
    pub welcomed: Dial,
    /// Our life that it met last, to which the header's acknowledgement refers.
    pub knows: Option<Incarnation>,
    pub birth: Birth,
}

/// The answer to a [`Hello`] that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub dial: Dial,
    /// Our life, to which the header's acknowledgement refers.
    pub knows: Incarnation,
    pub birth: Birth,
}

/// Why a node does not want a connection. The words are for whoever reads the log of the node that dialled.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Refusal {
    #[error(
        "The other node belongs to the group '{}'. Nothing was exchanged; start both with the same --group, or \
         correct its address.", .group.escape_debug()
    )]
    OtherGroup { group: String },
    #[error(
        "The other node runs {}. Nothing was exchanged; start every node of the group with the same algorithm.",
        .algorithm.escape_debug()
    )]
    OtherAlgorithm { algorithm: String },
    #[error(
        "The other node writes messages in version {format}. Nothing was exchanged; run releases on both nodes that \
         agree about the version."
    )]
    OtherFormat { format: u32 },
    #[error(
        "The other node knows a group of {members} nodes. Nothing was exchanged; start every node with the same \
         nodes in --peers."
    )]
    OtherSize { members: u32 },
    #[error("Node {me} is at this address. Nothing was exchanged; correct the addresses in --peers.")]
    NotMe { me: NodeId },
    #[error(
        "The node at this address is node {me} as well, or this very process. Nothing was exchanged; give every node \
         a number and an address of its own."
    )]
    Myself { me: NodeId },
    #[error(
        "The other node knows a group of {members} nodes, and this one has a higher number. Nothing was exchanged; \
         start every node with the same nodes in --peers."
    )]
    NotAMember { members: u32 },
    #[error("The other node dials this one at the same moment, and its attempt goes first. Nothing was lost.")]
    Crossed,
    #[error("The other node has seen this attempt or a later one. Nothing was lost; the next attempt counts.")]
    Stale,
    #[error(
        "The other node has met life {known} of this node, which is later than this one. Nothing was exchanged; stop \
         this process, or start it as a later life."
    )]
    OldLife { known: Incarnation },
    #[error(
        "The other node has met another process that said that it was life {known} of this node. Nothing was \
         exchanged; stop one of the two, and start this one as a later life (--life, or a data folder of its own)."
    )]
    TwinLife { known: Incarnation },
    #[error(
        "The node at this address is life {mine} of itself, and this node has met a later one. Nothing was exchanged; \
         stop the older process."
    )]
    Outlived { mine: Incarnation },
    #[error("The other node is busy with too many greetings. Nothing was lost; this one tries again.")]
    Crowded,
    #[error("The other node is stopping. Nothing was lost; this one tries again.")]
    Stopping,
}

impl Refusal {
    /// Does it pass by itself? Everything else stays until a person does something about it.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Crossed | Self::Stale | Self::Crowded | Self::Stopping)
    }

    pub(super) fn bounded(self) -> Result<Self, FrameError> {
        match &self {
            Self::OtherGroup { group: name } | Self::OtherAlgorithm { algorithm: name } => bound("refusal", name)?,
            Self::OtherFormat { .. }
            | Self::OtherSize { .. }
            | Self::NotMe { .. }
            | Self::Myself { .. }
            | Self::NotAMember { .. }
            | Self::Crossed
            | Self::Stale
            | Self::OldLife { .. }
            | Self::TwinLife { .. }
            | Self::Outlived { .. }
            | Self::Crowded
            | Self::Stopping => {}
        }
        Ok(self)
    }
}

impl Hello {
    pub(super) fn bounded(self) -> Result<Self, FrameError> {
        bound("greeting", &self.group)?;
        bound("greeting", &self.algorithm)?;
        Ok(self)
    }
}

fn bound(what: &'static str, name: &str) -> Result<(), FrameError> {
    if name.len() > MOST_NAME {
        return Err(malformed(what, format!("a name in it has {} bytes, and {MOST_NAME} are the most", name.len())));
    }
    Ok(())
}

/// What a node must have in common with every node that it meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub group: GroupName,
    pub algorithm: String,
    pub format: u32,
    pub me: NodeId,
    pub members: u32,
}

impl Terms {
    /// Is this greeting meant for us, by one of our group? Whether it comes at the right moment, a
    /// [`Meeting`](crate::meeting::Meeting) says.
    pub fn judge(&self, header: &Header, hello: &Hello) -> Result<(), Refusal> {
        let (me, members) = (self.me, self.members);
        if header.group != self.group.number() || hello.group != self.group.as_str() {
            Err(Refusal::OtherGroup { group: self.group.as_str().to_owned() })
        } else if hello.to != me {
            Err(Refusal::NotMe { me })
        } else if header.sender == me {
            Err(Refusal::Myself { me })
        } else if hello.algorithm != self.algorithm {
            Err(Refusal::OtherAlgorithm { algorithm: self.algorithm.clone() })
        } else if hello.format != self.format {
            Err(Refusal::OtherFormat { format: self.format })
        } else if header.sender.number() > members {
            Err(Refusal::NotAMember { members })
        } else if hello.members != members {
            Err(Refusal::OtherSize { members })
        } else {
            Ok(())
        }
    }
}
