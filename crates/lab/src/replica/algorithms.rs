//! The replicated logs and fixtures.

use super::{Command, Event, Replica, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Family};
use quorate_core::about::Profile;
use quorate_core::{NodeId, WriteOf};
use quorate_erased::{AnyCodec, ErasableWrite, Erased, HasErasableParts};
use quorate_replica::fixtures::{Flaw, FlawedReplica};
use quorate_replica::registers::Registers;
use quorate_replica::sessions::Sessions;
use quorate_replica::{Replica as Log, profile};
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl FamilyTypes for Replica {
    const FAMILY: Family = Family::Replica;

    type Entry = ReplicaEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static ReplicaEntry> {
        let Entry::Replica(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<ReplicaEntry> {
        vec![log_entry(&profile::REPLICA, Log::<ReplicaMachine>::new)]
    }

    fn fixtures() -> Vec<ReplicaEntry> {
        vec![
            flawed_entry(const { &Flaw::EarlyAck.profile() }, Flaw::EarlyAck),
            flawed_entry(const { &Flaw::LocalRead.profile() }, Flaw::LocalRead),
            flawed_entry(const { &Flaw::ForgottenVote.profile() }, Flaw::ForgottenVote),
            flawed_entry(const { &Flaw::NoReport.profile() }, Flaw::NoReport),
            flawed_entry(const { &Flaw::AppliedTwice.profile() }, Flaw::AppliedTwice),
            flawed_entry(const { &Flaw::LostOutcome.profile() }, Flaw::LostOutcome),
            flawed_entry(const { &Flaw::ForwardedTwice.profile() }, Flaw::ForwardedTwice),
            flawed_entry(const { &Flaw::TooNew.profile() }, Flaw::TooNew),
            flawed_entry(const { &Flaw::LongLease.profile() }, Flaw::LongLease),
        ]
    }

    fn profile(entry: &ReplicaEntry) -> &'static Profile {
        entry.profile
    }

    fn entry_codec(entry: &ReplicaEntry) -> AnyCodec {
        entry.codec.clone()
    }
}

/// The state machine of all replicated logs here: a map of registers, with sessions.
pub type ReplicaMachine = Sessions<Registers>;

pub type ReplicaNode = Erased<Command, Event>;

/// A replicated log in the registry.
pub struct ReplicaEntry {
    pub profile: &'static Profile,
    pub make: Arc<dyn Fn(NodeId, quorate_replica::Settings) -> ReplicaNode + Send + Sync>,
    pub codec: AnyCodec,
}

fn log_entry<P>(
    profile: &'static Profile,
    make: impl Fn(NodeId, quorate_replica::Settings) -> P + Send + Sync + 'static,
) -> ReplicaEntry
where
    P: HasErasableParts<Command = Command, Event = Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make = Arc::new(move |me, settings| Erased::new_opaque(make(me, settings)));
    ReplicaEntry { profile, make, codec: AnyCodec::for_protocol::<P>() }
}

fn flawed_entry(profile: &'static Profile, flaw: Flaw) -> ReplicaEntry {
    log_entry(profile, move |me, settings| FlawedReplica::<Registers>::new(me, settings, flaw))
}
