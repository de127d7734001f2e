//! The simulated world: nodes, the network between them, their clocks and disks, and faults.
//!
//! A world processes one event after another from its queue. The same nodes, setup and seed give
//! the same run, byte for byte. The cost of an event, apart from the node's own step and its
//! multicasts, does not depend on the number of nodes or links, except for events of the membership
//! service and for crashes and restarts with notices.

mod crash_notices;
mod directions;
mod faults;
mod full_disk;
mod host;
mod intake;
mod membership_service;
mod turns;

use crate::network::{LinkDefaults, Network, TransmissionOutcome};
use crate::queue::Queue;
use crash_notices::CrashNotice;
use directions::Directions;
pub(crate) use directions::FixedFate;
use faults::FaultAction;
use host::{Host, Stepper};
pub use membership_service::MembershipSettings;
use membership_service::{MembershipEvent, MembershipNotice, MembershipService};
use quorate_core::{Duration, Effects, Incarnation, Input, NodeId, Protocol, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Loss, MessageId, Moment, ObservedInput, Observer, WorldEvent};
use quorate_journal::replay_nodes::Condition;
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Direction, Latency, TimedFault};
use quorate_journal::workload::ClientEvent;
use serde::Serialize;
use std::collections::VecDeque;
use turns::Turn;

/// The settings of a world.
#[derive(Clone, Debug)]
pub struct Setup {
    pub nodes: usize,
    pub seed: u64,
    pub link_defaults: LinkDefaults,
    /// The processing time of each input.
    pub processing: Latency,
    /// The duration of a disk sync.
    pub sync: Latency,
}

/// A world of nodes of one protocol, with one observer.
pub struct World<P: Protocol, O> {
    slots: Vec<Slot<P>>,
    /// Creates a node, when the world is created and at every restart.
    create_node: Box<dyn Fn(NodeId) -> P>,
    environment: Environment<P, O>,
    /// The membership service, if nodes have views.
    membership_service: Option<Box<MembershipService>>,
    /// Whether nodes receive notices that the process of another node is gone or has restarted.
    crash_notice_delay: Option<Latency>,
    /// Faults that take effect before any node starts.
    initial_actions: Vec<FaultAction>,
    is_started: bool,
    /// All faults that were scheduled. The first one has the serial number 1.
    scheduled_faults: Vec<TimedFault>,
}

/// A node and its host. The alignment keeps a small slot within one cache line: in a large world,
/// fetching the slot dominates the cost of an event.
#[repr(align(32))]
struct Slot<P: Protocol> {
    node: P,
    host: Host<P>,
}

/// The state that all nodes share: time, queue, network, random generators, observer and counters.
struct Environment<P: Protocol, O> {
    time: Time,
    queue: Queue<PendingEvent<P>>,
    network: Network,
    processing: Latency,
    sync: Latency,
    /// Draws the durations of timers.
    timer_rng: SeededRng,
    /// Draws processing times, sync durations and surviving writes.
    seed: u64,
    node_rng: SeededRng,
    /// The choices that a script has fixed, if any.
    directions: Option<Box<Directions>>,
    observer: O,
    /// Losses and duplications of messages during the current step. The observer sees them after
    /// the step.
    message_events: Vec<MessageEvent>,
    /// Notifications for the nodes' clients.
    client_events: VecDeque<(NodeId, ClientEvent<P::Event>)>,
    /// Number of inputs that nodes have taken.
    taken_inputs: u64,
    messages_in_flight: usize,
    /// Number of timers that are set.
    armed_timers: usize,
    /// Number of disks that are syncing or hold writes back, plus the number of disk status changes
    /// in flight.
    disk_events: usize,
    /// Number of scheduled commands and alarms.
    planned_items: usize,
    /// Number of nodes that have taken inputs since the last end of a turn, and use that input.
    open_turns: usize,
    /// How many of the messages, disk events and commands counted above wait in paused nodes or for
    /// full disks. Only a fault can make them proceed.
    stalled_items: usize,
    /// Number of scheduled fault actions.
    pending_faults: usize,
}

enum MessageEvent {
    Lost { id: MessageId, to: NodeId, cause: Loss },
    Duplicated { id: MessageId },
}

/// An event in the queue of the world, or an input in the inbox of a node.
enum PendingEvent<P: Protocol> {
    /// The start of a node that was paused before it started.
    Start {
        node: NodeId,
    },
    Message {
        from: NodeId,
        to: NodeId,
        /// The number of the message among all that the sender sent.
        number: u64,
        message: P::Message,
    },
    /// A timer expires. Ignored if the timer was replaced or cancelled since, because no timer then
    /// has this generation.
    Timer {
        node: NodeId,
        generation: u32,
    },
    Command {
        node: NodeId,
        /// The only incarnation that may take the command, or `None` for any.
        incarnation: Option<Incarnation>,
        command: P::Command,
    },
    /// A sync has completed. The first `count` saves of this incarnation are now durable.
    Synced {
        node: NodeId,
        incarnation: Incarnation,
        count: u64,
    },
    /// The disk has become full, or has space again.
    DiskStatus {
        node: NodeId,
    },
    Alarm {
        node: NodeId,
    },
    /// A node has processed an input. Ignored if crashes and pauses have by then interrupted the
    /// node more than `interruptions` times.
    ProcessingDone {
        node: NodeId,
        interruptions: u32,
    },
    /// The turn of a node ends, unless inputs still wait.
    EndOfTurn {
        node: NodeId,
    },
    Fault(Box<FaultAction>),
    MembershipNotice(Box<MembershipNotice>),
    CrashNotice(CrashNotice),
    Membership(MembershipEvent),
}

/// The order of events at equal times: faults, then disks, then messages, then timers, then
/// commands, then ends of turns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventPriority {
    Fault = 0,
    Disk = 1,
    Message = 2,
    Timer = 3,
    Command = 4,
    EndOfTurn = 5,
}

impl<P: Protocol> PendingEvent<P> {
    fn priority(&self) -> EventPriority {
        match self {
            Self::Message { .. }
            | Self::ProcessingDone { .. }
            | Self::MembershipNotice(_)
            | Self::CrashNotice(_)
            | Self::Membership(_) => EventPriority::Message,
            Self::Timer { .. } => EventPriority::Timer,
            Self::Command { .. } | Self::Alarm { .. } => EventPriority::Command,
            Self::Synced { .. } | Self::DiskStatus { .. } => EventPriority::Disk,
            Self::EndOfTurn { .. } => EventPriority::EndOfTurn,
            Self::Start { .. } | Self::Fault(_) => EventPriority::Fault,
        }
    }

    /// Returns whether `messages_in_flight`, `disk_events` or `planned_items` counts this input.
    fn is_counted(&self) -> bool {
        matches!(self, Self::Message { .. } | Self::Command { .. } | Self::Synced { .. } | Self::DiskStatus { .. })
    }

    fn node(&self) -> Option<NodeId> {
        match self {
            Self::Message { to, .. } => Some(*to),
            Self::Start { node }
            | Self::Timer { node, .. }
            | Self::Command { node, .. }
            | Self::Synced { node, .. }
            | Self::DiskStatus { node }
            | Self::Alarm { node }
            | Self::EndOfTurn { node }
            | Self::ProcessingDone { node, .. } => Some(*node),
            Self::MembershipNotice(notice) => Some(notice.node()),
            Self::CrashNotice(notice) => Some(notice.receiver),
            Self::Fault(_) | Self::Membership(_) => None,
        }
    }
}

/// The latest time, about 73 years: a key of the queue is the time, shifted by `PRIORITY_BITS`, and
/// the priority.
const MAX_NANOS: i64 = (u64::MAX >> PRIORITY_BITS) as i64;
/// Enough bits for every [`EventPriority`].
const PRIORITY_BITS: u32 = 3;

/// Returns the time in a key of the queue.
#[inline]
fn time_from_key(key: u64) -> Time {
    Time::from_nanos((key >> PRIORITY_BITS) as i64)
}

impl<P: Protocol, O> Environment<P, O> {
    #[inline]
    fn push(&mut self, at: Time, pending: PendingEvent<P>) {
        let nanos = at.nanos().clamp(0, MAX_NANOS) as u64;
        self.queue.push((nanos << PRIORITY_BITS) | pending.priority() as u64, pending);
    }

    #[inline]
    fn transmit(&mut self, from: NodeId, to: NodeId, number: u64, message: P::Message) {
        let id = MessageId { sender: from, number };
        let outcome = if self.directions.is_none() {
            self.network.draw_outcome(self.time, from, to)
        } else {
            self.outcome_with_directions(from, to)
        };
        match outcome {
            TransmissionOutcome::Lost(cause) => self.message_events.push(MessageEvent::Lost { id, to, cause }),
            TransmissionOutcome::Arrives(at) => {
                self.messages_in_flight += 1;
                self.push(at, PendingEvent::Message { from, to, number, message });
            }
            TransmissionOutcome::Duplicated(at, duplicate_at) => {
                self.message_events.push(MessageEvent::Duplicated { id });
                self.messages_in_flight += 2;
                self.push(at, PendingEvent::Message { from, to, number, message: message.clone() });
                self.push(duplicate_at, PendingEvent::Message { from, to, number, message });
            }
        }
    }

    /// Returns the outcome of a transmission in a world with directions: the fixed one, or a random
    /// one if none is fixed.
    #[cold]
    fn outcome_with_directions(&mut self, from: NodeId, to: NodeId) -> TransmissionOutcome {
        match self.directions.as_mut().and_then(|directions| directions.next_message_fate(from, to)) {
            Some(fixed) => self.network.apply_fixed_fate(self.time, from, to, fixed),
            None => self.network.draw_outcome(self.time, from, to),
        }
    }

    /// Returns whether inputs have no processing time.
    #[inline]
    fn is_instant(&self) -> bool {
        self.processing == Latency::Fixed(Duration::ZERO)
    }

    /// Shows a world event to the observer.
    fn observe_world(&mut self, event: WorldEvent<'_>)
    where
        O: Observer<P::Command, P::Event>,
    {
        self.observer.observe(&Moment::World { time: self.time, event });
    }

    fn report_message_events(&mut self)
    where
        O: Observer<P::Command, P::Event>,
    {
        if self.message_events.is_empty() {
            return;
        }
        for event in std::mem::take(&mut self.message_events) {
            self.observe_world(match event {
                MessageEvent::Lost { id, to, cause } => WorldEvent::Lost { id, to, cause },
                MessageEvent::Duplicated { id } => WorldEvent::Duplicated { id },
            });
        }
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Creates a world. `create_node` creates each node, now and again at every restart.
    pub fn new(setup: &Setup, create_node: impl Fn(NodeId) -> P + 'static, observer: O) -> Self {
        let slots = (0..setup.nodes).map(|index| {
            let node = create_node(NodeId::from_index(index));
            Slot { host: Host::new(Turn::of_new_node(&node)), node }
        });
        let rng = |stream| SeededRng::new(setup.seed, stream);
        Self {
            slots: slots.collect(),
            create_node: Box::new(create_node),
            environment: Environment {
                time: Time::ZERO,
                queue: Queue::new(),
                network: Network::new(setup.link_defaults.clone(), rng(Stream::Network)),
                processing: setup.processing,
                sync: setup.sync,
                timer_rng: rng(Stream::Timers),
                seed: setup.seed,
                node_rng: rng(Stream::Nodes),
                directions: None,
                observer,
                message_events: Vec::new(),
                client_events: VecDeque::new(),
                taken_inputs: 0,
                messages_in_flight: 0,
                armed_timers: 0,
                disk_events: 0,
                planned_items: 0,
                open_turns: 0,
                stalled_items: 0,
                pending_faults: 0,
            },
            membership_service: None,
            crash_notice_delay: None,
            initial_actions: Vec::new(),
            is_started: false,
            scheduled_faults: Vec::new(),
        }
    }

    /// Fixes choices that would otherwise be random. Must be called before [`start`](Self::start),
    /// because directions count messages, timers and syncs from the start.
    pub fn set_directions(&mut self, directions: &[Direction]) {
        self.environment.directions = (!directions.is_empty()).then(|| Box::new(Directions::new(directions)));
    }

    /// Applies the initial faults, then starts every node that is up.
    pub fn start(&mut self) {
        for action in std::mem::take(&mut self.initial_actions) {
            self.apply_action(action);
        }
        self.is_started = true;
        for node in (0..self.slots.len()).map(NodeId::from_index) {
            self.boot(node);
        }
        self.start_membership();
    }

    /// Schedules a command for a node at the time `at`, in any incarnation.
    pub fn schedule_command(&mut self, at: Time, node: NodeId, command: P::Command) {
        self.environment.planned_items += 1;
        self.environment.push(at, PendingEvent::Command { node, incarnation: None, command });
    }

    /// Schedules a command for a node at the time `at`. It is ignored if the node has crashed by
    /// then, even if it has restarted.
    pub fn schedule_command_this_incarnation(&mut self, at: Time, node: NodeId, command: P::Command) {
        let incarnation = self.slots.get(node.index()).map(|slot| slot.host.incarnation());
        self.environment.planned_items += 1;
        self.environment.push(at, PendingEvent::Command { node, incarnation, command });
    }

    /// Schedules an alarm for a node's client at the time `at`, whether the node is up or down.
    pub fn set_alarm(&mut self, at: Time, node: NodeId) {
        self.environment.planned_items += 1;
        self.environment.push(at, PendingEvent::Alarm { node });
    }

    /// Processes the next event. Returns false if there is none.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let Some((key, pending)) = self.environment.queue.pop() else { return false };
        self.environment.time = time_from_key(key);
        self.prefetch();
        match pending {
            PendingEvent::Fault(action) => {
                self.environment.pending_faults -= 1;
                self.apply_action(*action);
            }
            PendingEvent::ProcessingDone { node, interruptions } => self.finish_input(node, interruptions),
            PendingEvent::EndOfTurn { node } => self.end_turn(node),
            PendingEvent::Membership(event) => self.handle_membership_event(event),
            PendingEvent::Alarm { node } => {
                self.environment.planned_items -= 1;
                self.environment.client_events.push_back((node, ClientEvent::Alarm));
            }
            pending => self.arrive(pending),
        }
        true
    }

    /// Reads the slot of a node that will step soon, so that it is loaded into the cache while the
    /// current node steps.
    #[inline]
    fn prefetch(&self) {
        let Some(node) = self.environment.queue.peek_ahead().and_then(PendingEvent::node) else { return };
        if let Some(slot) = self.slots.get(node.index()) {
            std::hint::black_box(slot.host.condition);
        }
        self.environment.observer.prefetch(node);
    }

    /// Returns the current time: that of the last event.
    pub fn time(&self) -> Time {
        self.environment.time
    }

    /// Returns the time of the next event, or `None` if there is none.
    pub fn next_time(&self) -> Option<Time> {
        self.environment.queue.next_key().map(time_from_key)
    }

    /// Returns the number of inputs that nodes have taken.
    pub fn taken_inputs(&self) -> u64 {
        self.environment.taken_inputs
    }

    /// Returns the number of messages in flight.
    pub fn messages_in_flight(&self) -> usize {
        self.environment.messages_in_flight
    }

    /// Returns whether no message is in flight, no timer is set, no disk is busy, no command or
    /// alarm is scheduled, and no turn is to end.
    pub fn is_quiet(&self) -> bool {
        let Environment { messages_in_flight, armed_timers, disk_events, planned_items, open_turns, .. } =
            self.environment;
        messages_in_flight == 0 && armed_timers == 0 && disk_events == 0 && planned_items == 0 && open_turns == 0
    }

    /// Returns whether any command or alarm is scheduled.
    pub fn has_plans(&self) -> bool {
        self.environment.planned_items > 0
    }

    /// Returns whether no fault, message, disk event, command or alarm is pending, except those
    /// that wait in a paused node or for a full disk. Then only timers, ends of turns, crash
    /// notices and the membership service can cause further events.
    pub fn has_only_timers_left(&self) -> bool {
        let Environment { messages_in_flight, disk_events, planned_items, stalled_items, pending_faults, .. } =
            self.environment;
        pending_faults == 0 && messages_in_flight + disk_events + planned_items == stalled_items
    }

    /// Returns whether a node is not down. A paused node counts as up.
    pub fn is_up(&self, node: NodeId) -> bool {
        self.slots.get(node.index()).is_some_and(|slot| slot.host.condition != Condition::Down)
    }

    /// Removes and returns the next notification for a node's client.
    pub fn next_client_event(&mut self) -> Option<(NodeId, ClientEvent<P::Event>)> {
        self.environment.client_events.pop_front()
    }

    /// Returns a node's state.
    pub fn node(&self, node: NodeId) -> Option<&P> {
        self.slots.get(node.index()).map(|slot| &slot.node)
    }

    /// Returns the observer.
    pub fn observer(&self) -> &O {
        &self.environment.observer
    }

    /// Returns the observer and drops the world.
    pub fn into_observer(self) -> O {
        self.environment.observer
    }

    #[inline]
    fn observe_input(&mut self, node: NodeId, input: ObservedInput<'_, P::Command>) {
        let time = self.environment.time;
        let now = self.slots.get(node.index()).map_or(time, |slot| slot.host.clock_reading(time));
        self.environment.observer.observe(&Moment::Input { time, now, node, input });
    }

    #[inline]
    fn step(&mut self, node: NodeId, input: Input<P>) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        self.environment.taken_inputs += 1;
        let now = slot.host.clock_reading(self.environment.time);
        let mut stepper = Stepper { node, host: &mut slot.host, environment: &mut self.environment };
        slot.node.step(now, input, &mut Effects::new(&mut stepper));
        stepper.begin_sync();
        self.environment.report_message_events();
        if slot.host.turn != Turn::Unused {
            self.extend_turn(node);
        }
    }
}
