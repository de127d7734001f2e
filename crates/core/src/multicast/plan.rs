//! The settings of a group, which all its members know.

use super::GroupId;
use crate::group::Group;

/// The settings of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: GroupId,
    /// The initial members; in a group without views, all members.
    pub members: Group,
    pub window: Window,
    /// Whether a member relays each message that it receives for the first time to all others, so
    /// that it reaches all members even if its sender crashes while sending.
    pub relay: bool,
    pub delivery: Delivery,
    /// The route of a message to all members, for orders with a sequencer.
    pub sequencing: Sequencing,
    /// Maximum number of bytes of a state in one message.
    pub piece: usize,
    /// Number of the latest messages that a joiner receives.
    pub board: usize,
}

/// Maximum amount of unacknowledged messages of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub messages: u64,
    /// Maximum number of bytes; a single message may exceed it.
    pub bytes: usize,
}

/// When the next message of the order may be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Delivery {
    /// At once. A member that crashes may have delivered a message that no other member ever
    /// delivers.
    #[default]
    Prompt,
    /// Once every member of the view holds it and knows its position. If any member delivers a
    /// message, even one that then crashes, all do.
    Uniform,
}

/// The route of a message to all members, for orders with a sequencer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Sequencing {
    /// The sender sends it to all members, and the sequencer sends its position.
    #[default]
    ToAll,
    /// The sender sends it to the sequencer, which sends it to all members with its position.
    #[cfg_attr(feature = "serde", serde(rename = "via"))]
    ThroughSequencer,
}

impl Plan {
    /// The default settings for a group of these members.
    pub const fn new(members: Group) -> Self {
        Self {
            id: GroupId::ONLY,
            members,
            window: Window { messages: 64, bytes: 4 << 20 },
            relay: false,
            delivery: Delivery::Prompt,
            sequencing: Sequencing::ToAll,
            piece: 64 << 10,
            board: 64,
        }
    }

    /// Returns the number of messages of one sender after which a member acknowledges them.
    pub(super) fn ack_interval(&self) -> u64 {
        match self.delivery {
            Delivery::Prompt => self.window.messages.div_ceil(2).max(1),
            Delivery::Uniform => 1,
        }
    }
}

impl Window {
    /// Returns whether a message of this length fits beside the unacknowledged ones.
    pub(super) const fn has_room(&self, messages: u64, bytes: usize, length: usize) -> bool {
        messages == 0 || (messages < self.messages && bytes.saturating_add(length) <= self.bytes)
    }
}
