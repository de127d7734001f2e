//! The thread that writes, so that a node never waits for its disk.
//!
//! Everything that waits is made durable with one sync. While that sync is under way more comes to wait, so the busier a
//! node is, the more writes share one: nobody has to choose a delay.

use crate::error::StoreError;
use crate::files::FileSystem;
use crate::queue::{Queue, Unqueued};
use crate::store::{Storable, Store};
use quorate_core::Durable;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use thiserror::Error;

/// A number that the node gives to a save, to know it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What the scribe tells the node.
#[derive(Debug)]
pub enum Report {
    Saved {
        /// How many writes are, since the scribe started: what `Input::Saved` wants.
        count: u64,
        last: Ticket,
    },
    /// The disk is full. The scribe tries again by itself; until it says `Free`, nothing more becomes durable.
    Full(StoreError),
    Free,
    /// The disk failed, and the scribe has ended. The node must end too: it cannot keep what it promises.
    Failed(StoreError),
}

/// Why a save was not taken. The write is given back.
#[derive(Debug, Error)]
pub enum Refusal<W> {
    #[error("Too many saves wait for the disk. Nothing was lost; save again when some of them are durable.")]
    Crowded(W),
    #[error("The thread that writes has ended, and this was not saved. Its last report says why; restart the node.")]
    Ended(W),
}

/// How often a full disk is tried again: after `first`, then after twice that, and so on up to `longest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub first: Duration,
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first: Duration::from_millis(100), longest: Duration::from_secs(5) }
    }
}

type Waiting<D> = (Ticket, <D as Durable>::Write);

/// A thread that owns a [`Store`] and saves what it is given, in that order.
///
/// It ends when this is dropped, and has then saved everything that waited, unless the disk is full or failed.
pub struct Scribe<D: Durable> {
    queue: Arc<Queue<Waiting<D>>>,
    thread: Option<JoinHandle<()>>,
}

impl<D> Scribe<D>
where
    D: Storable + Send + 'static,
    D::Write: Send + 'static,
{
    /// Starts the thread. At most `capacity` writes wait; `tell` is called on the thread itself and should be quick.
    pub fn start<F>(
        store: Store<D, F>,
        capacity: usize,
        patience: Patience,
        tell: impl FnMut(Report) + Send + 'static,
    ) -> Result<Self, StoreError>
    where
        F: FileSystem + Send + 'static,
        F::File: Send,
        F::Lock: Send,
    {
        let queue = Arc::new(Queue::new(capacity));
        let mut desk = Desk { store, queue: Arc::clone(&queue), patience, tell, count: 0 };
        let work = move || {
            // However the thread ends, whoever waits for a place must hear of it.
            let closing = Closing(Arc::clone(&desk.queue));
            desk.work();
            drop(closing);
        };
        let thread = thread::Builder::new().name("scribe".into()).spawn(work);
        let thread =
            thread.map_err(|error| StoreError::of_io("start the thread that writes to", "the disk".as_ref(), error))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// Hands a write over; waits if too many wait already.
    pub fn save(&self, ticket: Ticket, write: D::Write) -> Result<(), Refusal<D::Write>> {
        self.queue.push((ticket, write)).map_err(refusal)
    }

    /// Hands a write over if it need not wait for that.
    pub fn try_save(&self, ticket: Ticket, write: D::Write) -> Result<(), Refusal<D::Write>> {
        self.queue.try_push((ticket, write)).map_err(refusal)
    }
}

impl<D: Durable> Drop for Scribe<D> {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // A panic can only come from the caller's own code in `tell` or `Serialize`, and was printed there.
            let _ = thread.join();
        }
    }
}

fn refusal<W>(unqueued: Unqueued<(Ticket, W)>) -> Refusal<W> {
    match unqueued {
        Unqueued::Crowded((_, write)) => Refusal::Crowded(write),
        Unqueued::Closed((_, write)) => Refusal::Ended(write),
    }
}

struct Closing<T>(Arc<Queue<T>>);

impl<T> Drop for Closing<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Desk<D: Storable, F: FileSystem, T> {
    store: Store<D, F>,
    queue: Arc<Queue<Waiting<D>>>,
    patience: Patience,
    tell: T,
    count: u64,
}

impl<D: Storable, F: FileSystem, T: FnMut(Report)> Desk<D, F, T> {
    fn work(&mut self) {
        let mut batch = Vec::new();
        let mut writes = Vec::new();
        while self.queue.take(&mut batch) {
            let last = batch.last().map_or(Ticket(0), |(ticket, _)| *ticket);
            writes.extend(batch.drain(..).map(|(_, write)| write));
            if !self.save(&writes) {
                return;
            }
            self.count += writes.len() as u64;
            writes.clear();
            (self.tell)(Report::Saved { count: self.count, last });
        }
    }

    /// Makes these durable, however long the disk is full. False if that will never be.
    fn save(&mut self, writes: &[D::Write]) -> bool {
        let mut pause = self.patience.first;
        let mut was_full = false;
        loop {
            match self.store.append(writes) {
                Ok(()) => {
                    if was_full {
                        (self.tell)(Report::Free);
                    }
                    return true;
                }
                Err(error) if error.is_full() => {
                    if !was_full {
                        (self.tell)(Report::Full(error));
                    }
                    was_full = true;
                    if self.queue.wait_for_close(pause) {
                        return false;
                    }
                    pause = pause.saturating_mul(2).min(self.patience.longest);
                }
                Err(error) => {
                    (self.tell)(Report::Failed(error));
                    return false;
                }
            }
        }
    }
}
