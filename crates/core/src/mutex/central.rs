//! A central coordinator (the lock server of every textbook).
//!
//! One node keeps the lock. Whoever wants to enter asks it, and it grants one request at a time from a queue in
//! the order of arrival. The coordinator's own requests go through the same queue and cost no message.
//!
//! ```text
//! CE-1  asked to enter          → take a ticket and send it to the coordinator
//! CE-2  a ticket arrives        → grant it if nobody is inside, else queue it
//! CE-3  a grant arrives         → enter, if it is for the ticket we wait with
//! CE-4  asked to leave          → give the ticket back
//! CE-5  a ticket comes back     → if it was granted, grant the next one in the queue; if it was queued, remove it
//! CE-6  asked to give up        → give the ticket back, granted or not; discard a try, and its grant when it comes
//! CE-7  a try finds one inside  → deny it instead of queueing it
//! ```
//!
//! Cost: 3 messages an entry, 0 for the coordinator's own; 2T from asking to entering; 2T from a leave to the
//! next entry.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. The queue is in order of arrival,
//! which is not happened-before order.
//!
//! When it fails: a dead coordinator stops everyone; one that restarts has forgotten who is inside, and may let a
//! second in. A dead holder stops everyone else. A dead waiter stops everyone once its turn comes. A dead idle node
//! stops nobody.
//!
//! Try: answered within 2T, by a grant or a denial. A try that was given up may still be in the way of the same
//! node's next one.
//!
//! Departs from the book: tickets are numbered, so that a grant which crosses a cancellation admits nobody and a
//! ticket given back before it arrived is never granted.

use super::{Command, Cost, Event, Facts, Fairness, Floor, Patience, Phase, Range, ServiceOrder, Wish};
use crate::about::Profile;
use crate::describe::Describe;
use crate::effects::Effects;
use crate::fence::Fence;
use crate::fixed::Fixed;
use crate::group::Group;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use crate::wrap::OneOfMany;
use crate::{Clock, Never};
use alloc::collections::{BTreeSet, VecDeque};
use core::fmt;

/// What the book says of it.
pub const FACTS: Facts = Facts {
    order: ServiceOrder::Arrival,
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    keeper: |group| group.first(),
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "central",
    class: "centralised",
    summary: "one coordinator grants from a queue",
    source: include_str!("central.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    messages: "3, own 0",
    client: "2T",
    sync: "2T",
    total: |_, entries| Range::exactly(3).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(2),
};

/// One node of the algorithm; one of them is the coordinator too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    place: Fixed<Place>,
    /// The number of our last ticket.
    tickets: Clock,
    /// The largest fence heard of.
    fence: Fence,
    phase: Phase<Waiting, Ticket>,
    /// Tries that were given up before the coordinator answered them.
    discarded: BTreeSet<Ticket>,
    role: Role,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
    coordinator: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    ticket: Ticket,
    patience: Patience,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Client,
    Coordinator(Desk),
}

/// What the coordinator keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Desk {
    holder: Option<Ticket>,
    queue: VecDeque<Ticket>,
    /// Tickets that came back before they arrived.
    void: BTreeSet<Ticket>,
}

/// One request of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// Whose it is.
    pub node: NodeId,
    /// Its number among that node's tickets.
    pub number: Clock,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ticket {}/{}", self.node, self.number)
    }
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the coordinator: may I enter?
    Request {
        /// The request.
        ticket: Ticket,
        /// Whether it waits its turn.
        patience: Patience,
    },
    /// From the coordinator: enter.
    Grant {
        /// The request that it answers.
        ticket: Ticket,
        /// The entry's fence.
        fence: Fence,
    },
    /// From the coordinator: not now.
    Denied {
        /// The request that it answers.
        ticket: Ticket,
    },
    /// To the coordinator: I have left, or want in no longer.
    Release {
        /// The request that ends.
        ticket: Ticket,
        /// The largest fence the sender knows.
        fence: Fence,
    },
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Grant { .. } => "grant",
            Self::Denied { .. } => "denied",
            Self::Release { .. } => "release",
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request { ticket, .. }
            | Self::Grant { ticket, .. }
            | Self::Denied { ticket }
            | Self::Release { ticket, .. } => Some(ticket.node),
        }
    }
}

impl Protocol for Central {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => match self.phase.understand(command) {
                Wish::Enter(patience, _) => self.request(patience, out),
                Wish::GiveUp => self.cancel(out),
                Wish::Leave => self.leave(out),
                Wish::Nonsense(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { ticket, patience } if ticket.node == from => self.consider(ticket, patience, out),
                Message::Release { ticket, fence } if ticket.node == from => self.take_back(ticket, fence, out),
                Message::Grant { ticket, fence } if from == self.place.coordinator => self.enter(ticket, fence, out),
                Message::Denied { ticket } if from == self.place.coordinator => self.accept_denial(ticket, out),
                Message::Request { ticket, .. } => {
                    out.note("CE-2", format_args!("ignores {ticket}, which {from} brought"));
                }
                Message::Release { ticket, .. } => {
                    out.note("CE-5", format_args!("ignores {ticket}, which {from} brought back"));
                }
                Message::Grant { ticket, .. } | Message::Denied { ticket } => {
                    out.note("CE-3", format_args!("ignores an answer to {ticket}: {from} is not the coordinator"));
                }
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

impl Central {
    /// A node of this group, idle. The member with the lowest number coordinates.
    pub fn new(me: NodeId, group: Group) -> Self {
        let coordinator = group.first().unwrap_or(me);
        Self::with_coordinator(me, group, coordinator)
    }

    /// A node of this group, idle, with this coordinator.
    pub fn with_coordinator(me: NodeId, group: Group, coordinator: NodeId) -> Self {
        let role = if me == coordinator { Role::Coordinator(Desk::default()) } else { Role::Client };
        Self {
            place: Fixed::new(Place { me, group, coordinator }),
            tickets: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            discarded: BTreeSet::new(),
            role,
        }
    }

    /// CE-1. The coordinator asks itself without a message.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let ticket = Ticket { node: self.place.me, number: self.tickets.tick() };
        self.phase = Phase::Waiting(Waiting { ticket, patience });
        out.note("CE-1", format_args!("asks with {ticket}"));
        self.post(Message::Request { ticket, patience }, out);
    }

    /// CE-2. Only members are served, and no ticket that came back before it arrived.
    fn consider(&mut self, ticket: Ticket, patience: Patience, out: &mut Effects<'_, Self>) {
        let member = self.place.group.contains(ticket.node);
        let Role::Coordinator(desk) = &mut self.role else {
            return out.note("CE-2", format_args!("ignores {ticket}: not the coordinator"));
        };
        if !member || desk.void.remove(&ticket) {
            return out.note("CE-2", format_args!("ignores {ticket}: it is void"));
        }
        match (desk.holder, patience) {
            (None, Patience::Wait | Patience::Try) => self.grant(ticket, out),
            (Some(holder), Patience::Wait) => {
                desk.queue.push_back(ticket);
                out.note("CE-2", format_args!("queues {ticket}: {holder} is inside"));
            }
            (Some(_), Patience::Try) => self.deny(ticket, out),
        }
    }

    fn grant(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        let Role::Coordinator(desk) = &mut self.role else { return };
        desk.holder = Some(ticket);
        self.fence = self.fence.next();
        out.note("CE-2", format_args!("grants {ticket}"));
        self.tell(ticket.node, Message::Grant { ticket, fence: self.fence }, out);
    }

    /// CE-3. A grant that crosses our giving up finds nobody waiting; that of a discarded try goes back.
    fn enter(&mut self, ticket: Ticket, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        if self.is_waiting_with(ticket) {
            self.phase = Phase::Inside(ticket);
            out.note("CE-3", format_args!("enters with {ticket}"));
            out.emit(Event::Entered { fence });
        } else if self.discarded.remove(&ticket) {
            out.note("CE-6", format_args!("gives {ticket} back unused"));
            self.post(Message::Release { ticket, fence: self.fence }, out);
        } else {
            out.note("CE-3", format_args!("ignores a grant of {ticket}, which nobody waits with"));
        }
    }

    /// CE-4.
    fn leave(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Inside(ticket) = self.phase.end() else { return };
        out.emit(Event::Left);
        out.note("CE-4", format_args!("gives {ticket} back"));
        self.post(Message::Release { ticket, fence: self.fence }, out);
    }

    /// CE-5. A ticket that is neither granted nor queued has not arrived yet.
    fn take_back(&mut self, ticket: Ticket, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        let Role::Coordinator(desk) = &mut self.role else {
            return out.note("CE-5", format_args!("ignores {ticket}: not the coordinator"));
        };
        if desk.holder == Some(ticket) {
            desk.holder = None;
            match desk.queue.pop_front() {
                Some(next) => {
                    out.note("CE-5", format_args!("has {ticket} back"));
                    self.grant(next, out);
                }
                None => out.note("CE-5", format_args!("has {ticket} back; nobody waits")),
            }
        } else if let Some(place) = desk.queue.iter().position(|queued| *queued == ticket) {
            desk.queue.remove(place);
            out.note("CE-5", format_args!("removes {ticket} from the queue"));
        } else if self.place.group.contains(ticket.node) {
            desk.void.insert(ticket);
            out.note("CE-5", format_args!("voids {ticket} before it arrives"));
        }
    }

    /// CE-6. A try is answered soon in any case, so it is discarded here; a ticket that waits must leave the queue.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting { ticket, patience }) = self.phase.end() else { return };
        out.emit(Event::Cancelled);
        out.note("CE-6", format_args!("gives {ticket} up"));
        match patience {
            Patience::Wait => self.post(Message::Release { ticket, fence: self.fence }, out),
            Patience::Try => {
                self.discarded.insert(ticket);
            }
        }
    }

    /// CE-7.
    fn deny(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        out.note("CE-7", format_args!("denies {ticket}"));
        self.tell(ticket.node, Message::Denied { ticket }, out);
    }

    /// CE-7. The ticket is spent: the coordinator keeps nothing of it.
    fn accept_denial(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        if self.is_waiting_with(ticket) {
            self.phase.end();
            out.emit(Event::Denied);
        } else {
            self.discarded.remove(&ticket);
        }
    }

    fn is_waiting_with(&self, ticket: Ticket) -> bool {
        self.phase.waiting().is_some_and(|ours| ours.ticket == ticket)
    }

    /// To the coordinator: a message, or a plain call if that is this node.
    fn post(&mut self, message: Message, out: &mut Effects<'_, Self>) {
        match (self.place.me == self.place.coordinator, message) {
            (false, message) => out.send(self.place.coordinator, message),
            (true, Message::Request { ticket, patience }) => self.consider(ticket, patience, out),
            (true, Message::Release { ticket, fence }) => self.take_back(ticket, fence, out),
            (true, Message::Grant { .. } | Message::Denied { .. }) => {}
        }
    }

    /// From the coordinator: a message, or a plain call if the client is this node.
    fn tell(&mut self, client: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match (self.place.me == client, message) {
            (false, message) => out.send(client, message),
            (true, Message::Grant { ticket, fence }) => self.enter(ticket, fence, out),
            (true, Message::Denied { ticket }) => self.accept_denial(ticket, out),
            (true, Message::Request { .. } | Message::Release { .. }) => {}
        }
    }

    fn assert_invariants(&self) {
        let Role::Coordinator(desk) = &self.role else { return };
        debug_assert!(desk.holder.is_some() || desk.queue.is_empty(), "nobody waits while nobody is inside");
        debug_assert!(desk.queue.iter().all(|queued| !desk.void.contains(queued)), "no void ticket is queued");
    }
}

impl OneOfMany for Central {
    type Floor = Floor;

    fn is_idle(&self) -> bool {
        let desk_is_empty = match &self.role {
            Role::Client => true,
            Role::Coordinator(desk) => desk.holder.is_none() && desk.void.is_empty(),
        };
        desk_is_empty && self.discarded.is_empty() && self.phase.is_idle()
    }

    fn floor(&self) -> Floor {
        Floor { clock: self.tickets, fence: self.fence }
    }

    fn raise(&mut self, floor: &Floor) {
        self.tickets.witness(floor.clock);
        self.fence.raise(floor.fence);
    }
}

#[cfg(test)]
mod tests;
