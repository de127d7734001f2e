//! The thread that writes to the disk, so that a node never waits for a slow disk. While the thread
//! is idle and the disk quick, the node can write itself, which saves it the way to the thread and
//! back.
//!
//! One sync makes all queued writes durable. More writes queue up during that sync, so the busier a
//! node is, the more writes share one sync, without a configured delay.

use crate::error::StoreError;
use crate::files::FileSystem;
use crate::queue::{Queue, Unqueued};
use crate::store::{Storable, Store};
use quorate_core::Durable;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Maximum duration of the last append with which the next save may be written inline. It should be
/// of the order of the time to wake a thread: under load, a node that waits longer for its disk
/// loses more than it gains.
const MAX_INLINE_APPEND: Duration = Duration::from_micros(250);
/// Maximum number of bytes that are written inline.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// A number that the node chooses for a save, to recognise it in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaveId(pub u64);

/// A report of the disk writer to the node.
#[derive(Debug)]
pub enum Report {
    Saved {
        /// Number of writes made durable since the disk writer started, as `Input::Saved` expects
        /// it.
        count: u64,
        /// The id of the last of them.
        last_save: SaveId,
    },
    /// The disk is full. The disk writer keeps retrying; until it reports `Free`, no write becomes
    /// durable.
    Full(StoreError),
    /// The disk has space again.
    Free,
    /// The disk failed, and the disk writer has ended. The node must end too, because it cannot
    /// keep its promises.
    Failed(StoreError),
}

/// Why a save was not queued, with the write.
#[derive(Debug, Error)]
pub enum NotSaved<W> {
    #[error("the queue of saves is full. This write was not queued; save it again when others are durable.")]
    QueueFull(W),
    #[error("the disk thread has ended, and this write was not saved. Its last report says why; restart the node.")]
    Ended(W),
}

/// Delays between retries on a full disk: `first`, then doubled each time, up to `longest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelays {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for RetryDelays {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(5) }
    }
}

type QueuedWrite<D> = (SaveId, <D as Durable>::Write);

/// A thread that makes writes durable in a [`Store`], in the order of the saves. While it is idle,
/// the caller can write [inline](Self::save_inline) instead.
///
/// Dropping it waits until the thread has ended. The thread first saves all queued writes, unless
/// the disk is full or has failed.
pub struct DiskWriter<D: Durable> {
    queue: Arc<Queue<QueuedWrite<D>>>,
    log: Arc<Mutex<dyn InlineLog<D::Write> + Send>>,
    append_count: AppendCount,
    thread: Option<JoinHandle<()>>,
}

/// The number of appends of a disk writer, each with one sync. It outlives the disk writer.
#[derive(Clone, Debug, Default)]
pub struct AppendCount(Arc<AtomicU64>);

impl AppendCount {
    /// The number of appends so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<D> DiskWriter<D>
where
    D: Storable + Send + 'static,
    D::Write: Send + 'static,
{
    /// Starts the thread, or fails if the system cannot start one. The queue holds at most
    /// `capacity` writes. The thread itself calls `report`, which should be quick.
    pub fn start<F>(
        store: Store<D, F>,
        capacity: usize,
        retry_delays: RetryDelays,
        report: impl FnMut(Report) + Send + 'static,
    ) -> Result<Self, StoreError>
    where
        F: FileSystem + Send + 'static,
        F::File: Send,
        F::Lock: Send,
    {
        let queue = Arc::new(Queue::new(capacity));
        let append_count = AppendCount::default();
        let (saved_count, last_append) = (0, Duration::ZERO);
        let log = Log { store, saved_count, append_count: append_count.clone(), last_append };
        let log = Arc::new(Mutex::new(log));
        let mut writer = WriterThread { log: Arc::clone(&log), queue: Arc::clone(&queue), retry_delays, report };
        let work = move || {
            // Close the queue even after a panic, so that no thread waits for space forever.
            let close_on_drop = CloseOnDrop(Arc::clone(&writer.queue));
            writer.run();
            drop(close_on_drop);
        };
        let thread = thread::Builder::new().name("disk-writer".into()).spawn(work);
        let thread = thread
            .map_err(|error| StoreError::from_io("start the thread that writes to", "the disk".as_ref(), error))?;
        Ok(Self { queue, log, append_count, thread: Some(thread) })
    }

    /// Queues a write; waits while the queue is full. Fails if the thread has ended.
    pub fn save(&self, id: SaveId, write: D::Write) -> Result<(), NotSaved<D::Write>> {
        self.queue.push((id, write)).map_err(not_saved)
    }

    /// Queues a write without waiting; fails if the queue is full or the thread has ended.
    pub fn try_save(&self, id: SaveId, write: D::Write) -> Result<(), NotSaved<D::Write>> {
        self.queue.try_push((id, write)).map_err(not_saved)
    }

    /// Counts the appends of the thread and the inline ones.
    pub fn append_count(&self) -> AppendCount {
        self.append_count.clone()
    }

    /// Whether [`save_inline`](Self::save_inline) should be tried: whether the disk made the last
    /// writes durable in a quarter of a millisecond. A slow disk would stop the caller, and with it
    /// the heartbeats of the node. All earlier saves must have been reported.
    pub fn is_quick(&self) -> bool {
        self.log.lock().is_ok_and(|log| log.last_append() <= MAX_INLINE_APPEND)
    }

    /// Makes these writes durable before it returns, without the thread, and returns the report.
    /// All earlier saves must have been reported. Returns `None` and does nothing if the writes are
    /// long, a new segment is due, or the disk is full: then the thread has to save them.
    ///
    /// `last` is the id of the last of the writes.
    pub fn save_inline(&self, last: SaveId, writes: &[D::Write]) -> Option<Report> {
        match self.log.lock().ok()?.append_if_short(writes) {
            Ok(count) => Some(Report::Saved { count: count?, last_save: last }),
            // The thread tries again until the disk has space.
            Err(error) if error.is_full() => None,
            Err(error) => Some(Report::Failed(error)),
        }
    }
}

impl<D: Durable> Drop for DiskWriter<D> {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // Only the caller's own code can panic, such as `report` or `Serialize`, and the panic
            // hook has then printed the message.
            let _ = thread.join();
        }
    }
}

fn not_saved<W>(unqueued: Unqueued<(SaveId, W)>) -> NotSaved<W> {
    match unqueued {
        Unqueued::Full((_, write)) => NotSaved::QueueFull(write),
        Unqueued::Closed((_, write)) => NotSaved::Ended(write),
    }
}

struct CloseOnDrop<T>(Arc<Queue<T>>);

impl<T> Drop for CloseOnDrop<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The store with what the thread and inline writes have made durable in it.
struct Log<D: Storable, F: FileSystem> {
    store: Store<D, F>,
    saved_count: u64,
    append_count: AppendCount,
    /// Duration of the last append.
    last_append: Duration,
}

impl<D: Storable, F: FileSystem> Log<D, F> {
    /// Appends these writes and returns how many are durable since the disk writer started.
    fn append(&mut self, writes: &[D::Write]) -> Result<u64, StoreError> {
        let started = Instant::now();
        self.store.append(writes)?;
        Ok(self.count(writes.len(), started))
    }

    fn count(&mut self, writes: usize, started: Instant) -> u64 {
        self.last_append = started.elapsed();
        self.append_count.0.fetch_add(1, Ordering::Relaxed);
        self.saved_count += writes as u64;
        self.saved_count
    }
}

/// A [`Log`] as the node's thread uses it, whatever the file system.
trait InlineLog<W> {
    fn last_append(&self) -> Duration;
    /// Appends these writes and returns how many are durable since the disk writer started. `None`
    /// if that would take more than a short sync.
    fn append_if_short(&mut self, writes: &[W]) -> Result<Option<u64>, StoreError>;
}

impl<D: Storable, F: FileSystem> InlineLog<D::Write> for Log<D, F> {
    fn last_append(&self) -> Duration {
        self.last_append
    }

    fn append_if_short(&mut self, writes: &[D::Write]) -> Result<Option<u64>, StoreError> {
        let started = Instant::now();
        let is_appended = self.store.append_if_short(writes, MAX_INLINE_BYTES)?;
        Ok(is_appended.then(|| self.count(writes.len(), started)))
    }
}

struct WriterThread<D: Storable, F: FileSystem, R> {
    log: Arc<Mutex<Log<D, F>>>,
    queue: Arc<Queue<QueuedWrite<D>>>,
    retry_delays: RetryDelays,
    report: R,
}

impl<D: Storable, F: FileSystem, R: FnMut(Report)> WriterThread<D, F, R> {
    fn run(&mut self) {
        let mut batch = Vec::new();
        let mut writes = Vec::new();
        while self.queue.take_all(&mut batch) {
            let last = batch.last().map_or(SaveId(0), |(id, _)| *id);
            writes.extend(batch.drain(..).map(|(_, write)| write));
            let Some(count) = self.save(&writes) else { return };
            writes.clear();
            (self.report)(Report::Saved { count, last_save: last });
        }
    }

    /// Makes these writes durable, and retries while the disk is full. Returns how many writes are
    /// durable since the disk writer started, or `None` if the disk failed, or was full when the
    /// queue was closed.
    fn save(&mut self, writes: &[D::Write]) -> Option<u64> {
        let mut delay = self.retry_delays.first;
        let mut was_full = false;
        loop {
            // The lock is poisoned if an inline write has panicked, and then the node has ended.
            let appended = self.log.lock().ok()?.append(writes);
            match appended {
                Ok(count) => {
                    if was_full {
                        (self.report)(Report::Free);
                    }
                    return Some(count);
                }
                Err(error) if error.is_full() => {
                    if !was_full {
                        (self.report)(Report::Full(error));
                    }
                    was_full = true;
                    if self.queue.wait_for_close(delay) {
                        return None;
                    }
                    delay = delay.saturating_mul(2).min(self.retry_delays.longest);
                }
                Err(error) => {
                    (self.report)(Report::Failed(error));
                    return None;
                }
            }
        }
    }
}
