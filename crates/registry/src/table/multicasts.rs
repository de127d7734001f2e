//! The lines of ordered multicast.

use super::{Entry, MulticastEntry};
use crate::codec::AnyCodec;
use crate::in_views::ErasedInViews;
use quorate_core::NodeId;
use quorate_core::fixtures::multicast::{self as wrong, BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty};
use quorate_core::multicast::{
    Board, Causal, Facts, Fifo, Isis, Member, Ordering, Plan, Sequencer, Unordered, causal, fifo, isis, sequencer,
    unordered,
};
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
        set_up::<BasicDeaf, AsPlanned>(&wrong::BASIC_DEAF),
        set_up::<Unordered, Unrelayed>(&wrong::RELIABLE_UNRELAYED),
        set_up::<FifoHasty, AsPlanned>(&wrong::FIFO_HASTY),
        set_up::<CausalBlind, AsPlanned>(&wrong::CAUSAL_BLIND),
        set_up::<SequencerHasty, AsPlanned>(&wrong::SEQUENCER_HASTY),
        set_up::<IsisHasty, AsPlanned>(&wrong::ISIS_HASTY),
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

/// The line of a multicast whose members are set up like this.
fn set_up<O, U: SetUp>(facts: &'static Facts) -> Entry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let codec = AnyCodec::in_views::<One<O>>();
    Entry::Multicast(MulticastEntry { facts, make: |me, plan| ErasedInViews::new(U::member::<O>(me, plan)), codec })
}

/// A member of a group with a bulletin board.
type One<O> = Member<O, Board>;

/// What goes from node to node, whatever the order.
trait Travels: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Travels for T {}
