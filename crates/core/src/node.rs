//! The identity of a process: its id in the group, and its incarnation.

use core::fmt;
use core::num::NonZeroU32;

/// A node's id in its group, numbered from 1 as in the literature.
///
/// The id is the node's address and its place in the order of the group. An election compares
/// ranks, which need not follow the order of ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The node with this number; `None` for 0, which is no node.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The node at this index, counted from 0. Indices beyond the last number give the last node.
    pub const fn from_index(index: usize) -> Self {
        let number = if index < u32::MAX as usize { index as u32 + 1 } else { u32::MAX };
        match NonZeroU32::new(number) {
            Some(number) => Self(number),
            None => Self(NonZeroU32::MAX),
        }
    }

    /// The node's number, from 1.
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    /// The node's index, from 0.
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One life of a node, from a start to the next crash or stop: every restart begins a new
/// incarnation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// The incarnation in which a founding node starts for the first time.
    pub const FIRST: Self = Self(0);

    /// The incarnation after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
