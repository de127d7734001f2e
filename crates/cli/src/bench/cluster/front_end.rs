//! The front end of a server: it accepts clients, passes all their requests that have arrived to
//! the replica as one batch, and writes the replica's answers to each connection as one batch.
//!
//! It runs on a thread of its own, so that the handshakes of clients do not delay heartbeats.

use super::frame::{self, FrameBuffer};
use super::message::{CallId, Machine, Reply, Request};
use super::stream::{self, Duplex};
use quorate_core::NodeId;
use quorate_net::Handle;
use quorate_net::tls::Security;
use quorate_replica::{Command, Event, Proposal, SessionId, Ticket};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The number of a connection. The benchmark itself has the number 0.
type ConnectionId = u32;

const BENCHMARK: ConnectionId = 0;

/// Delay after a failed attempt to accept a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(10);

/// The front end, shared by the tasks of its connections.
pub(super) struct FrontEnd {
    pub(super) security: Security,
    pub(super) handle: Handle<Command<Machine>>,
    waiting: Mutex<WaitingRequests>,
    has_requests: Notify,
    clients: Mutex<Clients>,
}

/// Requests that the replica has not been given yet.
#[derive(Default)]
struct WaitingRequests {
    proposals: Vec<Proposal<quorate_replica::sessions::Command<quorate_replica::registers::Change>>>,
    others: Vec<Command<Machine>>,
}

#[derive(Default)]
struct Clients {
    last_connection: ConnectionId,
    connections: HashMap<ConnectionId, Arc<Outgoing>>,
    leader: Option<NodeId>,
}

/// The replies that wait to be written to a connection.
#[derive(Default)]
struct Outgoing {
    bytes: Mutex<Vec<u8>>,
    has_bytes: Notify,
}

impl Outgoing {
    fn push(&self, reply: &Reply) {
        if let Err(error) = frame::write(reply, &mut lock(&self.bytes)) {
            tracing::error!("Cannot send a reply: {error}.");
        }
        self.has_bytes.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No method panics while it changes what the lock guards.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ticket of a request, unique in the life of this process.
fn ticket(connection: ConnectionId, call: CallId) -> Ticket {
    Ticket(u64::from(connection) << 32 | u64::from(call))
}

/// The ticket of a request of the benchmark itself.
pub(super) fn benchmark_ticket(call: CallId) -> Ticket {
    ticket(BENCHMARK, call)
}

impl FrontEnd {
    pub(super) fn new(security: Security, handle: Handle<Command<Machine>>) -> Self {
        Self { security, handle, waiting: Mutex::default(), has_requests: Notify::new(), clients: Mutex::default() }
    }

    /// Accepts clients until the process ends.
    pub(super) async fn accept_clients(self: Arc<Self>, listener: TcpListener) {
        tokio::spawn(Arc::clone(&self).pass_requests());
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let front_end = Arc::clone(&self);
                    tokio::spawn(async move {
                        if let Ok(stream) = stream::accept(&front_end.security, stream).await {
                            front_end.serve(stream).await;
                        }
                    });
                }
                // The process may have too many open files, and nothing tells when one is closed.
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            }
        }
    }

    /// Gives the replica all requests that have arrived, again and again.
    async fn pass_requests(self: Arc<Self>) {
        loop {
            self.has_requests.notified().await;
            let WaitingRequests { proposals, others } = std::mem::take(&mut *lock(&self.waiting));
            let batch = (!proposals.is_empty()).then_some(Command::Propose(proposals));
            for command in batch.into_iter().chain(others) {
                // This fails only if the node has ended, and then the process ends.
                let _ = self.handle.command(command).await;
            }
        }
    }

    /// Passes a request of the benchmark itself to the replica.
    pub(super) fn request(&self, command: Command<Machine>) {
        lock(&self.waiting).others.push(command);
        self.has_requests.notify_one();
    }

    /// Serves a client until its connection is lost, or it sends what is no frame.
    async fn serve(&self, mut stream: Box<dyn Duplex>) {
        let outgoing = Arc::new(Outgoing::default());
        let connection = self.register(&outgoing);
        let mut attached = BTreeSet::new();
        let mut incoming = FrameBuffer::default();
        loop {
            tokio::select! {
                read = stream.read_buf(incoming.reserve()) => {
                    let is_open = matches!(read, Ok(1..));
                    if !is_open || self.take_requests(connection, &mut incoming, &mut attached).is_err() {
                        break;
                    }
                }
                () = outgoing.has_bytes.notified() => {
                    let bytes = std::mem::take(&mut *lock(&outgoing.bytes));
                    if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                        break;
                    }
                }
            }
        }
        lock(&self.clients).connections.remove(&connection);
        attached.into_iter().for_each(|session| self.request(Command::Detach(session)));
    }

    /// Numbers a connection, and greets its client.
    fn register(&self, outgoing: &Arc<Outgoing>) -> ConnectionId {
        let mut clients = lock(&self.clients);
        clients.last_connection += 1;
        let connection = clients.last_connection;
        clients.connections.insert(connection, Arc::clone(outgoing));
        outgoing.push(&Reply::Leader(clients.leader));
        connection
    }

    /// Takes the requests that have arrived on a connection.
    fn take_requests(
        &self,
        connection: ConnectionId,
        incoming: &mut FrameBuffer,
        attached: &mut BTreeSet<SessionId>,
    ) -> Result<(), frame::FrameError> {
        let mut waiting = lock(&self.waiting);
        while let Some(request) = incoming.next()? {
            match request {
                Request::Propose { call, command } => {
                    waiting.proposals.push(Proposal { ticket: ticket(connection, call), command });
                }
                Request::Query { call, query } => {
                    waiting.others.push(Command::Query { ticket: ticket(connection, call), query });
                }
                Request::Attach { call, session } => {
                    attached.insert(session);
                    waiting.others.push(Command::Attach { ticket: ticket(connection, call), session });
                }
            }
        }
        drop(waiting);
        self.has_requests.notify_one();
        Ok(())
    }

    /// Passes an event of the replica to the client that it concerns. Returns an event that
    /// concerns the benchmark itself.
    pub(super) fn route(&self, event: Event<Machine>) -> Option<Event<Machine>> {
        let ticket = match &event {
            Event::Answered { ticket, .. }
            | Event::Refused { ticket, .. }
            | Event::Unknown { ticket }
            | Event::Attached { ticket: Some(ticket), .. } => *ticket,
            Event::Leads { .. }
            | Event::Follows { .. }
            | Event::Configured { .. }
            | Event::Changed { .. }
            | Event::Halted { .. } => return Some(event),
            // No client waits for outcomes, and none asks for audits or a retirement.
            Event::Attached { ticket: None, .. }
            | Event::Outcome { .. }
            | Event::Detached { .. }
            | Event::Retired
            | Event::Applied { .. }
            | Event::Restored(_) => return None,
        };
        let (connection, call) = ((ticket.0 >> 32) as ConnectionId, ticket.0 as CallId);
        if connection == BENCHMARK {
            return Some(event);
        }
        let reply = match event {
            Event::Answered { answer, .. } => Reply::Answered { call, answer },
            Event::Refused { refusal, .. } => Reply::Refused { call, refusal },
            Event::Attached { .. } => Reply::Attached { call },
            _ => Reply::Unknown { call },
        };
        if let Some(outgoing) = lock(&self.clients).connections.get(&connection) {
            outgoing.push(&reply);
        }
        None
    }

    /// Tells all clients who leads.
    pub(super) fn announce_leader(&self, leader: Option<NodeId>) {
        let mut clients = lock(&self.clients);
        clients.leader = leader;
        clients.connections.values().for_each(|outgoing| outgoing.push(&Reply::Leader(leader)));
    }
}
