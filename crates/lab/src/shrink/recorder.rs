//! Records every choice of a run, so that a script can fix all of them.
//!
//! The recording uses only moments, so that it works for journals of the simulator, the checker and
//! real processes. Times are kept if possible. If the simulator would process events of one instant
//! in another order than the recorded one, the later event is delayed by a nanosecond.

use super::disks::Disks;
use super::pace::Pace;
use super::saturating_difference;
use super::timers::Timers;
use crate::family::FamilyLab;
use quorate_core::{Duration, Incarnation, NodeId, Time};
use quorate_journal::moment::{
    Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent, receivers,
};
use quorate_journal::settings::{
    Direction, Disk, DiskTrouble, Fate, Fault, Script, TimedCommand, TimedFault, Unsynced,
};
use std::collections::BTreeMap;

/// The recorded choices of a run.
pub(super) struct RecordedChoices {
    pub(super) script: Script,
    /// Faults that are visible in delayed or lost messages, and need not be in a script with these
    /// delays and losses.
    pub(super) shown: Vec<TimedFault>,
    pub(super) pace: Pace,
    pub(super) end: Duration,
    pub(super) obstacle: Option<Obstacle>,
}

/// Why a script cannot express a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The run repeats a cycle forever.
    Endless,
    /// A node received a suspicion or a view from another source than the simulator.
    Foreign,
}

/// Records the choices of a run up to a line.
pub(super) struct ChoiceRecorder<F: FamilyLab> {
    /// Lines after this one are ignored.
    limit: u64,
    lines: u64,
    origin: Option<Time>,
    clock: Clock,
    /// Number of events put into the queue so far.
    position: u64,
    links: BTreeMap<(NodeId, NodeId), u64>,
    flights: BTreeMap<MessageId, MessageInFlight>,
    timers: Timers,
    disks: Disks,
    /// Active faults, by their texts.
    open: Vec<(String, usize)>,
    /// Active faults that are visible in delayed or lost messages.
    open_shown: Vec<(String, usize)>,
    down: BTreeMap<NodeId, Downtime>,
    paused: BTreeMap<NodeId, Duration>,
    script: Script,
    shown: Vec<TimedFault>,
    pace: Pace,
    obstacle: Option<Obstacle>,
    family: std::marker::PhantomData<F>,
}

/// Why a node is down.
enum Downtime {
    /// A crash, with its index among the script's faults.
    Crash(usize),
    /// An orderly stop. A script has a crash instead, if the node restarts.
    Ended { at: Duration, kept: u64 },
}

/// A message that was sent.
struct MessageInFlight {
    link: (NodeId, NodeId),
    number: u64,
    sent: Duration,
    /// The recorded send time, without added delays.
    sent_at: Time,
    position: u64,
    copies: u32,
    arrived: u32,
}

/// The instant of the last event, and its position in the queue.
#[derive(Clone, Copy, Default)]
struct Clock {
    now: Duration,
    place: (EventOrder, u64),
    started: bool,
}

/// The order in which the simulator processes events of one instant.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum EventOrder {
    #[default]
    Fault,
    Disk,
    Message,
    Timer,
    Command,
}

impl Clock {
    /// Returns the time of an event: its own if the simulator would process it in this order, else
    /// slightly later.
    fn reach(&mut self, at: Duration, rank: EventOrder, position: u64) -> Duration {
        let place = (rank, position);
        // A fault at the very start precedes the start of the nodes.
        let too_early = rank == EventOrder::Fault && self.started && at == Duration::ZERO && self.now == at;
        self.now =
            if (at, place) > (self.now, self.place) && !too_early { at } else { self.now + Duration::from_nanos(1) };
        self.place = place;
        self.now
    }
}

impl<F: FamilyLab> ChoiceRecorder<F> {
    pub(super) fn up_to(limit: u64) -> Self {
        Self {
            limit,
            lines: 0,
            origin: None,
            clock: Clock::default(),
            position: 0,
            links: BTreeMap::new(),
            flights: BTreeMap::new(),
            timers: Timers::default(),
            disks: Disks::default(),
            open: Vec::new(),
            open_shown: Vec::new(),
            down: BTreeMap::new(),
            paused: BTreeMap::new(),
            script: Script::default(),
            shown: Vec::new(),
            pace: Pace::default(),
            obstacle: None,
            family: std::marker::PhantomData,
        }
    }

    /// Returns the recorded choices. Pending events come after the end.
    pub(super) fn finish(mut self) -> RecordedChoices {
        self.disks.end_step(self.clock.now);
        // Only completed events show how long things take.
        self.script.directions.iter().for_each(|direction| self.pace.record(direction));
        let later = Duration::from_millis(1);
        for flight in std::mem::take(&mut self.flights).into_values() {
            if flight.arrived < flight.copies {
                let takes = saturating_difference(self.clock.now, flight.sent) + later;
                self.script.directions.push(flight.direction(takes));
            }
        }
        self.timers.end(self.clock.now, &mut self.script.directions);
        self.disks.end(self.clock.now, &mut self.script.directions);
        // Sorted by links and nodes for readability.
        self.script.directions.sort();
        // A permanently paused node has no further events, so the pause itself must be in the
        // script.
        let endless_pauses = self.paused.into_iter().map(|(node, at)| pause(node, at, None));
        self.script.faults.extend(endless_pauses);
        self.script.faults.sort_by_key(|timed| timed.at);
        RecordedChoices {
            script: self.script,
            shown: self.shown,
            pace: self.pace,
            end: self.clock.now,
            obstacle: self.obstacle,
        }
    }

    fn elapsed(&mut self, time: Time) -> Duration {
        time.since(*self.origin.get_or_insert(time))
    }

    fn next_position(&mut self) -> u64 {
        self.position += 1;
        self.position
    }

    /// Returns the time of an event that takes the next position in the queue.
    fn reach(&mut self, at: Duration, rank: EventOrder) -> Duration {
        let position = self.next_position();
        self.clock.reach(at, rank, position)
    }

    fn record_input(&mut self, time: Time, now: Time, node: NodeId, input: &ObservedInput<'_, F::Command>) {
        self.disks.end_step(self.clock.now);
        let at = self.elapsed(time);
        match input {
            ObservedInput::Start { incarnation, blank } => self.record_start(at, node, *incarnation, *blank),
            ObservedInput::Command(command) => {
                let at = self.reach(at, EventOrder::Command);
                if let Some(word) = F::script_command(command) {
                    self.script.commands.push(TimedCommand { at, node, word: word.into_owned() });
                }
            }
            ObservedInput::Message { id, .. } => self.record_arrival(at, *id),
            ObservedInput::Timer(body) => {
                if let Some(set) = self.timers.take_fired(node, *body) {
                    let at = self.clock.reach(at, EventOrder::Timer, set.position);
                    self.script.directions.extend(set.direction(node, at, now));
                }
            }
            ObservedInput::Saved(count) => {
                let at = self.clock.reach(at, EventOrder::Disk, self.disks.position(node));
                self.script.directions.extend(self.disks.saved(node, at, *count));
            }
            ObservedInput::Suspect(_) | ObservedInput::Trust(_) | ObservedInput::View(_) | ObservedInput::Lease(_) => {
                self.obstacle.get_or_insert(Obstacle::Foreign);
            }
            ObservedInput::DiskFull | ObservedInput::DiskFree => {}
        }
        self.timers.clock(node, now);
        self.disks.begin_step(node);
    }

    /// In the simulator all nodes start at the beginning.
    fn record_start(&mut self, at: Duration, node: NodeId, incarnation: Incarnation, blank: bool) {
        self.clock.started = true;
        let absence = self.down.remove(&node);
        if incarnation == Incarnation::FIRST && absence.is_none() {
            return;
        }
        let at = self.reach(at, EventOrder::Fault);
        let crash = match absence {
            Some(Downtime::Crash(index)) => Some(index),
            Some(Downtime::Ended { at, kept }) => Some(self.crash(at, node, kept)),
            None => None,
        };
        match crash.and_then(|index| self.script.faults.get_mut(index)) {
            Some(crash) if !blank => crash.lasts = Some(saturating_difference(at, crash.at)),
            Some(_) => {
                let fault = Fault::Restart { node, disk: Disk::Blank };
                self.script.faults.push(TimedFault { at, fault, lasts: None });
            }
            None => {}
        }
    }

    fn crash(&mut self, at: Duration, node: NodeId, kept: u64) -> usize {
        let unsynced = if kept == 0 { Unsynced::Lost } else { Unsynced::Kept(kept) };
        self.script.faults.push(TimedFault { at, fault: Fault::Crash { node, unsynced }, lasts: None });
        self.script.faults.len() - 1
    }

    fn record_arrival(&mut self, at: Duration, id: MessageId) {
        let Some(flight) = self.flights.get_mut(&id) else { return };
        let position = flight.position + u64::from(flight.arrived);
        let at = self.clock.reach(at, EventOrder::Message, position);
        self.script.directions.push(flight.direction(saturating_difference(at, flight.sent)));
        flight.arrived += 1;
        if flight.arrived >= flight.copies {
            self.flights.remove(&id);
        }
    }

    fn record_send(&mut self, time: Time, to: NodeId, id: MessageId) {
        if id.sender == to {
            return;
        }
        let link = (id.sender, to);
        let count = self.links.entry(link).or_default();
        *count += 1;
        let number = *count;
        // A duplicate has its own position.
        let position = self.next_position();
        self.position += 1;
        let flight =
            MessageInFlight { link, number, sent: self.clock.now, sent_at: time, position, copies: 1, arrived: 0 };
        self.flights.insert(id, flight);
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
                self.timers.set(node, *timer, *span, self.clock.now, position, &mut self.script.directions);
            }
            ObservedEffect::CancelTimer(timer) => {
                self.timers.cancel(node, *timer, self.clock.now, &mut self.script.directions);
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
            WorldEvent::Lost { id, why, .. } => self.record_loss(time, *id, *why),
            WorldEvent::Duplicated { id } => {
                if let Some(flight) = self.flights.get_mut(id) {
                    flight.copies += 1;
                }
            }
            WorldEvent::Crashed { node, lost_writes } => {
                let at = self.reach(at, EventOrder::Fault);
                let kept = self.disks.record_crash(*node, at, &mut self.script.directions).saturating_sub(*lost_writes);
                self.timers.crash(*node, at, &mut self.script.directions);
                self.record_resume(at, *node);
                let index = self.crash(at, *node, kept);
                self.down.insert(*node, Downtime::Crash(index));
            }
            WorldEvent::Ended { node } => {
                let kept = self.disks.record_crash(*node, at, &mut self.script.directions);
                self.timers.crash(*node, self.clock.now, &mut self.script.directions);
                self.down.insert(*node, Downtime::Ended { at: at.max(self.clock.now), kept });
            }
            WorldEvent::Paused { node } => {
                let at = self.reach(at, EventOrder::Fault);
                self.paused.insert(*node, at);
            }
            // A paused node processes everything later, and those times are recorded.
            WorldEvent::Resumed { node } => self.record_resume(at, *node),
            WorldEvent::Changed { text } => self.record_change(at, text),
        }
    }

    fn record_resume(&mut self, at: Duration, node: NodeId) {
        let since = self.paused.remove(&node);
        self.shown.extend(since.map(|since| pause(node, since, Some(saturating_difference(at, since)))));
    }

    /// A message that is lost on arrival counts as arriving: the crash or partition of its receiver
    /// is recorded separately.
    fn record_loss(&mut self, time: Time, id: MessageId, why: Loss) {
        let Some(flight) = self.flights.get(&id) else { return };
        match why {
            Loss::Chance => {
                let (from, to) = flight.link;
                if flight.copies == 1 {
                    let fate = Fate::Lost;
                    self.script.directions.push(Direction::Message { from, to, number: flight.number, fate });
                }
                self.flights.remove(&id);
            }
            Loss::Cut if time == flight.sent_at => {
                self.flights.remove(&id);
            }
            Loss::Cut | Loss::Down => {
                let at = self.elapsed(time);
                self.record_arrival(at, id);
            }
        }
    }

    fn record_change(&mut self, at: Duration, text: &str) {
        // Earlier releases wrote the last word as two.
        if text.contains("the run repeats for") {
            self.obstacle = Some(Obstacle::Endless);
            return;
        }
        if let Some(ended) = text.strip_prefix("end of ") {
            self.record_fault_end(at, ended);
            return;
        }
        let Ok(fault) = text.parse::<Fault>() else { return };
        // The behaviour of links is visible in every message, and the failure of a disk in the
        // crash that follows.
        let is_recorded = match &fault {
            Fault::Link { .. } => {
                self.open_shown.push((text.to_owned(), self.shown.len()));
                self.shown.push(TimedFault { at, fault: fault.clone(), lasts: None });
                false
            }
            Fault::Disk { trouble: DiskTrouble::Fails, .. } => false,
            Fault::Disk { node, trouble: DiskTrouble::Full } => {
                self.disks.disk_full(*node);
                true
            }
            Fault::Skew { node, by } => {
                self.timers.record_jump(*node, by.nanos());
                true
            }
            Fault::Drift { node, .. } => {
                self.timers.record_jump(*node, 0);
                true
            }
            Fault::Cut(_) | Fault::Close { .. } | Fault::Heal => true,
            Fault::Crash { .. } | Fault::Restart { .. } | Fault::Pause { .. } | Fault::Resume { .. } => false,
        };
        if is_recorded {
            let at = self.reach(at, EventOrder::Fault);
            if fault.kind().can_last() {
                self.open.push((text.to_owned(), self.script.faults.len()));
            }
            self.script.faults.push(TimedFault { at, fault, lasts: None });
        }
    }

    fn record_fault_end(&mut self, at: Duration, text: &str) {
        if let Some(index) = self.open_shown.iter().position(|(open, _)| open == text) {
            let (_, fault) = self.open_shown.remove(index);
            if let Some(timed) = self.shown.get_mut(fault) {
                timed.lasts = Some(saturating_difference(at, timed.at));
            }
            return;
        }
        let Some(index) = self.open.iter().position(|(open, _)| open == text) else { return };
        let (_, fault) = self.open.remove(index);
        let at = self.reach(at, EventOrder::Fault);
        if let Some(timed) = self.script.faults.get_mut(fault) {
            timed.lasts = Some(saturating_difference(at, timed.at));
            if let Fault::Disk { node, .. } = timed.fault {
                self.disks.disk_freed(node, at);
            }
        }
    }
}

fn pause(node: NodeId, at: Duration, lasts: Option<Duration>) -> TimedFault {
    TimedFault { at, fault: Fault::Pause { node }, lasts }
}

impl MessageInFlight {
    fn direction(&self, length: Duration) -> Direction {
        let (from, to) = self.link;
        let fate = if self.arrived == 0 { Fate::Takes(length) } else { Fate::Again(length) };
        Direction::Message { from, to, number: self.number, fate }
    }
}

impl<F: FamilyLab> Observer<F::Command, F::Event> for ChoiceRecorder<F> {
    fn observe(&mut self, moment: &Moment<'_, F::Command, F::Event>) {
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        if self.lines > self.limit {
            return;
        }
        match moment {
            Moment::Input { time, now, node, input } => self.record_input(*time, *now, *node, input),
            Moment::Effect { time, node, effect } => self.record_effect(*time, *node, effect),
            Moment::World { time, event } => self.record_world_event(*time, event),
        }
    }
}
