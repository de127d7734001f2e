//! The lines of detectors of deadlocks.

use super::{DeadlockEntry, DeadlockForm, Entry};
use crate::codec::AnyCodec;
use crate::erased::{Erasable, Erased};
use quorate_core::NodeId;
use quorate_core::deadlock::{
    Central, Command, Detector, EdgeChasing, Event, Facts, Locks, Plan, QueryReply, Requests, central, edge_chasing,
    query_reply,
};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The algorithms, in the order in which lists show them.
pub(super) fn algorithms() -> Vec<Entry> {
    vec![
        detector::<EdgeChasing>(&edge_chasing::FACTS),
        detector::<QueryReply>(&query_reply::FACTS),
        detector::<Central>(&central::FACTS),
    ]
}

/// Those that are wrong on purpose.
pub(super) fn fixtures() -> Vec<Entry> {
    vec![]
}

/// How a site's part of a detector is made.
trait SetUp: Detector {
    fn set_up(me: NodeId, plan: &Plan) -> Self;
}

impl SetUp for EdgeChasing {
    fn set_up(me: NodeId, plan: &Plan) -> Self {
        Self::new(me, plan)
    }
}

impl SetUp for QueryReply {
    fn set_up(me: NodeId, plan: &Plan) -> Self {
        Self::new(me, plan)
    }
}

impl SetUp for Central {
    fn set_up(me: NodeId, plan: &Plan) -> Self {
        Self::new(me, plan)
    }
}

fn detector<D>(facts: &'static Facts) -> Entry
where
    D: SetUp,
    Requests<D>: Erasable<Command = Command, Event = Event, Durable = (), Message: DeserializeOwned>,
    Locks<D>: Erasable<Command = Command, Event = Event, Durable = (), Message: DeserializeOwned>,
{
    let asking = DeadlockForm {
        make: |me, plan| Erased::new(Requests::new(me, Arc::clone(plan), D::set_up(me, plan))),
        codec: AnyCodec::of::<Requests<D>>(),
    };
    let taking = DeadlockForm {
        make: |me, plan| Erased::new(Locks::new(me, Arc::clone(plan), D::set_up(me, plan))),
        codec: AnyCodec::of::<Locks<D>>(),
    };
    Entry::Deadlock(DeadlockEntry { facts, asking, taking })
}
