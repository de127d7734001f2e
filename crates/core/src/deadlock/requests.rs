//! A host in which processes send requests to each other and wait for answers.
//!
//! A process asks others, and waits until all of them, or any of them, have answered. A waiting
//! process does nothing else: it answers no request. As in the papers on deadlock detection, a wait
//! exists from the moment when a process asks until the other one answers or the process cancels,
//! whether or not the messages have arrived.
//!
//! ```text
//! RQ-1  a process asks           → number the wait, send a request to each agent asked, and inform
//!                                  the detector
//! RQ-2  a request arrives        → store the waiter, and inform the detector
//! RQ-3  a process answers        → send the answer, and inform the detector
//! RQ-4  an answer arrives        → no longer wait for its sender; if the need is met, continue and
//!                                  withdraw the other requests; inform the detector
//! RQ-5  a process cancels        → withdraw its requests, inform the detector, and continue
//! RQ-6  a request is withdrawn   → forget it, and inform the detector
//! RQ-7  the detector emits       → pass the event on to the client
//! ```
//!
//! Requests, answers and withdrawals count as control messages: they are not part of the cost of
//! detection.

use super::{AbortCost, Agent, Command, Detector, Event, Need, Plan, Refusal, WaitEvent, WaitId};
use crate::adapt;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// A site with its processes and its part of a detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requests<D> {
    config: Fixed<Config>,
    processes: Vec<Process>,
    detector: D,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    plan: Arc<Plan>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    /// The number of its latest wait.
    latest_wait: WaitId,
    /// The remaining need; `None` if the process does not wait.
    need: Option<Need<Agent>>,
    /// The agents that wait for it, with the numbers of their waits.
    waiters: BTreeMap<Agent, WaitId>,
    /// The time of its first request.
    first_request_at: Option<Time>,
}

/// The messages between sites.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message<M> {
    /// The sender waits for the receiver.
    Request(RequestHeader),
    /// The receiver need no longer wait for the sender.
    Answer(RequestHeader),
    /// The sender no longer waits for the receiver.
    Withdraw(RequestHeader),
    Detector(M),
}

/// The sender and the receiver of a message, and the wait that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestHeader {
    pub from: Agent,
    pub to: Agent,
    /// The number of the wait among those of the waiting agent.
    #[cfg_attr(feature = "serde", serde(rename = "spell"))]
    pub wait_id: WaitId,
}

/// `P1→P2`.
impl fmt::Display for RequestHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.from, self.to)
    }
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Answer(_) => "release",
            Self::Withdraw(_) => "withdraw",
            Self::Detector(message) => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Request(header) | Self::Answer(header) | Self::Withdraw(header) => Some(header),
            Self::Detector(message) => message.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Request(_) | Self::Answer(_) | Self::Withdraw(_) => Class::Control,
            Self::Detector(message) => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request(header) | Self::Withdraw(header) => Some(header.from.site),
            Self::Answer(header) => Some(header.to.site),
            Self::Detector(message) => message.on_behalf_of(),
        }
    }
}

impl<D: Detector> Requests<D> {
    /// Creates a site whose processes do not wait.
    pub fn new(me: NodeId, plan: Arc<Plan>, detector: D) -> Self {
        let processes = alloc::vec![Process::default(); usize::from(plan.processes_at(me))];
        Self { config: Fixed::new(Config { me, plan }), processes, detector }
    }

    fn handle_command(&mut self, now: Time, command: Command, out: &mut Effects<'_, Self>) {
        let number = command.process();
        let Some(process) = self.processes.get(usize::from(number)) else {
            return out.emit(Event::Refused(Refusal::NoSuchProcess));
        };
        let agent = Agent::process(self.config.me, number);
        let is_waiting = process.need.is_some();
        match command {
            Command::Ask { .. } | Command::Answer { .. } if is_waiting => out.emit(Event::Refused(Refusal::Waiting)),
            Command::Cancel { .. } | Command::Check { .. } if !is_waiting => {
                out.emit(Event::Refused(Refusal::NotWaiting));
            }
            Command::Ask { need, .. } => match self.find_refusal(agent, &need) {
                Some(refusal) => out.emit(Event::Refused(refusal)),
                None => self.ask(now, agent, need, out),
            },
            Command::Answer { to, .. } => self.answer(now, agent, to, out),
            Command::Cancel { .. } => self.cancel(now, agent, out),
            Command::Check { .. } => self.inform(now, WaitEvent::Check { agent }, out),
        }
    }

    fn exists(&self, agent: Agent) -> bool {
        !agent.is_resource() && agent.number < self.config.plan.processes_at(agent.site)
    }

    fn find_refusal(&self, agent: Agent, need: &Need<Agent>) -> Option<Refusal> {
        let awaited = need.awaited();
        let is_repeated = |(index, to): (usize, &Agent)| awaited.iter().take(index).any(|earlier| earlier == to);
        if awaited.is_empty()
            || awaited.contains(&agent)
            || !awaited.iter().all(|to| self.exists(*to))
            || awaited.iter().enumerate().any(is_repeated)
        {
            return Some(Refusal::InvalidNeed);
        }
        (!self.detector.supports(need)).then_some(Refusal::OtherModel)
    }

    /// RQ-1. Informs the detector after the requests are sent, so that on FIFO links the detector's
    /// messages arrive after them.
    fn ask(&mut self, now: Time, agent: Agent, need: Need<Agent>, out: &mut Effects<'_, Self>) {
        let Some(process) = self.processes.get_mut(usize::from(agent.number)) else { return };
        process.latest_wait = process.latest_wait.next();
        process.need = Some(need.clone());
        process.first_request_at.get_or_insert(now);
        let wait_id = process.latest_wait;
        let abort_cost = self.abort_cost(agent);
        out.note("RQ-1", format_args!("{agent} asks {need}"));
        out.emit(Event::Waits { agent, wait_id, need: need.clone() });
        for to in need.awaited() {
            self.send(now, Message::Request(RequestHeader { from: agent, to: *to, wait_id }), *to, out);
        }
        self.inform(now, WaitEvent::Blocked { agent, wait_id, need, abort_cost }, out);
    }

    /// Returns the cost of aborting a process. Each agent that waits for it counts as a lock that
    /// it holds.
    fn abort_cost(&self, agent: Agent) -> AbortCost {
        let process = self.processes.get(usize::from(agent.number));
        let (first_request_at, locks) =
            process.map_or((None, 0), |process| (process.first_request_at, process.waiters.len() as u32));
        AbortCost {
            started_at: first_request_at.unwrap_or_default(),
            locks,
            priority: self.config.plan.priority(agent.site, agent.number),
        }
    }

    /// RQ-2.
    fn on_request(&mut self, now: Time, header: RequestHeader, out: &mut Effects<'_, Self>) {
        let RequestHeader { from, to, wait_id } = header;
        let Some(process) = self.processes.get_mut(usize::from(to.number)) else { return };
        process.waiters.insert(from, wait_id);
        out.note("RQ-2", format_args!("{from} waits for {to}"));
        out.emit(Event::Asked { agent: to, by: from, wait_id });
        self.inform(now, WaitEvent::WaiterAdded { agent: to, waiter: from, wait_id }, out);
    }

    /// RQ-3.
    fn answer(&mut self, now: Time, agent: Agent, to: Agent, out: &mut Effects<'_, Self>) {
        let process = self.processes.get_mut(usize::from(agent.number));
        let Some(wait_id) = process.and_then(|process| process.waiters.remove(&to)) else {
            return out.emit(Event::Refused(Refusal::NotAwaited));
        };
        out.note("RQ-3", format_args!("{agent} answers {to}"));
        out.emit(Event::Answers { agent, to, wait_id });
        self.inform(now, WaitEvent::WaiterRemoved { agent, waiter: to, wait_id }, out);
        self.send(now, Message::Answer(RequestHeader { from: agent, to, wait_id }), to, out);
    }

    /// RQ-4.
    fn on_answer(&mut self, now: Time, header: RequestHeader, out: &mut Effects<'_, Self>) {
        let RequestHeader { from, to, wait_id } = header;
        let process = self.processes.get_mut(usize::from(to.number)).filter(|process| process.latest_wait == wait_id);
        let Some(Process { need: Some(need), .. }) = process else {
            return out.note("RQ-4", format_args!("ignores it: that wait of {to} has ended"));
        };
        if !need.awaited().contains(&from) {
            return out.note("RQ-4", format_args!("ignores it: {to} does not wait for {from}"));
        }
        if let Need::All(awaited) = need
            && awaited.len() > 1
        {
            awaited.retain(|other| *other != from);
            out.note("RQ-4", format_args!("{to} still waits for {need}"));
            let abort_cost = self.abort_cost(to);
            return self.inform(now, WaitEvent::DependencyReleased { agent: to, by: from, abort_cost }, out);
        }
        out.note("RQ-4", format_args!("{to} continues"));
        self.end_wait(now, to, Some(from), out);
        out.emit(Event::Runs { agent: to, wait_id });
    }

    /// RQ-5.
    fn cancel(&mut self, now: Time, agent: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait_id) = self.processes.get(usize::from(agent.number)).map(|process| process.latest_wait) else {
            return;
        };
        out.note("RQ-5", format_args!("{agent} cancels its wait"));
        out.emit(Event::Cancelled { agent, wait_id });
        self.end_wait(now, agent, None, out);
    }

    /// Ends a wait, withdraws its requests except the one that `answered` has answered, and informs
    /// the detector.
    fn end_wait(&mut self, now: Time, agent: Agent, answered: Option<Agent>, out: &mut Effects<'_, Self>) {
        let Some(process) = self.processes.get_mut(usize::from(agent.number)) else { return };
        let Some(need) = process.need.take() else { return };
        let wait_id = process.latest_wait;
        for to in need.awaited().iter().filter(|to| Some(**to) != answered) {
            self.send(now, Message::Withdraw(RequestHeader { from: agent, to: *to, wait_id }), *to, out);
        }
        self.inform(now, WaitEvent::Unblocked { agent }, out);
    }

    /// RQ-6.
    fn on_withdrawal(&mut self, now: Time, header: RequestHeader, out: &mut Effects<'_, Self>) {
        let RequestHeader { from, to, wait_id } = header;
        let Some(process) = self.processes.get_mut(usize::from(to.number)) else { return };
        if process.waiters.get(&from) != Some(&wait_id) {
            return out.note("RQ-6", format_args!("{to} has answered {from} already"));
        }
        process.waiters.remove(&from);
        out.note("RQ-6", format_args!("{from} no longer waits for {to}"));
        out.emit(Event::Withdrawn { agent: to, by: from });
        self.inform(now, WaitEvent::WaiterRemoved { agent: to, waiter: from, wait_id }, out);
    }

    fn on_message(&mut self, now: Time, from: NodeId, message: Message<D::Message>, out: &mut Effects<'_, Self>) {
        let is_valid = |header: &RequestHeader| {
            header.from.site == from
                && self.exists(header.from)
                && header.to.site == self.config.me
                && self.exists(header.to)
        };
        match message {
            Message::Request(header) if is_valid(&header) => self.on_request(now, header, out),
            Message::Answer(header) if is_valid(&header) => self.on_answer(now, header, out),
            Message::Withdraw(header) if is_valid(&header) => self.on_withdrawal(now, header, out),
            Message::Request(header) | Message::Answer(header) | Message::Withdraw(header) => {
                out.note("RQ-2", format_args!("ignores {header}, which came from {from}"));
            }
            Message::Detector(message) => self.step_detector(now, Input::Message { from, message }, out),
        }
    }

    /// Sends a message, or handles it directly if it is for this site.
    fn send(&mut self, now: Time, message: Message<D::Message>, to: Agent, out: &mut Effects<'_, Self>) {
        if to.site == self.config.me {
            self.on_message(now, to.site, message, out);
        } else {
            out.send(to.site, message);
        }
    }

    fn inform(&mut self, now: Time, event: WaitEvent, out: &mut Effects<'_, Self>) {
        self.step_detector(now, Input::Command(event), out);
    }

    /// RQ-7. Steps the detector with an input, and emits its findings.
    fn step_detector(&mut self, now: Time, input: Input<D>, out: &mut Effects<'_, Self>) {
        for finding in adapt::step_inner(&mut self.detector, now, input, Message::Detector, out) {
            out.emit(Event::from(finding));
        }
    }
}

impl<D: Detector> Protocol for Requests<D> {
    type Command = Command;
    type Message = Message<D::Message>;
    type Timer = D::Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => self.handle_command(now, command, out),
            Input::Message { from, message } => self.on_message(now, from, message, out),
            Input::Timer(timer) => self.step_detector(now, Input::Timer(timer), out),
            // As in textbooks, the host saves nothing, uses no failure detector, and runs in a
            // fixed group.
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
