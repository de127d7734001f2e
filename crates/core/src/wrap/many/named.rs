//! Commands, messages, timers, events and saves of a node that runs many instances of a protocol,
//! each with the name of its instance.

use crate::wrap::prelude::*;
use core::fmt;

/// A value that belongs to the instance with this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Named<Name, T> {
    pub name: Name,
    pub inner: T,
}

impl<Name: fmt::Display, T: fmt::Display> fmt::Display for Named<Name, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.inner)
    }
}

/// A message is counted and drawn like the inner one.
impl<Name, M: Describe> Describe for Named<Name, M> {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        self.inner.label()
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        self.inner.on_behalf_of()
    }

    fn payload_id(&self) -> Option<PayloadId> {
        self.inner.payload_id()
    }

    fn is_retransmission(&self) -> bool {
        self.inner.is_retransmission()
    }

    fn is_wrapped(&self) -> bool {
        self.inner.is_wrapped()
    }
}

/// The events of a node with many instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ManyEvent<Name, E> {
    /// An event of the instance with this name.
    #[cfg_attr(feature = "serde", serde(rename = "of"))]
    Instance { name: Name, event: E },
    /// The command was refused, because the node has too many names in use; nothing changed.
    #[cfg_attr(feature = "serde", serde(rename = "full"))]
    TooManyNames { name: Name },
    /// The command was refused, because its name is too long; nothing changed.
    #[cfg_attr(feature = "serde", serde(rename = "bad-name"))]
    NameTooLong { name: Name },
}

impl<Name: fmt::Display, E: fmt::Display> fmt::Display for ManyEvent<Name, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instance { name, event } => write!(f, "{name}: {event}"),
            Self::TooManyNames { name } => write!(f, "{name}: refused: too many names are in use"),
            Self::NameTooLong { name } => write!(f, "{name}: refused: the name is too long"),
        }
    }
}

/// The durable state: for each name, the state that its instance saved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(deserialize = "Name: Ord + serde::Deserialize<'de>, D: serde::Deserialize<'de>"))
)]
pub struct ManyDurable<Name, D> {
    /// The state of each instance that ever saved something.
    #[cfg_attr(feature = "serde", serde(rename = "parts"))]
    pub instances: BTreeMap<Name, D>,
    /// Whether the disk was lost at some time. Then an instance without a state here may have saved
    /// something before.
    pub was_wiped: bool,
}

// Written by hand, because a derive would require `Default` of `Name` and `D`.
impl<Name, D> Default for ManyDurable<Name, D> {
    fn default() -> Self {
        Self { instances: BTreeMap::new(), was_wiped: false }
    }
}

impl<Name: Ord, D: Durable> Durable for ManyDurable<Name, D> {
    type Write = Named<Name, D::Write>;

    fn apply(&mut self, write: Self::Write) {
        let was_wiped = self.was_wiped;
        self.instances.entry(write.name).or_insert_with(|| initial_durable(was_wiped)).apply(write.inner);
    }

    fn wiped() -> Self {
        Self { was_wiped: true, ..Self::default() }
    }
}

/// Returns the durable state of an instance that has saved nothing since the disk was new
/// (`was_wiped` is false) or lost.
pub(super) fn initial_durable<D: Durable>(was_wiped: bool) -> D {
    if was_wiped { D::wiped() } else { D::default() }
}
