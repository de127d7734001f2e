//! Logical and vector clocks of every step.
//!
//! The literature does not count a node's first start as an event. Logical clocks do not count it
//! here either, and vector clocks count it only if it sends a message. So the first step after a
//! start that sends nothing has clock 1, unless it receives a message.

use quorate_core::{Clock, Incarnation, NodeId, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer};

/// Maximum group size with vector clocks; larger clocks are unreadable and take much memory for the
/// messages in flight.
const MAX_NODES: usize = 64;

/// Logical clocks, and vector clocks if the group is small.
pub(super) struct Clocks {
    logical: Causality<Clock>,
    vectors: Option<Causality>,
    /// Whether one real process wrote the journal. Then no line records the arrival of a message
    /// that it sent, so the clocks of these messages would stay in memory.
    is_single_process: bool,
    /// Whether each node's first start counts as an event; empty if the group is large.
    first_starts: Vec<FirstStart>,
}

/// Whether a node's first start counts as an event in vector clocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstStart {
    /// The start counts: it sent a message. Also used while no start was observed.
    Counts,
    /// The start is the node's current step, and has sent nothing so far.
    Pending,
    /// The start does not count: it sent nothing.
    Silent,
}

impl Clocks {
    pub(super) fn new(nodes: usize, is_single_process: bool) -> Self {
        let is_small = nodes <= MAX_NODES;
        Self {
            is_single_process,
            logical: Causality::with_clocks(nodes),
            vectors: is_small.then(|| Causality::new(nodes)),
            first_starts: vec![FirstStart::Counts; if is_small { nodes } else { 0 }],
        }
    }

    pub(super) fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>) {
        if self.is_single_process && !matches!(moment, Moment::Input { .. }) {
            return;
        }
        let is_first_start = matches!(moment, Moment::Input { input: ObservedInput::Start { incarnation, .. }, .. } if *incarnation == Incarnation::FIRST);
        // A first start keeps clock 0; a step that depends on it still gets a larger clock.
        if !is_first_start {
            self.logical.observe(moment);
        }
        self.vectors.observe(moment);
        match moment {
            Moment::Input { node, .. } => {
                let first_start = self.first_starts.get_mut(node.index());
                first_start.into_iter().for_each(|first_start| match (is_first_start, *first_start) {
                    (true, _) => *first_start = FirstStart::Pending,
                    (false, FirstStart::Pending) => *first_start = FirstStart::Silent,
                    (false, FirstStart::Counts | FirstStart::Silent) => {}
                });
            }
            Moment::Effect { node, effect: ObservedEffect::Send { .. } | ObservedEffect::Multicast { .. }, .. } => {
                let first_start =
                    self.first_starts.get_mut(node.index()).filter(|first_start| **first_start == FirstStart::Pending);
                first_start.into_iter().for_each(|first_start| *first_start = FirstStart::Counts);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    pub(super) fn logical_clock(&self, node: NodeId) -> u64 {
        self.logical.clock(node).map_or(0, |clock| clock.0)
    }

    /// Returns a node's vector clock: for each node of the group, the number of its steps that
    /// happened before the current step of `node`, which counts too. `None` if the group is too
    /// large.
    pub(super) fn vector_clock(&self, node: NodeId) -> Option<Vec<u64>> {
        let clock: &VectorClock = self.vectors.as_ref()?.clock(node)?;
        let counted_steps = |(index, first_start): (usize, &FirstStart)| {
            let count = clock.get(NodeId::from_index(index));
            if *first_start == FirstStart::Counts { count } else { count.saturating_sub(1) }
        };
        Some(self.first_starts.iter().enumerate().map(counted_steps).collect())
    }
}
