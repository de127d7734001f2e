//! Messages, timers and reports of any algorithm.

use crate::erased::equal;
use quorate_core::{Class, Describe, NodeId, PayloadId};
use serde::{Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Common operations of erased messages, timers and reports: printing, serialization, comparison
/// and hashing.
trait Part: erased_serde::Serialize + fmt::Debug + Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: ErasablePart> Part for T {
    fn equals(&self, other: &dyn Any) -> bool {
        equal(self, other)
    }
    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

/// A message, timer or report that can be erased.
pub trait ErasablePart: Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static {}

impl<T: Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static> ErasablePart for T {}

trait MessageObject: Describe + Part {}

impl<M: Describe + Part> MessageObject for M {}

/// Returns the value if it is of this type; clones it if it is shared.
fn into_typed<T: Clone + Send + Sync + 'static>(any: Arc<dyn Any + Send + Sync>) -> Option<T> {
    any.downcast().ok().map(Arc::unwrap_or_clone)
}

/// Returns a reference to the value if it is of this type.
fn as_typed<T: 'static>(any: &dyn Any) -> Option<&T> {
    any.downcast_ref()
}

/// Implements for an erased form the traits that its values have.
macro_rules! impl_erased_traits {
    ($any:ident) => {
        impl PartialEq for $any {
            fn eq(&self, other: &Self) -> bool {
                self.0.equals(&*other.0)
            }
        }

        impl Eq for $any {}

        impl Hash for $any {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash_into(state);
            }
        }

        impl Serialize for $any {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                erased_serde::serialize(&*self.0, serializer)
            }
        }

        impl fmt::Debug for $any {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// A message of any algorithm. Clones share it.
#[derive(Clone)]
pub struct AnyMessage(Arc<dyn MessageObject>);

impl_erased_traits!(AnyMessage);

impl AnyMessage {
    pub(crate) fn new(message: impl Describe + ErasablePart) -> Self {
        Self(Arc::new(message))
    }

    /// Returns the message if it is of this type.
    pub(crate) fn as_typed<M: 'static>(&self) -> Option<&M> {
        as_typed(&*self.0)
    }

    pub(crate) fn into_typed<M: Clone + Send + Sync + 'static>(self) -> Option<M> {
        into_typed(self.0)
    }
}

impl Describe for AnyMessage {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }
    fn label(&self) -> Option<&dyn fmt::Display> {
        self.0.label()
    }
    fn class(&self) -> Class {
        self.0.class()
    }
    fn on_behalf_of(&self) -> Option<NodeId> {
        self.0.on_behalf_of()
    }
    fn payload_id(&self) -> Option<PayloadId> {
        self.0.payload_id()
    }
    fn is_retransmission(&self) -> bool {
        self.0.is_retransmission()
    }
    fn is_wrapped(&self) -> bool {
        self.0.is_wrapped()
    }
}

/// A timer of any algorithm.
#[derive(Clone)]
pub struct AnyTimer(Arc<dyn Part>);

impl_erased_traits!(AnyTimer);

impl AnyTimer {
    pub(crate) fn new(timer: impl ErasablePart) -> Self {
        Self(Arc::new(timer))
    }

    pub(crate) fn into_typed<T: Clone + Send + Sync + 'static>(self) -> Option<T> {
        into_typed(self.0)
    }
}

/// The report of a member of any algorithm when a view ends. Clones share it.
#[derive(Clone)]
pub struct AnyReport(Arc<dyn Part>);

impl_erased_traits!(AnyReport);

impl AnyReport {
    pub(crate) fn new(report: impl ErasablePart) -> Self {
        Self(Arc::new(report))
    }

    /// Returns the report if it is of this type.
    pub(crate) fn as_typed<R: 'static>(&self) -> Option<&R> {
        as_typed(&*self.0)
    }
}
