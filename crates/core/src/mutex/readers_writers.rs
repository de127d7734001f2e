//! Readers and writers by Ricart–Agrawala (1981, the extension in the same paper).
//!
//! As in Ricart–Agrawala, whoever wants to enter asks everyone, and those who are inside or asked earlier answer later.
//! Only that readers are not in each other's way: a reader answers the request of another reader at once. So any number
//! of readers are inside together, and a writer is inside alone. Nobody starves: readers who ask after a writer wait
//! for it.
//!
//! ```text
//! RW-1  asked to enter        → stamp a request, to read or to write, and send it to every peer
//! RW-2  a request arrives     → reply; defer the reply instead if one of the two is to write, and we are inside or
//!                               ours is older
//! RW-3  all replies are in    → enter; a reply counts only if it answers the stamp we wait with
//! RW-4  asked to leave        → reply to everyone deferred
//! RW-5  asked to give up      → forget the request and reply to everyone deferred
//! RW-6  a try is in our way   → deny it where RW-2 would defer; one denial ends the try like RW-5
//! ```
//!
//! Cost: 2(n−1) messages an entry, of readers too, because their replies come at once but do come; 2T from asking to
//! entering; T from a leave to the next entry.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. Of two requests that conflict the one
//! that happened before the other is served first. Two readers may enter in any order.
//!
//! When it fails: one dead node, even an idle one, stops everyone who asks from then on; nobody else enters
//! wrongly. One that restarts has forgotten whom it owes a reply and whom it let pass, and its clock begins again, so
//! that its next request looks older than theirs: two may be inside. Lost messages stop those who wait for them.
//!
//! Try: a try is a writer's, answered within 2T, by the first denial or by all replies.
//!
//! In views: as in `ricart-agrawala`; all readers who are inside stay.
//!
//! Departs from the paper: a reply names the request it answers and carries the clock and the largest fence known,
//! as in `ricart-agrawala`. The fence of an entry is larger than those of all earlier entries that conflict with it;
//! those of readers who are inside together may be equal.

use super::consent::{self, Claim, Consent, Denial, Reply, Verdict};
use super::prelude::*;
use super::ricart_agrawala;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ricart_agrawala::FACTS.order,
    fairness: ricart_agrawala::FACTS.fairness,
    shares: true,
    ..Facts::new(
        Profile {
            name: "readers-writers",
            summary: "ricart-agrawala whose readers answer readers at once",
            source: include_str!("readers_writers.rs"),
            ..ricart_agrawala::FACTS.profile
        },
        ricart_agrawala::FACTS.cost,
    )
};

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReadersWriters {
    /// Our own request with those whose reply to it is missing, and the requests that we defer.
    consent: Consent<BTreeSet<NodeId>>,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// May I enter?
    Request { stamp: Stamp, access: Access, patience: Patience },
    /// You may, as far as I am concerned.
    Reply(Reply),
    /// Not now: the answer to a try that RW-2 would defer.
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
            Self::Reply(Reply { to, .. }) | Self::Denied(Denial { to, .. }) => Some(to.node),
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
            Input::Command(command) => match self.consent.understand(command) {
                Wish::Enter(patience, access) => self.request(patience, access, out),
                Wish::Leave => self.end("RW-4", Event::Left, out),
                Wish::GiveUp => self.end("RW-5", Event::Cancelled, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, access, patience } if stamp.node == from => {
                    self.answer(Claim { stamp, access }, patience, out);
                }
                Message::Request { stamp, .. } => {
                    out.note("RW-2", format_args!("ignores a request of {} that {from} brought", stamp.node));
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

impl ReadersWriters {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: Consent::new(me, group) }
    }

    /// RW-1. A new request is younger than every one this node has heard of.
    fn request(&mut self, patience: Patience, access: Access, out: &mut Effects<'_, Self>) {
        let everyone: BTreeSet<_> = self.consent.others().collect();
        let is_alone = everyone.is_empty();
        let stamp = self.consent.ask(patience, access, everyone);
        let purpose = match access {
            Access::Exclusive => "write",
            Access::Shared => "read",
        };
        out.note("RW-1", format_args!("asks everyone with {stamp} to {purpose}"));
        if !is_alone {
            out.multicast(self.consent.group(), Message::Request { stamp, access, patience });
        }
        self.enter_if_permitted(out);
    }

    /// RW-2, and RW-6. Readers are not in each other's way, however old their requests are.
    fn answer(&mut self, asked: Claim, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = asked.stamp;
        match self.consent.judge(asked, patience) {
            Verdict::Pass => {
                out.note("RW-2", format_args!("lets {stamp} pass"));
                out.send(stamp.node, Message::Reply(self.consent.reply(stamp)));
            }
            Verdict::Defer { ours } => out.note("RW-2", format_args!("defers {stamp}: ours {ours} goes first")),
            Verdict::Deny => {
                out.note("RW-6", format_args!("denies {stamp}"));
                out.send(stamp.node, Message::Denied(self.consent.denial(stamp)));
            }
        }
    }

    /// RW-3. Late replies to a request that was given up do not count for the present one.
    fn collect(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.hear(reply) {
            Some(missing) => {
                missing.remove(&from);
                self.enter_if_permitted(out);
            }
            None => out.note("RW-3", format_args!("ignores a reply to {}, which nobody waits with", reply.to)),
        }
    }

    /// RW-3. Whoever was in our way has replied since, with a fence not below its own.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        if let Some((stamp, fence)) = self.consent.enter_if(BTreeSet::is_empty) {
            out.note("RW-3", format_args!("has every reply to {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// RW-4, RW-5 and RW-6. Among those deferred may be many readers, who enter together.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for reply in self.consent.end() {
            out.note(rule, format_args!("lets {} pass at last", reply.to));
            out.send(reply.to.node, Message::Reply(reply));
        }
    }

    /// RW-6. One denial is enough, and only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.hear_denial(denial).is_some_and(|missing| missing.contains(&from)) {
            self.end("RW-6", Event::Denied, out);
        }
    }
}

consent::one_of_many_in_views!(ReadersWriters);

#[cfg(test)]
mod tests;
