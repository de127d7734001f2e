//! A link shared by the node's task, which pushes messages, and the peer's task, which sends them.

use crate::frame::{Body, Generation, Header, LinkEnd};
use crate::link::{DuplicateFilter, Link, LinkError, LinkLimits, LinkStart, Origin};
use bytes::Bytes;
use quorate_core::{Epoch, NodeId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A [`Link`] behind a lock, with notifications between the node and its connection.
pub(crate) struct LinkHandle {
    state: Mutex<State>,
    /// Notified when the connection may have something to write.
    work_available: Notify,
    /// Notified when [`close`](Self::close) is called.
    closing_began: Notify,
    /// Whether the node has removed this peer.
    is_removed: AtomicBool,
    common: Arc<CommonLinkState>,
}

/// State that all links of a node share.
#[derive(Default)]
pub(crate) struct CommonLinkState {
    /// Notified when a crowded link has room again.
    pub(crate) drained: Notify,
    /// The epoch of the group's view, which frames carry.
    pub(crate) epoch: AtomicU64,
    /// The traffic on all links, including those to removed peers.
    traffic: Mutex<Traffic>,
}

impl CommonLinkState {
    /// The traffic on all links, including those to removed peers.
    pub(crate) fn traffic(&self) -> MutexGuard<'_, Traffic> {
        // A poisoned lock still guards valid counters.
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct State {
    link: Link,
    stats: LinkStats,
    is_closing: bool,
    /// When the last bytes arrived from the peer; `None` while this node does not read from it.
    last_read: Option<Instant>,
    /// Whether clients wait for the link to become less crowded.
    are_clients_waiting: bool,
    /// Whether the log already reports a loss of messages since the link last had room.
    has_reported_loss: bool,
}

/// Statistics of one link since the node started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    pub is_connected: bool,
    /// Number of connections since the node started.
    pub connections: u64,
    pub held_bytes: usize,
    /// Number of messages dropped because the link was full.
    pub dropped_at_overflow: u64,
    /// Number of messages dropped because the peer restarted as another incarnation, or removed
    /// this node from its peers and added it again.
    pub dropped_at_restart: u64,
    /// Number of duplicate messages that were discarded.
    pub duplicates: u64,
    pub traffic: Traffic,
}

/// Numbers of messages, and of the batches that carried them, since the node started. A batch is
/// one frame. Frames without messages, such as acknowledgements and keepalives, do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that are sent again on another connection count again.
    pub messages_sent: u64,
    pub batches_sent: u64,
    /// Messages that the node consumed. Duplicates count, too.
    pub messages_received: u64,
    pub batches_received: u64,
}

impl Traffic {
    fn count_sent_batch(&mut self, messages: u64) {
        self.messages_sent += messages;
        self.batches_sent += 1;
    }

    fn count_received_batch(&mut self, messages: u64) {
        self.messages_received += messages;
        self.batches_received += 1;
    }
}

/// A batch of messages that the node consumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsumedBatch {
    /// The end of the peer that sent the batch.
    pub(crate) peer_end: LinkEnd,
    pub(crate) messages: u64,
    pub(crate) bytes: usize,
}

/// The next task of the writer of a connection.
pub(crate) enum WriteTask {
    /// Send this frame.
    Frame(Bytes),
    /// Nothing to send yet, but an acknowledgement must follow soon.
    AcknowledgeSoon,
    /// Wait until there is work.
    Idle,
    /// Send this last frame and close the connection.
    Close(Bytes),
}

impl LinkHandle {
    pub(crate) fn new(origin: Origin, peer: NodeId, limits: LinkLimits, common: Arc<CommonLinkState>) -> Self {
        let state = State {
            link: Link::new(origin, peer, limits),
            stats: LinkStats::default(),
            is_closing: false,
            last_read: None,
            are_clients_waiting: false,
            has_reported_loss: false,
        };
        Self {
            state: Mutex::new(state),
            work_available: Notify::new(),
            closing_began: Notify::new(),
            is_removed: AtomicBool::new(false),
            common,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock still guards a consistent link, because the methods of a link do not
        // panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn epoch(&self) -> Epoch {
        Epoch(self.common.epoch.load(Ordering::Relaxed))
    }

    // Called by the node.

    /// Pushes messages to the link. `bytes` holds them one after another, and `message_ends` the
    /// number and the end offset of each. Returns the number of messages that the link did not
    /// accept.
    pub(crate) fn push_all(&self, bytes: &[u8], message_ends: &[(u64, usize)]) -> usize {
        let mut state = self.state();
        let mut start = 0;
        let mut refused_count = 0;
        for (number, end) in message_ends {
            let message = bytes.get(start..*end).unwrap_or_default();
            refused_count += usize::from(state.link.push(*number, message).is_err());
            start = *end;
        }
        drop(state);
        self.work_available.notify_one();
        refused_count
    }

    /// Whether clients should wait. If so, the link will notify `drained` as soon as they may
    /// continue.
    pub(crate) fn is_crowded(&self) -> bool {
        let mut state = self.state();
        state.are_clients_waiting = state.link.is_crowded();
        state.are_clients_waiting
    }

    /// Counts dropped messages, and logs `sentence` for the first loss since the link last had
    /// room.
    pub(crate) fn report_loss(&self, messages: usize, sentence: &str) {
        let mut state = self.state();
        state.stats.dropped_at_overflow += messages as u64;
        if !std::mem::replace(&mut state.has_reported_loss, true) {
            tracing::warn!("{sentence} The node dropped them, and drops further messages until the link has room.");
        }
    }

    /// Records that the node consumed a batch, so that the link acknowledges it.
    pub(crate) fn record_consumed(&self, batch: ConsumedBatch, duplicate_filter: &DuplicateFilter) {
        let ConsumedBatch { peer_end, messages, bytes } = batch;
        self.common.traffic().count_received_batch(messages);
        let mut state = self.state();
        let was_pending = state.link.has_unacknowledged();
        state.link.record_consumed(peer_end, duplicate_filter.last_number(), bytes);
        state.stats.duplicates = duplicate_filter.duplicates();
        state.stats.traffic.count_received_batch(messages);
        let should_wake = !was_pending || state.link.must_acknowledge_now();
        drop(state);
        if should_wake {
            self.work_available.notify_one();
        }
    }

    /// Marks the peer as removed: from now on the node ignores what it sends.
    pub(crate) fn mark_removed(&self) {
        self.is_removed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Relaxed)
    }

    /// Starts closing, because the node ends or has removed the peer: the connection writes what is
    /// queued, waits until the peer has acknowledged it, and then closes.
    pub(crate) fn close(&self) {
        self.state().is_closing = true;
        self.work_available.notify_one();
        self.closing_began.notify_waiters();
    }

    /// Waits until [`close`](Self::close) is called.
    pub(crate) async fn wait_for_close(&self) {
        // Created before the check, so that a call of `close` in between is not missed.
        let closed = self.closing_began.notified();
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

    // Called by the connection.

    pub(crate) fn header(&self) -> Header {
        self.state().link.header(self.epoch())
    }

    /// The header of a Hello to this end of the peer. It acknowledges nothing if the link was last
    /// connected to another end.
    pub(crate) fn hello_header(&self, peer_end: Option<LinkEnd>) -> Header {
        let state = self.state();
        let header = state.link.header(self.epoch());
        if state.link.peer_end() == peer_end { header } else { Header { acknowledged: 0, ..header } }
    }

    /// Starts using a new connection; see [`Link::begin_connection`].
    pub(crate) fn begin_connection(
        &self,
        header: &Header,
        generation: Generation,
        acknowledged_end: Option<LinkEnd>,
    ) -> Result<LinkStart, LinkError> {
        let mut state = self.state();
        let start = state.link.begin_connection(header, generation, acknowledged_end)?;
        state.stats.is_connected = true;
        state.stats.connections += 1;
        if let LinkStart::Restarted { dropped } | LinkStart::Readded { dropped } = start {
            state.stats.dropped_at_restart += dropped;
        }
        self.wake_clients_if_drained(&mut state);
        Ok(start)
    }

    pub(crate) fn end_connection(&self) {
        self.state().stats.is_connected = false;
    }

    /// Applies the acknowledgement in the header of a received frame.
    pub(crate) fn receive_header(&self, header: &Header) -> Result<(), LinkError> {
        let mut state = self.state();
        state.link.receive_header(header)?;
        self.wake_clients_if_drained(&mut state);
        if state.is_closing {
            // The writer closes the connection after the last acknowledgement.
            self.work_available.notify_one();
        }
        Ok(())
    }

    /// Lets waiting clients continue if the link has room again.
    fn wake_clients_if_drained(&self, state: &mut State) {
        if !state.link.is_crowded() {
            state.has_reported_loss = false;
            if std::mem::take(&mut state.are_clients_waiting) {
                self.common.drained.notify_one();
            }
        }
    }

    /// Records that bytes arrived from the peer, or that this node reads from it again.
    pub(crate) fn restart_idle_timer(&self) {
        self.state().last_read = Some(Instant::now());
    }

    /// Stops measuring idle time while this node does not read from the peer.
    pub(crate) fn pause_idle_timer(&self) {
        self.state().last_read = None;
    }

    /// How long the peer has sent nothing, although this node was reading.
    pub(crate) fn idle_time(&self) -> Duration {
        self.state().last_read.map_or(Duration::ZERO, |last_read| last_read.elapsed())
    }

    /// The next task of the connection's writer.
    pub(crate) fn next_write(&self) -> WriteTask {
        let epoch = self.epoch();
        let mut state = self.state();
        let sent_before = state.link.messages_sent();
        if let Some(frame) = state.link.take_frame(epoch) {
            let messages = state.link.messages_sent() - sent_before;
            state.stats.traffic.count_sent_batch(messages);
            drop(state);
            self.common.traffic().count_sent_batch(messages);
            return WriteTask::Frame(frame);
        }
        if state.is_closing {
            // Keep the connection until the peer has acknowledged everything; the peer's task
            // limits the wait.
            if state.link.held_bytes() > 0 {
                return WriteTask::Idle;
            }
            let reason = if self.is_removed() { "it removed this node from its peers" } else { "the node was stopped" };
            return WriteTask::Close(state.link.frame(epoch, &Body::Bye(reason.into())));
        }
        if state.link.must_acknowledge_now() {
            return WriteTask::Frame(state.link.frame(epoch, &Body::Ack));
        }
        if state.link.has_unacknowledged() { WriteTask::AcknowledgeSoon } else { WriteTask::Idle }
    }

    /// A frame without messages, which shows that this node is alive and acknowledges all consumed
    /// messages.
    pub(crate) fn keepalive(&self) -> Bytes {
        let epoch = self.epoch();
        let mut state = self.state();
        let body = if state.link.has_unacknowledged() { Body::Ack } else { Body::Ping };
        state.link.frame(epoch, &body)
    }

    /// Waits until there may be something to write.
    pub(crate) async fn wait_for_work(&self) {
        self.work_available.notified().await;
    }
}
