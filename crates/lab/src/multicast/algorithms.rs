//! The ordered multicast algorithms and fixtures.

use super::{Multicast, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Family, Maker};
use quorate_core::NodeId;
use quorate_core::about::Profile;
use quorate_core::fixtures::multicast::{self as faulty, BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty};
use quorate_core::multicast::{
    Board, Causal, Command, Event, Facts, Fifo, Isis, MakeOrdering, Member, MultiGroup, Ordering, Plan, Sequencer,
    Unordered, causal, fifo, isis, sequencer, unordered,
};
use quorate_core::wrap::Viewed;
use quorate_erased::{AnyCodec, Erasable, Erased, ErasedInViews};
use std::sync::Arc;

impl FamilyTypes for Multicast {
    const FAMILY: Family = Family::Multicast;
    const HAS_VIEWS: bool = true;

    type Entry = MulticastEntry;
    type Command = Command;
    type Event = Event;
    type Settings = Settings;

    fn entry(entry: &'static Entry) -> Option<&'static MulticastEntry> {
        let Entry::Multicast(entry) = entry else { return None };
        Some(entry)
    }

    fn algorithms() -> Vec<MulticastEntry> {
        vec![
            planned(const { &unordered::FACTS }, Unordered::boxed),
            planned(const { &unordered::RELIABLE_FACTS }, Unordered::boxed),
            planned(const { &fifo::FACTS }, Fifo::boxed),
            planned(const { &causal::FACTS }, Causal::boxed),
            planned(const { &sequencer::FACTS }, Sequencer::<Unordered>::boxed),
            planned(const { &isis::FACTS }, Isis::<Unordered>::boxed),
            planned(const { &sequencer::FIFO_FACTS }, Sequencer::<Fifo>::boxed),
            planned(const { &sequencer::CAUSAL_FACTS }, Sequencer::<Causal>::boxed),
            planned(const { &isis::FIFO_FACTS }, Isis::<Fifo>::boxed),
            planned(const { &isis::CAUSAL_FACTS }, Isis::<Causal>::boxed),
        ]
    }

    fn fixtures() -> Vec<MulticastEntry> {
        vec![
            planned(&faulty::BASIC_DEAF, BasicDeaf::boxed),
            multicast(&faulty::RELIABLE_UNRELAYED, |me, plan| faulty::unrelayed(me, plan)),
            planned(&faulty::FIFO_HASTY, FifoHasty::boxed),
            planned(&faulty::CAUSAL_BLIND, CausalBlind::boxed),
            planned(&faulty::SEQUENCER_HASTY, SequencerHasty::boxed),
            planned(&faulty::ISIS_HASTY, IsisHasty::boxed),
            multicast(&faulty::UNIFORM_HASTY, |me, plan| faulty::hasty_uniform(me, plan)),
        ]
    }

    fn profile(entry: &MulticastEntry) -> &'static Profile {
        &entry.facts.profile
    }

    fn entry_codec(entry: &MulticastEntry) -> AnyCodec {
        entry.codec.clone()
    }
}

pub type MulticastNode = Erased<Command, Event>;

pub type MulticastInViews = ErasedInViews<Command, Event>;

/// A multicast algorithm in the registry.
pub struct MulticastEntry {
    pub facts: &'static Facts,
    pub make: Maker<Arc<Plan>, MulticastInViews>,
    pub codec: AnyCodec,
}

impl MulticastEntry {
    /// Returns a node in all of these groups that it is a member of. The groups never change.
    pub fn several(&self, me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode {
        self.node_in_groups(me, plans, |node| node)
    }

    /// Like [`several`](Self::several), in views that the node receives from a membership service.
    pub fn several_viewed(&self, me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode {
        self.node_in_groups(me, plans, |node| Viewed::new(me, node))
    }

    fn node_in_groups<P>(&self, me: NodeId, plans: &[Arc<Plan>], wrap: impl Fn(MulticastInViews) -> P) -> MulticastNode
    where
        MultiGroup<P>: Erasable<Command = Command, Event = Event, Durable = ()>,
    {
        let my_plans = plans.iter().filter(|plan| plan.members.contains(me));
        Erased::new(MultiGroup::new(my_plans.map(|plan| (plan.id, plan.members.clone(), wrap((self.make)(me, plan))))))
    }
}

fn planned(facts: &'static Facts, make_ordering: MakeOrdering) -> MulticastEntry {
    multicast(facts, move |me, plan| Member::new(me, Arc::clone(plan), make_ordering))
}

fn multicast(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Arc<Plan>) -> Member<Board> + Send + Sync + 'static,
) -> MulticastEntry {
    let make = Arc::new(move |me: NodeId, plan: &Arc<Plan>| ErasedInViews::new(make(me, plan)));
    MulticastEntry { facts, make, codec: AnyCodec::for_protocol_in_views::<Member<Board>>() }
}
