//! The deadlock detectors and fixtures.

use super::{Deadlock, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Family, NodeFactory};
use quorate_core::NodeId;
use quorate_core::about::Profile;
use quorate_core::deadlock::{
    Central, Command, Detector, EdgeChasing, Event, Facts, Locks, Plan, QueryReply, Requests, central, edge_chasing,
    query_reply,
};
use quorate_core::fixtures::deadlock::{self as faulty, Hasty, Selfish, StaleQueries};
use quorate_erased::{AnyCodec, AnyDetector, Erasable, Erased};
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl FamilyTypes for Deadlock {
    const FAMILY: Family = Family::Deadlock;

    type Entry = DeadlockEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static DeadlockEntry> {
        let Entry::Deadlock(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<DeadlockEntry> {
        vec![
            detector(&edge_chasing::FACTS, EdgeChasing::new),
            detector(&query_reply::FACTS, QueryReply::new),
            detector(&central::FACTS, Central::new),
        ]
    }

    fn fixtures() -> Vec<DeadlockEntry> {
        vec![
            detector(&faulty::AND_SELFISH, Selfish::new),
            detector(&faulty::OR_FORGETFUL, StaleQueries::new),
            detector(&faulty::CENTRAL_HASTY, Hasty::detector),
        ]
    }

    fn profile(entry: &DeadlockEntry) -> &'static Profile {
        &entry.facts.profile
    }

    // By default, processes send requests; a run with resources needs `with_locks` instead.
    fn entry_codec(entry: &DeadlockEntry) -> AnyCodec {
        entry.codec.clone().with_requests()
    }
}

pub type DeadlockNode = Erased<Command, Event>;

/// A detector in the registry.
pub struct DeadlockEntry {
    pub facts: &'static Facts,
    pub make: NodeFactory<Plan, AnyDetector>,
    pub codec: AnyCodec,
}

impl DeadlockEntry {
    /// Returns a node whose processes send requests to each other.
    pub fn node_with_requests(&self, me: NodeId, plan: &Arc<Plan>) -> DeadlockNode {
        Erased::new(Requests::new(me, Arc::clone(plan), (self.make)(me, plan)))
    }

    /// Returns a node whose process acquires resources.
    pub fn node_with_locks(&self, me: NodeId, plan: &Arc<Plan>) -> DeadlockNode {
        Erased::new(Locks::new(me, Arc::clone(plan), (self.make)(me, plan)))
    }
}

fn detector<D>(facts: &'static Facts, make: impl Fn(NodeId, &Plan) -> D + Send + Sync + 'static) -> DeadlockEntry
where
    D: Detector + Erasable<Message: DeserializeOwned>,
{
    let make = Arc::new(move |me: NodeId, plan: &Plan| AnyDetector::new(make(me, plan)));
    DeadlockEntry { facts, make, codec: AnyCodec::for_protocol::<D>() }
}
