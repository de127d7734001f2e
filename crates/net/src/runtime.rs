//! Starts a node, and creates the handle through which its client uses it.

use crate::context::Context;
use crate::frame::{Generation, HandshakeTerms, ProcessNonce};
use crate::inbox::{ControlInput, Inbox};
use crate::link_handle::{CommonLinkState, LinkStats, Traffic};
use crate::listener::Listener;
use crate::node::{NodeTask, NodeTaskEnd};
use crate::outbox::Outbox;
use crate::peer::{DRAIN_TIMEOUT, Peer};
use crate::peers::{PeerRegistry, Peers};
use crate::rate_limited_log::RateLimitedLog;
use crate::settings::{PeerSet, Settings};
use quorate_core::{Codec, Durable, Incarnation, NodeId, View, WriteOf};
use quorate_drive::{Engine, EngineParts, Failure, Recorder, StartState};
use quorate_journal::Recordable;
use quorate_store::{Report, Storable};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How a node ended.
#[derive(Debug)]
pub enum Ending {
    Stopped,
    /// The disk or the journal failed, so the node could not guarantee what it had saved.
    Failed(Failure),
    /// A link overflowed, or a message could not be encoded or decoded, in a protocol that assumes
    /// reliable links. The text is for the operator.
    MessageLost(String),
    /// One of the node's tasks panicked and printed a message on standard error. The node ended,
    /// because without that task it could no longer accept connections or connect to a peer.
    TaskPanicked,
}

/// A configured node that does not run yet. `D` is the durable state on the disk, `O` the recorder
/// and `C` the codec of messages.
pub struct Runtime<P: Recordable, D: Durable, O, C> {
    pub settings: Settings,
    pub listener: std::net::TcpListener,
    pub node: P,
    /// The durable state and the incarnation with which the node starts.
    pub start_state: StartState<P::Durable>,
    /// The clock, seed, disk and recorder of the node.
    pub parts: EngineParts<D, O>,
    /// The disk's reports, from [`disk_reports`]. The sending end belongs to the
    /// [`DiskWriter`](quorate_store::DiskWriter).
    pub reports: DiskReports,
    pub codec: C,
}

/// Receiving end of a disk's reports to its node.
pub struct DiskReports(mpsc::UnboundedReceiver<Report>);

/// Creates a channel for a disk's reports: a callback for the disk, and the end for a [`Runtime`].
pub fn disk_reports() -> (impl FnMut(Report) + Send + 'static, DiskReports) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let report = move |report| {
        // Sending fails only if the node has ended.
        let _ = sender.send(report);
    };
    (report, DiskReports(receiver))
}

/// Why a node did not accept a command, with the command, whose type is `C`.
#[derive(Debug)]
pub enum CommandRejected<C> {
    /// The command queue is full, perhaps because a peer is slow.
    QueueFull(C),
    /// The node has ended.
    Ended(C),
}

/// The settings of the node do not allow its peers to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the peers of this node are fixed, and nothing was changed. To change them, start it with PeerSet::Changing.")]
pub struct PeersAreFixed;

/// The client's access to a running node, whose commands have the type `C`. Clones refer to the
/// same node.
pub struct Handle<C> {
    commands: mpsc::Sender<C>,
    control: mpsc::UnboundedSender<ControlInput>,
    peers: Arc<PeerRegistry>,
    peer_set: PeerSet,
    common_links: Arc<CommonLinkState>,
    address: SocketAddr,
}

// Not derived, because a derive would require `C: Clone`.
impl<C> Clone for Handle<C> {
    fn clone(&self) -> Self {
        Self {
            commands: self.commands.clone(),
            control: self.control.clone(),
            peers: Arc::clone(&self.peers),
            peer_set: self.peer_set,
            common_links: Arc::clone(&self.common_links),
            address: self.address,
        }
    }
}

impl<C> Handle<C> {
    /// Sends the node a command. Waits while the command queue is full; the node takes nothing from
    /// the queue while a link is crowded (see `Limits`). Returns the command if the node has ended.
    pub async fn command(&self, command: C) -> Result<(), C> {
        self.commands.send(command).await.map_err(|refused| refused.0)
    }

    /// Sends the node a command without waiting; returns the command if the queue is full or the
    /// node has ended.
    pub fn try_command(&self, command: C) -> Result<(), CommandRejected<C>> {
        self.commands.try_send(command).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(command) => CommandRejected::QueueFull(command),
            mpsc::error::TrySendError::Closed(command) => CommandRejected::Ended(command),
        })
    }

    /// Gives the node the group's new view. Frames carry its epoch from now on.
    pub fn install_view(&self, view: View) {
        self.common_links.epoch.store(view.epoch().0, Ordering::Relaxed);
        let _ = self.control.send(ControlInput::View(view));
    }

    /// Replaces the peers of the node with these, at these addresses. Ignores the node itself. Does
    /// not wait, and may be called from the handler of events. The change takes effect before any
    /// command that is sent later, and may overtake earlier ones.
    ///
    /// - A new peer is dialled and may connect. Messages to it wait for the first connection.
    ///   Messages from before the change were dropped.
    /// - A peer with a new address is dialled there; its old connection ends. No message is lost or
    ///   repeated.
    /// - A removed peer that is connected still receives the messages that the node has sent, if it
    ///   acknowledges them within half a second. Then its connection is closed, and later ones are
    ///   refused. What it sends is ignored, and its crash is not reported.
    /// - A peer that is removed and added again starts with a new link. Both nodes drop the
    ///   messages to each other that were not consumed on the old one, and the peer drops those
    ///   that it sends before it learns of the new link.
    ///
    /// Fails if the settings of the node do not allow changes.
    pub fn set_peers(&self, peers: BTreeMap<NodeId, String>) -> Result<(), PeersAreFixed> {
        if self.peer_set == PeerSet::Fixed {
            return Err(PeersAreFixed);
        }
        // Sending fails only if the node has ended.
        let _ = self.control.send(ControlInput::Peers(peers));
        Ok(())
    }

    /// Reports to the node that a failure detector suspects that a peer has crashed, or trusts it
    /// again.
    pub fn report_suspicion(&self, peer: NodeId, is_suspected: bool) {
        let _ = self.control.send(ControlInput::Suspicion { peer, is_suspected, link: None });
    }

    /// Stops the node. It still carries out queued commands, unless a link is crowded, and sends
    /// its last messages.
    pub fn stop(&self) {
        // Sending fails only if the node has ended.
        let _ = self.control.send(ControlInput::Stop);
    }

    /// The address of the node's listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Statistics of the link to each peer, since the peer was added.
    pub fn links(&self) -> BTreeMap<NodeId, LinkStats> {
        self.peers.link_stats()
    }

    /// The traffic on all links since the node started, including links to removed peers.
    pub fn traffic(&self) -> Traffic {
        *self.common_links.traffic()
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
    O: Recorder<P::Command, P::Event> + Send + 'static,
    C: Codec<P> + Send + 'static,
{
    /// Returns the node's handle and the future that runs it, which is best spawned as a task.
    /// `on_events` receives the node's events, all of one turn in one call. Must be called inside a
    /// tokio runtime. Fails if the limits are inconsistent or the listener cannot be used.
    pub fn prepare<H>(
        self,
        on_events: H,
    ) -> io::Result<(Handle<P::Command>, impl Future<Output = Ending> + Send + 'static + use<P, D, O, C, H>)>
    where
        H: FnMut(Vec<P::Event>) + Send + 'static,
    {
        let Self { settings, listener, node, start_state, parts, reports, codec } = self;
        settings.limits.check().map_err(|sentence| io::Error::new(io::ErrorKind::InvalidInput, sentence))?;
        listener.set_nonblocking(true)?;
        let socket = TcpListener::from_std(listener)?;
        let address = socket.local_addr()?;
        let (command_sender, commands) = mpsc::channel(settings.limits.max_queued_commands.max(1));
        let (control_sender, control) = mpsc::unbounded_channel();
        let (inbox, batches) = Inbox::new(settings.limits.inbox_batches, settings.limits.inbox_bytes);
        let context = Arc::new(create_context(&settings, start_state.incarnation));
        let (registry, common_links) = (Arc::new(PeerRegistry::default()), Arc::new(CommonLinkState::default()));
        let (new_tasks, mut new_peers) = mpsc::unbounded_channel();
        let peers = Peers {
            context: Arc::clone(&context),
            registry: Arc::clone(&registry),
            common: Arc::clone(&common_links),
            inbox,
            suspicions: settings.reports_crashes.then(|| control_sender.downgrade()),
            new_tasks,
            generation: Generation::FIRST,
        };
        let mut node = NodeTask {
            engine: Engine::new(node, parts),
            outbox: Outbox::new(Arc::clone(&context), codec, settings.overflow),
            control,
            batches,
            commands,
            reports: reports.0,
            common_links: Arc::clone(&common_links),
            on_events,
            loopback: VecDeque::new(),
            peers,
            duplicate_filters: BTreeMap::new(),
            suspected: BTreeSet::new(),
            incarnation: start_state.incarnation,
            context: Arc::clone(&context),
        };
        node.replace_peers(settings.peers);
        let handle = Handle {
            commands: command_sender,
            control: control_sender,
            peers: Arc::clone(&registry),
            peer_set: settings.peer_set,
            common_links,
            address,
        };
        let running = async move {
            let mut tasks = JoinSet::new();
            let listener = tasks.spawn(Listener { context, socket, peers: Arc::clone(&registry) }.run());
            let end = tokio::select! {
                end = node.run(start_state) => end,
                () = run_until_panic(&mut tasks, &mut new_peers) => return Ending::TaskPanicked,
            };
            listener.abort();
            registry.close_links();
            // Keep reading and discard the batches: TCP can drop the last written bytes of a
            // connection that is closed with unread input.
            let drain = async {
                loop {
                    tokio::select! {
                        joined = tasks.join_next() => if joined.is_none() { return },
                        Some(_) = node.batches.recv() => {}
                    }
                }
            };
            let _ = timeout(DRAIN_TIMEOUT, drain).await;
            match end {
                NodeTaskEnd::Stopped => match node.shut_down() {
                    Ok(()) => Ending::Stopped,
                    Err(failure) => Ending::Failed(failure),
                },
                NodeTaskEnd::Failed(failure) => Ending::Failed(failure),
                NodeTaskEnd::MessageLost(reason) => Ending::MessageLost(reason),
            }
        };
        Ok((handle, running))
    }
}

/// Runs the tasks of the node's peers until a task panics. Without a panic, a task ends only after
/// the node has ended or removed the peer.
async fn run_until_panic(tasks: &mut JoinSet<()>, new_peers: &mut mpsc::UnboundedReceiver<Peer>) {
    loop {
        tokio::select! {
            Some(peer) = new_peers.recv() => {
                tasks.spawn(peer.run());
            }
            Some(ended) = tasks.join_next() => {
                if ended.is_err_and(|error| error.is_panic()) {
                    return;
                }
            }
            else => std::future::pending().await,
        }
    }
}

fn create_context(settings: &Settings, incarnation: Incarnation) -> Context {
    Context {
        terms: HandshakeTerms {
            group: settings.group.clone(),
            algorithm: settings.algorithm.clone(),
            message_format: settings.message_format,
            me: settings.me,
            group_size: match settings.peer_set {
                PeerSet::Fixed => Some(u32::try_from(settings.peers.len() + 1).unwrap_or(u32::MAX)),
                PeerSet::Changing => None,
            },
        },
        incarnation,
        // The keys of a `RandomState` come from the system's random source.
        process_nonce: ProcessNonce(RandomState::new().hash_one("process nonce")),
        security: settings.security.clone(),
        limits: settings.limits,
        log: RateLimitedLog::new(),
    }
}
