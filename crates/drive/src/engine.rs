//! One node with everything around it but the network.

use crate::clock::Clock;
use crate::desk::{Desk, Disk};
use crate::record::Record;
use crate::timers::Timers;
use quorate_core::{
    Barrier, Describe, Durable, Effect, Effects, Group, Incarnation, Input, NodeId, Note, Protocol, Sink, Time, View,
    WriteOf,
};
use quorate_journal::Recordable;
use quorate_journal::moment::{Done, Happening, MessageId, Moment, Sent, Taken};
use quorate_store::{Report, Storable, StoreError};
use serde::Serialize;
use std::io;

/// Where a node's messages and events go. Nothing may leave the process before [`Engine::settle`].
pub trait Outlet<P: Protocol> {
    /// A message to one node, with its number among all transmissions of this life.
    fn send(&mut self, to: NodeId, number: u64, message: P::Message);
    /// A message to every member but the node itself; the first of them gets this number, the others those after it.
    fn multicast(&mut self, to: &Group, first: u64, message: P::Message);
    /// Something for the user.
    fn emit(&mut self, event: P::Event);
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub number: u64,
}

/// Why a node must end.
#[derive(Debug)]
pub enum Failure {
    /// Its disk failed: it could not keep what it promises. The store says why, unless the thread that writes died.
    Disk(Option<StoreError>),
    Journal(io::Error),
}

/// What a node finds when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found<D> {
    pub durable: D,
    /// Which life this is. No two starts of a node may have the same.
    pub incarnation: Incarnation,
    /// Whether its disk was lost since it last lived.
    pub is_blank: bool,
}

/// What an engine is made of.
pub struct Parts<D: Durable, O> {
    pub me: NodeId,
    pub clock: Clock,
    pub seed: u64,
    pub disk: Disk<D>,
    pub record: O,
}

/// One node with everything around it but the network. `D` is what is on its disk; its writes are the node's.
pub struct Engine<P: Protocol, D: Durable, O> {
    node: P,
    host: Host<P, D, O>,
}

struct Host<P: Protocol, D: Durable, O> {
    me: NodeId,
    clock: Clock,
    now: Time,
    timers: Timers<P::Timer>,
    barrier: Barrier<P>,
    desk: Desk<P, D>,
    /// How many saves are durable, as far as the node is to know.
    durable: u64,
    transmissions: u64,
    record: O,
    failure: Option<Failure>,
}

impl<P, D, O> Engine<P, D, O>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Record<P::Command, P::Event>,
{
    /// A node that has not started.
    pub fn new(node: P, parts: Parts<D, O>) -> Self {
        let Parts { me, clock, seed, disk, record } = parts;
        let host = Host {
            me,
            clock,
            now: clock.now(),
            timers: Timers::new(seed),
            barrier: Barrier::default(),
            desk: Desk::new(disk),
            durable: 0,
            transmissions: 0,
            record,
            failure: None,
        };
        Self { node, host }
    }

    /// Who the node is.
    pub fn me(&self) -> NodeId {
        self.host.me
    }

    /// Who records what happens.
    pub fn record_mut(&mut self) -> &mut O {
        &mut self.host.record
    }

    /// Reads the clock. Everything until the next time happens at this instant.
    pub fn wake(&mut self) -> Time {
        self.host.now = self.host.clock.now();
        self.host.now
    }

    /// Boots the node with what it found.
    pub fn start(&mut self, found: Found<P::Durable>, out: &mut impl Outlet<P>) {
        let Found { durable, incarnation, is_blank } = found;
        let taken = Taken::Start { incarnation, blank: is_blank };
        self.take(taken, Input::Start { durable, incarnation }, out);
    }

    /// Its user asks something.
    pub fn command(&mut self, command: P::Command, out: &mut impl Outlet<P>) {
        let moment = Moment::Input {
            time: self.host.now,
            now: self.host.now,
            node: self.host.me,
            input: Taken::Command(&command),
        };
        self.host.record.observe(&moment);
        self.step(Input::Command(command), out);
    }

    /// A message arrives.
    pub fn message(&mut self, sender: Sender, message: P::Message, out: &mut impl Outlet<P>) {
        let Sender { node: from, incarnation: life, number } = sender;
        let id = MessageId { sender: from, number };
        let taken = Taken::Message { id, kind: message.kind(), wrapped: message.wrapped(), life };
        self.take(taken, Input::Message { from, message }, out);
    }

    /// The group has a new view.
    pub fn view(&mut self, view: View, out: &mut impl Outlet<P>) {
        let told = view.clone();
        self.take(Taken::View(&told), Input::View(view), out);
    }

    /// It may act in its view up to this instant of its clock.
    pub fn lease(&mut self, until: Time, out: &mut impl Outlet<P>) {
        self.take(Taken::Lease(until), Input::Lease(until), out);
    }

    /// The failure detector takes a node for dead, or back.
    pub fn suspect(&mut self, node: NodeId, is_suspect: bool, out: &mut impl Outlet<P>) {
        if is_suspect {
            self.take(Taken::Suspect(node), Input::Suspect(node), out);
        } else {
            self.take(Taken::Trust(node), Input::Trust(node), out);
        }
    }

    /// The disk tells something.
    pub fn disk(&mut self, report: Report, out: &mut impl Outlet<P>) {
        match report {
            Report::Saved { count, .. } => self.saved(count, out),
            Report::Full(_) => self.take(Taken::DiskFull, Input::DiskFull, out),
            Report::Free => self.take(Taken::DiskFree, Input::DiskFree, out),
            Report::Failed(error) => self.host.failure = Some(Failure::Disk(Some(error))),
        }
    }

    /// Fires the timers that are due.
    pub fn fire(&mut self, out: &mut impl Outlet<P>) {
        while let Some(timer) = self.host.timers.fire(self.host.now) {
            let name = timer.clone();
            self.take(Taken::Timer(&name), Input::Timer(timer), out);
        }
    }

    /// When the next timer is due, if any is set.
    pub fn next_timer(&self) -> Option<Time> {
        self.host.timers.next()
    }

    /// Ends a turn: first the journal is written, then the saves go to the disk. Without a disk, what was saved counts as
    /// durable now. If this fails, the node must end and nothing of the turn may leave.
    pub fn settle(&mut self, out: &mut impl Outlet<P>) -> Result<(), Failure> {
        while matches!(self.host.desk.disk, Disk::None) && self.host.durable < self.host.barrier.asked() {
            self.saved(self.host.barrier.asked(), out);
        }
        if let Some(failure) = self.host.failure.take() {
            return Err(failure);
        }
        self.host.record.flush().map_err(Failure::Journal)?;
        self.host.desk.hand_over().map_err(|_| Failure::Disk(None))
    }

    /// Hands over what the disk has a place for, and waits until that is saved. Tells how many writes found no place.
    pub fn close_disk(&mut self) -> usize {
        self.host.desk.close()
    }

    /// The node ends in good order: nothing comes after this.
    pub fn end(&mut self) -> Result<(), Failure> {
        let (time, node) = (self.host.now, self.host.me);
        self.host.record.observe(&Moment::World { time, what: Happening::Ended { node } });
        self.host.record.flush().map_err(Failure::Journal)
    }

    fn saved(&mut self, count: u64, out: &mut impl Outlet<P>) {
        let (time, node) = (self.host.now, self.host.me);
        self.host.record.observe(&Moment::Input { time, now: time, node, input: Taken::Saved(count) });
        self.host.durable = count;
        self.host.barrier.durable(count);
        while let Some(effect) = self.host.barrier.release() {
            self.host.carry_out(effect, out);
        }
        self.step(Input::Saved(count), out);
    }

    fn take(&mut self, taken: Taken<'_, P::Command>, input: Input<P>, out: &mut impl Outlet<P>) {
        let (time, node) = (self.host.now, self.host.me);
        self.host.record.observe(&Moment::Input { time, now: time, node, input: taken });
        self.step(input, out);
    }

    fn step(&mut self, input: Input<P>, out: &mut impl Outlet<P>) {
        let mut stepper = Stepper { host: &mut self.host, out };
        let now = stepper.host.now;
        self.node.step(now, input, &mut Effects::new(&mut stepper));
    }
}

impl<P, D, O> Host<P, D, O>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Record<P::Command, P::Event>,
{
    fn carry_out(&mut self, effect: Effect<P>, out: &mut impl Outlet<P>) {
        match effect {
            Effect::Send { to, message, order: _ } => {
                let first = self.number(1);
                self.tell(Done::Send { to, sent: self.sent(first, &message) });
                out.send(to, first, message);
            }
            Effect::Multicast { to, message, order: _ } => {
                let others = to.len() - usize::from(to.contains(self.me));
                let first = self.number(others as u64);
                self.tell(Done::Multicast { to: &to, sent: self.sent(first, &message) });
                out.multicast(&to, first, message);
            }
            Effect::Save(write) => {
                self.tell(Done::Save(&write));
                // The number of this save among all: the barrier has counted it.
                self.desk.save(self.barrier.asked(), write);
            }
            Effect::SetTimer { timer, span } => {
                self.tell(Done::SetTimer { timer: &timer, span });
                self.timers.set(self.now, timer, span);
            }
            Effect::CancelTimer(timer) => {
                if self.timers.cancel(&timer) {
                    self.tell(Done::CancelTimer(&timer));
                }
            }
            Effect::Emit { event, order: _ } => {
                self.tell(Done::Emit(&event));
                out.emit(event);
            }
        }
    }

    /// Numbers so many transmissions, and tells the first.
    fn number(&mut self, transmissions: u64) -> u64 {
        let first = self.transmissions + 1;
        self.transmissions += transmissions;
        first
    }

    fn sent<'m>(&self, number: u64, message: &'m P::Message) -> Sent<'m> {
        Sent::of(MessageId { sender: self.me, number }, message, self.record.reads_sizes())
    }

    fn tell(&mut self, effect: Done<'_, P::Event>) {
        self.record.observe(&Moment::Effect { time: self.now, node: self.me, effect });
    }
}

struct Stepper<'a, P: Protocol, D: Durable, O, U> {
    host: &'a mut Host<P, D, O>,
    out: &'a mut U,
}

impl<P, D, O, U> Sink<P> for Stepper<'_, P, D, O, U>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Record<P::Command, P::Event>,
    U: Outlet<P>,
{
    fn effect(&mut self, effect: Effect<P>) {
        if let Some(effect) = self.host.barrier.admit(effect) {
            self.host.carry_out(effect, self.out);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        self.host.tell(match note {
            Note::Rule { rule, text } => Done::Rule { rule, text },
            Note::Handed { from, parcel } => Done::Handed { from, parcel },
            Note::Told(told) => Done::Told(told),
            Note::HoldBack { count, names } => Done::HoldBack { count, names },
        });
    }
}
