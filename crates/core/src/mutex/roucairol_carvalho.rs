//! Roucairol–Carvalho mutual exclusion (1983).
//!
//! The algorithm of Ricart and Agrawala with lasting permissions: a node that has given us
//! permission need not be asked again until it asks us. So a node without competition enters again
//! and again without a message. Of any two nodes at most one has the other's permission; initially
//! neither has, and both must ask.
//!
//! ```text
//! RC-1  the client asks to enter  → stamp a request and send it to every node whose permission we
//!                                   lack
//! RC-2  a request arrives         → reply, and lose the permission of its sender; defer the reply
//!                                   instead if we are in the critical section, or if ours is older
//! RC-3  a reply arrives           → if it answers our pending request, we have the permission
//!                                   of its sender until we reply to it
//! RC-4  we have all permissions   → enter
//! RC-5  waiting, and RC-2 takes a
//!       permission away           → ask for it again with the same stamp
//! RC-6  the client releases       → send all deferred replies, and lose the permissions of their
//!                                   receivers
//! RC-7  the client cancels        → forget the request and do as in RC-6; other permissions stay
//! RC-8  a try conflicts with ours → deny it where RC-2 would defer; one denial ends the try like
//!                                   RC-7, and so does RC-5, because the try would have to ask
//!                                   again
//! ```
//!
//! Cost: 0…2(n−1) messages per entry: two for each missing permission; 0…2T (up to two message
//! times) from request to entry; T from a release to the next entry. A node that requests alone
//! pays 2(n−1) once and nothing afterwards.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. Requests are not
//! granted in happened-before order: a node with all permissions enters without asking, however
//! many requests are in transit to it, and may do so any number of times before the first of them
//! arrives.
//!
//! When it fails: one crashed node blocks the nodes that request without its permission, and their
//! pending requests block all later ones; no node enters wrongly. A restarted node has forgotten
//! which replies it owes and which permissions it has, and late replies to its old requests may
//! count for a new one, so two nodes may enter. Lost messages block the nodes that wait for them.
//!
//! Try: decided within 2T, by the first denial or by all permissions, and at once if none is
//! missing. A try is also denied if it loses a permission, because its node replies to an older
//! request of the permission's giver, even if that request was cancelled meanwhile.
//!
//! In views: as in `ricart-agrawala`. Permissions end with their view, so every node asks all
//! members once more.
//!
//! Departs from the paper: a reply names the request it answers and carries the clock and the
//! largest known fence, as in `ricart-agrawala`. A reply that arrives after its request has ended
//! is no permission: its sender may have the reply to a request of its own by then.

pub use super::ricart_agrawala::Message;

use super::consent::{self, Claim, ConsentState, Decision, Denial, Reply};
use super::prelude::*;
use super::ricart_agrawala;

/// Expected figures and properties.
pub const FACTS: Facts = Facts::new(
    Profile {
        name: "roucairol-carvalho",
        summary: "ricart-agrawala whose permissions last until their giver requests entry",
        source: include_str!("roucairol_carvalho.rs"),
        ..ricart_agrawala::FACTS.profile
    },
    Cost {
        messages_formula: "0…2(n−1)",
        client_delay_formula: "0…2T",
        sync_delay_formula: "T",
        message_count,
        client_delay: |_| Range::between(0, 2),
        sync_delay: |_| Range::exactly(1),
    },
);

/// Returns the number of messages that `entries` entries cost. Initially a node has no permission,
/// so its first entry has the maximum cost.
fn message_count(case: &Case<'_>, entries: u64) -> Range {
    let max_cost = 2 * case.peers();
    let first_entries = match case.load {
        Load::OneNode(_) => return Range::exactly(max_cost * entries.min(1)),
        Load::AllNodes => entries.min(case.nodes()),
        Load::SomeNodes => entries.min(1),
    };
    Range::between(max_cost * first_entries, max_cost * entries)
}

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoucairolCarvalho {
    /// Our own request with the nodes whose permission it lacks, and the requests that we defer.
    consent: ConsentState<BTreeSet<NodeId>>,
    /// The nodes whose permission we have.
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
            Input::Command(command) => match self.consent.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Release => self.end("RC-6", Event::Left, out),
                Intent::Cancel => self.end("RC-7", Event::Cancelled, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.on_request(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RC-2", format_args!("ignores a request of {} that came from {from}", stamp.node));
                }
                Message::Reply(reply) => self.on_reply(from, reply, out),
                Message::Denied(denial) => self.on_denial(from, denial, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl RoucairolCarvalho {
    /// An idle node of this group, without any permission.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self { consent: ConsentState::new(me, group), permissions: BTreeSet::new() }
    }

    /// Returns the stamp of our waiting request, if there is one.
    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn waiting_stamp(&self) -> Option<Stamp> {
        self.consent.waiting_stamp()
    }

    /// RC-1. A new request is younger than every request this node has received.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let nodes_to_ask: Group = self.consent.others().filter(|node| !self.permissions.contains(node)).collect();
        let stamp = self.consent.request(patience, Access::Exclusive, nodes_to_ask.iter().collect());
        if nodes_to_ask.is_empty() {
            out.note("RC-1", format_args!("has every permission for {stamp} already"));
        } else {
            out.note("RC-1", format_args!("asks {nodes_to_ask} with {stamp}"));
        }
        for node in nodes_to_ask.iter() {
            out.send(node, Message::Request { stamp, patience });
        }
        self.enter_if_permitted(out);
    }

    /// RC-2 and RC-8. Our own request goes first if we are in the critical section with it or if it
    /// is older.
    fn on_request(&mut self, request: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        match self.consent.on_request(Claim::exclusive(request), patience) {
            Decision::Consent => {
                out.note("RC-2", format_args!("replies to {request}"));
                out.send(request.node, Message::Reply(self.consent.reply(request)));
                if self.permissions.remove(&request.node) {
                    self.ask_again(request.node, out);
                }
            }
            Decision::Defer { ours } => out.note("RC-2", format_args!("defers {request}: ours {ours} goes first")),
            Decision::Deny => {
                out.note("RC-8", format_args!("denies {request}"));
                out.send(request.node, Message::Denied(self.consent.denial(request)));
            }
        }
    }

    /// RC-3. A reply that arrives after its request has ended is no permission: we may have replied
    /// to its sender since.
    fn on_reply(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.on_reply(reply) {
            Some(missing_permissions) => {
                if missing_permissions.remove(&from) {
                    self.permissions.insert(from);
                }
                self.enter_if_permitted(out);
            }
            None => out.note("RC-3", format_args!("ignores a reply to {}: that request is not pending", reply.request)),
        }
    }

    /// RC-4. The fence is larger than those of all earlier entries: each node that has had our
    /// permission since our last entry has replied to us again, with its largest known fence.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        if let Some((stamp, fence)) = self.consent.enter_if(BTreeSet::is_empty) {
            out.note("RC-4", format_args!("has every permission for {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// RC-5 and RC-8. Asks again for a permission that our waiting request has lost; ends a try
    /// instead.
    fn ask_again(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        match self.consent.waiting() {
            Some((stamp, Patience::Wait, missing_permissions)) => {
                missing_permissions.insert(node);
                out.note("RC-5", format_args!("asks {node} again with {stamp}"));
                out.send(node, Message::Request { stamp, patience: Patience::Wait });
            }
            Some((_, Patience::Try, _)) => self.end("RC-8", Event::Denied, out),
            None => {}
        }
    }

    /// RC-6, RC-7 and RC-8. A node that gets a reply had asked for it, so it has our permission
    /// now, and we lose its permission.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        for reply in self.consent.end() {
            self.permissions.remove(&reply.request.node);
            out.note(rule, format_args!("sends its deferred reply to {}", reply.request));
            out.send(reply.request.node, Message::Reply(reply));
        }
    }

    /// RC-8. One denial is enough, and only a try can be denied.
    fn on_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.on_denial(denial).is_some_and(|missing_permissions| missing_permissions.contains(&from)) {
            self.end("RC-8", Event::Denied, out);
        }
    }

    fn assert_invariants(&self) {
        self.consent.assert_invariants(|missing_permissions| {
            let others = self.consent.others();
            let has_or_lacks_each =
                others.into_iter().all(|node| missing_permissions.contains(&node) != self.permissions.contains(&node));
            debug_assert!(has_or_lacks_each, "a waiting node has asked for every permission that it lacks");
            missing_permissions.is_empty()
        });
    }
}

// The wrapper `Many` discards the state of an idle resource, and the permissions with it. Asking
// for them again costs messages but does no harm.
consent::one_of_many!(RoucairolCarvalho);

impl ViewTransition for RoucairolCarvalho {
    fn client_state(&self) -> ClientState {
        self.consent.client_state()
    }

    /// No node keeps a permission in a new view: if the node missed a view, the giver may have
    /// entered there without asking it.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        self.consent.begin_view(me, start);
        self.permissions.clear();
    }
}

#[cfg(test)]
mod tests;
