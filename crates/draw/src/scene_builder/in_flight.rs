//! Messages in flight, and the arrows that result from them.

use super::lanes::Lanes;
use crate::scene::{Arrow, Head, Tail};
use crate::text::shorten;
use quorate_core::{Class, Epoch, NodeId};
use quorate_journal::moment::{MessageId, Sent};
use quorate_journal::words;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum lengths of a kind or label and of a body, in characters; diagrams show no more.
const MAX_KIND_CHARS: usize = 200;
const MAX_BODY_CHARS: usize = 300;

/// The messages in flight by id, which differs for each receiver of a multicast, and all arrows so
/// far.
#[derive(Default)]
pub(super) struct InFlightMessages {
    messages: HashMap<MessageId, InFlightMessage>,
    arrows: Vec<Arrow>,
}

/// A message as sent, possibly to several receivers.
pub(super) struct SentMessage {
    from: NodeId,
    kind: Rc<str>,
    label: Option<Rc<str>>,
    class: Class,
    is_retransmission: bool,
    body: Rc<str>,
    /// If it is a member's report on earlier views: the new view, which needs the report to begin.
    report_for_view: Option<Epoch>,
}

impl SentMessage {
    /// Creates a message from a node whose latest view is `view`, if it has one. The body is kept
    /// only if the node sends the message in the window (`is_in_window`).
    pub(super) fn new(from: NodeId, sent: &Sent<'_>, view: Option<Epoch>, is_in_window: bool) -> Self {
        let body = if is_in_window {
            Rc::from(&*shorten(&words::format_body(&sent.body), MAX_BODY_CHARS))
        } else {
            Rc::from("")
        };
        let is_retransmission = sent.is_retransmission;
        let report_for_view = view.filter(|_| sent.class == Class::Control && sent.kind == "report");
        let kind = Rc::from(&*shorten(&words::escape_controls(sent.kind), MAX_KIND_CHARS));
        let label = sent.label.map(|label| label.to_string());
        let label = label.map(|label| Rc::from(&*shorten(&words::escape_controls(&label), MAX_KIND_CHARS)));
        Self { from, kind, label, class: sent.class, is_retransmission, body, report_for_view }
    }
}

/// A message in flight to one receiver.
#[derive(Clone)]
pub(super) struct InFlightMessage {
    from: NodeId,
    to: NodeId,
    kind: Rc<str>,
    label: Option<Rc<str>>,
    class: Class,
    is_retransmission: bool,
    body: Rc<str>,
    report_for_view: Option<Epoch>,
    /// Start of its arrow; `None` if it was sent before the window.
    pub(super) tail: Option<Tail>,
    /// Index of its arrow, if it has one already.
    pub(super) arrow_index: Option<usize>,
    /// Number of copies that may still arrive.
    copies: u32,
    /// Whether a copy has arrived or was lost.
    has_ended: bool,
}

impl InFlightMessage {
    pub(super) fn new(to: NodeId, sent_message: &SentMessage, tail: Option<Tail>) -> Self {
        let SentMessage { from, kind, label, class, is_retransmission, body, report_for_view } = sent_message;
        let (from, class, is_retransmission, report_for_view) = (*from, *class, *is_retransmission, *report_for_view);
        let (kind, label, body) = (Rc::clone(kind), label.clone(), Rc::clone(body));
        Self {
            from,
            to,
            kind,
            label,
            class,
            is_retransmission,
            body,
            report_for_view,
            tail,
            arrow_index: None,
            copies: 1,
            has_ended: false,
        }
    }

    /// Makes its arrow if both ends have lanes. The caller marks the arrows of duplicates.
    pub(super) fn make_arrow(&self, lanes: &Lanes, id: MessageId, tail: Tail, head: Head) -> Option<Arrow> {
        let (from, to) = (lanes.index(self.from)?, lanes.index(self.to)?);
        let (kind, body) = (self.kind.to_string(), self.body.to_string());
        let label = self.label.as_deref().map(str::to_owned);
        let Self { class, is_retransmission, report_for_view, .. } = *self;
        Some(Arrow {
            id,
            kind,
            label,
            class,
            is_retransmission,
            is_duplicate: false,
            body,
            report_for_view,
            from,
            to,
            tail,
            head,
        })
    }
}

impl InFlightMessages {
    pub(super) fn insert(&mut self, id: MessageId, message: InFlightMessage) {
        self.messages.insert(id, message);
    }

    pub(super) fn duplicate(&mut self, id: MessageId) {
        if let Some(message) = self.messages.get_mut(&id) {
            message.copies = message.copies.saturating_add(1);
        }
    }

    /// Removes one copy, which arrives at `node` or is lost on the way there. Returns the message
    /// and whether another copy ended before; `None` if no such message is in flight.
    pub(super) fn end_copy(&mut self, id: MessageId, node: NodeId) -> Option<(InFlightMessage, bool)> {
        let message = self.messages.get_mut(&id).filter(|message| message.to == node)?;
        let is_duplicate = std::mem::replace(&mut message.has_ended, true);
        message.copies -= 1;
        let remaining = message.copies;
        let message = if remaining == 0 { self.messages.remove(&id) } else { Some(message.clone()) };
        message.map(|message| (message, is_duplicate))
    }

    pub(super) fn add_arrow(&mut self, arrow: Arrow) -> usize {
        self.arrows.push(arrow);
        self.arrows.len() - 1
    }

    pub(super) fn set_head(&mut self, index: usize, head: Head) {
        if let Some(arrow) = self.arrows.get_mut(index) {
            arrow.head = head;
        }
    }

    pub(super) fn arrow_count(&self) -> usize {
        self.arrows.len()
    }

    pub(super) fn finish(self) -> Vec<Arrow> {
        self.arrows
    }
}
