//! The mutual exclusions.

use super::entry::{MutexEntry, in_views, mutex};
use crate::registry::Surroundings;
use quorate_core::NodeId;
use quorate_core::election::ChangRoberts;
use quorate_core::fixtures::central::{AnyReturnEnds, DeniesForEver};
use quorate_core::fixtures::lamport::{CrossesOutFirst, any_order_facts};
use quorate_core::fixtures::maekawa::{Hasty, Rows, Untold};
use quorate_core::fixtures::raymond::{Deaf, ForgetsToAsk};
use quorate_core::fixtures::readers_writers::AllAreReaders;
use quorate_core::fixtures::ricart_agrawala_implicit::{KeepsSilent, OneWay};
use quorate_core::fixtures::ricart_agrawala_ring::ThrowsAway;
use quorate_core::fixtures::roucairol_carvalho::{AnyReply, AsksOnce};
use quorate_core::fixtures::token_request::NoTick;
use quorate_core::fixtures::token_ring::{Regenerates, Uncancelled};
use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::voting::{Forgetful, Half};
use quorate_core::fixtures::{Flaw, NoLock, RicartAgrawala1981, no_lock};
use quorate_core::mutex::central::WhenBusy;
use quorate_core::mutex::maekawa::Form;
use quorate_core::mutex::quorum::Quorums;
use quorate_core::mutex::voting::Asks;
use quorate_core::mutex::{
    Central, Lamport, Raymond, ReadersWriters, RicartAgrawala, RicartAgrawalaImplicit, RicartAgrawalaModulo,
    RicartAgrawalaRing, RoucairolCarvalho, TokenRequest, TokenRing, TokenRingAcknowledged, central, lamport, raymond,
    readers_writers, ricart_agrawala, ricart_agrawala_implicit, ricart_agrawala_modulo, ricart_agrawala_ring,
    roucairol_carvalho, token_request, token_ring, token_ring_acknowledged,
};
use quorate_core::mutex::{Maekawa, MutexByElection, Voting, maekawa, mutex_by_election, voting};

type Modulo = RicartAgrawalaModulo;
type RequestRing = RicartAgrawalaRing;
type Implicit = RicartAgrawalaImplicit;
type Acknowledged = TokenRingAcknowledged;
type First = RicartAgrawala1981;
type ByElection = MutexByElection<ChangRoberts>;

pub(super) fn algorithms() -> Vec<MutexEntry> {
    vec![
        in_views(&central::FACTS, |me, around| Central::new(me, around.group.clone())),
        in_views(&central::DENY_FACTS, |me, around| {
            Central::when_busy(me, around.group.clone(), WhenBusy::deny(&around.bounds))
        }),
        in_views(&central::DENY_AND_QUEUE_FACTS, |me, around| {
            Central::when_busy(me, around.group.clone(), WhenBusy::DenyAndQueue)
        }),
        in_views(&lamport::FACTS, |me, around| Lamport::new(me, around.group.clone())),
        in_views(&ricart_agrawala::FACTS, |me, around| RicartAgrawala::new(me, around.group.clone())),
        in_views(&ricart_agrawala::BROADCAST, |me, around| RicartAgrawala::new(me, around.group.clone())),
        in_views(&ricart_agrawala_ring::FACTS, |me, around| RequestRing::new(me, around.group.clone())),
        mutex(&ricart_agrawala_implicit::FACTS, |me, around| Implicit::new(me, around.group.clone(), around.bounds)),
        mutex(&ricart_agrawala_modulo::FACTS, |me, around| Modulo::new(me, around.group.clone())),
        in_views(&token_ring::FACTS, |me, around| TokenRing::new(me, around.group.clone(), around.bounds)),
        mutex(&token_ring_acknowledged::FACTS, |me, around| Acknowledged::new(me, around.group.clone(), around.bounds)),
        in_views(&token_request::FACTS, |me, around| TokenRequest::new(me, around.group.clone())),
        in_views(&raymond::FACTS, |me, around| Raymond::new(me, around.group.clone())),
        in_views(&roucairol_carvalho::FACTS, |me, around| RoucairolCarvalho::new(me, around.group.clone())),
        in_views(&readers_writers::FACTS, |me, around| ReadersWriters::new(me, around.group.clone())),
        in_views(&maekawa::FACTS, |me, around| quorum(me, around, Form::DeadlockFree, Quorums::Grid)),
        in_views(const { &maekawa::facts(Form::DeadlockFree, Quorums::Plane) }, |me, around| {
            quorum(me, around, Form::DeadlockFree, Quorums::Plane)
        }),
        in_views(&voting::FACTS, |me, around| votes(me, around, Asks::All)),
        in_views(const { &voting::facts(Asks::Sequential) }, |me, around| votes(me, around, Asks::Sequential)),
        mutex(&mutex_by_election::FACTS, |me, around| ByElection::new(me, around.group.clone(), around.bounds)),
    ]
}

pub(super) fn fixtures() -> Vec<MutexEntry> {
    vec![
        mutex(&no_lock::FACTS, |_, _| NoLock::new()),
        mutex(const { &Flaw::BareReplies.facts() }, |me, around| flawed(me, around, Flaw::BareReplies)),
        mutex(const { &Flaw::ClockOnly.facts() }, |me, around| flawed(me, around, Flaw::ClockOnly)),
        mutex(const { &Flaw::NodeOnly.facts() }, |me, around| flawed(me, around, Flaw::NodeOnly)),
        mutex(const { &Flaw::FirstOnly.facts() }, |me, around| flawed(me, around, Flaw::FirstOnly)),
        mutex(const { &AnyReturnEnds::facts() }, |me, around| AnyReturnEnds::node(me, around.group.clone())),
        mutex(const { &DeniesForEver::facts() }, |me, around| DeniesForEver::node(me, around.group.clone())),
        mutex(const { &any_order_facts() }, |me, around| Lamport::new(me, around.group.clone())),
        mutex(const { &CrossesOutFirst::facts() }, |me, around| CrossesOutFirst::node(me, around.group.clone())),
        mutex(const { &Uncancelled::facts() }, |me, around| Uncancelled::node(me, around.group.clone(), around.bounds)),
        mutex(const { &Regenerates::facts() }, |me, around| Regenerates::node(me, around.group.clone(), around.bounds)),
        mutex(const { &NoTick::facts() }, |me, around| NoTick::node(me, around.group.clone())),
        mutex(const { &ForgetsToAsk::facts() }, |me, around| ForgetsToAsk::node(me, around.group.clone())),
        mutex(const { &Deaf::facts() }, |me, around| Deaf::node(me, around.group.clone())),
        mutex(const { &ThrowsAway::facts() }, |me, around| ThrowsAway::node(me, around.group.clone())),
        mutex(const { &KeepsSilent::facts() }, |me, around| KeepsSilent::node(me, around.group.clone(), around.bounds)),
        mutex(const { &OneWay::facts() }, |me, around| OneWay::node(me, around.group.clone(), around.bounds)),
        mutex(const { &AsksOnce::facts() }, |me, around| AsksOnce::node(me, around.group.clone())),
        mutex(const { &AnyReply::facts() }, |me, around| AnyReply::node(me, around.group.clone())),
        mutex(const { &AllAreReaders::facts() }, |me, around| AllAreReaders::node(me, around.group.clone())),
        mutex(const { &maekawa::facts(Form::Plain, Quorums::Grid) }, |me, around| {
            quorum(me, around, Form::Plain, Quorums::Grid)
        }),
        mutex(const { &maekawa::facts(Form::Plain, Quorums::Plane) }, |me, around| {
            quorum(me, around, Form::Plain, Quorums::Plane)
        }),
        mutex(const { &Untold::facts() }, |me, around| Untold::node(me, around.group.clone())),
        mutex(const { &Hasty::facts() }, |me, around| Hasty::node(me, around.group.clone())),
        mutex(const { &Rows::facts() }, |me, around| Rows::node(me, around.group.clone())),
        mutex(const { &Half::facts() }, |me, around| Half::node(me, around.group.clone(), around.bounds)),
        mutex(const { &Forgetful::facts() }, |me, around| Forgetful::node(me, around.group.clone(), around.bounds)),
        mutex(const { &Memory::Forgetful.facts() }, |me, around| Memory::Forgetful.node(me, around.group.clone())),
        mutex(const { &Memory::Mindful.facts() }, |me, around| Memory::Mindful.node(me, around.group.clone())),
        mutex(const { &Asking::Embrace.facts() }, |me, around| Asking::Embrace.node(me, around.group.clone())),
        mutex(const { &Asking::Ordered.facts() }, |me, around| Asking::Ordered.node(me, around.group.clone())),
        mutex(const { &Favour::Favourite.facts() }, |me, around| Favour::Favourite.node(me, around.group.clone())),
        mutex(const { &Favour::Fair.facts() }, |me, around| Favour::Fair.node(me, around.group.clone())),
        mutex(const { &Care::Slip.facts() }, |me, around| Care::Slip.node(me, around.group.clone())),
        mutex(const { &Care::Tidy.facts() }, |me, around| Care::Tidy.node(me, around.group.clone())),
        mutex(const { &Margin::Tick.facts() }, |me, around| Margin::Tick.node(me, around.group.clone())),
        mutex(const { &Margin::Drift.facts() }, |me, around| Margin::Drift.node(me, around.group.clone())),
    ]
}

fn quorum(me: NodeId, around: &Surroundings, form: Form, quorums: Quorums) -> Maekawa {
    Maekawa::new(me, around.group.clone(), form, quorums)
}

fn votes(me: NodeId, around: &Surroundings, asks: Asks) -> Voting {
    Voting::new(me, around.group.clone(), asks, around.bounds)
}

fn flawed(me: NodeId, around: &Surroundings, flaw: Flaw) -> First {
    First::new(me, around.group.clone(), flaw)
}
