//! Raymond's token on a tree (1989).
//!
//! The members form a tree, and each knows only its neighbours and in which direction the token is. Whoever wants the
//! token asks its neighbour in that direction, which asks on for it, and so the requests of many go up the same branch as
//! one. Each node keeps a queue of the neighbours that have asked it, and of itself; the token comes back the way that
//! the request went, and turns every node on its way towards its new holder.
//!
//! ```text
//! RY-1  asked to enter              → queue ourselves
//! RY-2  a neighbour asks            → queue it
//! RY-3  the token is here, unused   → give it to the first in the queue: enter, or send it to that neighbour
//! RY-4  the token is elsewhere      → ask the neighbour in its direction for it, if anyone is queued and we have not
//!                                     asked since we last had an answer
//! RY-5  the token comes             → it is here: go on as in RY-3
//! RY-6  asked to leave              → the token is unused: go on as in RY-3
//! RY-7  asked to give up            → leave the queue; what we have asked for may still come, and stays
//! RY-8  a try finds others queued   → deny it, as if somebody is inside here; a neighbour that is denied denies the
//!                                     try that it asked for
//! ```
//!
//! Cost: 2 messages, a request and the token, for each edge between one holder and the next: exactly twice the distance,
//! whatever the order of messages, and so at most 2D an entry, where D is the diameter of the tree (at most 2 log₂ n). One
//! node alone: exactly twice its distance from the root, and nothing from then on. If everyone wants in, the token walks
//! round the tree, over each edge twice while all enter once: 4(n−1) messages for n entries, about 4 each. 0 to 2D T from
//! asking to entering; 1 to D T from a leave to the next entry.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. The tree is a balanced binary one with
//! the lowest member as its root, which has the token at first. Every queue is in order of arrival, so that everyone is
//! served; but while a request climbs the tree, those near the token may enter any number of times, and so no bound on
//! overtaking is promised.
//!
//! When it fails: a dead node cuts the tree, and those on the side without the token wait for ever, as all do if it had
//! the token or the token comes its way. If the root restarts, it brings a second token, and two may be inside.
//!
//! Try: denied at once if somebody else is queued here already, or if this node still waits for the answer to a request
//! that was given up, for nobody denies that one. Else it goes towards the token like any request, and the
//! first node on the way that is inside, or has somebody queued, denies it; so it is answered within 2D T. One that was
//! given up may still be answered, and then the denial may meet the same node's next try.
//!
//! Overtaking: a node that has sent the token may at once ask for it back, and that request may arrive before the token.
//! Its receiver still takes the sender for the direction of the token, and has asked it: so it queues the sender, sends
//! nothing, and has the token soon after. The algorithm needs no order of messages. One that ignores a request from the
//! token's direction, which looks like nonsense, loses it: see `raymond-deaf`.
//!
//! Many names: a name is forgotten where the token is in the direction in which it began. So a node keeps the name of
//! every token that stayed on its side of the tree.
//!
//! In views: a member reports where its user stands. The tree is rebuilt over the members of the new view, which has a token
//! of its own: with the one inside, or else at the root, and every node begins with its direction. Those who wait queue anew.
//!
//! Departs from the paper: tries, giving up, and a token that carries the fence of the last entry.

use super::prelude::*;
use super::token::{Hand, Token};
use crate::tree::Tree;

/// What the book says of it.
pub const FACTS: Facts = Facts::new(PROFILE, COST);

const PROFILE: Profile = Profile {
    name: "raymond",
    class: "token-based",
    summary: "a token on a tree; each node knows in which direction it is",
    source: include_str!("raymond.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "≤ 2D, full ≈ 4",
    client: "0…2D T",
    sync: "1…D T",
    total: |case, entries| {
        let tree = Tree::of(case.group.clone());
        // How many edges the token goes over, at least and at most. For each of them it was asked once.
        let (least, most) = match case.load {
            Load::Alone(node) => {
                let distance = tree.root().and_then(|root| tree.distance(root, node)).unwrap_or_default();
                (distance * entries.min(1), distance * entries.min(1))
            }
            // The token goes to all who ask, and the root asks, too.
            Load::Everyone => {
                let others = entries.saturating_sub(1).min(case.peers());
                (others, tree.diameter().saturating_mul(entries))
            }
            Load::Some => (0, tree.diameter().saturating_mul(entries)),
        };
        Range::between(least.saturating_mul(2), most.saturating_mul(2))
    },
    client_delay: |case| Range::between(0, 2 * Tree::of(case.group.clone()).diameter()),
    sync_delay: |case| Range::between(1, Tree::of(case.group.clone()).diameter().max(1)),
};

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raymond {
    place: Fixed<Place>,
    phase: Phase<Patience, ()>,
    hand: Hand<()>,
    /// The neighbour in the direction of the token, or this node while it has the token.
    toward: NodeId,
    /// What we asked that neighbour and it has not answered yet.
    asked: Option<Patience>,
    /// Who wants the token from us, ourselves among them, each at most once. A try is only ever the first.
    queue: VecDeque<Claim>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    tree: Tree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Claim {
    /// A neighbour, or this node.
    of: NodeId,
    patience: Patience,
}

/// What neighbours send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// Towards the token: send it to me.
    Request { patience: Patience },
    /// Here is the token.
    Token(Token<()>),
    /// Not now: the answer to a try.
    Denied,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Token(_) => "token",
            Self::Denied => "denied",
        }
    }
}

impl Protocol for Raymond {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.want(patience, out),
                Wish::GiveUp => self.give_up(out),
                Wish::Leave => self.leave(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { patience } => self.hear(Claim { of: from, patience }, out),
                Message::Token(token) if from == self.toward => self.receive(token, out),
                Message::Denied if from == self.toward => self.accept_denial(out),
                Message::Token(_) | Message::Denied => {
                    out.note("RY-5", format_args!("ignores an answer: {from} was not asked"));
                }
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl Raymond {
    /// A node of this group, idle. The members form a balanced binary tree, whose root has the token.
    pub fn new(me: NodeId, group: Group) -> Self {
        let tree = Tree::of(group);
        let (toward, hand) = match tree.parent(me) {
            Some(parent) => (parent, Hand::empty()),
            None => (me, Hand::holding(())),
        };
        Self {
            place: Fixed::new(Place { me, tree }),
            phase: Phase::Idle,
            hand,
            toward,
            asked: None,
            queue: VecDeque::new(),
        }
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) const fn toward(&self) -> NodeId {
        self.toward
    }

    /// RY-1.
    fn want(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Waiting(patience);
        self.queue(Claim { of: self.place.me, patience }, "RY-1", out);
    }

    /// RY-2. Only neighbours ask, and each only once until it has an answer. One in the direction of the token has sent
    /// it on its way here.
    fn hear(&mut self, claim: Claim, out: &mut Effects<'_, Self>) {
        let is_queued = self.queue.iter().any(|queued| queued.of == claim.of);
        if is_queued || !self.place.tree.joins(self.place.me, claim.of) {
            return out.note("RY-2", format_args!("ignores a request of {}", claim.of));
        }
        self.queue(claim, "RY-2", out);
    }

    /// RY-8. Whoever is queued or inside goes before a try; one who waits joins the queue. So does a try, unless what is
    /// asked for already is a patient request that was given up: nobody would deny that one.
    fn queue(&mut self, claim: Claim, rule: &'static str, out: &mut Effects<'_, Self>) {
        let is_asked = self.asked == Some(Patience::Wait);
        let is_busy = self.phase.inside().is_some() || !self.queue.is_empty() || is_asked;
        match claim.patience {
            Patience::Try if is_busy => self.deny(claim.of, out),
            Patience::Try | Patience::Wait => {
                out.note(rule, format_args!("queues {}", claim.of));
                self.queue.push_back(claim);
                self.serve(out);
            }
        }
    }

    /// RY-3. Whoever has sent the token away for one may ask for it back at once for the next.
    fn serve(&mut self, out: &mut Effects<'_, Self>) {
        if self.hand.holds()
            && self.phase.inside().is_none()
            && let Some(first) = self.queue.pop_front()
        {
            if first.of == self.place.me { self.enter(out) } else { self.pass(first.of, out) }
        }
        self.ask(out);
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.hand.enter() else { return };
        self.phase = Phase::Inside(());
        out.note("RY-3", format_args!("has the token, and is the first in the queue"));
        out.emit(Event::entered(fence));
    }

    fn pass(&mut self, to: NodeId, out: &mut Effects<'_, Self>) {
        let Some(token) = self.hand.pass() else { return };
        self.toward = to;
        out.note("RY-3", format_args!("sends the token to {to}"));
        out.send(to, Message::Token(token));
    }

    /// RY-4. One request stands for all who are queued, and is as patient as the first of them.
    fn ask(&mut self, out: &mut Effects<'_, Self>) {
        let Some(first) = self.queue.front() else { return };
        if self.hand.holds() || self.asked.is_some() {
            return;
        }
        self.asked = Some(first.patience);
        out.note("RY-4", format_args!("asks {} for the token", self.toward));
        out.send(self.toward, Message::Request { patience: first.patience });
    }

    /// RY-5. Where nobody is queued any longer, it stays. A second token, which only a peer that breaks the rules can
    /// bring, is not taken: this node is then the direction of the token itself.
    fn receive(&mut self, token: Token<()>, out: &mut Effects<'_, Self>) {
        if !self.hand.take(token) {
            return;
        }
        self.toward = self.place.me;
        self.asked = None;
        out.note("RY-5", format_args!("has the token"));
        self.serve(out);
    }

    /// RY-6.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        out.note("RY-6", format_args!("is done with the token"));
        self.serve(out);
    }

    /// RY-7. Neighbours need not know: at worst the token comes for nothing.
    fn give_up(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        self.queue.retain(|claim| claim.of != self.place.me);
        out.note("RY-7", format_args!("leaves the queue"));
        out.emit(Event::Cancelled);
    }

    /// RY-8.
    fn deny(&mut self, whom: NodeId, out: &mut Effects<'_, Self>) {
        out.note("RY-8", format_args!("denies {whom}"));
        if whom == self.place.me {
            self.phase.end();
            out.emit(Event::Denied);
        } else {
            out.send(whom, Message::Denied);
        }
    }

    /// RY-8. The try that we asked for is the first in the queue, unless it was given up. Those behind it go on asking.
    fn accept_denial(&mut self, out: &mut Effects<'_, Self>) {
        if self.asked != Some(Patience::Try) {
            return out.note("RY-8", format_args!("ignores a denial: no try was asked for"));
        }
        self.asked = None;
        if let Some(Claim { of, patience: Patience::Try }) = self.queue.front().copied() {
            self.queue.pop_front();
            self.deny(of, out);
        }
        self.ask(out);
    }

    fn assert_invariants(&self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) => {
                let is_queued = self.queue.iter().any(|claim| claim.of == self.place.me);
                debug_assert!(is_queued, "one who waits is queued");
            }
            Phase::Inside(()) => debug_assert!(self.hand.holds(), "one inside has the token"),
        }
        let mut behind = self.queue.iter().skip(1);
        debug_assert!(behind.all(|claim| claim.patience == Patience::Wait), "a try is the first in the queue");
        if self.hand.holds() {
            let is_used = self.phase.inside().is_some();
            debug_assert!(is_used || self.queue.is_empty(), "nobody waits for an unused token");
            debug_assert!(self.toward == self.place.me && self.asked.is_none(), "nobody asks itself");
        } else {
            debug_assert!(self.queue.is_empty() || self.asked.is_some(), "somebody is asked for those who wait");
        }
    }
}

impl OneOfMany for Raymond {
    type Floor = Floor;

    /// Only with the token, or the direction to it, where it was at first: elsewhere a way to the token would be lost.
    fn is_idle(&self) -> bool {
        let began = self.place.tree.parent(self.place.me).unwrap_or(self.place.me);
        self.toward == began && self.asked.is_none() && self.queue.is_empty() && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        self.hand.floor(Clock::default())
    }

    fn raise(&mut self, floor: &Floor) {
        self.hand.raise(floor);
    }
}

impl Succession for Raymond {
    fn standing(&self) -> Standing {
        self.phase.standing()
    }

    /// Every view has a tree and a token of its own, and every node knows its direction: to the one inside, else to the root.
    fn begin(&mut self, me: NodeId, past: &Past) {
        *self = Self::new(me, past.group().clone());
        self.phase = Phase::of_view(me, past);
        self.hand = Hand::of_view(me, past);
        if let Some(holder) = past.holder() {
            self.toward = self.place.tree.toward(me, holder).unwrap_or(me);
        }
    }
}

#[cfg(test)]
mod tests;
