//! Vector clocks of the events in the log.

use super::pending::UnwrittenStep;
use crate::Window;
use quorate_core::{Class, Incarnation, NodeId, PayloadId, Time, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::moment::{Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use std::fmt::Write;

/// Vector clocks of the nodes and, as one more node, of the world, which has all other events.
pub(super) struct VectorClocks {
    nodes: usize,
    causality: Causality,
    /// Event counts of each node at the start of the window.
    counts_before_window: VectorClock,
}

impl VectorClocks {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes, causality: Causality::new(nodes.saturating_add(1)), counts_before_window: VectorClock::new() }
    }

    /// Whether the group has this node. A journal is untrusted input.
    pub(super) fn has_node(&self, node: NodeId) -> bool {
        node.index() < self.nodes
    }

    /// Begins the window. No clock counts more events of a node than that node's own clock, so the
    /// merged clocks are the counts so far.
    pub(super) fn begin_window(&mut self) {
        for node in (0..=self.nodes).map(NodeId::from_index) {
            if let Some(clock) = self.causality.clock(node) {
                self.counts_before_window.merge(clock);
            }
        }
    }

    /// Counts a step of a node. The log shows a step as one event, so everything it receives
    /// happens before everything it sends, whatever the order of its effects.
    pub(super) fn count_step(&mut self, step: &UnwrittenStep) {
        match step.message {
            Some((id, is_wrapped)) => self.count_receipt(step.node, id, is_wrapped),
            None => self.count_local_event(step.node),
        }
        for (from, payload) in &step.delivered_payloads {
            self.observe_effect(step.node, ObservedEffect::Delivered { from: *from, payload_id: *payload });
        }
        // A damaged journal may name another sender.
        for (to, id, payload) in step.sent.iter().filter(|(_, id, _)| id.sender == step.node) {
            self.record_send(*to, *id, *payload);
            // A wrapper's message carries the payload. The receiver learns from the payload, but if
            // the message is lost, the world learns from the message.
            if payload.is_some() {
                self.record_send(*to, *id, None);
            }
        }
    }

    fn record_send(&mut self, to: NodeId, id: MessageId, payload: Option<PayloadId>) {
        let class = Class::Algorithm;
        let sent = Sent {
            id,
            kind: "",
            label: None,
            class,
            on_behalf_of: None,
            bytes: 0,
            payload_id: payload,
            is_retransmission: false,
            body: &(),
        };
        self.observe_effect(id.sender, ObservedEffect::Send { to, sent });
    }

    /// Counts an event from which the node learns nothing about other nodes.
    pub(super) fn count_local_event(&mut self, node: NodeId) {
        // Any input without a message has this effect.
        self.observe_input(node, ObservedInput::DiskFull);
    }

    pub(super) fn count_world_event(&mut self) {
        self.count_local_event(self.world());
    }

    pub(super) fn count_world_receipt(&mut self, id: MessageId) {
        self.count_receipt(self.world(), id, false);
    }

    /// Drops a lost message that the log does not show.
    pub(super) fn drop_message(&mut self, id: MessageId, to: NodeId) {
        self.observe_world_event(WorldEvent::Lost { id, to, cause: Loss::Chance });
    }

    pub(super) fn duplicate_message(&mut self, id: MessageId) {
        self.observe_world_event(WorldEvent::Duplicated { id });
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
            let count_in_window = count.saturating_sub(self.counts_before_window.get(other));
            let is_world = other == self.world();
            if count_in_window > 0 && (is_world || window.shows_node(other)) {
                let _ = match is_world {
                    true => write!(line, "{separator}\"world\":{count_in_window}"),
                    false => write!(line, "{separator}\"n{other}\":{count_in_window}"),
                };
                separator = ',';
            }
        }
        line.push('}');
    }

    /// Returns the number under which the world has a clock.
    fn world(&self) -> NodeId {
        NodeId::from_index(self.nodes)
    }

    fn count_receipt(&mut self, node: NodeId, id: MessageId, is_wrapped: bool) {
        self.observe_input(node, ObservedInput::Message { id, kind: "", is_wrapped, incarnation: Incarnation::FIRST });
    }

    fn observe_input(&mut self, node: NodeId, input: ObservedInput<'_, ()>) {
        self.observe(&Moment::Input { time: Time::ZERO, now: Time::ZERO, node, input });
    }

    fn observe_effect(&mut self, node: NodeId, effect: ObservedEffect<'_, ()>) {
        self.observe(&Moment::Effect { time: Time::ZERO, node, effect });
    }

    fn observe_world_event(&mut self, event: WorldEvent<'_>) {
        self.observe(&Moment::World { time: Time::ZERO, event });
    }

    fn observe(&mut self, moment: &Moment<'_, (), ()>) {
        self.causality.observe(moment);
    }
}
