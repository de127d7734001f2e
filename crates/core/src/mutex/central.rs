//! A central coordinator (the lock server of every textbook).
//!
//! One node manages the lock. A node that wants to enter sends it a numbered request, its ticket,
//! and it grants one ticket at a time. The coordinator's own requests take the same path without
//! messages. If the critical section is occupied, the coordinator has three ways to answer: `block`
//! queues the request without an answer, `deny` denies it, so that the requester retries later, and
//! `deny-and-queue` denies it now and grants it later, so the requester knows that it waits.
//!
//! ```text
//! CE-1  the client asks to enter    → take a ticket and send it to the coordinator
//! CE-2  a ticket arrives            → grant it if no ticket is granted, else queue it
//! CE-3  a grant arrives             → enter, if it is for our pending ticket
//! CE-4  the client releases         → return the ticket
//! CE-5  a ticket is returned        → if it was granted, grant the next one in the queue;
//!                                     if it was queued, remove it
//! CE-6  the client cancels          → return the ticket, granted or not; a try is answered soon,
//!                                     so return only its grant, if one arrives
//! CE-7  a try arrives while another
//!       ticket is granted           → deny it instead of queueing it
//! CE-8  denied (deny)               → retry with the same ticket after a delay; we send every
//!                                     ticket as a try
//! CE-9  queued (deny-and-queue)     → send a denial to the requester, which continues to wait
//! ```
//!
//! Cost: 3 messages per entry, 0 for the coordinator's own; 2T (two message times) from request to
//! entry; 2T from a release to the next entry. With deny, 2 more messages for each denial, and 2T
//! to 7T from a release to the next entry of the waiting node. The release message takes T. At best
//! the ticket arrives right after it, and the grant takes T. At worst the ticket arrives right
//! before it; then the denial, a delay of up to 3T, the ticket and the grant take 6T. With
//! deny-and-queue, 4 messages if the ticket was queued, else 3.
//!
//! Assumes: no node crashes or restarts; every message arrives once, in any order. The queue is in
//! order of arrival, which is not happened-before order. With deny there is no queue: the first
//! ticket to arrive after a release is granted. If all messages take the same time, a node that
//! requests again in the instant of its release wins again, and the others enter once it pauses
//! between two requests. If all nodes pause between requests, a node waits forever only with
//! probability 0.
//!
//! When it fails: a crashed coordinator blocks all nodes; a restarted one has forgotten the holder
//! and may grant a second entry. A crashed holder blocks all other nodes. A crashed waiter blocks
//! all nodes once its turn comes; with deny it blocks them only if its ticket was just granted. A
//! crashed idle node blocks no other. To a requester, a crashed coordinator looks like a busy one
//! that blocks; a coordinator that denies shows that it is alive.
//!
//! Try: the coordinator answers within 2T with a grant or a denial; it never queues a try. Until
//! the grant of a cancelled try is returned, the coordinator denies the same node's next try.
//!
//! In views: a member reports the state of its client, and the coordinator also reports its queue.
//! The lowest member of the new view coordinates: it rebuilds the holder and the queue from the
//! reports. Nodes whose requests are not queued repeat them.
//!
//! Departs from the textbook: tickets are numbered, so that a node recognises a grant that crosses
//! a cancellation, and the coordinator never grants a ticket that was returned before it arrived.

mod when_busy;

pub use when_busy::{DENY_AND_QUEUE_FACTS, DENY_FACTS, WhenBusy};

use super::Waiter;
use super::prelude::*;
use core::fmt;

/// Expected figures of the blocking form. See also [`DENY_FACTS`] and [`DENY_AND_QUEUE_FACTS`].
pub const FACTS: Facts = Facts {
    order: ServiceOrder::Arrival,
    fairness: Fairness::FromArrival(|nodes| nodes as u64 - 1),
    coordinator: |group| group.first(),
    variant_choices: &[when_busy::when_busy_choice("block").mark_default()],
    ..Facts::new(PROFILE, COST)
};

const PROFILE: Profile = Profile {
    name: "central",
    class: "centralised",
    summary: "one coordinator grants from a queue",
    source: include_str!("central.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    messages_formula: "3, own 0",
    client_delay_formula: "2T",
    sync_delay_formula: "2T",
    message_count: |_, entries| Range::exactly(3).times(entries),
    client_delay: |_| Range::exactly(2),
    sync_delay: |_| Range::exactly(2),
};

/// A node of the algorithm. One of the nodes is the coordinator as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    config: Fixed<Config>,
    /// The number of this node's latest ticket.
    last_ticket: Clock,
    /// The largest fence received; at the coordinator, the fence of the latest grant.
    fence: Fence,
    phase: Phase<Waiting, Ticket>,
    /// Our cancelled tickets that we sent as tries and whose answer has not arrived yet.
    discarded_tries: BTreeSet<Ticket>,
    role: Role,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
    coordinator: NodeId,
    when_busy: WhenBusy,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Waiting {
    /// The ticket is on its way to the coordinator or already there.
    Requested { ticket: Ticket, patience: Patience },
    /// The ticket was denied; the node sends it again after a delay.
    Backoff { ticket: Ticket },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Requester,
    Coordinator(LockState),
}

/// The state of the lock, which only the coordinator keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct LockState {
    /// The granted ticket. Its node may not have entered yet.
    holder: Option<Ticket>,
    queue: VecDeque<Ticket>,
    /// Tickets that were returned before they arrived.
    returned_early: BTreeSet<Ticket>,
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

/// The timers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Timer {
    /// Fires when it is time to retry with a denied ticket.
    AskAgain,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Message {
    /// To the coordinator: a request to enter.
    Request { ticket: Ticket, patience: Patience },
    /// From the coordinator: the node may enter.
    Grant { ticket: Ticket, fence: Fence },
    /// From the coordinator: the ticket is denied.
    Denied { ticket: Ticket },
    /// To the coordinator: the entry has ended or the request is cancelled. `fence` is the largest
    /// that the sender knows.
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
            Input::Command(command) => match self.phase.interpret(command) {
                Intent::Enter { patience, .. } => self.request(patience, out),
                Intent::Cancel => self.cancel(out),
                Intent::Release => self.release(out),
                Intent::Refuse(refusal) => out.emit(Event::Refused(refusal)),
            },
            Input::Message { from, message } => match message {
                Message::Request { ticket, patience } if ticket.node == from => self.on_request(ticket, patience, out),
                Message::Release { ticket, fence } if ticket.node == from => self.on_release(ticket, fence, out),
                Message::Grant { ticket, fence } if from == self.config.coordinator => {
                    self.on_grant(ticket, fence, out);
                }
                Message::Denied { ticket } if from == self.config.coordinator => self.on_denial(ticket, out),
                Message::Request { ticket, .. } => {
                    out.note("CE-2", format_args!("ignores {ticket}, which came from {from}"));
                }
                Message::Release { ticket, .. } => {
                    out.note("CE-5", format_args!("ignores the return of {ticket}, which came from {from}"));
                }
                Message::Grant { ticket, .. } | Message::Denied { ticket } => {
                    out.note("CE-3", format_args!("ignores an answer to {ticket}: {from} is not the coordinator"));
                }
            },
            Input::Timer(Timer::AskAgain) => self.retry(out),
            Input::Start { .. } | ignored_inputs!() => {}
        }
        self.assert_invariants();
    }
}

impl Central {
    /// An idle node of this group. The member with the lowest number coordinates, and queues
    /// requests without an answer while the lock is held.
    pub fn new(me: NodeId, group: Group) -> Self {
        Self::with_when_busy(me, group, WhenBusy::Block)
    }

    /// An idle node of this group, whose coordinator answers requests as `when_busy` says while the
    /// lock is held.
    pub fn with_when_busy(me: NodeId, group: Group, when_busy: WhenBusy) -> Self {
        let coordinator = group.first().unwrap_or(me);
        Self::with_config(Config { me, group, coordinator, when_busy })
    }

    /// An idle node of this group with this coordinator, which queues requests without an answer
    /// while the lock is held.
    pub fn with_coordinator(me: NodeId, group: Group, coordinator: NodeId) -> Self {
        Self::with_config(Config { me, group, coordinator, when_busy: WhenBusy::Block })
    }

    /// Returns the granted ticket, or `None` if there is none or this node is not the coordinator.
    pub(crate) fn holder(&self) -> Option<Ticket> {
        match &self.role {
            Role::Requester => None,
            Role::Coordinator(lock) => lock.holder,
        }
    }

    /// Returns the largest fence received; at the coordinator, the fence of the latest grant.
    pub(crate) fn fence(&self) -> Fence {
        self.fence
    }

    fn with_config(config: Config) -> Self {
        let role =
            if config.me == config.coordinator { Role::Coordinator(LockState::default()) } else { Role::Requester };
        Self {
            config: Fixed::new(config),
            last_ticket: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            discarded_tries: BTreeSet::new(),
            role,
        }
    }

    /// CE-1. The coordinator handles its own requests without a message.
    fn request(&mut self, patience: Patience, out: &mut Effects<'_, Self>) {
        let ticket = Ticket { node: self.config.me, number: self.last_ticket.tick() };
        out.note("CE-1", format_args!("requests entry with {ticket}"));
        self.send_request(ticket, patience, out);
    }

    fn send_request(&mut self, ticket: Ticket, patience: Patience, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Waiting(Waiting::Requested { ticket, patience });
        self.send_to_coordinator(
            Message::Request { ticket, patience: self.config.when_busy.message_patience(patience) },
            out,
        );
    }

    /// CE-2. Ignores tickets of nodes outside the group and tickets that were returned before they
    /// arrived.
    fn on_request(&mut self, ticket: Ticket, patience: Patience, out: &mut Effects<'_, Self>) {
        let is_member = self.config.group.contains(ticket.node);
        let Role::Coordinator(lock) = &mut self.role else {
            return out.note("CE-2", format_args!("ignores {ticket}: not the coordinator"));
        };
        if !is_member {
            return out.note("CE-2", format_args!("ignores {ticket}: its node is not a member"));
        }
        if lock.returned_early.remove(&ticket) {
            return out.note("CE-2", format_args!("ignores {ticket}: it was returned before it arrived"));
        }
        match (lock.holder, patience) {
            (None, Patience::Wait | Patience::Try) => self.grant(ticket, out),
            (Some(holder), Patience::Wait) => {
                lock.queue.push_back(ticket);
                out.note("CE-2", format_args!("queues {ticket}: {holder} is granted"));
                self.notify_if_deny_and_queue(ticket, out);
            }
            (Some(_), Patience::Try) => self.deny(ticket, out),
        }
    }

    fn grant(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        let Role::Coordinator(lock) = &mut self.role else { return };
        lock.holder = Some(ticket);
        self.fence = self.fence.next();
        out.note("CE-2", format_args!("grants {ticket}"));
        self.send_to_requester(ticket.node, Message::Grant { ticket, fence: self.fence }, out);
    }

    /// CE-3. Ignores a grant that crossed a cancellation, and returns the grant of a discarded try.
    fn on_grant(&mut self, ticket: Ticket, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        if self.patience_of_request(ticket).is_some() {
            self.phase = Phase::Inside(ticket);
            out.note("CE-3", format_args!("enters with {ticket}"));
            out.emit(Event::entered(fence));
        } else if self.discarded_tries.remove(&ticket) {
            out.note("CE-6", format_args!("returns {ticket} unused"));
            self.send_to_coordinator(Message::Release { ticket, fence: self.fence }, out);
        } else {
            out.note("CE-3", format_args!("ignores a grant of {ticket}: no request waits with it"));
        }
    }

    /// CE-4.
    fn release(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Inside(ticket) = self.phase.end() else { return };
        out.emit(Event::Left);
        out.note("CE-4", format_args!("returns {ticket}"));
        self.send_to_coordinator(Message::Release { ticket, fence: self.fence }, out);
    }

    /// CE-5. A ticket that is neither granted nor queued has not arrived yet.
    fn on_release(&mut self, ticket: Ticket, fence: Fence, out: &mut Effects<'_, Self>) {
        self.fence.raise(fence);
        let Role::Coordinator(lock) = &mut self.role else {
            return out.note("CE-5", format_args!("ignores {ticket}: not the coordinator"));
        };
        if lock.holder == Some(ticket) {
            lock.holder = None;
            match lock.queue.pop_front() {
                Some(next) => {
                    out.note("CE-5", format_args!("receives {ticket} back"));
                    self.grant(next, out);
                }
                None => out.note("CE-5", format_args!("receives {ticket} back; the queue is empty")),
            }
        } else if let Some(index) = lock.queue.iter().position(|queued| *queued == ticket) {
            lock.queue.remove(index);
            out.note("CE-5", format_args!("removes {ticket} from the queue"));
        } else if self.config.group.contains(ticket.node) {
            lock.returned_early.insert(ticket);
            out.note("CE-5", format_args!("will ignore {ticket}, which was returned before it arrived"));
        }
    }

    /// CE-6. The coordinator answers a try soon in any case, so this node only discards the try; a
    /// ticket that waits must leave the coordinator's queue. The coordinator keeps no state of a
    /// denied ticket, so a node that backs off sends no message.
    fn cancel(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(waiting) = self.phase.end() else { return };
        out.emit(Event::Cancelled);
        let (Waiting::Requested { ticket, .. } | Waiting::Backoff { ticket }) = waiting;
        out.note("CE-6", format_args!("cancels {ticket}"));
        match waiting {
            Waiting::Requested { patience, .. } => match self.config.when_busy.message_patience(patience) {
                Patience::Wait => self.send_to_coordinator(Message::Release { ticket, fence: self.fence }, out),
                Patience::Try => {
                    self.discarded_tries.insert(ticket);
                }
            },
            Waiting::Backoff { .. } => out.cancel_timer(Timer::AskAgain),
        }
    }

    /// CE-7.
    fn deny(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        out.note("CE-7", format_args!("denies {ticket}"));
        self.send_to_requester(ticket.node, Message::Denied { ticket }, out);
    }

    /// CE-7 to CE-9. The coordinator keeps no state of a denied try.
    fn on_denial(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        match (self.patience_of_request(ticket), self.config.when_busy) {
            (Some(Patience::Try), _) => {
                self.phase.end();
                out.emit(Event::Denied);
            }
            (Some(Patience::Wait), WhenBusy::Deny { delay }) => self.back_off(ticket, delay, out),
            (Some(Patience::Wait), WhenBusy::Block | WhenBusy::DenyAndQueue) => {
                out.note("CE-9", format_args!("is denied for now, and waits with {ticket}"));
            }
            // The answer to a discarded try, or a denial that arrives after the grant or the
            // cancellation of its ticket.
            (None, _) => {
                self.discarded_tries.remove(&ticket);
            }
        }
    }

    /// CE-8. The node can reuse the ticket: the coordinator has no state of it, and no message
    /// about it is in transit.
    fn back_off(&mut self, ticket: Ticket, delay: Span, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Waiting(Waiting::Backoff { ticket });
        out.note("CE-8", format_args!("will retry with {ticket}"));
        out.set_timer(Timer::AskAgain, delay);
    }

    /// CE-8.
    fn retry(&mut self, out: &mut Effects<'_, Self>) {
        let Phase::Waiting(Waiting::Backoff { ticket }) = self.phase else { return };
        out.note("CE-8", format_args!("retries with {ticket}"));
        self.send_request(ticket, Patience::Wait, out);
    }

    /// CE-9. Only in the form deny-and-queue: tells the requester that its ticket is queued.
    fn notify_if_deny_and_queue(&mut self, ticket: Ticket, out: &mut Effects<'_, Self>) {
        match self.config.when_busy {
            WhenBusy::DenyAndQueue => {
                out.note("CE-9", format_args!("denies {ticket} for now"));
                self.send_to_requester(ticket.node, Message::Denied { ticket }, out);
            }
            WhenBusy::Block | WhenBusy::Deny { .. } => {}
        }
    }

    /// Returns the patience of our request if we wait with this ticket.
    fn patience_of_request(&self, ticket: Ticket) -> Option<Patience> {
        match &self.phase {
            Phase::Waiting(Waiting::Requested { ticket: ours, patience }) if *ours == ticket => Some(*patience),
            Phase::Waiting(_) | Phase::Idle | Phase::Inside(_) => None,
        }
    }

    /// Sends a message to the coordinator, or handles it directly if this node coordinates.
    fn send_to_coordinator(&mut self, message: Message, out: &mut Effects<'_, Self>) {
        let is_coordinator = self.config.me == self.config.coordinator;
        match (is_coordinator, message) {
            (false, message) => out.send(self.config.coordinator, message),
            (true, Message::Request { ticket, patience }) => self.on_request(ticket, patience, out),
            (true, Message::Release { ticket, fence }) => self.on_release(ticket, fence, out),
            (true, Message::Grant { .. } | Message::Denied { .. }) => {}
        }
    }

    /// Sends a message from the coordinator to a requester, or handles it directly if that is this
    /// node.
    fn send_to_requester(&mut self, requester: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        let is_requester = self.config.me == requester;
        match (is_requester, message) {
            (false, message) => out.send(requester, message),
            (true, Message::Grant { ticket, fence }) => self.on_grant(ticket, fence, out),
            (true, Message::Denied { ticket }) => self.on_denial(ticket, out),
            (true, Message::Request { .. } | Message::Release { .. }) => {}
        }
    }

    fn assert_invariants(&self) {
        let Role::Coordinator(lock) = &self.role else { return };
        debug_assert!(lock.holder.is_some() || lock.queue.is_empty(), "no ticket is queued while the lock is free");
        debug_assert!(
            lock.queue.iter().all(|queued| !lock.returned_early.contains(queued)),
            "no returned ticket is queued"
        );
    }
}

impl OneOfMany for Central {
    floor_from_fields!(last_ticket, fence);

    fn holds_only_floor(&self) -> bool {
        let lock_is_free = match &self.role {
            Role::Requester => true,
            Role::Coordinator(lock) => lock.holder.is_none() && lock.returned_early.is_empty(),
        };
        lock_is_free && self.discarded_tries.is_empty() && self.phase.is_idle()
    }
}

impl ViewTransition for Central {
    fn client_state(&self) -> ClientState {
        match &self.phase {
            Phase::Idle => ClientState::Idle,
            Phase::Waiting(Waiting::Requested { patience, .. }) => ClientState::waiting(*patience, Access::Exclusive),
            Phase::Waiting(Waiting::Backoff { .. }) => ClientState::waiting(Patience::Wait, Access::Exclusive),
            Phase::Inside(_) => ClientState::Inside(Access::Exclusive),
        }
    }

    fn queue(&self) -> Vec<NodeId> {
        match &self.role {
            Role::Requester => Vec::new(),
            Role::Coordinator(lock) => lock.queue.iter().map(|ticket| ticket.node).collect(),
        }
    }

    /// The lowest member coordinates and rebuilds the holder and the queue. A node in the rebuilt
    /// queue continues to wait. Tries, and all requests under `deny`, are not queued: their nodes
    /// repeat them. A ticket's number in the new view is the clock that all members computed for
    /// its request.
    fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        *self = Self::with_when_busy(me, start.group().clone(), self.config.when_busy);
        let holder = start.holder().map(|node| Ticket { node, number: start.inside_clock() });
        let is_queued = |waiter: &Waiter| self.config.when_busy.message_patience(waiter.patience) == Patience::Wait;
        let ticket = |waiter: &Waiter| Ticket { node: waiter.node, number: waiter.clock };
        let queue: VecDeque<_> = start.waiters().iter().filter(|waiter| is_queued(waiter)).map(ticket).collect();
        if let Some(ticket) = holder.filter(|ticket| ticket.node == me) {
            self.phase = Phase::Inside(ticket);
        } else if let Some(ticket) = queue.iter().find(|ticket| ticket.node == me) {
            self.last_ticket = ticket.number;
            self.phase = Phase::Waiting(Waiting::Requested { ticket: *ticket, patience: Patience::Wait });
        }
        if let Role::Coordinator(lock) = &mut self.role {
            *lock = LockState { holder, queue, returned_early: BTreeSet::new() };
        }
    }

    /// Grants the first ticket in the queue if no member is in the critical section.
    fn start_view(&mut self, out: &mut Effects<'_, Self>) {
        let Role::Coordinator(lock) = &mut self.role else { return };
        if lock.holder.is_none()
            && let Some(next) = lock.queue.pop_front()
        {
            self.grant(next, out);
        }
    }
}

#[cfg(test)]
mod tests;
