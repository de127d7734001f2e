//! A replicated log, as the registry knows it.

use quorate_core::about::Profile;
use quorate_core::{NodeId, WriteOf};
use quorate_erased::{AnyCodec, ErasableWrite, Erased, Parts};
use quorate_replica::once::Once;
use quorate_replica::registers::Registers;
use quorate_replica::{Command, Event, Settings};
use serde::de::DeserializeOwned;

/// The state machine on top of any replicated log here: a map of registers whose clients may ask again without harm.
pub type ReplicaMachine = Once<Registers>;

pub type ReplicaNode = Erased<Command<ReplicaMachine>, Event<ReplicaMachine>>;

pub struct ReplicaEntry {
    pub profile: &'static Profile,
    pub make: fn(NodeId, Settings) -> ReplicaNode,
    pub codec: AnyCodec,
}

pub(super) fn replica<P>(profile: &'static Profile, make: fn(NodeId, Settings) -> ReplicaNode) -> ReplicaEntry
where
    P: Parts<Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    ReplicaEntry { profile, make, codec: AnyCodec::of::<P>() }
}
