//! Messages and timers of any algorithm.

use crate::erased::equal;
use quorate_core::{Class, Describe, NodeId, Parcel};
use serde::{Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A message of any algorithm. Copies share it.
#[derive(Clone)]
pub struct AnyMessage(Arc<dyn MessageObject>);

trait MessageObject: Describe + erased_serde::Serialize + Part {}

impl<M: Describe + erased_serde::Serialize + Part> MessageObject for M {}

/// What messages and timers have in common: they can be printed, compared and hashed whatever their type.
trait Part: fmt::Debug + Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
}

impl<T: fmt::Debug + Any + Send + Sync + Eq + Hash> Part for T {
    fn equals(&self, other: &dyn Any) -> bool {
        equal(self, other)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl AnyMessage {
    pub(crate) fn new<M: Describe + Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static>(message: M) -> Self {
        Self(Arc::new(message))
    }

    /// What it says, if it is of this type.
    pub(crate) fn peek<M: 'static>(&self) -> Option<&M> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    pub(crate) fn typed<M: Clone + Send + Sync + 'static>(self) -> Option<M> {
        let any: Arc<dyn Any + Send + Sync> = self.0;
        any.downcast().ok().map(Arc::unwrap_or_clone)
    }
}

impl PartialEq for AnyMessage {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.equals(other)
    }
}

impl Eq for AnyMessage {}

impl Hash for AnyMessage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
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
    fn parcel(&self) -> Option<Parcel> {
        self.0.parcel()
    }
    fn again(&self) -> bool {
        self.0.again()
    }
    fn wrapped(&self) -> bool {
        self.0.wrapped()
    }
}

impl Serialize for AnyMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

impl fmt::Debug for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A timer's name in any algorithm.
#[derive(Clone)]
pub struct AnyTimer(Arc<dyn TimerObject>);

trait TimerObject: erased_serde::Serialize + Part {}

impl<T: erased_serde::Serialize + Part> TimerObject for T {}

impl AnyTimer {
    pub(crate) fn new<T: Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static>(timer: T) -> Self {
        Self(Arc::new(timer))
    }

    pub(crate) fn typed<T: Clone + Send + Sync + 'static>(self) -> Option<T> {
        let any: Arc<dyn Any + Send + Sync> = self.0;
        any.downcast().ok().map(Arc::unwrap_or_clone)
    }
}

impl PartialEq for AnyTimer {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.equals(other)
    }
}

impl Eq for AnyTimer {}

impl Hash for AnyTimer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

impl Serialize for AnyTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

impl fmt::Debug for AnyTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
