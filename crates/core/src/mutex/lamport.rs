//! Lamport's mutual exclusion (1978).
//!
//! Every node keeps the same queue: all requests, ordered by stamp (clock, then node number). A
//! node that wants to enter sends its request to all nodes, and they reply at once. A node whose
//! request is first in its own queue, and that has received a later stamp from every other node,
//! knows that no older request can arrive, and enters. When it releases, it asks all nodes to
//! remove its request.
//!
//! ```text
//! LA-1  the client asks to enter  → stamp a request, queue it and send it to every peer
//! LA-2  a request arrives         → queue it, and reply with a later stamp
//! LA-3  our request is first      → enter, once a later stamp has arrived from every peer: in a
//!                                   reply, request or release
//! LA-4  the client releases       → remove our request, and send a release to every peer
//! LA-5  a release arrives         → remove the request that it names
//! LA-6  the client cancels        → remove our request, and send a release to every peer
//! LA-7  our try is not first      → deny it, once a later stamp has arrived from every peer, and
//!                                   remove it like LA-6
//! ```
//!
//! Cost: 3(n−1) messages per entry; 2T (two message times) from request to entry; T from a release
//! to the next entry. A node always replies. Some textbooks count only 2(n−1) in the best case:
//! there a node sends no reply if its own later request serves as one. A cancelled request also
//! costs 3(n−1).
//!
//! Assumes: no node crashes or restarts; every message arrives once, and links are FIFO. Requests
//! are granted in happened-before order, which is the order of their stamps.
//!
//! When it fails: one crashed node, even an idle one, blocks all later requests. A node that
//! crashes while it waits or is in the critical section blocks the others for good, because no
//! release removes its request. On links that reorder messages, a reply can overtake an older
//! request, and two nodes enter. A restarted node has an empty queue and a reset clock, so its next
//! request looks older than those it has forgotten: two nodes may enter.
//!
//! Try: decided within 2T, once a later stamp has arrived from every peer: the try is admitted if
//! it is first then, else denied. Until then it is queued, so a younger try may be denied because
//! of an older one that is itself denied later.
//!
//! In views: a member reports the state of its client and the age of its request. All members begin
//! with a queue that contains only the request in the critical section, and waiting nodes queue
//! theirs anew, with new stamps in the old order.
//!
//! Departs from the paper: a release names the request that it ends, so that a request can be
//! cancelled. A reply names the request that it answers; only message counts need this. Replies and
//! releases carry the largest known fence, from which the next entry's fence follows.

use super::Links;
use super::prelude::*;

/// Expected figures and properties.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::HappenedBefore,
    // A node that has received a request stamps its own ones later, so each other node has at most
    // one older request.
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    links: Links::Fifo,
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "lamport",
    class: "permission-based",
    summary: "all nodes keep the queue of all requests; the first enters once no older one can arrive",
    source: include_str!("lamport.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    messages_formula: "3(n−1)",
    client_delay_formula: "2T",
    sync_delay_formula: "T",
    message_count: |case, entries| Range::exactly(3 * case.peers()).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

/// A node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    config: Fixed<Config>,
    clock: Clock,
    /// The largest fence that this node knows.
    fence: Fence,
    phase: Phase<Waiting, Stamp>,
    /// All known requests that have not ended, our own included, oldest first.
    queue: BTreeSet<Stamp>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
}

/// Our waiting request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    stamp: Stamp,
    patience: Patience,
    /// The nodes from which no later stamp has arrived yet.
    missing_nodes: BTreeSet<NodeId>,
}

/// The messages between nodes. Each carries the sender's clock; a request carries it in its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// A request to enter.
    Request { stamp: Stamp },
    /// The acknowledgement of a request.
    Reply {
        /// The stamp of the request that this answers.
        #[cfg_attr(feature = "serde", serde(rename = "to"))]
        request: Stamp,
        /// The replier's clock, later than the request.
        clock: Clock,
        fence: Fence,
    },
    /// The entry has ended, or the request was cancelled or denied.
    Release { stamp: Stamp, clock: Clock, fence: Fence },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Reply { .. } => "reply",
            Self::Release { .. } => "release",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { stamp } | Self::Release { stamp, .. } => Some(stamp.node),
            Self::Reply { request, .. } => Some(request.node),
        }
    }
}

impl Protocol for Lamport {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.end("LA-6", Event::Cancelled, out),
                Intent::Release => self.end("LA-4", Event::Left, out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp } if stamp.node == from => self.on_request(stamp, out),
                Message::Reply { clock, fence, .. } => self.on_clock_and_fence(from, clock, fence, out),
                Message::Release { stamp, clock, fence } if stamp.node == from => {
                    self.on_release(stamp, clock, fence, out);
                }
                Message::Request { stamp } => {
                    out.note("LA-2", format_args!("ignores a request of {} that came from {from}", stamp.node));
                }
                Message::Release { stamp, .. } => {
                    out.note("LA-5", format_args!("ignores a release of {} that came from {from}", stamp.node));
                }
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl Lamport {
    /// An idle node of this group.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self {
            config: Fixed::new(Config { me, group }),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            queue: BTreeSet::new(),
        }
    }

    pub(crate) fn oldest_request(&self) -> Option<Stamp> {
        self.queue.first().copied()
    }

    pub(crate) fn is_own_request(&self, stamp: Stamp) -> bool {
        stamp.node == self.config.me
    }

    /// LA-1. A new request is younger than everything this node has received, so only messages that
    /// arrive from now on count for LA-3.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = Stamp { clock: self.clock.tick(), node: self.config.me };
        let missing_nodes = self.config.group.others(self.config.me).collect();
        out.note("LA-1", format_args!("queues {stamp} and sends it to all"));
        self.queue.insert(stamp);
        self.phase = Phase::Waiting(Waiting { stamp, patience, missing_nodes });
        self.send_to_all(Message::Request { stamp }, out);
        self.enter_or_deny_if_final(out);
    }

    /// LA-2. The reply is later than the request that it answers, whatever the node numbers are.
    fn on_request(&mut self, request: Stamp, out: &mut Effects<'_, Self>) {
        self.clock.witness(request.clock);
        self.queue.insert(request);
        out.note("LA-2", format_args!("queues {request}"));
        out.send(request.node, Message::Reply { request, clock: self.clock.tick(), fence: self.fence });
        self.on_stamp(request, out);
    }

    /// Handles the clock and fence that a reply or release carries.
    fn on_clock_and_fence(&mut self, from: NodeId, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.clock.witness(clock);
        self.fence.raise(fence);
        self.on_stamp(Stamp { clock, node: from }, out);
    }

    /// LA-3. Links are FIFO: a node that sent a later stamp has no older request in transit to us.
    /// So even a late reply to a cancelled request counts for the current request, if the reply's
    /// stamp is later than the current request.
    fn on_stamp(&mut self, sender_stamp: Stamp, out: &mut Effects<'_, Self>) {
        if let Phase::Waiting(ours) = &mut self.phase
            && ours.stamp < sender_stamp
        {
            ours.missing_nodes.remove(&sender_stamp.node);
        }
        self.enter_or_deny_if_final(out);
    }

    /// LA-3, LA-7. Once no older request can arrive, our position in the queue is final.
    fn enter_or_deny_if_final(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { stamp, patience, missing_nodes }) = &self.phase else { return };
        if !missing_nodes.is_empty() {
            return;
        }
        let is_first = self.oldest_request() == Some(*stamp);
        match (is_first, patience) {
            (true, Patience::Wait | Patience::Try) => self.enter(*stamp, out),
            (false, Patience::Wait) => {}
            (false, Patience::Try) => self.end("LA-7", Event::Denied, out),
        }
    }

    /// LA-3. All earlier holders have sent us their releases, with their fences.
    fn enter(&mut self, stamp: Stamp, out: &mut Effects<'_, Self>) {
        self.fence = self.fence.next();
        self.phase = Phase::Inside(stamp);
        out.note("LA-3", format_args!("is first with {stamp}"));
        out.emit(Event::entered(self.fence));
    }

    /// LA-4, LA-6, LA-7. Every node queues the request when it arrives, so every node must remove
    /// it, however it ended.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        let (Phase::Waiting(Waiting { stamp, .. }) | Phase::Inside(stamp)) = self.phase.end() else { return };
        self.queue.remove(&stamp);
        out.emit(event);
        out.note(rule, format_args!("removes {stamp} and sends a release to all"));
        self.send_to_all(Message::Release { stamp, clock: self.clock, fence: self.fence }, out);
    }

    /// LA-5. Like any other message, a release may carry the later stamp that we wait for.
    fn on_release(&mut self, ended_request: Stamp, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.queue.remove(&ended_request);
        out.note("LA-5", format_args!("removes {ended_request}"));
        self.on_clock_and_fence(ended_request.node, clock, fence, out);
    }

    fn send_to_all(&self, message: Message, out: &mut Effects<'_, Self>) {
        if self.config.group.len() > 1 {
            out.multicast(&self.config.group, message);
        }
    }

    fn assert_invariants(&self) {
        let ours = match &self.phase {
            Phase::Idle => None,
            Phase::Waiting(Waiting { stamp, .. }) | Phase::Inside(stamp) => Some(stamp),
        };
        let queued = self.queue.iter().filter(|stamp| self.is_own_request(**stamp));
        debug_assert!(queued.eq(ours), "our current request is our only one in the queue");
        debug_assert!(
            self.queue.iter().all(|stamp| stamp.clock <= self.clock),
            "no queued stamp is ahead of our clock"
        );
    }
}

impl OneOfMany for Lamport {
    floor_from_fields!(clock, fence);

    fn holds_only_floor(&self) -> bool {
        self.phase.is_idle() && self.queue.is_empty()
    }
}

impl ViewTransition for Lamport {
    fn client_state(&self) -> ClientState {
        self.phase.client_state_with(|Waiting { stamp, patience, .. }| ClientState::Waiting {
            requested_at: stamp.clock,
            patience: *patience,
            access: Access::Exclusive,
        })
    }

    /// The request in the critical section is the first in every queue, until its release removes
    /// it.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        *self = Self::new(me, start.group().clone());
        if let Some(stamp) = start.holder_stamp() {
            self.queue.insert(stamp);
            if stamp.node == me {
                self.phase = Phase::Inside(stamp);
            }
        }
    }
}

#[cfg(test)]
mod tests;
