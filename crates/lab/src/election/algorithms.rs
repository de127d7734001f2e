//! The election algorithms, and the fixtures: variants with deliberate bugs. The type of most
//! fixtures has the name of the flaw: the fixture `bully-hasty` is the type `Hasty` in the module
//! `bully`.

use super::{Election, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Family, NodeFactory};
use quorate_core::about::Profile;
use quorate_core::election::{
    Bully, ByMutex, ChangRoberts, Command, ConsensusByRing, Event, Facts, Franklin, HirschbergSinclair, Invitation,
    LeLann, MajorityLease, Peterson, Plan, RingList, SuperPeer, bully, by_mutex, chang_roberts, consensus_by_election,
    franklin, hirschberg_sinclair, invitation, lelann, majority_lease, peterson, ring_list, super_peer,
};
use quorate_core::fixtures::bully::{Hasty as HastyBully, Unasking as UnaskingBully};
use quorate_core::fixtures::chang_roberts::PassesAll;
use quorate_core::fixtures::hirschberg_sinclair::OneSided;
use quorate_core::fixtures::lelann::StopsAtOwnReturn;
use quorate_core::fixtures::majority_lease::{Forgetful as ForgetfulLease, Trusting as TrustingLease};
use quorate_core::fixtures::peterson::{self as faulty_peterson, Forgetful as ForgetfulPeterson};
use quorate_core::fixtures::ring_list::FirstWins;
use quorate_core::mutex::RicartAgrawala;
use quorate_core::{NodeId, WriteOf};
use quorate_erased::{AnyCodec, Erasable, ErasableWrite, Erased};
use quorate_replica::election::{self as raft, RaftElection};
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl FamilyTypes for Election {
    const FAMILY: Family = Family::Election;

    type Entry = ElectionEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static ElectionEntry> {
        let Entry::Election(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<ElectionEntry> {
        vec![
            election(&chang_roberts::FACTS, |me, plan| ChangRoberts::new(me, Arc::clone(plan))),
            election(&lelann::FACTS, |me, plan| LeLann::new(me, Arc::clone(plan))),
            election(&ring_list::FACTS, |me, plan| RingList::new(me, Arc::clone(plan))),
            election(&hirschberg_sinclair::FACTS, |me, plan| HirschbergSinclair::new(me, Arc::clone(plan))),
            election(&franklin::FACTS, |me, plan| Franklin::new(me, Arc::clone(plan))),
            election(&peterson::FACTS, |me, plan| Peterson::new(me, Arc::clone(plan))),
            election(&bully::FACTS, |me, plan| Bully::new(me, Arc::clone(plan))),
            election(&invitation::FACTS, |me, plan| Invitation::new(me, Arc::clone(plan))),
            election(&majority_lease::FACTS, |me, plan| MajorityLease::new(me, plan)),
            // `Erased::new` requires nodes that can be cloned, compared and hashed; those of raft
            // cannot be.
            ElectionEntry {
                facts: &raft::FACTS,
                make: Arc::new(|me, plan| Erased::new_opaque(RaftElection::new(me, plan))),
                codec: AnyCodec::for_protocol::<RaftElection>(),
            },
            election(&super_peer::FACTS, |me, plan| SuperPeer::new(me, Arc::clone(plan))),
            election(&by_mutex::FACTS, |me, plan| {
                let lock = RicartAgrawala::new(me, plan.group.clone());
                ByMutex::new(me, plan.group.clone(), lock)
            }),
            election(&consensus_by_election::FACTS, ConsensusByRing::from_plan),
        ]
    }

    fn fixtures() -> Vec<ElectionEntry> {
        vec![
            election(const { &PassesAll::facts() }, PassesAll::node),
            election(const { &StopsAtOwnReturn::facts() }, StopsAtOwnReturn::node),
            election(const { &FirstWins::facts() }, FirstWins::node),
            election(const { &OneSided::facts() }, OneSided::node),
            election(const { &faulty_peterson::any_order_facts() }, |me, plan| Peterson::new(me, Arc::clone(plan))),
            election(const { &ForgetfulPeterson::facts() }, ForgetfulPeterson::node),
            election(const { &HastyBully::facts() }, HastyBully::node),
            election(const { &UnaskingBully::facts() }, UnaskingBully::node),
            election(const { &ForgetfulLease::facts() }, |me, plan| ForgetfulLease::node(me, plan)),
            election(const { &TrustingLease::facts() }, |me, plan| TrustingLease::node(me, plan)),
        ]
    }

    fn profile(entry: &ElectionEntry) -> &'static Profile {
        &entry.facts.profile
    }

    fn entry_codec(entry: &ElectionEntry) -> AnyCodec {
        entry.codec.clone()
    }
}

pub type ElectionNode = Erased<Command, Event>;

/// An election algorithm in the registry.
pub struct ElectionEntry {
    pub facts: &'static Facts,
    pub make: NodeFactory<Arc<Plan>, ElectionNode>,
    pub codec: AnyCodec,
}

fn election<P>(facts: &'static Facts, make: impl Fn(NodeId, &Arc<Plan>) -> P + Send + Sync + 'static) -> ElectionEntry
where
    P: Erasable<Command = Command, Event = Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make = Arc::new(move |me: NodeId, plan: &Arc<Plan>| Erased::new(make(me, plan)));
    ElectionEntry { facts, make, codec: AnyCodec::for_protocol::<P>() }
}
