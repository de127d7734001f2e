//! What a contest can do when it is its turn.

use super::{Body, Circuit, Contest, Rank, Side};
use crate::effects::Effects;
use crate::node::NodeId;
use core::fmt;

/// One node's turn in a run.
pub struct Turn<'a, 'b, C: Contest> {
    circuit: &'a mut Circuit<C>,
    out: &'a mut Effects<'b, Circuit<C>>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Open,
    /// This node found out who has won, and is to announce it.
    Won(NodeId),
    /// This node knows who has won, and so do the others by themselves.
    Known(NodeId),
    /// The run came to nothing.
    Again,
}

impl<'a, 'b, C: Contest> Turn<'a, 'b, C> {
    pub(super) fn new(circuit: &'a mut Circuit<C>, out: &'a mut Effects<'b, Circuit<C>>) -> Self {
        Self { circuit, out, outcome: Outcome::Open }
    }

    /// This node's rank.
    pub fn rank(&self) -> Rank {
        self.circuit.rank()
    }

    /// How many take part.
    pub fn members(&self) -> usize {
        self.circuit.members()
    }

    /// Whether a winner is told to all at once, and not round the ring.
    pub fn is_multicast(&self) -> bool {
        self.circuit.plan.announce == super::Announce::Multicast
    }

    /// Sends to the neighbour on this side.
    pub fn send(&mut self, to: Side, message: C::Message) {
        let body = Body::Contest { from: to.opposite(), message };
        self.circuit.hand(self.circuit.neighbour(to), body, self.out);
    }

    /// Sends onward round the ring.
    pub fn onward(&mut self, message: C::Message) {
        self.send(Side::After, message);
    }

    /// Notes which rule of the contest was applied.
    pub fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.out.note(rule, text);
    }

    /// This one has won: this node announces it.
    pub fn win(&mut self, leader: Rank) {
        self.outcome = Outcome::Won(leader.node());
    }

    /// This one has won, and everyone finds that out alone.
    pub fn learn(&mut self, leader: Rank) {
        self.outcome = Outcome::Known(leader.node());
    }

    /// The run came to nothing: begin the next one.
    pub fn again(&mut self) {
        self.outcome = Outcome::Again;
    }
}
