//! An election, as the registry knows it.

use crate::registry::Maker;
use quorate_core::election::{Command, Event, Facts, Plan};
use quorate_core::{NodeId, WriteOf};
use quorate_erased::{AnyCodec, Erasable, ErasableWrite, Erased};
use serde::de::DeserializeOwned;
use std::sync::Arc;

pub type ElectionNode = Erased<Command, Event>;

pub struct ElectionEntry {
    pub facts: &'static Facts,
    pub make: Maker<Arc<Plan>, ElectionNode>,
    pub codec: AnyCodec,
}

pub(super) fn election<P>(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Arc<Plan>) -> P + Send + Sync + 'static,
) -> ElectionEntry
where
    P: Erasable<Command = Command, Event = Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make = Arc::new(move |me: NodeId, plan: &Arc<Plan>| Erased::new(make(me, plan)));
    ElectionEntry { facts, make, codec: AnyCodec::of::<P>() }
}
