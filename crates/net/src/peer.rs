//! The task that keeps this node connected to one peer: it dials, accepts, and uses the elected
//! connection.

use crate::connection_election::{
    Connection, ConnectionElection, HelloReply, IncomingHello, ProcessIdentity, WelcomeOutcome,
};
use crate::connection_io::{self, CloseReason, FrameReader};
use crate::context::Context;
use crate::frame::{Dial, Header, Hello, Refusal, Welcome};
use crate::handshake::{
    self, DialedConnection, HandshakeError, PendingConnection, connect, send_hello, with_full_stop,
};
use crate::inbox::{InboundControl, Inbox};
use crate::link::LinkStart;
use crate::link_handle::LinkHandle;
use crate::stream::Stream;
use bytes::BytesMut;
use quorate_core::{Incarnation, NodeId};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// The connection task of one peer.
pub(crate) struct Peer {
    pub(crate) context: Arc<Context>,
    pub(crate) node: NodeId,
    pub(crate) address: String,
    pub(crate) link: Arc<LinkHandle>,
    pub(crate) election: ConnectionElection,
    /// Connections that this peer opened, from the listener.
    pub(crate) incoming: mpsc::Receiver<PendingConnection>,
    pub(crate) inbox: Inbox,
    /// The error of the last failed dial, so that the log reports each error once.
    pub(crate) last_error: String,
    /// Where to report that this peer's process crashed or restarted, if the node wants to know.
    pub(crate) suspicions: Option<mpsc::UnboundedSender<InboundControl>>,
    pub(crate) reachability: PeerReachability,
}

/// The state of the peer's process, as far as this node's connections show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerReachability {
    /// No connection was established yet.
    Unknown,
    Reachable,
    /// The peer's kernel refused a connection: the process has ended.
    Down,
}

/// A connection that both sides have accepted.
struct Established {
    connection: Connection,
    incarnation: Incarnation,
    stream: Stream,
    received: BytesMut,
}

/// An incoming connection that the election accepted and that still needs a Welcome.
struct Accepted {
    connection: Connection,
    pending: PendingConnection,
}

/// Result of a wait that an incoming connection can interrupt.
enum Waited<T> {
    Interrupted(Box<Accepted>),
    Done(T),
}

impl Peer {
    /// Connects to the peer and reconnects until the node ends.
    pub(crate) async fn run(mut self) {
        let mut backoff = Duration::ZERO;
        let mut replacement: Option<Box<Accepted>> = None;
        while !self.link.is_closing() {
            let established = match replacement.take() {
                Some(accepted) => self.send_welcome(*accepted).await,
                None => {
                    let link = Arc::clone(&self.link);
                    let dialled = tokio::select! {
                        dialled = self.dial_after(backoff) => dialled,
                        () = link.wait_for_close() => return,
                    };
                    match dialled {
                        Waited::Interrupted(accepted) => self.send_welcome(*accepted).await,
                        Waited::Done(established) => established,
                    }
                }
            };
            match established {
                Some(established) => {
                    let started_at = Instant::now();
                    replacement = self.run_connection(established).await;
                    // A short-lived connection counts as a failed dial; otherwise two nodes could
                    // redial in a busy loop.
                    let was_long_lived = started_at.elapsed() >= self.context.limits.max_backoff;
                    backoff = if was_long_lived { Duration::ZERO } else { self.next_backoff(backoff) };
                }
                None => backoff = self.next_backoff(backoff),
            }
        }
    }

    /// Doubles the backoff within its bounds, and adds up to a quarter that differs between nodes,
    /// so that two nodes do not keep dialling each other at the same time.
    fn next_backoff(&self, backoff: Duration) -> Duration {
        let limits = &self.context.limits;
        let next = backoff.saturating_mul(2).clamp(limits.min_backoff, limits.max_backoff);
        let spread = (u64::from(self.context.terms.me.number()) * 7 + u64::from(self.node.number()) * 3) % 16;
        next + next.mul_f64(spread as f64 / 64.0)
    }

    /// Dials after the backoff. An incoming connection interrupts it.
    async fn dial_after(&mut self, backoff: Duration) -> Waited<Option<Established>> {
        if let Waited::Interrupted(accepted) = self.unless_interrupted(sleep(backoff)).await {
            return Waited::Interrupted(accepted);
        }
        let Some(dial) = self.election.dial() else { return Waited::Done(None) };
        let (context, address, node) = (Arc::clone(&self.context), self.address.clone(), self.node);
        let connecting = async move {
            timeout(context.limits.handshake_timeout, connect(&context, node, &address))
                .await
                .map_err(|_| HandshakeError::TimedOut)?
        };
        let stream = match self.unless_interrupted(connecting).await {
            Waited::Interrupted(accepted) => return Waited::Interrupted(accepted),
            Waited::Done(Ok(stream)) => stream,
            Waited::Done(Err(error)) => return self.handle_failed_dial(dial, &error),
        };
        let Some(outgoing) = self.election.connected(dial) else { return Waited::Done(None) };
        let terms = &self.context.terms;
        let hello = Hello {
            group: terms.group.as_str().to_owned(),
            algorithm: terms.algorithm.clone(),
            format: terms.format,
            to: self.node,
            members: terms.members,
            dial,
            welcomed: outgoing.welcomed,
            knows: outgoing.knows,
            process_nonce: self.context.process_nonce,
        };
        let limit = self.context.limits.handshake_timeout;
        let header = self.link.hello_header(outgoing.knows);
        let handshake = async move {
            timeout(limit, send_hello(stream, header, hello)).await.map_err(|_| HandshakeError::TimedOut)?
        };
        match self.unless_interrupted(handshake).await {
            Waited::Interrupted(accepted) => Waited::Interrupted(accepted),
            Waited::Done(Ok(dialled)) => Waited::Done(self.handle_welcome(dial, dialled)),
            Waited::Done(Err(error)) => self.handle_failed_dial(dial, &error),
        }
    }

    fn handle_failed_dial<T>(&mut self, dial: Dial, error: &HandshakeError) -> Waited<Option<T>> {
        self.election.failed(dial);
        if error.is_connection_refused() {
            self.mark_down();
        }
        self.log_failed_dial(error);
        Waited::Done(None)
    }

    /// Reports a crash: the kernel refuses connections at an address where the peer listened
    /// before. A timeout would not prove that.
    fn mark_down(&mut self) {
        if self.reachability == PeerReachability::Reachable {
            self.reachability = PeerReachability::Down;
            self.notify_node(true);
        }
    }

    fn mark_reachable(&mut self) {
        if self.reachability == PeerReachability::Down {
            self.notify_node(false);
        }
        self.reachability = PeerReachability::Reachable;
    }

    fn notify_node(&self, is_down: bool) {
        if let Some(suspicions) = &self.suspicions {
            // Sending fails only if the node has ended.
            let _ = suspicions.send(InboundControl::Suspect(self.node, is_down));
        }
    }

    fn log_failed_dial(&mut self, error: &HandshakeError) {
        if let HandshakeError::Refused(refusal) = error
            && refusal.is_transient()
        {
            return;
        }
        let text = error.to_string();
        if text != self.last_error {
            let (node, address, reason) = (self.node, &self.address, with_full_stop(error));
            match error {
                // A peer that has not started yet, or has stopped, is nothing unusual.
                HandshakeError::Unreachable(_) | HandshakeError::TimedOut | HandshakeError::ClosedSilently => {
                    tracing::info!("Cannot connect to node {node} at {address}: {reason} Trying again.");
                }
                _ => tracing::warn!("Cannot connect to node {node} at {address}: {reason} Trying again."),
            }
            self.last_error = text;
        }
    }

    /// Handles the Welcome to our dial.
    fn handle_welcome(&mut self, dial: Dial, dialled: DialedConnection) -> Option<Established> {
        let DialedConnection { stream, received, header, welcome } = dialled;
        if header.sender != self.node || welcome.dial != dial {
            self.election.failed(dial);
            self.log_failed_dial(&HandshakeError::UnexpectedFrame);
            return None;
        }
        let connection = match self.election.welcomed(dial, ProcessIdentity::from_welcome(&header, &welcome)) {
            WelcomeOutcome::Established(connection) => connection,
            WelcomeOutcome::Abandoned => return None,
            WelcomeOutcome::Refuse(refusal) => {
                self.log_failed_dial(&HandshakeError::Refused(refusal));
                return None;
            }
        };
        self.begin_connection(connection, &header, Some(welcome.knows))?;
        Some(Established { connection, incarnation: header.incarnation, stream, received })
    }

    /// Sends the Welcome on an accepted connection.
    async fn send_welcome(&mut self, accepted: Accepted) -> Option<Established> {
        let Accepted { connection, mut pending } = accepted;
        let (dial, incarnation) = (pending.hello.dial, pending.header.incarnation);
        // The link must know the peer's incarnation before the Welcome acknowledges that
        // incarnation's messages.
        self.begin_connection(connection, &pending.header, pending.hello.knows)?;
        let welcome = Welcome { dial, knows: incarnation, birth: self.context.process_nonce };
        let header = self.link.header();
        let sending = handshake::send_welcome(&mut pending, header, welcome);
        if !matches!(timeout(self.context.limits.handshake_timeout, sending).await, Ok(Ok(()))) {
            self.link.end_connection();
            self.election.lost(connection);
            return None;
        }
        let PendingConnection { stream, received, .. } = pending;
        Some(Established { connection, incarnation, stream, received })
    }

    /// Continues the link over a connection that both sides have accepted.
    fn begin_connection(&mut self, connection: Connection, header: &Header, knows: Option<Incarnation>) -> Option<()> {
        let node = self.node;
        match self.link.begin_connection(header, knows) {
            Ok(LinkStart::First | LinkStart::Resumed) => {}
            Ok(LinkStart::Restarted { dropped }) => {
                tracing::info!(
                    "Node {node} restarted as incarnation {}; dropped {dropped} messages to its previous incarnation.",
                    header.incarnation
                );
                // It restarted so quickly that no dial was refused in between.
                if self.reachability == PeerReachability::Reachable {
                    self.notify_node(false);
                }
            }
            Err(error) => {
                tracing::warn!("{error}");
                self.election.lost(connection);
                return None;
            }
        }
        self.last_error.clear();
        self.mark_reachable();
        tracing::info!("Connected to node {node}, incarnation {}.", header.incarnation);
        Some(())
    }

    /// Reads and writes until the connection ends or another one replaces it, which this returns.
    async fn run_connection(&mut self, established: Established) -> Option<Box<Accepted>> {
        let Established { connection, incarnation, stream, received } = established;
        let (reading, writing) = tokio::io::split(stream);
        let (link, limits) = (Arc::clone(&self.link), self.context.limits);
        let reader = FrameReader { peer: self.node, incarnation, link: Arc::clone(&link), inbox: self.inbox.clone() };
        let transfer = async move {
            let mut reading = pin!(reader.read(reading, received));
            let reason = tokio::select! {
                reason = &mut reading => return reason,
                reason = connection_io::write(&link, writing, &limits) => reason,
            };
            if !matches!(reason, CloseReason::Broken(_)) {
                return reason;
            }
            // Frames that the peer wrote before it closed may still arrive.
            timeout(limits.idle_timeout, reading).await.unwrap_or(reason)
        };
        let waited = self.unless_interrupted(transfer).await;
        self.link.end_connection();
        match waited {
            Waited::Interrupted(accepted) => Some(accepted),
            Waited::Done(reason) => {
                self.election.lost(connection);
                self.log_end(&reason);
                None
            }
        }
    }

    fn log_end(&self, reason: &CloseReason) {
        let node = self.node;
        match reason {
            CloseReason::Stopping => {}
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

    /// Waits for a future, unless the election accepts an incoming connection first. Refuses the
    /// connections that the election does not accept.
    async fn unless_interrupted<T>(&mut self, waiting: impl Future<Output = T>) -> Waited<T> {
        let mut waiting = pin!(waiting);
        loop {
            let pending = tokio::select! {
                biased;
                done = &mut waiting => return Waited::Done(done),
                Some(pending) = self.incoming.recv() => pending,
            };
            match self.election.accept(&IncomingHello::new(&pending.header, &pending.hello)) {
                HelloReply::Welcome { connection, replaced: _ } => {
                    return Waited::Interrupted(Box::new(Accepted { connection, pending }));
                }
                HelloReply::Refuse(refusal) => self.refuse(pending, refusal),
            }
        }
    }

    /// Refuses an incoming connection in a task of its own.
    fn refuse(&self, pending: PendingConnection, refusal: Refusal) {
        // An honest peer hardly ever repeats a dial number, so a stale one may be a replay attack:
        // log it.
        if !refusal.is_transient() || refusal == Refusal::Stale {
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
