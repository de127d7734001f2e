//! The configuration of a group, which is the same at all its members.

use super::GroupId;
use crate::group::Group;

/// The configuration of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: GroupId,
    /// The initial members; in a group without views, all members.
    pub members: Group,
    pub window: Window,
    /// Whether members relay each message that they receive for the first time to all others. Then
    /// a message that any correct member delivers reaches all, even if its sender crashes while
    /// sending.
    pub relays: bool,
    pub delivery: Delivery,
    /// The route of a message to all members, for orders with a sequencer.
    pub sequencing: Sequencing,
    /// Maximum number of bytes of a state that one message to a joiner carries.
    pub max_piece_bytes: usize,
    /// Number of the latest messages that a bulletin board keeps ([`Board`](super::Board)).
    pub board_capacity: usize,
}

/// Maximum amount of messages of one sender that not all members have acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub messages: u64,
    /// Maximum number of payload bytes. A single message may exceed it.
    pub bytes: usize,
}

/// When the next message of the order may be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Delivery {
    /// As soon as it is next. A member that crashes may have delivered a message that no other
    /// member ever delivers.
    #[default]
    Prompt,
    /// Once every member of the view holds the message and knows its position. If any member
    /// delivers a message, even a member that then crashes, all survivors deliver it.
    Uniform,
}

/// The route of a message to all members, for orders with a sequencer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Sequencing {
    /// The sender sends the message to all members, and the sequencer sends its position to all.
    #[default]
    ToAll,
    /// The sender sends the message to the sequencer, which sends it to all members with its
    /// position.
    #[cfg_attr(feature = "serde", serde(rename = "via"))]
    ThroughSequencer,
}

impl Plan {
    /// Returns the default configuration of a group of these members.
    pub const fn new(members: Group) -> Self {
        Self {
            id: GroupId::ONLY,
            members,
            window: Window { messages: 64, bytes: 4 << 20 },
            relays: false,
            delivery: Delivery::Prompt,
            sequencing: Sequencing::ToAll,
            max_piece_bytes: 64 << 10,
            board_capacity: 64,
        }
    }

    /// Returns the number of new messages of one sender after which a member acknowledges them.
    /// Uniform delivery waits for the acknowledgement of each message.
    pub(super) fn ack_interval(&self) -> u64 {
        match self.delivery {
            Delivery::Prompt => self.window.messages.div_ceil(2).max(1),
            Delivery::Uniform => 1,
        }
    }
}

impl Window {
    /// Returns whether a message of `length` bytes fits beside the unacknowledged messages of the
    /// same sender: `messages` of them, with `bytes` bytes in all.
    pub(super) const fn has_room(&self, messages: u64, bytes: usize, length: usize) -> bool {
        messages == 0 || (messages < self.messages && bytes.saturating_add(length) <= self.bytes)
    }
}
