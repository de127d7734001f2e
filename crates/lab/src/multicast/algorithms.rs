//! The ordered multicasts.

use super::entry::MulticastEntry;
use quorate_core::NodeId;
use quorate_core::fixtures::multicast::{self as wrong, BasicDeaf, CausalBlind, FifoHasty, IsisHasty, SequencerHasty};
use quorate_core::multicast::{
    Begin, Board, Causal, Facts, Fifo, Isis, Member, Ordering, Plan, Sequencer, Unordered, causal, fifo, isis,
    sequencer, unordered,
};
use quorate_erased::{AnyCodec, ErasedInViews};
use std::sync::Arc;

pub(super) fn algorithms() -> Vec<MulticastEntry> {
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

pub(super) fn fixtures() -> Vec<MulticastEntry> {
    vec![
        planned(&wrong::BASIC_DEAF, BasicDeaf::boxed),
        multicast(&wrong::RELIABLE_UNRELAYED, |me, plan| wrong::unrelayed(me, plan)),
        planned(&wrong::FIFO_HASTY, FifoHasty::boxed),
        planned(&wrong::CAUSAL_BLIND, CausalBlind::boxed),
        planned(&wrong::SEQUENCER_HASTY, SequencerHasty::boxed),
        planned(&wrong::ISIS_HASTY, IsisHasty::boxed),
        multicast(&wrong::UNIFORM_HASTY, |me, plan| wrong::hasty_uniform(me, plan)),
    ]
}

fn planned(facts: &'static Facts, begin: Begin) -> MulticastEntry {
    multicast(facts, move |me, plan| Member::new(me, Arc::clone(plan), begin))
}

fn multicast(
    facts: &'static Facts,
    make: impl Fn(NodeId, &Arc<Plan>) -> Member<Board> + Send + Sync + 'static,
) -> MulticastEntry {
    let make = Arc::new(move |me: NodeId, plan: &Arc<Plan>| ErasedInViews::new(make(me, plan)));
    MulticastEntry { facts, make, codec: AnyCodec::in_views::<Member<Board>>() }
}
