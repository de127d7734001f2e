//! A host in which processes lock resources, each with its own coordinator.
//!
//! A process asks for resources, and each of them is a lock of the mutex family (`mutex::central`):
//! its coordinator grants one request at a time. A process waits for a resource until it is
//! granted, and a held resource waits for its holder to release it. Because both are waits of one
//! agent for another, a detector need not know about locks. Two processes that lock two resources
//! in opposite orders are the classic deadlock, and no coordinator sees more than half of it.
//!
//! ```text
//! LK-1  a process asks           → send a request to the coordinators of all these resources, and
//!                                  inform the detector
//! LK-2  a request arrives        → the process waits for the resource: inform the detector
//! LK-3  a resource is granted    → the resource has answered the process, and waits for it from
//!                                  now on; once the process has released it, the resource waits
//!                                  for no agent
//! LK-4  the grant arrives        → the process holds the resource: wait for the others, or
//!                                  continue. The lock itself returns the grant of a cancelled
//!                                  request
//! LK-5  a process releases       → return the resource
//! LK-6  a process cancels        → withdraw all its requests, and continue with what it has
//! LK-7  the detector emits       → pass the event on to the client
//! ```
//!
//! In LK-3 to LK-6, too, the site informs the detector of each wait that begins or ends.
//!
//! The locks' messages count as control messages: they are not part of the cost of detection.

use super::{AbortCost, Agent, Command, Detector, Event, Need, Plan, Refusal, WaitEvent, WaitId};
use crate::adapt;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::Group;
use crate::mutex;
use crate::mutex::central::{self, Central, Ticket};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// A site with its process, its part of every lock, and its part of a detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locks<D> {
    config: Fixed<Config>,
    locks: Vec<Lock>,
    process: Process,
    detector: D,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    plan: Arc<Plan>,
    resources: Vec<Agent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lock {
    mutex: Central,
    /// At the coordinator: the nodes whose processes wait for the resource, with the numbers of
    /// their waits.
    waiters: BTreeMap<NodeId, WaitId>,
    /// At the coordinator: the number of the resource's latest wait for a holder.
    wait_id: WaitId,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    /// The number of its latest wait.
    latest_wait: WaitId,
    /// The resources that the process still waits for; `None` if it does not wait.
    need: Option<Vec<Agent>>,
    /// The resources that it holds, with the numbers of their waits for it.
    held_resources: BTreeMap<Agent, WaitId>,
    /// The time of its first request.
    first_request_at: Option<Time>,
}

/// The messages between sites.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message<M> {
    Lock(LockMessage),
    Detector(M),
}

/// A message of one of the locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LockMessage {
    /// The index of `resource` in [`Plan::all_resources`].
    pub lock: u16,
    /// The number of the latest wait of the sender's process. Only requests need it.
    #[cfg_attr(feature = "serde", serde(rename = "spell"))]
    pub wait_id: WaitId,
    pub message: central::Message,
    pub resource: Agent,
}

/// A timer of the lock with this index, or of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Timer<T> {
    Lock(u16, central::Timer),
    Detector(T),
}

/// `R1`.
impl fmt::Display for LockMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)
    }
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Lock(lock) => lock.message.kind(),
            Self::Detector(message) => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Lock(lock) => Some(lock),
            Self::Detector(message) => message.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Lock(_) => Class::Control,
            Self::Detector(message) => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Lock(lock) => lock.message.on_behalf_of(),
            Self::Detector(message) => message.on_behalf_of(),
        }
    }
}

impl<D: Detector> Locks<D> {
    /// Creates a site whose process neither waits nor holds a resource.
    pub fn new(me: NodeId, plan: Arc<Plan>, detector: D) -> Self {
        let group = Group::of_size(plan.sites);
        let lock = |coordinator: &NodeId| Lock {
            mutex: Central::with_coordinator(me, group.clone(), *coordinator),
            waiters: BTreeMap::new(),
            wait_id: WaitId::default(),
        };
        let locks = plan.resource_coordinators.iter().map(lock).collect();
        let resources = plan.all_resources().collect();
        Self { config: Fixed::new(Config { me, plan, resources }), locks, process: Process::default(), detector }
    }

    fn process_agent(&self) -> Agent {
        Agent::process(self.config.me, 0)
    }

    fn resource_index(&self, resource: Agent) -> Option<usize> {
        self.config.resources.iter().position(|known| *known == resource)
    }

    fn handle_command(&mut self, now: Time, command: Command, out: &mut Effects<'_, Self>) {
        let is_waiting = self.process.need.is_some();
        match command {
            command if command.process() != 0 => out.emit(Event::Refused(Refusal::NoSuchProcess)),
            Command::Ask { .. } | Command::Answer { .. } if is_waiting => out.emit(Event::Refused(Refusal::Waiting)),
            Command::Cancel { .. } | Command::Check { .. } if !is_waiting => {
                out.emit(Event::Refused(Refusal::NotWaiting));
            }
            Command::Ask { need, .. } => match self.find_refusal(&need) {
                Some(refusal) => out.emit(Event::Refused(refusal)),
                None => self.ask(now, need, out),
            },
            Command::Answer { to, .. } => self.release(now, to, out),
            Command::Cancel { .. } => self.cancel(now, out),
            Command::Check { .. } => self.inform(now, WaitEvent::Check { agent: self.process_agent() }, out),
        }
    }

    fn find_refusal(&self, need: &Need<Agent>) -> Option<Refusal> {
        let awaited = need.awaited();
        let is_invalid = |(index, resource): (usize, &Agent)| {
            let is_repeated = awaited.iter().take(index).any(|other| other == resource);
            is_repeated
                || self.resource_index(*resource).is_none()
                || self.process.held_resources.contains_key(resource)
        };
        if awaited.is_empty() || awaited.iter().enumerate().any(is_invalid) {
            return Some(Refusal::InvalidNeed);
        }
        (need.has_alternatives() || !self.detector.supports(need)).then_some(Refusal::OtherModel)
    }

    /// LK-1. Informs the detector after the requests are sent, so that the detector's messages
    /// arrive after them.
    fn ask(&mut self, now: Time, need: Need<Agent>, out: &mut Effects<'_, Self>) {
        let agent = self.process_agent();
        self.process.latest_wait = self.process.latest_wait.next();
        self.process.need = Some(need.awaited().to_vec());
        let wait_id = self.process.latest_wait;
        self.process.first_request_at.get_or_insert(now);
        out.note("LK-1", format_args!("{agent} asks for {need}"));
        out.emit(Event::Waits { agent, wait_id, need: need.clone() });
        for resource in need.awaited() {
            let Some(index) = self.resource_index(*resource) else { continue };
            if resource.site == self.config.me {
                self.on_request(now, index, agent.site, wait_id, out);
            }
            self.step_lock(now, index, Input::Command(mutex::Command::Acquire), out);
        }
        // The process may already have been granted resources that its own site coordinates, and
        // waits only for the remaining ones.
        if let Some(remaining) = self.process.need.clone() {
            self.inform(
                now,
                WaitEvent::Blocked { agent, wait_id, need: Need::All(remaining), abort_cost: self.abort_cost() },
                out,
            );
        }
    }

    fn abort_cost(&self) -> AbortCost {
        let Process { first_request_at, held_resources, .. } = &self.process;
        let priority = self.config.plan.priority(self.config.me, 0);
        AbortCost { started_at: first_request_at.unwrap_or_default(), locks: held_resources.len() as u32, priority }
    }

    /// LK-2.
    fn on_request(&mut self, now: Time, index: usize, waiter: NodeId, wait_id: WaitId, out: &mut Effects<'_, Self>) {
        let (Some(lock), Some(agent)) = (self.locks.get_mut(index), self.config.resources.get(index).copied()) else {
            return;
        };
        lock.waiters.insert(waiter, wait_id);
        let by = Agent::process(waiter, 0);
        out.note("LK-2", format_args!("{by} waits for {agent}"));
        out.emit(Event::Asked { agent, by, wait_id });
        self.inform(now, WaitEvent::WaiterAdded { agent, waiter: by, wait_id }, out);
    }

    /// LK-3. Emits the events of a change of holder, and informs the detector that the resource is
    /// free, and that the new holder no longer waits for it. `previous` is the ticket (the id of a
    /// request) that the lock had granted before. Returns the wait of the resource for its new
    /// holder, if there is one. The caller informs the detector of that wait later: a holder at
    /// this site must first learn that it holds the resource, and so no longer waits for it.
    fn on_holder_change(
        &mut self,
        now: Time,
        index: usize,
        previous: Option<Ticket>,
        out: &mut Effects<'_, Self>,
    ) -> Option<WaitEvent> {
        let (lock, agent) = (self.locks.get_mut(index)?, self.config.resources.get(index).copied()?);
        let (holder, fence) = (lock.mutex.holder(), lock.mutex.fence());
        if previous == holder {
            return None;
        }
        if previous.is_some() {
            let wait_id = lock.wait_id;
            out.note("LK-3", format_args!("{agent} is free"));
            out.emit(Event::Runs { agent, wait_id });
            self.inform(now, WaitEvent::Unblocked { agent }, out);
        }
        let ticket = holder?;
        let lock = self.locks.get_mut(index)?;
        let answered_wait = lock.waiters.remove(&ticket.node).unwrap_or_default();
        // The coordinator and the holder both know the fence, so they number the wait alike.
        let wait_id = WaitId(fence.counter);
        lock.wait_id = wait_id;
        let holder = Agent::process(ticket.node, 0);
        out.note("LK-3", format_args!("{agent} is granted to {holder}"));
        out.emit(Event::Answers { agent, to: holder, wait_id: answered_wait });
        self.inform(now, WaitEvent::WaiterRemoved { agent, waiter: holder, wait_id: answered_wait }, out);
        let need = Need::All([holder].into());
        out.emit(Event::Waits { agent, wait_id, need: need.clone() });
        Some(WaitEvent::Blocked { agent, wait_id, need, abort_cost: AbortCost::default() })
    }

    /// LK-4.
    fn enter(&mut self, now: Time, GrantedLock { index, wait_id }: GrantedLock, out: &mut Effects<'_, Self>) {
        let (agent, Some(resource)) = (self.process_agent(), self.config.resources.get(index).copied()) else { return };
        self.process.held_resources.insert(resource, wait_id);
        out.note("LK-4", format_args!("{agent} has {resource}"));
        out.emit(Event::Asked { agent, by: resource, wait_id });
        self.inform(now, WaitEvent::WaiterAdded { agent, waiter: resource, wait_id }, out);
        let Some(need) = &mut self.process.need else { return };
        need.retain(|other| *other != resource);
        if !need.is_empty() {
            let abort_cost = self.abort_cost();
            return self.inform(now, WaitEvent::DependencyReleased { agent, by: resource, abort_cost }, out);
        }
        self.process.need = None;
        self.inform(now, WaitEvent::Unblocked { agent }, out);
        out.emit(Event::Runs { agent, wait_id: self.process.latest_wait });
    }

    /// LK-4, after the lock has returned the grant of a cancelled request. The coordinator's site
    /// has informed its detector that the resource waits for this process. This site informs its
    /// own detector that this wait has ended.
    fn return_unused(&mut self, now: Time, index: usize, wait_id: WaitId, out: &mut Effects<'_, Self>) {
        let (agent, Some(resource)) = (self.process_agent(), self.config.resources.get(index).copied()) else { return };
        out.note("LK-4", format_args!("{agent} has cancelled its request for {resource}"));
        self.inform(now, WaitEvent::WaiterRemoved { agent, waiter: resource, wait_id }, out);
    }

    /// LK-5.
    fn release(&mut self, now: Time, resource: Agent, out: &mut Effects<'_, Self>) {
        let agent = self.process_agent();
        let (Some(wait_id), Some(index)) =
            (self.process.held_resources.remove(&resource), self.resource_index(resource))
        else {
            return out.emit(Event::Refused(Refusal::NotAwaited));
        };
        out.note("LK-5", format_args!("{agent} releases {resource}"));
        out.emit(Event::Answers { agent, to: resource, wait_id });
        self.inform(now, WaitEvent::WaiterRemoved { agent, waiter: resource, wait_id }, out);
        self.step_lock(now, index, Input::Command(mutex::Command::Release), out);
    }

    /// LK-6.
    fn cancel(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Some(need) = self.process.need.take() else { return };
        let (agent, wait_id) = (self.process_agent(), self.process.latest_wait);
        out.note("LK-6", format_args!("{agent} cancels its wait"));
        out.emit(Event::Cancelled { agent, wait_id });
        for resource in need {
            let Some(index) = self.resource_index(resource) else { continue };
            if resource.site == self.config.me {
                self.on_withdrawal(now, index, agent.site, out);
            }
            self.step_lock(now, index, Input::Command(mutex::Command::Cancel), out);
        }
        self.inform(now, WaitEvent::Unblocked { agent }, out);
    }

    /// LK-6. Does nothing if the request has been granted: then the message is a release, which the
    /// lock handles.
    fn on_withdrawal(&mut self, now: Time, index: usize, waiter: NodeId, out: &mut Effects<'_, Self>) {
        let (Some(lock), Some(agent)) = (self.locks.get_mut(index), self.config.resources.get(index).copied()) else {
            return;
        };
        let Some(wait_id) = lock.waiters.remove(&waiter) else { return };
        let by = Agent::process(waiter, 0);
        out.note("LK-6", format_args!("{by} no longer waits for {agent}"));
        out.emit(Event::Withdrawn { agent, by });
        self.inform(now, WaitEvent::WaiterRemoved { agent, waiter: by, wait_id }, out);
    }

    fn on_message(&mut self, now: Time, from: NodeId, message: LockMessage, out: &mut Effects<'_, Self>) {
        let LockMessage { lock, wait_id, message, resource } = message;
        let index = usize::from(lock);
        if self.config.resources.get(index) != Some(&resource) {
            return out.note("LK-2", format_args!("ignores a message about {resource}, which is not lock {lock}"));
        }
        let is_valid = match &message {
            central::Message::Request { ticket, .. } | central::Message::Release { ticket, .. } => {
                resource.site == self.config.me && ticket.node == from
            }
            central::Message::Grant { ticket, .. } | central::Message::Denied { ticket } => {
                resource.site == from && ticket.node == self.config.me
            }
        };
        if !is_valid {
            return out.note("LK-2", format_args!("ignores a message about {resource}, which came from {from}"));
        }
        let granted_wait = match &message {
            central::Message::Request { .. } => {
                self.on_request(now, index, from, wait_id, out);
                None
            }
            central::Message::Release { .. } => {
                self.on_withdrawal(now, index, from, out);
                None
            }
            central::Message::Grant { fence, .. } => Some(WaitId(fence.counter)),
            central::Message::Denied { .. } => None,
        };
        let has_entered = self.step_lock(now, index, Input::Message { from, message }, out);
        if let Some(wait_id) = granted_wait.filter(|_| !has_entered) {
            self.return_unused(now, index, wait_id, out);
        }
    }

    /// Steps a lock with an input, and handles a change of its holder (LK-3) and a grant to the
    /// process of this site (LK-4). Returns whether that process got the resource.
    fn step_lock(&mut self, now: Time, index: usize, input: Input<Central>, out: &mut Effects<'_, Self>) -> bool {
        let (Some(lock), Some(resource)) = (self.locks.get_mut(index), self.config.resources.get(index).copied())
        else {
            return false;
        };
        let wait_id = self.process.latest_wait;
        let previous = lock.mutex.holder();
        let lock_number = u16::try_from(index).unwrap_or(u16::MAX);
        let wrap = |message| Message::Lock(LockMessage { lock: lock_number, wait_id, message, resource });
        let wrap_timer = |timer| Timer::Lock(lock_number, timer);
        let events = adapt::step_inner_with(&mut lock.mutex, now, input, (wrap, wrap_timer), out);
        let resource_wait = self.on_holder_change(now, index, previous, out);
        let granted_lock = events.into_iter().find_map(|event| match event {
            mutex::Event::Entered { fence, .. } => Some(GrantedLock { index, wait_id: WaitId(fence.counter) }),
            mutex::Event::Extended { .. }
            | mutex::Event::Lost
            | mutex::Event::Left
            | mutex::Event::Denied
            | mutex::Event::Cancelled
            | mutex::Event::Refused(_) => None,
        });
        let has_entered = granted_lock.is_some();
        if let Some(granted_lock) = granted_lock {
            self.enter(now, granted_lock, out);
        }
        if let Some(event) = resource_wait {
            self.inform(now, event, out);
        }
        has_entered
    }

    fn inform(&mut self, now: Time, event: WaitEvent, out: &mut Effects<'_, Self>) {
        self.step_detector(now, Input::Command(event), out);
    }

    /// LK-7. Steps the detector with an input, and emits its findings.
    fn step_detector(&mut self, now: Time, input: Input<D>, out: &mut Effects<'_, Self>) {
        for finding in adapt::step_inner_with(&mut self.detector, now, input, (Message::Detector, Timer::Detector), out)
        {
            out.emit(Event::from(finding));
        }
    }
}

/// A lock that was granted to the process of this site.
struct GrantedLock {
    index: usize,
    /// The number of the resource's wait for its new holder.
    wait_id: WaitId,
}

impl<D: Detector> Protocol for Locks<D> {
    type Command = Command;
    type Message = Message<D::Message>;
    type Timer = Timer<D::Timer>;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => self.handle_command(now, command, out),
            Input::Message { from, message: Message::Lock(message) } => self.on_message(now, from, message, out),
            Input::Message { from, message: Message::Detector(message) } => {
                self.step_detector(now, Input::Message { from, message }, out);
            }
            Input::Timer(Timer::Detector(timer)) => self.step_detector(now, Input::Timer(timer), out),
            Input::Timer(Timer::Lock(index, timer)) => {
                self.step_lock(now, usize::from(index), Input::Timer(timer), out);
            }
            // The textbook form: it saves nothing, uses no failure detector, and runs in a fixed
            // group.
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
