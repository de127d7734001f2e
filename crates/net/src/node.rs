//! The task that runs the node: it steps the protocol with inputs, records and saves each turn, and
//! then sends.

use crate::context::Context;
use crate::frame::BatchReader;
use crate::inbox::{InboundBatch, InboundControl};
use crate::link::{DuplicateFilter, Receipt};
use crate::outbox::{Outbox, SendFailure};
use crate::rate_limited_log::Severity;
use crate::settings::Overflow;
use quorate_core::{Codec, Incarnation, NodeId, Protocol, Time, WriteOf};
use quorate_drive::{Engine, Failure, Record, Sender, StartState};
use quorate_journal::Recordable;
use quorate_store::{Report, Storable};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, Sleep, sleep_until};

/// Maximum number of inputs in one turn, before its messages go out.
const MAX_INPUTS_PER_TURN: usize = 64;
/// Number of commands that every turn handles in addition, so that a flood of messages cannot
/// starve clients.
const MAX_COMMANDS_PER_TURN: usize = 16;
/// Maximum time between two looks at the timers. The clock that wakes us stops while the machine is
/// suspended, and the node's clock does not.
const MAX_SLEEP: std::time::Duration = std::time::Duration::from_secs(1);

/// The node with its input queues and its outbox.
pub(crate) struct NodeTask<P: Protocol, D: quorate_core::Durable, O, C, H> {
    pub(crate) engine: Engine<P, D, O>,
    pub(crate) outbox: Outbox<P, C>,
    pub(crate) control: mpsc::UnboundedReceiver<InboundControl>,
    pub(crate) batches: mpsc::Receiver<InboundBatch>,
    pub(crate) commands: mpsc::Receiver<P::Command>,
    pub(crate) reports: mpsc::UnboundedReceiver<Report>,
    /// Notified when a crowded link has room again.
    pub(crate) drained: Arc<Notify>,
    /// Receives the events of each turn.
    pub(crate) on_events: H,
    /// Messages from the node to itself.
    pub(crate) loopback: VecDeque<(u64, P::Message)>,
    pub(crate) duplicate_filters: BTreeMap<NodeId, DuplicateFilter>,
    pub(crate) incarnation: Incarnation,
    pub(crate) context: Arc<Context>,
}

/// How the node task ended.
#[derive(Debug)]
pub(crate) enum End {
    Stopped,
    Failed(Failure),
    Overflow(String),
}

/// The next input of the node, or a reason to look for one.
enum NextInput<P: Protocol> {
    Control(InboundControl),
    Batch(InboundBatch),
    Command(P::Command),
    Loopback(u64, P::Message),
    Report(Report),
    Timer,
    Drained,
}

impl<P, D, O, C, H> NodeTask<P, D, O, C, H>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Record<P::Command, P::Event>,
    C: Codec<P>,
    H: FnMut(Vec<P::Event>),
{
    /// Starts the node and runs it until it is stopped or fails.
    pub(crate) async fn run(&mut self, state: StartState<P::Durable>) -> End {
        self.engine.wake();
        self.engine.start(state, &mut self.outbox);
        let mut alarm = Alarm::new();
        loop {
            if let Err(end) = self.finish_turn() {
                return end;
            }
            alarm.set(self.engine.next_timer(), || self.engine.wake());
            let Some(first) = self.next_input(&mut alarm).await else { return End::Stopped };
            self.engine.wake();
            let mut next = Some(first);
            let mut remaining = MAX_INPUTS_PER_TURN;
            while let Some(input) = next {
                if !self.handle(input) {
                    // Commands that were queued before the stop are still carried out.
                    self.handle_commands(usize::MAX);
                    return self.finish_turn().err().unwrap_or(End::Stopped);
                }
                remaining -= 1;
                next = if remaining > 0 { self.try_next_input() } else { None };
            }
            self.engine.fire(&mut self.outbox);
            self.handle_commands(MAX_COMMANDS_PER_TURN);
        }
    }

    /// Ends a turn: records it, then saves it, and only then lets messages and events out.
    fn finish_turn(&mut self) -> Result<(), End> {
        if let Err(failure) = self.engine.settle(&mut self.outbox) {
            return Err(End::Failed(self.with_disk_error(failure)));
        }
        self.loopback.extend(self.outbox.loopback.drain(..));
        let flushed = self.outbox.flush();
        if !self.outbox.events.is_empty() {
            (self.on_events)(std::mem::take(&mut self.outbox.events));
        }
        flushed.map_err(|SendFailure(reason)| End::Overflow(reason))
    }

    /// Adds the reason to a disk failure that has none: the disk reported it before it ended.
    fn with_disk_error(&mut self, failure: Failure) -> Failure {
        let Failure::Disk(None) = failure else { return failure };
        while let Ok(report) = self.reports.try_recv() {
            if let Report::Failed(error) = report {
                return Failure::Disk(Some(error));
            }
        }
        failure
    }

    /// Handles queued commands, unless a crowded link makes clients wait.
    fn handle_commands(&mut self, max: usize) {
        for _ in 0..max {
            if self.outbox.is_crowded() {
                return;
            }
            let Ok(command) = self.commands.try_recv() else { return };
            self.engine.command(command, &mut self.outbox);
        }
    }

    /// Shuts the node down in order: flushes its saves to disk and completes the journal.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        let unsaved = self.engine.close_disk();
        while let Ok(report) = self.reports.try_recv() {
            match report {
                Report::Failed(error) => return Err(Failure::Disk(Some(error))),
                Report::Full(error) => tracing::warn!("{error}"),
                Report::Saved { .. } | Report::Free => {}
            }
        }
        if unsaved > 0 {
            tracing::warn!(
                "The disk is full and {unsaved} writes were not saved. The node sent nothing that depends on them."
            );
        }
        self.engine.end()
    }

    /// Waits for the next input. Returns `None` if no handle remains that could stop the node.
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
            Some(report) = self.reports.recv() => Some(NextInput::Report(report)),
            Some(batch) = self.batches.recv() => Some(NextInput::Batch(batch)),
            () = alarm.wait() => Some(NextInput::Timer),
            Some(command) = self.commands.recv(), if !is_crowded => Some(NextInput::Command(command)),
            () = self.drained.notified(), if is_crowded => Some(NextInput::Drained),
        }
    }

    /// The next queued input, without waiting.
    fn try_next_input(&mut self) -> Option<NextInput<P>> {
        if let Ok(control) = self.control.try_recv() {
            return Some(NextInput::Control(control));
        }
        if let Ok(report) = self.reports.try_recv() {
            return Some(NextInput::Report(report));
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
    fn handle(&mut self, next: NextInput<P>) -> bool {
        match next {
            NextInput::Control(InboundControl::Stop) => return false,
            NextInput::Control(InboundControl::View(view)) => self.engine.view(view, &mut self.outbox),
            NextInput::Control(InboundControl::Suspect(node, is_suspect)) => {
                self.engine.suspect(node, is_suspect, &mut self.outbox);
            }
            NextInput::Batch(batch) => return self.handle_control_then_batch(&batch),
            NextInput::Command(command) => self.engine.command(command, &mut self.outbox),
            NextInput::Loopback(number, message) => {
                let sender = Sender { node: self.outbox.me, incarnation: self.incarnation, number };
                self.engine.message(sender, message, &mut self.outbox);
            }
            NextInput::Report(report) => self.engine.disk(report, &mut self.outbox),
            NextInput::Timer | NextInput::Drained => {}
        }
        true
    }

    /// Handles control inputs that arrived before this batch, then the batch. A suspicion of a peer
    /// is sent before any batch of its next incarnation, and must be handled first: otherwise it
    /// would apply to that incarnation. It may have arrived after `try_next_input` looked at the
    /// control queue. Returns `false` if an input stops the node.
    fn handle_control_then_batch(&mut self, batch: &InboundBatch) -> bool {
        while let Ok(control) = self.control.try_recv() {
            if !self.handle(NextInput::Control(control)) {
                return false;
            }
        }
        self.handle_batch(batch);
        true
    }

    /// Delivers the messages of a batch that are not duplicates.
    fn handle_batch(&mut self, batch: &InboundBatch) {
        let InboundBatch { link, from, incarnation, body, .. } = batch;
        let duplicate_filter = self.duplicate_filters.entry(*from).or_default();
        if !duplicate_filter.begin_batch(*incarnation) {
            // A late batch of an incarnation that has ended.
            return;
        }
        for message in BatchReader::new(body) {
            let (number, bytes) = match message {
                Ok(message) => message,
                // The connection's reader has validated the batch, so this should not happen.
                Err(error) => {
                    tracing::error!("Cannot read a batch from node {from} to its end: {error}");
                    break;
                }
            };
            if duplicate_filter.receive(number) == Receipt::Duplicate {
                continue;
            }
            match self.outbox.codec.decode(bytes) {
                Ok(message) => {
                    let sender = Sender { node: *from, incarnation: *incarnation, number };
                    self.engine.message(sender, message, &mut self.outbox);
                }
                Err(malformed) => {
                    let sentence = format!(
                        "Cannot decode message {number} from node {from}: {malformed}. Run the same release on both nodes."
                    );
                    match self.outbox.overflow {
                        Overflow::End => self.outbox.failure = Some(SendFailure(sentence)),
                        Overflow::Drop => {
                            let line = format_args!("{sentence} The node skipped the message.");
                            self.context.log.write(Severity::Error, line);
                        }
                    }
                }
            }
        }
        link.record_consumed(*incarnation, duplicate_filter, body.len());
    }
}

/// A tokio timer for the node's next timer.
struct Alarm {
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
            self.sleep.as_mut().reset(Instant::now() + wait.min(MAX_SLEEP));
        }
        self.timer_time = timer_time;
    }

    /// Waits until the alarm fires; forever if it is not set.
    async fn wait(&mut self) {
        poll_fn(|context| match self.timer_time {
            None => Poll::Pending,
            Some(_) => self.sleep.as_mut().poll(context),
        })
        .await;
        // The caller fires the expired timers and sets the alarm again.
        self.timer_time = None;
    }
}
