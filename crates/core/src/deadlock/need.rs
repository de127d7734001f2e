//! What one who waits waits for.

use alloc::vec::Vec;
use core::fmt;

/// A wait for others. Whoever has several needs at once waits until all of them are met.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Need<N> {
    /// Met when all of these have let go: the locks of a transaction. Nobody at all is no wait.
    All(Vec<N>),
    /// Met when any of these has: one permit of a semaphore, one answer of several. Nobody at all is no wait.
    Any(Vec<N>),
}

impl<N> Need<N> {
    /// Those it names.
    pub fn on(&self) -> &[N] {
        match self {
            Self::All(on) | Self::Any(on) => on,
        }
    }

    /// Whether it is met, if this tells of each one whether it has let go.
    pub fn is_met(&self, mut is_free: impl FnMut(&N) -> bool) -> bool {
        match self {
            Self::All(on) => on.iter().all(&mut is_free),
            Self::Any(on) => on.is_empty() || on.iter().any(&mut is_free),
        }
    }

    /// Whether one of several is enough.
    pub fn is_any(&self) -> bool {
        match self {
            Self::All(_) => false,
            Self::Any(on) => on.len() > 1,
        }
    }

    /// The same need of others.
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
        for (place, on) in self.on().iter().enumerate() {
            let before = match (place, place + 1 == self.on().len()) {
                (0, _) => "",
                (_, true) => " and ",
                (_, false) => ", ",
            };
            write!(f, "{before}{on}")?;
        }
        Ok(())
    }
}
