//! Ricart–Agrawala mutual exclusion (1981).
//!
//! A node that wants to enter asks all others, with a stamp that gives the age of the request. A
//! node that is in the critical section, or that asked earlier itself, holds back its reply until
//! it has released; all other nodes reply at once. A node with all replies has the permission of
//! all.
//!
//! ```text
//! RA-1  the client asks to enter  → stamp a request and send it to every peer
//! RA-2  a request arrives         → reply; defer the reply instead if we are in the critical
//!                                   section, or if ours is older
//! RA-3  all replies have arrived  → enter; a reply counts only if it answers our pending
//!                                   request
//! RA-4  the client releases       → send all deferred replies
//! RA-5  the client cancels        → forget the request and send all deferred replies
//! RA-6  a try conflicts with ours → deny it where RA-2 would defer; one denial ends the try like
//!                                   RA-5
//! ```
//!
//! Cost: 2(n−1) messages per entry; 2T (two message times) from request to entry; T from a release
//! to the next entry. If one message reaches all nodes, as on a shared cable (`--requests
//! broadcast`), a request is one message, and an entry costs n.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. Requests are
//! granted in happened-before order.
//!
//! When it fails: one crashed node, even an idle one, blocks all later requests; no other node
//! enters wrongly. A restarted node has forgotten which replies it deferred and sent, and its clock
//! starts again, so its next request looks older than the pending ones: two nodes may enter.
//! Lost messages block the nodes that wait for them.
//!
//! Try: decided within 2T, by the first denial or by all replies.
//!
//! In views: a member reports the state of its client and the age of its request. The node in the
//! critical section defers the others as before, and waiting nodes ask all members of the new view,
//! with new stamps in the old order.
//!
//! Departs from the paper: a reply names the request it answers (else the late reply to a cancelled
//! request admits two nodes) and carries the clock (else a node that knows of a request through a
//! reply can stamp its own as older). Replies also carry the largest known fence, from which the
//! next entry's fence follows.

use super::consent::{self, Claim, ConsentState, Decision, Denial, Reply};
use super::prelude::*;
use crate::describe::Medium;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::HappenedBefore,
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    variant_choices: &[requests_choice("unicast").mark_default()],
    ..Facts::new(PROFILE, COST)
};

/// Expected figures and properties if one message reaches all nodes, as on a shared cable.
pub const BROADCAST_FACTS: Facts = Facts {
    profile: Profile {
        name: "ricart-agrawala-broadcast",
        summary: "ricart-agrawala where one request message reaches all nodes",
        ..PROFILE
    },
    cost: Cost {
        messages_formula: "n",
        message_count: |case, entries| Range::exactly(if case.peers() == 0 { 0 } else { case.nodes() }).times(entries),
        ..COST
    },
    medium: Medium::Broadcast,
    variant_choices: &[requests_choice("broadcast")],
    ..FACTS
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala",
    class: "permission-based",
    summary: "ask all nodes; the holder and nodes with older requests defer their replies",
    source: include_str!("ricart_agrawala.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    messages_formula: "2(n−1)",
    client_delay_formula: "2T",
    sync_delay_formula: "T",
    message_count: |case, entries| Range::exactly(2 * case.peers()).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

/// The value of the option `--requests` that selects how requests travel.
pub(super) const fn requests_choice(value: &'static str) -> Choice {
    Choice { algorithm: PROFILE.name, option: "requests", value, is_default: false }
}

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    /// Our own request with the nodes whose replies are missing, and the requests that we defer.
    consent: ConsentState<BTreeSet<NodeId>>,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// A request to enter.
    Request { stamp: Stamp, patience: Patience },
    /// The sender has no objection to the entry.
    Reply(Reply),
    /// The denial of a try that RA-2 would defer.
    Denied(Denial),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
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

impl Protocol for RicartAgrawala {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.consent.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Release => self.end("RA-4", Event::Left, out),
                Intent::Cancel => self.end("RA-5", Event::Cancelled, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.on_request(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RA-2", format_args!("ignores a request of {} that came from {from}", stamp.node));
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

impl RicartAgrawala {
    /// An idle node of this group.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: ConsentState::new(me, group) }
    }

    /// RA-1. A new request is younger than every request this node has received.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let others: BTreeSet<_> = self.consent.others().collect();
        let is_alone = others.is_empty();
        let stamp = self.consent.request(patience, Access::Exclusive, others);
        out.note("RA-1", format_args!("requests entry with {stamp}"));
        if !is_alone {
            out.multicast(self.consent.group(), Message::Request { stamp, patience });
        }
        self.enter_if_permitted(out);
    }

    /// RA-2 and RA-6. Our own request goes first if we are in the critical section with it or if it
    /// is older.
    fn on_request(&mut self, request: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        match self.consent.on_request(Claim::exclusive(request), patience) {
            Decision::Consent => {
                out.note("RA-2", format_args!("replies to {request}"));
                out.send(request.node, Message::Reply(self.consent.reply(request)));
            }
            Decision::Defer { ours } => out.note("RA-2", format_args!("defers {request}: ours {ours} goes first")),
            // A node that denies, unlike one that defers, owes no later reply.
            Decision::Deny => {
                out.note("RA-6", format_args!("denies {request}"));
                out.send(request.node, Message::Denied(self.consent.denial(request)));
            }
        }
    }

    /// RA-3. Late replies to a cancelled request do not count for the current one.
    fn on_reply(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.on_reply(reply) {
            Some(missing) => {
                missing.remove(&from);
                self.enter_if_permitted(out);
            }
            None => out.note("RA-3", format_args!("ignores a reply to {}: that request is not pending", reply.request)),
        }
    }

    /// RA-3. The fence is larger than every fence known to the nodes that replied.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        if let Some((stamp, fence)) = self.consent.enter_if(BTreeSet::is_empty) {
            out.note("RA-3", format_args!("has every reply to {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// RA-4, RA-5 and RA-6. Only deferred requests need a message: a reply permits one stamp and
    /// leaves no state at its sender.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for reply in self.consent.end() {
            out.note(rule, format_args!("sends its deferred reply to {}", reply.request));
            out.send(reply.request.node, Message::Reply(reply));
        }
    }

    /// RA-6. One denial is enough, and only a try can be denied.
    fn on_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.on_denial(denial).is_some_and(|missing| missing.contains(&from)) {
            self.end("RA-6", Event::Denied, out);
        }
    }
}

consent::one_of_many_in_views!(RicartAgrawala);

#[cfg(test)]
mod tests;
