//! A link that the node and the tasks of its connection share.

use crate::frame::{Body, Header};
use crate::link::{Link, LinkError, Met, Origin, Reception, Room};
use bytes::Bytes;
use quorate_core::{Epoch, Incarnation, NodeId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A link that the node pushes messages on, and from which the connection takes frames.
pub(crate) struct Line {
    state: Mutex<State>,
    /// Rings when there is something to write.
    wake: Notify,
    /// Rings when the node ends.
    closed: Notify,
    /// Rings when a link that was crowded is no longer.
    drained: Arc<Notify>,
    epoch: Arc<AtomicU64>,
}

struct State {
    link: Link,
    stats: LinkStats,
    is_closing: bool,
    /// When anything came from the peer last; nothing while nobody listens to it.
    listened: Option<Instant>,
    /// Whether somebody waits for the link to be less crowded.
    was_crowded: bool,
    /// Whether the log says that messages are dropped.
    has_complained: bool,
}

/// What a link has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    pub is_connected: bool,
    pub connections: u64,
    pub held_bytes: usize,
    pub overflowed: u64,
    /// How many messages were dropped because their receiver came back as another life.
    pub outlived: u64,
    /// How many messages came again and were not taken twice.
    pub repeated: u64,
}

/// What the writer of a connection finds to do.
pub(crate) enum Work {
    Frame(Bytes),
    /// Nothing to write, but something to acknowledge before long.
    Owing,
    Nothing,
    Close(Bytes),
}

impl Line {
    pub(crate) fn new(origin: Origin, peer: NodeId, room: Room, drained: Arc<Notify>, epoch: Arc<AtomicU64>) -> Self {
        let state = State {
            link: Link::new(origin, peer, room),
            stats: LinkStats::default(),
            is_closing: false,
            listened: None,
            was_crowded: false,
            has_complained: false,
        };
        Self { state: Mutex::new(state), wake: Notify::new(), closed: Notify::new(), drained, epoch }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked with this in hand had not begun to change it: a link's methods do not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Relaxed))
    }

    // The node's side.

    /// Puts messages on the link: one after another in `bytes`, each with its number and its end. Tells how many found
    /// no place.
    pub(crate) fn push_all(&self, bytes: &[u8], ends: &[(u64, usize)]) -> usize {
        let mut state = self.state();
        let mut start = 0;
        let mut refused = 0;
        for (number, end) in ends {
            let message = bytes.get(start..*end).unwrap_or_default();
            refused += usize::from(state.link.push(*number, message).is_err());
            start = *end;
        }
        drop(state);
        self.wake.notify_one();
        refused
    }

    pub(crate) fn is_crowded(&self) -> bool {
        let mut state = self.state();
        state.was_crowded = state.link.is_crowded();
        state.was_crowded
    }

    /// Messages were dropped. The log says so once, until the link has room again.
    pub(crate) fn complain_of_loss(&self, messages: usize, sentence: &str) {
        let mut state = self.state();
        state.stats.overflowed += messages as u64;
        if !std::mem::replace(&mut state.has_complained, true) {
            tracing::warn!("{sentence} They are dropped, and so are those that follow until it takes some.");
        }
    }

    /// The node has taken in a batch of so many bytes, and knows this of all that has come.
    pub(crate) fn heard(&self, life: Incarnation, reception: &Reception, bytes: usize) {
        let mut state = self.state();
        let owed = state.link.has_unacknowledged();
        state.link.heard(life, reception.last(), bytes);
        state.stats.repeated = reception.repeated();
        let wake = !owed || state.link.owes_acknowledgement();
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// The node ends: what waits is written, and then the connection is closed.
    pub(crate) fn close(&self) {
        self.state().is_closing = true;
        self.wake.notify_one();
        self.closed.notify_waiters();
    }

    pub(crate) async fn closing(&self) {
        let closed = self.closed.notified();
        if !self.is_closing() {
            closed.await;
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state().is_closing
    }

    pub(crate) fn stats(&self) -> LinkStats {
        let state = self.state();
        LinkStats { held_bytes: state.link.held_bytes(), ..state.stats }
    }

    // The connection's side.

    pub(crate) fn header(&self) -> Header {
        self.state().link.header(self.epoch())
    }

    /// What a greeting says first to a peer whose life we take to be this one. Of another life nothing has come yet.
    pub(crate) fn header_to(&self, life: Option<Incarnation>) -> Header {
        let state = self.state();
        let header = state.link.header(self.epoch());
        if state.link.life() == life { header } else { Header { acknowledged: 0, ..header } }
    }

    pub(crate) fn meet(&self, header: &Header, knows: Option<Incarnation>) -> Result<Met, LinkError> {
        let mut state = self.state();
        let met = state.link.meet(header, knows)?;
        state.stats.is_connected = true;
        state.stats.connections += 1;
        if let Met::Reborn { dropped } = met {
            state.stats.outlived += dropped;
        }
        self.ease(&mut state);
        Ok(met)
    }

    pub(crate) fn part(&self) {
        self.state().stats.is_connected = false;
    }

    /// A frame arrived: its acknowledgement is taken.
    pub(crate) fn hear(&self, header: &Header) -> Result<(), LinkError> {
        let mut state = self.state();
        state.link.hear(header)?;
        self.ease(&mut state);
        if state.is_closing {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Users go on when there is room again.
    fn ease(&self, state: &mut State) {
        if !state.link.is_crowded() {
            state.has_complained = false;
            if std::mem::take(&mut state.was_crowded) {
                self.drained.notify_one();
            }
        }
    }

    pub(crate) fn listened(&self) {
        self.state().listened = Some(Instant::now());
    }

    /// Nothing is read from the peer for now, which is not its fault.
    pub(crate) fn stopped_listening(&self) {
        self.state().listened = None;
    }

    pub(crate) fn silence(&self) -> Duration {
        self.state().listened.map_or(Duration::ZERO, |listened| listened.elapsed())
    }

    pub(crate) fn work(&self) -> Work {
        let epoch = self.epoch();
        let mut state = self.state();
        if let Some(frame) = state.link.take(epoch) {
            return Work::Frame(frame);
        }
        if state.is_closing {
            // Until the peer has taken everything, or patience is over, the connection stays.
            if state.link.held_bytes() > 0 {
                return Work::Nothing;
            }
            return Work::Close(state.link.frame(epoch, &Body::Bye("it was stopped".into())));
        }
        if state.link.owes_acknowledgement() {
            return Work::Frame(state.link.frame(epoch, &Body::Ack));
        }
        if state.link.has_unacknowledged() { Work::Owing } else { Work::Nothing }
    }

    /// A frame that says nothing but that we are alive, and what has arrived.
    pub(crate) fn sign_of_life(&self) -> Bytes {
        let epoch = self.epoch();
        let mut state = self.state();
        let body = if state.link.has_unacknowledged() { Body::Ack } else { Body::Ping };
        state.link.frame(epoch, &body)
    }

    /// Waits until there may be something to write.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}
