//! The thread that writes to the disk, so that a node never waits for it.
//!
//! One sync makes all queued writes durable. More writes queue up during that sync, so the busier a
//! node is, the more writes share one sync, without a configured delay.

use crate::error::StoreError;
use crate::files::FileSystem;
use crate::queue::{Queue, Unqueued};
use crate::store::{Storable, Store};
use quorate_core::Durable;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use thiserror::Error;

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

/// A thread that owns a [`Store`] and makes writes durable in the order of the saves.
///
/// Dropping it waits until the thread has ended. The thread first saves all queued writes, unless
/// the disk is full or has failed.
pub struct DiskWriter<D: Durable> {
    queue: Arc<Queue<QueuedWrite<D>>>,
    thread: Option<JoinHandle<()>>,
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
        let mut writer = WriterThread { store, queue: Arc::clone(&queue), retry_delays, report, saved_count: 0 };
        let work = move || {
            // Close the queue even after a panic, so that no thread waits for space forever.
            let close_on_drop = CloseOnDrop(Arc::clone(&writer.queue));
            writer.run();
            drop(close_on_drop);
        };
        let thread = thread::Builder::new().name("disk-writer".into()).spawn(work);
        let thread = thread
            .map_err(|error| StoreError::from_io("start the thread that writes to", "the disk".as_ref(), error))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Queues a write; waits while the queue is full. Fails if the thread has ended.
    pub fn save(&self, id: SaveId, write: D::Write) -> Result<(), NotSaved<D::Write>> {
        self.queue.push((id, write)).map_err(not_saved)
    }

    /// Queues a write without waiting; fails if the queue is full or the thread has ended.
    pub fn try_save(&self, id: SaveId, write: D::Write) -> Result<(), NotSaved<D::Write>> {
        self.queue.try_push((id, write)).map_err(not_saved)
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

struct WriterThread<D: Storable, F: FileSystem, R> {
    store: Store<D, F>,
    queue: Arc<Queue<QueuedWrite<D>>>,
    retry_delays: RetryDelays,
    report: R,
    saved_count: u64,
}

impl<D: Storable, F: FileSystem, R: FnMut(Report)> WriterThread<D, F, R> {
    fn run(&mut self) {
        let mut batch = Vec::new();
        let mut writes = Vec::new();
        while self.queue.take_all(&mut batch) {
            let last = batch.last().map_or(SaveId(0), |(id, _)| *id);
            writes.extend(batch.drain(..).map(|(_, write)| write));
            if !self.save(&writes) {
                return;
            }
            self.saved_count += writes.len() as u64;
            writes.clear();
            (self.report)(Report::Saved { count: self.saved_count, last_save: last });
        }
    }

    /// Makes these writes durable, and retries while the disk is full. Returns `false` if the disk
    /// failed, or was full when the queue was closed.
    fn save(&mut self, writes: &[D::Write]) -> bool {
        let mut delay = self.retry_delays.first;
        let mut was_full = false;
        loop {
            match self.store.append(writes) {
                Ok(()) => {
                    if was_full {
                        (self.report)(Report::Free);
                    }
                    return true;
                }
                Err(error) if error.is_full() => {
                    if !was_full {
                        (self.report)(Report::Full(error));
                    }
                    was_full = true;
                    if self.queue.wait_for_close(delay) {
                        return false;
                    }
                    delay = delay.saturating_mul(2).min(self.retry_delays.longest);
                }
                Err(error) => {
                    (self.report)(Report::Failed(error));
                    return false;
                }
            }
        }
    }
}
