//! Fencing tokens, by which a resource distinguishes a late holder from the current one.

use crate::group::Epoch;
use core::fmt;

/// A fencing token, which every grant carries. If the algorithm has fences, a grant's fence is
/// larger than those of all earlier grants that conflict with it; otherwise it means nothing.
///
/// No lock and no lease protects a resource from a holder that pauses, and continues after its
/// entry has ended. A resource is protected if it remembers the largest fence it has seen and
/// rejects smaller ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence {
    /// The epoch of the view in which the fence was issued. In a group without views it is 0,
    /// except in `token-ring-acknowledged`: there it is the generation of the circulating token,
    /// which is 0 for the first token and larger for each that replaces a lost one.
    pub epoch: Epoch,
    /// Within one epoch, an entry has a larger counter than every earlier entry that conflicts with
    /// it. In most algorithms it is the number of entries that the nodes that granted this entry
    /// knew of, this one included.
    pub counter: u64,
}

impl Fence {
    /// The next larger fence of the same epoch. It is larger than all earlier ones if `self` is the
    /// largest fence known to the nodes that grant the entry.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { epoch: self.epoch, counter: self.counter.saturating_add(1) }
    }

    /// Replaces this fence by another one, if that is larger.
    pub fn raise(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.counter)
    }
}
