//! Ricart–Agrawala with implicit replies (1981, a message-saving form in the same paper).
//!
//! If messages never take longer than a known time, silence can be an answer. A node that wants to
//! enter asks all others and waits for the longest time that an answer can take. Only nodes that
//! would defer their reply say so at once, and reply later; a silent node consents.
//!
//! ```text
//! RI-1  the client asks to enter   → stamp a request, send it to every peer, and wait for the
//!                                    longest time that an answer can take
//! RI-2  a request arrives          → send nothing; but send "deferred" and owe a reply if we are
//!                                    in the critical section, or if ours is older
//! RI-3  an answer to us arrives    → wait for each node that defers, until its reply has arrived
//!                                    too
//! RI-4  the waiting time has ended → enter, if no node defers; else as soon as the last reply
//!                                    arrives
//! RI-5  the client releases        → send all deferred replies
//! RI-6  the client cancels         → forget the request and send all deferred replies
//! RI-7  a try conflicts with ours  → deny it where RI-2 would defer; one denial ends the try like
//!                                    RI-6
//! ```
//!
//! Cost: n−1 messages per entry if no node defers, 3(n−1) if all do; 2T from request to entry,
//! where T is the maximum message time, not the actual one; T from a release to the next entry.
//!
//! Assumes: the synchronous model. No node crashes or restarts; every message arrives once, in any
//! order, and none takes longer than the bound: it may take exactly as long, because the waiting
//! time is a nanosecond longer than the slowest answer takes. No input keeps a node busy for longer
//! than the processing bound, and at most four inputs from each member are queued at a node, which
//! is the most that occurs without cancellations. Clocks run at the same rate. Requests are granted
//! in happened-before order.
//!
//! When it fails: if one "deferred" arrives after the waiting time, two nodes enter: silence is
//! consent only in the synchronous model. A crashed node is silent, so a crashed idle node blocks
//! no other. A crashed holder blocks the nodes that it deferred, and their requests block all later
//! ones; if it deferred none, later requests are granted although it never released. The same holds
//! for a holder that restarts and has forgotten its entry; and since its clock starts again, its
//! next request looks older than those it consented to, and two nodes may enter. A lost message
//! does the same harm as a late one. The algorithm cannot run in views: it would count the silence
//! of a node that is frozen or has not installed the view yet as consent.
//!
//! Try: decided within 2T, by the first denial or by silence until the end of the waiting time.
//!
//! Departs from the paper: every answer names the request it is about and carries the clock, as in
//! `ricart-agrawala`. Silence carries no fence, but entries are in the order of their stamps, so
//! the stamp of an entry determines its fence: n times the clock, plus the node's position in the
//! group, from 1.

use super::consent::{self, Claim, ConsentState, Decision, Denial, Reply};
use super::prelude::*;
use super::{Model, ricart_agrawala};
use crate::bounds::Bounds;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    order: ricart_agrawala::FACTS.order,
    fairness: ricart_agrawala::FACTS.fairness,
    model: Model::Synchronous,
    variant_choices: &[ricart_agrawala::requests_choice("implicit")],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala-implicit",
    summary: "ricart-agrawala where silence means consent, if messages are never late",
    source: include_str!("ricart_agrawala_implicit.rs"),
    ..ricart_agrawala::FACTS.profile
};

const COST: Cost = Cost {
    messages_formula: "(n−1)…3(n−1)",
    client_delay_formula: "2T + 1ns",
    sync_delay_formula: "T",
    message_count: |case, entries| match case.load {
        Load::OneNode(_) => Range::exactly(case.peers()).times(entries),
        Load::AllNodes | Load::SomeNodes => Range::between(case.peers(), 3 * case.peers()).times(entries),
    },
    // If steps take no time, the delay is a nanosecond longer than 2T, so that an answer that takes
    // exactly the maximum is in time.
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

/// Maximum number of inputs from each member that are queued at a node ahead of a request: the
/// member's own request, its "deferred" message, its reply, and one more, so that the inputs of the
/// node's client and timer are counted too. The queue of the requester adds nothing to the waiting
/// time: an answer that arrives before its timer is also handled before it.
const MAX_QUEUED_INPUTS: u64 = 4;

/// Added to the waiting time, so that an answer that takes exactly the maximum arrives in time.
const MARGIN: Duration = Duration::from_nanos(1);

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawalaImplicit {
    /// Our own request with the answers to it, and the requests that we defer.
    consent: ConsentState<Answers>,
    /// The longest time that an answer can take, plus [`MARGIN`].
    waiting_time: Fixed<Duration>,
}

/// The answers to our request so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Answers {
    /// Whether the waiting time has ended, so that silent nodes consent.
    wait_has_ended: bool,
    /// The nodes that defer.
    deferring_nodes: BTreeSet<NodeId>,
    /// The nodes whose reply overtook their "deferred" message.
    replied_early: BTreeSet<NodeId>,
}

impl Answers {
    fn add_deferral(&mut self, node: NodeId) {
        if !self.replied_early.remove(&node) {
            self.deferring_nodes.insert(node);
        }
    }

    fn add_reply(&mut self, node: NodeId) {
        if !self.deferring_nodes.remove(&node) {
            self.replied_early.insert(node);
        }
    }

    /// Returns whether the waiting time has ended and no node defers.
    fn is_consent_of_all(&self) -> bool {
        self.wait_has_ended && self.deferring_nodes.is_empty()
    }
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// A request to enter; silence is consent.
    Request { stamp: Stamp, patience: Patience },
    /// The sender's reply comes later.
    Deferred {
        /// The stamp of the request that the sender defers.
        #[cfg_attr(feature = "serde", serde(rename = "to"))]
        request: Stamp,
        clock: Clock,
    },
    /// The reply that the sender deferred.
    Reply(Reply),
    /// The denial of a try that RI-2 would defer.
    Denied(Denial),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Deferred { .. } => "deferred",
            Self::Reply(_) => "reply",
            Self::Denied(_) => "denied",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { stamp, .. } => Some(stamp.node),
            Self::Deferred { request, .. }
            | Self::Reply(Reply { request, .. })
            | Self::Denied(Denial { request, .. }) => Some(request.node),
        }
    }
}

/// The timers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The longest time that an answer to our request can take has passed.
    Silence,
}

impl Protocol for RicartAgrawalaImplicit {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.consent.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Release => self.end("RI-5", Event::Left, out),
                Intent::Cancel => self.end("RI-6", Event::Cancelled, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.on_request(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RI-2", format_args!("ignores a request of {} that came from {from}", stamp.node));
                }
                Message::Deferred { request, clock } => self.on_deferral(from, request, clock, out),
                Message::Reply(reply) => self.on_reply(from, reply, out),
                Message::Denied(denial) => self.on_denial(from, denial, out),
            },
            Input::Timer(Timer::Silence) => self.end_wait(out),
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.consent.assert_invariants(Answers::is_consent_of_all);
    }
}

impl RicartAgrawalaImplicit {
    /// An idle node of this group, in which messages and steps never take longer than `bounds`.
    pub fn new(me: NodeId, group: Group, bounds: Bounds) -> Self {
        let max_queueing_time = bounds.processing.times(MAX_QUEUED_INPUTS.saturating_mul(group.len() as u64));
        let waiting_time = bounds.message.times(2) + max_queueing_time + MARGIN;
        Self { consent: ConsentState::new(me, group), waiting_time: Fixed::new(waiting_time) }
    }

    /// RI-1. In a group of one there is no node to wait for.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let is_alone = self.consent.others().next().is_none();
        let answers = Answers { wait_has_ended: is_alone, ..Answers::default() };
        let stamp = self.consent.request(patience, Access::Exclusive, answers);
        out.note("RI-1", format_args!("requests entry with {stamp}"));
        if !is_alone {
            out.multicast(self.consent.group(), Message::Request { stamp, patience });
            out.set_timer(Timer::Silence, Span::exactly(*self.waiting_time));
        }
        self.enter_if_permitted(out);
    }

    /// RI-2 and RI-7. Our own request goes first if we are in the critical section with it or if it
    /// is older.
    fn on_request(&mut self, request: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        match self.consent.on_request(Claim::exclusive(request), patience) {
            Decision::Consent => out.note("RI-2", format_args!("consents to {request} by silence")),
            Decision::Defer { ours } => {
                let Reply { clock, .. } = self.consent.reply(request);
                out.note("RI-2", format_args!("defers {request}: ours {ours} goes first"));
                out.send(request.node, Message::Deferred { request, clock });
            }
            Decision::Deny => {
                out.note("RI-7", format_args!("denies {request}"));
                out.send(request.node, Message::Denied(self.consent.denial(request)));
            }
        }
    }

    /// RI-3. If the node has already entered, the message was late: the bound did not hold.
    fn on_deferral(&mut self, from: NodeId, request: Stamp, clock: Clock, out: &mut Effects<'_, Self>) {
        self.consent.raise_floor(&Floor { clock, fence: Fence::default() });
        let is_member = self.consent.group().contains(from);
        if self.consent.is_inside_with(request) {
            return out.note("RI-3", format_args!("learns too late that {from} defers {request}"));
        }
        match self.consent.waiting() {
            Some((stamp, _, answers)) if stamp == request && is_member => answers.add_deferral(from),
            Some(_) | None => out.note("RI-3", format_args!("ignores that {from} defers {request}")),
        }
    }

    /// RI-3. A reply may overtake the message that announces it.
    fn on_reply(&mut self, from: NodeId, reply: Reply, out: &mut Effects<'_, Self>) {
        match self.consent.on_reply(reply) {
            Some(answers) => {
                answers.add_reply(from);
                self.enter_if_permitted(out);
            }
            None => out.note("RI-3", format_args!("ignores a reply to {}: that request is not pending", reply.request)),
        }
    }

    /// RI-4. By now, all nodes that defer have said so.
    fn end_wait(&mut self, out: &mut Effects<'_, Self>) {
        let Some((stamp, _, answers)) = self.consent.waiting() else { return };
        answers.wait_has_ended = true;
        if !answers.deferring_nodes.is_empty() {
            let deferring: Group = answers.deferring_nodes.iter().copied().collect();
            out.note("RI-4", format_args!("counts silence as consent to {stamp}, and waits for {deferring}"));
        }
        self.enter_if_permitted(out);
    }

    /// RI-4. The fence is larger than those of all earlier entries. These have smaller stamps,
    /// because we defer every request with a larger stamp until our own entry has ended.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        let permitted = self.consent.waiting().filter(|(_, _, answers)| answers.is_consent_of_all());
        let Some((stamp, ..)) = permitted else { return };
        let fence = self.fence_before(stamp);
        self.consent.raise_floor(&Floor { clock: Clock::default(), fence });
        if let Some((stamp, fence)) = self.consent.enter_if(Answers::is_consent_of_all) {
            out.note("RI-4", format_args!("has the consent of all to {stamp}"));
            out.emit(Event::entered(fence));
        }
    }

    /// Returns a fence whose counter is the stamp as one number: n times the clock, plus the node's
    /// position from 0. It is at least the fence of every entry with a smaller stamp.
    fn fence_before(&self, stamp: Stamp) -> Fence {
        let group = self.consent.group();
        let position = group.iter().position(|node| node == stamp.node).unwrap_or_default() as u64;
        let counter = stamp.clock.0.saturating_mul(group.len() as u64).saturating_add(position);
        Fence { counter, ..Fence::default() }
    }

    /// RI-5, RI-6 and RI-7. Only deferred requests need a message.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        out.emit(event);
        if self.consent.waiting().is_some_and(|(_, _, answers)| !answers.wait_has_ended) {
            out.cancel_timer(Timer::Silence);
        }
        for reply in self.consent.end() {
            out.note(rule, format_args!("sends its deferred reply to {}", reply.request));
            out.send(reply.request.node, Message::Reply(reply));
        }
    }

    /// RI-7. One denial is enough, and only a try can be denied.
    fn on_denial(&mut self, from: NodeId, denial: Denial, out: &mut Effects<'_, Self>) {
        if self.consent.on_denial(denial).is_some() && self.consent.group().contains(from) {
            self.end("RI-7", Event::Denied, out);
        }
    }
}

consent::one_of_many!(RicartAgrawalaImplicit);

#[cfg(test)]
mod tests;
