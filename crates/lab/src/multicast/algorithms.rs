//! The ordered multicast algorithms and fixtures.

use super::{Multicast, Settings};
use crate::family::FamilyTypes;
use crate::registry::{Entry, Family, NodeFactory};
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
            with_ordering(const { &unordered::FACTS }, Unordered::boxed),
            with_ordering(const { &unordered::RELIABLE_FACTS }, Unordered::boxed),
            with_ordering(const { &fifo::FACTS }, Fifo::boxed),
            with_ordering(const { &causal::FACTS }, Causal::boxed),
            with_ordering(const { &sequencer::FACTS }, Sequencer::<Unordered>::boxed),
            with_ordering(const { &isis::FACTS }, Isis::<Unordered>::boxed),
            with_ordering(const { &sequencer::FIFO_FACTS }, Sequencer::<Fifo>::boxed),
            with_ordering(const { &sequencer::CAUSAL_FACTS }, Sequencer::<Causal>::boxed),
            with_ordering(const { &isis::FIFO_FACTS }, Isis::<Fifo>::boxed),
            with_ordering(const { &isis::CAUSAL_FACTS }, Isis::<Causal>::boxed),
        ]
    }

    fn fixtures() -> Vec<MulticastEntry> {
        vec![
            with_ordering(&faulty::BASIC_DEAF, BasicDeaf::boxed),
            with_member(&faulty::RELIABLE_UNRELAYED, |me, plan| faulty::unrelayed(me, plan)),
            with_ordering(&faulty::FIFO_HASTY, FifoHasty::boxed),
            with_ordering(&faulty::CAUSAL_BLIND, CausalBlind::boxed),
            with_ordering(&faulty::SEQUENCER_HASTY, SequencerHasty::boxed),
            with_ordering(&faulty::ISIS_HASTY, IsisHasty::boxed),
            with_member(&faulty::UNIFORM_HASTY, |me, plan| faulty::hasty_uniform(me, plan)),
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

/// A member of one group, which can run with views or without.
pub type MulticastInViews = ErasedInViews<Command, Event>;

/// A multicast algorithm in the registry.
pub struct MulticastEntry {
    pub facts: &'static Facts,
    pub make: NodeFactory<Arc<Plan>, MulticastInViews>,
    pub codec: AnyCodec,
}

impl MulticastEntry {
    /// Returns a node in all of these groups that it is a member of. The groups never change.
    pub fn node_in_fixed_groups(&self, me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode {
        self.node_in_groups(me, plans, |node| node)
    }

    /// Like [`node_in_fixed_groups`](Self::node_in_fixed_groups), in views that the node receives
    /// from a membership service.
    pub fn node_in_viewed_groups(&self, me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode {
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

fn with_ordering(facts: &'static Facts, make_ordering: MakeOrdering) -> MulticastEntry {
    with_member(facts, move |me, plan| Member::new(me, Arc::clone(plan), make_ordering))
}

/// Returns an entry whose members keep a [`Board`], a bulletin board of the latest messages, as
/// their shared state.
fn with_member(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Arc<Plan>) -> Member<Board> + Send + Sync + 'static,
) -> MulticastEntry {
    let make = Arc::new(move |me: NodeId, plan: &Arc<Plan>| ErasedInViews::new(make(me, plan)));
    MulticastEntry { facts, make, codec: AnyCodec::for_protocol_in_views::<Member<Board>>() }
}
