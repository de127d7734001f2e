//! The condition under which a wait ends.

use alloc::vec::Vec;
use core::fmt;

/// The condition under which a wait ends. An agent with several needs continues when all of them
/// are met.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Need<N> {
    /// Met when all of these have released, such as the holders of the locks that a transaction
    /// needs. An empty list is met at once.
    All(Vec<N>),
    /// Met when one of these has released, such as one of the holders of a semaphore's permits. An
    /// empty list is met at once.
    Any(Vec<N>),
}

impl<N> Need<N> {
    /// Returns the agents that the need names.
    pub fn awaited(&self) -> &[N] {
        match self {
            Self::All(agents) | Self::Any(agents) => agents,
        }
    }

    /// Returns whether the need is met if `has_released` tells which agents have released.
    pub fn is_met(&self, mut has_released: impl FnMut(&N) -> bool) -> bool {
        match self {
            Self::All(agents) => agents.iter().all(&mut has_released),
            Self::Any(agents) => agents.is_empty() || agents.iter().any(&mut has_released),
        }
    }

    /// Returns whether one of several agents is enough; `false` if the need names fewer than two.
    pub fn has_alternatives(&self) -> bool {
        match self {
            Self::All(_) => false,
            Self::Any(agents) => agents.len() > 1,
        }
    }

    /// Maps the names of the agents.
    pub fn map<M>(self, f: impl FnMut(N) -> M) -> Need<M> {
        match self {
            Self::All(agents) => Need::All(agents.into_iter().map(f).collect()),
            Self::Any(agents) => Need::Any(agents.into_iter().map(f).collect()),
        }
    }
}

/// `2 and 3`, `any of 2 and 3`.
impl<N: fmt::Display> fmt::Display for Need<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.has_alternatives() {
            f.write_str("any of ")?;
        }
        for (index, agent) in self.awaited().iter().enumerate() {
            let separator = match (index, index + 1 == self.awaited().len()) {
                (0, _) => "",
                (_, true) => " and ",
                (_, false) => ", ",
            };
            write!(f, "{separator}{agent}")?;
        }
        Ok(())
    }
}
