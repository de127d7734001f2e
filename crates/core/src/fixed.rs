//! A wrapper for the parts of a node's state that never change.

use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A value that is set once and shared by all clones, such as a node's id, its peers or its
/// configuration.
///
/// All values compare equal and hash alike: two states of the same node always agree on the value,
/// so the checker can ignore it.
pub struct Fixed<T>(Arc<T>);

impl<T> Fixed<T> {
    /// Wraps a value that never changes.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for Fixed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> PartialEq for Fixed<T> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<T> Eq for Fixed<T> {}

impl<T> Hash for Fixed<T> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<T: fmt::Debug> fmt::Debug for Fixed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
