//! Readers and writers by Ricart–Agrawala (1981, the extension in the same paper).
//!
//! As in Ricart–Agrawala, a node that wants to enter asks all others, and nodes that are in the
//! critical section or asked earlier reply later. But readers do not exclude each other: a reader
//! replies to the request of another reader at once. So any number of readers enter together, and a
//! writer is alone. No node starves: readers that request after a writer wait for it.
//!
//! ```text
//! RW-1  the client asks to enter  → stamp a request, to read or to write, and send it to every
//!                                   peer
//! RW-2  a request arrives         → reply; defer the reply instead if either request is to write,
//!                                   and we are in the critical section or ours is older
//! RW-3  all replies have arrived  → enter; a reply counts only if it answers our pending
//!                                   request
//! RW-4  the client releases       → send all deferred replies
//! RW-5  the client cancels        → forget the request and send all deferred replies
//! RW-6  a try conflicts with ours → deny it where RW-2 would defer; one denial ends the try like
//!                                   RW-5
//! ```
//!
//! Cost: 2(n−1) messages per entry, also of readers: each of them still needs all replies. 2T (two
//! message times) from request to entry; T from a release to the next entry.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. Of two
//! conflicting requests, the one that happened before the other is granted first. Two readers may
//! enter in any order.
//!
//! When it fails: one crashed node, even an idle one, blocks all later requests; no other node
//! enters wrongly. A restarted node has forgotten which replies it deferred and sent, and its clock
//! starts again, so its next request looks older than the pending ones: two nodes may enter.
//! Lost messages block the nodes that wait for them.
//!
//! Try: a try requests exclusive entry and is decided within 2T, by the first denial or by all
//! replies.
//!
//! In views: as in `ricart-agrawala`; all readers in the critical section stay there.
//!
//! Departs from the paper: a reply names the request it answers and carries the clock and the
//! largest known fence, as in `ricart-agrawala`. The fence of an entry is larger than those of all
//! earlier entries that conflict with it; readers that are in the critical section together may
//! have equal fences.

use super::consent::{self, Claim, ConsentState, Decision, Denial, Reply};
use super::prelude::*;
use super::ricart_agrawala;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    order: ricart_agrawala::FACTS.order,
    fairness: ricart_agrawala::FACTS.fairness,
    has_shared_access: true,
    ..Facts::new(
        Profile {
            name: "readers-writers",
            summary: "ricart-agrawala whose readers reply to readers at once",
            source: include_str!("readers_writers.rs"),
            ..ricart_agrawala::FACTS.profile
        },
        ricart_agrawala::FACTS.cost,
    )
};

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadersWriters {
    /// Our own request with the nodes whose replies are missing, and the requests that we defer.
    consent: ConsentState<BTreeSet<NodeId>>,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// A request to enter.
    Request { stamp: Stamp, access: Access, patience: Patience },
    /// The sender has no objection to the entry.
    Reply(Reply),
    /// The denial of a try that RW-2 would defer.
    Denied(Denial),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { access: Access::Exclusive, .. } => "write",
            Self::Request { access: Access::Shared, .. } => "read",
            Self::Reply(_) => "reply",
            Self::Denied(_) => "denied",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { stamp, .. } => Some(stamp.node),
            Self::Reply(Reply { request, .. }) | Self::Denied(Denial { request, .. }) => Some(request.node),
        }
    }
}

impl Protocol for ReadersWriters {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.consent.interpret(command) {
                Intent::Enter { patience, access } => self.request(patience, access, out),
                Intent::Release => self.end("RW-4", Event::Left, out),
                Intent::Cancel => self.end("RW-5", Event::Cancelled, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, access, patience } if stamp.node == from => {
                    self.on_request(Claim { stamp, access }, patience, out);
                }
                Message::Request { stamp, .. } => {
                    out.note("RW-2", format_args!("ignores a request of {} that came from {from}", stamp.node));
                }
                Message::Reply(reply) => self.on_reply(from, reply, out),
                Message::Denied(denial) => self.on_denial(from, denial, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.consent.assert_invariants(BTreeSet::is_empty);
    }
}

impl ReadersWriters {
    /// An idle node of this group.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: ConsentState::new(me, group) }
    }

    /// RW-1. A new request is younger than every request this node has received.
    fn request(&mut self, patience: Patience, access: Access, out: &mut Effects<'_, Self>) {
        let others: BTreeSet<_> = self.consent.others().collect();
        let is_alone = others.is_empty();
        let stamp = self.consent.request(patience, access, others);
        let purpose = match access {
            Access::Exclusive => "write",
            Access::Shared => "read",
        };
        out.note("RW-1", format_args!("requests entry with {stamp} to {purpose}"));
        if !is_alone {
            out.multicast(self.consent.group(), Message::Request { stamp, access, patience });
        }
        self.enter_if_permitted(out);
    }

    /// RW-2 and RW-6. Readers do not conflict, however old their requests are.
    fn on_request(&mut self, request: Claim, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = request.stamp;
        match self.consent.on_request(request, patience) {
            Decision::Consent => {
                out.note("RW-2", format_args!("replies to {stamp}"));
                out.send(stamp.node, Message::Reply(self.consent.reply(stamp)));
            }
            Decision::Defer { ours } => out.note("RW-2", format_args!("defers {stamp}: ours {ours} goes first")),
            Decision::Deny => {
                out.note("RW-6", format_args!("denies {stamp}"));
                out.send(stamp.node, Message::Denied(self.consent.denial(stamp)));
            }
        }
    }

    /// RW-3. Late replies to a cancelled request do not count for the current one.
    fn on_reply(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.on_reply(reply) {
            Some(missing) => {
                missing.remove(&from);
                self.enter_if_permitted(out);
            }
            None => out.note("RW-3", format_args!("ignores a reply to {}: that request is not pending", reply.request)),
        }
    }

    /// RW-3. All nodes that were in our way have replied since their entries ended, with fences at
    /// least as large as their entries had.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        if let Some((stamp, fence)) = self.consent.enter_if(BTreeSet::is_empty) {
            out.note("RW-3", format_args!("has every reply to {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// RW-4, RW-5 and RW-6. Many readers may be deferred, and they enter together.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for reply in self.consent.end() {
            out.note(rule, format_args!("sends its deferred reply to {}", reply.request));
            out.send(reply.request.node, Message::Reply(reply));
        }
    }

    /// RW-6. One denial is enough, and only a try can be denied.
    fn on_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.on_denial(denial).is_some_and(|missing| missing.contains(&from)) {
            self.end("RW-6", Event::Denied, out);
        }
    }
}

consent::one_of_many_in_views!(ReadersWriters);

#[cfg(test)]
mod tests;
