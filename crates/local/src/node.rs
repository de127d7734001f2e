//! One node on a thread: takes what waits for it, then lets everything that came of it go out at once.

use crate::disk::{Desk, Disk, Failure};
use crate::mailbox::{Address, Letter, Mailbox};
use crate::timers::{Clock, Timers};
use quorate_core::{Barrier, Effect, Effects, Incarnation, Input, NodeId, Note, Protocol, Sink, Time, WriteOf};
use quorate_store::{Report, Storable, StoreError};
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{Builder, JoinHandle};

/// So many letters are read before anything goes out.
const MOST_LETTERS: usize = 256;

/// A node that runs.
pub struct Running<P: Protocol> {
    address: Address<P>,
    thread: Option<JoinHandle<Ending>>,
}

/// How a node ended.
#[derive(Debug)]
pub enum Ending {
    /// It was asked to.
    Stopped,
    /// Its disk failed: it could not keep what it promises.
    DiskFailed(Option<StoreError>),
    /// Its thread panicked, and said why on standard error.
    Panicked,
}

impl<P: Protocol> Running<P> {
    /// Where letters to it go.
    pub fn address(&self) -> &Address<P> {
        &self.address
    }

    /// Ends it and waits until it has.
    pub fn stop(mut self) -> Ending {
        self.end()
    }

    fn end(&mut self) -> Ending {
        self.address.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ending)) => ending,
            Some(Err(_)) => Ending::Panicked,
            None => Ending::Stopped,
        }
    }
}

impl<P: Protocol> Drop for Running<P> {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a node is started with.
pub struct Start<P: Protocol> {
    /// Who it is.
    pub me: NodeId,
    /// What was durable.
    pub durable: P::Durable,
    /// Which life this is.
    pub incarnation: Incarnation,
    /// Where its saves go.
    pub disk: Disk<P>,
    /// Where the others are.
    pub peers: BTreeMap<NodeId, Address<P>>,
}

/// Starts a node on a thread of its own. `make` makes the node there; `hear` gets what it tells, all of one turn at once.
pub fn start<P>(
    setup: Start<P>,
    (address, mailbox): (Address<P>, Mailbox<P>),
    make: impl FnOnce() -> P + Send + 'static,
    hear: impl FnMut(Vec<P::Event>) + Send + 'static,
) -> io::Result<Running<P>>
where
    P: Protocol<Command: Send, Message: Send, Event: Send, Durable: Storable + Send + 'static> + 'static,
    WriteOf<P>: Send + 'static,
{
    let name = format!("node {}", setup.me);
    let work = move || {
        let Start { me, durable, incarnation, disk, peers } = setup;
        let outside = Outside {
            me,
            clock: Clock::start(),
            timers: Timers::new(u64::from(me.number())),
            barrier: Barrier::default(),
            desk: Desk::new(disk),
            durable: 0,
            peers: peers.into_iter().map(|(node, address)| (node, (address, Vec::new()))).collect(),
            events: Vec::new(),
            failure: None,
            has_ended: false,
        };
        let mut worker = Worker { node: make(), mailbox, outside, hear };
        worker.take(Input::Start { durable, incarnation });
        worker.work()
    };
    let thread = Builder::new().name(name).spawn(work);
    thread.map(|thread| Running { address, thread: Some(thread) })
}

/// A node with everything around it.
struct Worker<P: Protocol, H> {
    node: P,
    mailbox: Mailbox<P>,
    outside: Outside<P>,
    hear: H,
}

/// Everything around a node.
struct Outside<P: Protocol> {
    me: NodeId,
    clock: Clock,
    timers: Timers<P::Timer>,
    barrier: Barrier<P>,
    desk: Desk<P>,
    /// How many saves are durable, as far as the node is to know.
    durable: u64,
    /// The others, each with what waits to go there.
    peers: BTreeMap<NodeId, (Address<P>, Vec<P::Message>)>,
    events: Vec<P::Event>,
    failure: Failure,
    has_ended: bool,
}

impl<P, H> Worker<P, H>
where
    P: Protocol<Durable: Storable + Send + 'static>,
    WriteOf<P>: Send + 'static,
    H: FnMut(Vec<P::Event>),
{
    fn work(&mut self) -> Ending {
        loop {
            self.flush();
            if self.outside.has_ended {
                return Ending::DiskFailed(self.outside.failure.take());
            }
            let Some(first) = self.next_letter() else { return Ending::Stopped };
            let mut letter = first;
            for _ in 0..MOST_LETTERS {
                match letter.take() {
                    Some(Letter::Stop) => return Ending::Stopped,
                    Some(letter) => self.open(letter),
                    None => break,
                }
                letter = self.mailbox.0.try_recv().ok();
            }
            while let Some(timer) = self.outside.timers.fire(self.outside.clock.now()) {
                self.take(Input::Timer(timer));
            }
        }
    }

    /// The next letter, or none if a timer is due first. Nothing at all if nobody can write any more.
    fn next_letter(&mut self) -> Option<Option<Letter<P>>> {
        match self.outside.timers.wait(self.outside.clock.now()) {
            None => self.mailbox.0.recv().ok().map(Some),
            Some(wait) => match self.mailbox.0.recv_timeout(std::time::Duration::from_nanos(wait.nanos())) {
                Ok(letter) => Some(Some(letter)),
                Err(RecvTimeoutError::Timeout) => Some(None),
                Err(RecvTimeoutError::Disconnected) => None,
            },
        }
    }

    fn open(&mut self, letter: Letter<P>) {
        match letter {
            Letter::Commands(commands) => commands.into_iter().for_each(|command| self.take(Input::Command(command))),
            Letter::Messages { from, messages } => {
                messages.into_iter().for_each(|message| self.take(Input::Message { from, message }));
            }
            Letter::Disk(Report::Saved { count, .. }) => self.saved(count),
            Letter::Disk(Report::Full(_)) => self.take(Input::DiskFull),
            Letter::Disk(Report::Free) => self.take(Input::DiskFree),
            Letter::Disk(Report::Failed(error)) => {
                self.outside.failure = Some(error);
                self.outside.has_ended = true;
            }
            Letter::Stop => {}
        }
    }

    fn saved(&mut self, count: u64) {
        self.outside.durable = count;
        self.outside.has_ended |= self.outside.desk.hand_over().is_err();
        self.outside.barrier.durable(count);
        let now = self.outside.clock.now();
        while let Some(effect) = self.outside.barrier.release() {
            self.outside.carry_out(now, effect);
        }
        self.take(Input::Saved(count));
    }

    fn take(&mut self, input: Input<P>) {
        let now = self.outside.clock.now();
        self.node.step(now, input, &mut Effects::new(&mut Turn { now, outside: &mut self.outside }));
    }

    /// Everything that came of the turn goes out. Without a disk, what was saved is durable now.
    fn flush(&mut self) {
        while matches!(self.outside.desk.disk, Disk::None) && self.outside.durable < self.outside.barrier.asked() {
            self.saved(self.outside.barrier.asked());
        }
        let me = self.outside.me;
        for (address, messages) in self.outside.peers.values_mut().filter(|(_, messages)| !messages.is_empty()) {
            address.deliver(me, std::mem::take(messages));
        }
        if !self.outside.events.is_empty() {
            (self.hear)(std::mem::take(&mut self.outside.events));
        }
    }
}

impl<P> Outside<P>
where
    P: Protocol<Durable: Storable + Send + 'static>,
    WriteOf<P>: Send + 'static,
{
    fn carry_out(&mut self, now: Time, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, order: _ } => self.send(to, message),
            Effect::Multicast { to, message, order: _ } => {
                to.others(self.me).for_each(|to| self.send(to, message.clone()));
            }
            Effect::Save(write) => {
                // The number of this save among all: the barrier has counted it.
                if self.desk.save(self.barrier.asked(), write).is_err() {
                    self.has_ended = true;
                }
            }
            Effect::SetTimer { timer, span } => self.timers.set(now, timer, span),
            Effect::CancelTimer(timer) => self.timers.cancel(&timer),
            Effect::Emit { event, order: _ } => self.events.push(event),
        }
    }

    fn send(&mut self, to: NodeId, message: P::Message) {
        if let Some((_, messages)) = self.peers.get_mut(&to) {
            messages.push(message);
        }
    }
}

/// One step of the node.
struct Turn<'a, P: Protocol> {
    now: Time,
    outside: &'a mut Outside<P>,
}

impl<P> Sink<P> for Turn<'_, P>
where
    P: Protocol<Durable: Storable + Send + 'static>,
    WriteOf<P>: Send + 'static,
{
    fn effect(&mut self, effect: Effect<P>) {
        if let Some(effect) = self.outside.barrier.admit(effect) {
            self.outside.carry_out(self.now, effect);
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}
