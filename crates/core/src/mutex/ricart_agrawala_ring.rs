//! Ricart–Agrawala with requests that go round a ring (1981, a message-saving form in the same
//! paper).
//!
//! A request goes from node to node round a ring of all nodes. Each node forwards it when it
//! consents: at once, unless it is in the critical section or requested earlier itself. So a
//! request that has returned to its origin has the permission of all, for one message per node. The
//! ring saves messages but takes longer: a node receives the request only after all earlier nodes
//! on the ring have consented.
//!
//! ```text
//! RR-1  the client asks to enter  → stamp a request and send it to the next node of the ring
//! RR-2  a request arrives         → forward it; hold it instead if we are in the critical section,
//!                                   or if ours is older
//! RR-3  our request returns       → enter, if we still wait with it
//! RR-4  the client releases       → forward all held requests
//! RR-5  the client cancels        → forget the request, which still completes its round, and
//!                                   forward all held requests
//! RR-6  a try conflicts with ours → remove it where RR-2 would hold it, and send a denial to its
//!                                   node, which then does as in RR-5
//! ```
//!
//! Cost: n messages per entry; nT (n message times) from request to entry. After a release, the
//! request of the next holder needs 1 to n−1 hops of T from the previous holder to its own node. A
//! cancelled request also costs n messages.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. Requests are
//! granted in happened-before order.
//!
//! When it fails: one crashed node, even an idle one, blocks all nodes, and a lost message blocks
//! the node whose request it was; no node enters wrongly. A restarted node has forgotten the
//! requests it held, and their nodes wait forever; and its clock starts again, so its next request
//! looks older than those it forwarded: two nodes may enter.
//!
//! Try: decided within nT, by a denial sent directly from a conflicting node, or by the return of
//! the try.
//!
//! In views: as in `ricart-agrawala`; the ring closes over the members of the new view, and
//! requests in transit on the old one are sent anew.
//!
//! Departs from the paper: a request carries the largest clock and the largest fence of all nodes
//! it has passed, as replies do in `ricart-agrawala`.

use super::consent::{self, Claim, ConsentState, Decision, Denial, Reply};
use super::prelude::*;
use super::ricart_agrawala;

/// Expected figures and properties.
///
/// Each other node may enter twice ahead of our request: with a request that passed us before we
/// made ours, and with an older one that passes us afterwards. The latter carries our clock back to
/// its node, so that the node's next request is younger than ours.
pub const FACTS: Facts = Facts {
    order: ricart_agrawala::FACTS.order,
    fairness: Fairness::FromRequest(|nodes| 2 * (nodes as u64 - 1)),
    variant_choices: &[ricart_agrawala::requests_choice("ring")],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala-ring",
    summary: "ricart-agrawala whose request goes round a ring; each node passes it on when it consents",
    source: include_str!("ricart_agrawala_ring.rs"),
    ..ricart_agrawala::FACTS.profile
};

const COST: Cost = Cost {
    messages_formula: "n",
    client_delay_formula: "nT",
    sync_delay_formula: "T…(n−1)T",
    message_count: |case, entries| Range::exactly(if case.peers() == 0 { 0 } else { case.nodes() }).times(entries),
    client_delay: |case| Range::exactly(case.nodes()),
    sync_delay: |case| Range::between(1, case.peers()),
};

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaRing {
    /// Our own request, and the requests that we hold. The request itself collects the consents on
    /// its way.
    consent: ConsentState<()>,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the next node: a request to enter.
    Request {
        /// The combined consent of all nodes it has passed, its own node included.
        #[cfg_attr(feature = "serde", serde(rename = "so_far"))]
        consents: Reply,
        patience: Patience,
    },
    /// To the trying node: its try is denied.
    Denied(Denial),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Denied(_) => "denied",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { consents: Reply { request, .. }, .. } | Self::Denied(Denial { request, .. }) => {
                Some(request.node)
            }
        }
    }
}

impl Protocol for RicartAgrawalaRing {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.consent.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Release => self.end("RR-4", Event::Left, out),
                Intent::Cancel => self.end("RR-5", Event::Cancelled, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { consents, .. } if !self.is_predecessor(from) => {
                    out.note("RR-2", format_args!("ignores {} from {from}: not the previous node", consents.request));
                }
                Message::Request { consents, .. } if consents.request.node == self.consent.me() => {
                    self.on_return(consents, out);
                }
                Message::Request { consents, patience } => self.on_request(consents, patience, out),
                Message::Denied(denial) => self.on_denial(from, denial, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        // A waiting request lacks consents until it returns.
        self.consent.assert_invariants(|()| false);
    }
}

impl RicartAgrawalaRing {
    /// An idle node of this group. The ring goes through the members in order.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: ConsentState::new(me, group) }
    }

    /// Returns whether our own request goes before this one.
    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn own_request_goes_before(&self, request: Stamp) -> bool {
        self.consent.own_request_ahead_of(Claim::exclusive(request)).is_some()
    }

    /// RR-1. On a ring of one the request returns without a message.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = self.consent.request(patience, Access::Exclusive, ());
        let consents = self.consent.reply(stamp);
        out.note("RR-1", format_args!("sends {stamp} round the ring"));
        if self.consent.group().len() > 1 {
            self.forward(consents, patience, out);
        } else {
            self.on_return(consents, out);
        }
    }

    /// RR-2 and RR-6. Our own request goes first if we are in the critical section with it or if it
    /// is older.
    fn on_request(&mut self, consents: Reply, patience: Patience, out: &mut Effects<'_, Self>) {
        let request = consents.request;
        self.consent.raise_floor(&consents.floor());
        match self.consent.on_request(Claim::exclusive(request), patience) {
            Decision::Consent => {
                out.note("RR-2", format_args!("forwards {request}"));
                self.forward(self.consent.reply(request), patience, out);
            }
            Decision::Defer { ours } => out.note("RR-2", format_args!("holds {request}: ours {ours} goes first")),
            Decision::Deny => {
                out.note("RR-6", format_args!("denies {request}"));
                out.send(request.node, Message::Denied(self.consent.denial(request)));
            }
        }
    }

    /// RR-3. The request has the consent of all, with the largest fence that any node knows.
    fn on_return(&mut self, consents: Reply, out: &mut Effects<'_, Self>) {
        if self.consent.on_reply(consents).is_none() {
            return out.note("RR-3", format_args!("removes {}: that request is not pending", consents.request));
        }
        if let Some((stamp, fence)) = self.consent.enter_if(|()| true) {
            out.note("RR-3", format_args!("has {stamp} back"));
            out.emit(Event::entered(fence));
        }
    }

    /// RR-4, RR-5 and RR-6. Held requests continue with our current clock and fence. None of them
    /// is a try, because RR-6 denies tries instead of holding them.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for consents in self.consent.end() {
            out.note(rule, format_args!("forwards {}, which it held", consents.request));
            self.forward(consents, Patience::Wait, out);
        }
    }

    /// RR-6. Only a try can be denied.
    fn on_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.on_denial(denial).is_some() && self.consent.group().contains(from) {
            self.end("RR-6", Event::Denied, out);
        }
    }

    fn forward(&self, consents: Reply, patience: Patience, out: &mut Effects<'_, Self>) {
        if let Some(next) = self.consent.group().successor(self.consent.me()) {
            out.send(next, Message::Request { consents, patience });
        }
    }

    fn is_predecessor(&self, node: NodeId) -> bool {
        self.consent.group().predecessor(self.consent.me()) == Some(node)
    }
}

consent::one_of_many_in_views!(RicartAgrawalaRing);

#[cfg(test)]
mod tests;
