//! Roucairol–Carvalho mutual exclusion (1983).
//!
//! Ricart–Agrawala in which a permission lasts: whoever has let us in need not be asked again until it asks us. So a
//! node that nobody else competes with enters again and again without a message. Of any two nodes at most one has the
//! other's permission, and at first neither has: then both must ask.
//!
//! ```text
//! RC-1  asked to enter           → stamp a request and send it to everyone whose permission we lack
//! RC-2  a request arrives        → reply, and have its sender's permission no longer; defer the reply instead if
//!                                  inside, or if ours is older
//! RC-3  a reply arrives          → if it answers the stamp we wait with, its sender's permission is ours until we
//!                                  reply to it
//! RC-4  all permissions are in   → enter
//! RC-5  waiting, and by RC-2 a   → ask for it again with the same stamp
//!       permission is gone
//! RC-6  asked to leave           → reply to everyone deferred, and have their permissions no longer
//! RC-7  asked to give up         → forget the request and do as in RC-6; the permissions of the others stay
//! RC-8  a try is in our way      → deny it where RC-2 would defer; one denial ends the try like RC-7, and so does
//!                                  RC-5, which would have it ask again
//! ```
//!
//! Cost: 0…2(n−1) messages an entry: two for each permission that is lacking; 0…2T from asking to entering; T from a
//! leave to the next entry. A node that is alone pays 2(n−1) once and nothing from then on.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. Requests are not served in
//! happened-before order: a node with all permissions enters without asking, however many requests are on their way to
//! it, and may do so any number of times before the first of them arrives.
//!
//! When it fails: one dead node stops those who lack its permission, and nobody else; nobody enters wrongly. One that
//! restarts has forgotten whom it owes a reply and whose permission it has, and its old replies may count for a new
//! request. Lost messages stop those who wait for them.
//!
//! Try: answered within 2T, by the first denial or by all permissions, and at once if none is lacking. A try is denied
//! too if it has to let an older request pass whose node it need not have asked, even if that request was given up
//! meanwhile.
//!
//! In views: as in `ricart-agrawala`. Permissions end with their view, so that everyone asks all members once more.
//!
//! Departs from the paper: a reply names the request it answers and carries the clock and the largest fence known,
//! as in `ricart-agrawala`. One that comes too late for its request is no permission: its sender may have the reply to
//! a request of its own by then.

pub use super::ricart_agrawala::Message;

use super::consent::{self, Claim, Consent, Denial, Reply, Verdict};
use super::prelude::*;
use super::ricart_agrawala;

/// What the book says of it.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "roucairol-carvalho",
        summary: "ricart-agrawala whose permissions last until their giver asks for one",
        source: include_str!("roucairol_carvalho.rs"),
        ..ricart_agrawala::FACTS.profile
    },
    Cost {
        messages: "0…2(n−1)",
        client: "0…2T",
        sync: "T",
        total,
        client_delay: |_| Range::between(0, 2),
        sync_delay: |_| Range::exactly(1),
    },
);

/// At first a node has nobody's permission, so its first entry costs the most that one can cost.
fn total(case: &Case<'_>, entries: u64) -> Range {
    let most = 2 * case.peers();
    let first_ones = match case.load {
        Load::Alone(_) => return Range::exactly(most * entries.min(1)),
        Load::Everyone => entries.min(case.nodes()),
        Load::Some => entries.min(1),
    };
    Range::between(most * first_ones, most * entries)
}

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoucairolCarvalho {
    /// Our own request with those whose permission it lacks, and the requests that we defer.
    consent: Consent<BTreeSet<NodeId>>,
    permissions: BTreeSet<NodeId>,
}

impl Protocol for RoucairolCarvalho {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.consent.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::Leave => self.end("RC-6", Event::Left, out),
                Wish::GiveUp => self.end("RC-7", Event::Cancelled, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.answer(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RC-2", format_args!("ignores a request of {} that {from} brought", stamp.node));
                }
                Message::Reply(reply) => self.collect(from, reply, out),
                Message::Denied(denial) => self.accept_denial(from, denial, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl RoucairolCarvalho {
    /// A node of this group, idle, with nobody's permission.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: Consent::new(me, group), permissions: BTreeSet::new() }
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn waits_with(&self) -> Option<Stamp> {
        self.consent.waits_with()
    }

    /// RC-1. A new request is younger than every one this node has heard of.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let lacking: Group = self.consent.others().filter(|node| !self.permissions.contains(node)).collect();
        let stamp = self.consent.ask(patience, Access::Exclusive, lacking.iter().collect());
        if lacking.is_empty() {
            out.note("RC-1", format_args!("asks nobody with {stamp}"));
        } else {
            out.note("RC-1", format_args!("asks {lacking} with {stamp}"));
        }
        for node in lacking.iter() {
            out.send(node, Message::Request { stamp, patience });
        }
        self.enter_if_permitted(out);
    }

    /// RC-2, and RC-8. Our own request goes first if we are inside with it or if it is older.
    fn answer(&mut self, asked: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        match self.consent.judge(Claim::exclusive(asked), patience) {
            Verdict::Pass => {
                out.note("RC-2", format_args!("lets {asked} pass"));
                out.send(asked.node, Message::Reply(self.consent.reply(asked)));
                if self.permissions.remove(&asked.node) {
                    self.ask_again(asked.node, out);
                }
            }
            Verdict::Defer { ours } => out.note("RC-2", format_args!("defers {asked}: ours {ours} goes first")),
            Verdict::Deny => {
                out.note("RC-8", format_args!("denies {asked}"));
                out.send(asked.node, Message::Denied(self.consent.denial(asked)));
            }
        }
    }

    /// RC-3. A reply that comes when its request is over is no permission: we may have replied to its sender since.
    fn collect(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.hear(reply) {
            Some(lacking) => {
                if lacking.remove(&from) {
                    self.permissions.insert(from);
                }
                self.enter_if_permitted(out);
            }
            None => out.note("RC-3", format_args!("ignores a reply to {}, which nobody waits with", reply.to)),
        }
    }

    /// RC-4. The fence is larger than every one known to those who have had our permission since we were last inside.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        if let Some((stamp, fence)) = self.consent.enter_if(BTreeSet::is_empty) {
            out.note("RC-4", format_args!("has every permission for {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// RC-5, and RC-8. Whoever waits long for others may lose a permission that it had from the start.
    fn ask_again(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        match self.consent.waiting() {
            Some((stamp, Patience::Wait, lacking)) => {
                lacking.insert(node);
                out.note("RC-5", format_args!("asks {node} again with {stamp}"));
                out.send(node, Message::Request { stamp, patience: Patience::Wait });
            }
            Some((_, Patience::Try, _)) => self.end("RC-8", Event::Denied, out),
            None => {}
        }
    }

    /// RC-6, RC-7 and RC-8. Whoever gets a reply has asked, so it needs our permission and we no longer have its own.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for reply in self.consent.end() {
            self.permissions.remove(&reply.to.node);
            out.note(rule, format_args!("lets {} pass at last", reply.to));
            out.send(reply.to.node, Message::Reply(reply));
        }
    }

    /// RC-8. One denial is enough, and only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.hear_denial(denial).is_some_and(|lacking| lacking.contains(&from)) {
            self.end("RC-8", Event::Denied, out);
        }
    }

    fn assert_invariants(&self) {
        self.consent.assert_invariants(|lacking| {
            let others = self.consent.others();
            let settled = others.into_iter().all(|node| lacking.contains(&node) != self.permissions.contains(&node));
            debug_assert!(settled, "who waits has asked for every permission that it lacks");
            lacking.is_empty()
        });
    }
}

// Permissions are forgotten with the name: they have to be asked for again, which costs messages and does no harm.
consent::one_of_many!(RoucairolCarvalho);

impl Succession for RoucairolCarvalho {
    fn standing(&self) -> Standing {
        self.consent.standing()
    }

    /// Nobody has a permission of a new view yet: what was given in an older one may have gone back there.
    fn begin(&mut self, me: NodeId, past: &Past) {
        self.consent.begin(me, past);
        self.permissions.clear();
    }
}

#[cfg(test)]
mod tests;
