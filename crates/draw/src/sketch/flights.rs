//! Messages in flight, and the arrows that result from them.

use super::lanes::Lanes;
use crate::lettering::shortened;
use crate::scene::{Arrow, Head, Tail};
use quorate_core::{Class, Epoch, NodeId};
use quorate_journal::moment::{MessageId, Sent};
use quorate_journal::words;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum lengths of a kind and of a body, in characters; diagrams show no more.
const MOST_KIND: usize = 200;
const MOST_BODY: usize = 300;

/// The messages in flight by transmission id, and all arrows so far.
#[derive(Default)]
pub(super) struct Flights {
    under_way: HashMap<MessageId, Flight>,
    arrows: Vec<Arrow>,
}

/// A message as sent, possibly to several receivers.
pub(super) struct Letter {
    from: NodeId,
    kind: Rc<str>,
    label: Option<Rc<str>>,
    class: Class,
    again: bool,
    body: Rc<str>,
    report: Option<Epoch>,
}

impl Letter {
    /// Creates a message from a member of `view`, if it is in one. Its body is kept only if the
    /// picture shows it.
    pub(super) fn new(from: NodeId, sent: &Sent<'_>, view: Option<Epoch>, told: bool) -> Self {
        let body = if told { Rc::from(&*shortened(&words::json(&sent.body), MOST_BODY)) } else { Rc::from("") };
        let again = sent.again;
        let report = view.filter(|_| sent.class == Class::Control && sent.kind == "report");
        let kind = Rc::from(&*shortened(&words::clean(sent.kind), MOST_KIND));
        let label = |label: String| Rc::from(&*shortened(&words::clean(&label), MOST_KIND));
        let label = sent.label.map(|words| label(words.to_string()));
        Self { from, kind, label, class: sent.class, again, body, report }
    }
}

/// A message in flight to one receiver.
#[derive(Clone)]
pub(super) struct Flight {
    from: NodeId,
    to: NodeId,
    kind: Rc<str>,
    label: Option<Rc<str>>,
    class: Class,
    again: bool,
    body: Rc<str>,
    report: Option<Epoch>,
    /// Start of its arrow, if that is shown.
    pub(super) tail: Option<Tail>,
    /// Index of its arrow, if it has one already.
    pub(super) arrow: Option<usize>,
    /// Number of copies that may still arrive.
    copies: u32,
    /// Whether a copy has arrived.
    landed: bool,
}

impl Flight {
    pub(super) fn new(to: NodeId, letter: &Letter, tail: Option<Tail>) -> Self {
        let Letter { from, kind, label, class, again, body, report } = letter;
        let (from, class, again, report) = (*from, *class, *again, *report);
        let (kind, label, body) = (Rc::clone(kind), label.clone(), Rc::clone(body));
        Self { from, to, kind, label, class, again, body, report, tail, arrow: None, copies: 1, landed: false }
    }

    /// Returns its arrow if both ends have lanes.
    pub(super) fn arrow(&self, lanes: &Lanes, id: MessageId, tail: Tail, head: Head) -> Option<Arrow> {
        let (from, to) = (lanes.index(self.from)?, lanes.index(self.to)?);
        let (kind, body) = (self.kind.to_string(), self.body.to_string());
        let label = self.label.as_deref().map(str::to_owned);
        let Self { class, again, report, .. } = *self;
        Some(Arrow { id, kind, label, class, again, copy: false, body, report, from, to, tail, head })
    }
}

impl Flights {
    pub(super) fn launch(&mut self, id: MessageId, flight: Flight) {
        self.under_way.insert(id, flight);
    }

    pub(super) fn double(&mut self, id: MessageId) {
        if let Some(flight) = self.under_way.get_mut(&id) {
            flight.copies = flight.copies.saturating_add(1);
        }
    }

    /// Ends one copy, which arrives at `node` or is lost. Returns the message and whether another
    /// copy ended before.
    pub(super) fn land(&mut self, id: MessageId, node: NodeId) -> Option<(Flight, bool)> {
        let flight = self.under_way.get_mut(&id).filter(|flight| flight.to == node)?;
        let repeated = std::mem::replace(&mut flight.landed, true);
        flight.copies -= 1;
        let left = flight.copies;
        let flight = if left == 0 { self.under_way.remove(&id) } else { Some(flight.clone()) };
        flight.map(|flight| (flight, repeated))
    }

    pub(super) fn push(&mut self, arrow: Arrow) -> usize {
        self.arrows.push(arrow);
        self.arrows.len() - 1
    }

    pub(super) fn end(&mut self, index: usize, head: Head) {
        if let Some(arrow) = self.arrows.get_mut(index) {
            arrow.head = head;
        }
    }

    pub(super) fn arrows(&self) -> usize {
        self.arrows.len()
    }

    pub(super) fn finish(self) -> Vec<Arrow> {
        self.arrows
    }
}
