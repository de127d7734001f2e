//! The lines of ordered multicast.

use super::{Entry, MoreForms, MulticastEntry, MulticastForm, MulticastNode, SeveralForm};
use crate::codec::AnyCodec;
use crate::erased::Erased;
use quorate_core::NodeId;
use quorate_core::fixtures::multicast::{self as wrong, BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty};
use quorate_core::membership::Terms;
use quorate_core::multicast::{
    Board, Causal, Facts, Fifo, Isis, Member, Ordering, Plan, Sequencer, Several, Unordered, causal, fifo, isis,
    sequencer, unordered,
};
use quorate_core::wrap::Viewed;
use quorate_replica::membership;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The algorithms, in the order in which lists show them.
pub(super) fn algorithms() -> Vec<Entry> {
    vec![
        multicast::<Unordered>(const { &unordered::FACTS }),
        multicast::<Unordered>(const { &unordered::RELIABLE_FACTS }),
        multicast::<Fifo>(const { &fifo::FACTS }),
        multicast::<Causal>(const { &causal::FACTS }),
        multicast::<Sequencer<Unordered>>(const { &sequencer::FACTS }),
        multicast::<Isis<Unordered>>(const { &isis::FACTS }),
        multicast::<Sequencer<Fifo>>(const { &sequencer::FIFO_FACTS }),
        multicast::<Sequencer<Causal>>(const { &sequencer::CAUSAL_FACTS }),
        multicast::<Isis<Fifo>>(const { &isis::FIFO_FACTS }),
        multicast::<Isis<Causal>>(const { &isis::CAUSAL_FACTS }),
    ]
}

/// Those that are wrong on purpose.
pub(super) fn fixtures() -> Vec<Entry> {
    vec![
        mistake::<BasicDeaf, AsPlanned>(&wrong::BASIC_DEAF),
        mistake::<Unordered, Unrelayed>(&wrong::RELIABLE_UNRELAYED),
        mistake::<FifoHasty, AsPlanned>(&wrong::FIFO_HASTY),
        mistake::<CausalBlind, AsPlanned>(&wrong::CAUSAL_BLIND),
        mistake::<SequencerHasty, AsPlanned>(&wrong::SEQUENCER_HASTY),
        mistake::<IsisHasty, AsPlanned>(&wrong::ISIS_HASTY),
        mistake::<Fifo, AtOnce>(&wrong::UNIFORM_HASTY),
    ]
}

/// How a member is set up, which is how its group is, unless somebody has made a mistake.
trait SetUp: 'static {
    fn member<O: Ordering>(me: NodeId, plan: &Arc<Plan>) -> One<O>;
}

struct AsPlanned;

impl SetUp for AsPlanned {
    fn member<O: Ordering>(me: NodeId, plan: &Arc<Plan>) -> One<O> {
        Member::new(me, Arc::clone(plan))
    }
}

struct Unrelayed;

impl SetUp for Unrelayed {
    fn member<O: Ordering>(me: NodeId, plan: &Arc<Plan>) -> One<O> {
        wrong::unrelayed(me, plan)
    }
}

struct AtOnce;

impl SetUp for AtOnce {
    fn member<O: Ordering>(me: NodeId, plan: &Arc<Plan>) -> One<O> {
        wrong::hasty_uniform(me, plan)
    }
}

/// The line of a multicast in this order.
fn multicast<O>(facts: &'static Facts) -> Entry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let more = MoreForms {
        member: member::<O>,
        member_codec: AnyCodec::of::<membership::Member<One<O>>>(),
        several: SeveralForm { make: several::<O>, codec: AnyCodec::of::<Several<One<O>>>() },
        several_told: SeveralForm { make: several_told::<O>, codec: AnyCodec::of::<Several<Viewed<One<O>>>>() },
    };
    Entry::Multicast(entry::<O, AsPlanned>(facts, Some(more)))
}

/// The line of a multicast that is wrong on purpose.
fn mistake<O, U: SetUp>(facts: &'static Facts) -> Entry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    Entry::Multicast(entry::<O, U>(facts, None))
}

fn entry<O, U: SetUp>(facts: &'static Facts, more: Option<MoreForms>) -> MulticastEntry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    MulticastEntry {
        facts,
        plain: MulticastForm { make: plain::<O, U>, codec: AnyCodec::of::<One<O>>() },
        told: MulticastForm { make: told::<O, U>, codec: AnyCodec::of::<Viewed<One<O>>>() },
        more,
    }
}

/// A member of a group with a bulletin board.
type One<O> = Member<O, Board>;

/// What goes from node to node, whatever the order.
trait Travels: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Travels for T {}

fn plain<O, U: SetUp>(me: NodeId, plan: &Arc<Plan>) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    Erased::new(U::member::<O>(me, plan))
}

fn told<O, U: SetUp>(me: NodeId, plan: &Arc<Plan>) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    Erased::new(Viewed::new(me, U::member::<O>(me, plan)))
}

fn member<O>(me: NodeId, plan: &Arc<Plan>, seed: u64, terms: Terms) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let kept = membership::Plan { terms, ..membership::Plan::new(&plan.members, seed) };
    Erased::opaque(membership::Member::new(me, AsPlanned::member::<O>(me, plan), kept))
}

fn several<O>(me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let ours = plans.iter().filter(|plan| plan.members.contains(me));
    Erased::new(Several::new(ours.map(|plan| (plan.id, plan.members.clone(), AsPlanned::member::<O>(me, plan)))))
}

fn several_told<O>(me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let ours = plans.iter().filter(|plan| plan.members.contains(me));
    let part = |plan: &Arc<Plan>| (plan.id, plan.members.clone(), Viewed::new(me, AsPlanned::member::<O>(me, plan)));
    Erased::new(Several::new(ours.map(part)))
}
