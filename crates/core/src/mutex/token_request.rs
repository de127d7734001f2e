//! Ricart–Agrawala's second algorithm: a token on request (1983; Suzuki and Kasami's of 1985 costs
//! the same).
//!
//! The holder of the only token may enter, and may do so again without messages as long as no other
//! node wants it. A node without the token sends a numbered request to all others, since only the
//! holder knows where it is. The token carries, for each node, the number of its last answered
//! request; a request with a larger number is pending. On a release, the holder passes the token to
//! the next node, in cyclic order, whose request is pending.
//!
//! ```text
//! TQ-1  the client asks to enter → enter if the token is here; else number a new request and send
//!                                  it to every peer
//! TQ-2  a request arrives        → store it, unless a newer one of its node is known or it is
//!                                  answered; if the token is here unused, continue as in TQ-4
//! TQ-3  the token arrives        → enter if our client waits, else continue as in TQ-4
//! TQ-4  the client releases      → record on the token that our requests are answered, and pass it
//!                                  to the first of i+1, …, n, 1, …, i−1 whose request is pending;
//!                                  keep it if there is none
//! TQ-5  the client cancels       → forget the request without a message; a token that arrives for
//!                                  it is kept or passed on
//! TQ-6  a try reaches the holder → deny it if we are in the critical section or another request
//!                                  goes first, and record that it is answered
//! ```
//!
//! Cost: n messages per entry, n−1 requests and the token, or 0 if the token is here; 2T (two
//! message times) or 0 from request to entry; T from a release to the next entry.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. Requests are
//! granted in cyclic order of the nodes, which is not happened-before order; but once all nodes
//! know a request, at most n−1 others enter before it.
//!
//! When it fails: a crashed holder blocks all other nodes, and so does a lost token. A crashed
//! waiter blocks all nodes once the token goes to it; a crashed idle node without the token blocks
//! no other. If the lowest member restarts, it creates a second token, and two nodes may enter; any
//! other restarted node numbers its requests from the beginning, and waits until the numbers are
//! new.
//!
//! Try: answered by the holder, within 2T if the token is not in transit. A node that receives a
//! try and then the token answers the try: with the token if no other request goes first, else with
//! a denial. A cancelled try may bring the token to a node that no longer wants it, as any request
//! may.
//!
//! Many resources: if nodes run the algorithm once for each resource (in the wrapper `Many`), a
//! node stores every request that it receives until it has the token, and the token stores all
//! answers. So once a node other than the lowest member has used the resource, the lowest member
//! never discards the state of that resource, and any other node keeps it while it stores a request
//! or has the token.
//!
//! In views: a member reports the state of its client. Every view has a token of its own, at the
//! node in the critical section or else at the lowest member; a token of an older view is dropped.
//! Waiting nodes request anew.
//!
//! Departs from the textbook: a request takes a new number before it is sent. A textbook form,
//! `token[i] := C`, records the clock's reading without a tick, so the next request has that very
//! number and looks answered. Numbers are a node's own count instead of a logical clock, since only
//! numbers of the same node are compared. The token carries the fence of the last entry.

use super::prelude::*;
use super::token::{Token, TokenSlot};
use crate::clock::VectorClock;
use core::ops::Bound;

/// Expected figures and properties.
pub const FACTS: Facts =
    Facts { fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1), ..Facts::new(PROFILE, COST) };

const PROFILE: Profile = Profile {
    name: "token-request",
    class: "token-based",
    summary: "ask all nodes for the token, which records the answered requests",
    source: include_str!("token_request.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    messages_formula: "0 or n",
    client_delay_formula: "0 or 2T",
    sync_delay_formula: "T",
    message_count: |case, entries| {
        let nodes = case.nodes();
        // The minimum and maximum number of entries that needed a request for the token.
        let (min_requests, max_requests) = match case.load {
            _ if nodes < 2 => (0, 0),
            Load::OneNode(node) if Some(node) == case.group.first() => (0, 0),
            Load::OneNode(_) => (entries.min(1), entries.min(1)),
            // All nodes but the first holder must request the token once. A holder that releases
            // before it has received other requests may enter again without messages.
            Load::AllNodes => (entries.min(nodes).saturating_sub(1), entries),
            Load::SomeNodes => (0, entries),
        };
        Range::between(nodes.saturating_mul(min_requests), nodes.saturating_mul(max_requests))
    },
    client_delay: |_| Range::between(0, 2),
    sync_delay: |_| Range::exactly(1),
};

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRequest {
    config: Fixed<Config>,
    /// The number of our last request.
    last_number: Clock,
    phase: Phase<Patience, ()>,
    /// The newest possibly pending request of each other node. At the token holder, all of them are
    /// pending.
    pending_requests: BTreeMap<NodeId, Request>,
    /// The token's label holds the number of each node's last answered request.
    slot: TokenSlot<VectorClock>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Request {
    number: Clock,
    patience: Patience,
}

/// The messages between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To all nodes: a request for the token.
    Request { number: Clock, patience: Patience },
    /// The token itself.
    Token(Token<VectorClock>),
    /// From the holder: the try is denied.
    Denied { number: Clock },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Token(_) => "token",
            Self::Denied { .. } => "denied",
        }
    }
}

impl Protocol for TokenRequest {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.cancel(out),
                Intent::Release => self.release(out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { number, patience } => self.on_request(from, Request { number, patience }, out),
                Message::Token(token) => self.on_token(token, out),
                Message::Denied { number } => self.on_denial(number, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl TokenRequest {
    /// An idle node of this group. The token is at the lowest member.
    pub fn new(me: NodeId, group: Group) -> Self {
        let first = group.first().unwrap_or(me);
        let slot = if me == first { TokenSlot::holding(VectorClock::new()) } else { TokenSlot::empty() };
        Self {
            config: Fixed::new(Config { me, group }),
            last_number: Clock::default(),
            phase: Phase::Idle,
            pending_requests: BTreeMap::new(),
            slot,
        }
    }

    /// TQ-1. The number is new: the token may record the previous one as answered.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if self.slot.has_token() {
            out.note("TQ-1", format_args!("has the token here"));
            return self.enter(out);
        }
        let number = self.last_number.tick();
        self.phase = Phase::Waiting(patience);
        out.note("TQ-1", format_args!("sends request {number} to all"));
        out.multicast(&self.config.group, Message::Request { number, patience });
    }

    /// TQ-2. A request that arrives late has no effect if the token shows that it is answered, or
    /// if a newer request of its node is known.
    fn on_request(&mut self, from: NodeId, request: Request, out: &mut Effects<'_, Self>) {
        let is_known = self.pending_requests.get(&from).is_some_and(|known| known.number >= request.number);
        let is_answered = self.slot.label().is_some_and(|answered| answered.get(from) >= request.number.0);
        let is_not_from_peer = from == self.config.me || !self.config.group.contains(from);
        if is_known || is_answered || is_not_from_peer {
            return out.note("TQ-2", format_args!("ignores request {} of {from}", request.number));
        }
        out.note("TQ-2", format_args!("stores request {} of {from}", request.number));
        self.pending_requests.insert(from, request);
        match &self.phase {
            _ if !self.slot.has_token() => {}
            Phase::Inside(()) => self.deny_tries(out),
            Phase::Idle | Phase::Waiting(_) => self.pass_or_keep("TQ-2", out),
        }
    }

    /// TQ-3. The node drops a second token, which only a faulty peer can send.
    fn on_token(&mut self, token: Token<VectorClock>, out: &mut Effects<'_, Self>) {
        if !self.slot.put(token) {
            return out.note("TQ-3", format_args!("drops a second token"));
        }
        if let Some(answered) = self.slot.label() {
            self.pending_requests.retain(|node, request| request.number.0 > answered.get(*node));
        }
        match &self.phase {
            Phase::Waiting(_) => {
                out.note("TQ-3", format_args!("has the token"));
                self.enter(out);
            }
            Phase::Idle | Phase::Inside(()) => {
                out.note("TQ-3", format_args!("has the token, which its client no longer wants"));
                self.pass_or_keep("TQ-5", out);
            }
        }
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.slot.advance_fence() else { return };
        self.phase = Phase::Inside(());
        out.emit(Event::entered(fence));
        self.deny_tries(out);
    }

    /// TQ-4.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.pass_or_keep("TQ-4", out);
    }

    /// TQ-4. Passes the token on if a request is pending, and records on it that all our own
    /// requests are answered: each was served, denied or cancelled. The next holder does the same
    /// for its own when it passes the token on.
    fn pass_or_keep(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Some(next) = self.next_pending_node() else {
            return out.note(rule, format_args!("keeps the token: no request is pending"));
        };
        self.pending_requests.remove(&next);
        self.deny_tries(out);
        let Some(mut token) = self.slot.take() else { return };
        token.label.raise(self.config.me, self.last_number.0);
        out.note(rule, format_args!("passes the token to {next}"));
        out.send(next, Message::Token(token));
    }

    /// Returns the first node after us, in cyclic order, whose request is pending.
    fn next_pending_node(&self) -> Option<NodeId> {
        let mut after_us = self.pending_requests.range((Bound::Excluded(self.config.me), Bound::Unbounded));
        after_us.next().or_else(|| self.pending_requests.first_key_value()).map(|(node, _)| *node)
    }

    /// TQ-5. No other node needs a message: at worst the token arrives without need.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.note("TQ-5", format_args!("forgets request {}", self.last_number));
        out.emit(Event::Cancelled);
    }

    /// TQ-6. Denies every stored try, and records on the token that it is answered.
    fn deny_tries(&mut self, out: &mut Effects<'_, Self>) {
        let Some(answered) = self.slot.label_mut() else { return };
        self.pending_requests.retain(|node, request| match request.patience {
            Patience::Wait => true,
            Patience::Try => {
                answered.raise(*node, request.number.0);
                out.note("TQ-6", format_args!("denies request {} of {node}", request.number));
                out.send(*node, Message::Denied { number: request.number });
                false
            }
        });
    }

    /// TQ-6. The denial of a cancelled try has no effect.
    fn on_denial(&mut self, number: Clock, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Waiting(Patience::Try) if number == self.last_number => {
                self.phase.end();
                out.emit(Event::Denied);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(()) => {
                out.note("TQ-6", format_args!("ignores a denial of request {number}"));
            }
        }
    }

    fn assert_invariants(&self) {
        let mut tries = self.pending_requests.values().filter(|request| request.patience == Patience::Try);
        match self.phase {
            Phase::Idle => {
                debug_assert!(
                    !self.slot.has_token() || self.pending_requests.is_empty(),
                    "no node waits for an unused token"
                );
            }
            Phase::Waiting(_) => debug_assert!(!self.slot.has_token(), "a waiting node has no token"),
            Phase::Inside(()) => {
                debug_assert!(self.slot.has_token(), "the node in the critical section has the token");
                debug_assert!(tries.next().is_none(), "the node in the critical section denies every try");
            }
        }
    }
}

impl OneOfMany for TokenRequest {
    type Floor = Floor;

    /// Only if the node is as at the start, except for its last number; otherwise discarding its
    /// state would lose the token, its record of answers or a pending request.
    fn holds_only_floor(&self) -> bool {
        let is_first = self.config.group.first().is_none_or(|first| first == self.config.me);
        let is_token_in_place =
            self.slot.label().map_or(!is_first, |answered| is_first && answered.counts().is_empty());
        is_token_in_place && self.pending_requests.is_empty() && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        self.slot.floor(self.last_number)
    }

    fn raise_floor(&mut self, floor: &Floor) {
        self.last_number.witness(floor.clock);
        self.slot.raise_floor(floor);
    }
}

impl ViewTransition for TokenRequest {
    fn client_state(&self) -> ClientState {
        self.phase.client_state()
    }

    /// Every view has a token of its own: at the node in the critical section, else at the lowest
    /// member.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        *self = Self::new(me, start.group().clone());
        self.phase = Phase::at_view_start(me, start);
        self.slot = TokenSlot::at_view_start(me, start);
    }
}

#[cfg(test)]
mod tests;
