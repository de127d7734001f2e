//! The messages under way, and the arrows that come of them.

use super::lanes::Lanes;
use crate::scene::{Arrow, Head, Tail};
use quorate_core::{Class, NodeId};
use quorate_sim::moment::{MessageId, Sent};
use quorate_sim::words;
use std::collections::HashMap;

/// More of a message than this nobody reads in a diagram.
const MOST_BODY: usize = 300;

/// Messages under way by their transmission, and all arrows so far.
#[derive(Default)]
pub(super) struct Flights {
    under_way: HashMap<MessageId, Flight>,
    arrows: Vec<Arrow>,
}

/// A message under way.
#[derive(Clone)]
pub(super) struct Flight {
    to: NodeId,
    kind: String,
    class: Class,
    again: bool,
    body: String,
    /// Where it begins, if that is shown.
    pub(super) tail: Option<Tail>,
    /// Its arrow, if it has one already.
    pub(super) arrow: Option<usize>,
    /// How many copies of it may still arrive.
    copies: u32,
    /// Whether one has arrived.
    landed: bool,
}

impl Flight {
    pub(super) fn new(to: NodeId, sent: &Sent<'_>, tail: Option<Tail>) -> Self {
        let body = if tail.is_some() { shortened(words::json(&sent.body)) } else { String::new() };
        Self {
            to,
            kind: words::clean(sent.kind).into_owned(),
            class: sent.class,
            again: sent.class == Class::Control && sent.parcel.is_some(),
            body,
            tail,
            arrow: None,
            copies: 1,
            landed: false,
        }
    }

    /// Its arrow, if both of its ends have lanes.
    pub(super) fn arrow(&self, lanes: &Lanes, id: MessageId, tail: Tail, head: Head) -> Option<Arrow> {
        let (from, to) = (lanes.index(id.sender)?, lanes.index(self.to)?);
        let Self { kind, class, again, body, .. } = self.clone();
        Some(Arrow { id, kind, class, again, copy: false, body, from, to, tail, head })
    }
}

impl Flights {
    pub(super) fn launch(&mut self, id: MessageId, flight: Flight) {
        self.under_way.insert(id, flight);
    }

    /// A second copy is under way.
    pub(super) fn double(&mut self, id: MessageId) {
        if let Some(flight) = self.under_way.get_mut(&id) {
            flight.copies += 1;
        }
    }

    /// One copy arrives at this node, or never will; and whether another one has arrived before.
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

    /// No arrow will be drawn.
    pub(super) fn forget_arrows(&mut self) {
        self.arrows = Vec::new();
        for flight in self.under_way.values_mut() {
            flight.arrow = None;
        }
    }

    pub(super) fn finish(self) -> Vec<Arrow> {
        self.arrows
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MOST_BODY) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
