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

/// A node of any replicated log.
pub type ReplicaNode = Erased<Command<ReplicaMachine>, Event<ReplicaMachine>>;

/// A replicated log.
pub struct ReplicaEntry {
    /// What it is called, and where it is explained.
    pub profile: &'static Profile,
    /// Makes a node of a group that is set up like this.
    pub make: fn(NodeId, Settings) -> ReplicaNode,
    /// How its messages and its disk become bytes.
    pub codec: AnyCodec,
}

/// The line of a replicated log whose nodes are of type `P` before they are erased.
pub(super) fn replica<P>(profile: &'static Profile, make: fn(NodeId, Settings) -> ReplicaNode) -> ReplicaEntry
where
    P: Parts<Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    ReplicaEntry { profile, make, codec: AnyCodec::of::<P>() }
}
