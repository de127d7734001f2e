//! What waits for the disk: a bounded queue from which everything is taken at once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A queue between the threads of a node and the one that writes.
pub(crate) struct Queue<T> {
    inside: Mutex<Inside<T>>,
    capacity: usize,
    /// Something came, or the queue was closed.
    filled: Condvar,
    /// Something was taken, or the queue was closed.
    emptied: Condvar,
}

struct Inside<T> {
    waiting: Vec<T>,
    closed: bool,
}

/// Why something was not taken into the queue; it is given back.
pub(crate) enum Unqueued<T> {
    Crowded(T),
    Closed(T),
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            inside: Mutex::new(Inside { waiting: Vec::new(), closed: false }),
            capacity: capacity.max(1),
            filled: Condvar::new(),
            emptied: Condvar::new(),
        }
    }

    /// No thread panics while it holds the lock, and a queue is whole between any two statements.
    fn lock(&self) -> MutexGuard<'_, Inside<T>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    pub(crate) fn push(&self, item: T) -> Result<(), Unqueued<T>> {
        let crowded = |inside: &mut Inside<T>| inside.waiting.len() >= self.capacity && !inside.closed;
        let inside = self.emptied.wait_while(self.lock(), crowded).unwrap_or_else(PoisonError::into_inner);
        self.add(inside, item)
    }

    /// Does not wait.
    pub(crate) fn try_push(&self, item: T) -> Result<(), Unqueued<T>> {
        let inside = self.lock();
        if inside.waiting.len() >= self.capacity && !inside.closed {
            return Err(Unqueued::Crowded(item));
        }
        self.add(inside, item)
    }

    fn add(&self, mut inside: MutexGuard<'_, Inside<T>>, item: T) -> Result<(), Unqueued<T>> {
        if inside.closed {
            return Err(Unqueued::Closed(item));
        }
        inside.waiting.push(item);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits until there is something, and takes everything into `batch`. False when the queue is closed and empty.
    pub(crate) fn take(&self, batch: &mut Vec<T>) -> bool {
        let idle = |inside: &mut Inside<T>| inside.waiting.is_empty() && !inside.closed;
        let mut inside = self.filled.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        batch.append(&mut inside.waiting);
        self.emptied.notify_all();
        !batch.is_empty()
    }

    /// Waits that long, or until the queue is closed. True if it was closed.
    pub(crate) fn wait_for_close(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut inside = self.lock();
        while !inside.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            inside = self.filled.wait_timeout(inside, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}
