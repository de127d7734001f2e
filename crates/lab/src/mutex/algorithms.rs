//! The mutual-exclusion algorithms and fixtures.

use super::{Mutex, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Environment, Family, NodeFactory};
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
use quorate_core::fixtures::toys::{GrantOrder, Margin, Memory, Removal, VoterOrder};
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
            viewed_entry(&central::FACTS, |me, group, _| Central::new(me, group)),
            viewed_entry(&central::DENY_FACTS, |me, group, bounds| {
                Central::with_when_busy(me, group, WhenBusy::deny(&bounds))
            }),
            viewed_entry(&central::DENY_AND_QUEUE_FACTS, |me, group, _| {
                Central::with_when_busy(me, group, WhenBusy::DenyAndQueue)
            }),
            viewed_entry(&lamport::FACTS, |me, group, _| Lamport::new(me, group)),
            viewed_entry(&ricart_agrawala::FACTS, |me, group, _| RicartAgrawala::new(me, group)),
            viewed_entry(&ricart_agrawala::BROADCAST_FACTS, |me, group, _| RicartAgrawala::new(me, group)),
            viewed_entry(&ricart_agrawala_ring::FACTS, |me, group, _| RequestRing::new(me, group)),
            fixed_entry(&ricart_agrawala_implicit::FACTS, Implicit::new),
            fixed_entry(&ricart_agrawala_modulo::FACTS, |me, group, _| Modulo::new(me, group)),
            viewed_entry(&token_ring::FACTS, TokenRing::new),
            fixed_entry(&token_ring_acknowledged::FACTS, Acknowledged::new),
            viewed_entry(&token_request::FACTS, |me, group, _| TokenRequest::new(me, group)),
            viewed_entry(&raymond::FACTS, |me, group, _| Raymond::new(me, group)),
            viewed_entry(&roucairol_carvalho::FACTS, |me, group, _| RoucairolCarvalho::new(me, group)),
            viewed_entry(&readers_writers::FACTS, |me, group, _| ReadersWriters::new(me, group)),
            viewed_entry(&maekawa::FACTS, |me, group, _| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid)),
            viewed_entry(const { &maekawa::facts(Form::DeadlockFree, Quorums::Plane) }, |me, group, _| {
                Maekawa::new(me, group, Form::DeadlockFree, Quorums::Plane)
            }),
            viewed_entry(&voting::FACTS, |me, group, bounds| Voting::new(me, group, RequestMode::AllAtOnce, bounds)),
            viewed_entry(const { &voting::facts(RequestMode::Sequential) }, |me, group, bounds| {
                Voting::new(me, group, RequestMode::Sequential, bounds)
            }),
            fixed_entry(&mutex_by_election::FACTS, ByElection::new),
        ]
    }

    fn fixtures() -> Vec<MutexEntry> {
        vec![
            fixed_entry(&no_lock::FACTS, |_, _, _| NoLock::new()),
            fixed_entry(const { &Flaw::BareReplies.facts() }, |me, group, _| Flawed::new(me, group, Flaw::BareReplies)),
            fixed_entry(const { &Flaw::ClockOnly.facts() }, |me, group, _| Flawed::new(me, group, Flaw::ClockOnly)),
            fixed_entry(const { &Flaw::NodeOnly.facts() }, |me, group, _| Flawed::new(me, group, Flaw::NodeOnly)),
            fixed_entry(const { &Flaw::FirstOnly.facts() }, |me, group, _| Flawed::new(me, group, Flaw::FirstOnly)),
            fixed_entry(const { &AnyReturnEnds::facts() }, |me, group, _| AnyReturnEnds::node(me, group)),
            fixed_entry(const { &DeniesForever::facts() }, |me, group, _| DeniesForever::node(me, group)),
            fixed_entry(const { &any_order_facts() }, |me, group, _| Lamport::new(me, group)),
            fixed_entry(const { &CrossesOutFirst::facts() }, |me, group, _| CrossesOutFirst::node(me, group)),
            fixed_entry(const { &Uncancelled::facts() }, Uncancelled::node),
            fixed_entry(const { &Regenerates::facts() }, Regenerates::node),
            fixed_entry(const { &NoTick::facts() }, |me, group, _| NoTick::node(me, group)),
            fixed_entry(const { &ForgetsToAsk::facts() }, |me, group, _| ForgetsToAsk::node(me, group)),
            fixed_entry(const { &Deaf::facts() }, |me, group, _| Deaf::node(me, group)),
            fixed_entry(const { &ThrowsAway::facts() }, |me, group, _| ThrowsAway::node(me, group)),
            fixed_entry(const { &KeepsSilent::facts() }, KeepsSilent::node),
            fixed_entry(const { &OneWay::facts() }, OneWay::node),
            fixed_entry(const { &AsksOnce::facts() }, |me, group, _| AsksOnce::node(me, group)),
            fixed_entry(const { &AnyReply::facts() }, |me, group, _| AnyReply::node(me, group)),
            fixed_entry(const { &AllAreReaders::facts() }, |me, group, _| AllAreReaders::node(me, group)),
            fixed_entry(const { &maekawa::facts(Form::Plain, Quorums::Grid) }, |me, group, _| {
                Maekawa::new(me, group, Form::Plain, Quorums::Grid)
            }),
            fixed_entry(const { &maekawa::facts(Form::Plain, Quorums::Plane) }, |me, group, _| {
                Maekawa::new(me, group, Form::Plain, Quorums::Plane)
            }),
            fixed_entry(const { &Unnotified::facts() }, |me, group, _| Unnotified::node(me, group)),
            fixed_entry(const { &Hasty::facts() }, |me, group, _| Hasty::node(me, group)),
            fixed_entry(const { &Rows::facts() }, |me, group, _| Rows::node(me, group)),
            fixed_entry(const { &Half::facts() }, Half::node),
            fixed_entry(const { &Forgetful::facts() }, Forgetful::node),
            fixed_entry(const { &Memory::Forgetful.facts() }, |me, group, _| Memory::Forgetful.node(me, group)),
            fixed_entry(const { &Memory::Mindful.facts() }, |me, group, _| Memory::Mindful.node(me, group)),
            fixed_entry(const { &VoterOrder::ByParity.facts() }, |me, group, _| VoterOrder::ByParity.node(me, group)),
            fixed_entry(const { &VoterOrder::SameForAll.facts() }, |me, group, _| {
                VoterOrder::SameForAll.node(me, group)
            }),
            fixed_entry(const { &GrantOrder::LowestNumberFirst.facts() }, |me, group, _| {
                GrantOrder::LowestNumberFirst.node(me, group)
            }),
            fixed_entry(const { &GrantOrder::ByArrival.facts() }, |me, group, _| GrantOrder::ByArrival.node(me, group)),
            fixed_entry(const { &Removal::BothOfTwo.facts() }, |me, group, _| Removal::BothOfTwo.node(me, group)),
            fixed_entry(const { &Removal::GrantedOnly.facts() }, |me, group, _| Removal::GrantedOnly.node(me, group)),
            fixed_entry(const { &Margin::Tick.facts() }, |me, group, _| Margin::Tick.node(me, group)),
            fixed_entry(const { &Margin::Drift.facts() }, |me, group, _| Margin::Drift.node(me, group)),
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
    pub make: MutexNodeFactory,
    pub codec: AnyCodec,
}

impl MutexEntry {
    pub fn node(&self, me: NodeId, environment: &Environment) -> MutexNode {
        match &self.make {
            MutexNodeFactory::Fixed(make) => make(me, environment),
            MutexNodeFactory::InViews(make) => make(me, environment).in_fixed_group(),
        }
    }

    /// Returns a node that can move from one view to the next; `None` if the algorithm does not
    /// support views.
    pub fn node_in_views(&self, me: NodeId, environment: &Environment) -> Option<MutexInViews> {
        match &self.make {
            MutexNodeFactory::Fixed(_) => None,
            MutexNodeFactory::InViews(make) => Some(make(me, environment)),
        }
    }

    pub const fn runs_in_views(&self) -> bool {
        matches!(self.make, MutexNodeFactory::InViews(_))
    }
}

/// Creates nodes that support views, or nodes that do not.
#[derive(Clone)]
pub enum MutexNodeFactory {
    Fixed(NodeFactory<Environment, MutexNode>),
    InViews(NodeFactory<Environment, MutexInViews>),
}

fn fixed_entry<P>(
    facts: &'static Facts,
    make: impl Fn(NodeId, Group, Bounds) -> P + Send + Sync + 'static,
) -> MutexEntry
where
    P: Erasable<Command = Command, Event = Event, Message: DeserializeOwned>,
    WriteOf<P>: ErasableWrite,
{
    let make =
        move |me, environment: &Environment| Erased::new(make(me, environment.group.clone(), environment.bounds));
    let make = MutexNodeFactory::Fixed(Arc::new(make));
    MutexEntry { facts, make, codec: AnyCodec::for_protocol::<P>() }
}

fn viewed_entry<P>(
    facts: &'static Facts,
    make: impl Fn(NodeId, Group, Bounds) -> P + Send + Sync + 'static,
) -> MutexEntry
where
    P: ErasableInViews<Command = Command, Event = Event, Message: DeserializeOwned, Report: DeserializeOwned>,
{
    let make = move |me, environment: &Environment| {
        ErasedInViews::new(make(me, environment.group.clone(), environment.bounds))
    };
    let make = MutexNodeFactory::InViews(Arc::new(make));
    MutexEntry { facts, make, codec: AnyCodec::for_protocol_in_views::<P>() }
}

// Short names for the lists of entries.
type Modulo = RicartAgrawalaModulo;
type RequestRing = RicartAgrawalaRing;
type Implicit = RicartAgrawalaImplicit;
type Acknowledged = TokenRingAcknowledged;
type Flawed = RicartAgrawala1981;
type ByElection = MutexByElection<ChangRoberts>;
