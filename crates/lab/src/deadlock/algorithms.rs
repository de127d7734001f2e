//! The detectors of deadlocks.

use super::entry::DeadlockEntry;
use quorate_core::NodeId;
use quorate_core::deadlock::{
    Central, Detector, EdgeChasing, Facts, Plan, QueryReply, central, edge_chasing, query_reply,
};
use quorate_core::fixtures::deadlock::{self as wrong, Forgetful, Hasty, Selfish};
use quorate_erased::{AnyCodec, AnyDetector, Erasable};
use serde::de::DeserializeOwned;
use std::sync::Arc;

pub(super) fn algorithms() -> Vec<DeadlockEntry> {
    vec![
        detector(&edge_chasing::FACTS, EdgeChasing::new),
        detector(&query_reply::FACTS, QueryReply::new),
        detector(&central::FACTS, Central::new),
    ]
}

pub(super) fn fixtures() -> Vec<DeadlockEntry> {
    vec![
        detector(&wrong::AND_SELFISH, Selfish::new),
        detector(&wrong::OR_FORGETFUL, Forgetful::new),
        detector(&wrong::CENTRAL_HASTY, Hasty::detector),
    ]
}

fn detector<D>(facts: &'static Facts, make: impl Fn(NodeId, &Plan) -> D + Send + Sync + 'static) -> DeadlockEntry
where
    D: Detector + Erasable<Message: DeserializeOwned>,
{
    let make = Arc::new(move |me: NodeId, plan: &Plan| AnyDetector::new(make(me, plan)));
    DeadlockEntry { facts, make, codec: AnyCodec::of::<D>() }
}
