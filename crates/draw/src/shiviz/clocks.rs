//! Vector clocks of the events written.

use super::pending::Pending;
use crate::Window;
use quorate_core::{Class, Incarnation, NodeId, PayloadId, Time, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use std::fmt::Write;

/// Vector clocks of the nodes, and of the world as one more node.
pub(super) struct VectorClocks {
    nodes: usize,
    causality: Causality,
    /// Event counts of each node at the start of the window.
    before: VectorClock,
}

impl VectorClocks {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes, causality: Causality::new(nodes.saturating_add(1)), before: VectorClock::new() }
    }

    /// Whether the group has this node. A journal is untrusted input.
    pub(super) fn has(&self, node: NodeId) -> bool {
        node.index() < self.nodes
    }

    /// Begins the window. No node knows of more events of a node than that node itself, so the
    /// merged clocks are the counts so far.
    pub(super) fn begin(&mut self) {
        for node in (0..=self.nodes).map(NodeId::from_index) {
            if let Some(clock) = self.causality.clock(node) {
                self.before.merge(clock);
            }
        }
    }

    /// Counts a step of a node. All that the step receives happens before all that it sends, in
    /// whichever order the effects were recorded, because the step is one event in the log.
    pub(super) fn step(&mut self, step: &Pending) {
        match step.message {
            Some((id, wrapped)) => self.receives(step.node, id, wrapped),
            None => self.local_event(step.node),
        }
        for (from, parcel) in &step.delivered_parcels {
            self.effect(step.node, ObservedEffect::Delivered { from: *from, parcel: *parcel });
        }
        for (to, id, parcel) in step.sent.iter().filter(|(_, id, _)| id.sender == step.node) {
            self.sends(*to, *id, *parcel);
            // The receiver learns of the parcel, but the world learns of the carrying message if it
            // is lost.
            if parcel.is_some() {
                self.sends(*to, *id, None);
            }
        }
    }

    fn sends(&mut self, to: NodeId, id: MessageId, parcel: Option<PayloadId>) {
        let class = Class::Algorithm;
        let sent = Sent {
            id,
            kind: "",
            label: None,
            class,
            on_behalf_of: None,
            bytes: 0,
            payload_id: parcel,
            is_retransmission: false,
            body: &(),
        };
        self.effect(id.sender, ObservedEffect::Send { to, sent });
    }

    /// Counts an event from which the node learns nothing.
    pub(super) fn local_event(&mut self, node: NodeId) {
        // Any input without a message will do.
        self.input(node, ObservedInput::DiskFull);
    }

    pub(super) fn world_event(&mut self) {
        self.local_event(self.world());
    }

    pub(super) fn world_receives(&mut self, id: MessageId) {
        self.receives(self.world(), id, false);
    }

    /// Drops a lost message that the log does not show.
    pub(super) fn drop_message(&mut self, id: MessageId, to: NodeId) {
        self.world_moment(WorldEvent::Lost { id, to, why: Loss::Chance });
    }

    pub(super) fn duplicate(&mut self, id: MessageId) {
        self.world_moment(WorldEvent::Duplicated { id });
    }

    pub(super) fn write(&self, node: NodeId, window: &Window, line: &mut String) {
        let _ = write!(line, "n{node} ");
        self.write_clock(node, window, line);
    }

    pub(super) fn write_world(&self, window: &Window, line: &mut String) {
        line.push_str("world ");
        self.write_clock(self.world(), window, line);
    }

    fn write_clock(&self, node: NodeId, window: &Window, line: &mut String) {
        let counts = self.causality.clock(node).map_or(&[][..], VectorClock::counts);
        let mut separator = '{';
        for (other, count) in counts.iter().enumerate().map(|(index, count)| (NodeId::from_index(index), count)) {
            let count_in_window = count.saturating_sub(self.before.get(other));
            let world = other == self.world();
            if count_in_window > 0 && (world || window.shows_node(other)) {
                let _ = match world {
                    true => write!(line, "{separator}\"world\":{count_in_window}"),
                    false => write!(line, "{separator}\"n{other}\":{count_in_window}"),
                };
                separator = ',';
            }
        }
        line.push('}');
    }

    fn world(&self) -> NodeId {
        NodeId::from_index(self.nodes)
    }

    fn receives(&mut self, node: NodeId, id: MessageId, wrapped: bool) {
        self.input(node, ObservedInput::Message { id, kind: "", wrapped, incarnation: Incarnation::FIRST });
    }

    fn input(&mut self, node: NodeId, input: ObservedInput<'_, ()>) {
        self.observe(&Moment::Input { time: Time::ZERO, now: Time::ZERO, node, input });
    }

    fn effect(&mut self, node: NodeId, effect: ObservedEffect<'_, ()>) {
        self.observe(&Moment::Effect { time: Time::ZERO, node, effect });
    }

    fn world_moment(&mut self, event: WorldEvent<'_>) {
        self.observe(&Moment::World { time: Time::ZERO, event });
    }

    fn observe(&mut self, moment: &Moment<'_, (), ()>) {
        self.causality.observe(moment);
    }
}
