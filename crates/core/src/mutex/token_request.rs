//! Ricart–Agrawala's second algorithm: a token that is asked for (1983; Suzuki and Kasami 1985 cost the same).
//!
//! Whoever has the one token may enter, and may do so again for nothing as long as nobody else wants it. Whoever does
//! not have it sends everyone a numbered request, since nobody but its holder knows where it is. The token bears, for
//! each node, the number of its last request that was answered; a request with a larger number is pending. One who
//! leaves passes the token to the next node round the ring whose request is pending.
//!
//! ```text
//! TQ-1  asked to enter          → enter if the token is here; else number a new request and send it to every peer
//! TQ-2  a request arrives       → remember it, unless a newer one of its node is known or it is answered; if the token
//!                                 lies here unused, go on as in TQ-4
//! TQ-3  the token comes         → enter if our user waits, else go on as in TQ-4
//! TQ-4  asked to leave          → note on the token that our requests are answered, and pass it to the first of
//!                                 i+1, …, n, 1, …, i−1 whose request is pending; keep it if there is none
//! TQ-5  asked to give up        → forget the request, and tell nobody; a token that comes for it is kept or passed on
//! TQ-6  the holder meets a try  → deny it if we are inside or another request goes first, and note that it is answered
//! ```
//!
//! Cost: n messages an entry, n−1 requests and the token, or 0 if the token is here; 2T or 0 from asking to entering; T
//! from a leave to the next entry.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. Requests are served round the ring,
//! which is not happened-before order; but once a request is known everywhere, at most n−1 others enter before it.
//!
//! When it fails: a dead holder stops everyone else, and so does a lost token. A dead waiter stops everyone once the
//! token goes to it; a dead idle node stops nobody. If the lowest member restarts, it brings a second token, and two
//! may be inside; any other one that restarts numbers its requests from the beginning, and waits until they are new.
//!
//! Try: answered by the holder, within 2T if the token lies somewhere. A try that meets the token in flight is answered
//! where the token arrives: by the token if nobody wants it there, else by a denial. One that was given up may bring the
//! token to a node that no longer wants it, as any request may.
//!
//! Many names: a node that has heard of a request remembers it until it sees the token, and the token remembers all
//! answers, so that only a name that nobody but the lowest member has used is ever forgotten.
//!
//! In views: a member reports where its user stands. Every view has a token of its own, with the one inside or else at the
//! lowest member; a token of an older view is dropped. Those who wait ask anew.
//!
//! Departs from the book: a request takes a new number before it is sent. The book's `token[i] := C` notes the clock's
//! reading without a tick, so that the next request bears that very number and is never seen. Numbers are a node's own
//! count instead of a logical clock, since only numbers of the same node are compared. The token carries the fence of the
//! last entry.

use super::prelude::*;
use super::token::{Hand, Token};
use crate::clock::VectorClock;
use core::ops::Bound;

/// What the book says of it.
pub const FACTS: Facts =
    Facts { fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1), ..Facts::new(PROFILE, COST) };

const PROFILE: Profile = Profile {
    name: "token-request",
    class: "token-based",
    summary: "ask everyone for the token, which knows whose requests were answered",
    source: include_str!("token_request.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "0 or n",
    client: "0 or 2T",
    sync: "T",
    total: |case, entries| {
        let nodes = case.nodes();
        // How many entries asked for the token, at least and at most.
        let (least, most) = match case.load {
            _ if nodes < 2 => (0, 0),
            Load::Alone(node) if Some(node) == case.group.first() => (0, 0),
            Load::Alone(_) => (entries.min(1), entries.min(1)),
            // All but the first holder must ask once. One who leaves before it has heard of others may enter for nothing.
            Load::Everyone => (entries.min(nodes).saturating_sub(1), entries),
            Load::Some => (0, entries),
        };
        Range::between(nodes.saturating_mul(least), nodes.saturating_mul(most))
    },
    client_delay: |_| Range::between(0, 2),
    sync_delay: |_| Range::exactly(1),
};

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRequest {
    place: Fixed<Place>,
    number: Clock,
    phase: Phase<Patience, ()>,
    /// The newest request of each other node that may be pending. With the token here it is known which are.
    asked: BTreeMap<NodeId, Asked>,
    /// The token bears the number of each node's last request that was answered.
    hand: Hand<VectorClock>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Asked {
    number: Clock,
    patience: Patience,
}

/// What nodes send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To everyone: whoever has the token, pass it to me.
    Request { number: Clock, patience: Patience },
    /// Here is the token.
    Token(Token<VectorClock>),
    /// From the holder: not now.
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
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::GiveUp => self.give_up(out),
                Wish::Leave => self.leave(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { number, patience } => self.hear(from, Asked { number, patience }, out),
                Message::Token(token) => self.receive(token, out),
                Message::Denied { number } => self.accept_denial(number, out),
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl TokenRequest {
    /// A node of this group, idle. The token is at the lowest member.
    pub fn new(me: NodeId, group: Group) -> Self {
        let first = group.first().unwrap_or(me);
        let hand = if me == first { Hand::holding(VectorClock::new()) } else { Hand::empty() };
        Self {
            place: Fixed::new(Place { me, group }),
            number: Clock::default(),
            phase: Phase::Idle,
            asked: BTreeMap::new(),
            hand,
        }
    }

    /// TQ-1. The number is new: the token may say of the last one that it was answered.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        if self.hand.holds() {
            out.note("TQ-1", format_args!("has the token here"));
            return self.enter(out);
        }
        let number = self.number.tick();
        self.phase = Phase::Waiting(patience);
        out.note("TQ-1", format_args!("asks everyone with request {number}"));
        out.multicast(&self.place.group, Message::Request { number, patience });
    }

    /// TQ-2. What comes late, after it was answered or given up, changes nothing.
    fn hear(&mut self, from: NodeId, heard: Asked, out: &mut Effects<'_, Self>) {
        let known = self.asked.get(&from).is_some_and(|known| known.number >= heard.number);
        let answered = self.hand.label().is_some_and(|answered| answered.get(from) >= heard.number.0);
        let stranger = from == self.place.me || !self.place.group.contains(from);
        if known || answered || stranger {
            return out.note("TQ-2", format_args!("ignores request {} of {from}", heard.number));
        }
        out.note("TQ-2", format_args!("remembers request {} of {from}", heard.number));
        self.asked.insert(from, heard);
        match &self.phase {
            _ if !self.hand.holds() => {}
            Phase::Inside(()) => self.deny_tries(out),
            Phase::Idle | Phase::Waiting(_) => self.serve("TQ-2", out),
        }
    }

    /// TQ-3. A second token, which only a peer that breaks the rules can bring, is put away.
    fn receive(&mut self, token: Token<VectorClock>, out: &mut Effects<'_, Self>) {
        if !self.hand.take(token) {
            return out.note("TQ-3", format_args!("puts a second token away"));
        }
        if let Some(answered) = self.hand.label() {
            self.asked.retain(|node, asked| asked.number.0 > answered.get(*node));
        }
        match &self.phase {
            Phase::Waiting(_) => {
                out.note("TQ-3", format_args!("has the token"));
                self.enter(out);
            }
            Phase::Idle | Phase::Inside(()) => {
                out.note("TQ-3", format_args!("has the token, and nobody here wants it"));
                self.serve("TQ-5", out);
            }
        }
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.hand.enter() else { return };
        self.phase = Phase::Inside(());
        out.emit(Event::entered(fence));
        self.deny_tries(out);
    }

    /// TQ-4.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.serve("TQ-4", out);
    }

    /// TQ-4. All requests of our own are answered, or given up. Whoever gets the token answers for its own.
    fn serve(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        let Some(next) = self.first_pending() else {
            return out.note(rule, format_args!("keeps the token: nobody asks for it"));
        };
        self.asked.remove(&next);
        self.deny_tries(out);
        let Some(mut token) = self.hand.pass() else { return };
        token.label.raise(self.place.me, self.number.0);
        out.note(rule, format_args!("passes the token to {next}"));
        out.send(next, Message::Token(token));
    }

    /// The first one behind us on the ring whose request is pending.
    fn first_pending(&self) -> Option<NodeId> {
        let mut behind = self.asked.range((Bound::Excluded(self.place.me), Bound::Unbounded));
        behind.next().or_else(|| self.asked.first_key_value()).map(|(node, _)| *node)
    }

    /// TQ-5. The others need not know: at worst the token comes for nothing.
    fn give_up(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.note("TQ-5", format_args!("forgets request {}", self.number));
        out.emit(Event::Cancelled);
    }

    /// TQ-6. Every try that is known goes away: somebody is in its way.
    fn deny_tries(&mut self, out: &mut Effects<'_, Self>) {
        let Some(answered) = self.hand.label_mut() else { return };
        self.asked.retain(|node, asked| match asked.patience {
            Patience::Wait => true,
            Patience::Try => {
                answered.raise(*node, asked.number.0);
                out.note("TQ-6", format_args!("denies request {} of {node}", asked.number));
                out.send(*node, Message::Denied { number: asked.number });
                false
            }
        });
    }

    /// TQ-6. A denial of a try that was given up denies nothing.
    fn accept_denial(&mut self, number: Clock, out: &mut Effects<'_, Self>) {
        match self.phase {
            Phase::Waiting(Patience::Try) if number == self.number => {
                self.phase.end();
                out.emit(Event::Denied);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(()) => {
                out.note("TQ-6", format_args!("ignores a denial of request {number}"));
            }
        }
    }

    fn assert_invariants(&self) {
        let mut tries = self.asked.values().filter(|asked| asked.patience == Patience::Try);
        match self.phase {
            Phase::Idle => {
                debug_assert!(!self.hand.holds() || self.asked.is_empty(), "nobody waits for an unused token");
            }
            Phase::Waiting(_) => debug_assert!(!self.hand.holds(), "one who waits has no token"),
            Phase::Inside(()) => {
                debug_assert!(self.hand.holds(), "one inside has the token");
                debug_assert!(tries.next().is_none(), "one inside denies every try");
            }
        }
    }
}

impl OneOfMany for TokenRequest {
    type Floor = Floor;

    /// Only as it began: elsewhere a token would be lost, and a request that may be pending would be missed.
    fn is_idle(&self) -> bool {
        let is_first = self.place.group.first().is_none_or(|first| first == self.place.me);
        let began = self.hand.label().map_or(!is_first, |answered| is_first && answered.counts().is_empty());
        began && self.asked.is_empty() && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        self.hand.floor(self.number)
    }

    fn raise(&mut self, floor: &Floor) {
        self.number.witness(floor.clock);
        self.hand.raise(floor);
    }
}

impl Succession for TokenRequest {
    fn standing(&self) -> Standing {
        self.phase.standing()
    }

    /// Every view has a token of its own: with the one inside, else at the lowest member.
    fn begin(&mut self, me: NodeId, past: &Past) {
        *self = Self::new(me, past.group().clone());
        self.phase = Phase::of_view(me, past);
        self.hand = Hand::of_view(me, past);
    }
}

#[cfg(test)]
mod tests;
