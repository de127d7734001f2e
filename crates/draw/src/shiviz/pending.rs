//! A step whose effects are still being recorded; it is counted and written when complete.

use quorate_core::{Incarnation, NodeId, Parcel, Time};
use quorate_journal::moment::{Done, MessageId, Taken, receivers};
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
    pub(super) handed: Vec<(NodeId, Parcel)>,
    pub(super) sent: Vec<(NodeId, MessageId, Option<Parcel>)>,
    /// Whether its input is local to the node.
    inner: bool,
    /// Whether it had an effect visible outside the node.
    seen: bool,
}

impl Pending {
    /// Starts a step with this input. Only a shown step gets a text.
    pub(super) fn new<C: Display>(time: Time, node: NodeId, input: &Taken<'_, C>, shown: bool) -> Self {
        let (message, inner) = match input {
            Taken::Message { id, wrapped, .. } => (Some((*id, *wrapped)), false),
            Taken::Start { incarnation, blank } => (None, *incarnation == Incarnation::FIRST && !blank),
            Taken::Timer(_) | Taken::Saved(_) | Taken::DiskFull | Taken::DiskFree => (None, true),
            Taken::Command(_) | Taken::Suspect(_) | Taken::Trust(_) | Taken::View(_) | Taken::Lease(_) => (None, false),
        };
        let text = if shown { words::input(input) } else { String::new() };
        Self { time, node, shown, text, message, handed: Vec::new(), sent: Vec::new(), inner, seen: false }
    }

    pub(super) fn add<E: Display>(&mut self, effect: &Done<'_, E>) {
        match effect {
            Done::Send { to, sent } => self.sent.push((*to, sent.id, sent.parcel)),
            Done::Multicast { to, sent } => {
                self.sent.extend(receivers(to, sent.id).map(|(to, id)| (to, id, sent.parcel)));
            }
            Done::Handed { from, parcel } => self.handed.push((*from, *parcel)),
            Done::Emit(_) | Done::Rule { .. } | Done::HoldBack { .. } => self.seen = true,
            Done::Save(_) | Done::SetTimer { .. } | Done::CancelTimer(_) | Done::Told(_) => {}
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
