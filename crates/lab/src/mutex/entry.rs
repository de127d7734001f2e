//! A mutual exclusion, as the registry knows it.

use crate::registry::{Maker, Surroundings};
use quorate_core::mutex::{Command, Event, Facts};
use quorate_core::{NodeId, WriteOf};
use quorate_erased::{AnyCodec, Erasable, ErasableInViews, ErasableWrite, Erased, ErasedInViews};
use serde::de::DeserializeOwned;
use std::sync::Arc;

pub type MutexNode = Erased<Command, Event>;

/// A node of any mutual-exclusion algorithm that can go from one view to the next.
pub type MutexInViews = ErasedInViews<Command, Event>;

pub struct MutexEntry {
    pub facts: &'static Facts,
    pub make: MutexMaker,
    pub codec: AnyCodec,
}

impl MutexEntry {
    /// A node in a group that never changes.
    pub fn node(&self, me: NodeId, around: &Surroundings) -> MutexNode {
        match &self.make {
            MutexMaker::Fixed(make) => make(me, around),
            MutexMaker::InViews(make) => make(me, around).bare(),
        }
    }

    /// A node that can go from one view to the next, if the algorithm can.
    pub fn node_in_views(&self, me: NodeId, around: &Surroundings) -> Option<MutexInViews> {
        match &self.make {
            MutexMaker::Fixed(_) => None,
            MutexMaker::InViews(make) => Some(make(me, around)),
        }
    }

    pub const fn runs_in_views(&self) -> bool {
        matches!(self.make, MutexMaker::InViews(_))
    }
}

#[derive(Clone)]
pub enum MutexMaker {
    /// For a group that never changes.
    Fixed(Maker<Surroundings, MutexNode>),
    /// For one that may change as well.
    InViews(Maker<Surroundings, MutexInViews>),
}

pub(super) fn mutex<P>(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Surroundings) -> P + Send + Sync + 'static,
) -> MutexEntry
where
    P: Erasable<Command = Command, Event = Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make = MutexMaker::Fixed(Arc::new(move |me, around| Erased::new(make(me, around))));
    MutexEntry { facts, make, codec: AnyCodec::of::<P>() }
}

pub(super) fn in_views<P>(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Surroundings) -> P + Send + Sync + 'static,
) -> MutexEntry
where
    P: ErasableInViews<Command = Command, Event = Event, Message: DeserializeOwned, Report: DeserializeOwned>,
{
    let make = MutexMaker::InViews(Arc::new(move |me, around| ErasedInViews::new(make(me, around))));
    MutexEntry { facts, make, codec: AnyCodec::in_views::<P>() }
}
