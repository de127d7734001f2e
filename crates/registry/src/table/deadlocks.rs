//! The lines of detectors of deadlocks.

use super::{DeadlockEntry, DeadlockForm, Entry};
use crate::codec::AnyCodec;
use crate::erased::{Erasable, Erased};
use quorate_core::NodeId;
use quorate_core::deadlock::{
    Central, Command, Detector, EdgeChasing, Event, Facts, Locks, Plan, QueryReply, Requests, central, edge_chasing,
    query_reply,
};
use quorate_core::fixtures::deadlock::{self as wrong, Forgetful, Hasty, Selfish};
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
    vec![
        detector::<Selfish>(&wrong::AND_SELFISH),
        detector::<Forgetful>(&wrong::OR_FORGETFUL),
        detector::<Hasty>(&wrong::CENTRAL_HASTY),
    ]
}

/// How a site's part of a detector is made.
trait SetUp {
    type Detector: Detector;

    fn set_up(me: NodeId, plan: &Plan) -> Self::Detector;
}

macro_rules! set_up {
    ($($name:ty => $detector:ty, $make:path;)*) => {
        $(impl SetUp for $name {
            type Detector = $detector;

            fn set_up(me: NodeId, plan: &Plan) -> $detector {
                $make(me, plan)
            }
        })*
    };
}

set_up! {
    EdgeChasing => EdgeChasing, EdgeChasing::new;
    QueryReply => QueryReply, QueryReply::new;
    Central => Central, Central::new;
    Selfish => Selfish, Selfish::new;
    Forgetful => Forgetful, Forgetful::new;
    Hasty => Central, Hasty::detector;
}

fn detector<S>(facts: &'static Facts) -> Entry
where
    S: SetUp,
    Requests<S::Detector>: Erasable<Command = Command, Event = Event, Durable = (), Message: DeserializeOwned>,
    Locks<S::Detector>: Erasable<Command = Command, Event = Event, Durable = (), Message: DeserializeOwned>,
{
    let asking = DeadlockForm {
        make: |me, plan| Erased::new(Requests::new(me, Arc::clone(plan), S::set_up(me, plan))),
        codec: AnyCodec::of::<Requests<S::Detector>>(),
    };
    let taking = DeadlockForm {
        make: |me, plan| Erased::new(Locks::new(me, Arc::clone(plan), S::set_up(me, plan))),
        codec: AnyCodec::of::<Locks<S::Detector>>(),
    };
    Entry::Deadlock(DeadlockEntry { facts, asking, taking })
}
