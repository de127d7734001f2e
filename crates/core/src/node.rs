//! Who a process is: its address in the group, and which of its lives this one is.

use core::fmt;
use core::num::NonZeroU32;

/// A node's address in its group, numbered from 1 as in the textbooks.
///
/// The address says where a node is (its place on a ring, its line in a diagram). What an election
/// compares is its rank, which is another thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The node with this number, or nothing for the number 0, which no node has.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The node at this place in a table that starts at 0. Places beyond the last number share the last node.
    pub const fn from_index(index: usize) -> Self {
        let number = if index < u32::MAX as usize { index as u32 + 1 } else { u32::MAX };
        match NonZeroU32::new(number) {
            Some(number) => Self(number),
            None => Self(NonZeroU32::MAX),
        }
    }

    /// The number people call it by, from 1.
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    /// Its place in a table that starts at 0.
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

/// Which life of a node this is: every restart is a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// The life that begins when a node boots for the first time.
    pub const FIRST: Self = Self(0);

    /// The life after this one.
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
