//! The task that keeps one node in touch with one peer: it dials, is dialled, and keeps the connection that remains.

use crate::context::Context;
use crate::frame::{Dial, Header, Hello, Refusal, Welcome};
use crate::greeting::{self, GreetingError, Guest, Host, connect, greet, sentence};
use crate::inbox::{Inbox, Letter};
use crate::line::Line;
use crate::link::Met;
use crate::meeting::{Answer, Caller, Connection, Life, Meeting, Outcome};
use crate::stream::Stream;
use crate::talk::{self, Parting, Reader};
use bytes::BytesMut;
use quorate_core::{Incarnation, NodeId};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// One node's side of everything between it and one peer.
pub(crate) struct Peer {
    pub(crate) context: Arc<Context>,
    pub(crate) node: NodeId,
    pub(crate) address: String,
    pub(crate) line: Arc<Line>,
    pub(crate) meeting: Meeting,
    pub(crate) guests: mpsc::Receiver<Guest>,
    pub(crate) inbox: Inbox,
    /// Why the last dial failed: the log says each thing once.
    pub(crate) last_complaint: String,
    /// Where the node hears that this peer's process is gone, if it wants to know.
    pub(crate) obituaries: Option<mpsc::UnboundedSender<Letter>>,
    pub(crate) fame: Fame,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fame {
    /// It never met us.
    Unknown,
    Alive,
    Gone,
}

/// A connection that both sides hold to be theirs.
struct Established {
    connection: Connection,
    life: Incarnation,
    stream: Stream,
    received: BytesMut,
}

struct Welcomed {
    connection: Connection,
    guest: Guest,
}

/// What comes of waiting: a guest that is to be welcomed, or what was waited for.
enum Either<T> {
    Guest(Box<Welcomed>),
    Done(T),
}

impl Peer {
    pub(crate) async fn run(mut self) {
        let mut pause = Duration::ZERO;
        let mut waiting: Option<Box<Welcomed>> = None;
        while !self.line.is_closing() {
            let found = match waiting.take() {
                Some(welcomed) => self.admit(*welcomed).await,
                None => {
                    let line = Arc::clone(&self.line);
                    let sought = tokio::select! {
                        sought = self.seek(pause) => sought,
                        () = line.closing() => return,
                    };
                    match sought {
                        Either::Guest(welcomed) => self.admit(*welcomed).await,
                        Either::Done(found) => found,
                    }
                }
            };
            match found {
                Some(established) => {
                    let begun = Instant::now();
                    waiting = self.talk(established).await;
                    // A connection that did not last is no better than a dial in vain: nobody dials in circles.
                    let lasted = begun.elapsed() >= self.context.limits.longest_pause;
                    pause = if lasted { Duration::ZERO } else { self.longer(pause) };
                }
                None => pause = self.longer(pause),
            }
        }
    }

    /// Twice as long as before, within bounds, and a little different on each node.
    fn longer(&self, pause: Duration) -> Duration {
        let limits = &self.context.limits;
        let next = pause.saturating_mul(2).clamp(limits.first_pause, limits.longest_pause);
        let spread = (u64::from(self.context.terms.me.number()) * 7 + u64::from(self.node.number()) * 3) % 16;
        next + next.mul_f64(spread as f64 / 64.0)
    }

    /// Dials after a pause, unless a guest comes first.
    async fn seek(&mut self, pause: Duration) -> Either<Option<Established>> {
        if let Either::Guest(welcomed) = self.unless_guest(sleep(pause)).await {
            return Either::Guest(welcomed);
        }
        let Some(dial) = self.meeting.dial() else { return Either::Done(None) };
        let (context, address, node) = (Arc::clone(&self.context), self.address.clone(), self.node);
        let reaching = async move {
            timeout(context.limits.introduction, connect(&context, node, &address))
                .await
                .map_err(|_| GreetingError::Late)?
        };
        let stream = match self.unless_guest(reaching).await {
            Either::Guest(welcomed) => return Either::Guest(welcomed),
            Either::Done(Ok(stream)) => stream,
            Either::Done(Err(error)) => return self.fail(dial, &error),
        };
        let Some(greeting) = self.meeting.connected(dial) else { return Either::Done(None) };
        let terms = &self.context.terms;
        let hello = Hello {
            group: terms.group.as_str().to_owned(),
            algorithm: terms.algorithm.clone(),
            format: terms.format,
            to: self.node,
            members: terms.members,
            dial,
            welcomed: greeting.welcomed,
            knows: greeting.knows,
            birth: self.context.birth,
        };
        let patience = self.context.limits.introduction;
        let header = self.line.header_to(greeting.knows);
        let greeting =
            async move { timeout(patience, greet(stream, header, hello)).await.map_err(|_| GreetingError::Late)? };
        match self.unless_guest(greeting).await {
            Either::Guest(welcomed) => Either::Guest(welcomed),
            Either::Done(Ok(host)) => Either::Done(self.welcomed(dial, host)),
            Either::Done(Err(error)) => self.fail(dial, &error),
        }
    }

    fn fail<T>(&mut self, dial: Dial, error: &GreetingError) -> Either<Option<T>> {
        self.meeting.failed(dial);
        if error.is_refusal_of_kernel() {
            self.is_gone();
        }
        self.complain(error);
        Either::Done(None)
    }

    /// A kernel that refuses where a process listened says that this process is no more. Silence says nothing.
    fn is_gone(&mut self) {
        if self.fame == Fame::Alive {
            self.fame = Fame::Gone;
            self.tell_node(true);
        }
    }

    fn is_alive(&mut self) {
        if self.fame == Fame::Gone {
            self.tell_node(false);
        }
        self.fame = Fame::Alive;
    }

    fn tell_node(&self, is_gone: bool) {
        if let Some(obituaries) = &self.obituaries {
            // Nobody listens only if the node has ended.
            let _ = obituaries.send(Letter::Suspect(self.node, is_gone));
        }
    }

    fn complain(&mut self, error: &GreetingError) {
        if let GreetingError::Refused(refusal) = error
            && refusal.is_passing()
        {
            return;
        }
        let complaint = error.to_string();
        if complaint != self.last_complaint {
            let (node, address) = (self.node, &self.address);
            match error {
                // A node that is not there yet, or no longer, is nothing unusual.
                GreetingError::Unreachable(_) | GreetingError::Late | GreetingError::Silent => {
                    tracing::info!("No connection to node {node} at {address}: {} Trying again.", sentence(error));
                }
                _ => tracing::warn!("No connection to node {node} at {address}: {} Trying again.", sentence(error)),
            }
            self.last_complaint = complaint;
        }
    }

    fn welcomed(&mut self, dial: Dial, host: Host) -> Option<Established> {
        let Host { stream, received, header, welcome } = host;
        if header.sender != self.node || welcome.dial != dial {
            self.meeting.failed(dial);
            self.complain(&GreetingError::NoGreeting);
            return None;
        }
        let connection = match self.meeting.welcomed(dial, Life::of_welcome(&header, &welcome)) {
            Outcome::Together(connection) => connection,
            Outcome::GivenUp => return None,
            Outcome::Refuse(refusal) => {
                self.complain(&GreetingError::Refused(refusal));
                return None;
            }
        };
        self.meet(connection, &header, Some(welcome.knows))?;
        Some(Established { connection, life: header.incarnation, stream, received })
    }

    async fn admit(&mut self, welcomed: Welcomed) -> Option<Established> {
        let Welcomed { connection, mut guest } = welcomed;
        let (dial, life) = (guest.hello.dial, guest.header.incarnation);
        // First the link knows the peer's life, so that the welcome acknowledges what came from that one.
        self.meet(connection, &guest.header, guest.hello.knows)?;
        let answer = Welcome { dial, knows: life, birth: self.context.birth };
        let header = self.line.header();
        let saying = greeting::welcome(&mut guest, header, answer);
        if !matches!(timeout(self.context.limits.introduction, saying).await, Ok(Ok(()))) {
            self.line.part();
            self.meeting.lost(connection);
            return None;
        }
        let Guest { stream, received, .. } = guest;
        Some(Established { connection, life, stream, received })
    }

    /// Both sides have accepted a connection: the link goes on over it.
    fn meet(&mut self, connection: Connection, header: &Header, knows: Option<Incarnation>) -> Option<()> {
        let node = self.node;
        match self.line.meet(header, knows) {
            Ok(Met::First | Met::Again) => {}
            Ok(Met::Reborn { dropped }) => {
                tracing::info!(
                    "Node {node} is back as life {}; {dropped} messages to its life before were dropped.",
                    header.incarnation
                );
                // It was away for so short a time that nobody missed it.
                if self.fame == Fame::Alive {
                    self.tell_node(false);
                }
            }
            Err(error) => {
                tracing::warn!("{error}");
                self.meeting.lost(connection);
                return None;
            }
        }
        self.last_complaint.clear();
        self.is_alive();
        tracing::info!("Connected to node {node}, life {}.", header.incarnation);
        Some(())
    }

    /// Lets both sides talk until the connection is over or another takes its place.
    async fn talk(&mut self, established: Established) -> Option<Box<Welcomed>> {
        let Established { connection, life, stream, received } = established;
        let (reading, writing) = tokio::io::split(stream);
        let reader = Reader { peer: self.node, life, line: Arc::clone(&self.line), inbox: self.inbox.clone() };
        let (line, limits) = (Arc::clone(&self.line), self.context.limits);
        let talking = async move {
            let mut reading = pin!(reader.read(reading, received));
            let parting = tokio::select! {
                parting = &mut reading => return parting,
                parting = talk::write(&line, writing, &limits) => parting,
            };
            if !matches!(parting, Parting::Broken(_)) {
                return parting;
            }
            // What the peer wrote before it closed may still be on its way to us.
            timeout(limits.silence, reading).await.unwrap_or(parting)
        };
        let waiting = self.unless_guest(talking).await;
        self.line.part();
        match waiting {
            Either::Guest(welcomed) => Some(welcomed),
            Either::Done(parting) => {
                self.meeting.lost(connection);
                self.tell(&parting);
                None
            }
        }
    }

    fn tell(&self, parting: &Parting) {
        let node = self.node;
        match parting {
            Parting::Stopping => {}
            Parting::Closed | Parting::Bye(_) | Parting::Broken(_) | Parting::Silent(_) | Parting::Stuck(_) => {
                tracing::info!(
                    "The connection to node {node} is over: {parting}. Nothing is lost; it will be made again."
                );
            }
            Parting::Frame(_) | Parting::Link(_) | Parting::SecondGreeting => {
                self.context.complaints.write(format_args!(
                    "The connection to node {node} is closed: {} It will be made again.",
                    sentence(parting)
                ));
            }
        }
    }

    /// Waits for something, unless a guest comes that the rules accept; guests that they refuse are told so.
    async fn unless_guest<T>(&mut self, waiting: impl Future<Output = T>) -> Either<T> {
        let mut waiting = pin!(waiting);
        loop {
            let guest = tokio::select! {
                biased;
                done = &mut waiting => return Either::Done(done),
                Some(guest) = self.guests.recv() => guest,
            };
            match self.meeting.accept(&Caller::new(&guest.header, &guest.hello)) {
                Answer::Welcome { connection, given_up: _ } => {
                    return Either::Guest(Box::new(Welcomed { connection, guest }));
                }
                Answer::Refuse(refusal) => self.turn_away(guest, refusal),
            }
        }
    }

    /// Tells a guest why it is not wanted, without waiting for that.
    fn turn_away(&self, guest: Guest, refusal: Refusal) {
        // An attempt that was seen before is hardly ever an honest one: somebody may be playing it again.
        if !refusal.is_passing() || refusal == Refusal::Stale {
            self.context.complaints.write(format_args!(
                "A process that says it is node {} was refused. It was told: \"{refusal}\" The group goes on.",
                self.node
            ));
        }
        let context = Arc::clone(&self.context);
        tokio::spawn(async move { greeting::refuse(guest.stream, &context, refusal).await });
    }
}
