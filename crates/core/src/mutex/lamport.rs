//! Lamport's mutual exclusion (1978).
//!
//! Every node keeps the same queue: all requests, by age. Whoever wants to enter tells everyone, and everyone answers
//! at once. Who stands first in its own queue, and has heard something later than its request from everyone, knows
//! that no older request can still come, and enters. Who leaves tells everyone to cross its request out.
//!
//! ```text
//! LA-1  asked to enter          → stamp a request, queue it and send it to every peer
//! LA-2  a request arrives       → queue it, and reply with a later stamp
//! LA-3  ours is the first       → enter, once something stamped later came from everyone: reply, request or release
//! LA-4  asked to leave          → cross our request out, and send everyone a release
//! LA-5  a release arrives       → cross out the request that it names
//! LA-6  asked to give up        → cross our request out, and send everyone a release
//! LA-7  a try is not the first  → deny it, once something stamped later came from everyone, and give it up like LA-6
//! ```
//!
//! Cost: 3(n−1) messages an entry; 2T from asking to entering; T from a leave to the next entry. A reply is sent
//! always, the reading of the decks; where books save the reply of a node whose own later request says as much, they
//! count from 2(n−1) on. A request that is given up costs the same.
//!
//! Assumes: no node dies or restarts; every message arrives once, and what one node sends another arrives in the
//! order in which it was sent. Requests are served in happened-before order, and that of their stamps.
//!
//! When it fails: one dead node, even an idle one, stops everyone who asks from then on. One that dies while it waits
//! or is inside stops everyone for good, because nobody crosses its request out. On links that reorder, a reply can
//! overtake an older request, and two are inside. One that restarts has an empty queue, and its clock begins again, so
//! that its next request looks older than those it has forgotten: two may be inside.
//!
//! Try: answered within 2T, once something later came from everyone: admitted if it is first then, else denied. Until
//! then it stands in the queue, so that a younger try may be denied because of one that is denied itself.
//!
//! In views: a member reports where its user stands and how old its request is. Everyone begins with a queue that has only
//! the request of the one inside, and those who wait queue theirs anew, with new stamps in the old order.
//!
//! Departs from the paper: a release names the request that ends, so that a request can be given up. A reply names
//! the one that it answers, which only those who count messages need. Replies and releases carry the largest fence
//! known, from which the next entry's fence follows.

use super::Links;
use super::prelude::*;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::HappenedBefore,
    // Whoever heard of a request stamps its own later, so each of the others has at most one that is older.
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    links: Links::Fifo,
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "lamport",
    class: "permission-based",
    summary: "everyone keeps the queue of all requests; the first one enters once nothing older can come",
    source: include_str!("lamport.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "3(n−1)",
    client: "2T",
    sync: "T",
    total: |case, entries| Range::exactly(3 * case.peers()).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    place: Fixed<Place>,
    clock: Clock,
    fence: Fence,
    phase: Phase<Waiting, Stamp>,
    /// Every request that this node knows of and that has not ended, its own too, oldest first.
    queue: BTreeSet<Stamp>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
}

/// A request under way, and from whom nothing later has come since.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    stamp: Stamp,
    patience: Patience,
    missing: BTreeSet<NodeId>,
}

/// What nodes send each other. Everything bears the sender's clock: a request in its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// I want to enter.
    Request { stamp: Stamp },
    /// I know of it.
    Reply {
        to: Stamp,
        /// The replier's clock, later than the request.
        clock: Clock,
        fence: Fence,
    },
    /// I have left, or want in no longer.
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
            Self::Reply { to, .. } => Some(to.node),
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
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::GiveUp => self.end("LA-6", Event::Cancelled, out),
                Wish::Leave => self.end("LA-4", Event::Left, out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp } if stamp.node == from => self.answer(stamp, out),
                Message::Reply { clock, fence, .. } => self.collect(from, clock, fence, out),
                Message::Release { stamp, clock, fence } if stamp.node == from => {
                    self.cross_out(stamp, clock, fence, out);
                }
                Message::Request { stamp } => {
                    out.note("LA-2", format_args!("ignores a request of {} that {from} brought", stamp.node));
                }
                Message::Release { stamp, .. } => {
                    out.note("LA-5", format_args!("ignores a release of {} that {from} brought", stamp.node));
                }
            },
            Input::Timer(never) => match never {},
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl Lamport {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self {
            place: Fixed::new(Place { me, group }),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            queue: BTreeSet::new(),
        }
    }

    pub(crate) fn first(&self) -> Option<Stamp> {
        self.queue.first().copied()
    }

    pub(crate) fn is_own(&self, stamp: Stamp) -> bool {
        stamp.node == self.place.me
    }

    /// LA-1. A new request is younger than everything this node has heard, so only what comes from now on is later.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = Stamp { clock: self.clock.tick(), node: self.place.me };
        let missing = self.place.group.others(self.place.me).collect();
        out.note("LA-1", format_args!("queues {stamp} and tells everyone"));
        self.queue.insert(stamp);
        self.phase = Phase::Waiting(Waiting { stamp, patience, missing });
        self.tell_all(Message::Request { stamp }, out);
        self.decide(out);
    }

    /// LA-2. The reply is later than the request that it answers, whatever the numbers of the two nodes.
    fn answer(&mut self, asked: Stamp, out: &mut Effects<'_, Self>) {
        self.clock.witness(asked.clock);
        self.queue.insert(asked);
        out.note("LA-2", format_args!("queues {asked}"));
        out.send(asked.node, Message::Reply { to: asked, clock: self.clock.tick(), fence: self.fence });
        self.hear(asked, out);
    }

    fn collect(&mut self, from: NodeId, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.clock.witness(clock);
        self.fence.raise(fence);
        self.hear(Stamp { clock, node: from }, out);
    }

    /// LA-3. Links keep the order: whoever sent something later has no older request under way to us. So even the
    /// late reply to a request that was given up counts for the present one, if it is later.
    fn hear(&mut self, sent: Stamp, out: &mut Effects<'_, Self>) {
        if let Phase::Waiting(ours) = &mut self.phase
            && ours.stamp < sent
        {
            ours.missing.remove(&sent.node);
        }
        self.decide(out);
    }

    /// LA-3, LA-7. Once nothing older can come, our place in the queue is known.
    fn decide(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { stamp, patience, missing }) = &self.phase else { return };
        if !missing.is_empty() {
            return;
        }
        match (self.first() == Some(*stamp), patience) {
            (true, Patience::Wait | Patience::Try) => self.enter(*stamp, out),
            (false, Patience::Wait) => {}
            (false, Patience::Try) => self.end("LA-7", Event::Denied, out),
        }
    }

    /// LA-3. Everyone who was inside before has told us so by its release, with its fence.
    fn enter(&mut self, stamp: Stamp, out: &mut Effects<'_, Self>) {
        self.fence = self.fence.next();
        self.phase = Phase::Inside(stamp);
        out.note("LA-3", format_args!("is first with {stamp}"));
        out.emit(Event::entered(self.fence));
    }

    /// LA-4, LA-6, LA-7. However a request ends, everyone has it in the queue and must cross it out.
    fn end(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        let (Phase::Waiting(Waiting { stamp, .. }) | Phase::Inside(stamp)) = self.phase.end() else { return };
        self.queue.remove(&stamp);
        out.emit(event);
        out.note(rule, format_args!("crosses {stamp} out and tells everyone"));
        self.tell_all(Message::Release { stamp, clock: self.clock, fence: self.fence }, out);
    }

    /// LA-5. A release is also a message like any other: it may be the later one that we wait for.
    fn cross_out(&mut self, ended: Stamp, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.queue.remove(&ended);
        out.note("LA-5", format_args!("crosses {ended} out"));
        self.collect(ended.node, clock, fence, out);
    }

    fn tell_all(&self, message: Message, out: &mut Effects<'_, Self>) {
        if self.place.group.len() > 1 {
            out.multicast(&self.place.group, message);
        }
    }

    fn assert_invariants(&self) {
        let ours = match &self.phase {
            Phase::Idle => None,
            Phase::Waiting(Waiting { stamp, .. }) | Phase::Inside(stamp) => Some(stamp),
        };
        let queued = self.queue.iter().filter(|stamp| self.is_own(**stamp));
        debug_assert!(queued.eq(ours), "of our own requests, just the one under way is queued");
        debug_assert!(self.queue.iter().all(|stamp| stamp.clock <= self.clock), "what is queued is of our own past");
    }
}

impl OneOfMany for Lamport {
    floor_in!(clock, fence);

    fn is_idle(&self) -> bool {
        self.phase.is_idle() && self.queue.is_empty()
    }
}

impl Succession for Lamport {
    fn standing(&self) -> Standing {
        self.phase.standing_of(|Waiting { stamp, patience, .. }| Standing::Waiting {
            asked: stamp.clock,
            patience: *patience,
            access: Access::Exclusive,
        })
    }

    /// The request of the one inside is the first in every queue, until its release crosses it out.
    fn begin(&mut self, me: NodeId, past: &Past) {
        *self = Self::new(me, past.group().clone());
        if let Some(stamp) = past.holder_stamp() {
            self.queue.insert(stamp);
            if stamp.node == me {
                self.phase = Phase::Inside(stamp);
            }
        }
    }
}

#[cfg(test)]
mod tests;
