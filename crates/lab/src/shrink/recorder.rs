//! Records every choice of a run, so that a script can fix all of them.
//!
//! The recording uses only moments, so it works for journals of the simulator, the checker and
//! real processes. Times are kept if possible. If the simulator would process events of one instant
//! in another order than the recorded one, the later event is delayed by a nanosecond.

use super::disks::Disks;
use super::pace::Pace;
use super::saturating_difference;
use super::timers::Timers;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_core::{Duration, Incarnation, NodeId, Time};
use quorate_journal::moment::{
    Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers,
};
use quorate_journal::settings::{
    Direction, DiskTrouble, Fate, Fault, RestartDisk, Script, TimedCommand, TimedFault, UnsyncedSaves,
};
use std::collections::BTreeMap;

/// The recorded choices of a run.
pub(super) struct RecordedChoices {
    pub(super) script: Script,
    /// Pauses and bad links. A script with the recorded delays and losses repeats their effects
    /// without them.
    pub(super) implied_faults: Vec<TimedFault>,
    pub(super) pace: Pace,
    /// The time of the last recorded event.
    pub(super) end: Duration,
    pub(super) obstacle: Option<Obstacle>,
}

/// Why a script cannot express a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The run repeats a cycle forever.
    Endless,
    /// A node received a view or a lease, which no script can deliver, or a suspicion or the end of
    /// one in a family whose crash notices the simulator does not send.
    ExternalInputs,
}

/// Records the choices of a run up to a line.
pub(super) struct ChoiceRecorder<F: FamilyLab> {
    /// Lines of the trace after this one are ignored.
    last_line: u64,
    /// Whether the simulator sends crash notices.
    has_crash_notices: bool,
    /// Number of trace lines so far: one for each step and each world event.
    lines: u64,
    /// The time of the first moment; all times of a script count from it.
    origin: Option<Time>,
    clock: Clock,
    /// Number of events that the simulator would have put into its queue so far.
    queue_position: u64,
    /// Number of messages sent on each link, by sender and receiver.
    sent_counts: BTreeMap<(NodeId, NodeId), u64>,
    messages_in_flight: BTreeMap<MessageId, MessageInFlight>,
    timers: Timers,
    disks: Disks,
    /// Active faults: the text of each, and its index among the script's faults.
    active_faults: Vec<(String, usize)>,
    /// Like `active_faults`, for `implied_faults`.
    active_implied_faults: Vec<(String, usize)>,
    down_nodes: BTreeMap<NodeId, DownCause>,
    /// When the pause of each paused node began.
    paused_nodes: BTreeMap<NodeId, Duration>,
    script: Script,
    implied_faults: Vec<TimedFault>,
    pace: Pace,
    obstacle: Option<Obstacle>,
    family: std::marker::PhantomData<F>,
}

/// Why a node is down.
enum DownCause {
    /// A crash, with its index among the script's faults.
    Crash(usize),
    /// An orderly stop, after which the disk has `kept_writes` of the writes that were not
    /// durable. A script has a crash instead, if the node restarts.
    Ended { at: Duration, kept_writes: u64 },
}

struct MessageInFlight {
    link: (NodeId, NodeId),
    /// The message's number on its link, from 1.
    number: u64,
    sent_at: Duration,
    /// The recorded send time, without added delays.
    recorded_send_time: Time,
    queue_position: u64,
    copies: u32,
    arrived_copies: u32,
}

/// The instant of the last event, and the key by which the simulator orders events of one instant.
#[derive(Clone, Copy, Default)]
struct Clock {
    now: Duration,
    queue_key: (EventKind, u64),
    has_started: bool,
}

/// Kinds of events, in the order in which the simulator processes those of one instant.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    #[default]
    Fault,
    Disk,
    Message,
    Timer,
    Command,
    EndOfTurn,
}

impl Clock {
    /// Advances to an event, and returns its time: `at` if the simulator would process it in this
    /// order, else slightly after the previous event.
    fn advance_to(&mut self, at: Duration, kind: EventKind, position: u64) -> Duration {
        let queue_key = (kind, position);
        // The simulator applies faults at time 0 before it starts the nodes.
        let is_too_early = kind == EventKind::Fault && self.has_started && at == Duration::ZERO && self.now == at;
        self.now = if (at, queue_key) > (self.now, self.queue_key) && !is_too_early {
            at
        } else {
            self.now + Duration::from_nanos(1)
        };
        self.queue_key = queue_key;
        self.now
    }
}

impl<F: FamilyLab> ChoiceRecorder<F> {
    pub(super) fn up_to(last_line: u64, spec: &Spec<F>) -> Self {
        Self {
            last_line,
            has_crash_notices: F::needs_crash_notices(spec),
            lines: 0,
            origin: None,
            clock: Clock::default(),
            queue_position: 0,
            sent_counts: BTreeMap::new(),
            messages_in_flight: BTreeMap::new(),
            timers: Timers::default(),
            disks: Disks::default(),
            active_faults: Vec::new(),
            active_implied_faults: Vec::new(),
            down_nodes: BTreeMap::new(),
            paused_nodes: BTreeMap::new(),
            script: Script::default(),
            implied_faults: Vec::new(),
            pace: Pace::default(),
            obstacle: None,
            family: std::marker::PhantomData,
        }
    }

    /// Returns the recorded choices. Pending events happen slightly after the end.
    pub(super) fn finish(mut self) -> RecordedChoices {
        self.disks.end_step(self.clock.now);
        // Only completed events show how long things take.
        self.script.directions.iter().for_each(|direction| self.pace.record(direction));
        let margin = Duration::from_millis(1);
        for flight in std::mem::take(&mut self.messages_in_flight).into_values() {
            if flight.arrived_copies < flight.copies {
                let takes = saturating_difference(self.clock.now, flight.sent_at) + margin;
                self.script.directions.push(flight.to_direction(takes));
            }
        }
        self.timers.finish(self.clock.now, &mut self.script.directions);
        self.disks.finish(self.clock.now, &mut self.script.directions);
        // Sorted by links and nodes for readability.
        self.script.directions.sort();
        // A permanently paused node has no further events, so the pause itself must be in the
        // script.
        let endless_pauses = self.paused_nodes.into_iter().map(|(node, at)| pause_fault(node, at, None));
        self.script.faults.extend(endless_pauses);
        self.script.faults.sort_by_key(|timed| timed.at);
        RecordedChoices {
            script: self.script,
            implied_faults: self.implied_faults,
            pace: self.pace,
            end: self.clock.now,
            obstacle: self.obstacle,
        }
    }

    fn elapsed(&mut self, time: Time) -> Duration {
        time.since(*self.origin.get_or_insert(time))
    }

    fn next_position(&mut self) -> u64 {
        self.queue_position += 1;
        self.queue_position
    }

    /// Like [`Clock::advance_to`], for an event that takes the next position in the queue.
    fn advance_to(&mut self, at: Duration, kind: EventKind) -> Duration {
        let position = self.next_position();
        self.clock.advance_to(at, kind, position)
    }

    fn record_input(&mut self, time: Time, now: Time, node: NodeId, input: &ObservedInput<'_, F::Command>) {
        self.disks.end_step(self.clock.now);
        let at = self.elapsed(time);
        match input {
            ObservedInput::Start { incarnation, is_disk_blank } => {
                self.record_start(at, node, *incarnation, *is_disk_blank);
            }
            ObservedInput::Command(command) => {
                let at = self.advance_to(at, EventKind::Command);
                if let Some(word) = F::script_command(command) {
                    self.script.commands.push(TimedCommand { at, node, command: word.into_owned() });
                }
            }
            ObservedInput::Message { id, .. } => self.record_arrival(at, *id),
            ObservedInput::Timer(body) => {
                if let Some(timer) = self.timers.take_fired(node, *body) {
                    let at = self.clock.advance_to(at, EventKind::Timer, timer.queue_position);
                    self.script.directions.extend(timer.direction(node, at, now));
                }
            }
            ObservedInput::Saved(count) => {
                let at = self.clock.advance_to(at, EventKind::Disk, self.disks.sync_position(node));
                self.script.directions.extend(self.disks.record_sync(node, at, *count));
            }
            ObservedInput::Suspect(_) | ObservedInput::Trust(_) if self.has_crash_notices => {
                self.advance_to(at, EventKind::Message);
            }
            ObservedInput::Suspect(_) | ObservedInput::Trust(_) | ObservedInput::View(_) | ObservedInput::Lease(_) => {
                self.obstacle.get_or_insert(Obstacle::ExternalInputs);
            }
            ObservedInput::DiskFull | ObservedInput::DiskFree => {}
            ObservedInput::EndOfTurn => {
                // A turn ends at the instant of its last input.
                self.advance_to(at.max(self.clock.now), EventKind::EndOfTurn);
            }
        }
        self.timers.record_clock(node, now);
        self.disks.begin_step(node);
    }

    /// Records a restart. First starts are no choices: the simulator starts all nodes together.
    fn record_start(&mut self, at: Duration, node: NodeId, incarnation: Incarnation, is_disk_blank: bool) {
        self.clock.has_started = true;
        let downtime = self.down_nodes.remove(&node);
        if incarnation == Incarnation::FIRST && downtime.is_none() {
            return;
        }
        let at = self.advance_to(at, EventKind::Fault);
        let crash = match downtime {
            Some(DownCause::Crash(index)) => Some(index),
            Some(DownCause::Ended { at, kept_writes }) => Some(self.push_crash(at, node, kept_writes)),
            None => None,
        };
        match crash.and_then(|index| self.script.faults.get_mut(index)) {
            // When the duration of a crash ends, the node restarts with its old disk.
            Some(crash) if !is_disk_blank => crash.duration = Some(saturating_difference(at, crash.at)),
            Some(_) => {
                let fault = Fault::Restart { node, disk: RestartDisk::Blank };
                self.script.faults.push(TimedFault { at, fault, duration: None });
            }
            None => {}
        }
    }

    /// Adds a crash to the script, after which the disk has `kept_writes` of the writes that were
    /// not durable. Returns the fault's index.
    fn push_crash(&mut self, at: Duration, node: NodeId, kept_writes: u64) -> usize {
        let unsynced = if kept_writes == 0 { UnsyncedSaves::Lost } else { UnsyncedSaves::Kept(kept_writes) };
        self.script.faults.push(TimedFault { at, fault: Fault::Crash { node, unsynced }, duration: None });
        self.script.faults.len() - 1
    }

    fn record_arrival(&mut self, at: Duration, id: MessageId) {
        let Some(flight) = self.messages_in_flight.get_mut(&id) else { return };
        let position = flight.queue_position + u64::from(flight.arrived_copies);
        let at = self.clock.advance_to(at, EventKind::Message, position);
        self.script.directions.push(flight.to_direction(saturating_difference(at, flight.sent_at)));
        flight.arrived_copies += 1;
        if flight.arrived_copies >= flight.copies {
            self.messages_in_flight.remove(&id);
        }
    }

    fn record_send(&mut self, time: Time, to: NodeId, id: MessageId) {
        // A message from a node to itself arrives immediately.
        if id.sender == to {
            return;
        }
        let link = (id.sender, to);
        let count = self.sent_counts.entry(link).or_default();
        *count += 1;
        let number = *count;
        let queue_position = self.next_position();
        // A duplicate would take the next position.
        self.queue_position += 1;
        let flight = MessageInFlight {
            link,
            number,
            sent_at: self.clock.now,
            recorded_send_time: time,
            queue_position,
            copies: 1,
            arrived_copies: 0,
        };
        self.messages_in_flight.insert(id, flight);
    }

    fn record_effect(&mut self, time: Time, node: NodeId, effect: &ObservedEffect<'_, F::Event>) {
        match effect {
            ObservedEffect::Send { to, sent } => self.record_send(time, *to, sent.id),
            ObservedEffect::Multicast { to, sent } => {
                for (to, id) in receivers(to, sent.id) {
                    self.record_send(time, to, id);
                }
            }
            ObservedEffect::Save(_) => self.disks.record_save(node),
            ObservedEffect::SetTimer { timer, span } => {
                let position = self.next_position();
                self.timers.record_set(node, *timer, *span, self.clock.now, position, &mut self.script.directions);
            }
            ObservedEffect::CancelTimer(timer) => {
                self.timers.record_cancel(node, *timer, self.clock.now, &mut self.script.directions);
            }
            ObservedEffect::Emit(_)
            | ObservedEffect::Rule { .. }
            | ObservedEffect::Delivered { .. }
            | ObservedEffect::Membership(_)
            | ObservedEffect::HoldBack { .. } => {}
        }
    }

    fn record_world_event(&mut self, time: Time, event: &WorldEvent<'_>) {
        self.disks.end_step(self.clock.now);
        let at = self.elapsed(time);
        match event {
            WorldEvent::Lost { id, cause, .. } => self.record_loss(time, *id, *cause),
            WorldEvent::Duplicated { id } => {
                if let Some(flight) = self.messages_in_flight.get_mut(id) {
                    flight.copies += 1;
                }
            }
            WorldEvent::Crashed { node, lost_writes } => {
                let at = self.advance_to(at, EventKind::Fault);
                let kept_writes =
                    self.disks.record_crash(*node, at, &mut self.script.directions).saturating_sub(*lost_writes);
                self.timers.record_crash(*node, at, &mut self.script.directions);
                self.record_resume(at, *node);
                let index = self.push_crash(at, *node, kept_writes);
                self.down_nodes.insert(*node, DownCause::Crash(index));
            }
            WorldEvent::Ended { node } => {
                let kept_writes = self.disks.record_crash(*node, at, &mut self.script.directions);
                self.timers.record_crash(*node, self.clock.now, &mut self.script.directions);
                self.down_nodes.insert(*node, DownCause::Ended { at: at.max(self.clock.now), kept_writes });
            }
            WorldEvent::Paused { node } => {
                let at = self.advance_to(at, EventKind::Fault);
                self.paused_nodes.insert(*node, at);
            }
            // A paused node processes everything later, and those times are recorded.
            WorldEvent::Resumed { node } => self.record_resume(at, *node),
            WorldEvent::Changed { text } => self.record_change(at, text),
        }
    }

    fn record_resume(&mut self, at: Duration, node: NodeId) {
        let paused_at = self.paused_nodes.remove(&node);
        let fault = paused_at.map(|paused_at| pause_fault(node, paused_at, Some(saturating_difference(at, paused_at))));
        self.implied_faults.extend(fault);
    }

    /// Records a loss. A message that is lost on arrival counts as arriving: the crash or partition
    /// of its receiver is recorded separately.
    fn record_loss(&mut self, time: Time, id: MessageId, cause: Loss) {
        let Some(flight) = self.messages_in_flight.get(&id) else { return };
        match cause {
            Loss::Chance => {
                let (from, to) = flight.link;
                // Where there is a second copy, no direction can express that only one is lost.
                if flight.copies == 1 {
                    let fate = Fate::Lost;
                    self.script.directions.push(Direction::Message { from, to, number: flight.number, fate });
                }
                self.messages_in_flight.remove(&id);
            }
            Loss::Cut if time == flight.recorded_send_time => {
                // The recorded partition blocks the message again, so it needs no direction.
                self.messages_in_flight.remove(&id);
            }
            Loss::Cut | Loss::Down => {
                let at = self.elapsed(time);
                self.record_arrival(at, id);
            }
        }
    }

    fn record_change(&mut self, at: Duration, text: &str) {
        // The text ends with "forever", which earlier releases wrote as two words.
        if text.contains("the run repeats for") {
            self.obstacle = Some(Obstacle::Endless);
            return;
        }
        if let Some(ended) = text.strip_prefix("end of ") {
            self.record_fault_end(at, ended);
            return;
        }
        let Ok(fault) = text.parse::<Fault>() else { return };
        // The directions of messages repeat the behavior of links, and a crash follows the failure
        // of a disk. Crashes, restarts and pauses have moments of their own.
        let is_recorded = match &fault {
            Fault::Link { .. } => {
                self.active_implied_faults.push((text.to_owned(), self.implied_faults.len()));
                self.implied_faults.push(TimedFault { at, fault: fault.clone(), duration: None });
                false
            }
            Fault::Disk { trouble: DiskTrouble::Fails, .. } => false,
            Fault::Disk { node, trouble: DiskTrouble::Full } => {
                self.disks.record_full(*node);
                true
            }
            Fault::Skew { node, by } => {
                self.timers.record_jump(*node, by.nanos());
                true
            }
            Fault::Drift { node, .. } => {
                // The clock does not jump, but is wrong from now on.
                self.timers.record_jump(*node, 0);
                true
            }
            Fault::Cut(_) | Fault::Close { .. } | Fault::Heal => true,
            Fault::Crash { .. } | Fault::Restart { .. } | Fault::Pause { .. } | Fault::Resume { .. } => false,
        };
        if is_recorded {
            let at = self.advance_to(at, EventKind::Fault);
            if fault.kind().can_last() {
                self.active_faults.push((text.to_owned(), self.script.faults.len()));
            }
            self.script.faults.push(TimedFault { at, fault, duration: None });
        }
    }

    fn record_fault_end(&mut self, at: Duration, text: &str) {
        if let Some(index) = self.active_implied_faults.iter().position(|(active, _)| active == text) {
            let (_, fault_index) = self.active_implied_faults.remove(index);
            if let Some(timed) = self.implied_faults.get_mut(fault_index) {
                timed.duration = Some(saturating_difference(at, timed.at));
            }
            return;
        }
        let Some(index) = self.active_faults.iter().position(|(active, _)| active == text) else { return };
        let (_, fault_index) = self.active_faults.remove(index);
        let at = self.advance_to(at, EventKind::Fault);
        if let Some(timed) = self.script.faults.get_mut(fault_index) {
            timed.duration = Some(saturating_difference(at, timed.at));
            if let Fault::Disk { node, .. } = timed.fault {
                self.disks.record_freed(node, at);
            }
        }
    }
}

fn pause_fault(node: NodeId, at: Duration, duration: Option<Duration>) -> TimedFault {
    TimedFault { at, fault: Fault::Pause { node }, duration }
}

impl MessageInFlight {
    fn to_direction(&self, length: Duration) -> Direction {
        let (from, to) = self.link;
        let fate = if self.arrived_copies == 0 { Fate::Takes(length) } else { Fate::Duplicated(length) };
        Direction::Message { from, to, number: self.number, fate }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for ChoiceRecorder<F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        if self.lines > self.last_line {
            return;
        }
        match moment {
            Moment::Input { time, now, node, input } => self.record_input(*time, *now, *node, input),
            Moment::Effect { time, node, effect } => self.record_effect(*time, *node, effect),
            Moment::World { time, event } => self.record_world_event(*time, event),
        }
    }
}
