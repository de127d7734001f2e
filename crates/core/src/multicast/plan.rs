//! How a group is set up, which all its members know.

use super::GroupId;
use crate::group::Group;

/// How a group is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: GroupId,
    /// Who is in it from the start, where it has no views.
    pub members: Group,
    pub window: Window,
    /// Whether whoever receives a message for the first time passes it on to all others, so that it reaches everyone although its
    /// sender dies midway.
    pub relay: bool,
    pub delivery: Delivery,
    /// The way of a message to all, for orders with a sequencer.
    pub sequencing: Sequencing,
    /// How many bytes of a state are sent at a time.
    pub piece: usize,
    /// How many of the latest messages a newcomer is shown.
    pub board: usize,
}

/// How much a member may have under way that not everyone holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub messages: u64,
    /// So many bytes, or one message.
    pub bytes: usize,
}

/// When a message that is next may be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Delivery {
    /// At once. A member that dies may have heard something that nobody else ever hears.
    #[default]
    Prompt,
    /// When every member of the view holds it and knows its place. What anybody hears, even if it dies then, everybody hears.
    Uniform,
}

/// The way of a message to all, for orders with a sequencer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Sequencing {
    /// The sender sends it to all, and the sequencer its place.
    #[default]
    ToAll,
    /// The sender sends it to the sequencer, which sends it to all with its place.
    Via,
}

impl Plan {
    /// A group of these members, as usual.
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

    /// After how many messages of one sender a member tells what it holds.
    pub(super) fn tells_after(&self) -> u64 {
        match self.delivery {
            Delivery::Prompt => self.window.messages.div_ceil(2).max(1),
            Delivery::Uniform => 1,
        }
    }
}

impl Window {
    /// Whether a message of this length fits beside what is under way.
    pub(super) const fn has_room(&self, messages: u64, bytes: usize, length: usize) -> bool {
        messages == 0 || (messages < self.messages && bytes.saturating_add(length) <= self.bytes)
    }
}
