//! The interface through which a contest acts.

use super::{Body, Circuit, Contest, Rank, Side};
use crate::effects::Effects;
use crate::node::NodeId;
use core::fmt;

/// What a contest uses in one step of a node: access to the ring, and the outcome it reports.
pub struct Turn<'a, 'b, C: Contest> {
    circuit: &'a mut Circuit<C>,
    out: &'a mut Effects<'b, Circuit<C>>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The run goes on.
    Open,
    /// This node found the winner, and must announce it.
    Won(NodeId),
    /// This node knows the winner, and all other nodes find it out without an announcement.
    Known(NodeId),
    /// The run failed; start the next one.
    Failed,
}

impl<'a, 'b, C: Contest> Turn<'a, 'b, C> {
    pub(super) fn new(circuit: &'a mut Circuit<C>, out: &'a mut Effects<'b, Circuit<C>>) -> Self {
        Self { circuit, out, outcome: Outcome::Open }
    }

    /// Returns the rank of this node.
    pub fn rank(&self) -> Rank {
        self.circuit.rank()
    }

    /// Returns the number of members of the run.
    pub fn members(&self) -> usize {
        self.circuit.members()
    }

    /// Returns whether a winner is announced by multicast rather than around the ring.
    pub fn is_multicast(&self) -> bool {
        self.circuit.plan.announce == super::Announce::Multicast
    }

    /// Sends a message to the neighbour on this side.
    pub fn send(&mut self, to: Side, message: C::Message) {
        let body = Body::Contest { from: to.opposite(), message };
        self.circuit.send_hop(self.circuit.neighbour(to), body, self.out);
    }

    /// Sends a message to the next node of the ring.
    pub fn send_onward(&mut self, message: C::Message) {
        self.send(Side::After, message);
    }

    /// Records that a rule of the contest was applied.
    pub fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.out.note(rule, text);
    }

    /// Reports that `leader` has won; this node announces it.
    pub fn win(&mut self, leader: Rank) {
        self.outcome = Outcome::Won(leader.node());
    }

    /// Reports that `leader` has won; every node finds this out without an announcement.
    pub fn learn(&mut self, leader: Rank) {
        self.outcome = Outcome::Known(leader.node());
    }

    /// Reports that the run failed; this node starts the next one.
    pub fn fail(&mut self) {
        self.outcome = Outcome::Failed;
    }
}
