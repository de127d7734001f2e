//! A step whose effects are still being recorded; it is counted and written when complete.

use quorate_core::{Incarnation, NodeId, PayloadId, Time};
use quorate_journal::moment::{MessageId, ObservedEffect, ObservedInput, receivers};
use quorate_journal::words;
use std::fmt::Display;

/// A step that is not complete yet.
pub(super) struct Pending {
    pub(super) time: Time,
    pub(super) node: NodeId,
    /// Whether it is written; otherwise it is only counted.
    shown: bool,
    pub(super) text: String,
    /// The message it received, and whether only the parcels handed over in it carry information.
    pub(super) message: Option<(MessageId, bool)>,
    /// The parcels handed to the protocol, with their senders.
    pub(super) handed: Vec<(NodeId, PayloadId)>,
    pub(super) sent: Vec<(NodeId, MessageId, Option<PayloadId>)>,
    /// Whether its input is local to the node.
    inner: bool,
    /// Whether it had an effect visible outside the node.
    seen: bool,
}

impl Pending {
    /// Starts a step with this input. Only a shown step gets a text.
    pub(super) fn new<C: Display>(time: Time, node: NodeId, input: &ObservedInput<'_, C>, shown: bool) -> Self {
        let (message, inner) = match input {
            ObservedInput::Message { id, wrapped, .. } => (Some((*id, *wrapped)), false),
            ObservedInput::Start { incarnation, blank } => (None, *incarnation == Incarnation::FIRST && !blank),
            ObservedInput::Timer(_) | ObservedInput::Saved(_) | ObservedInput::DiskFull | ObservedInput::DiskFree => {
                (None, true)
            }
            ObservedInput::Command(_)
            | ObservedInput::Suspect(_)
            | ObservedInput::Trust(_)
            | ObservedInput::View(_)
            | ObservedInput::Lease(_) => (None, false),
        };
        let text = if shown { words::input(input) } else { String::new() };
        Self { time, node, shown, text, message, handed: Vec::new(), sent: Vec::new(), inner, seen: false }
    }

    pub(super) fn add<E: Display>(&mut self, effect: &ObservedEffect<'_, E>) {
        match effect {
            ObservedEffect::Send { to, sent } => self.sent.push((*to, sent.id, sent.payload_id)),
            ObservedEffect::Multicast { to, sent } => {
                self.sent.extend(receivers(to, sent.id).map(|(to, id)| (to, id, sent.payload_id)));
            }
            ObservedEffect::Delivered { from, parcel } => self.handed.push((*from, *parcel)),
            ObservedEffect::Emit(_) | ObservedEffect::Rule { .. } | ObservedEffect::HoldBack { .. } => self.seen = true,
            ObservedEffect::Save(_)
            | ObservedEffect::SetTimer { .. }
            | ObservedEffect::CancelTimer(_)
            | ObservedEffect::Membership(_) => {}
        }
        if self.shown
            && let Some((_, text)) = words::effect(effect)
        {
            self.text.push_str(" · ");
            self.text.push_str(&text);
        }
    }

    /// Whether it has no effect visible outside the node.
    pub(super) fn is_quiet(&self) -> bool {
        self.inner && !self.seen && self.sent.is_empty() && self.handed.is_empty()
    }
}
