//! Ricart–Agrawala with requests that go round a ring (1981, a message-saving form in the same paper).
//!
//! A request goes from node to node round the ring of all. Each passes it on when it consents: at once, unless it is
//! inside or asked earlier itself. So a request that is back where it came from has everyone's permission, and has
//! cost one message a node. What that saves in messages it costs in time: nobody is asked before all who come earlier
//! on the ring have consented.
//!
//! ```text
//! RR-1  asked to enter        → stamp a request and send it to the next node of the ring
//! RR-2  a request arrives     → pass it on; hold it instead if inside, or if ours is older
//! RR-3  our request is back   → enter, if we still wait with it
//! RR-4  asked to leave        → pass on everything held
//! RR-5  asked to give up      → forget the request, which still goes its round, and pass on everything held
//! RR-6  a try is in our way   → take it off the ring where RR-2 would hold it, and tell its node, for which that is
//!                               like RR-5
//! ```
//!
//! Cost: n messages an entry; nT from asking to entering; from a leave to the next entry T for each node from the one
//! that left to the one that enters, 1…n−1 of them. A request costs n messages though it is given up.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. Requests are served in
//! happened-before order.
//!
//! When it fails: one dead node, even an idle one, stops everyone, and a lost message the one whose request it was;
//! nobody enters wrongly. One that restarts has forgotten the requests it held, and those who wait with them wait for
//! ever; and its clock begins again, so that its next request looks older than those it let pass: two may be inside.
//!
//! Try: answered within nT, by a denial that comes straight from whoever is in its way, or by its coming back.
//!
//! In views: as in `ricart-agrawala`; the ring closes over the members of the new view, and requests that were on their way
//! round the old one are sent round anew.
//!
//! Departs from the paper: a request carries the largest clock and the largest fence of all whom it has passed, as
//! replies do in `ricart-agrawala`.

use super::consent::{self, Claim, Consent, Denial, Reply, Verdict};
use super::prelude::*;
use super::ricart_agrawala;

/// What the book says of it.
///
/// Of each other node two entries may go ahead of a request: one whose request had passed us already, and one whose
/// request we let pass because its node had not heard of ours. That request brings our clock home with it.
pub const FACTS: Facts = Facts {
    order: ricart_agrawala::FACTS.order,
    fairness: Fairness::FromAsking(|nodes| 2 * (nodes as u64 - 1)),
    form: &[ricart_agrawala::requests("ring", false)],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala-ring",
    summary: "ricart-agrawala whose request goes round a ring, from consent to consent",
    source: include_str!("ricart_agrawala_ring.rs"),
    ..ricart_agrawala::FACTS.profile
};

const COST: Cost = Cost {
    messages: "n",
    client: "nT",
    sync: "1…(n−1)T",
    total: |case, entries| Range::exactly(if case.peers() == 0 { 0 } else { case.nodes() }).times(entries),
    client_delay: |case| Range::exactly(case.nodes()),
    sync_delay: |case| Range::between(1, case.peers()),
};

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaRing {
    /// Our own request, and the requests that we hold. What a request lacks only the ring knows.
    consent: Consent<()>,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the next node: may its sender enter?
    Request {
        /// The consent of all whom it has passed, its own node included.
        so_far: Reply,
        patience: Patience,
    },
    /// To the node that tries: not now.
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
            Self::Request { so_far: Reply { to, .. }, .. } | Self::Denied(Denial { to, .. }) => Some(to.node),
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
            Input::Command(command) => match self.consent.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::Leave => self.end("RR-4", Event::Left, out),
                Wish::GiveUp => self.end("RR-5", Event::Cancelled, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { so_far, .. } if !self.is_before_us(from) => {
                    out.note("RR-2", format_args!("ignores {}, which {from} brought", so_far.to));
                }
                Message::Request { so_far, .. } if so_far.to.node == self.consent.me() => self.enter(so_far, out),
                Message::Request { so_far, patience } => self.answer(so_far, patience, out),
                Message::Denied(denial) => self.accept_denial(from, denial, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.consent.assert_invariants(|()| false);
    }
}

impl RicartAgrawalaRing {
    /// A node of this group, idle. The ring goes through the members in order.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: Consent::new(me, group) }
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn goes_before(&self, asked: Stamp) -> bool {
        self.consent.ahead_of(Claim::exclusive(asked)).is_some()
    }

    /// RR-1. On a ring of one the request is back before it is sent.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = self.consent.ask(patience, Access::Exclusive, ());
        let so_far = self.consent.reply(stamp);
        out.note("RR-1", format_args!("sends {stamp} round"));
        if self.consent.group().len() > 1 {
            self.pass_on(so_far, patience, out);
        } else {
            self.enter(so_far, out);
        }
    }

    /// RR-2, and RR-6. Our own request goes first if we are inside with it or if it is older.
    fn answer(&mut self, so_far: Reply, patience: Patience, out: &mut Effects<'_, Self>) {
        let asked = so_far.to;
        self.consent.raise(&so_far.floor());
        match self.consent.judge(Claim::exclusive(asked), patience) {
            Verdict::Pass => {
                out.note("RR-2", format_args!("lets {asked} pass"));
                self.pass_on(self.consent.reply(asked), patience, out);
            }
            Verdict::Defer { ours } => out.note("RR-2", format_args!("holds {asked}: ours {ours} goes first")),
            Verdict::Deny => {
                out.note("RR-6", format_args!("denies {asked}"));
                out.send(asked.node, Message::Denied(self.consent.denial(asked)));
            }
        }
    }

    /// RR-3. The request has everyone's consent, with the largest fence that anyone knows.
    fn enter(&mut self, so_far: Reply, out: &mut Effects<'_, Self>) {
        if self.consent.hear(so_far).is_none() {
            return out.note("RR-3", format_args!("takes back {}, which nobody waits with", so_far.to));
        }
        if let Some((stamp, fence)) = self.consent.enter_if(|()| true) {
            out.note("RR-3", format_args!("has {stamp} back"));
            out.emit(Event::entered(fence));
        }
    }

    /// RR-4, RR-5 and RR-6. What was held goes on with all that we know by now.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for so_far in self.consent.end() {
            out.note(rule, format_args!("lets {} pass at last", so_far.to));
            self.pass_on(so_far, Patience::Wait, out);
        }
    }

    /// RR-6. Only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.hear_denial(denial).is_some() && self.consent.group().contains(from) {
            self.end("RR-6", Event::Denied, out);
        }
    }

    fn pass_on(&self, so_far: Reply, patience: Patience, out: &mut Effects<'_, Self>) {
        if let Some(next) = self.consent.group().successor(self.consent.me()) {
            out.send(next, Message::Request { so_far, patience });
        }
    }

    fn is_before_us(&self, node: NodeId) -> bool {
        self.consent.group().predecessor(self.consent.me()) == Some(node)
    }
}

consent::one_of_many_in_views!(RicartAgrawalaRing);

#[cfg(test)]
mod tests;
