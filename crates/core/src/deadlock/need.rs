//! The condition under which a wait ends.

use alloc::vec::Vec;
use core::fmt;

/// The condition under which a wait ends. An agent with several needs waits until all of them are
/// met.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Need<N> {
    /// Met when all of these have released: the locks of a transaction. An empty list is met at
    /// once.
    All(Vec<N>),
    /// Met when one of these has released: one permit of a semaphore, one answer of several. An
    /// empty list is met at once.
    Any(Vec<N>),
}

impl<N> Need<N> {
    /// Returns the agents it names.
    pub fn on(&self) -> &[N] {
        match self {
            Self::All(on) | Self::Any(on) => on,
        }
    }

    /// Returns whether the need is met; `is_free` returns whether an agent has released.
    pub fn is_met(&self, mut is_free: impl FnMut(&N) -> bool) -> bool {
        match self {
            Self::All(on) => on.iter().all(&mut is_free),
            Self::Any(on) => on.is_empty() || on.iter().any(&mut is_free),
        }
    }

    /// Returns whether one of several is enough.
    pub fn is_any(&self) -> bool {
        match self {
            Self::All(_) => false,
            Self::Any(on) => on.len() > 1,
        }
    }

    /// Maps the names of the agents.
    pub fn map<M>(self, f: impl FnMut(N) -> M) -> Need<M> {
        match self {
            Self::All(on) => Need::All(on.into_iter().map(f).collect()),
            Self::Any(on) => Need::Any(on.into_iter().map(f).collect()),
        }
    }
}

/// `2 and 3`, `any of 2 and 3`.
impl<N: fmt::Display> fmt::Display for Need<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_any() {
            f.write_str("any of ")?;
        }
        for (index, on) in self.on().iter().enumerate() {
            let before = match (index, index + 1 == self.on().len()) {
                (0, _) => "",
                (_, true) => " and ",
                (_, false) => ", ",
            };
            write!(f, "{before}{on}")?;
        }
        Ok(())
    }
}
