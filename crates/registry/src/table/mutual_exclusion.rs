//! The lines of mutual exclusion.

use super::{Entry, MutexNode, Surroundings, mutex};
use crate::erased::Erased;
use quorate_core::NodeId;
use quorate_core::fixtures::central::{AnyReturnEnds, DeniesForEver};
use quorate_core::fixtures::lamport::{CrossesOutFirst, any_order_facts};
use quorate_core::fixtures::raymond::{Deaf, ForgetsToAsk};
use quorate_core::fixtures::token_request::NoTick;
use quorate_core::fixtures::token_ring::{Regenerates, Uncancelled};
use quorate_core::fixtures::toys::arbiter::Arbitrated;
use quorate_core::fixtures::toys::embrace::Embrace;
use quorate_core::fixtures::toys::favourite::Row;
use quorate_core::fixtures::toys::forgetful::GrantBook;
use quorate_core::fixtures::toys::lease::Leased;
use quorate_core::fixtures::toys::slip::Ring;
use quorate_core::fixtures::toys::{Asking, Care, Favour, Margin, Memory};
use quorate_core::fixtures::{Flaw, NoLock, RicartAgrawala1981, Spoilt, no_lock};
use quorate_core::mutex::central::WhenBusy;
use quorate_core::mutex::{
    Central, Lamport, Raymond, RicartAgrawala, RicartAgrawalaModulo, TokenRequest, TokenRing, central, lamport,
    raymond, ricart_agrawala, ricart_agrawala_modulo, token_request, token_ring,
};

type Modulo = RicartAgrawalaModulo;
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
        mutex::<Modulo>(&ricart_agrawala_modulo::FACTS, |me, around| {
            Erased::new(Modulo::new(me, around.group.clone()))
        }),
        mutex::<TokenRing>(&token_ring::FACTS, |me, around| {
            Erased::new(TokenRing::new(me, around.group.clone(), around.bounds))
        }),
        mutex::<TokenRequest>(&token_request::FACTS, |me, around| {
            Erased::new(TokenRequest::new(me, around.group.clone()))
        }),
        mutex::<Raymond>(&raymond::FACTS, |me, around| Erased::new(Raymond::new(me, around.group.clone()))),
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

fn flawed(me: NodeId, around: &Surroundings, flaw: Flaw) -> MutexNode {
    Erased::new(First::new(me, around.group.clone(), flaw))
}
