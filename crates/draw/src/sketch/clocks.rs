//! The clocks of every step, as far as the group is small enough for them.
//!
//! That a node boots for the first time is no event in the books, so that a first boot which nobody sees the effect of is not
//! counted here: the first thing a node does has the reading 1.

use quorate_core::{Clock, Incarnation, NodeId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Done, Moment, Observer, Taken};

/// Beyond this many nodes a vector clock says nothing to a person, and those of all that is under way take much memory.
const MOST_NODES: usize = 64;

/// Logical clocks, and vector clocks where the group is small.
pub(super) struct Clocks {
    logical: Causality<Clock>,
    vectors: Option<Causality>,
    /// Whether this is one node's life alone, in which nothing that it sends is ever seen to arrive.
    alone: bool,
    /// What came of each node's first boot.
    boots: Vec<Boot>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Boot {
    /// It was not seen, or others saw what it did.
    Counts,
    InHand,
    /// Nobody saw anything of it.
    Silent,
}

impl Clocks {
    pub(super) fn new(nodes: usize, alone: bool) -> Self {
        let small = nodes <= MOST_NODES;
        Self {
            alone,
            logical: Causality::of(nodes),
            vectors: small.then(|| Causality::new(nodes)),
            boots: vec![Boot::Counts; if small { nodes } else { 0 }],
        }
    }

    pub(super) fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>) {
        if self.alone && !matches!(moment, Moment::Input { .. }) {
            return;
        }
        let first = matches!(moment, Moment::Input { input: Taken::Start { incarnation, .. }, .. } if *incarnation == Incarnation::FIRST);
        // Whatever hears of a first boot is later than 0.
        if !first {
            self.logical.observe(moment);
        }
        self.vectors.observe(moment);
        match moment {
            Moment::Input { node, .. } => {
                let boot = self.boots.get_mut(node.index());
                boot.into_iter().for_each(|boot| match (first, *boot) {
                    (true, _) => *boot = Boot::InHand,
                    (false, Boot::InHand) => *boot = Boot::Silent,
                    (false, Boot::Counts | Boot::Silent) => {}
                });
            }
            Moment::Effect { node, effect: Done::Send { .. } | Done::Multicast { .. }, .. } => {
                let boot = self.boots.get_mut(node.index()).filter(|boot| **boot == Boot::InHand);
                boot.into_iter().for_each(|boot| *boot = Boot::Counts);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    pub(super) fn logical(&self, node: NodeId) -> u64 {
        self.logical.clock(node).map_or(0, |clock| clock.0)
    }

    /// Its vector clock: of each node, how many steps it knows of.
    pub(super) fn vector(&self, node: NodeId) -> Option<Vec<u64>> {
        let clock: &VectorClock = self.vectors.as_ref()?.clock(node)?;
        let less = |(index, boot): (usize, &Boot)| {
            let count = clock.get(NodeId::from_index(index));
            if *boot == Boot::Counts { count } else { count.saturating_sub(1) }
        };
        Some(self.boots.iter().enumerate().map(less).collect())
    }
}
