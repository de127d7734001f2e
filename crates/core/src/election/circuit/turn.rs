//! The interface through which a contest sends messages and reports its outcome.

use super::{Body, Circuit, Contest, Rank, Side};
use crate::effects::Effects;
use crate::node::NodeId;
use core::fmt;

/// The access of a contest to the ring during one step of a node, and the outcome that it reports.
pub struct Turn<'a, 'b, C: Contest> {
    circuit: &'a mut Circuit<C>,
    out: &'a mut Effects<'b, Circuit<C>>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The contest goes on.
    Undecided,
    /// This node found the winner, and must announce it: the other nodes do not know it.
    Won(NodeId),
    /// This node found the winner, and the contest lets all other nodes find it without an
    /// announcement.
    Known(NodeId),
    /// This attempt at the election failed; start the next one.
    Failed,
}

impl<'a, 'b, C: Contest> Turn<'a, 'b, C> {
    pub(super) fn new(circuit: &'a mut Circuit<C>, out: &'a mut Effects<'b, Circuit<C>>) -> Self {
        Self { circuit, out, outcome: Outcome::Undecided }
    }

    /// Returns the rank of this node.
    pub fn own_rank(&self) -> Rank {
        self.circuit.own_rank()
    }

    /// Returns the number of nodes that this attempt at the election does not leave out as dead.
    pub fn member_count(&self) -> usize {
        self.circuit.member_count()
    }

    /// Returns whether a winner is announced by multicast rather than around the ring.
    pub fn announces_by_multicast(&self) -> bool {
        self.circuit.plan.announcement == super::AnnouncementMode::Multicast
    }

    /// Sends a message to the neighbour on this side.
    pub fn send(&mut self, to: Side, message: C::Message) {
        let body = Body::Contest { from: to.opposite(), message };
        self.circuit.send_hop(self.circuit.neighbour(to), body, self.out);
    }

    /// Sends a message to the successor on the ring.
    pub fn send_onward(&mut self, message: C::Message) {
        self.send(Side::After, message);
    }

    /// Notes in the trace that a rule of the contest was applied.
    pub fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.out.note(rule, text);
    }

    /// Reports that `leader` has won. This node will announce it.
    pub fn win(&mut self, leader: Rank) {
        self.outcome = Outcome::Won(leader.node());
    }

    /// Reports that `leader` has won. This node will not announce it, because the contest tells
    /// every node.
    pub fn learn(&mut self, leader: Rank) {
        self.outcome = Outcome::Known(leader.node());
    }

    /// Reports that this attempt at the election failed. This node will start the next one.
    pub fn fail(&mut self) {
        self.outcome = Outcome::Failed;
    }
}
