//! Raymond's token on a tree (1989).
//!
//! The members form a tree, and each knows only its neighbours and in which direction the token is.
//! A node that wants the token asks its neighbour in that direction, which forwards the request.
//! The requests of many nodes go up the same branch as one request. Each node queues the neighbours
//! that have asked it, and itself; the token returns along the path of the request, and every node
//! on the path then points to its new holder.
//!
//! ```text
//! RY-1  the client asks to enter    → queue ourselves
//! RY-2  a neighbour asks            → queue it
//! RY-3  the token is here, unused   → give it to the first in the queue: enter, or send it to that
//!                                     neighbour
//! RY-4  the token is elsewhere      → ask the neighbour in its direction for it, if the queue is
//!                                     not empty and no earlier request is unanswered
//! RY-5  the token arrives           → continue as in RY-3
//! RY-6  the client releases         → the token is unused: continue as in RY-3
//! RY-7  the client cancels          → leave the queue; a token that arrives all the same goes to
//!                                     the next in the queue, or stays
//! RY-8  a try finds others queued   → deny it, also if this node is in the critical section; a
//!                                     neighbour that forwarded the try passes the denial on
//! ```
//!
//! Cost: 2 messages, a request and the token, for each edge between one holder and the next:
//! exactly twice the distance, in any order of messages, and so at most 2D per entry, where D is
//! the diameter of the tree (at most 2 log₂ n). One requesting node alone: exactly twice its
//! distance from the root for the first entry, and none for later ones. If all nodes request, the
//! token walks round the tree and crosses each edge twice while every node enters once: 4(n−1)
//! messages for n entries, about 4 each. 0 to 2DT (message times) from request to entry; T to DT
//! from a release to the next entry.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. The tree is a
//! balanced binary one with the lowest member as its root, which has the token at first. Every
//! queue is in order of arrival, so every request is granted; but while a request climbs the
//! tree, nodes near the token may enter any number of times, so there is no bound on overtaking.
//!
//! When it fails: a crashed node cuts the tree, and the nodes on the side without the token wait
//! forever; all nodes do if the crashed node had the token or receives it. A restarted root creates
//! a second token, and two nodes may enter.
//!
//! Try: denied at once if another node is queued here already, or if this node still waits for the
//! answer to a cancelled request that was not a try: no node denies that one. Else the try goes
//! towards the token like any request, and the first node on the path to which one of these
//! applies, or which is in the critical section, denies it; so it is answered within 2DT. A
//! cancelled try may still be answered, and then the denial may end the next try.
//!
//! Reordering: a node that has sent the token may ask for it back at once, and that request may
//! arrive before the token. The receiver still believes that the token is at the sender, and has
//! asked it: so it queues the sender, sends nothing, and soon has the token. The algorithm needs no
//! order of messages. A variant that ignores a request from the direction of the token, because
//! it looks invalid, loses that request: see `raymond-deaf`.
//!
//! Many resources: a node that runs the algorithm once for each resource (in the wrapper `Many`)
//! discards the state of an idle resource if the token is in the direction where it began. So the
//! root keeps the state of every resource whose token is elsewhere, and any other node keeps the
//! state of every resource whose token is in its subtree.
//!
//! In views: a member reports the state of its client. The tree is rebuilt over the members of the
//! new view, which has a token of its own: at the node in the critical section, or else at the
//! root, and every node begins with the direction to it. Waiting nodes queue anew.
//!
//! Departs from the paper: tries, cancellation, and a token that carries the fence of the last
//! entry.

use super::prelude::*;
use super::token::{Token, TokenSlot};
use crate::tree::Tree;

/// Expected figures and properties.
pub const FACTS: Facts = Facts::new(PROFILE, COST);

const PROFILE: Profile = Profile {
    name: "raymond",
    class: "token-based",
    summary: "a token on a tree; each node knows in which direction the token is",
    source: include_str!("raymond.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    messages_formula: "≤ 2D, full load ≈ 4",
    client_delay_formula: "0…2DT",
    sync_delay_formula: "T…DT",
    message_count: |case, entries| {
        let tree = Tree::of(case.group.clone());
        // The minimum and maximum number of edges that the token crosses. Each crossing takes one
        // request.
        let (min_crossings, max_crossings) = match case.load {
            Load::OneNode(node) => {
                let distance = tree.root().and_then(|root| tree.distance(root, node)).unwrap_or_default();
                (distance * entries.min(1), distance * entries.min(1))
            }
            // The token starts at the root, which is one of the requesting nodes, and goes to all
            // others.
            Load::AllNodes => {
                let others = entries.saturating_sub(1).min(case.peers());
                (others, tree.diameter().saturating_mul(entries))
            }
            Load::SomeNodes => (0, tree.diameter().saturating_mul(entries)),
        };
        Range::between(min_crossings.saturating_mul(2), max_crossings.saturating_mul(2))
    },
    client_delay: |case| Range::between(0, 2 * Tree::of(case.group.clone()).diameter()),
    sync_delay: |case| Range::between(1, Tree::of(case.group.clone()).diameter().max(1)),
};

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raymond {
    config: Fixed<Config>,
    phase: Phase<Patience, ()>,
    /// The token, if it is here. It has no label.
    slot: TokenSlot<()>,
    /// The neighbour in the direction of the token, or this node while it has the token.
    token_direction: NodeId,
    /// The patience of our unanswered request to the neighbour in the direction of the token;
    /// `None` if there is none.
    pending_request: Option<Patience>,
    /// The neighbours that want the token from us, and ourselves, each at most once. A try can only
    /// be the first.
    queue: VecDeque<QueuedRequest>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    tree: Tree,
}

/// A request in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct QueuedRequest {
    /// A neighbour, or this node.
    node: NodeId,
    patience: Patience,
}

/// The messages between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// Sent towards the token: a request for it.
    Request { patience: Patience },
    /// The token itself.
    Token(Token<()>),
    /// The denial of a try.
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
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.cancel(out),
                Intent::Release => self.release(out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { patience } => self.on_request(QueuedRequest { node: from, patience }, out),
                Message::Token(token) if from == self.token_direction => self.on_token(token, out),
                Message::Denied if from == self.token_direction => self.on_denial(out),
                Message::Token(_) | Message::Denied => {
                    out.note("RY-5", format_args!("ignores an answer of {from}, which it did not ask"));
                }
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl Raymond {
    /// An idle node of this group. The members form a balanced binary tree, whose root has the
    /// token.
    pub fn new(me: NodeId, group: Group) -> Self {
        let tree = Tree::of(group);
        let (token_direction, slot) = match tree.parent(me) {
            Some(parent) => (parent, TokenSlot::empty()),
            None => (me, TokenSlot::holding(())),
        };
        Self {
            config: Fixed::new(Config { me, tree }),
            phase: Phase::Idle,
            slot,
            token_direction,
            pending_request: None,
            queue: VecDeque::new(),
        }
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) const fn token_direction(&self) -> NodeId {
        self.token_direction
    }

    /// RY-1.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Waiting(patience);
        self.enqueue(QueuedRequest { node: self.config.me, patience }, "RY-1", out);
    }

    /// RY-2. Only neighbours ask, and each at most once until it has an answer. If the neighbour in
    /// the direction of the token asks, it has already sent the token to this node.
    fn on_request(&mut self, request: QueuedRequest, out: &mut Effects<'_, Self>) {
        let is_queued = self.queue.iter().any(|queued| queued.node == request.node);
        if is_queued || !self.config.tree.has_edge(self.config.me, request.node) {
            return out.note("RY-2", format_args!("ignores a request of {}", request.node));
        }
        self.enqueue(request, "RY-2", out);
    }

    /// RY-8. Denies a try if the queue is not empty, or if this node is in the critical section or
    /// waits for the answer to a request that is not a try: no node would deny that one. Queues all
    /// other requests.
    fn enqueue(&mut self, request: QueuedRequest, rule: &'static str, out: &mut Effects<'_, Self>) {
        let has_sent_waiting_request = self.pending_request == Some(Patience::Wait);
        let is_busy = self.phase.inside().is_some() || !self.queue.is_empty() || has_sent_waiting_request;
        match request.patience {
            Patience::Try if is_busy => self.deny(request.node, out),
            Patience::Try | Patience::Wait => {
                out.note(rule, format_args!("queues {}", request.node));
                self.queue.push_back(request);
                self.serve_queue(out);
            }
        }
    }

    /// RY-3. Gives the token to the first in the queue. A node that has sent it away may ask for it
    /// back at once for the next in its queue.
    fn serve_queue(&mut self, out: &mut Effects<'_, Self>) {
        if self.slot.has_token()
            && self.phase.inside().is_none()
            && let Some(first) = self.queue.pop_front()
        {
            if first.node == self.config.me { self.enter(out) } else { self.send_token(first.node, out) }
        }
        self.ask_for_token(out);
    }

    fn enter(&mut self, out: &mut Effects<'_, Self>) {
        let Some(fence) = self.slot.advance_fence() else { return };
        self.phase = Phase::Inside(());
        out.note("RY-3", format_args!("has the token, and is the first in the queue"));
        out.emit(Event::entered(fence));
    }

    fn send_token(&mut self, to: NodeId, out: &mut Effects<'_, Self>) {
        let Some(token) = self.slot.take() else { return };
        self.token_direction = to;
        out.note("RY-3", format_args!("sends the token to {to}"));
        out.send(to, Message::Token(token));
    }

    /// RY-4. One request represents the whole queue, with the patience of its first.
    fn ask_for_token(&mut self, out: &mut Effects<'_, Self>) {
        let Some(first) = self.queue.front() else { return };
        if self.slot.has_token() || self.pending_request.is_some() {
            return;
        }
        self.pending_request = Some(first.patience);
        out.note("RY-4", format_args!("asks {} for the token", self.token_direction));
        out.send(self.token_direction, Message::Request { patience: first.patience });
    }

    /// RY-5. If the queue is empty by now, the token stays. The node drops a second token, which
    /// only a faulty peer can send.
    fn on_token(&mut self, token: Token<()>, out: &mut Effects<'_, Self>) {
        if !self.slot.put(token) {
            return;
        }
        self.token_direction = self.config.me;
        self.pending_request = None;
        out.note("RY-5", format_args!("has the token"));
        self.serve_queue(out);
    }

    /// RY-6.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        out.note("RY-6", format_args!("no longer uses the token"));
        self.serve_queue(out);
    }

    /// RY-7. Neighbours need no message: at worst the token arrives without need.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        self.queue.retain(|request| request.node != self.config.me);
        out.note("RY-7", format_args!("leaves the queue"));
        out.emit(Event::Cancelled);
    }

    /// RY-8.
    fn deny(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        out.note("RY-8", format_args!("denies {node}"));
        if node == self.config.me {
            self.phase.end();
            out.emit(Event::Denied);
        } else {
            out.send(node, Message::Denied);
        }
    }

    /// RY-8. The denied try is the first in the queue, unless it was cancelled; a later try that is
    /// first by then is denied in its place. The node asks again for the requests behind it.
    fn on_denial(&mut self, out: &mut Effects<'_, Self>) {
        if self.pending_request != Some(Patience::Try) {
            return out.note("RY-8", format_args!("ignores a denial: no try is pending"));
        }
        self.pending_request = None;
        if let Some(QueuedRequest { node, patience: Patience::Try }) = self.queue.front().copied() {
            self.queue.pop_front();
            self.deny(node, out);
        }
        self.ask_for_token(out);
    }

    fn assert_invariants(&self) {
        match self.phase {
            Phase::Idle => {}
            Phase::Waiting(_) => {
                let is_queued = self.queue.iter().any(|request| request.node == self.config.me);
                debug_assert!(is_queued, "a waiting node is queued");
            }
            Phase::Inside(()) => debug_assert!(self.slot.has_token(), "the node in the critical section has the token"),
        }
        let mut behind_first = self.queue.iter().skip(1);
        debug_assert!(
            behind_first.all(|request| request.patience == Patience::Wait),
            "a try is the first in the queue"
        );
        if self.slot.has_token() {
            let is_used = self.phase.inside().is_some();
            debug_assert!(is_used || self.queue.is_empty(), "no node waits for an unused token");
            debug_assert!(
                self.token_direction == self.config.me && self.pending_request.is_none(),
                "a node with the token asks no neighbour"
            );
        } else {
            debug_assert!(
                self.queue.is_empty() || self.pending_request.is_some(),
                "a node with a non-empty queue has asked for the token"
            );
        }
    }
}

impl OneOfMany for Raymond {
    type Floor = Floor;

    /// Requires also that the token is in its initial direction; otherwise discarding the state
    /// would lose the path to the token.
    fn holds_only_floor(&self) -> bool {
        let initial_direction = self.config.tree.parent(self.config.me).unwrap_or(self.config.me);
        self.token_direction == initial_direction
            && self.pending_request.is_none()
            && self.queue.is_empty()
            && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        self.slot.floor(Clock::default())
    }

    fn raise_floor(&mut self, floor: &Floor) {
        self.slot.raise_floor(floor);
    }
}

impl ViewTransition for Raymond {
    fn client_state(&self) -> ClientState {
        self.phase.client_state()
    }

    /// Every view has its own tree and token, and every node knows the direction to it: to the node
    /// in the critical section, else to the root.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        *self = Self::new(me, start.group().clone());
        self.phase = Phase::at_view_start(me, start);
        self.slot = TokenSlot::at_view_start(me, start);
        if let Some(holder) = start.holder() {
            self.token_direction = self.config.tree.next_hop(me, holder).unwrap_or(me);
        }
    }
}

#[cfg(test)]
mod tests;
