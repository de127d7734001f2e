//! The engine: one node with its clock, timers, disk and journal, but without a network.

use crate::clock::Clock;
use crate::record::Recorder;
use crate::save_queue::{Disk, SaveQueue};
use crate::timers::Timers;
use quorate_core::{
    Barrier, Describe, Durable, Effect, Effects, Group, Incarnation, Input, NodeId, Note, Protocol, Sink, Time, View,
    WriteOf,
};
use quorate_journal::Recordable;
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Sent, WorldEvent};
use quorate_store::{Report, Storable, StoreError};
use serde::Serialize;
use std::io;

/// Receives a node's messages and events. They must not leave the process before
/// [`Engine::settle`] has succeeded.
pub trait Outlet<P: Protocol> {
    /// Sends a message to one node. `number` is its number among all transmissions of this
    /// incarnation.
    fn send(&mut self, to: NodeId, number: u64, message: P::Message);
    /// Sends a message to every node of `to` except the sender. The transmissions have consecutive
    /// numbers, starting with `first_number`.
    fn multicast(&mut self, to: &Group, first_number: u64, message: P::Message);
    /// Passes an event to the client.
    fn emit(&mut self, event: P::Event);
}

/// Identifies a received message: the sender, its incarnation, and the number of the transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageOrigin {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub number: u64,
}

/// Why a node must stop.
#[derive(Debug)]
pub enum Failure {
    /// The disk failed, so the node can no longer save its state. `None` if the thread that writes
    /// to it has ended and the engine has received no report of the cause: the thread panicked, or
    /// its last report is still queued at the driver.
    Disk(Option<StoreError>),
    /// The journal could not be written.
    Journal(io::Error),
}

/// The state with which a node starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartState<D> {
    pub durable: D,
    /// Must be different for every start of the node.
    pub incarnation: Incarnation,
    /// Whether the node's disk was lost since the previous incarnation.
    pub is_disk_blank: bool,
}

/// The parts from which an engine is made.
pub struct EngineParts<D: Durable, O> {
    pub me: NodeId,
    pub clock: Clock,
    /// Seed of the random lengths of timers.
    pub seed: u64,
    pub disk: Disk<D>,
    pub recorder: O,
}

/// One node with its clock, timers, disk and journal, but without a network. `D` is the state on
/// its disk, which accepts the node's writes; `O` records the run.
pub struct Engine<P: Protocol, D: Durable, O> {
    node: P,
    host: Host<P, D, O>,
    /// Whether the node took an input since the last end of a turn, and uses that input.
    is_turn_open: bool,
}

/// Everything but the node itself, so that it can be borrowed while the node steps.
struct Host<P: Protocol, D: Durable, O> {
    me: NodeId,
    clock: Clock,
    now: Time,
    timers: Timers<P::Timer>,
    /// Withholds messages and events until the saves before them are durable.
    barrier: Barrier<P>,
    save_queue: SaveQueue<P, D>,
    /// Number of saves of which the node knows that they are durable.
    durable_saves: u64,
    /// Number of transmissions of this incarnation.
    transmissions: u64,
    recorder: O,
    failure: Option<Failure>,
}

impl<P, D, O> Engine<P, D, O>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Recorder<P::Command, P::Event>,
{
    /// Creates the engine of a node that has not started.
    pub fn new(node: P, parts: EngineParts<D, O>) -> Self {
        let EngineParts { me, clock, seed, disk, recorder } = parts;
        let host = Host {
            me,
            clock,
            now: clock.now(),
            timers: Timers::new(seed),
            barrier: Barrier::default(),
            save_queue: SaveQueue::new(disk),
            durable_saves: 0,
            transmissions: 0,
            recorder,
            failure: None,
        };
        Self { node, host, is_turn_open: false }
    }

    /// Returns the id of the node.
    pub fn me(&self) -> NodeId {
        self.host.me
    }

    /// Returns the observer that records the node's steps.
    pub fn recorder_mut(&mut self) -> &mut O {
        &mut self.host.recorder
    }

    /// Reads the clock and returns its time. All inputs until the next call happen at this time.
    pub fn read_clock(&mut self) -> Time {
        self.host.now = self.host.clock.now();
        self.host.now
    }

    /// Starts the node with the state that the driver found on its disk.
    pub fn start(&mut self, state: StartState<P::Durable>, out: &mut impl Outlet<P>) {
        let StartState { durable, incarnation, is_disk_blank } = state;
        let observed = ObservedInput::Start { incarnation, is_disk_blank };
        self.record_and_step(observed, Input::Start { durable, incarnation }, out);
    }

    /// Gives the node a command of its client.
    pub fn handle_command(&mut self, command: P::Command, out: &mut impl Outlet<P>) {
        let moment = Moment::Input {
            time: self.host.now,
            now: self.host.now,
            node: self.host.me,
            input: ObservedInput::Command(&command),
        };
        self.host.recorder.observe(&moment);
        self.step(Input::Command(command), out);
    }

    /// Gives the node a received message.
    pub fn handle_message(&mut self, origin: MessageOrigin, message: P::Message, out: &mut impl Outlet<P>) {
        let MessageOrigin { node: from, incarnation, number } = origin;
        let id = MessageId { sender: from, number };
        let observed =
            ObservedInput::Message { id, kind: message.kind(), is_wrapped: message.is_wrapped(), incarnation };
        self.record_and_step(observed, Input::Message { from, message }, out);
    }

    /// Gives the node a new view of its group.
    pub fn handle_view(&mut self, view: View, out: &mut impl Outlet<P>) {
        let recorded = view.clone();
        self.record_and_step(ObservedInput::View(&recorded), Input::View(view), out);
    }

    /// Gives the node a lease: it may act in its view until its clock shows this time.
    pub fn handle_lease(&mut self, until: Time, out: &mut impl Outlet<P>) {
        self.record_and_step(ObservedInput::Lease(until), Input::Lease(until), out);
    }

    /// Notifies the node that a failure detector suspects another node, or trusts it again.
    pub fn handle_suspicion(&mut self, node: NodeId, is_suspect: bool, out: &mut impl Outlet<P>) {
        if is_suspect {
            self.record_and_step(ObservedInput::Suspect(node), Input::Suspect(node), out);
        } else {
            self.record_and_step(ObservedInput::Trust(node), Input::Trust(node), out);
        }
    }

    /// Gives the node a report of its disk. If the disk failed, the next [`settle`](Self::settle)
    /// returns the failure.
    pub fn handle_disk_report(&mut self, report: Report, out: &mut impl Outlet<P>) {
        match report {
            Report::Saved { count, .. } => self.handle_saved(count, out),
            Report::Full(_) => self.record_and_step(ObservedInput::DiskFull, Input::DiskFull, out),
            Report::Free => self.record_and_step(ObservedInput::DiskFree, Input::DiskFree, out),
            Report::Failed(error) => self.host.failure = Some(Failure::Disk(Some(error))),
        }
    }

    /// Fires all expired timers, the earliest first.
    pub fn fire_timers(&mut self, out: &mut impl Outlet<P>) {
        self.read_clock();
        while let Some(timer) = self.host.timers.take_expired(self.host.now) {
            let recorded = timer.clone();
            self.record_and_step(ObservedInput::Timer(&recorded), Input::Timer(timer), out);
        }
    }

    /// Returns when the next timer fires, if any is set.
    pub fn next_timer_expiry(&self) -> Option<Time> {
        self.host.timers.next_expiry()
    }

    /// Ends a turn (the inputs since the previous call): gives the node [`Input::EndOfTurn`] if the
    /// node uses it, writes the journal, then submits the saves to the disk, unless the driver
    /// should [save inline](Self::has_inline_saves). Without a disk, all saves count as durable
    /// immediately, and this method first reports them to the node as completed.
    ///
    /// If the method fails, the node must stop, and no message or event of the turn may leave the
    /// process.
    pub fn settle(&mut self, out: &mut impl Outlet<P>) -> Result<(), Failure> {
        // In response to completed saves and to the end of the turn, the node may request further
        // saves.
        loop {
            let has_disk = !matches!(self.host.save_queue.disk, Disk::None);
            if !has_disk && self.host.durable_saves < self.host.barrier.saves_requested() {
                self.handle_saved(self.host.barrier.saves_requested(), out);
            } else if self.is_turn_open {
                self.record_and_step(ObservedInput::EndOfTurn, Input::EndOfTurn, out);
                self.is_turn_open = false;
            } else {
                break;
            }
        }
        if let Some(failure) = self.host.failure.take() {
            return Err(failure);
        }
        self.host.recorder.flush().map_err(Failure::Journal)?;
        if self.has_inline_saves() {
            return Ok(());
        }
        self.host.save_queue.submit().map_err(|_| Failure::Disk(None))
    }

    /// Whether the last [`settle`](Self::settle) left saves for
    /// [`save_inline`](Self::save_inline): the disk is idle and so quick that it would take longer
    /// to wake the disk's thread and be woken by it.
    pub fn has_inline_saves(&self) -> bool {
        self.host.save_queue.suits_inline(self.host.durable_saves)
    }

    /// Makes the saves of the turn durable before it returns, and gives the node the report. If
    /// that would take more than a short sync, submits them to the disk's thread after all. The
    /// driver calls this after it has sent the messages and events of the turn, and settles again.
    pub fn save_inline(&mut self, out: &mut impl Outlet<P>) -> Result<(), Failure> {
        match self.host.save_queue.save_inline() {
            Some(report) => {
                self.read_clock();
                self.handle_disk_report(report, out);
                Ok(())
            }
            None => self.host.save_queue.submit().map_err(|_| Failure::Disk(None)),
        }
    }

    /// Submits the saves that the disk's queue has space for and waits until they are durable, or
    /// until the disk's thread gives up because the disk is full or failed. Returns the number of
    /// saves that were not submitted.
    pub fn close_disk(&mut self) -> usize {
        self.host.save_queue.close()
    }

    /// Records that the node shuts down cleanly. No other method may be called afterwards.
    pub fn record_end(&mut self) -> Result<(), Failure> {
        let (time, node) = (self.host.now, self.host.me);
        self.host.recorder.observe(&Moment::World { time, event: WorldEvent::Ended { node } });
        self.host.recorder.flush().map_err(Failure::Journal)
    }

    /// Carries out the effects that waited for the first `count` saves, which are now durable, and
    /// reports the saves to the node.
    fn handle_saved(&mut self, count: u64, out: &mut impl Outlet<P>) {
        let (time, node) = (self.host.now, self.host.me);
        self.host.recorder.observe(&Moment::Input { time, now: time, node, input: ObservedInput::Saved(count) });
        self.host.durable_saves = count;
        self.host.barrier.mark_durable(count);
        while let Some(effect) = self.host.barrier.release() {
            self.host.carry_out(effect, out);
        }
        self.step(Input::Saved(count), out);
    }

    fn record_and_step(&mut self, observed: ObservedInput<'_, P::Command>, input: Input<P>, out: &mut impl Outlet<P>) {
        let (time, node) = (self.host.now, self.host.me);
        self.host.recorder.observe(&Moment::Input { time, now: time, node, input: observed });
        self.step(input, out);
    }

    fn step(&mut self, input: Input<P>, out: &mut impl Outlet<P>) {
        let mut stepper = Stepper { host: &mut self.host, out };
        let now = stepper.host.now;
        self.node.step(now, input, &mut Effects::new(&mut stepper));
        self.is_turn_open = self.node.uses_end_of_turn();
    }
}

impl<P, D, O> Host<P, D, O>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Recorder<P::Command, P::Event>,
{
    fn carry_out(&mut self, effect: Effect<P>, out: &mut impl Outlet<P>) {
        // The barrier has already enforced the `order` of the effects.
        match effect {
            Effect::Send { to, message, order: _ } => {
                let number = self.reserve_numbers(1);
                self.observe(ObservedEffect::Send { to, sent: self.describe_sent(number, &message) });
                out.send(to, number, message);
            }
            Effect::Multicast { to, message, order: _ } => {
                let others = to.len() - usize::from(to.contains(self.me));
                let first_number = self.reserve_numbers(others as u64);
                self.observe(ObservedEffect::Multicast { to: &to, sent: self.describe_sent(first_number, &message) });
                out.multicast(&to, first_number, message);
            }
            Effect::Save(write) => {
                self.observe(ObservedEffect::Save(&write));
                self.save_queue.enqueue(write);
            }
            Effect::SetTimer { timer, span } => {
                self.observe(ObservedEffect::SetTimer { timer: &timer, span });
                self.timers.set(self.now, timer, span);
            }
            Effect::CancelTimer(timer) => {
                if self.timers.cancel(&timer) {
                    self.observe(ObservedEffect::CancelTimer(&timer));
                }
            }
            Effect::Emit { event, order: _ } => {
                self.observe(ObservedEffect::Emit(&event));
                out.emit(event);
            }
        }
    }

    /// Reserves numbers for this many transmissions and returns the first.
    fn reserve_numbers(&mut self, transmissions: u64) -> u64 {
        let first_number = self.transmissions + 1;
        self.transmissions += transmissions;
        first_number
    }

    fn describe_sent<'m>(&self, number: u64, message: &'m P::Message) -> Sent<'m> {
        Sent::new(MessageId { sender: self.me, number }, message, self.recorder.reads_sizes())
    }

    fn observe(&mut self, effect: ObservedEffect<'_, P::Event>) {
        self.recorder.observe(&Moment::Effect { time: self.now, node: self.me, effect });
    }
}

/// Passes the effects of a step through the barrier.
struct Stepper<'a, P: Protocol, D: Durable, O, U> {
    host: &'a mut Host<P, D, O>,
    out: &'a mut U,
}

impl<P, D, O, U> Sink<P> for Stepper<'_, P, D, O, U>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Recorder<P::Command, P::Event>,
    U: Outlet<P>,
{
    fn effect(&mut self, effect: Effect<P>) {
        if let Some(effect) = self.host.barrier.admit(effect) {
            self.host.carry_out(effect, self.out);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        self.host.observe(match note {
            Note::Rule { rule, text } => ObservedEffect::Rule { rule, text },
            Note::Delivered { from, payload } => ObservedEffect::Delivered { from, payload_id: payload },
            Note::Membership(note) => ObservedEffect::Membership(note),
            Note::HoldBack { count, names } => ObservedEffect::HoldBack { count, names },
        });
    }
}
