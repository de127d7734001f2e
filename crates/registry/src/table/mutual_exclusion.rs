//! The lines of mutual exclusion.

use super::{Entry, MutexNode, Surroundings, mutex};
use crate::erased::Erased;
use quorate_core::NodeId;
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
use quorate_core::fixtures::toys::arbiter::Arbitrated;
use quorate_core::fixtures::toys::embrace::Embrace;
use quorate_core::fixtures::toys::favourite::Row;
use quorate_core::fixtures::toys::forgetful::GrantBook;
use quorate_core::fixtures::toys::lease::Leased;
use quorate_core::fixtures::toys::slip::Ring;
use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::voting::{Forgetful, Half};
use quorate_core::fixtures::{Flaw, NoLock, RicartAgrawala1981, Spoilt, no_lock};
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
use quorate_core::mutex::{Maekawa, Voting, maekawa, voting};

type Modulo = RicartAgrawalaModulo;
type RequestRing = RicartAgrawalaRing;
type Implicit = RicartAgrawalaImplicit;
type Acknowledged = TokenRingAcknowledged;
type First = RicartAgrawala1981;
type Arbiter = Arbitrated<GrantBook>;
type Patron = Arbitrated<Row>;
type Circle = Arbitrated<Ring>;

/// The algorithms, in the order in which lists show them.
pub(super) fn algorithms() -> Vec<Entry> {
    vec![
        mutex::<Central>(&central::FACTS, |me, around| Erased::new(Central::new(me, around.group.clone()))),
        mutex::<Central>(&central::DENY_FACTS, |me, around| {
            Erased::new(Central::when_busy(me, around.group.clone(), WhenBusy::deny(&around.bounds)))
        }),
        mutex::<Central>(&central::DENY_AND_QUEUE_FACTS, |me, around| {
            Erased::new(Central::when_busy(me, around.group.clone(), WhenBusy::DenyAndQueue))
        }),
        mutex::<Lamport>(&lamport::FACTS, |me, around| Erased::new(Lamport::new(me, around.group.clone()))),
        mutex::<RicartAgrawala>(&ricart_agrawala::FACTS, |me, around| {
            Erased::new(RicartAgrawala::new(me, around.group.clone()))
        }),
        mutex::<RicartAgrawala>(&ricart_agrawala::BROADCAST, |me, around| {
            Erased::new(RicartAgrawala::new(me, around.group.clone()))
        }),
        mutex::<RequestRing>(&ricart_agrawala_ring::FACTS, |me, around| {
            Erased::new(RequestRing::new(me, around.group.clone()))
        }),
        mutex::<Implicit>(&ricart_agrawala_implicit::FACTS, |me, around| {
            Erased::new(Implicit::new(me, around.group.clone(), around.bounds))
        }),
        mutex::<Modulo>(&ricart_agrawala_modulo::FACTS, |me, around| {
            Erased::new(Modulo::new(me, around.group.clone()))
        }),
        mutex::<TokenRing>(&token_ring::FACTS, |me, around| {
            Erased::new(TokenRing::new(me, around.group.clone(), around.bounds))
        }),
        mutex::<Acknowledged>(&token_ring_acknowledged::FACTS, |me, around| {
            Erased::new(Acknowledged::new(me, around.group.clone(), around.bounds))
        }),
        mutex::<TokenRequest>(&token_request::FACTS, |me, around| {
            Erased::new(TokenRequest::new(me, around.group.clone()))
        }),
        mutex::<Raymond>(&raymond::FACTS, |me, around| Erased::new(Raymond::new(me, around.group.clone()))),
        mutex::<RoucairolCarvalho>(&roucairol_carvalho::FACTS, |me, around| {
            Erased::new(RoucairolCarvalho::new(me, around.group.clone()))
        }),
        mutex::<ReadersWriters>(&readers_writers::FACTS, |me, around| {
            Erased::new(ReadersWriters::new(me, around.group.clone()))
        }),
        mutex::<Maekawa>(&maekawa::FACTS, |me, around| quorum(me, around, Form::DeadlockFree, Quorums::Grid)),
        mutex::<Maekawa>(const { &maekawa::facts(Form::DeadlockFree, Quorums::Plane) }, |me, around| {
            quorum(me, around, Form::DeadlockFree, Quorums::Plane)
        }),
        mutex::<Voting>(&voting::FACTS, |me, around| votes(me, around, Asks::All)),
        mutex::<Voting>(const { &voting::facts(Asks::Sequential) }, |me, around| votes(me, around, Asks::Sequential)),
    ]
}

/// Those that are wrong on purpose, and correct twins of some of them.
pub(super) fn fixtures() -> Vec<Entry> {
    vec![
        mutex::<NoLock>(&no_lock::FACTS, |_, _| Erased::new(NoLock::new())),
        mutex::<First>(const { &Flaw::BareReplies.facts() }, |me, around| flawed(me, around, Flaw::BareReplies)),
        mutex::<First>(const { &Flaw::ClockOnly.facts() }, |me, around| flawed(me, around, Flaw::ClockOnly)),
        mutex::<First>(const { &Flaw::NodeOnly.facts() }, |me, around| flawed(me, around, Flaw::NodeOnly)),
        mutex::<First>(const { &Flaw::FirstOnly.facts() }, |me, around| flawed(me, around, Flaw::FirstOnly)),
        mutex::<Spoilt<Central, AnyReturnEnds>>(const { &AnyReturnEnds::facts() }, |me, around| {
            Erased::new(AnyReturnEnds::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<Central, DeniesForEver>>(const { &DeniesForEver::facts() }, |me, around| {
            Erased::new(DeniesForEver::node(me, around.group.clone()))
        }),
        mutex::<Lamport>(const { &any_order_facts() }, |me, around| {
            Erased::new(Lamport::new(me, around.group.clone()))
        }),
        mutex::<Spoilt<Lamport, CrossesOutFirst>>(const { &CrossesOutFirst::facts() }, |me, around| {
            Erased::new(CrossesOutFirst::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<TokenRing, Uncancelled>>(const { &Uncancelled::facts() }, |me, around| {
            Erased::new(Uncancelled::node(me, around.group.clone(), around.bounds))
        }),
        mutex::<Spoilt<TokenRing, Regenerates>>(const { &Regenerates::facts() }, |me, around| {
            Erased::new(Regenerates::node(me, around.group.clone(), around.bounds))
        }),
        mutex::<Spoilt<TokenRequest, NoTick>>(const { &NoTick::facts() }, |me, around| {
            Erased::new(NoTick::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<Raymond, ForgetsToAsk>>(const { &ForgetsToAsk::facts() }, |me, around| {
            Erased::new(ForgetsToAsk::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<Raymond, Deaf>>(const { &Deaf::facts() }, |me, around| {
            Erased::new(Deaf::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<RequestRing, ThrowsAway>>(const { &ThrowsAway::facts() }, |me, around| {
            Erased::new(ThrowsAway::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<Implicit, KeepsSilent>>(const { &KeepsSilent::facts() }, |me, around| {
            Erased::new(KeepsSilent::node(me, around.group.clone(), around.bounds))
        }),
        mutex::<Spoilt<Implicit, OneWay>>(const { &OneWay::facts() }, |me, around| {
            Erased::new(OneWay::node(me, around.group.clone(), around.bounds))
        }),
        mutex::<Spoilt<RoucairolCarvalho, AsksOnce>>(const { &AsksOnce::facts() }, |me, around| {
            Erased::new(AsksOnce::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<RoucairolCarvalho, AnyReply>>(const { &AnyReply::facts() }, |me, around| {
            Erased::new(AnyReply::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<ReadersWriters, AllAreReaders>>(const { &AllAreReaders::facts() }, |me, around| {
            Erased::new(AllAreReaders::node(me, around.group.clone()))
        }),
        mutex::<Maekawa>(const { &maekawa::facts(Form::Plain, Quorums::Grid) }, |me, around| {
            quorum(me, around, Form::Plain, Quorums::Grid)
        }),
        mutex::<Maekawa>(const { &maekawa::facts(Form::Plain, Quorums::Plane) }, |me, around| {
            quorum(me, around, Form::Plain, Quorums::Plane)
        }),
        mutex::<Spoilt<Maekawa, Untold>>(const { &Untold::facts() }, |me, around| {
            Erased::new(Untold::node(me, around.group.clone()))
        }),
        mutex::<Spoilt<Maekawa, Hasty>>(const { &Hasty::facts() }, |me, around| {
            Erased::new(Hasty::node(me, around.group.clone()))
        }),
        mutex::<Maekawa>(const { &Rows::facts() }, |me, around| Erased::new(Rows::node(me, around.group.clone()))),
        mutex::<Voting>(const { &Half::facts() }, |me, around| {
            Erased::new(Half::node(me, around.group.clone(), around.bounds))
        }),
        mutex::<Spoilt<Voting, Forgetful>>(const { &Forgetful::facts() }, |me, around| {
            Erased::new(Forgetful::node(me, around.group.clone(), around.bounds))
        }),
        mutex::<Arbiter>(const { &Memory::Forgetful.facts() }, |me, around| {
            Erased::new(Memory::Forgetful.node(me, around.group.clone()))
        }),
        mutex::<Arbiter>(const { &Memory::Mindful.facts() }, |me, around| {
            Erased::new(Memory::Mindful.node(me, around.group.clone()))
        }),
        mutex::<Embrace>(const { &Asking::Embrace.facts() }, |me, around| {
            Erased::new(Asking::Embrace.node(me, around.group.clone()))
        }),
        mutex::<Embrace>(const { &Asking::Ordered.facts() }, |me, around| {
            Erased::new(Asking::Ordered.node(me, around.group.clone()))
        }),
        mutex::<Patron>(const { &Favour::Favourite.facts() }, |me, around| {
            Erased::new(Favour::Favourite.node(me, around.group.clone()))
        }),
        mutex::<Patron>(const { &Favour::Fair.facts() }, |me, around| {
            Erased::new(Favour::Fair.node(me, around.group.clone()))
        }),
        mutex::<Circle>(const { &Care::Slip.facts() }, |me, around| {
            Erased::new(Care::Slip.node(me, around.group.clone()))
        }),
        mutex::<Circle>(const { &Care::Tidy.facts() }, |me, around| {
            Erased::new(Care::Tidy.node(me, around.group.clone()))
        }),
        mutex::<Leased>(const { &Margin::Tick.facts() }, |me, around| {
            Erased::new(Margin::Tick.node(me, around.group.clone()))
        }),
        mutex::<Leased>(const { &Margin::Drift.facts() }, |me, around| {
            Erased::new(Margin::Drift.node(me, around.group.clone()))
        }),
    ]
}

fn quorum(me: NodeId, around: &Surroundings, form: Form, quorums: Quorums) -> MutexNode {
    Erased::new(Maekawa::new(me, around.group.clone(), form, quorums))
}

fn votes(me: NodeId, around: &Surroundings, asks: Asks) -> MutexNode {
    Erased::new(Voting::new(me, around.group.clone(), asks, around.bounds))
}

fn flawed(me: NodeId, around: &Surroundings, flaw: Flaw) -> MutexNode {
    Erased::new(First::new(me, around.group.clone(), flaw))
}
