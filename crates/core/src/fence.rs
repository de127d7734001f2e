//! Fences: the numbers by which a resource tells a late holder from the present one.

use crate::group::Epoch;
use core::fmt;

/// A number in every grant that only grows.
///
/// No lock and no lease protects a resource from a holder that slept through the end of its entry. A resource
/// that remembers the largest fence it has seen, and refuses anything smaller, is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence {
    /// The view in which it was given; the first one in a textbook group.
    pub epoch: Epoch,
    /// The count of entries, as far as those who admitted the entry knew.
    pub counter: u64,
}

impl Fence {
    /// The fence of the next entry: larger than every one that those who admit it know of.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { epoch: self.epoch, counter: self.counter.saturating_add(1) }
    }

    /// Remembers a fence heard of, if it is the largest so far.
    pub fn raise(&mut self, heard: Self) {
        *self = (*self).max(heard);
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.counter)
    }
}
