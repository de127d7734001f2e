//! Ricart–Agrawala mutual exclusion (1981).
//!
//! Whoever wants to enter asks everyone, with a stamp that says how old the request is. A node that is inside,
//! or that asked earlier itself, keeps its answer until it has left; everybody else answers at once. Who has
//! all answers has everyone's permission.
//!
//! ```text
//! RA-1  asked to enter        → stamp a request and send it to every peer
//! RA-2  a request arrives     → reply; defer the reply instead if inside, or if ours is older
//! RA-3  all replies are in    → enter; a reply counts only if it answers the stamp we wait with
//! RA-4  asked to leave        → reply to everyone deferred
//! RA-5  asked to give up      → forget the request and reply to everyone deferred
//! RA-6  a try is in our way   → deny it where RA-2 would defer; one denial ends the try like RA-5
//! ```
//!
//! Cost: 2(n−1) messages an entry; 2T from asking to entering; T from a leave to the next entry.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. Requests are served in
//! happened-before order.
//!
//! When it fails: one dead node, even an idle one, stops everyone who asks from then on; nobody else enters
//! wrongly. One that restarts has forgotten whom it owes a reply, and its old replies may count for a new request.
//! Lost messages stop those who wait for them.
//!
//! Try: answered within 2T, by the first denial or by all replies.
//!
//! Departs from the paper: a reply names the request it answers (else the late reply to a cancelled request
//! admits two) and carries the clock (else a node that heard of a request can stamp its own as older). Replies
//! also carry the largest fence known, from which the next entry's fence follows.

use super::{Command, Cost, Event, Facts, Fairness, Floor, Patience, Phase, Range, ServiceOrder, Wish};
use crate::about::Profile;
use crate::clock::{Clock, Stamp};
use crate::describe::Describe;
use crate::effects::Effects;
use crate::fence::Fence;
use crate::fixed::Fixed;
use crate::group::Group;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use crate::wrap::OneOfMany;
use alloc::collections::BTreeSet;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::HappenedBefore,
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "ricart-agrawala",
    class: "permission-based",
    summary: "ask everyone; whoever is older or inside defers the reply",
    source: include_str!("ricart_agrawala.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "2(n−1)",
    client: "2T",
    sync: "T",
    total: |case, entries| Range::exactly(2 * case.peers()).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(1),
};

/// One node of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    place: Fixed<Place>,
    clock: Clock,
    /// The largest fence heard of.
    fence: Fence,
    phase: Phase<Waiting, Stamp>,
    /// Whom we owe a reply, with the request that it answers.
    deferred: BTreeSet<Stamp>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
}

/// A request under way, and whose reply to it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    stamp: Stamp,
    patience: Patience,
    missing: BTreeSet<NodeId>,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// May I enter?
    Request {
        /// How old the request is, and whose.
        stamp: Stamp,
        /// Whether it waits its turn.
        patience: Patience,
    },
    /// You may, as far as I am concerned.
    Reply {
        /// The request it answers.
        to: Stamp,
        /// The replier's clock.
        clock: Clock,
        /// The largest fence the replier knows.
        fence: Fence,
    },
    /// Not now: the answer to a try that RA-2 would defer.
    Denied {
        /// The request it answers.
        to: Stamp,
        /// The replier's clock.
        clock: Clock,
    },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Reply { .. } => "reply",
            Self::Denied { .. } => "denied",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { stamp, .. } => Some(stamp.node),
            Self::Reply { to, .. } | Self::Denied { to, .. } => Some(to.node),
        }
    }
}

impl Protocol for RicartAgrawala {
    type Command = Command;
    type Message = Message;
    type Timer = crate::Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::GiveUp => self.give_up("RA-5", Event::Cancelled, out),
                Wish::Leave => self.leave(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { stamp, patience } if stamp.node == from => self.answer(stamp, patience, out),
                Message::Request { stamp, .. } => {
                    out.note("RA-2", format_args!("ignores a request of {} that {from} brought", stamp.node));
                }
                Message::Reply { to, clock, fence } => self.collect(from, to, clock, fence, out),
                Message::Denied { to, clock } => self.accept_denial(from, to, clock, out),
            },
            Input::Timer(never) => match never {},
            // A textbook group: nothing is saved, nobody is suspected, and the members never change.
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_) => {}
        }
        self.assert_invariants();
    }
}

impl RicartAgrawala {
    /// A node of this group, idle.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self {
            place: Fixed::new(Place { me, group }),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            deferred: BTreeSet::new(),
        }
    }

    /// RA-1. A new request is younger than every one this node has heard of.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let stamp = Stamp { clock: self.clock.tick(), node: self.place.me };
        let missing: BTreeSet<_> = self.place.group.others(self.place.me).collect();
        out.note("RA-1", format_args!("asks everyone with {stamp}"));
        if !missing.is_empty() {
            out.multicast(&self.place.group, Message::Request { stamp, patience });
        }
        self.phase = Phase::Waiting(Waiting { stamp, patience, missing });
        self.enter_if_permitted(out);
    }

    /// RA-2. Our own request goes first if we are inside with it or if it is older.
    fn answer(&mut self, asked: Stamp, patience: Patience, out: &mut Effects<'_, Self>) {
        self.clock.witness(asked.clock);
        let ours = match &self.phase {
            Phase::Inside(stamp) => Some(*stamp),
            Phase::Waiting(ours) if ours.stamp < asked => Some(ours.stamp),
            Phase::Waiting(_) | Phase::Idle => None,
        };
        match (ours, patience) {
            (None, Patience::Wait | Patience::Try) => self.reply(asked, out),
            (Some(ours), Patience::Wait) => {
                out.note("RA-2", format_args!("defers {asked}: ours {ours} goes first"));
                self.deferred.insert(asked);
            }
            (Some(_), Patience::Try) => self.deny(asked, out),
        }
    }

    fn reply(&mut self, asked: Stamp, out: &mut Effects<'_, Self>) {
        out.note("RA-2", format_args!("lets {asked} pass"));
        out.send(asked.node, Message::Reply { to: asked, clock: self.clock, fence: self.fence });
    }

    /// RA-3. Late replies to a request that was given up do not count for the present one.
    fn collect(&mut self, from: NodeId, to: Stamp, clock: Clock, fence: Fence, out: &mut Effects<'_, Self>) {
        self.clock.witness(clock);
        self.fence.raise(fence);
        match &mut self.phase {
            Phase::Waiting(ours) if ours.stamp == to => {
                ours.missing.remove(&from);
                self.enter_if_permitted(out);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {
                out.note("RA-3", format_args!("ignores a reply to {to}, which nobody waits with"));
            }
        }
    }

    /// RA-3. The fence is larger than every one that those who admit us know of.
    fn enter_if_permitted(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { stamp, missing, .. }) = &self.phase else { return };
        if !missing.is_empty() {
            return;
        }
        let stamp = *stamp;
        self.fence = self.fence.next();
        self.phase = Phase::Inside(stamp);
        out.note("RA-3", format_args!("has every reply to {stamp}"));
        out.emit(Event::Entered { fence: self.fence });
    }

    /// RA-4. Those deferred get their replies now, with the fence of the entry that ends.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(Event::Left);
        self.reply_to_deferred("RA-4", out);
    }

    /// RA-6. The denier, unlike one who defers, owes no reply later.
    fn deny(&mut self, asked: Stamp, out: &mut Effects<'_, Self>) {
        out.note("RA-6", format_args!("denies {asked}"));
        out.send(asked.node, Message::Denied { to: asked, clock: self.clock });
    }

    /// RA-6. One denial is enough, and only a try can be denied.
    fn accept_denial(&mut self, from: NodeId, to: Stamp, clock: Clock, out: &mut Effects<'_, Self>) {
        self.clock.witness(clock);
        match &self.phase {
            Phase::Waiting(Waiting { stamp, patience: Patience::Try, missing })
                if *stamp == to && missing.contains(&from) =>
            {
                self.give_up("RA-6", Event::Denied, out);
            }
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => {}
        }
    }

    /// RA-5, and RA-6. Nobody needs to be told: a reply gives permission to one stamp, and binds nobody.
    fn give_up(&mut self, rule: &'static str, event: Event, out: &mut Effects<'_, Self>) {
        self.phase.end();
        out.emit(event);
        self.reply_to_deferred(rule, out);
    }

    fn reply_to_deferred(&mut self, rule: &'static str, out: &mut Effects<'_, Self>) {
        for asked in core::mem::take(&mut self.deferred) {
            out.note(rule, format_args!("lets {asked} pass at last"));
            out.send(asked.node, Message::Reply { to: asked, clock: self.clock, fence: self.fence });
        }
    }

    fn assert_invariants(&self) {
        match &self.phase {
            Phase::Idle => debug_assert!(self.deferred.is_empty(), "an idle node owes nobody a reply"),
            Phase::Waiting(Waiting { stamp, missing, .. }) => {
                debug_assert!(!missing.is_empty(), "a node with every reply is inside");
                debug_assert!(stamp.clock <= self.clock, "our stamp is of our own past");
            }
            Phase::Inside(stamp) => debug_assert!(stamp.clock <= self.clock, "our stamp is of our own past"),
        }
    }
}

impl OneOfMany for RicartAgrawala {
    type Floor = Floor;

    fn is_idle(&self) -> bool {
        self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        Floor { clock: self.clock, fence: self.fence }
    }

    fn raise(&mut self, floor: &Floor) {
        self.clock.witness(floor.clock);
        self.fence.raise(floor.fence);
    }
}

#[cfg(test)]
mod tests;
