//! The lines of ordered multicast.

use super::{Entry, MulticastEntry, MulticastForm, MulticastNode, SeveralForm};
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
        multicast::<BasicDeaf>(&wrong::BASIC_DEAF),
        set_up::<Unordered, Unrelayed>(&wrong::RELIABLE_UNRELAYED),
        multicast::<FifoHasty>(&wrong::FIFO_HASTY),
        multicast::<CausalBlind>(&wrong::CAUSAL_BLIND),
        multicast::<SequencerHasty>(&wrong::SEQUENCER_HASTY),
        multicast::<IsisHasty>(&wrong::ISIS_HASTY),
        set_up::<Fifo, AtOnce>(&wrong::UNIFORM_HASTY),
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
    set_up::<O, AsPlanned>(facts)
}

/// The line of a multicast in this order whose members are set up like this.
fn set_up<O, U: SetUp>(facts: &'static Facts) -> Entry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    Entry::Multicast(MulticastEntry {
        facts,
        plain: MulticastForm { make: plain::<O, U>, codec: AnyCodec::of::<One<O>>() },
        told: MulticastForm { make: told::<O, U>, codec: AnyCodec::of::<Viewed<One<O>>>() },
        member: member::<O, U>,
        member_codec: AnyCodec::of::<membership::Member<One<O>>>(),
        several: SeveralForm { make: several::<O, U>, codec: AnyCodec::of::<Several<One<O>>>() },
        several_told: SeveralForm { make: several_told::<O, U>, codec: AnyCodec::of::<Several<Viewed<One<O>>>>() },
    })
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

fn member<O, U: SetUp>(me: NodeId, plan: &Arc<Plan>, seed: u64, terms: Terms) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let kept = membership::Plan { terms, ..membership::Plan::new(&plan.members, seed) };
    Erased::opaque(membership::Member::new(me, U::member::<O>(me, plan), kept))
}

fn several<O, U: SetUp>(me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let ours = plans.iter().filter(|plan| plan.members.contains(me));
    Erased::new(Several::new(ours.map(|plan| (plan.id, plan.members.clone(), U::member::<O>(me, plan)))))
}

fn several_told<O, U: SetUp>(me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let ours = plans.iter().filter(|plan| plan.members.contains(me));
    let part = |plan: &Arc<Plan>| (plan.id, plan.members.clone(), Viewed::new(me, U::member::<O>(me, plan)));
    Erased::new(Several::new(ours.map(part)))
}
