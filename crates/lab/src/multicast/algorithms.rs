//! The ordered multicasts.

use super::entry::MulticastEntry;
use quorate_core::NodeId;
use quorate_core::fixtures::multicast::{self as wrong, BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty};
use quorate_core::multicast::{
    Board, Causal, Facts, Fifo, Isis, Member, Ordering, Plan, Sequencer, Unordered, causal, fifo, isis, sequencer,
    unordered,
};
use quorate_erased::{AnyCodec, ErasedInViews};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The algorithms, in the order in which lists show them.
pub(super) fn algorithms() -> Vec<MulticastEntry> {
    vec![
        planned::<Unordered>(const { &unordered::FACTS }),
        planned::<Unordered>(const { &unordered::RELIABLE_FACTS }),
        planned::<Fifo>(const { &fifo::FACTS }),
        planned::<Causal>(const { &causal::FACTS }),
        planned::<Sequencer<Unordered>>(const { &sequencer::FACTS }),
        planned::<Isis<Unordered>>(const { &isis::FACTS }),
        planned::<Sequencer<Fifo>>(const { &sequencer::FIFO_FACTS }),
        planned::<Sequencer<Causal>>(const { &sequencer::CAUSAL_FACTS }),
        planned::<Isis<Fifo>>(const { &isis::FIFO_FACTS }),
        planned::<Isis<Causal>>(const { &isis::CAUSAL_FACTS }),
    ]
}

/// Those that are wrong on purpose.
pub(super) fn fixtures() -> Vec<MulticastEntry> {
    vec![
        planned::<BasicDeaf>(&wrong::BASIC_DEAF),
        multicast(&wrong::RELIABLE_UNRELAYED, |me, plan| wrong::unrelayed::<Unordered, Board>(me, plan)),
        planned::<FifoHasty>(&wrong::FIFO_HASTY),
        planned::<CausalBlind>(&wrong::CAUSAL_BLIND),
        planned::<SequencerHasty>(&wrong::SEQUENCER_HASTY),
        planned::<IsisHasty>(&wrong::ISIS_HASTY),
        multicast(&wrong::UNIFORM_HASTY, |me, plan| wrong::hasty_uniform::<Fifo, Board>(me, plan)),
    ]
}

/// The line of a multicast in this order, whose members are set up as their group is.
fn planned<O>(facts: &'static Facts) -> MulticastEntry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    multicast(facts, |me, plan| Member::<O, Board>::new(me, Arc::clone(plan)))
}

/// The line of a multicast whose members, in groups with a bulletin board, are made like this.
fn multicast<O>(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Arc<Plan>) -> Member<O, Board> + Send + Sync + 'static,
) -> MulticastEntry
where
    O: Ordering<Tag: Travels, Word: Travels, Notes: Travels> + Send + Sync + 'static,
{
    let make = Arc::new(move |me: NodeId, plan: &Arc<Plan>| ErasedInViews::new(make(me, plan)));
    MulticastEntry { facts, make, codec: AnyCodec::in_views::<Member<O, Board>>() }
}

/// What goes from node to node, whatever the order.
trait Travels: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Travels for T {}
