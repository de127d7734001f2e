//! Starts a node between processes, and what its user holds of it.

use crate::acceptor::{Doors, listen};
use crate::complaints::Complaints;
use crate::context::Context;
use crate::frame::{Birth, Terms};
use crate::inbox::{Inbox, Letter};
use crate::line::{Line, LinkStats};
use crate::link::{Origin, Room};
use crate::meeting::Meeting;
use crate::node::{End, Worker};
use crate::peer::{Fame, Peer};
use crate::post::{Lines, Post};
use crate::settings::Settings;
use quorate_core::{Codec, Durable, Incarnation, NodeId, View, WriteOf};
use quorate_drive::{Engine, Failure, Found, Parts, Record};
use quorate_journal::Recordable;
use quorate_store::{Report, Storable};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long a node that ends waits for its last messages to leave.
const FAREWELL: Duration = Duration::from_millis(500);

/// How many guests may wait at a peer's door.
const GUESTS: usize = 8;

/// How a node ended.
#[derive(Debug)]
pub enum Ending {
    Stopped,
    /// Its disk or its journal failed: it could not keep what it promises.
    Failed(Failure),
    /// More waited for a peer than its link holds, in a protocol that assumes links which lose nothing.
    Overflowed(String),
    /// One of its tasks panicked, and said why on standard error. It could no longer speak to everybody.
    Died,
}

/// A node with everything that it runs on, before it runs.
pub struct Runtime<P: Recordable, D: Durable, O, C> {
    pub settings: Settings,
    pub listener: std::net::TcpListener,
    pub node: P,
    pub found: Found<P::Durable>,
    pub parts: Parts<D, O>,
    /// What its disk tells: the other end is with the [`Scribe`](quorate_store::Scribe).
    pub reports: Reports,
    pub codec: C,
}

/// What the disk tells a node, on its way there.
pub struct Reports(mpsc::UnboundedReceiver<Report>);

/// Where a disk's reports go in, and where a [`Runtime`] takes them out.
pub fn reports() -> (impl FnMut(Report) + Send + 'static, Reports) {
    let (sender, receiver) = mpsc::unbounded_channel();
    // The other end is gone only if the node has ended.
    let tell = move |report| {
        let _ = sender.send(report);
    };
    (tell, Reports(receiver))
}

/// Why a node did not take a command, which is given back.
#[derive(Debug)]
pub enum NotTaken<C> {
    /// Too many wait already, perhaps because a peer does not keep up.
    Crowded(C),
    Ended(C),
}

/// What the user of a node holds of it. Copies lead to the same node.
pub struct Handle<C> {
    commands: mpsc::Sender<C>,
    letters: mpsc::UnboundedSender<Letter>,
    lines: Arc<Lines>,
    epoch: Arc<AtomicU64>,
    address: SocketAddr,
}

// Written by hand, because a derive would ask Clone of the command.
impl<C> Clone for Handle<C> {
    fn clone(&self) -> Self {
        Self {
            commands: self.commands.clone(),
            letters: self.letters.clone(),
            lines: Arc::clone(&self.lines),
            epoch: Arc::clone(&self.epoch),
            address: self.address,
        }
    }
}

impl<C> Handle<C> {
    /// Gives the node a command. Waits while too many wait or a link is crowded; gives it back if the node has ended.
    pub async fn command(&self, command: C) -> Result<(), C> {
        self.commands.send(command).await.map_err(|refused| refused.0)
    }

    /// Gives the node a command if it need not wait for that.
    pub fn try_command(&self, command: C) -> Result<(), NotTaken<C>> {
        self.commands.try_send(command).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(command) => NotTaken::Crowded(command),
            mpsc::error::TrySendError::Closed(command) => NotTaken::Ended(command),
        })
    }

    /// Tells the node its group's new view. Frames carry its epoch from now on.
    pub fn view(&self, view: View) {
        self.epoch.store(view.epoch().0, Ordering::Relaxed);
        let _ = self.letters.send(Letter::View(view));
    }

    /// Tells the node that another is taken for dead, or is taken back.
    pub fn suspect(&self, node: NodeId, is_suspect: bool) {
        let _ = self.letters.send(Letter::Suspect(node, is_suspect));
    }

    /// Asks the node to end. What it has said still leaves.
    pub fn stop(&self) {
        // Nobody listens only if it has ended.
        let _ = self.letters.send(Letter::Stop);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What each link has seen so far.
    pub fn links(&self) -> BTreeMap<NodeId, LinkStats> {
        self.lines.iter().map(|(node, line)| (*node, line.stats())).collect()
    }
}

impl<P, D, O, C> Runtime<P, D, O, C>
where
    P: Recordable + Send + 'static,
    P::Command: Send,
    P::Message: Send,
    P::Timer: Send,
    P::Event: Send,
    P::Durable: Send,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Record<P::Command, P::Event> + Send + 'static,
    C: Codec<P> + Send + 'static,
{
    /// Makes the node ready to run. Must be called inside a tokio runtime. The future is the node, best spawned as a
    /// task; `hear` gets what it tells, all of one turn at once.
    pub fn prepare<H>(
        self,
        hear: H,
    ) -> io::Result<(Handle<P::Command>, impl Future<Output = Ending> + Send + 'static + use<P, D, O, C, H>)>
    where
        H: FnMut(Vec<P::Event>) + Send + 'static,
    {
        let Self { settings, listener, node, found, parts, reports, codec } = self;
        settings.limits.check().map_err(|sentence| io::Error::new(io::ErrorKind::InvalidInput, sentence))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let (command_sender, commands) = mpsc::channel(settings.limits.commands.max(1));
        let (letter_sender, letters) = mpsc::unbounded_channel();
        let (inbox, parcels) = Inbox::new(settings.limits.inbox_batches, settings.limits.inbox_bytes);
        let (drained, epoch) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
        let context = Arc::new(context(&settings, found.incarnation));
        let lines = Arc::new(lines(&settings, found.incarnation, &drained, &epoch));
        let obituaries = settings.tells_deaths.then(|| letter_sender.clone());
        let (peers, doors) = peers(&settings, &context, &lines, &inbox, obituaries.as_ref());
        let post =
            Post::new(settings.me, codec, settings.overflow, settings.limits.message_bytes, Lines::clone(&lines));
        let mut worker = Worker {
            engine: Engine::new(node, parts),
            post,
            letters,
            parcels,
            commands,
            reports: reports.0,
            drained,
            hear,
            own: VecDeque::new(),
            receptions: BTreeMap::new(),
            incarnation: found.incarnation,
            context: Arc::clone(&context),
        };
        let handle =
            Handle { commands: command_sender, letters: letter_sender, lines: Arc::clone(&lines), epoch, address };
        let running = async move {
            let mut tasks = JoinSet::new();
            let acceptor = tasks.spawn(listen(context, listener, doors));
            for peer in peers {
                tasks.spawn(peer.run());
            }
            let end = tokio::select! {
                end = worker.work(found) => end,
                () = death(&mut tasks) => return Ending::Died,
            };
            acceptor.abort();
            lines.values().for_each(|line| line.close());
            // What still comes is not taken, but read: a connection that is closed with something unread loses what was
            // written last.
            let farewell = async {
                loop {
                    tokio::select! {
                        joined = tasks.join_next() => if joined.is_none() { return },
                        Some(_) = worker.parcels.recv() => {}
                    }
                }
            };
            let _ = timeout(FAREWELL, farewell).await;
            match end {
                End::Stopped => match worker.end() {
                    Ok(()) => Ending::Stopped,
                    Err(failure) => Ending::Failed(failure),
                },
                End::Failed(failure) => Ending::Failed(failure),
                End::Overflow(why) => Ending::Overflowed(why),
            }
        };
        Ok((handle, running))
    }
}

/// Waits until a task panics. They end by themselves only after the node.
async fn death(tasks: &mut JoinSet<()>) {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => return,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

fn context(settings: &Settings, incarnation: Incarnation) -> Context {
    Context {
        terms: Terms {
            group: settings.group.clone(),
            algorithm: settings.algorithm.clone(),
            format: settings.format,
            me: settings.me,
            members: u32::try_from(settings.peers.len() + 1).unwrap_or(u32::MAX),
        },
        incarnation,
        // The keys of a hasher are the system's own dice.
        birth: Birth(RandomState::new().hash_one("birth")),
        security: settings.security.clone(),
        limits: settings.limits,
        complaints: Complaints::new(),
    }
}

fn lines(settings: &Settings, incarnation: Incarnation, drained: &Arc<Notify>, epoch: &Arc<AtomicU64>) -> Lines {
    let limits = settings.limits;
    let origin = Origin { group: settings.group.number(), node: settings.me, incarnation };
    let room = Room {
        crowded_bytes: limits.crowded_bytes,
        held_bytes: limits.held_bytes,
        message_bytes: limits.message_bytes,
    };
    let line = |peer: NodeId| Line::new(origin, peer, room, Arc::clone(drained), Arc::clone(epoch));
    settings.peers.keys().map(|peer| (*peer, Arc::new(line(*peer)))).collect()
}

fn peers(
    settings: &Settings,
    context: &Arc<Context>,
    lines: &Lines,
    inbox: &Inbox,
    obituaries: Option<&mpsc::UnboundedSender<Letter>>,
) -> (Vec<Peer>, Doors) {
    let mut doors = Doors::new();
    let mut peers = Vec::new();
    for ((node, address), line) in settings.peers.iter().zip(lines.values()) {
        let (door, guests) = mpsc::channel(GUESTS);
        doors.insert(*node, door);
        peers.push(Peer {
            context: Arc::clone(context),
            node: *node,
            address: address.clone(),
            line: Arc::clone(line),
            meeting: Meeting::new(settings.me, context.incarnation, *node),
            guests,
            inbox: inbox.clone(),
            last_complaint: String::new(),
            obituaries: obituaries.cloned(),
            fame: Fame::Unknown,
        });
    }
    (peers, doors)
}
