//! What a node runs on: its condition, timers, clock and disk, and how its effects are carried out.

use super::full_disk::{DiskFaults, Failure};
use super::{Around, Pending};
use quorate_core::{Duration, Effect, Incarnation, NodeId, Note, Protocol, Sink, Span, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::disk::Disk;
use quorate_journal::moment::{Done, MessageId, Moment, Observer, Sent};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::puppets::Condition;
use quorate_journal::workload::News;
use serde::Serialize;
use std::collections::VecDeque;

/// One node's share of the world. It is small: a million of them fit in memory, and one in a line of cache.
pub(crate) struct Host<P: Protocol> {
    /// How many transmissions this node has begun, in all its lives.
    sent: u64,
    pub(crate) condition: Condition,
    extras: Option<Box<Extras<P>>>,
}

struct Armed<T> {
    generation: u32,
    timer: T,
    /// When it fires, by the node's own clock.
    due: Time,
}

/// What many nodes of a large world never need.
pub(crate) struct Extras<P: Protocol> {
    incarnation: Incarnation,
    /// How many timers this node has set, in all its lives.
    generation: u32,
    timers: Vec<Armed<P::Timer>>,
    /// There from the first save on.
    pub(crate) disk: Option<Disk<P>>,
    /// Whether the disk was wiped since the last boot.
    is_blank: bool,
    /// There once something was wrong with the disk.
    disk_faults: Option<Box<DiskFaults>>,
    /// There once the clock is off.
    pub(crate) clock: Option<NodeClock>,
    /// Inputs that wait because the node is paused, or busy with the first of them.
    pub(super) inbox: VecDeque<Pending<P>>,
    is_busy: bool,
    /// How often the node was stopped in its work, by a crash or a pause.
    turn: u32,
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
            turn: 0,
            stopped_by: 0,
        }
    }
}

impl<P: Protocol> Host<P> {
    pub(crate) fn new() -> Self {
        Self { sent: 0, condition: Condition::Up, extras: None }
    }

    /// The extras, which are there from now on.
    pub(crate) fn extras(&mut self) -> &mut Extras<P> {
        self.extras.get_or_insert_default()
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        self.extras.as_ref().map_or(Incarnation::FIRST, |extras| extras.incarnation)
    }

    pub(crate) fn begin_next_life(&mut self) {
        let extras = self.extras();
        extras.incarnation = extras.incarnation.next();
    }

    pub(crate) fn disk(&mut self) -> Option<&mut Disk<P>> {
        self.extras.as_mut()?.disk.as_mut()
    }

    /// All that was on the disk is gone, and the next boot finds it so.
    pub(crate) fn wipe_disk(&mut self) {
        let extras = self.extras();
        extras.disk.get_or_insert_default().wipe();
        extras.is_blank = true;
    }

    /// Whether the node that boots now finds a disk that was wiped since it booted last.
    pub(crate) fn take_blank(&mut self) -> bool {
        self.extras.as_mut().is_some_and(|extras| std::mem::take(&mut extras.is_blank))
    }

    /// What is wrong with the disk, if anything ever was.
    pub(super) fn disk_faults(&mut self) -> Option<&mut DiskFaults> {
        self.extras.as_mut()?.disk_faults.as_deref_mut()
    }

    /// What is wrong with the disk, from now on.
    pub(super) fn disk_faults_mut(&mut self) -> &mut DiskFaults {
        self.extras().disk_faults.get_or_insert_default()
    }

    /// The failure that the sync under way meets.
    pub(super) fn take_failure(&mut self) -> Option<Failure> {
        self.disk_faults()?.failure.take()
    }

    fn clock(&self) -> Option<&NodeClock> {
        self.extras.as_ref()?.clock.as_ref()
    }

    /// The node's own clock at a true instant.
    #[inline]
    pub(crate) fn now(&self, time: Time) -> Time {
        self.clock().map_or(time, |clock| clock.at(time))
    }

    /// Begins to work on the first input that waits, if the node is free for it. Tells which turn this is.
    pub(crate) fn begin_work(&mut self) -> Option<u32> {
        let is_up = self.condition == Condition::Up;
        let extras = self.extras.as_mut().filter(|extras| is_up && !extras.is_busy && !extras.inbox.is_empty())?;
        extras.is_busy = true;
        Some(extras.turn)
    }

    /// The input that the node is done with, unless it was stopped since that turn.
    pub(super) fn end_work(&mut self, turn: u32) -> Option<Pending<P>> {
        let extras = self.extras.as_mut().filter(|extras| extras.turn == turn)?;
        extras.is_busy = false;
        extras.inbox.pop_front()
    }

    /// A fault stops the node, whatever it is busy with.
    pub(crate) fn stop(&mut self, condition: Condition, serial: u64) {
        self.condition = condition;
        let extras = self.extras();
        extras.stopped_by = serial;
        extras.is_busy = false;
        extras.turn = extras.turn.wrapping_add(1);
    }

    /// Whether it is this fault that keeps the node from going on.
    pub(crate) fn is_stopped_by(&self, serial: u64) -> bool {
        let last = self.extras.as_ref().map(|extras| extras.stopped_by);
        self.condition != Condition::Up && last == Some(serial)
    }

    /// How many inputs wait that will certainly make something happen.
    pub(super) fn waiting(&self) -> usize {
        self.extras.as_ref().map_or(0, |extras| extras.inbox.iter().filter(|pending| pending.is_certain()).count())
    }

    pub(super) fn take_inbox(&mut self) -> VecDeque<Pending<P>> {
        self.extras.as_mut().map(|extras| std::mem::take(&mut extras.inbox)).unwrap_or_default()
    }

    /// Whether an input keeps nobody busy: a timer that was replaced or cancelled, a sync of a past life.
    pub(super) fn is_over(&self, pending: &Pending<P>) -> bool {
        match pending {
            Pending::Timer { generation, .. } => {
                let timers = self.extras.as_ref().map(|extras| extras.timers.as_slice()).unwrap_or_default();
                timers.iter().all(|armed| armed.generation != *generation)
            }
            Pending::Synced { incarnation, .. } => *incarnation != self.incarnation(),
            Pending::Start { .. }
            | Pending::Message { .. }
            | Pending::Command { .. }
            | Pending::DiskNews { .. }
            | Pending::Alarm { .. }
            | Pending::Worked { .. }
            | Pending::Notice(_)
            | Pending::Obituary(_)
            | Pending::Errand(_)
            | Pending::Fault(_) => false,
        }
    }

    /// The timer of this generation, unless it was replaced or cancelled since.
    pub(crate) fn fire(&mut self, generation: u32) -> Option<P::Timer> {
        let timers = &mut self.extras.as_mut()?.timers;
        let place = timers.iter().position(|armed| armed.generation == generation)?;
        Some(timers.swap_remove(place).timer)
    }

    /// Forgets all timers and tells how many there were.
    pub(crate) fn disarm(&mut self) -> usize {
        self.extras.as_mut().map_or(0, |extras| extras.timers.drain(..).count())
    }

    /// Sets a timer in place of the one of the same name. Tells its generation, and whether there was one.
    fn arm(&mut self, timer: P::Timer, due: Time) -> (u32, bool) {
        let replaced = self.cancel(&timer);
        let extras = self.extras();
        extras.generation = extras.generation.wrapping_add(1);
        extras.timers.push(Armed { generation: extras.generation, timer, due });
        (extras.generation, replaced)
    }

    /// Changes the clock. A timer measures a length, so a jump does not move it, but another rate does: tells the
    /// new generation and the true length that is left of each one that is set.
    pub(crate) fn change_clock(&mut self, now: Time, change: impl FnOnce(&mut NodeClock)) -> Vec<(u32, Duration)> {
        let extras = self.extras();
        let clock = extras.clock.get_or_insert_with(|| NodeClock::right(now));
        let before = clock.at(now);
        change(clock);
        let after = clock.at(now);
        let clock = *clock;
        let mut moved = Vec::new();
        for armed in &mut extras.timers {
            let left = armed.due.since(before);
            armed.due = after + left;
            extras.generation = extras.generation.wrapping_add(1);
            armed.generation = extras.generation;
            moved.push((armed.generation, clock.true_length(left)));
        }
        moved
    }

    fn cancel(&mut self, timer: &P::Timer) -> bool {
        let Some(extras) = &mut self.extras else { return false };
        let place = extras.timers.iter().position(|armed| armed.timer == *timer);
        place.map(|place| extras.timers.swap_remove(place)).is_some()
    }
}

pub(crate) struct Stepper<'a, P: Protocol, O> {
    pub(crate) node: NodeId,
    pub(crate) host: &'a mut Host<P>,
    pub(crate) around: &'a mut Around<P, O>,
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
            Note::Rule { rule, text } => Done::Rule { rule, text },
            Note::Handed { from, parcel } => Done::Handed { from, parcel },
            Note::Told(told) => Done::Told(told),
            Note::HoldBack { count, names } => Done::HoldBack { count, names },
        };
        self.tell(effect);
    }
}

impl<P, O> Stepper<'_, P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// What waited for the disk, and need not any longer, goes out.
    pub(crate) fn release(&mut self) {
        while let Some(effect) = self.host.disk().and_then(|disk| disk.release()) {
            self.carry_out(effect);
        }
    }

    /// One sync at a time, for all that waits; none while the disk is full.
    pub(crate) fn begin_sync(&mut self) {
        let Some(disk) = self.host.disk() else { return };
        if disk.syncing {
            return;
        }
        let Some(count) = disk.unsynced() else { return };
        if let Some(faults) = self.host.disk_faults().filter(|faults| faults.is_full()) {
            let held = faults.hold();
            self.around.syncing += held;
            self.around.stalled += held;
            return;
        }
        if let Some(disk) = self.host.disk() {
            disk.syncing = true;
        }
        self.around.syncing += 1;
        let told = self.around.directions.as_mut().and_then(|directions| directions.sync(self.node));
        let length = told.unwrap_or_else(|| self.around.node_dice.length(self.around.sync));
        let done = self.around.time + length;
        let incarnation = self.host.incarnation();
        self.around.push(done, Pending::Synced { node: self.node, incarnation, count });
    }

    #[inline]
    fn carry_out(&mut self, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, order: _ } => {
                let sent = self.sent(1, &message);
                let number = sent.id.number;
                self.tell(Done::Send { to, sent });
                self.around.transmit(self.node, to, number, message);
            }
            Effect::Multicast { to, message, order: _ } => {
                let others = to.len() - usize::from(to.contains(self.node));
                let sent = self.sent(others as u64, &message);
                let first = sent.id;
                self.tell(Done::Multicast { to: &to, sent });
                for (to, id) in quorate_journal::moment::receivers(&to, first) {
                    self.around.transmit(self.node, to, id.number, message.clone());
                }
            }
            Effect::Save(write) => {
                self.tell(Done::Save(&write));
                if let Some(disk) = self.host.disk() {
                    disk.write(write);
                }
            }
            Effect::SetTimer { timer, span } => self.set_timer(timer, span),
            Effect::CancelTimer(timer) => {
                if self.host.cancel(&timer) {
                    self.around.armed -= 1;
                    self.tell(Done::CancelTimer(&timer));
                }
            }
            Effect::Emit { event, order: _ } => {
                self.tell(Done::Emit(&event));
                self.around.news.push_back((self.node, News::Told(event)));
            }
        }
    }

    /// Numbers so many transmissions, and describes the first.
    #[inline]
    fn sent<'m>(&mut self, transmissions: u64, message: &'m P::Message) -> Sent<'m> {
        let id = MessageId { sender: self.node, number: self.host.sent + 1 };
        self.host.sent += transmissions;
        Sent::of(id, message, self.around.observer.reads_sizes())
    }

    fn set_timer(&mut self, timer: P::Timer, span: Span) {
        self.tell(Done::SetTimer { timer: &timer, span });
        let told = self.around.directions.as_mut().and_then(|directions| directions.timer(self.node));
        let shown = match told {
            None => self.around.timer_dice.between(span.earliest, span.latest),
            Some(length) => length.max(span.earliest),
        };
        let (generation, replaced) = self.host.arm(timer, self.host.now(self.around.time) + shown);
        self.around.armed += usize::from(!replaced);
        let truly = self.host.clock().map_or(shown, |clock| clock.true_length(shown));
        self.around.push(self.around.time + truly, Pending::Timer { node: self.node, generation });
    }

    #[inline]
    fn tell(&mut self, effect: Done<'_, P::Event>) {
        let moment = Moment::Effect { time: self.around.time, node: self.node, effect };
        self.around.observer.observe(&moment);
    }
}
