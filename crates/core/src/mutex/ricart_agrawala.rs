//! Ricart–Agrawala mutual exclusion (1981).
//!
//! Whoever wants to enter asks everyone, with a stamp that says how old the request is. A node that is inside,
//! or that asked earlier itself, keeps its answer until it has left; everybody else answers at once. Who has
//! all answers has everyone's permission.
//!
//! ```text
//! RA-1  asked to enter        → stamp a request and send it to every peer
//! RA-2  a request arrives     → reply; defer the reply instead if inside, or if ours is older
//! RA-3  all replies are in    → enter; a reply counts only if it answers the stamp we wait with
//! RA-4  asked to leave        → reply to everyone deferred
//! RA-5  asked to give up      → forget the request and reply to everyone deferred
//! RA-6  a try is in our way   → deny it where RA-2 would defer; one denial ends the try like RA-5
//! ```
//!
//! Cost: 2(n−1) messages an entry; 2T from asking to entering; T from a leave to the next entry. Where one message
//! reaches everyone, as on a shared cable (`--requests broadcast`), the requests of an entry are one, and it costs n.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. Requests are served in
//! happened-before order.
//!
//! When it fails: one dead node, even an idle one, stops everyone who asks from then on; nobody else enters
//! wrongly. One that restarts has forgotten whom it owes a reply and whom it let pass, and its clock begins again, so
//! that its next request looks older than theirs: two may be inside. Lost messages stop those who wait for them.
//!
//! Try: answered within 2T, by the first denial or by all replies.
//!
//! In views: a member reports where its user stands and how old its request is. Whoever is inside defers the others as
//! before, and those who wait ask all members of the new view, with new stamps in the old order.
//!
//! Departs from the paper: a reply names the request it answers (else the late reply to a cancelled request
//! admits two) and carries the clock (else a node that heard of a request can stamp its own as older). Replies
//! also carry the largest fence known, from which the next entry's fence follows.

use super::consent::{self, Claim, Consent, Denial, Reply, Verdict};
use super::prelude::*;
use crate::describe::Medium;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::HappenedBefore,
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    form: &[requests("unicast", true)],
    ..Facts::new(PROFILE, COST)
};

/// What the book says of it where one message reaches everyone.
pub const BROADCAST: Facts = Facts {
    profile: Profile {
        name: "ricart-agrawala-broadcast",
        summary: "ricart-agrawala where one request reaches everyone",
        ..PROFILE
    },
    cost: Cost {
        messages: "n",
        total: |case, entries| Range::exactly(if case.peers() == 0 { 0 } else { case.nodes() }).times(entries),
        ..COST
    },
    medium: Medium::Broadcast,
    form: &[requests("broadcast", false)],
    ..FACTS
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala",
    class: "permission-based",
    summary: "ask everyone; whoever is older or inside defers the reply",
    source: include_str!("ricart_agrawala.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "2(n−1)",
    client: "2T",
    sync: "T",
    total: |case, entries| Range::exactly(2 * case.peers()).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

pub(super) const fn requests(value: &'static str, usual: bool) -> Choice {
    Choice { of: PROFILE.name, option: "requests", value, usual }
}

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    /// Our own request with those whose reply to it is missing, and the requests that we defer.
    consent: Consent<BTreeSet<NodeId>>,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// May I enter?
    Request { stamp: Stamp, patience: Patience },
    /// You may, as far as I am concerned.
    Reply(Reply),
    /// Not now: the answer to a try that RA-2 would defer.
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
            Self::Reply(Reply { to, .. }) | Self::Denied(Denial { to, .. }) => Some(to.node),
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
            Input::Command(command) => match self.consent.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::Leave => self.end("RA-4", Event::Left, out),
                Wish::GiveUp => self.end("RA-5", Event::Cancelled, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.answer(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RA-2", format_args!("ignores a request of {} that {from} brought", stamp.node));
                }
                Message::Reply(reply) => self.collect(from, reply, out),
                Message::Denied(denial) => self.accept_denial(from, denial, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.consent.assert_invariants(BTreeSet::is_empty);
    }
}

impl RicartAgrawala {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: Consent::new(me, group) }
    }

    /// RA-1. A new request is younger than every one this node has heard of.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let everyone: BTreeSet<_> = self.consent.others().collect();
        let is_alone = everyone.is_empty();
        let stamp = self.consent.ask(patience, Access::Exclusive, everyone);
        out.note("RA-1", format_args!("asks everyone with {stamp}"));
        if !is_alone {
            out.multicast(self.consent.group(), Message::Request { stamp, patience });
        }
        self.enter_if_permitted(out);
    }

    /// RA-2, and RA-6. Our own request goes first if we are inside with it or if it is older.
    fn answer(&mut self, asked: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        match self.consent.judge(Claim::exclusive(asked), patience) {
            Verdict::Pass => {
                out.note("RA-2", format_args!("lets {asked} pass"));
                out.send(asked.node, Message::Reply(self.consent.reply(asked)));
            }
            Verdict::Defer { ours } => out.note("RA-2", format_args!("defers {asked}: ours {ours} goes first")),
            // The denier, unlike one who defers, owes no reply later.
            Verdict::Deny => {
                out.note("RA-6", format_args!("denies {asked}"));
                out.send(asked.node, Message::Denied(self.consent.denial(asked)));
            }
        }
    }

    /// RA-3. Late replies to a request that was given up do not count for the present one.
    fn collect(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.hear(reply) {
            Some(missing) => {
                missing.remove(&from);
                self.enter_if_permitted(out);
            }
            None => out.note("RA-3", format_args!("ignores a reply to {}, which nobody waits with", reply.to)),
        }
    }

    /// RA-3. The fence is larger than every one that those who admit us know of.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        if let Some((stamp, fence)) = self.consent.enter_if(BTreeSet::is_empty) {
            out.note("RA-3", format_args!("has every reply to {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// RA-4, RA-5 and RA-6. Nobody else need be told: a reply gives permission to one stamp, and binds nobody.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for reply in self.consent.end() {
            out.note(rule, format_args!("lets {} pass at last", reply.to));
            out.send(reply.to.node, Message::Reply(reply));
        }
    }

    /// RA-6. One denial is enough, and only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.hear_denial(denial).is_some_and(|missing| missing.contains(&from)) {
            self.end("RA-6", Event::Denied, out);
        }
    }
}

consent::one_of_many_in_views!(RicartAgrawala);

#[cfg(test)]
mod tests;
