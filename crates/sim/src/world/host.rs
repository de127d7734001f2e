//! The host of a node: its condition, timers, clock and disk, and the execution of its effects.

use super::full_disk::{DiskFaults, Failure};
use super::turns::Turn;
use super::{Environment, PendingEvent};
use quorate_core::{Duration, Effect, Incarnation, NodeId, Note, Protocol, Sink, Span, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::disk::Disk;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, Observer, Sent};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::replay_nodes::Condition;
use quorate_journal::workload::ClientEvent;
use serde::Serialize;
use std::collections::VecDeque;

/// The simulated machine of one node. It is small, so that a million hosts fit in memory and a host
/// fits in a cache line.
pub(crate) struct Host<P: Protocol> {
    /// Number of transmissions by all incarnations of this node.
    sent_count: u64,
    pub(crate) condition: Condition,
    pub(super) turn: Turn,
    rare_state: Option<Box<RareState<P>>>,
}

/// A timer that is set.
struct ArmedTimer<T> {
    /// Distinguishes this timer from earlier ones of the same name, whose events may still be
    /// queued.
    generation: u32,
    timer: T,
    /// When the timer fires, by the node's own clock.
    fires_at: Time,
}

/// State that most nodes of a large world never need.
pub(crate) struct RareState<P: Protocol> {
    incarnation: Incarnation,
    /// The generation given last to a timer of this node, in any incarnation.
    generation: u32,
    timers: Vec<ArmedTimer<P::Timer>>,
    /// `None` until the first save or erasure.
    pub(crate) disk: Option<Disk<P>>,
    /// Whether the disk was erased since the last start.
    is_disk_blank: bool,
    /// `None` until the first disk fault.
    disk_faults: Option<Box<DiskFaults>>,
    /// `None` while the clock shows true time.
    pub(crate) clock: Option<NodeClock>,
    /// Inputs that wait because the node is paused, or because it is processing the first of them.
    pub(super) inbox: VecDeque<PendingEvent<P>>,
    /// Whether the node is processing the first input of its inbox.
    is_busy: bool,
    /// How often a crash or a pause has interrupted the node.
    interruptions: u32,
    /// The serial number of the fault that crashed or paused the node last.
    stopped_by_serial: u64,
}

impl<P: Protocol> Default for RareState<P> {
    fn default() -> Self {
        Self {
            incarnation: Incarnation::FIRST,
            generation: 0,
            timers: Vec::new(),
            disk: None,
            is_disk_blank: false,
            disk_faults: None,
            clock: None,
            inbox: VecDeque::new(),
            is_busy: false,
            interruptions: 0,
            stopped_by_serial: 0,
        }
    }
}

impl<P: Protocol> Host<P> {
    pub(super) fn new(turn: Turn) -> Self {
        Self { sent_count: 0, condition: Condition::Up, turn, rare_state: None }
    }

    /// Returns the rare state, creating it if necessary.
    pub(crate) fn rare_state_mut(&mut self) -> &mut RareState<P> {
        self.rare_state.get_or_insert_default()
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.rare_state.as_ref().map_or(Incarnation::FIRST, |state| state.incarnation)
    }

    pub(crate) fn begin_next_incarnation(&mut self) {
        let state = self.rare_state_mut();
        state.incarnation = state.incarnation.next();
    }

    pub(crate) fn disk(&mut self) -> Option<&mut Disk<P>> {
        self.rare_state.as_mut()?.disk.as_mut()
    }

    /// Erases the disk. The next start reports it as blank.
    pub(crate) fn wipe_disk(&mut self) {
        let state = self.rare_state_mut();
        state.disk.get_or_insert_default().wipe();
        state.is_disk_blank = true;
    }

    /// Returns whether the disk was erased since the last start, and clears that flag.
    pub(crate) fn take_blank_flag(&mut self) -> bool {
        self.rare_state.as_mut().is_some_and(|state| std::mem::take(&mut state.is_disk_blank))
    }

    /// Returns the faults of the disk, or `None` if it never had any.
    pub(super) fn disk_faults(&mut self) -> Option<&mut DiskFaults> {
        self.rare_state.as_mut()?.disk_faults.as_deref_mut()
    }

    /// Returns the faults of the disk, creating them if necessary.
    pub(super) fn disk_faults_mut(&mut self) -> &mut DiskFaults {
        self.rare_state_mut().disk_faults.get_or_insert_default()
    }

    /// Removes and returns the failure in which the current sync ends.
    pub(super) fn take_disk_failure(&mut self) -> Option<Failure> {
        self.disk_faults()?.failure.take()
    }

    fn clock(&self) -> Option<&NodeClock> {
        self.rare_state.as_ref()?.clock.as_ref()
    }

    /// Returns the reading of the node's own clock at this true time.
    #[inline]
    pub(crate) fn clock_reading(&self, true_time: Time) -> Time {
        self.clock().map_or(true_time, |clock| clock.at(true_time))
    }

    /// Starts to process the first input of the inbox. Returns the number of interruptions so far,
    /// or `None` if there is no input or the node is not up and idle.
    pub(crate) fn start_processing(&mut self) -> Option<u32> {
        let is_up = self.condition == Condition::Up;
        let state = self.rare_state.as_mut().filter(|state| is_up && !state.is_busy && !state.inbox.is_empty())?;
        state.is_busy = true;
        Some(state.interruptions)
    }

    /// Removes and returns the processed input. `None` if the node was interrupted since it started
    /// to process the input: then the number of interruptions is not `interruptions` any more.
    pub(super) fn finish_processing(&mut self, interruptions: u32) -> Option<PendingEvent<P>> {
        let state = self.rare_state.as_mut().filter(|state| state.interruptions == interruptions)?;
        state.is_busy = false;
        state.inbox.pop_front()
    }

    /// Crashes or pauses the node by the fault `serial`, interrupting its processing.
    pub(crate) fn stop(&mut self, condition: Condition, serial: u64) {
        self.condition = condition;
        let state = self.rare_state_mut();
        state.stopped_by_serial = serial;
        state.is_busy = false;
        state.interruptions = state.interruptions.wrapping_add(1);
    }

    /// Returns whether the fault with this serial number is the reason why the node is not up.
    pub(crate) fn is_stopped_by(&self, serial: u64) -> bool {
        let last_serial = self.rare_state.as_ref().map(|state| state.stopped_by_serial);
        self.condition != Condition::Up && last_serial == Some(serial)
    }

    /// Returns the number of inputs in the inbox that `messages_in_flight`, `disk_events` or
    /// `planned_items` counts.
    pub(super) fn counted_inputs(&self) -> usize {
        let inputs = self.rare_state.iter().flat_map(|state| &state.inbox);
        inputs.filter(|pending| pending.is_counted()).count()
    }

    /// Returns whether the node is up and no input waits in its inbox.
    pub(super) fn is_idle(&self) -> bool {
        self.condition == Condition::Up && self.rare_state.as_ref().is_none_or(|state| state.inbox.is_empty())
    }

    pub(super) fn take_inbox(&mut self) -> VecDeque<PendingEvent<P>> {
        self.rare_state.as_mut().map(|state| std::mem::take(&mut state.inbox)).unwrap_or_default()
    }

    /// Returns whether an input has no effect: a timer that was replaced or cancelled, or a sync of
    /// an earlier incarnation.
    pub(super) fn is_stale(&self, pending: &PendingEvent<P>) -> bool {
        match pending {
            PendingEvent::Timer { generation, .. } => {
                let timers = self.rare_state.as_ref().map(|state| state.timers.as_slice()).unwrap_or_default();
                timers.iter().all(|armed| armed.generation != *generation)
            }
            PendingEvent::Synced { incarnation, .. } => *incarnation != self.incarnation(),
            PendingEvent::Start { .. }
            | PendingEvent::Message { .. }
            | PendingEvent::Command { .. }
            | PendingEvent::DiskStatus { .. }
            | PendingEvent::Alarm { .. }
            | PendingEvent::ProcessingDone { .. }
            | PendingEvent::EndOfTurn { .. }
            | PendingEvent::MembershipNotice(_)
            | PendingEvent::CrashNotice(_)
            | PendingEvent::Membership(_)
            | PendingEvent::Fault(_) => false,
        }
    }

    /// Removes and returns the timer of this generation. `None` if it was replaced or cancelled.
    pub(crate) fn take_timer(&mut self, generation: u32) -> Option<P::Timer> {
        let timers = &mut self.rare_state.as_mut()?.timers;
        let index = timers.iter().position(|armed| armed.generation == generation)?;
        Some(timers.swap_remove(index).timer)
    }

    /// Removes all timers and returns their number.
    pub(crate) fn remove_timers(&mut self) -> usize {
        self.rare_state.as_mut().map_or(0, |state| state.timers.drain(..).count())
    }

    /// Sets a timer, replacing an equal one. Returns its generation, and whether it replaced one.
    fn arm(&mut self, timer: P::Timer, fires_at: Time) -> (u32, bool) {
        let is_replacement = self.cancel(&timer);
        let state = self.rare_state_mut();
        state.generation = state.generation.wrapping_add(1);
        state.timers.push(ArmedTimer { generation: state.generation, timer, fires_at });
        (state.generation, is_replacement)
    }

    /// Changes the clock, and gives every timer a new generation. Timers measure durations, so a
    /// new offset does not move them, but a new rate does. Returns the new generation and the
    /// remaining true duration of each timer.
    pub(crate) fn change_clock(&mut self, now: Time, change: impl FnOnce(&mut NodeClock)) -> Vec<(u32, Duration)> {
        let state = self.rare_state_mut();
        let clock = state.clock.get_or_insert_with(|| NodeClock::synchronized(now));
        let reading_before = clock.at(now);
        change(clock);
        let reading_after = clock.at(now);
        let clock = *clock;
        let mut rescheduled = Vec::new();
        for armed in &mut state.timers {
            let remaining = armed.fires_at.since(reading_before);
            armed.fires_at = reading_after + remaining;
            state.generation = state.generation.wrapping_add(1);
            armed.generation = state.generation;
            rescheduled.push((armed.generation, clock.true_duration(remaining)));
        }
        rescheduled
    }

    /// Removes a timer. Returns whether it was set.
    fn cancel(&mut self, timer: &P::Timer) -> bool {
        let Some(state) = &mut self.rare_state else { return false };
        let index = state.timers.iter().position(|armed| armed.timer == *timer);
        index.map(|index| state.timers.swap_remove(index)).is_some()
    }
}

/// Carries out the effects of one step of a node.
pub(crate) struct Stepper<'a, P: Protocol, O> {
    pub(crate) node: NodeId,
    pub(crate) host: &'a mut Host<P>,
    pub(crate) environment: &'a mut Environment<P, O>,
}

impl<P, O> Sink<P> for Stepper<'_, P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    #[inline]
    fn effect(&mut self, effect: Effect<P>) {
        // The disk keeps an effect that must wait until earlier saves are durable.
        let admitted = match (self.host.disk(), &effect) {
            (Some(disk), _) => disk.admit(effect),
            (None, Effect::Save(_)) => self.host.rare_state_mut().disk.insert(Disk::default()).admit(effect),
            (None, _) => Some(effect),
        };
        if let Some(effect) = admitted {
            self.carry_out(effect);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        let effect = match note {
            Note::Rule { rule, text } => ObservedEffect::Rule { rule, text },
            Note::Delivered { from, payload } => ObservedEffect::Delivered { from, payload_id: payload },
            Note::Membership(note) => ObservedEffect::Membership(note),
            Note::HoldBack { count, names } => ObservedEffect::HoldBack { count, names },
        };
        self.observe(effect);
    }
}

impl<P, O> Stepper<'_, P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Carries out the effects that waited for saves which are now durable.
    pub(crate) fn carry_out_durable(&mut self) {
        while let Some(effect) = self.host.disk().and_then(|disk| disk.release()) {
            self.carry_out(effect);
        }
    }

    /// Starts a sync of all pending writes, unless a sync is in progress. If the disk is full, the
    /// writes wait for space instead.
    pub(crate) fn begin_sync(&mut self) {
        let Some(disk) = self.host.disk() else { return };
        if disk.is_syncing {
            return;
        }
        let Some(count) = disk.saves_after_sync() else { return };
        if let Some(faults) = self.host.disk_faults().filter(|faults| faults.is_full()) {
            let holding_disks = faults.hold_writes();
            self.environment.disk_events += holding_disks;
            self.environment.stalled_items += holding_disks;
            return;
        }
        if let Some(disk) = self.host.disk() {
            disk.is_syncing = true;
        }
        self.environment.disk_events += 1;
        let fixed =
            self.environment.directions.as_mut().and_then(|directions| directions.next_sync_duration(self.node));
        let duration = fixed.unwrap_or_else(|| self.environment.node_rng.draw_latency(self.environment.sync));
        let done_at = self.environment.time + duration;
        let incarnation = self.host.incarnation();
        self.environment.push(done_at, PendingEvent::Synced { node: self.node, incarnation, count });
    }

    #[inline]
    fn carry_out(&mut self, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, order: _ } => {
                let sent = self.reserve_ids(1, &message);
                let number = sent.id.number;
                self.observe(ObservedEffect::Send { to, sent });
                self.environment.transmit(self.node, to, number, message);
            }
            Effect::Multicast { to, message, order: _ } => {
                let others = to.len() - usize::from(to.contains(self.node));
                let sent = self.reserve_ids(others as u64, &message);
                let first_id = sent.id;
                self.observe(ObservedEffect::Multicast { to: &to, sent });
                for (to, id) in quorate_journal::moment::receivers(&to, first_id) {
                    self.environment.transmit(self.node, to, id.number, message.clone());
                }
            }
            Effect::Save(write) => {
                self.observe(ObservedEffect::Save(&write));
                if let Some(disk) = self.host.disk() {
                    disk.write(write);
                }
            }
            Effect::SetTimer { timer, span } => self.set_timer(timer, span),
            Effect::CancelTimer(timer) => {
                if self.host.cancel(&timer) {
                    self.environment.armed_timers -= 1;
                    self.observe(ObservedEffect::CancelTimer(&timer));
                }
            }
            Effect::Emit { event, order: _ } => {
                self.observe(ObservedEffect::Emit(&event));
                self.environment.client_events.push_back((self.node, ClientEvent::Emitted(event)));
            }
        }
    }

    /// Reserves message ids for `transmissions` copies of a message, and describes the first copy.
    #[inline]
    fn reserve_ids<'m>(&mut self, transmissions: u64, message: &'m P::Message) -> Sent<'m> {
        let id = MessageId { sender: self.node, number: self.host.sent_count + 1 };
        self.host.sent_count += transmissions;
        Sent::new(id, message, self.environment.observer.reads_sizes())
    }

    fn set_timer(&mut self, timer: P::Timer, span: Span) {
        self.observe(ObservedEffect::SetTimer { timer: &timer, span });
        let fixed =
            self.environment.directions.as_mut().and_then(|directions| directions.next_timer_duration(self.node));
        let local_duration = match fixed {
            None => self.environment.timer_rng.between(span.earliest, span.latest),
            // A timer may fire late, like that of a busy node, but never before its span begins.
            Some(duration) => duration.max(span.earliest),
        };
        let (generation, is_replacement) =
            self.host.arm(timer, self.host.clock_reading(self.environment.time) + local_duration);
        self.environment.armed_timers += usize::from(!is_replacement);
        let true_duration = self.host.clock().map_or(local_duration, |clock| clock.true_duration(local_duration));
        self.environment
            .push(self.environment.time + true_duration, PendingEvent::Timer { node: self.node, generation });
    }

    #[inline]
    fn observe(&mut self, effect: ObservedEffect<'_, P::Event>) {
        let moment = Moment::Effect { time: self.environment.time, node: self.node, effect };
        self.environment.observer.observe(&moment);
    }
}
