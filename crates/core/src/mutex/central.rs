//! A central coordinator (the lock server of every textbook).
//!
//! One node keeps the lock. Whoever wants to enter asks it, and it grants one request at a time. The coordinator's own
//! requests go the same way and cost no message. If somebody is inside, it has three ways to be busy: `block` queues
//! the request in silence, `deny` denies it, so that the client asks again later, and `deny-and-queue` denies it now
//! and grants it later, so that the client knows that it waits.
//!
//! ```text
//! CE-1  asked to enter          → take a ticket and send it to the coordinator
//! CE-2  a ticket arrives        → grant it if nobody is inside, else queue it
//! CE-3  a grant arrives         → enter, if it is for the ticket we wait with
//! CE-4  asked to leave          → give the ticket back
//! CE-5  a ticket comes back     → if it was granted, grant the next one in the queue; if it was queued, remove it
//! CE-6  asked to give up        → give the ticket back, granted or not; discard a try, and its grant when it comes
//! CE-7  a try finds one inside  → deny it instead of queueing it
//! CE-8  denied (deny)           → ask again with the same ticket after a while; every ticket is sent like a try
//! CE-9  queued (deny-and-queue) → tell the client that it is denied so far; it waits on
//! ```
//!
//! Cost: 3 messages an entry, 0 for the coordinator's own; 2T from asking to entering; 2T from a leave to the next
//! entry. With deny, 2 messages more each time that a ticket is denied, and from 2T to 7T from a leave to the next
//! entry of the one who waits: at best its ticket arrives right behind the release, at worst right before it, and then
//! the denial, a wait of up to 3T, the ticket and the grant take 6T. With deny-and-queue, 4 messages where somebody was
//! in the way, else 3.
//!
//! Assumes: no node dies or restarts; every message arrives once, in any order. The queue is in order of arrival,
//! which is not happened-before order. With deny there is no queue: whoever asks at the right moment is next. A node
//! that asks again in the instant in which it leaves is always first, and the others get in once it pauses; where all
//! pause, one can be unlucky for ever only with probability 0.
//!
//! When it fails: a dead coordinator stops everyone; one that restarts has forgotten who is inside, and may let a
//! second in. A dead holder stops everyone else. A dead waiter stops everyone once its turn comes; with deny it stops
//! nobody unless its ticket was just granted. A dead idle node stops nobody. To a client a dead coordinator looks like
//! a busy one that blocks; one that denies is heard.
//!
//! Try: answered within 2T, by a grant or a denial; it is never queued. A try that was given up may still be in the way
//! of the same node's next one.
//!
//! In views: a member reports where its user stands, and the coordinator its queue too. The lowest member of the new view
//! coordinates: it rebuilds the holder and the queue from the reports, and whoever would be denied asks anew.
//!
//! Departs from the book: tickets are numbered, so that a grant which crosses a cancellation admits nobody and a
//! ticket given back before it arrived is never granted.

mod when_busy;

pub use when_busy::{DENY_AND_QUEUE_FACTS, DENY_FACTS, WhenBusy};

use super::Waiter;
use super::prelude::*;
use core::fmt;

/// What the book says of it, if it blocks. Beside this are [`DENY_FACTS`] and [`DENY_AND_QUEUE_FACTS`].
pub const FACTS: Facts = Facts {
    order: ServiceOrder::Arrival,
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    keeper: |group| group.first(),
    form: &[when_busy::choice("block", true)],
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
    tickets: Clock,
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
    when_busy: WhenBusy,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    /// The coordinator has the ticket, or soon will.
    Asked { ticket: Ticket, patience: Patience },
    /// The ticket was denied, and goes to the coordinator again after a while.
    Resting { ticket: Ticket },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Client,
    Coordinator(Desk),
}

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
    pub node: NodeId,
    pub number: Clock,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ticket {}/{}", self.node, self.number)
    }
}

/// What a node waits for besides messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Timer {
    AskAgain,
}

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the coordinator: may I enter?
    Request { ticket: Ticket, patience: Patience },
    /// From the coordinator: enter.
    Grant { ticket: Ticket, fence: Fence },
    /// From the coordinator: not now.
    Denied { ticket: Ticket },
    /// To the coordinator: I have left, or want in no longer.
    Release { ticket: Ticket, fence: Fence },
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
    type Timer = Timer;
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
            Input::Timer(Timer::AskAgain) => self.ask_again(out),
            Input::Start { .. } | beyond_the_textbook!() => {}
        }
        self.assert_invariants();
    }
}

impl Central {
    /// A node of this group, idle. The member with the lowest number coordinates, and blocks when it is busy.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self::when_busy(me, group, WhenBusy::Block)
    }

    /// A node of this group, idle, whose coordinator is busy in this way.
    pub fn when_busy(me: NodeId, group: Group, when_busy: WhenBusy) -> Self {
        let coordinator = group.first().unwrap_or(me);
        Self::at(Place { me, group, coordinator, when_busy })
    }

    /// A node of this group, idle, with this coordinator.
    pub fn with_coordinator(me: NodeId, group: Group, coordinator: NodeId) -> Self {
        Self::at(Place { me, group, coordinator, when_busy: WhenBusy::Block })
    }

    /// The ticket that is granted, if this is the coordinator and one is.
    pub(crate) fn holder(&self) -> Option<Ticket> {
        match &self.role {
            Role::Client => None,
            Role::Coordinator(desk) => desk.holder,
        }
    }

    /// The largest fence heard of: at the coordinator, that of the latest grant.
    pub(crate) fn fence(&self) -> Fence {
        self.fence
    }

    fn at(place: Place) -> Self {
        let role = if place.me == place.coordinator { Role::Coordinator(Desk::default()) } else { Role::Client };
        Self {
            place: Fixed::new(place),
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
        out.note("CE-1", format_args!("asks with {ticket}"));
        self.ask(ticket, patience, out);
    }

    fn ask(&mut self, ticket: Ticket, patience: Patience, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Waiting(Waiting::Asked { ticket, patience });
        self.post(Message::Request { ticket, patience: self.place.when_busy.asks_with(patience) }, out);
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
                self.deny_so_far(ticket, out);
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
        if self.patience_with(ticket).is_some() {
            self.phase = Phase::Inside(ticket);
            out.note("CE-3", format_args!("enters with {ticket}"));
            out.emit(Event::entered(fence));
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

    /// CE-6. A try is answered soon in any case, so it is discarded here; a ticket that waits must leave the queue. Of
    /// one that was denied, the coordinator keeps nothing.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(waiting) = self.phase.end() else { return };
        out.emit(Event::Cancelled);
        let (Waiting::Asked { ticket, .. } | Waiting::Resting { ticket }) = waiting;
        out.note("CE-6", format_args!("gives {ticket} up"));
        match waiting {
            Waiting::Asked { patience, .. } => match self.place.when_busy.asks_with(patience) {
                Patience::Wait => self.post(Message::Release { ticket, fence: self.fence }, out),
                Patience::Try => {
                    self.discarded.insert(ticket);
                }
            },
            Waiting::Resting { .. } => out.cancel_timer(Timer::AskAgain),
        }
    }

    /// CE-7.
    fn deny(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        out.note("CE-7", format_args!("denies {ticket}"));
        self.tell(ticket.node, Message::Denied { ticket }, out);
    }

    /// CE-7. Of a try that was denied, the coordinator keeps nothing.
    fn accept_denial(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        match (self.patience_with(ticket), self.place.when_busy) {
            (Some(Patience::Try), _) => {
                self.phase.end();
                out.emit(Event::Denied);
            }
            (Some(Patience::Wait), WhenBusy::Deny { wait }) => self.rest(ticket, wait, out),
            (Some(Patience::Wait), WhenBusy::Block | WhenBusy::DenyAndQueue) => {
                out.note("CE-9", format_args!("is denied so far, and waits on with {ticket}"));
            }
            // The answer to a discarded try, or a denial that a grant has overtaken.
            (None, _) => {
                self.discarded.remove(&ticket);
            }
        }
    }

    /// CE-8. The same ticket will do: the coordinator has none of it any more, and no message about it is under way.
    fn rest(&mut self, ticket: Ticket, wait: Span, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Waiting(Waiting::Resting { ticket });
        out.note("CE-8", format_args!("will ask again with {ticket}"));
        out.set_timer(Timer::AskAgain, wait);
    }

    /// CE-8.
    fn ask_again(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting::Resting { ticket }) = self.phase else { return };
        out.note("CE-8", format_args!("asks again with {ticket}"));
        self.ask(ticket, Patience::Wait, out);
    }

    /// CE-9.
    fn deny_so_far(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        match self.place.when_busy {
            WhenBusy::DenyAndQueue => {
                out.note("CE-9", format_args!("denies {ticket} so far"));
                self.tell(ticket.node, Message::Denied { ticket }, out);
            }
            WhenBusy::Block | WhenBusy::Deny { .. } => {}
        }
    }

    /// How patient our user is, if this is the ticket that we asked with.
    fn patience_with(&self, ticket: Ticket) -> Option<Patience> {
        match &self.phase {
            Phase::Waiting(Waiting::Asked { ticket: ours, patience }) if *ours == ticket => Some(*patience),
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => None,
        }
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
    floor_in!(tickets, fence);

    fn is_idle(&self) -> bool {
        let desk_is_empty = match &self.role {
            Role::Client => true,
            Role::Coordinator(desk) => desk.holder.is_none() && desk.void.is_empty(),
        };
        desk_is_empty && self.discarded.is_empty() && self.phase.is_idle()
    }
}

impl Succession for Central {
    fn standing(&self) -> Standing {
        match &self.phase {
            Phase::Idle => Standing::Idle,
            Phase::Waiting(Waiting::Asked { patience, .. }) => Standing::waiting(*patience, Access::Exclusive),
            Phase::Waiting(Waiting::Resting { .. }) => Standing::waiting(Patience::Wait, Access::Exclusive),
            Phase::Inside(_) => Standing::Inside(Access::Exclusive),
        }
    }

    fn queue(&self) -> Vec<NodeId> {
        match &self.role {
            Role::Client => Vec::new(),
            Role::Coordinator(desk) => desk.queue.iter().map(|ticket| ticket.node).collect(),
        }
    }

    /// The lowest member coordinates. It rebuilds the holder and the queue, and those who wait know that they are in it; who would
    /// be denied asks anew.
    fn begin(&mut self, me: NodeId, past: &Past) {
        *self = Self::when_busy(me, past.group().clone(), self.place.when_busy);
        let holder = past.holder().map(|node| Ticket { node, number: past.inside_clock() });
        let queues = |waiter: &Waiter| self.place.when_busy.asks_with(waiter.patience) == Patience::Wait;
        let ticket = |waiter: &Waiter| Ticket { node: waiter.node, number: waiter.clock };
        let queue: VecDeque<_> = past.waiting().iter().filter(|waiter| queues(waiter)).map(ticket).collect();
        if let Some(ticket) = holder.filter(|ticket| ticket.node == me) {
            self.phase = Phase::Inside(ticket);
        } else if let Some(ticket) = queue.iter().find(|ticket| ticket.node == me) {
            self.tickets = ticket.number;
            self.phase = Phase::Waiting(Waiting::Asked { ticket: *ticket, patience: Patience::Wait });
        }
        if let Role::Coordinator(desk) = &mut self.role {
            *desk = Desk { holder, queue, void: BTreeSet::new() };
        }
    }

    /// A new coordinator finds nobody inside, if the one who was has departed: then it grants the first in the queue.
    fn set_out(&mut self, out: &mut Effects<'_, Self>) {
        let Role::Coordinator(desk) = &mut self.role else { return };
        if desk.holder.is_none()
            && let Some(next) = desk.queue.pop_front()
        {
            self.grant(next, out);
        }
    }
}

#[cfg(test)]
mod tests;
