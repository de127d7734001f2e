//! Fencing tokens, by which a resource distinguishes a late holder from the current one.

use crate::group::Epoch;
use core::fmt;

/// A fencing token: every grant carries one, and they only increase.
///
/// No lock and no lease protects a resource from a holder that was paused beyond the end of its
/// entry. A resource is protected if it remembers the largest fence it has seen and rejects smaller
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence {
    /// The view in which the fence was issued; the first view in a group without views.
    pub epoch: Epoch,
    /// The number of entries, as far as the nodes that granted the entry knew.
    pub counter: u64,
}

impl Fence {
    /// The fence of the next entry: larger than every fence known to the nodes that grant it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { epoch: self.epoch, counter: self.counter.saturating_add(1) }
    }

    /// Raises this fence to another one, if that is larger.
    pub fn raise(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.counter)
    }
}
