//! One node on a thread: takes what waits for it, then lets everything that came of it go out at once.

use super::mailbox::{Address, Letter, Mailbox};
use crate::{Clock, Disk, Engine, Failure, Found, Outlet, Parts, Sender};
use quorate_core::{Group, Incarnation, NodeId, Protocol, WriteOf};
use quorate_journal::Recordable;
use quorate_store::{Storable, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

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
    Stopped,
    /// Its disk failed: it could not keep what it promises.
    DiskFailed(Option<StoreError>),
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
    pub me: NodeId,
    pub durable: P::Durable,
    pub incarnation: Incarnation,
    pub disk: Disk<P::Durable>,
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
    P: Recordable<Command: Send, Message: Send, Event: Send, Durable: Storable + Send + 'static> + 'static,
    WriteOf<P>: Serialize + Send + 'static,
{
    let name = format!("node {}", setup.me);
    let work = move || {
        let Start { me, durable, incarnation, disk, peers } = setup;
        let parts = Parts { me, clock: Clock::start(), seed: u64::from(me.number()), disk, record: () };
        let peers = peers.into_iter().map(|(node, address)| (node, (address, Vec::new()))).collect();
        let mut engine = Engine::new(make(), parts);
        let mut post = Post { me, incarnation, peers, events: Vec::new() };
        engine.start(Found { durable, incarnation, is_blank: false }, &mut post);
        Worker { engine, mailbox, post, hear }.work()
    };
    let thread = Builder::new().name(name).spawn(work);
    thread.map(|thread| Running { address, thread: Some(thread) })
}

struct Worker<P: Protocol, H> {
    engine: Engine<P, P::Durable, ()>,
    mailbox: Mailbox<P>,
    post: Post<P>,
    hear: H,
}

impl<P, H> Worker<P, H>
where
    P: Recordable<Durable: Storable + Send + 'static>,
    WriteOf<P>: Serialize + Send + 'static,
    H: FnMut(Vec<P::Event>),
{
    fn work(&mut self) -> Ending {
        loop {
            match self.engine.settle(&mut self.post) {
                Ok(()) => {}
                Err(Failure::Disk(error)) => return Ending::DiskFailed(error),
                // Nothing is recorded here, so nothing of it can fail.
                Err(Failure::Journal(_)) => return Ending::Stopped,
            }
            self.post.leave(&mut self.hear);
            let Some(first) = self.next_letter() else { return Ending::Stopped };
            self.engine.wake();
            let mut letter = first;
            for _ in 0..MOST_LETTERS {
                match letter.take() {
                    Some(Letter::Stop) => return Ending::Stopped,
                    Some(letter) => self.open(letter),
                    None => break,
                }
                letter = self.mailbox.0.try_recv().ok();
            }
            self.engine.fire(&mut self.post);
        }
    }

    /// The next letter, or none if a timer is due first. Nothing at all if nobody can write any more.
    fn next_letter(&mut self) -> Option<Option<Letter<P>>> {
        let Some(due) = self.engine.next_timer() else { return self.mailbox.0.recv().ok().map(Some) };
        let wait = due.since(self.engine.wake());
        match self.mailbox.0.recv_timeout(Duration::from_nanos(wait.nanos())) {
            Ok(letter) => Some(Some(letter)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn open(&mut self, letter: Letter<P>) {
        let (engine, post) = (&mut self.engine, &mut self.post);
        match letter {
            Letter::Commands(commands) => commands.into_iter().for_each(|command| engine.command(command, post)),
            Letter::Messages { from, incarnation, messages } => {
                for (number, message) in messages {
                    engine.message(Sender { node: from, incarnation, number }, message, post);
                }
            }
            Letter::Disk(report) => engine.disk(report, post),
            Letter::Stop => {}
        }
    }
}

/// Messages with their numbers among all that this life sent.
type Numbered<P> = Vec<(u64, <P as Protocol>::Message)>;

struct Post<P: Protocol> {
    me: NodeId,
    incarnation: Incarnation,
    peers: BTreeMap<NodeId, (Address<P>, Numbered<P>)>,
    events: Vec<P::Event>,
}

impl<P: Protocol> Post<P> {
    fn leave(&mut self, hear: &mut impl FnMut(Vec<P::Event>)) {
        for (address, messages) in self.peers.values_mut().filter(|(_, messages)| !messages.is_empty()) {
            address.numbered(self.me, self.incarnation, std::mem::take(messages));
        }
        if !self.events.is_empty() {
            hear(std::mem::take(&mut self.events));
        }
    }
}

impl<P: Protocol> Outlet<P> for Post<P> {
    fn send(&mut self, to: NodeId, number: u64, message: P::Message) {
        if let Some((_, messages)) = self.peers.get_mut(&to) {
            messages.push((number, message));
        }
    }

    fn multicast(&mut self, to: &Group, first: u64, message: P::Message) {
        let me = self.me;
        (first..).zip(to.others(me)).for_each(|(number, to)| self.send(to, number, message.clone()));
    }

    fn emit(&mut self, event: P::Event) {
        self.events.push(event);
    }
}
