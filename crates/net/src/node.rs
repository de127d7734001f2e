//! The task that runs the node. In each turn it steps the protocol with a few inputs, records and
//! saves their effects, and then sends messages.

use crate::context::Context;
use crate::frame::BatchReader;
use crate::inbox::{ControlInput, InboundBatch};
use crate::link::{DuplicateFilter, Receipt};
use crate::link_handle::{CommonLinkState, ConsumedBatch, LinkHandle};
use crate::outbox::{MessageLoss, Outbox};
use crate::peers::{PeerChanges, Peers};
use crate::rate_limited_log::Severity;
use crate::settings::OverflowPolicy;
use quorate_core::{Codec, Incarnation, NodeId, Protocol, Time, WriteOf};
use quorate_drive::{Engine, Failure, MessageOrigin, Recorder, StartState};
use quorate_journal::Recordable;
use quorate_store::{Report, Storable};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};

/// Maximum number of queued inputs that one turn handles, where a batch of messages counts as one.
/// The turn sends the messages that they cause at its end.
const MAX_INPUTS_PER_TURN: usize = 64;
/// Maximum number of commands that every turn handles in addition, so that a flood of messages
/// cannot starve clients.
const MAX_COMMANDS_PER_TURN: usize = 16;
/// Maximum time until the task checks the node's timers again. The clock that wakes the task stops
/// while the machine is suspended, but the node's clock does not.
const MAX_TIMER_SLEEP: std::time::Duration = std::time::Duration::from_secs(1);

/// The node with its input queues and its outbox. `D` is the durable state on the disk, `O` the
/// recorder, `C` the codec of messages and `H` the callback for events.
pub(crate) struct NodeTask<P: Protocol, D: quorate_core::Durable, O, C, H> {
    pub(crate) engine: Engine<P, D, O>,
    pub(crate) outbox: Outbox<P, C>,
    pub(crate) control: mpsc::UnboundedReceiver<ControlInput>,
    pub(crate) batches: mpsc::Receiver<InboundBatch>,
    pub(crate) commands: mpsc::Receiver<P::Command>,
    pub(crate) reports: mpsc::UnboundedReceiver<Report>,
    pub(crate) common_links: Arc<CommonLinkState>,
    /// Receives the events of each turn.
    pub(crate) on_events: H,
    /// Messages from the node to itself.
    pub(crate) loopback: VecDeque<(u64, P::Message)>,
    pub(crate) peers: Peers,
    pub(crate) duplicate_filters: BTreeMap<NodeId, DuplicateFilter>,
    /// Nodes that connections have reported as crashed and not as reachable since. This outlives
    /// the removal of a peer, which the protocol may still suspect when it is added again. Then its
    /// first connection makes the protocol trust it.
    pub(crate) suspected: BTreeSet<NodeId>,
    pub(crate) incarnation: Incarnation,
    pub(crate) context: Arc<Context>,
}

/// How the node task ended.
#[derive(Debug)]
pub(crate) enum NodeTaskEnd {
    Stopped,
    Failed(Failure),
    /// A message was lost, in a protocol that assumes reliable links.
    MessageLost(String),
}

/// The next input of the node, or a reason to look for one.
enum NextInput<P: Protocol> {
    Control(ControlInput),
    Batch(InboundBatch),
    Command(P::Command),
    Loopback(u64, P::Message),
    DiskReport(Report),
    Timer,
    /// A crowded link has room again.
    Drained,
}

impl<P, D, O, C, H> NodeTask<P, D, O, C, H>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Recorder<P::Command, P::Event>,
    C: Codec<P>,
    H: FnMut(Vec<P::Event>),
{
    /// Starts the node and runs it until it is stopped or fails.
    pub(crate) async fn run(&mut self, state: StartState<P::Durable>) -> NodeTaskEnd {
        self.engine.read_clock();
        self.engine.start(state, &mut self.outbox);
        let mut alarm = Alarm::new();
        loop {
            if let Err(end) = self.finish_turn().await {
                return end;
            }
            alarm.set(self.engine.next_timer_expiry(), || self.engine.read_clock());
            let Some(first) = self.next_input(&mut alarm).await else { return NodeTaskEnd::Stopped };
            let mut next = Some(first);
            let mut remaining = MAX_INPUTS_PER_TURN;
            while let Some(input) = next {
                // For each input: this process may have been paused since the one before it, while
                // a lease expired.
                self.engine.read_clock();
                if !self.handle_input(input) {
                    // Commands that were queued before the stop are still carried out, unless a
                    // link is crowded.
                    self.handle_commands(usize::MAX);
                    return self.finish_turn().await.err().unwrap_or(NodeTaskEnd::Stopped);
                }
                remaining -= 1;
                next = if remaining > 0 { self.try_next_input() } else { None };
            }
            self.engine.fire_timers(&mut self.outbox);
            self.handle_commands(MAX_COMMANDS_PER_TURN);
        }
    }

    /// Ends a turn: records it, and only then sends its messages and emits its events. The engine
    /// withholds those that must wait until a save is durable. The disk's thread saves meanwhile,
    /// or this task saves afterwards, if that is quick.
    async fn finish_turn(&mut self) -> Result<(), NodeTaskEnd> {
        loop {
            self.engine.settle(&mut self.outbox).map_err(|failure| self.describe_end(failure))?;
            self.send_effects().map_err(|MessageLoss(reason)| NodeTaskEnd::MessageLost(reason))?;
            if !self.engine.has_inline_saves() {
                return Ok(());
            }
            // The tasks of the peers that wait for this thread write the messages first.
            tokio::task::yield_now().await;
            self.engine.save_inline(&mut self.outbox).map_err(|failure| self.describe_end(failure))?;
        }
    }

    /// Sends the messages and emits the events that do not wait for a save.
    fn send_effects(&mut self) -> Result<(), MessageLoss> {
        self.loopback.extend(self.outbox.loopback.drain(..));
        let flushed = self.outbox.flush();
        if !self.outbox.events.is_empty() {
            (self.on_events)(std::mem::take(&mut self.outbox.events));
        }
        flushed
    }

    /// Adds the reason to a disk failure that has none, from the disk's report, which is still
    /// queued.
    fn describe_end(&mut self, mut failure: Failure) -> NodeTaskEnd {
        while let Failure::Disk(None) = failure
            && let Ok(report) = self.reports.try_recv()
        {
            if let Report::Failed(error) = report {
                failure = Failure::Disk(Some(error));
            }
        }
        NodeTaskEnd::Failed(failure)
    }

    /// Handles up to this many queued commands. Stops early at a crowded link, because clients
    /// then have to wait.
    fn handle_commands(&mut self, max_commands: usize) {
        for _ in 0..max_commands {
            if self.outbox.is_crowded() {
                return;
            }
            let Ok(command) = self.commands.try_recv() else { return };
            self.engine.read_clock();
            self.engine.handle_command(command, &mut self.outbox);
        }
    }

    /// Shuts the node down in order: flushes its saves to disk and completes the journal.
    pub(crate) fn shut_down(&mut self) -> Result<(), Failure> {
        let unsaved_writes = self.engine.close_disk();
        while let Ok(report) = self.reports.try_recv() {
            match report {
                Report::Failed(error) => return Err(Failure::Disk(Some(error))),
                Report::Full(error) => tracing::warn!("{error}"),
                Report::Saved { .. } | Report::Free => {}
            }
        }
        if unsaved_writes > 0 {
            tracing::warn!(
                "The disk is full and {unsaved_writes} writes were not saved. The node sent nothing that depends on them."
            );
        }
        self.engine.record_end()
    }

    /// Waits for the next input. Returns `None` if no sender of control inputs is left: neither a
    /// [`Handle`](crate::Handle) nor a peer's task that reports crashes.
    async fn next_input(&mut self, alarm: &mut Alarm) -> Option<NextInput<P>> {
        if !self.loopback.is_empty() {
            // Other tasks get to run even if the node keeps sending to itself.
            tokio::task::yield_now().await;
            return self.try_next_input();
        }
        let is_crowded = self.outbox.is_crowded();
        tokio::select! {
            biased;
            control = self.control.recv() => control.map(NextInput::Control),
            Some(report) = self.reports.recv() => Some(NextInput::DiskReport(report)),
            Some(batch) = self.batches.recv() => Some(NextInput::Batch(batch)),
            () = alarm.wait() => Some(NextInput::Timer),
            Some(command) = self.commands.recv(), if !is_crowded => Some(NextInput::Command(command)),
            () = self.common_links.drained.notified(), if is_crowded => Some(NextInput::Drained),
        }
    }

    /// The next queued input, without waiting.
    fn try_next_input(&mut self) -> Option<NextInput<P>> {
        if let Ok(control) = self.control.try_recv() {
            return Some(NextInput::Control(control));
        }
        if let Ok(report) = self.reports.try_recv() {
            return Some(NextInput::DiskReport(report));
        }
        if let Ok(batch) = self.batches.try_recv() {
            return Some(NextInput::Batch(batch));
        }
        if let Some((number, message)) = self.loopback.pop_front() {
            return Some(NextInput::Loopback(number, message));
        }
        if self.outbox.is_crowded() {
            return None;
        }
        self.commands.try_recv().ok().map(NextInput::Command)
    }

    /// Handles one input. Returns `false` if it stops the node.
    fn handle_input(&mut self, next: NextInput<P>) -> bool {
        match next {
            NextInput::Control(ControlInput::Stop) => return false,
            NextInput::Control(ControlInput::View(view)) => self.engine.handle_view(view, &mut self.outbox),
            NextInput::Control(ControlInput::Peers(addresses)) => self.replace_peers(addresses),
            NextInput::Control(ControlInput::Suspicion { peer, is_suspected, link }) => {
                self.handle_suspicion(peer, is_suspected, link.as_deref());
            }
            NextInput::Batch(batch) => return self.handle_control_then_batch(&batch),
            NextInput::Command(command) => self.engine.handle_command(command, &mut self.outbox),
            NextInput::Loopback(number, message) => {
                let sender = MessageOrigin { node: self.outbox.me, incarnation: self.incarnation, number };
                self.engine.handle_message(sender, message, &mut self.outbox);
            }
            NextInput::DiskReport(report) => self.engine.handle_disk_report(report, &mut self.outbox),
            NextInput::Timer | NextInput::Drained => {}
        }
        true
    }

    /// Replaces the set of peers. See `peers.rs` for what remains of a removed peer.
    pub(crate) fn replace_peers(&mut self, addresses: BTreeMap<NodeId, String>) {
        let PeerChanges { added, removed } = self.peers.replace(addresses, &self.suspected);
        for node in removed {
            self.outbox.remove_peer(node);
            self.duplicate_filters.remove(&node);
        }
        for (node, link) in added {
            self.outbox.add_peer(node, link);
        }
    }

    /// Passes a suspicion to the node, unless a connection to a removed peer reported it.
    fn handle_suspicion(&mut self, peer: NodeId, is_suspected: bool, link: Option<&LinkHandle>) {
        if let Some(link) = link {
            if link.is_removed() {
                return;
            }
            if is_suspected {
                self.suspected.insert(peer);
            } else {
                self.suspected.remove(&peer);
            }
        }
        self.engine.handle_suspicion(peer, is_suspected, &mut self.outbox);
    }

    /// Handles the queued control inputs, then the batch. A suspicion of a peer is queued before
    /// any batch of the peer's next incarnation, and must be handled first: otherwise it would
    /// apply to that incarnation. The suspicion may have been queued after `try_next_input` looked
    /// at the control queue. Returns `false` if an input stops the node.
    fn handle_control_then_batch(&mut self, batch: &InboundBatch) -> bool {
        while let Ok(control) = self.control.try_recv() {
            if !self.handle_input(NextInput::Control(control)) {
                return false;
            }
        }
        self.handle_batch(batch);
        true
    }

    /// Steps the protocol with the messages of a batch that are not duplicates.
    fn handle_batch(&mut self, batch: &InboundBatch) {
        let InboundBatch { link, from, peer_end, body, .. } = batch;
        if link.is_removed() {
            return;
        }
        let duplicate_filter = self.duplicate_filters.entry(*from).or_default();
        if !duplicate_filter.begin_batch(*peer_end) {
            // A late batch of an incarnation that has ended, or of a link that the peer replaced.
            return;
        }
        let mut messages = 0;
        for message in BatchReader::new(body) {
            let (number, bytes) = match message {
                Ok(message) => message,
                // The connection's reader has validated the batch, so this should not happen.
                Err(error) => {
                    tracing::error!("Cannot read a batch from node {from} to its end: {error}");
                    break;
                }
            };
            messages += 1;
            if duplicate_filter.receive(number) == Receipt::Duplicate {
                continue;
            }
            match self.outbox.codec.decode(bytes) {
                Ok(message) => {
                    let sender = MessageOrigin { node: *from, incarnation: peer_end.incarnation, number };
                    self.engine.handle_message(sender, message, &mut self.outbox);
                }
                Err(malformed) => {
                    let sentence = format!(
                        "Cannot decode message {number} from node {from}: {malformed}. Run the same release on both nodes."
                    );
                    match self.outbox.overflow {
                        OverflowPolicy::End => self.outbox.loss = Some(MessageLoss(sentence)),
                        OverflowPolicy::Drop => {
                            let line = format_args!("{sentence} The node skipped the message.");
                            self.context.log.write(Severity::Error, line);
                        }
                    }
                }
            }
        }
        let consumed = ConsumedBatch { peer_end: *peer_end, messages, bytes: body.len() };
        link.record_consumed(consumed, duplicate_filter);
    }
}

/// A tokio timer for the node's next timer.
struct Alarm {
    /// When the node's next timer expires, by the node's clock; `None` without a timer.
    timer_time: Option<Time>,
    sleep: Pin<Box<Sleep>>,
}

impl Alarm {
    fn new() -> Self {
        Self { timer_time: None, sleep: Box::pin(sleep_until(Instant::now())) }
    }

    /// Sets the alarm to the instant of the next timer. Resets the tokio timer only if that instant
    /// changed.
    fn set(&mut self, timer_time: Option<Time>, now: impl FnOnce() -> Time) {
        if let Some(timer_time) = timer_time.filter(|timer_time| self.timer_time != Some(*timer_time)) {
            let wait = std::time::Duration::from_nanos(timer_time.since(now()).nanos());
            self.sleep.as_mut().reset(Instant::now() + wait.min(MAX_TIMER_SLEEP));
        }
        self.timer_time = timer_time;
    }

    /// Waits until the alarm fires, then unsets it. Waits forever if it is not set.
    async fn wait(&mut self) {
        poll_fn(|context| match self.timer_time {
            None => Poll::Pending,
            Some(_) => self.sleep.as_mut().poll(context),
        })
        .await;
        // The caller fires the expired timers, if any, and sets the alarm again.
        self.timer_time = None;
    }
}
