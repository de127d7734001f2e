//! A step whose effects are still being recorded. Once it is complete, the vector clocks count it
//! and the log shows it, unless it is quiet (local and without visible effect).

use quorate_core::{Incarnation, NodeId, PayloadId, Time};
use quorate_journal::moment::{MessageId, ObservedEffect, ObservedInput, receivers};
use quorate_journal::words;
use std::fmt::Display;

pub(super) struct UnwrittenStep {
    pub(super) time: Time,
    pub(super) node: NodeId,
    /// Whether the step is in the log's window. If not, the log hides it, but the vector clocks
    /// count it.
    is_shown: bool,
    pub(super) text: String,
    /// The message that the step received, and whether a wrapper such as `Reliable` consumes it. If
    /// so, the node learns only from the payloads that the wrapper delivers.
    pub(super) message: Option<(MessageId, bool)>,
    /// The payloads that a wrapper delivered to the algorithm, with their senders.
    pub(super) delivered_payloads: Vec<(NodeId, PayloadId)>,
    /// The messages sent: receiver, id, and the payload that a wrapper's message carries.
    pub(super) sent: Vec<(NodeId, MessageId, Option<PayloadId>)>,
    /// Whether the input is a timer, a report of the disk, the end of a turn or a first start.
    is_local_input: bool,
    /// Whether the step emitted an event, noted a rule or changed the hold-back queue.
    has_visible_effect: bool,
}

impl UnwrittenStep {
    /// Starts a step with this input. Only a step that the log shows gets a text.
    pub(super) fn new<C: Display>(time: Time, node: NodeId, input: &ObservedInput<'_, C>, is_shown: bool) -> Self {
        let (message, is_local_input) = match input {
            ObservedInput::Message { id, is_wrapped, .. } => (Some((*id, *is_wrapped)), false),
            ObservedInput::Start { incarnation, is_disk_blank } => {
                // A restart is never quiet, nor is a start after the loss of the disk.
                (None, *incarnation == Incarnation::FIRST && !is_disk_blank)
            }
            ObservedInput::Timer(_)
            | ObservedInput::Saved(_)
            | ObservedInput::DiskFull
            | ObservedInput::DiskFree
            | ObservedInput::EndOfTurn => (None, true),
            ObservedInput::Command(_)
            | ObservedInput::Suspect(_)
            | ObservedInput::Trust(_)
            | ObservedInput::View(_)
            | ObservedInput::Lease(_) => (None, false),
        };
        let text = if is_shown { words::describe_input(input) } else { String::new() };
        Self {
            time,
            node,
            is_shown,
            text,
            message,
            delivered_payloads: Vec::new(),
            sent: Vec::new(),
            is_local_input,
            has_visible_effect: false,
        }
    }

    pub(super) fn add_effect<E: Display>(&mut self, effect: &ObservedEffect<'_, E>) {
        match effect {
            ObservedEffect::Send { to, sent } => self.sent.push((*to, sent.id, sent.payload_id)),
            ObservedEffect::Multicast { to, sent } => {
                self.sent.extend(receivers(to, sent.id).map(|(to, id)| (to, id, sent.payload_id)));
            }
            ObservedEffect::Delivered { from, payload_id } => self.delivered_payloads.push((*from, *payload_id)),
            ObservedEffect::Emit(_) | ObservedEffect::Rule { .. } | ObservedEffect::HoldBack { .. } => {
                self.has_visible_effect = true;
            }
            ObservedEffect::Save(_)
            | ObservedEffect::SetTimer { .. }
            | ObservedEffect::CancelTimer(_)
            | ObservedEffect::Membership(_) => {}
        }
        if self.is_shown
            && let Some((_, text)) = words::describe_effect(effect)
        {
            self.text.push_str(" · ");
            self.text.push_str(&text);
        }
    }

    /// Whether the vector clocks and the log ignore the step: its input is local, it sends and
    /// delivers nothing, and it has no visible effect.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_local_input && !self.has_visible_effect && self.sent.is_empty() && self.delivered_payloads.is_empty()
    }
}
