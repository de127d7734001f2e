//! What two nodes say to each other before the first message, and why they may part at once.

use super::error::malformed;
use super::{FrameError, Header};
use crate::group::GroupName;
use quorate_core::{Incarnation, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// How long a name in a greeting may be, in bytes.
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
    /// What it runs.
    pub algorithm: String,
    /// The version in which it writes messages.
    pub format: u32,
    /// Whom it wants to reach.
    pub to: NodeId,
    /// How many nodes its group has.
    pub members: u32,
    /// Which attempt this is.
    pub dial: Dial,
    /// The last attempt that it welcomed of the life that it `knows` of us.
    pub welcomed: Dial,
    /// Our life that it met last, to which the header's acknowledgement refers.
    pub knows: Option<Incarnation>,
    /// Which process it is.
    pub birth: Birth,
}

/// The answer to a [`Hello`] that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The attempt that it answers.
    pub dial: Dial,
    /// Our life, to which the header's acknowledgement refers.
    pub knows: Incarnation,
    /// Which process it is.
    pub birth: Birth,
}

/// Why a node does not want a connection. The words are for whoever reads the log of the node that dialled.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Refusal {
    /// It is of another group.
    #[error(
        "The other node belongs to the group '{}'. Nothing was exchanged; start both with the same --group, or \
         correct its address.", .group.escape_debug()
    )]
    OtherGroup {
        /// The name of its group.
        group: String,
    },
    /// It runs something else.
    #[error(
        "The other node runs {}. Nothing was exchanged; start every node of the group with the same algorithm.",
        .algorithm.escape_debug()
    )]
    OtherAlgorithm {
        /// What it runs.
        algorithm: String,
    },
    /// It writes messages in another version.
    #[error(
        "The other node writes messages in version {format}. Nothing was exchanged; run releases on both nodes that \
         agree about the version."
    )]
    OtherFormat {
        /// Its version.
        format: u32,
    },
    /// Its group has another size.
    #[error(
        "The other node knows a group of {members} nodes. Nothing was exchanged; start every node with the same \
         nodes in --peers."
    )]
    OtherSize {
        /// How many nodes its group has.
        members: u32,
    },
    /// It is not the node that was asked for.
    #[error("Node {me} is at this address. Nothing was exchanged; correct the addresses in --peers.")]
    NotMe {
        /// Who it is.
        me: NodeId,
    },
    /// It has the number of the node that asked.
    #[error(
        "The node at this address is node {me} as well, or this very process. Nothing was exchanged; give every node \
         a number and an address of its own."
    )]
    Myself {
        /// Who both say that they are.
        me: NodeId,
    },
    /// The node that asked is none of its group.
    #[error(
        "The other node knows a group of {members} nodes, and this one has a higher number. Nothing was exchanged; \
         start every node with the same nodes in --peers."
    )]
    NotAMember {
        /// How many nodes its group has.
        members: u32,
    },
    /// It dials us at the same moment, and its attempt goes first.
    #[error("The other node dials this one at the same moment, and its attempt goes first. Nothing was lost.")]
    Crossed,
    /// It has seen this attempt, or a later one.
    #[error("The other node has seen this attempt or a later one. Nothing was lost; the next attempt counts.")]
    Stale,
    /// It knows a later life of the node that asked.
    #[error(
        "The other node has met life {known} of this node, which is later than this one. Nothing was exchanged; stop \
         this process, or start it as a later life."
    )]
    OldLife {
        /// The life that it knows.
        known: Incarnation,
    },
    /// Another process was the same life of the node that asked.
    #[error(
        "The other node has met another process that said that it was life {known} of this node. Nothing was \
         exchanged; stop one of the two, and start this one as a later life (--life, or a data folder of its own)."
    )]
    TwinLife {
        /// The life that both say that they are.
        known: Incarnation,
    },
    /// The node that asked knows a later life of it.
    #[error(
        "The node at this address is life {mine} of itself, and this node has met a later one. Nothing was exchanged; \
         stop the older process."
    )]
    Outlived {
        /// The life that it is.
        mine: Incarnation,
    },
    /// It has too many connections that are not done with their greetings.
    #[error("The other node is busy with too many greetings. Nothing was lost; this one tries again.")]
    Crowded,
    /// It is about to end.
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
    /// Its group.
    pub group: GroupName,
    /// What it runs.
    pub algorithm: String,
    /// The version in which it writes messages.
    pub format: u32,
    /// Who it is.
    pub me: NodeId,
    /// How many nodes its group has.
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
