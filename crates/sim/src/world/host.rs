//! The host of a node: its condition, timers, clock and disk, and the execution of its effects.

use super::full_disk::{DiskFaults, Failure};
use super::{Environment, Pending};
use quorate_core::{Duration, Effect, Incarnation, NodeId, Note, Protocol, Sink, Span, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::disk::Disk;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, Observer, Sent};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::replay_nodes::Condition;
use quorate_journal::workload::ClientEvent;
use serde::Serialize;
use std::collections::VecDeque;

/// The simulated machine of one node. It is small, so that a million hosts fit in memory and each
/// in a cache line.
pub(crate) struct Host<P: Protocol> {
    /// Number of transmissions by all incarnations of this node.
    sent: u64,
    pub(crate) condition: Condition,
    extras: Option<Box<Extras<P>>>,
}

struct Armed<T> {
    /// Distinguishes this timer from earlier ones of the same name, whose events may still be
    /// queued.
    generation: u32,
    timer: T,
    /// When it fires, by the node's own clock.
    fires_at: Time,
}

/// State that most nodes of a large world never need.
pub(crate) struct Extras<P: Protocol> {
    incarnation: Incarnation,
    /// Number of timers set by all incarnations of this node: the generation of the last one.
    generation: u32,
    timers: Vec<Armed<P::Timer>>,
    /// `None` until the first save.
    pub(crate) disk: Option<Disk<P>>,
    /// Whether the disk was erased since the last start.
    is_blank: bool,
    /// `None` until the first disk fault.
    disk_faults: Option<Box<DiskFaults>>,
    /// `None` while the clock shows true time.
    pub(crate) clock: Option<NodeClock>,
    /// Inputs that wait because the node is paused, or because it is processing the first of them.
    pub(super) inbox: VecDeque<Pending<P>>,
    /// Whether the node is processing the first input of its inbox.
    is_busy: bool,
    /// How often a crash or a pause has interrupted the node.
    interruptions: u32,
    /// The serial number of the fault that crashed or paused the node last.
    stopped_by: u64,
}

impl<P: Protocol> Default for Extras<P> {
    fn default() -> Self {
        Self {
            incarnation: Incarnation::FIRST,
            generation: 0,
            timers: Vec::new(),
            disk: None,
            is_blank: false,
            disk_faults: None,
            clock: None,
            inbox: VecDeque::new(),
            is_busy: false,
            interruptions: 0,
            stopped_by: 0,
        }
    }
}

impl<P: Protocol> Host<P> {
    pub(crate) fn new() -> Self {
        Self { sent: 0, condition: Condition::Up, extras: None }
    }

    /// Returns the extras, creating them if necessary.
    pub(crate) fn extras(&mut self) -> &mut Extras<P> {
        self.extras.get_or_insert_default()
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.extras.as_ref().map_or(Incarnation::FIRST, |extras| extras.incarnation)
    }

    pub(crate) fn begin_next_incarnation(&mut self) {
        let extras = self.extras();
        extras.incarnation = extras.incarnation.next();
    }

    pub(crate) fn disk(&mut self) -> Option<&mut Disk<P>> {
        self.extras.as_mut()?.disk.as_mut()
    }

    /// Erases the disk. The next start reports it as blank.
    pub(crate) fn wipe_disk(&mut self) {
        let extras = self.extras();
        extras.disk.get_or_insert_default().wipe();
        extras.is_blank = true;
    }

    /// Returns whether the disk was erased since the last start, and clears that flag.
    pub(crate) fn take_blank_flag(&mut self) -> bool {
        self.extras.as_mut().is_some_and(|extras| std::mem::take(&mut extras.is_blank))
    }

    /// Returns the faults of the disk, or `None` if it never had any.
    pub(super) fn disk_faults(&mut self) -> Option<&mut DiskFaults> {
        self.extras.as_mut()?.disk_faults.as_deref_mut()
    }

    /// Returns the faults of the disk, creating them if necessary.
    pub(super) fn disk_faults_mut(&mut self) -> &mut DiskFaults {
        self.extras().disk_faults.get_or_insert_default()
    }

    /// Removes and returns the failure in which the current sync ends.
    pub(super) fn take_disk_failure(&mut self) -> Option<Failure> {
        self.disk_faults()?.failure.take()
    }

    fn clock(&self) -> Option<&NodeClock> {
        self.extras.as_ref()?.clock.as_ref()
    }

    /// Returns the reading of the node's own clock at the true time `time`.
    #[inline]
    pub(crate) fn now(&self, time: Time) -> Time {
        self.clock().map_or(time, |clock| clock.at(time))
    }

    /// Starts to process the first waiting input, if there is one and the node is up and idle.
    /// Returns the number of interruptions so far, or `None` if it does not start.
    pub(crate) fn start_processing(&mut self) -> Option<u32> {
        let is_up = self.condition == Condition::Up;
        let extras = self.extras.as_mut().filter(|extras| is_up && !extras.is_busy && !extras.inbox.is_empty())?;
        extras.is_busy = true;
        Some(extras.interruptions)
    }

    /// Removes and returns the processed input, unless the node was interrupted since it started.
    pub(super) fn finish_processing(&mut self, interruptions: u32) -> Option<Pending<P>> {
        let extras = self.extras.as_mut().filter(|extras| extras.interruptions == interruptions)?;
        extras.is_busy = false;
        extras.inbox.pop_front()
    }

    /// Crashes or pauses the node by the fault `serial`, interrupting its processing.
    pub(crate) fn stop(&mut self, condition: Condition, serial: u64) {
        self.condition = condition;
        let extras = self.extras();
        extras.stopped_by = serial;
        extras.is_busy = false;
        extras.interruptions = extras.interruptions.wrapping_add(1);
    }

    /// Returns whether this fault is the reason why the node is not up.
    pub(crate) fn is_stopped_by(&self, serial: u64) -> bool {
        let last = self.extras.as_ref().map(|extras| extras.stopped_by);
        self.condition != Condition::Up && last == Some(serial)
    }

    /// Counts the inputs in the inbox that certainly have an effect.
    pub(super) fn count_certain_inputs(&self) -> usize {
        self.extras.as_ref().map_or(0, |extras| extras.inbox.iter().filter(|pending| pending.is_certain()).count())
    }

    pub(super) fn take_inbox(&mut self) -> VecDeque<Pending<P>> {
        self.extras.as_mut().map(|extras| std::mem::take(&mut extras.inbox)).unwrap_or_default()
    }

    /// Returns whether an input has no effect: a timer that was replaced or cancelled, or a sync of
    /// an earlier incarnation.
    pub(super) fn is_stale(&self, pending: &Pending<P>) -> bool {
        match pending {
            Pending::Timer { generation, .. } => {
                let timers = self.extras.as_ref().map(|extras| extras.timers.as_slice()).unwrap_or_default();
                timers.iter().all(|armed| armed.generation != *generation)
            }
            Pending::Synced { incarnation, .. } => *incarnation != self.incarnation(),
            Pending::Start { .. }
            | Pending::Message { .. }
            | Pending::Command { .. }
            | Pending::DiskStatus { .. }
            | Pending::Alarm { .. }
            | Pending::ProcessingDone { .. }
            | Pending::MembershipNotice(_)
            | Pending::DeathNotice(_)
            | Pending::Membership(_)
            | Pending::Fault(_) => false,
        }
    }

    /// Removes and returns the timer of this generation. `None` if it was replaced or cancelled.
    pub(crate) fn fire(&mut self, generation: u32) -> Option<P::Timer> {
        let timers = &mut self.extras.as_mut()?.timers;
        let index = timers.iter().position(|armed| armed.generation == generation)?;
        Some(timers.swap_remove(index).timer)
    }

    /// Removes all timers and returns their number.
    pub(crate) fn remove_timers(&mut self) -> usize {
        self.extras.as_mut().map_or(0, |extras| extras.timers.drain(..).count())
    }

    /// Sets a timer, replacing an equal one. Returns its generation, and whether it replaced one.
    fn arm(&mut self, timer: P::Timer, fires_at: Time) -> (u32, bool) {
        let replaced = self.cancel(&timer);
        let extras = self.extras();
        extras.generation = extras.generation.wrapping_add(1);
        extras.timers.push(Armed { generation: extras.generation, timer, fires_at });
        (extras.generation, replaced)
    }

    /// Changes the clock. Timers measure durations, so an offset does not move them, but a
    /// different rate does. Returns the new generation and the remaining true duration of each
    /// timer.
    pub(crate) fn change_clock(&mut self, now: Time, change: impl FnOnce(&mut NodeClock)) -> Vec<(u32, Duration)> {
        let extras = self.extras();
        let clock = extras.clock.get_or_insert_with(|| NodeClock::synchronized(now));
        let before = clock.at(now);
        change(clock);
        let after = clock.at(now);
        let clock = *clock;
        let mut rescheduled = Vec::new();
        for armed in &mut extras.timers {
            let remaining = armed.fires_at.since(before);
            armed.fires_at = after + remaining;
            extras.generation = extras.generation.wrapping_add(1);
            armed.generation = extras.generation;
            rescheduled.push((armed.generation, clock.true_duration(remaining)));
        }
        rescheduled
    }

    /// Removes a timer. Returns whether it was set.
    fn cancel(&mut self, timer: &P::Timer) -> bool {
        let Some(extras) = &mut self.extras else { return false };
        let index = extras.timers.iter().position(|armed| armed.timer == *timer);
        index.map(|index| extras.timers.swap_remove(index)).is_some()
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
        let admitted = match (self.host.disk(), &effect) {
            (Some(disk), _) => disk.admit(effect),
            (None, Effect::Save(_)) => self.host.extras().disk.insert(Disk::default()).admit(effect),
            (None, _) => Some(effect),
        };
        if let Some(effect) = admitted {
            self.carry_out(effect);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        let effect = match note {
            Note::Rule { rule, text } => ObservedEffect::Rule { rule, text },
            Note::Delivered { from, parcel } => ObservedEffect::Delivered { from, parcel },
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
    /// Carries out the effects whose writes are now durable.
    pub(crate) fn release(&mut self) {
        while let Some(effect) = self.host.disk().and_then(|disk| disk.release()) {
            self.carry_out(effect);
        }
    }

    /// Starts a sync of all pending writes, unless a sync is in progress or the disk is full.
    pub(crate) fn begin_sync(&mut self) {
        let Some(disk) = self.host.disk() else { return };
        if disk.syncing {
            return;
        }
        let Some(count) = disk.saves_after_sync() else { return };
        if let Some(faults) = self.host.disk_faults().filter(|faults| faults.is_full()) {
            let held = faults.hold_writes();
            self.environment.disk_events += held;
            self.environment.stalled += held;
            return;
        }
        if let Some(disk) = self.host.disk() {
            disk.syncing = true;
        }
        self.environment.disk_events += 1;
        let fixed = self.environment.directions.as_mut().and_then(|directions| directions.sync(self.node));
        let length = fixed.unwrap_or_else(|| self.environment.node_rng.length(self.environment.sync));
        let done_at = self.environment.time + length;
        let incarnation = self.host.incarnation();
        self.environment.push(done_at, Pending::Synced { node: self.node, incarnation, count });
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
                let first = sent.id;
                self.observe(ObservedEffect::Multicast { to: &to, sent });
                for (to, id) in quorate_journal::moment::receivers(&to, first) {
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
        let id = MessageId { sender: self.node, number: self.host.sent + 1 };
        self.host.sent += transmissions;
        Sent::new(id, message, self.environment.observer.reads_sizes())
    }

    fn set_timer(&mut self, timer: P::Timer, span: Span) {
        self.observe(ObservedEffect::SetTimer { timer: &timer, span });
        let fixed = self.environment.directions.as_mut().and_then(|directions| directions.timer(self.node));
        let local_duration = match fixed {
            None => self.environment.timer_rng.between(span.earliest, span.latest),
            Some(length) => length.max(span.earliest),
        };
        let (generation, replaced) = self.host.arm(timer, self.host.now(self.environment.time) + local_duration);
        self.environment.armed_timers += usize::from(!replaced);
        let true_duration = self.host.clock().map_or(local_duration, |clock| clock.true_duration(local_duration));
        self.environment.push(self.environment.time + true_duration, Pending::Timer { node: self.node, generation });
    }

    #[inline]
    fn observe(&mut self, effect: ObservedEffect<'_, P::Event>) {
        let moment = Moment::Effect { time: self.environment.time, node: self.node, effect };
        self.environment.observer.observe(&moment);
    }
}
