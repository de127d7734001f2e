//! Logical and vector clocks of every step.
//!
//! The literature does not count a node's first start as an event. A first start from which no node
//! receives anything is not counted here either, so the first action of a node has the reading 1.

use quorate_core::{Clock, Incarnation, NodeId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer};

/// Maximum group size with vector clocks; larger ones are unreadable and take much memory for the
/// messages in flight.
const MAX_NODES: usize = 64;

/// Logical clocks, and vector clocks if the group is small.
pub(super) struct Clocks {
    logical: Causality<Clock>,
    vectors: Option<Causality>,
    /// Whether the journal is that of one real process, in which no message it sends arrives.
    is_single_process: bool,
    /// State of each node's first start.
    boots: Vec<Boot>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Boot {
    /// It was not observed, or other nodes received a message sent in it.
    Counts,
    Pending,
    /// It sent nothing.
    Silent,
}

impl Clocks {
    pub(super) fn new(nodes: usize, is_single_process: bool) -> Self {
        let small = nodes <= MAX_NODES;
        Self {
            is_single_process,
            logical: Causality::with_clocks(nodes),
            vectors: small.then(|| Causality::new(nodes)),
            boots: vec![Boot::Counts; if small { nodes } else { 0 }],
        }
    }

    pub(super) fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>) {
        if self.is_single_process && !matches!(moment, Moment::Input { .. }) {
            return;
        }
        let first = matches!(moment, Moment::Input { input: ObservedInput::Start { incarnation, .. }, .. } if *incarnation == Incarnation::FIRST);
        // A step that depends on a first start is later than 0.
        if !first {
            self.logical.observe(moment);
        }
        self.vectors.observe(moment);
        match moment {
            Moment::Input { node, .. } => {
                let boot = self.boots.get_mut(node.index());
                boot.into_iter().for_each(|boot| match (first, *boot) {
                    (true, _) => *boot = Boot::Pending,
                    (false, Boot::Pending) => *boot = Boot::Silent,
                    (false, Boot::Counts | Boot::Silent) => {}
                });
            }
            Moment::Effect { node, effect: ObservedEffect::Send { .. } | ObservedEffect::Multicast { .. }, .. } => {
                let boot = self.boots.get_mut(node.index()).filter(|boot| **boot == Boot::Pending);
                boot.into_iter().for_each(|boot| *boot = Boot::Counts);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    pub(super) fn logical(&self, node: NodeId) -> u64 {
        self.logical.clock(node).map_or(0, |clock| clock.0)
    }

    /// Returns a node's vector clock: for each node, the number of its steps that this one knows
    /// of.
    pub(super) fn vector(&self, node: NodeId) -> Option<Vec<u64>> {
        let clock: &VectorClock = self.vectors.as_ref()?.clock(node)?;
        let less = |(index, boot): (usize, &Boot)| {
            let count = clock.get(NodeId::from_index(index));
            if *boot == Boot::Counts { count } else { count.saturating_sub(1) }
        };
        Some(self.boots.iter().enumerate().map(less).collect())
    }
}
