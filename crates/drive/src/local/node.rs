//! A node on a thread. In each turn the node handles the waiting inputs, up to a limit. Then the
//! resulting messages and events leave together, except those that wait until a save is durable.

use super::mailbox::{Address, Incoming, Mailbox};
use crate::{Clock, Disk, Engine, EngineParts, Failure, MessageOrigin, Outlet, StartState};
use quorate_core::{Group, Incarnation, NodeId, Protocol, WriteOf};
use quorate_journal::Recordable;
use quorate_store::{Storable, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Maximum number of mailbox entries that a node handles in a turn. An entry may hold several
/// inputs.
const MAX_ENTRIES_PER_TURN: usize = 256;

/// A running node. Dropping it stops the node and waits until it has ended.
pub struct RunningNode<P: Protocol> {
    address: Address<P>,
    thread: Option<JoinHandle<Ending>>,
}

/// How a node ended.
#[derive(Debug)]
pub enum Ending {
    /// The node was asked to stop, or nothing could send it inputs any more.
    Stopped,
    /// The node's disk failed, so the node could no longer save its state. `None` if the disk's
    /// thread panicked, or the node had not yet handled that thread's last report.
    DiskFailed(Option<StoreError>),
    /// The node's thread panicked.
    Panicked,
}

impl<P: Protocol> RunningNode<P> {
    /// Returns the address to which other nodes and clients send.
    pub fn address(&self) -> &Address<P> {
        &self.address
    }

    /// Stops the node and waits until it has ended. The effects of its current turn, and the inputs
    /// that it has not handled, are lost, as in a crash.
    pub fn stop(mut self) -> Ending {
        self.stop_and_wait()
    }

    fn stop_and_wait(&mut self) -> Ending {
        self.address.ask_to_stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ending)) => ending,
            Some(Err(_)) => Ending::Panicked,
            None => Ending::Stopped,
        }
    }
}

impl<P: Protocol> Drop for RunningNode<P> {
    fn drop(&mut self) {
        self.stop_and_wait();
    }
}

/// The parts and the durable state with which a node starts.
pub struct NodeSetup<P: Protocol> {
    pub me: NodeId,
    pub durable: P::Durable,
    pub incarnation: Incarnation,
    pub disk: Disk<P::Durable>,
    pub peers: BTreeMap<NodeId, Address<P>>,
}

/// Starts a node on a thread. `create` creates the node on that thread. `on_events` receives all
/// events of a turn in one call. Fails if the system cannot start a thread.
pub fn start<P>(
    setup: NodeSetup<P>,
    (address, mailbox): (Address<P>, Mailbox<P>),
    create: impl FnOnce() -> P + Send + 'static,
    on_events: impl FnMut(Vec<P::Event>) + Send + 'static,
) -> io::Result<RunningNode<P>>
where
    P: Recordable<Command: Send, Message: Send, Event: Send, Durable: Storable + Send + 'static> + 'static,
    WriteOf<P>: Serialize + Send + 'static,
{
    let name = format!("node {}", setup.me);
    let run = move || {
        let NodeSetup { me, durable, incarnation, disk, peers } = setup;
        let parts = EngineParts { me, clock: Clock::start(), seed: u64::from(me.number()), disk, recorder: () };
        let peers = peers.into_iter().map(|(node, address)| (node, (address, Vec::new()))).collect();
        let mut engine = Engine::new(create(), parts);
        let mut outbox = Outbox { me, incarnation, peers, events: Vec::new() };
        // Only recorders read `is_disk_blank`, and this driver records nothing.
        engine.start(StartState { durable, incarnation, is_disk_blank: false }, &mut outbox);
        Worker { engine, mailbox, outbox, on_events }.run()
    };
    let thread = Builder::new().name(name).spawn(run);
    thread.map(|thread| RunningNode { address, thread: Some(thread) })
}

struct Worker<P: Protocol, H> {
    engine: Engine<P, P::Durable, ()>,
    mailbox: Mailbox<P>,
    outbox: Outbox<P>,
    on_events: H,
}

impl<P, H> Worker<P, H>
where
    P: Recordable<Durable: Storable + Send + 'static>,
    WriteOf<P>: Serialize + Send + 'static,
    H: FnMut(Vec<P::Event>),
{
    fn run(&mut self) -> Ending {
        loop {
            match self.finish_turn() {
                Ok(()) => {}
                Err(Failure::Disk(error)) => return Ending::DiskFailed(error),
                // This driver writes no journal, so this cannot happen.
                Err(Failure::Journal(_)) => return Ending::Stopped,
            }
            let Some(mut incoming) = self.wait_for_input() else { return Ending::Stopped };
            let mut remaining = MAX_ENTRIES_PER_TURN;
            while let Some(input) = incoming {
                // For each input: this thread may have been paused since the one before it, while a
                // lease expired.
                self.engine.read_clock();
                if matches!(input, Incoming::Stop) {
                    return Ending::Stopped;
                }
                self.handle(input);
                remaining -= 1;
                incoming = if remaining > 0 { self.mailbox.0.try_recv().ok() } else { None };
            }
            self.engine.fire_timers(&mut self.outbox);
        }
    }

    /// Ends a turn: sends its messages and events, except those that wait until a save is durable,
    /// and saves inline if that is quick.
    fn finish_turn(&mut self) -> Result<(), Failure> {
        loop {
            self.engine.settle(&mut self.outbox)?;
            self.outbox.flush(&mut self.on_events);
            if !self.engine.has_inline_saves() {
                return Ok(());
            }
            self.engine.save_inline(&mut self.outbox)?;
        }
    }

    /// Waits for the next input. Returns `Some(None)` if a timer expires first, and `None` if all
    /// addresses of the node are gone.
    fn wait_for_input(&mut self) -> Option<Option<Incoming<P>>> {
        let Some(expiry) = self.engine.next_timer_expiry() else { return self.mailbox.0.recv().ok().map(Some) };
        let wait = expiry.since(self.engine.read_clock());
        match self.mailbox.0.recv_timeout(Duration::from_nanos(wait.nanos())) {
            Ok(incoming) => Some(Some(incoming)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn handle(&mut self, incoming: Incoming<P>) {
        let (engine, outbox) = (&mut self.engine, &mut self.outbox);
        match incoming {
            Incoming::Commands(commands) => {
                commands.into_iter().for_each(|command| engine.handle_command(command, outbox));
            }
            Incoming::Messages { from, incarnation, messages } => {
                for (number, message) in messages {
                    engine.handle_message(MessageOrigin { node: from, incarnation, number }, message, outbox);
                }
            }
            Incoming::Disk(report) => engine.handle_disk_report(report, outbox),
            Incoming::Stop => {}
        }
    }
}

/// Messages with their numbers, which count this incarnation's transmissions to all nodes.
type Numbered<P> = Vec<(u64, <P as Protocol>::Message)>;

/// Messages and events of the current turn.
struct Outbox<P: Protocol> {
    me: NodeId,
    incarnation: Incarnation,
    /// For each peer, its address and the messages to it.
    peers: BTreeMap<NodeId, (Address<P>, Numbered<P>)>,
    events: Vec<P::Event>,
}

impl<P: Protocol> Outbox<P> {
    fn flush(&mut self, on_events: &mut impl FnMut(Vec<P::Event>)) {
        for (address, messages) in self.peers.values_mut().filter(|(_, messages)| !messages.is_empty()) {
            address.send_numbered(self.me, self.incarnation, std::mem::take(messages));
        }
        if !self.events.is_empty() {
            on_events(std::mem::take(&mut self.events));
        }
    }
}

impl<P: Protocol> Outlet<P> for Outbox<P> {
    fn send(&mut self, to: NodeId, number: u64, message: P::Message) {
        if let Some((_, messages)) = self.peers.get_mut(&to) {
            messages.push((number, message));
        }
    }

    fn multicast(&mut self, to: &Group, first_number: u64, message: P::Message) {
        let me = self.me;
        (first_number..).zip(to.others(me)).for_each(|(number, to)| self.send(to, number, message.clone()));
    }

    fn emit(&mut self, event: P::Event) {
        self.events.push(event);
    }
}
