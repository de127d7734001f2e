//! The workload: which clients send, how often and to which groups, and which members leave.

use super::in_flight::InFlight;
use quorate_core::multicast::{Command, Event, GroupId, Payload, Refusal};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::Latency;
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use serde::{Deserialize, Serialize};

/// When nodes send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Traffic {
    /// One message at a time, from the senders in turn.
    Single,
    /// All senders, at random times.
    Random,
    /// All senders, as fast as possible.
    Flood,
}

/// The behavior of the clients.
#[derive(Clone, Debug)]
pub struct Demand {
    pub traffic: Traffic,
    /// Number of messages, all senders together.
    pub messages: u64,
    pub senders: Vec<NodeId>,
    /// Minimum number of bytes of a payload; a shorter one is padded with dots. All payloads
    /// differ: each begins with its sender and a count, such as `2:17`.
    pub payload: usize,
    /// Pause of a sender before its next message, unless traffic is `Flood`.
    pub interval: Latency,
    /// The groups and their members; empty for one group of all nodes.
    pub groups: Vec<(GroupId, Group)>,
    /// Number of members that leave during the run; at least one stays. The seed chooses them, and
    /// after how many of its messages each of them leaves.
    pub leaves: usize,
    /// Whether the group has views: then removed and restarted nodes are readmitted.
    pub has_views: bool,
    /// Whether all members must deliver messages of crashed senders that a live member has
    /// delivered.
    pub requires_agreement: bool,
}

/// The clients of all nodes.
pub struct Senders {
    demand: Demand,
    rng: SeededRng,
    /// Number of messages that clients still have to create.
    remaining_messages: u64,
    clients: Vec<Client>,
    next_sender: usize,
    in_flight: InFlight,
}

#[derive(Clone, Debug, Default)]
struct Client {
    state: ClientState,
    is_sender: bool,
    /// Number of messages created so far.
    composed_messages: u64,
    sent_messages: u64,
    /// The number of sent messages after which the client leaves; `None` if it stays or has begun
    /// to leave.
    leaves_after_messages: Option<u64>,
}

/// A message that is not sent yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PendingSend {
    group: GroupId,
    payload: Payload,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum ClientState {
    #[default]
    Idle,
    /// The client requests at instant `at` to send a message, and has no answer yet.
    Requesting {
        message: PendingSend,
        at: Time,
    },
    /// The client must wait until its node can send again.
    Blocked(PendingSend),
    /// The client's node is in no view. The client continues in the next one, with the message that
    /// was refused, if any.
    OutOfView(Option<PendingSend>),
    /// The client waits for the answers to this many leave requests.
    Leaving(usize),
    Gone,
    NodeDown,
}

impl Senders {
    pub fn new(nodes: usize, seed: u64, demand: Demand) -> Self {
        let mut rng = SeededRng::new(seed, Stream::Multicasts);
        let mut clients = vec![Client::default(); nodes];
        for sender in &demand.senders {
            if let Some(client) = clients.get_mut(sender.index()) {
                client.is_sender = true;
            }
        }
        let senders = clients.iter().filter(|client| client.is_sender).count() as u64;
        let mut staying_nodes: Vec<_> = (0..nodes).collect();
        // At least one member stays, so that the group continues to exist.
        for _ in 0..demand.leaves.min(nodes.saturating_sub(1)) {
            let leaver = staying_nodes.swap_remove(rng.below(staying_nodes.len() as u64) as usize);
            if let Some(client) = clients.get_mut(leaver) {
                let messages_per_sender = demand.messages.checked_div(senders).unwrap_or(0);
                client.leaves_after_messages =
                    Some(if client.is_sender { rng.below(messages_per_sender + 1) } else { 0 });
            }
        }
        let mut in_flight = InFlight::new(nodes);
        for (group, members) in demand.groups.iter().filter(|_| !demand.has_views) {
            in_flight.set_members(*group, members);
        }
        let remaining = if senders == 0 { 0 } else { demand.messages };
        Self { demand, rng, remaining_messages: remaining, clients, next_sender: 0, in_flight }
    }

    pub fn remaining_messages(&self) -> u64 {
        self.remaining_messages
    }

    fn has_pending(&self) -> bool {
        self.in_flight.has_pending(self.demand.requires_agreement)
    }

    /// Makes the client of a live node idle, and lets it leave or send its next message. With
    /// [`Traffic::Single`] a sender stays idle until `start_next_sender` selects it.
    fn proceed(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        let Some(client) = self.clients.get_mut(node.index()) else { return };
        client.state = ClientState::Idle;
        // A client that must leave does so at the latest when no messages remain to be created.
        if client
            .leaves_after_messages
            .is_some_and(|messages| client.sent_messages >= messages || self.remaining_messages == 0)
        {
            self.leave(now, node, plan);
        } else if client.is_sender && self.demand.traffic != Traffic::Single {
            let pause = self.pause();
            self.compose(now + pause, node, plan);
        }
    }

    fn pause(&mut self) -> Duration {
        match self.demand.traffic {
            Traffic::Flood => Duration::ZERO,
            Traffic::Single | Traffic::Random => self.rng.draw_latency(self.demand.interval),
        }
    }

    /// Creates the next message of a node, and schedules the request to send it.
    fn compose(&mut self, at: Time, node: NodeId, plan: &mut Plan<Command>) {
        let groups: Vec<_> = self.demand.groups.iter().filter(|(_, members)| members.contains(node)).collect();
        let group = match groups.len() {
            0 if !self.demand.groups.is_empty() => return,
            0 => GroupId::ONLY,
            1 => groups.first().map_or(GroupId::ONLY, |(group, _)| *group),
            several => {
                let index = self.rng.below(several as u64) as usize;
                groups.get(index).map_or(GroupId::ONLY, |(group, _)| *group)
            }
        };
        let Some(client) = self.clients.get_mut(node.index()).filter(|_| self.remaining_messages > 0) else { return };
        self.remaining_messages -= 1;
        client.composed_messages += 1;
        let text = format!("{node}:{}", client.composed_messages);
        let padding = ".".repeat(self.demand.payload.saturating_sub(text.len()));
        let payload = Payload::from(text + &padding);
        self.request(at, node, PendingSend { group, payload }, plan);
    }

    fn request(&mut self, at: Time, node: NodeId, message: PendingSend, plan: &mut Plan<Command>) {
        let Some(client) = self.clients.get_mut(node.index()) else { return };
        plan.command(at, node, Command::Send { group: message.group, payload: message.payload.clone() });
        client.state = ClientState::Requesting { message, at };
    }

    fn leave(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        let at = now + self.pause();
        let mut groups: Vec<_> = self.demand.groups.iter().filter(|(_, members)| members.contains(node)).collect();
        groups.dedup_by_key(|(group, _)| *group);
        let mut groups_to_leave: Vec<_> = groups.into_iter().map(|(group, _)| *group).collect();
        if self.demand.groups.is_empty() {
            groups_to_leave.push(GroupId::ONLY);
        }
        let Some(client) = self.clients.get_mut(node.index()) else { return };
        client.leaves_after_messages = None;
        client.is_sender = false;
        client.state =
            if groups_to_leave.is_empty() { ClientState::Gone } else { ClientState::Leaving(groups_to_leave.len()) };
        for group in groups_to_leave {
            plan.command(at, node, Command::Leave { group });
        }
    }

    /// Records the answer to one of the client's leave requests, if it has any.
    fn finish_leave(&mut self, node: NodeId) {
        if let Some(client) = self.clients.get_mut(node.index())
            && let ClientState::Leaving(groups) = &mut client.state
        {
            *groups = groups.saturating_sub(1);
            if *groups == 0 {
                client.state = ClientState::Gone;
            }
        }
    }

    fn handle_event(&mut self, now: Time, node: NodeId, event: &Event, plan: &mut Plan<Command>) {
        match event {
            Event::Sent { .. } => {
                if let Some(client) = self.clients.get_mut(node.index())
                    && let ClientState::Requesting { .. } = client.state
                {
                    client.sent_messages += 1;
                    self.proceed(now, node, plan);
                }
            }
            Event::Wait { .. } => self.update_state(node, |state| match state {
                ClientState::Requesting { message, .. } => ClientState::Blocked(message),
                other => other,
            }),
            Event::Ready { group } => self.retry(now, node, *group, plan),
            Event::View { group, .. } => {
                self.retry(now, node, *group, plan);
                self.rejoin(now, node, *group, plan);
            }
            Event::Refused(refusal) => self.handle_refusal(now, node, *refusal, plan),
            // A member that is removed before its leave completes has left, too.
            Event::Left { .. } | Event::Excluded { .. } => {
                self.finish_leave(node);
                if matches!(self.clients.get(node.index()).map(|client| &client.state), Some(ClientState::Gone)) {
                    plan.depart(now, node);
                }
            }
            Event::Delivered { .. } => {}
        }
    }

    fn update_state(&mut self, node: NodeId, change: impl FnOnce(ClientState) -> ClientState) {
        if let Some(client) = self.clients.get_mut(node.index()) {
            client.state = change(std::mem::take(&mut client.state));
        }
    }

    /// Repeats a request that had to wait.
    fn retry(&mut self, now: Time, node: NodeId, group: GroupId, plan: &mut Plan<Command>) {
        let Some(ClientState::Blocked(message)) = self.clients.get(node.index()).map(|client| &client.state) else {
            return;
        };
        if message.group == group {
            let message = message.clone();
            self.request(now, node, message, plan);
        }
    }

    /// The client of a node that was in no view continues: with the refused message, or with the
    /// next one.
    fn rejoin(&mut self, now: Time, node: NodeId, group: GroupId, plan: &mut Plan<Command>) {
        match self.clients.get(node.index()).map(|client| client.state.clone()) {
            Some(ClientState::OutOfView(None)) => self.proceed(now, node, plan),
            Some(ClientState::OutOfView(Some(message))) if message.group == group => {
                self.request(now, node, message, plan);
            }
            Some(_) | None => {}
        }
    }

    fn handle_refusal(&mut self, now: Time, node: NodeId, refusal: Refusal, plan: &mut Plan<Command>) {
        let Some(client) = self.clients.get_mut(node.index()) else { return };
        match (std::mem::take(&mut client.state), refusal) {
            (ClientState::Requesting { message, .. }, Refusal::NotAMember) if self.demand.has_views => {
                client.state = ClientState::OutOfView(Some(message));
            }
            // The node is never readmitted, so another client sends a message in place of its own.
            (ClientState::Requesting { .. }, Refusal::NotAMember | Refusal::CannotRejoin | Refusal::Leaving) => {
                client.state = ClientState::Gone;
                self.remaining_messages += 1;
                self.wake_idle_sender(now, plan);
            }
            // Repeating the request would not help.
            (ClientState::Requesting { .. }, Refusal::TooLong) => self.proceed(now, node, plan),
            (ClientState::Leaving(groups), _) => {
                client.state = ClientState::Leaving(groups);
                self.finish_leave(node);
            }
            (state, _) => client.state = state,
        }
    }

    /// Lets an idle client send a message in place of one that another client could not send.
    fn wake_idle_sender(&mut self, now: Time, plan: &mut Plan<Command>) {
        if self.demand.traffic == Traffic::Single {
            return;
        }
        let is_idle_sender = |client: &Client| client.is_sender && client.state == ClientState::Idle;
        if let Some(index) = self.clients.iter().position(is_idle_sender) {
            let pause = self.pause();
            self.compose(now + pause, NodeId::from_index(index), plan);
        }
    }

    /// Records a crash. If the node's client had created a message that was not sent, another
    /// client sends one in its place.
    fn node_crashed(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        let Some(client) = self.clients.get_mut(node.index()) else { return };
        let is_unsent = match std::mem::replace(&mut client.state, ClientState::NodeDown) {
            // A request that the node already received may have been carried out.
            ClientState::Requesting { at, .. } => at > now,
            ClientState::Blocked(_) | ClientState::OutOfView(Some(_)) => true,
            ClientState::Idle | ClientState::OutOfView(None) | ClientState::NodeDown => false,
            // A node that leaves is gone permanently, even if it crashes.
            ClientState::Leaving(_) | ClientState::Gone => {
                client.state = ClientState::Gone;
                false
            }
        };
        if is_unsent {
            self.remaining_messages += 1;
            self.wake_idle_sender(now, plan);
        }
    }

    fn node_restarted(&mut self, node: NodeId) {
        let has_views = self.demand.has_views;
        self.update_state(node, |state| match state {
            ClientState::NodeDown if has_views => ClientState::OutOfView(None),
            ClientState::NodeDown => ClientState::Gone,
            other => other,
        });
    }

    /// With `Single`: lets the next idle sender send, unless a request or a message is pending.
    fn start_next_sender(&mut self, now: Time, plan: &mut Plan<Command>) {
        let has_no_open_request = |client: &Client| match client.state {
            ClientState::Requesting { .. } | ClientState::Blocked(_) | ClientState::Leaving(_) => false,
            ClientState::Idle | ClientState::OutOfView(_) | ClientState::Gone | ClientState::NodeDown => true,
        };
        if self.demand.traffic != Traffic::Single || self.remaining_messages == 0 {
            return;
        }
        if !self.clients.iter().all(has_no_open_request) || self.has_pending() {
            return;
        }
        let senders = self.demand.senders.len();
        for step in 0..senders {
            let index = (self.next_sender + step) % senders;
            let Some(node) = self.demand.senders.get(index).copied() else { continue };
            let is_idle_sender = |client: &Client| client.is_sender && client.state == ClientState::Idle;
            if self.clients.get(node.index()).is_some_and(is_idle_sender) {
                self.next_sender = index + 1;
                let pause = self.pause();
                self.compose(now + pause, node, plan);
                return;
            }
        }
    }

    /// Whether some client can still send a message.
    fn can_send(&self) -> bool {
        self.clients.iter().filter(|client| client.is_sender).any(|client| match client.state {
            ClientState::Idle | ClientState::Requesting { .. } | ClientState::Blocked(_) => true,
            ClientState::OutOfView(_) => self.demand.has_views,
            ClientState::Leaving(_) | ClientState::Gone | ClientState::NodeDown => false,
        })
    }

    fn has_busy_client(&self) -> bool {
        self.clients.iter().any(|client| match client.state {
            ClientState::Requesting { .. }
            | ClientState::Blocked(_)
            | ClientState::Leaving(_)
            | ClientState::OutOfView(Some(_)) => true,
            ClientState::Idle | ClientState::OutOfView(None) | ClientState::Gone | ClientState::NodeDown => false,
        })
    }
}

impl Workload<Command, Event> for Senders {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for index in 0..self.clients.len() {
            let is_idle = self.clients.get(index).is_some_and(|client| client.state == ClientState::Idle);
            if is_idle {
                self.proceed(Time::ZERO, NodeId::from_index(index), plan);
            }
        }
        if self.demand.traffic == Traffic::Single {
            self.start_next_sender(Time::ZERO, plan);
        }
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        match notification {
            ClientEvent::Emitted(event) => {
                self.in_flight.record_event(now, node, event);
                self.handle_event(now, node, event, plan);
            }
            ClientEvent::Crashed => {
                self.in_flight.node_stopped(node);
                self.node_crashed(now, node, plan);
            }
            ClientEvent::Restarted => {
                self.in_flight.node_started(node);
                self.node_restarted(node);
            }
            ClientEvent::Alarm => {}
        }
        self.start_next_sender(now, plan);
    }

    fn is_done(&self) -> bool {
        (self.remaining_messages == 0 || !self.can_send()) && !self.has_busy_client() && !self.has_pending()
    }
}
