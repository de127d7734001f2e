//! The task that keeps this node connected to one peer: it dials, accepts, and uses the elected
//! connection. If both nodes dial at the same time, the election decides which connection remains.

use crate::connection_election::{
    Connection, ConnectionElection, EndIdentity, HelloReply, IncomingHello, WelcomeOutcome,
};
use crate::connection_io::{self, CloseReason, FrameReader};
use crate::context::Context;
use crate::frame::{Dial, Generation, Header, Hello, LinkEnd, Refusal, Welcome};
use crate::handshake::{
    self, DialledConnection, HandshakeError, PendingConnection, connect, send_hello, with_full_stop,
};
use crate::inbox::{ControlInput, Inbox};
use crate::link::LinkStart;
use crate::link_handle::LinkHandle;
use crate::redial_delay::RedialDelay;
use crate::stream::Stream;
use bytes::BytesMut;
use quorate_core::NodeId;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

/// Maximum time for which a stopping node waits until its peers have acknowledged its last
/// messages, and for which a node waits for the last acknowledgements of a removed peer.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The connection task of one peer.
pub(crate) struct Peer {
    pub(crate) context: Arc<Context>,
    pub(crate) node: NodeId,
    /// The address of the peer's listener, which may change.
    pub(crate) address: watch::Receiver<String>,
    pub(crate) link: Arc<LinkHandle>,
    /// This node's end of the link.
    pub(crate) end: LinkEnd,
    pub(crate) election: ConnectionElection,
    /// Connections that this peer opened, from the listener.
    pub(crate) incoming: mpsc::Receiver<PendingConnection>,
    pub(crate) inbox: Inbox,
    /// The error of the last failed dial, so that the log reports each error once.
    pub(crate) last_error: String,
    /// The queue for reports that this peer's process crashed or restarted, if the node wants them.
    pub(crate) suspicions: Option<mpsc::UnboundedSender<ControlInput>>,
    pub(crate) reachability: PeerReachability,
    /// Whether a connection was established since the peer has its present address.
    pub(crate) has_connected_at_address: bool,
}

/// The state of the peer's process, as far as this node's connections show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerReachability {
    /// No connection was established yet.
    Unknown,
    Reachable,
    /// The kernel of the peer's machine refused a connection: the process has ended.
    Down,
}

/// A connection that both sides have accepted.
struct EstablishedConnection {
    /// The id of this connection in the election.
    connection: Connection,
    peer_end: LinkEnd,
    stream: Stream,
    /// Bytes that arrived after the handshake.
    received: BytesMut,
}

/// An incoming connection that the election accepted and that still needs a Welcome.
struct AcceptedConnection {
    connection: Connection,
    pending: PendingConnection,
}

/// The outcome of a wait that an incoming connection or a new address can interrupt.
enum WaitOutcome<T> {
    Interrupted(Box<AcceptedConnection>),
    AddressChanged,
    Done(T),
}

impl Peer {
    /// Connects to the peer and reconnects until the node ends or removes the peer. Then waits for
    /// the last acknowledgements.
    pub(crate) async fn run(mut self) {
        let link = Arc::clone(&self.link);
        let close_deadline = async {
            link.wait_for_close().await;
            sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            () = self.keep_connected() => {}
            () = close_deadline => {}
        }
    }

    async fn keep_connected(&mut self) {
        let mut redial_delay = RedialDelay::new(&self.context.limits, self.delay_addition());
        let mut replacement: Option<Box<AcceptedConnection>> = None;
        while !self.link.is_closing() {
            let established = match replacement.take() {
                Some(accepted) => self.send_welcome(*accepted).await,
                None => {
                    let link = Arc::clone(&self.link);
                    let dialled = tokio::select! {
                        dialled = self.dial_after(redial_delay.current()) => dialled,
                        () = link.wait_for_close() => return,
                    };
                    match dialled {
                        WaitOutcome::Interrupted(accepted) => self.send_welcome(*accepted).await,
                        WaitOutcome::AddressChanged => {
                            redial_delay.reset();
                            continue;
                        }
                        WaitOutcome::Done(established) => established,
                    }
                }
            };
            let Some(established) = established else {
                redial_delay.handle_failed_dial();
                continue;
            };
            let started_at = Instant::now();
            let end = self.run_connection(established).await;
            redial_delay.handle_lost_connection(started_at.elapsed());
            match end {
                WaitOutcome::Interrupted(accepted) => replacement = Some(accepted),
                WaitOutcome::AddressChanged => redial_delay.reset(),
                WaitOutcome::Done(()) => {}
            }
        }
    }

    /// The part of each delay that this node adds to it. It differs between the two nodes of most
    /// pairs. The factors 7 and 3 are arbitrary; they only have to differ.
    fn delay_addition(&self) -> f64 {
        let spread = (u64::from(self.context.terms.me.number()) * 7 + u64::from(self.node.number()) * 3) % 16;
        spread as f64 / 64.0
    }

    /// Dials after this delay. An incoming connection or a new address interrupts it.
    async fn dial_after(&mut self, delay: Duration) -> WaitOutcome<Option<EstablishedConnection>> {
        match self.wait_unless_interrupted(sleep(delay)).await {
            WaitOutcome::Interrupted(accepted) => return WaitOutcome::Interrupted(accepted),
            WaitOutcome::AddressChanged => return WaitOutcome::AddressChanged,
            WaitOutcome::Done(()) => {}
        }
        let Some(dial) = self.election.start_dial() else { return WaitOutcome::Done(None) };
        let (context, address, node) = (Arc::clone(&self.context), self.address.borrow().clone(), self.node);
        let connecting = async move {
            timeout(context.limits.handshake_timeout, connect(&context, node, &address))
                .await
                .map_err(|_| HandshakeError::TimedOut)?
        };
        let stream = match self.wait_unless_interrupted(connecting).await {
            WaitOutcome::Interrupted(accepted) => return WaitOutcome::Interrupted(accepted),
            WaitOutcome::AddressChanged => return self.abandon_dial(dial),
            WaitOutcome::Done(Ok(stream)) => stream,
            WaitOutcome::Done(Err(error)) => return self.handle_failed_dial(dial, &error),
        };
        let Some(outgoing) = self.election.handle_open_connection(dial) else { return WaitOutcome::Done(None) };
        let terms = &self.context.terms;
        let hello = Hello {
            group: terms.group.as_str().to_owned(),
            algorithm: terms.algorithm.clone(),
            message_format: terms.message_format,
            to: self.node,
            group_size: terms.group_size.unwrap_or_default(),
            dial,
            last_welcomed_dial: outgoing.last_welcomed_dial,
            known_end: outgoing.known_end,
            process_nonce: self.context.process_nonce,
            generation: self.end.generation,
        };
        let limit = self.context.limits.handshake_timeout;
        let header = self.link.hello_header(outgoing.known_end);
        let handshake = async move {
            timeout(limit, send_hello(stream, header, hello)).await.map_err(|_| HandshakeError::TimedOut)?
        };
        match self.wait_unless_interrupted(handshake).await {
            WaitOutcome::Interrupted(accepted) => WaitOutcome::Interrupted(accepted),
            WaitOutcome::AddressChanged => self.abandon_dial(dial),
            WaitOutcome::Done(Ok(dialled)) => WaitOutcome::Done(self.handle_welcome(dial, dialled)),
            WaitOutcome::Done(Err(error)) => self.handle_failed_dial(dial, &error),
        }
    }

    fn handle_failed_dial<T>(&mut self, dial: Dial, error: &HandshakeError) -> WaitOutcome<Option<T>> {
        self.election.handle_failed_dial(dial);
        if error.is_connection_refused() {
            self.mark_down();
        }
        self.log_failed_dial(error);
        WaitOutcome::Done(None)
    }

    /// Gives up a dial to the peer's old address.
    fn abandon_dial<T>(&mut self, dial: Dial) -> WaitOutcome<T> {
        self.election.handle_failed_dial(dial);
        WaitOutcome::AddressChanged
    }

    /// Reports a crash, because the peer's kernel refuses connections at an address where the peer
    /// listened before. A timeout would not prove a crash.
    fn mark_down(&mut self) {
        if self.reachability == PeerReachability::Reachable && self.has_connected_at_address {
            self.reachability = PeerReachability::Down;
            let is_suspected = true;
            self.report_suspicion(is_suspected);
        }
    }

    /// Records that the peer is connected, and reports it if the peer was down.
    fn mark_reachable(&mut self) {
        if self.reachability == PeerReachability::Down {
            let is_suspected = false;
            self.report_suspicion(is_suspected);
        }
        self.reachability = PeerReachability::Reachable;
        self.has_connected_at_address = true;
    }

    /// Reports to the node, if it wants to know, that it should suspect or trust this peer.
    fn report_suspicion(&self, is_suspected: bool) {
        if let Some(suspicions) = &self.suspicions {
            let link = Some(Arc::clone(&self.link));
            // Sending fails only if the node has ended.
            let _ = suspicions.send(ControlInput::Suspicion { peer: self.node, is_suspected, link });
        }
    }

    /// Logs why a dial failed, unless the last dial failed for the same reason or the reason is
    /// transient.
    fn log_failed_dial(&mut self, error: &HandshakeError) {
        // The operator may have to act on a refusal by a node that does not know this one.
        if let HandshakeError::Refused(refusal) = error
            && refusal.is_transient()
            && *refusal != Refusal::NotAPeer
        {
            return;
        }
        let text = error.to_string();
        if text != self.last_error {
            let (node, address, reason) = (self.node, self.address.borrow().clone(), with_full_stop(error));
            match error {
                // A peer that has not started yet, has stopped, or has not added this node yet is
                // nothing unusual.
                HandshakeError::Unreachable(_)
                | HandshakeError::TimedOut
                | HandshakeError::ClosedSilently
                | HandshakeError::Refused(Refusal::NotAPeer) => {
                    tracing::info!("Cannot connect to node {node} at {address}: {reason} Trying again.");
                }
                _ => tracing::warn!("Cannot connect to node {node} at {address}: {reason} Trying again."),
            }
            self.last_error = text;
        }
    }

    /// Handles the Welcome with which the peer answered our dial.
    fn handle_welcome(&mut self, dial: Dial, dialled: DialledConnection) -> Option<EstablishedConnection> {
        let DialledConnection { stream, received, header, welcome } = dialled;
        if header.sender != self.node || welcome.dial != dial {
            self.election.handle_failed_dial(dial);
            self.log_failed_dial(&HandshakeError::UnexpectedFrame);
            return None;
        }
        let identity = EndIdentity::from_welcome(&header, &welcome);
        let connection = match self.election.handle_welcome(dial, identity) {
            WelcomeOutcome::Established(connection) => connection,
            // Another connection replaced this dial meanwhile.
            WelcomeOutcome::Abandoned => return None,
            WelcomeOutcome::Refuse(refusal) => {
                self.log_failed_dial(&HandshakeError::Refused(refusal));
                return None;
            }
        };
        self.begin_connection(connection, &header, welcome.generation, Some(welcome.receiver_end))?;
        Some(EstablishedConnection { connection, peer_end: identity.end, stream, received })
    }

    /// Sends the Welcome on an accepted connection.
    async fn send_welcome(&mut self, accepted: AcceptedConnection) -> Option<EstablishedConnection> {
        let AcceptedConnection { connection, mut pending } = accepted;
        let peer_end = EndIdentity::from_hello(&pending.header, &pending.hello).end;
        let Hello { dial, known_end, generation, .. } = pending.hello;
        // The link must know the peer's end before the Welcome acknowledges that end's messages.
        self.begin_connection(connection, &pending.header, generation, known_end)?;
        let welcome = Welcome {
            dial,
            receiver_end: peer_end,
            process_nonce: self.context.process_nonce,
            generation: self.end.generation,
        };
        let header = self.link.header();
        let sending = handshake::send_welcome(&mut pending, header, welcome);
        if !matches!(timeout(self.context.limits.handshake_timeout, sending).await, Ok(Ok(()))) {
            self.link.end_connection();
            self.election.handle_lost_connection(connection);
            return None;
        }
        let PendingConnection { stream, received, .. } = pending;
        Some(EstablishedConnection { connection, peer_end, stream, received })
    }

    /// Continues the link over a connection that both sides have accepted. The peer's link has this
    /// generation, and the acknowledgement in its header refers to our end `acknowledged_end`.
    /// Returns `None`, and gives the connection up, if the header does not fit the link.
    fn begin_connection(
        &mut self,
        connection: Connection,
        header: &Header,
        generation: Generation,
        acknowledged_end: Option<LinkEnd>,
    ) -> Option<()> {
        let node = self.node;
        match self.link.begin_connection(header, generation, acknowledged_end) {
            Ok(LinkStart::First | LinkStart::Resumed) => {}
            Ok(LinkStart::Restarted { dropped }) => {
                tracing::info!(
                    "Node {node} restarted as incarnation {}; dropped {dropped} messages to its previous incarnation.",
                    header.incarnation
                );
                // The peer restarted so quickly that no dial was refused in between. Trust without
                // a suspicion tells the protocol of the restart.
                if self.reachability == PeerReachability::Reachable {
                    let is_suspected = false;
                    self.report_suspicion(is_suspected);
                }
            }
            Ok(LinkStart::Readded { dropped }) => tracing::info!(
                "Node {node} removed this node from its peers and added it again; dropped {dropped} messages to its \
                 previous link."
            ),
            Err(error) => {
                tracing::warn!("Closed a connection to node {node}: {error}");
                self.election.handle_lost_connection(connection);
                return None;
            }
        }
        self.last_error.clear();
        self.mark_reachable();
        tracing::info!("Connected to node {node}, incarnation {}.", header.incarnation);
        Some(())
    }

    /// Reads and writes until the connection ends, another one replaces it, or the peer's address
    /// changes.
    async fn run_connection(&mut self, established: EstablishedConnection) -> WaitOutcome<()> {
        let EstablishedConnection { connection, peer_end, stream, received } = established;
        let (reading, writing) = tokio::io::split(stream);
        let (link, limits) = (Arc::clone(&self.link), self.context.limits);
        let reader = FrameReader { peer: self.node, peer_end, link: Arc::clone(&link), inbox: self.inbox.clone() };
        let transfer = async move {
            let mut reading = pin!(reader.read(reading, received));
            let reason = tokio::select! {
                reason = &mut reading => return reason,
                reason = connection_io::write_frames(&link, writing, &limits) => reason,
            };
            if !matches!(reason, CloseReason::Broken(_)) {
                return reason;
            }
            // Frames that the peer wrote before it closed may still arrive.
            timeout(limits.idle_timeout, reading).await.unwrap_or(reason)
        };
        let waited = self.wait_unless_interrupted(transfer).await;
        self.link.end_connection();
        match waited {
            WaitOutcome::Interrupted(accepted) => WaitOutcome::Interrupted(accepted),
            WaitOutcome::AddressChanged => {
                self.election.handle_lost_connection(connection);
                WaitOutcome::AddressChanged
            }
            WaitOutcome::Done(reason) => {
                self.election.handle_lost_connection(connection);
                self.log_connection_end(&reason);
                WaitOutcome::Done(())
            }
        }
    }

    fn log_connection_end(&self, reason: &CloseReason) {
        let node = self.node;
        match reason {
            CloseReason::Closing => {}
            CloseReason::Closed
            | CloseReason::Bye(_)
            | CloseReason::Broken(_)
            | CloseReason::PeerIdle(_)
            | CloseReason::WriteStalled(_) => {
                tracing::info!("The connection to node {node} ended: {reason}. No message is lost; reconnecting.");
            }
            CloseReason::Frame(_) | CloseReason::Link(_) | CloseReason::UnexpectedHandshake => {
                self.context.log.warn(format_args!(
                    "Closed the connection to node {node}: {} Reconnecting.",
                    with_full_stop(reason)
                ));
            }
        }
    }

    /// Waits for a future, unless the election accepts an incoming connection or the peer's address
    /// changes first. Meanwhile refuses the connections that the election does not accept.
    async fn wait_unless_interrupted<T>(&mut self, waiting: impl Future<Output = T>) -> WaitOutcome<T> {
        let mut waiting = pin!(waiting);
        loop {
            let pending = tokio::select! {
                biased;
                done = &mut waiting => return WaitOutcome::Done(done),
                Ok(()) = self.address.changed() => {
                    let (node, address) = (self.node, self.address.borrow().clone());
                    tracing::info!("Node {node} has a new address: {address}. Dialling it there.");
                    self.has_connected_at_address = false;
                    self.last_error.clear();
                    return WaitOutcome::AddressChanged;
                }
                Some(pending) = self.incoming.recv() => pending,
            };
            match self.election.handle_hello(&IncomingHello::new(&pending.header, &pending.hello)) {
                // Returning drops `waiting`, and with it the connection or dial that was replaced.
                HelloReply::Welcome { connection, replaced: _ } => {
                    return WaitOutcome::Interrupted(Box::new(AcceptedConnection { connection, pending }));
                }
                HelloReply::Refuse(refusal) => self.refuse(pending, refusal),
            }
        }
    }

    /// Refuses an incoming connection in a task of its own.
    fn refuse(&self, pending: PendingConnection, refusal: Refusal) {
        // An honest peer hardly ever repeats a dial number, so an old one may be a replay attack.
        // Log it, although the refusal is transient.
        if !refusal.is_transient() || refusal == Refusal::OldDial {
            self.context.log.warn(format_args!(
                "Refused a process that claims to be node {} with the answer \"{refusal}\" Other connections are not \
                 affected.",
                self.node
            ));
        }
        let context = Arc::clone(&self.context);
        tokio::spawn(async move { handshake::send_refusal(pending.stream, &context, refusal).await });
    }
}
