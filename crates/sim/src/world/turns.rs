//! Turns of nodes that use [`Input::EndOfTurn`].
//!
//! A turn is all inputs that a node takes at one instant. A node that is paused, or that still has
//! inputs in its inbox, continues its turn.

use super::{PendingEvent, World, time_from_key};
use quorate_core::{Duration, Input, NodeId, Protocol, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{ObservedInput, Observer};
use serde::Serialize;

/// The turn of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The node does not use the end of its turns.
    Unused,
    /// The node has taken no input since the last end of a turn.
    Ended,
    /// The node has taken inputs.
    Open,
    /// The node has taken inputs, and the event that ends the turn is in the queue.
    Ending,
}

impl Turn {
    pub(super) fn of_new_node<P: Protocol>(node: &P) -> Self {
        if node.uses_end_of_turn() { Self::Ended } else { Self::Unused }
    }

    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Ending)
    }

    /// Drops an open turn. Returns the number of dropped turns: 1 or 0.
    pub(super) fn drop_open(&mut self) -> usize {
        let is_open = self.is_open();
        if is_open {
            *self = Self::Ended;
        }
        usize::from(is_open)
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Begins a node's turn, or continues it, after an input.
    pub(super) fn extend_turn(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.turn == Turn::Ended {
            slot.host.turn = Turn::Open;
            self.environment.open_turns += 1;
        }
        self.schedule_end_of_turn(node);
    }

    /// Schedules the end of a node's open turn behind all other events of this instant, unless
    /// inputs wait or it is scheduled already.
    pub(super) fn schedule_end_of_turn(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.turn == Turn::Open && slot.host.is_idle() {
            slot.host.turn = Turn::Ending;
            self.environment.push(self.environment.time, PendingEvent::EndOfTurn { node });
        }
    }

    /// Ends a node's turn. If a crash has dropped the turn, does nothing. If the node was paused
    /// since, or an input waits, the turn continues.
    pub(super) fn end_turn(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()).filter(|slot| slot.host.turn == Turn::Ending) else { return };
        if !slot.host.is_idle() {
            slot.host.turn = Turn::Open;
            return;
        }
        if let Some(at) = self.next_directed_input(node) {
            return self.environment.push(at, PendingEvent::EndOfTurn { node });
        }
        self.observe_input(node, ObservedInput::EndOfTurn);
        self.step(node, Input::EndOfTurn);
        if let Some(slot) = self.slots.get_mut(node.index()) {
            self.environment.open_turns -= slot.host.turn.drop_open();
        }
    }

    /// In a world with directions, the time of the node's next input, if that belongs to the turn:
    /// the directions of a recorded run put a nanosecond between inputs that the run had at one
    /// instant.
    fn next_directed_input(&self, node: NodeId) -> Option<Time> {
        self.environment.directions.as_ref()?;
        let (key, next) = self.environment.queue.peek()?;
        let at = time_from_key(*key);
        let is_close = at <= self.environment.time + Duration::from_nanos(1);
        (next.node() == Some(node) && is_close).then_some(at)
    }
}
