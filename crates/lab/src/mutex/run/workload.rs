//! The workload: which clients request entry, how often, and how long they hold the lock.

use quorate_core::mutex::{Command, Event};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Chance, Latency};
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use serde::{Deserialize, Serialize};

/// When nodes send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// One node alone, again after some time.
    Single,
    /// All requesters at the start, and again as soon as they have released.
    All,
    /// All requesters at random times.
    Random,
}

/// The behavior of the clients.
#[derive(Clone, Debug)]
pub struct Demand {
    pub pattern: Pattern,
    /// Number of requests, all clients together.
    pub entries: u64,
    /// The requesting nodes. With `Single`, only the last of them sends requests.
    pub requesters: Vec<NodeId>,
    pub hold: Latency,
    /// How long a client waits before its next request. Not used with `All`.
    pub think: Latency,
    /// Probability that a request is a try.
    pub tries: Chance,
    /// Probability that a blocking request is shared, for reading.
    pub readers: Chance,
    /// Probability that a client cancels its request.
    pub cancels: Chance,
    /// Typical duration of a message, the time scale of cancellations.
    pub message_time: Duration,
}

/// The clients of all nodes.
pub struct Requests {
    demand: Demand,
    rng: SeededRng,
    /// Number of requests that clients still have to schedule.
    remaining_requests: u64,
    clients: Vec<ClientPhase>,
    is_requester: Vec<bool>,
    busy_clients: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientPhase {
    Idle,
    /// Requests entry at `request_at`. Neither the request nor the entry that it led to has ended.
    Requesting {
        request_at: Time,
    },
    NodeDown,
}

impl Requests {
    pub fn new(nodes: usize, seed: u64, mut demand: Demand) -> Self {
        if demand.pattern == Pattern::Single {
            demand.requesters = demand.requesters.pop().into_iter().collect();
        }
        let mut is_requester = vec![false; nodes];
        for node in &demand.requesters {
            if let Some(is_requester) = is_requester.get_mut(node.index()) {
                *is_requester = true;
            }
        }
        let remaining = if demand.requesters.is_empty() { 0 } else { demand.entries };
        Self {
            demand,
            rng: SeededRng::new(seed, Stream::Workload),
            remaining_requests: remaining,
            clients: vec![ClientPhase::Idle; nodes],
            is_requester,
            busy_clients: 0,
        }
    }

    fn request(&mut self, at: Time, node: NodeId, plan: &mut Plan<Command>) {
        let Some(client) = self.clients.get_mut(node.index()) else { return };
        if self.remaining_requests == 0 || *client != ClientPhase::Idle {
            return;
        }
        *client = ClientPhase::Requesting { request_at: at };
        self.remaining_requests -= 1;
        self.busy_clients += 1;
        let command = match self.rng.happens(self.demand.tries) {
            true => Command::Try,
            false if self.rng.happens(self.demand.readers) => Command::Share,
            false => Command::Acquire,
        };
        plan.command(at, node, command);
        if self.rng.happens(self.demand.cancels) {
            let cancel_delay = self.rng.between(Duration::ZERO, self.demand.message_time.times(4));
            plan.command(at + cancel_delay, node, Command::Cancel);
        }
    }

    /// Makes a client idle whose request has ended or whose node has restarted, and schedules its
    /// next request after the think time.
    fn finish(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        self.set_phase(node, ClientPhase::Idle);
        let pause = match self.demand.pattern {
            Pattern::All => Duration::ZERO,
            Pattern::Single | Pattern::Random => self.rng.draw_latency(self.demand.think),
        };
        if self.is_requester.get(node.index()).is_some_and(|is_requester| *is_requester) {
            self.request(now + pause, node, plan);
        }
    }

    /// A request that was scheduled for after the crash becomes available to other clients. An
    /// earlier request counts as made.
    fn node_crashed(&mut self, now: Time, node: NodeId) {
        if let Some(ClientPhase::Requesting { request_at }) = self.set_phase(node, ClientPhase::NodeDown)
            && request_at > now
        {
            self.remaining_requests += 1;
        }
    }

    /// Sets the phase of a client and returns the previous one.
    fn set_phase(&mut self, node: NodeId, phase: ClientPhase) -> Option<ClientPhase> {
        let client = self.clients.get_mut(node.index())?;
        let before = std::mem::replace(client, phase);
        if let ClientPhase::Requesting { .. } = before {
            self.busy_clients -= 1;
        }
        Some(before)
    }
}

impl Workload<Command, Event> for Requests {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for node in self.demand.requesters.clone() {
            let first_delay = match self.demand.pattern {
                Pattern::Single | Pattern::All => Duration::ZERO,
                Pattern::Random => self.rng.draw_latency(self.demand.think),
            };
            self.request(Time::ZERO + first_delay, node, plan);
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        match notification {
            ClientEvent::Emitted(Event::Entered { .. }) => {
                let hold = self.rng.draw_latency(self.demand.hold);
                plan.command(now + hold, node, Command::Release);
            }
            ClientEvent::Emitted(Event::Left | Event::Lost | Event::Denied | Event::Cancelled)
            | ClientEvent::Restarted => {
                self.finish(now, node, plan);
            }
            ClientEvent::Crashed => self.node_crashed(now, node),
            ClientEvent::Emitted(Event::Extended { .. } | Event::Refused(_)) | ClientEvent::Alarm => {}
        }
    }

    fn is_done(&self) -> bool {
        self.remaining_requests == 0 && self.busy_clients == 0
    }
}
