//! A client of the servers, as a library for a service would be: it has a session and one request
//! in flight. If it loses its server, it repeats the request at another one.

use super::frame::{self, FrameBuffer};
use super::load::{Answer, LoadState};
use super::message::{CallId, Reply, Request};
use super::stream::{self, Duplex};
use quorate_core::NodeId;
use quorate_net::tls::Security;
use quorate_replica::SessionId;
use quorate_replica::registers::{self, Change, Read};
use quorate_replica::sessions::{self, Seen};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

/// How long a client avoids a server that did not answer.
const AVOIDANCE: Duration = Duration::from_secs(1);
/// Delay before a further attempt to find a server.
const RETRY_DELAY: Duration = Duration::from_millis(5);
/// The time to live of a session: longer than any benchmark, so that it needs no renewal.
const SESSION_TTL: quorate_core::Duration = quorate_core::Duration::from_secs(24 * 60 * 60);

type SessionAnswer = sessions::Answer<registers::Answer>;

/// A client, which writes the numbers of its requests to a key of its own.
pub(super) struct Client {
    index: u64,
    load: Arc<LoadState>,
    nonce: u64,
    session: Option<SessionId>,
    /// When the request without an answer was first sent.
    pending_since: Option<Instant>,
    /// Number of answered requests.
    answered: u64,
    /// The leader, as far as a server has told.
    leader: Option<NodeId>,
    /// Servers that did not answer, and until when to avoid them.
    avoided: BTreeMap<NodeId, Instant>,
    /// Number of attempts without an answer since the last one.
    failed_attempts: u64,
    has_failed: bool,
}

/// What a client has done.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientResult {
    pub(super) key: u64,
    /// Number of answered requests, which is the last value that the client knows to be written.
    pub(super) answered: u64,
}

impl ClientResult {
    /// Number of acknowledged requests that are missing if this value is found at the client's key.
    pub(super) fn lost_requests(&self, found: Option<u64>) -> u64 {
        self.answered.saturating_sub(found.unwrap_or_default())
    }
}

impl Client {
    pub(super) fn new(index: u64, load: Arc<LoadState>) -> Self {
        Self {
            index,
            load,
            // The keys of a `RandomState` come from the system's random source.
            nonce: RandomState::new().hash_one("nonce"),
            session: None,
            pending_since: None,
            answered: 0,
            leader: None,
            avoided: BTreeMap::new(),
            failed_attempts: 0,
            has_failed: false,
        }
    }

    /// Sends requests until the load is stopped and the last one is answered, or one fails.
    pub(super) async fn run(mut self) -> ClientResult {
        while !self.is_done() {
            let Some((server, address)) = self.choose_server() else {
                sleep(RETRY_DELAY).await;
                continue;
            };
            if self.use_server(server, address).await.is_err() {
                self.load.tally().moves += 1;
                self.avoided.insert(server, Instant::now() + AVOIDANCE);
                self.failed_attempts += 1;
                if self.failed_attempts > 1 {
                    sleep(RETRY_DELAY).await;
                }
            }
        }
        ClientResult { key: self.index, answered: self.answered }
    }

    fn is_done(&self) -> bool {
        self.has_failed || (self.load.is_stopped() && self.pending_since.is_none())
    }

    /// The leader if it is known and answers, or else one server after the other.
    fn choose_server(&self) -> Option<(NodeId, SocketAddr)> {
        let addresses = self.load.addresses.list();
        let now = Instant::now();
        let is_usable = |node: &NodeId| self.avoided.get(node).is_none_or(|until| *until < now);
        let leader = self.leader.filter(|leader| !self.load.is_spread && is_usable(leader));
        if let Some((leader, address)) = leader.and_then(|leader| addresses.get_key_value(&leader)) {
            return Some((*leader, *address));
        }
        let mut candidates: Vec<_> = addresses.iter().filter(|(node, _)| is_usable(node)).collect();
        if candidates.is_empty() {
            candidates.extend(&addresses);
        }
        let place = (self.index + self.failed_attempts).checked_rem(candidates.len() as u64)?;
        candidates.get(place as usize).map(|(node, address)| (**node, **address))
    }

    /// Sends requests to a server. Returns when the client is done or should use the leader
    /// instead; fails if the server does not answer in time, or refuses.
    async fn use_server(&mut self, server: NodeId, address: SocketAddr) -> anyhow::Result<()> {
        let load = Arc::clone(&self.load);
        let opening = Connection::open(&load.security, server, address, &mut self.leader);
        let mut connection = timeout(load.connect_timeout, opening).await??;
        let session = match self.session {
            Some(session) => {
                // Nothing waits for the reply: without a session, the next request fails.
                let call = connection.next_call();
                connection.send(&Request::Attach { call, session }).await?;
                session
            }
            None => self.open_session(&mut connection).await?,
        };
        while !self.is_done() {
            if self.pending_since.is_none() && self.should_move_from(server) {
                return Ok(());
            }
            let sent_at = Instant::now();
            let pending_since = *self.pending_since.get_or_insert(sent_at);
            let (number, value) = (self.answered + 1, self.answered + 1);
            let seen = Seen { answers: self.answered, outcomes: 0 };
            let command = Change::Write { key: self.index, value };
            let command = sessions::Command::Request(sessions::Request { session, number, seen, command });
            match self.propose(&mut connection, command).await? {
                SessionAnswer::Answered(_) => {
                    self.pending_since = None;
                    self.answered = number;
                    self.failed_attempts = 0;
                    let now = Instant::now();
                    let (is_first, latency) = (number == 1, now - pending_since);
                    load.tally().record(Answer { server, is_first, sent_at, at: now, latency });
                }
                other => {
                    self.has_failed = true;
                    load.tally().failures.push(format!("client {}, request {number}: {other:?}", self.index));
                }
            }
        }
        Ok(())
    }

    async fn open_session(&mut self, connection: &mut Connection) -> anyhow::Result<SessionId> {
        let command = sessions::Command::Open { nonce: self.nonce, ttl: SESSION_TTL };
        let SessionAnswer::Opened { session } = self.propose(connection, command).await? else {
            anyhow::bail!("no session was opened.")
        };
        self.session = Some(session);
        Ok(session)
    }

    async fn propose(
        &mut self,
        connection: &mut Connection,
        command: sessions::Command<Change>,
    ) -> anyhow::Result<SessionAnswer> {
        let call = connection.next_call();
        let answer = async {
            connection.send(&Request::Propose { call, command }).await?;
            connection.answer_to(call, &mut self.leader).await
        };
        timeout(self.load.answer_timeout, answer).await?
    }

    fn should_move_from(&self, server: NodeId) -> bool {
        let is_better =
            |leader: &NodeId| *leader != server && self.avoided.get(leader).is_none_or(|until| *until < Instant::now());
        !self.load.is_spread && self.leader.as_ref().is_some_and(is_better)
    }
}

/// A client's connection to a server.
pub(super) struct Connection {
    stream: Box<dyn Duplex>,
    incoming: FrameBuffer,
    outgoing: Vec<u8>,
    last_call: CallId,
}

impl Connection {
    /// Connects, and waits for the server's greeting, which names the leader.
    pub(super) async fn open(
        security: &Security,
        server: NodeId,
        address: SocketAddr,
        leader: &mut Option<NodeId>,
    ) -> anyhow::Result<Self> {
        let stream = stream::connect(security, server, address).await?;
        let mut connection = Self { stream, incoming: FrameBuffer::default(), outgoing: Vec::new(), last_call: 0 };
        if let Reply::Leader(known) = connection.receive().await? {
            *leader = known;
        }
        Ok(connection)
    }

    fn next_call(&mut self) -> CallId {
        self.last_call += 1;
        self.last_call
    }

    /// Reads a key, in a state that contains everything acknowledged before.
    pub(super) async fn read(&mut self, key: u64) -> anyhow::Result<Option<u64>> {
        let call = self.next_call();
        self.send(&Request::Query { call, query: Read { key } }).await?;
        match self.answer_to(call, &mut None).await? {
            SessionAnswer::Answered(registers::Answer::Value(value)) => Ok(value),
            other => anyhow::bail!("unexpected answer {other:?}."),
        }
    }

    async fn send(&mut self, request: &Request) -> anyhow::Result<()> {
        self.outgoing.clear();
        frame::write(request, &mut self.outgoing)?;
        self.stream.write_all(&self.outgoing).await?;
        Ok(self.stream.flush().await?)
    }

    async fn receive(&mut self) -> anyhow::Result<Reply> {
        loop {
            if let Some(reply) = self.incoming.next()? {
                return Ok(reply);
            }
            let read = self.stream.read_buf(self.incoming.reserve()).await?;
            anyhow::ensure!(read > 0, "the server closed the connection.");
        }
    }

    /// Waits for the answer to a call. Fails if the server refuses it.
    async fn answer_to(&mut self, expected: CallId, leader: &mut Option<NodeId>) -> anyhow::Result<SessionAnswer> {
        loop {
            match self.receive().await? {
                Reply::Leader(known) => *leader = known,
                Reply::Answered { call, answer } if call == expected => return Ok(answer),
                Reply::Refused { call, refusal } if call == expected => anyhow::bail!("{refusal}"),
                Reply::Unknown { call } if call == expected => anyhow::bail!("the outcome is unknown."),
                // Replies to calls for which nothing waits.
                Reply::Answered { .. } | Reply::Attached { .. } | Reply::Refused { .. } | Reply::Unknown { .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClientResult;

    #[test]
    fn requests_beyond_the_value_that_is_found_are_lost() {
        let result = ClientResult { key: 7, answered: 10 };
        // The last request may be written without an acknowledgement.
        let lost = [None, Some(0), Some(8), Some(10), Some(11)].map(|found| result.lost_requests(found));
        assert_eq!(lost, [10, 10, 2, 0, 0]);
    }
}
