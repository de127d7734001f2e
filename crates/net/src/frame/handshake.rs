//! The frames of the handshake: Hello, Welcome, and the reasons to refuse a Hello.

use super::error::malformed;
use super::{FrameError, Header};
use crate::group::GroupName;
use quorate_core::{Incarnation, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Maximum length of the name of a group or algorithm.
const MAX_NAME_BYTES: usize = 128;

/// The number of a connection attempt from one [`LinkEnd`] of a node to a given peer, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dial(pub u64);

impl Dial {
    /// No attempt was made.
    pub const NONE: Self = Self(0);

    /// The number of the next attempt.
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

/// A random number that a process draws when it starts. It distinguishes two processes that claim
/// to be the same incarnation of a node.
///
/// Without it, peers would silently discard all messages of a node that restarts as the same
/// incarnation: its message numbers start at 1 again and look like duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessNonce(pub u64);

/// Number of changes of the peer set that a process had made when it created its link to a peer.
///
/// A peer that is removed and added again gets a new link with a later generation, although both
/// processes may have run on. So the other end can tell the new link from the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation(pub u64);

impl Generation {
    /// The links to the peers with which a process starts.
    pub const FIRST: Self = Self(0);

    /// The generation of the links that the next change of the peer set creates.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// One end of a link: an incarnation of a node, and the generation of its link to the peer. A later
/// end of the same node is greater.
///
/// Everything that two nodes remember of each other (sequence numbers, acknowledgements, dials)
/// belongs to a pair of ends. So a node can forget a removed peer completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LinkEnd {
    pub incarnation: Incarnation,
    pub generation: Generation,
}

impl LinkEnd {
    /// The end of a link that an incarnation creates when it starts.
    pub const fn first(incarnation: Incarnation) -> Self {
        Self { incarnation, generation: Generation::FIRST }
    }
}

/// The first frame of the node that dialled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The name of the sender's group. The header's number is only a hash of it.
    pub group: String,
    pub algorithm: String,
    pub message_format: u32,
    /// The node for which the Hello is meant.
    pub to: NodeId,
    /// The number of nodes in the sender's configuration of the group; 0 if its peers may change.
    pub group_size: u32,
    pub dial: Dial,
    /// The receiver's last dial, from its end `known_end`, that the sender welcomed.
    pub last_welcomed_dial: Dial,
    /// The receiver's end that the sender was connected to last. The header's acknowledgement
    /// refers to it.
    pub known_end: Option<LinkEnd>,
    pub process_nonce: ProcessNonce,
    /// The generation of the sender's link to the receiver.
    pub generation: Generation,
}

/// The reply that accepts a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub dial: Dial,
    /// The receiver's end, to which the header's acknowledgement refers.
    pub receiver_end: LinkEnd,
    pub process_nonce: ProcessNonce,
    /// The generation of the sender's link to the receiver.
    pub generation: Generation,
}

/// Why a node refuses a connection. The text addresses the operator of the node that dialled: "this
/// node" is that node, and "the other node" is the one that refuses.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Refusal {
    #[error(
        "the other node belongs to group '{}'. No message was exchanged; start both nodes with the same --group, or \
         correct the address in --peers.", .group.escape_debug()
    )]
    OtherGroup { group: String },
    #[error(
        "the other node runs {}. No message was exchanged; start every node of the group with the same algorithm.",
        .algorithm.escape_debug()
    )]
    OtherAlgorithm { algorithm: String },
    #[error(
        "the other node uses message format {format}. No message was exchanged; run releases with the same message \
         format on both nodes."
    )]
    OtherFormat { format: u32 },
    #[error(
        "the other node is configured for a group of {group_size} nodes. No message was exchanged; start every node with \
         the same nodes in --peers."
    )]
    OtherSize { group_size: u32 },
    #[error("the node at this address is node {receiver}. No message was exchanged; correct the addresses in --peers.")]
    WrongNode { receiver: NodeId },
    #[error(
        "the node at this address is also node {receiver}, or this process itself. No message was exchanged; give every \
         node its own number and address."
    )]
    SameNode { receiver: NodeId },
    #[error(
        "the other node is configured for a group of {group_size} nodes, and this node's number is higher. No message \
         was exchanged; start every node with the same nodes in --peers."
    )]
    NotAMember { group_size: u32 },
    #[error("the other node dialled this node at the same time, and its dial has priority. No message was lost.")]
    Crossed,
    #[error("the other node has seen this dial or a later one. No message was lost; this node dials again.")]
    OldDial,
    #[error(
        "the other node has been connected to incarnation {known_incarnation} of this node, which is later than this one. No \
         message was exchanged; stop this process, or start it as a later incarnation."
    )]
    OlderIncarnation { known_incarnation: Incarnation },
    #[error(
        "the other node has been connected to another process with incarnation {known_incarnation} of this node. No message was \
         exchanged; stop one of the two. If you start this one again, give it a data folder of its own (--data)."
    )]
    DuplicateIncarnation { known_incarnation: Incarnation },
    #[error(
        "the node at this address runs as incarnation {receiver_incarnation}, and this node has been connected to a later one. No \
         message was exchanged; stop the older process."
    )]
    SupersededIncarnation { receiver_incarnation: Incarnation },
    #[error("the other node has too many pending connections. No message was lost; this node dials again.")]
    TooManyPending,
    #[error("the other node is stopping. No message was lost; this node dials again.")]
    Stopping,
    #[error(
        "this node is not among the peers of the other node, which has not added it yet or has removed it. This node \
         dials again; if it was removed for good, stop it."
    )]
    NotAPeer,
}

impl Refusal {
    /// Whether a later dial can succeed without a change by the operator.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Crossed | Self::OldDial | Self::TooManyPending | Self::Stopping | Self::NotAPeer)
    }

    pub(super) fn validated(self) -> Result<Self, FrameError> {
        match &self {
            Self::OtherGroup { group: name } | Self::OtherAlgorithm { algorithm: name } => check_name("refusal", name)?,
            Self::OtherFormat { .. }
            | Self::OtherSize { .. }
            | Self::WrongNode { .. }
            | Self::SameNode { .. }
            | Self::NotAMember { .. }
            | Self::Crossed
            | Self::OldDial
            | Self::OlderIncarnation { .. }
            | Self::DuplicateIncarnation { .. }
            | Self::SupersededIncarnation { .. }
            | Self::TooManyPending
            | Self::Stopping
            | Self::NotAPeer => {}
        }
        Ok(self)
    }
}

impl Hello {
    pub(super) fn validated(self) -> Result<Self, FrameError> {
        check_name("Hello", &self.group)?;
        check_name("Hello", &self.algorithm)?;
        Ok(self)
    }
}

fn check_name(kind: &'static str, name: &str) -> Result<(), FrameError> {
    if name.len() > MAX_NAME_BYTES {
        return Err(malformed(kind, format!("a name has {} bytes; the maximum is {MAX_NAME_BYTES}", name.len())));
    }
    Ok(())
}

/// The configuration that a node requires of its peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeTerms {
    pub group: GroupName,
    pub algorithm: String,
    pub message_format: u32,
    pub me: NodeId,
    /// The size of the group, which is not compared if it is `None`: nodes whose peers may change
    /// learn of a change at different times.
    pub group_size: Option<u32>,
}

impl HandshakeTerms {
    /// Checks that a Hello is meant for this node and comes from a compatible member of its group.
    /// The [`ConnectionElection`](crate::connection_election::ConnectionElection) decides whether
    /// to use the connection.
    pub fn check(&self, header: &Header, hello: &Hello) -> Result<(), Refusal> {
        let me = self.me;
        if header.group != self.group.number() || hello.group != self.group.as_str() {
            Err(Refusal::OtherGroup { group: self.group.as_str().to_owned() })
        } else if hello.to != me {
            Err(Refusal::WrongNode { receiver: me })
        } else if header.sender == me {
            Err(Refusal::SameNode { receiver: me })
        } else if hello.algorithm != self.algorithm {
            Err(Refusal::OtherAlgorithm { algorithm: self.algorithm.clone() })
        } else if hello.message_format != self.message_format {
            Err(Refusal::OtherFormat { format: self.message_format })
        } else {
            self.group_size.map_or(Ok(()), |group_size| check_size(group_size, header, hello))
        }
    }
}

/// Checks that the sender of a Hello belongs to a group of this size, and knows the size.
fn check_size(group_size: u32, header: &Header, hello: &Hello) -> Result<(), Refusal> {
    if header.sender.number() > group_size {
        Err(Refusal::NotAMember { group_size })
    } else if hello.group_size != group_size {
        Err(Refusal::OtherSize { group_size })
    } else {
        Ok(())
    }
}
