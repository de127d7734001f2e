//! Starts a node, and creates the handle through which its client uses it.

use crate::connection_election::ConnectionElection;
use crate::context::Context;
use crate::frame::{HandshakeTerms, ProcessNonce};
use crate::inbox::{ControlInput, Inbox};
use crate::link::{LinkLimits, Origin};
use crate::link_handle::{LinkHandle, LinkStats};
use crate::listener::{Listener, PeerQueues};
use crate::node::{NodeTask, NodeTaskEnd};
use crate::outbox::{LinkHandles, Outbox};
use crate::peer::{Peer, PeerReachability};
use crate::rate_limited_log::RateLimitedLog;
use crate::settings::Settings;
use quorate_core::{Codec, Durable, Incarnation, NodeId, View, WriteOf};
use quorate_drive::{Engine, EngineParts, Failure, Recorder, StartState};
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

/// Maximum time for which a stopping node waits until its peers have acknowledged its last
/// messages.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of incoming connections of one peer that wait until the peer's task accepts or
/// refuses them.
const MAX_PENDING_PER_PEER: usize = 8;

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

/// The client's access to a running node, whose commands have the type `C`. Clones refer to the
/// same node.
pub struct Handle<C> {
    commands: mpsc::Sender<C>,
    control: mpsc::UnboundedSender<ControlInput>,
    links: Arc<LinkHandles>,
    /// The epoch of the group's view, which frames carry.
    epoch: Arc<AtomicU64>,
    address: SocketAddr,
}

// Not derived, because a derive would require `C: Clone`.
impl<C> Clone for Handle<C> {
    fn clone(&self) -> Self {
        Self {
            commands: self.commands.clone(),
            control: self.control.clone(),
            links: Arc::clone(&self.links),
            epoch: Arc::clone(&self.epoch),
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
        self.epoch.store(view.epoch().0, Ordering::Relaxed);
        let _ = self.control.send(ControlInput::View(view));
    }

    /// Reports to the node that a failure detector suspects that a peer has crashed, or trusts it
    /// again.
    pub fn report_suspicion(&self, peer: NodeId, is_suspected: bool) {
        let _ = self.control.send(ControlInput::Suspicion { peer, is_suspected });
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

    /// Statistics of the link to each peer.
    pub fn links(&self) -> BTreeMap<NodeId, LinkStats> {
        self.links.iter().map(|(node, link)| (*node, link.stats())).collect()
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
        let (drained, epoch) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
        let context = Arc::new(create_context(&settings, start_state.incarnation));
        let links = Arc::new(create_links(&settings, start_state.incarnation, &drained, &epoch));
        let suspicions = settings.reports_crashes.then(|| control_sender.clone());
        let (peers, peer_queues) = create_peers(&settings, &context, &links, &inbox, suspicions.as_ref());
        let outbox = Outbox::new(
            settings.me,
            codec,
            settings.overflow,
            settings.limits.max_message_bytes,
            LinkHandles::clone(&links),
        );
        let mut node = NodeTask {
            engine: Engine::new(node, parts),
            outbox,
            control,
            batches,
            commands,
            reports: reports.0,
            drained,
            on_events,
            loopback: VecDeque::new(),
            duplicate_filters: BTreeMap::new(),
            incarnation: start_state.incarnation,
            context: Arc::clone(&context),
        };
        let handle =
            Handle { commands: command_sender, control: control_sender, links: Arc::clone(&links), epoch, address };
        let running = async move {
            let mut tasks = JoinSet::new();
            let listener = tasks.spawn(Listener { context, socket, peer_queues }.run());
            for peer in peers {
                tasks.spawn(peer.run());
            }
            let end = tokio::select! {
                end = node.run(start_state) => end,
                () = wait_for_panic(&mut tasks) => return Ending::TaskPanicked,
            };
            listener.abort();
            links.values().for_each(|link| link.close());
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

/// Waits until a task panics. Without a panic the tasks end only after the node.
async fn wait_for_panic(tasks: &mut JoinSet<()>) {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => return,
            Some(_) => {}
            None => std::future::pending().await,
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
            group_size: u32::try_from(settings.peers.len() + 1).unwrap_or(u32::MAX),
        },
        incarnation,
        // The keys of a `RandomState` come from the system's random source.
        process_nonce: ProcessNonce(RandomState::new().hash_one("process nonce")),
        security: settings.security.clone(),
        limits: settings.limits,
        log: RateLimitedLog::new(),
    }
}

fn create_links(
    settings: &Settings,
    incarnation: Incarnation,
    drained: &Arc<Notify>,
    epoch: &Arc<AtomicU64>,
) -> LinkHandles {
    let limits = settings.limits;
    let origin = Origin { group: settings.group.number(), node: settings.me, incarnation };
    let link_limits = LinkLimits {
        crowded_bytes: limits.crowded_bytes,
        max_held_bytes: limits.max_held_bytes,
        max_message_bytes: limits.max_message_bytes,
    };
    let create_link = |peer: NodeId| LinkHandle::new(origin, peer, link_limits, Arc::clone(drained), Arc::clone(epoch));
    settings.peers.keys().map(|peer| (*peer, Arc::new(create_link(*peer)))).collect()
}

fn create_peers(
    settings: &Settings,
    context: &Arc<Context>,
    links: &LinkHandles,
    inbox: &Inbox,
    suspicions: Option<&mpsc::UnboundedSender<ControlInput>>,
) -> (Vec<Peer>, PeerQueues) {
    let mut peer_queues = PeerQueues::new();
    let mut peers = Vec::new();
    for ((node, address), link) in settings.peers.iter().zip(links.values()) {
        let (queue, incoming) = mpsc::channel(MAX_PENDING_PER_PEER);
        peer_queues.insert(*node, queue);
        peers.push(Peer {
            context: Arc::clone(context),
            node: *node,
            address: address.clone(),
            link: Arc::clone(link),
            election: ConnectionElection::new(settings.me, context.incarnation, *node),
            incoming,
            inbox: inbox.clone(),
            last_error: String::new(),
            suspicions: suspicions.cloned(),
            reachability: PeerReachability::Unknown,
        });
    }
    (peers, peer_queues)
}
