//! The lines of elections.

use super::{Entry, election};
use crate::erased::Erased;
use quorate_core::election::circuit::Circuit;
use quorate_core::election::{
    Bully, ByMutex, ChangRoberts, ConsensusByRing, Franklin, HirschbergSinclair, Invitation, LeLann, MajorityLease,
    Peterson, RingList, SuperPeer, bully, by_mutex, chang_roberts, consensus_by_election, franklin,
    hirschberg_sinclair, invitation, lelann, majority_lease, peterson, ring_list, super_peer,
};
use quorate_core::fixtures::Spoilt;
use quorate_core::fixtures::bully::{Hasty, Impatient, Unasking};
use quorate_core::fixtures::chang_roberts::PassesAll;
use quorate_core::fixtures::hirschberg_sinclair::OneSided;
use quorate_core::fixtures::lelann::OwnReturn;
use quorate_core::fixtures::majority_lease::{Forgetful, Trusting};
use quorate_core::fixtures::peterson::{self as wrong_peterson, Forgetful as WithoutDisk};
use quorate_core::fixtures::ring_list::First;
use quorate_core::mutex::RicartAgrawala;
use quorate_replica::election::{self as raft, RaftElection};
use std::sync::Arc;

/// The algorithms, in the order in which lists show them.
pub(super) fn algorithms() -> Vec<Entry> {
    vec![
        election::<ChangRoberts>(&chang_roberts::FACTS, |me, plan| {
            Erased::new(ChangRoberts::new(me, Arc::clone(plan)))
        }),
        election::<LeLann>(&lelann::FACTS, |me, plan| Erased::new(LeLann::new(me, Arc::clone(plan)))),
        election::<RingList>(&ring_list::FACTS, |me, plan| Erased::new(RingList::new(me, Arc::clone(plan)))),
        election::<HirschbergSinclair>(&hirschberg_sinclair::FACTS, |me, plan| {
            Erased::new(HirschbergSinclair::new(me, Arc::clone(plan)))
        }),
        election::<Franklin>(&franklin::FACTS, |me, plan| Erased::new(Franklin::new(me, Arc::clone(plan)))),
        election::<Peterson>(&peterson::FACTS, |me, plan| Erased::new(Peterson::new(me, Arc::clone(plan)))),
        election::<Bully>(&bully::FACTS, |me, plan| Erased::new(Bully::new(me, Arc::clone(plan)))),
        election::<Invitation>(&invitation::FACTS, |me, plan| Erased::new(Invitation::new(me, Arc::clone(plan)))),
        election::<MajorityLease>(&majority_lease::FACTS, |me, plan| Erased::new(MajorityLease::new(me, plan))),
        election::<RaftElection>(&raft::FACTS, |me, plan| Erased::opaque(RaftElection::new(me, plan))),
        election::<SuperPeer>(&super_peer::FACTS, |me, plan| Erased::new(SuperPeer::new(me, Arc::clone(plan)))),
        election::<ByMutex<RicartAgrawala>>(&by_mutex::FACTS, |me, plan| {
            let lock = RicartAgrawala::new(me, plan.group.clone());
            Erased::new(ByMutex::new(me, plan.group.clone(), lock))
        }),
        election::<ConsensusByRing>(&consensus_by_election::FACTS, |me, plan| {
            Erased::new(ConsensusByRing::of_plan(me, plan))
        }),
    ]
}

/// Those that are wrong on purpose.
pub(super) fn fixtures() -> Vec<Entry> {
    vec![
        election::<Circuit<PassesAll>>(const { &PassesAll::facts() }, |me, plan| {
            Erased::new(PassesAll::node(me, plan))
        }),
        election::<Circuit<OwnReturn>>(const { &OwnReturn::facts() }, |me, plan| {
            Erased::new(OwnReturn::node(me, plan))
        }),
        election::<Spoilt<RingList, First>>(const { &First::facts() }, |me, plan| Erased::new(First::node(me, plan))),
        election::<Circuit<OneSided>>(const { &OneSided::facts() }, |me, plan| Erased::new(OneSided::node(me, plan))),
        election::<Peterson>(const { &wrong_peterson::any_order_facts() }, |me, plan| {
            Erased::new(Peterson::new(me, Arc::clone(plan)))
        }),
        election::<Spoilt<Peterson, WithoutDisk>>(const { &WithoutDisk::facts() }, |me, plan| {
            Erased::new(WithoutDisk::node(me, plan))
        }),
        election::<Spoilt<Bully, Impatient>>(const { &Hasty::facts() }, |me, plan| Erased::new(Hasty::node(me, plan))),
        election::<Spoilt<Bully, Impatient>>(const { &Unasking::facts() }, |me, plan| {
            Erased::new(Unasking::node(me, plan))
        }),
        election::<MajorityLease>(const { &Forgetful::facts() }, |me, plan| Erased::new(Forgetful::node(me, plan))),
        election::<Spoilt<MajorityLease, Trusting>>(const { &Trusting::facts() }, |me, plan| {
            Erased::new(Trusting::node(me, plan))
        }),
    ]
}
