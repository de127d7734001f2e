//! The mutual-exclusion algorithms and fixtures.

use super::{Mutex, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Environment, Family, Maker};
use quorate_core::about::Profile;
use quorate_core::election::ChangRoberts;
use quorate_core::fixtures::central::{AnyReturnEnds, DeniesForever};
use quorate_core::fixtures::lamport::{CrossesOutFirst, any_order_facts};
use quorate_core::fixtures::maekawa::{Hasty, Rows, Unnotified};
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
use quorate_core::mutex::voting::RequestMode;
use quorate_core::mutex::{
    Central, Choice, Command, Event, Facts, Lamport, Maekawa, MutexByElection, Raymond, ReadersWriters, RicartAgrawala,
    RicartAgrawalaImplicit, RicartAgrawalaModulo, RicartAgrawalaRing, RoucairolCarvalho, TokenRequest, TokenRing,
    TokenRingAcknowledged, Voting, central, lamport, maekawa, mutex_by_election, raymond, readers_writers,
    ricart_agrawala, ricart_agrawala_implicit, ricart_agrawala_modulo, ricart_agrawala_ring, roucairol_carvalho,
    token_request, token_ring, token_ring_acknowledged, voting,
};
use quorate_core::{Bounds, Group, NodeId, WriteOf};
use quorate_erased::{AnyCodec, Erasable, ErasableInViews, ErasableWrite, Erased, ErasedInViews};
use serde::de::DeserializeOwned;
use std::sync::Arc;

impl FamilyTypes for Mutex {
    const FAMILY: Family = Family::Mutex;
    const HAS_VIEWS: bool = true;

    type Entry = MutexEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static MutexEntry> {
        let Entry::Mutex(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<MutexEntry> {
        vec![
            in_views(&central::FACTS, |me, group, _| Central::new(me, group)),
            in_views(&central::DENY_FACTS, |me, group, bounds| Central::when_busy(me, group, WhenBusy::deny(&bounds))),
            in_views(&central::DENY_AND_QUEUE_FACTS, |me, group, _| {
                Central::when_busy(me, group, WhenBusy::DenyAndQueue)
            }),
            in_views(&lamport::FACTS, |me, group, _| Lamport::new(me, group)),
            in_views(&ricart_agrawala::FACTS, |me, group, _| RicartAgrawala::new(me, group)),
            in_views(&ricart_agrawala::BROADCAST, |me, group, _| RicartAgrawala::new(me, group)),
            in_views(&ricart_agrawala_ring::FACTS, |me, group, _| RequestRing::new(me, group)),
            mutex(&ricart_agrawala_implicit::FACTS, Implicit::new),
            mutex(&ricart_agrawala_modulo::FACTS, |me, group, _| Modulo::new(me, group)),
            in_views(&token_ring::FACTS, TokenRing::new),
            mutex(&token_ring_acknowledged::FACTS, Acknowledged::new),
            in_views(&token_request::FACTS, |me, group, _| TokenRequest::new(me, group)),
            in_views(&raymond::FACTS, |me, group, _| Raymond::new(me, group)),
            in_views(&roucairol_carvalho::FACTS, |me, group, _| RoucairolCarvalho::new(me, group)),
            in_views(&readers_writers::FACTS, |me, group, _| ReadersWriters::new(me, group)),
            in_views(&maekawa::FACTS, |me, group, _| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid)),
            in_views(const { &maekawa::facts(Form::DeadlockFree, Quorums::Plane) }, |me, group, _| {
                Maekawa::new(me, group, Form::DeadlockFree, Quorums::Plane)
            }),
            in_views(&voting::FACTS, |me, group, bounds| Voting::new(me, group, RequestMode::AllAtOnce, bounds)),
            in_views(const { &voting::facts(RequestMode::Sequential) }, |me, group, bounds| {
                Voting::new(me, group, RequestMode::Sequential, bounds)
            }),
            mutex(&mutex_by_election::FACTS, ByElection::new),
        ]
    }

    fn fixtures() -> Vec<MutexEntry> {
        vec![
            mutex(&no_lock::FACTS, |_, _, _| NoLock::new()),
            mutex(const { &Flaw::BareReplies.facts() }, |me, group, _| Flawed::new(me, group, Flaw::BareReplies)),
            mutex(const { &Flaw::ClockOnly.facts() }, |me, group, _| Flawed::new(me, group, Flaw::ClockOnly)),
            mutex(const { &Flaw::NodeOnly.facts() }, |me, group, _| Flawed::new(me, group, Flaw::NodeOnly)),
            mutex(const { &Flaw::FirstOnly.facts() }, |me, group, _| Flawed::new(me, group, Flaw::FirstOnly)),
            mutex(const { &AnyReturnEnds::facts() }, |me, group, _| AnyReturnEnds::node(me, group)),
            mutex(const { &DeniesForever::facts() }, |me, group, _| DeniesForever::node(me, group)),
            mutex(const { &any_order_facts() }, |me, group, _| Lamport::new(me, group)),
            mutex(const { &CrossesOutFirst::facts() }, |me, group, _| CrossesOutFirst::node(me, group)),
            mutex(const { &Uncancelled::facts() }, Uncancelled::node),
            mutex(const { &Regenerates::facts() }, Regenerates::node),
            mutex(const { &NoTick::facts() }, |me, group, _| NoTick::node(me, group)),
            mutex(const { &ForgetsToAsk::facts() }, |me, group, _| ForgetsToAsk::node(me, group)),
            mutex(const { &Deaf::facts() }, |me, group, _| Deaf::node(me, group)),
            mutex(const { &ThrowsAway::facts() }, |me, group, _| ThrowsAway::node(me, group)),
            mutex(const { &KeepsSilent::facts() }, KeepsSilent::node),
            mutex(const { &OneWay::facts() }, OneWay::node),
            mutex(const { &AsksOnce::facts() }, |me, group, _| AsksOnce::node(me, group)),
            mutex(const { &AnyReply::facts() }, |me, group, _| AnyReply::node(me, group)),
            mutex(const { &AllAreReaders::facts() }, |me, group, _| AllAreReaders::node(me, group)),
            mutex(const { &maekawa::facts(Form::Plain, Quorums::Grid) }, |me, group, _| {
                Maekawa::new(me, group, Form::Plain, Quorums::Grid)
            }),
            mutex(const { &maekawa::facts(Form::Plain, Quorums::Plane) }, |me, group, _| {
                Maekawa::new(me, group, Form::Plain, Quorums::Plane)
            }),
            mutex(const { &Unnotified::facts() }, |me, group, _| Unnotified::node(me, group)),
            mutex(const { &Hasty::facts() }, |me, group, _| Hasty::node(me, group)),
            mutex(const { &Rows::facts() }, |me, group, _| Rows::node(me, group)),
            mutex(const { &Half::facts() }, Half::node),
            mutex(const { &Forgetful::facts() }, Forgetful::node),
            mutex(const { &Memory::Forgetful.facts() }, |me, group, _| Memory::Forgetful.node(me, group)),
            mutex(const { &Memory::Mindful.facts() }, |me, group, _| Memory::Mindful.node(me, group)),
            mutex(const { &Asking::Embrace.facts() }, |me, group, _| Asking::Embrace.node(me, group)),
            mutex(const { &Asking::Ordered.facts() }, |me, group, _| Asking::Ordered.node(me, group)),
            mutex(const { &Favour::Favourite.facts() }, |me, group, _| Favour::Favourite.node(me, group)),
            mutex(const { &Favour::Fair.facts() }, |me, group, _| Favour::Fair.node(me, group)),
            mutex(const { &Care::Slip.facts() }, |me, group, _| Care::Slip.node(me, group)),
            mutex(const { &Care::Tidy.facts() }, |me, group, _| Care::Tidy.node(me, group)),
            mutex(const { &Margin::Tick.facts() }, |me, group, _| Margin::Tick.node(me, group)),
            mutex(const { &Margin::Drift.facts() }, |me, group, _| Margin::Drift.node(me, group)),
        ]
    }

    fn profile(entry: &MutexEntry) -> &'static Profile {
        &entry.facts.profile
    }

    fn entry_codec(entry: &MutexEntry) -> AnyCodec {
        entry.codec.clone()
    }

    fn algorithm_of(entry: &MutexEntry) -> &'static str {
        entry.facts.algorithm()
    }

    fn variant_choices(entry: &MutexEntry) -> &'static [Choice] {
        entry.facts.variant_choices
    }

    fn runs_in_views(entry: &MutexEntry) -> bool {
        entry.runs_in_views()
    }
}

pub type MutexNode = Erased<Command, Event>;

pub type MutexInViews = ErasedInViews<Command, Event>;

/// A mutual-exclusion algorithm in the registry.
pub struct MutexEntry {
    pub facts: &'static Facts,
    pub make: MutexMaker,
    pub codec: AnyCodec,
}

impl MutexEntry {
    pub fn node(&self, me: NodeId, environment: &Environment) -> MutexNode {
        match &self.make {
            MutexMaker::Fixed(make) => make(me, environment),
            MutexMaker::InViews(make) => make(me, environment).bare(),
        }
    }

    /// Returns a node that can move from one view to the next; `None` if the algorithm does not
    /// support views.
    pub fn node_in_views(&self, me: NodeId, environment: &Environment) -> Option<MutexInViews> {
        match &self.make {
            MutexMaker::Fixed(_) => None,
            MutexMaker::InViews(make) => Some(make(me, environment)),
        }
    }

    pub const fn runs_in_views(&self) -> bool {
        matches!(self.make, MutexMaker::InViews(_))
    }
}

/// Creates nodes that support views, or nodes that do not.
#[derive(Clone)]
pub enum MutexMaker {
    Fixed(Maker<Environment, MutexNode>),
    InViews(Maker<Environment, MutexInViews>),
}

fn mutex<P>(facts: &'static Facts, make: impl Fn(NodeId, Group, Bounds) -> P + Send + Sync + 'static) -> MutexEntry
where
    P: Erasable<Command = Command, Event = Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make =
        move |me, environment: &Environment| Erased::new(make(me, environment.group.clone(), environment.bounds));
    let make = MutexMaker::Fixed(Arc::new(make));
    MutexEntry { facts, make, codec: AnyCodec::for_protocol::<P>() }
}

fn in_views<P>(facts: &'static Facts, make: impl Fn(NodeId, Group, Bounds) -> P + Send + Sync + 'static) -> MutexEntry
where
    P: ErasableInViews<Command = Command, Event = Event, Message: DeserializeOwned, Report: DeserializeOwned>,
{
    let make = move |me, environment: &Environment| {
        ErasedInViews::new(make(me, environment.group.clone(), environment.bounds))
    };
    let make = MutexMaker::InViews(Arc::new(make));
    MutexEntry { facts, make, codec: AnyCodec::for_protocol_in_views::<P>() }
}

type Modulo = RicartAgrawalaModulo;
type RequestRing = RicartAgrawalaRing;
type Implicit = RicartAgrawalaImplicit;
type Acknowledged = TokenRingAcknowledged;
type Flawed = RicartAgrawala1981;
type ByElection = MutexByElection<ChangRoberts>;
