//! The lines of detectors of deadlocks.

use super::{DeadlockEntry, Entry};
use crate::codec::AnyCodec;
use crate::detector::AnyDetector;
use crate::erased::Erasable;
use quorate_core::NodeId;
use quorate_core::deadlock::{
    Central, Detector, EdgeChasing, Facts, Plan, QueryReply, central, edge_chasing, query_reply,
};
use quorate_core::fixtures::deadlock::{self as wrong, Forgetful, Hasty, Selfish};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The algorithms, in the order in which lists show them.
pub(super) fn algorithms() -> Vec<Entry> {
    vec![
        detector(&edge_chasing::FACTS, EdgeChasing::new),
        detector(&query_reply::FACTS, QueryReply::new),
        detector(&central::FACTS, Central::new),
    ]
}

/// Those that are wrong on purpose.
pub(super) fn fixtures() -> Vec<Entry> {
    vec![
        detector(&wrong::AND_SELFISH, Selfish::new),
        detector(&wrong::OR_FORGETFUL, Forgetful::new),
        detector(&wrong::CENTRAL_HASTY, Hasty::detector),
    ]
}

/// The line of a detector whose parts are made like this.
fn detector<D>(facts: &'static Facts, make: impl Fn(NodeId, &Plan) -> D + Send + Sync + 'static) -> Entry
where
    D: Detector + Erasable<Message: DeserializeOwned>,
{
    let make = Arc::new(move |me: NodeId, plan: &Plan| AnyDetector::new(make(me, plan)));
    Entry::Deadlock(DeadlockEntry { facts, make, codec: AnyCodec::of::<D>() })
}
