//! The bounded queue between the threads of a node and the thread that writes to the disk, which
//! takes all queued writes at once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    capacity: usize,
    /// Notified when an item was added or the queue was closed.
    items_added: Condvar,
    /// Notified when items were taken or the queue was closed.
    items_taken: Condvar,
}

struct QueueState<T> {
    items: Vec<T>,
    is_closed: bool,
}

/// Why an item was not queued, with the item.
pub(crate) enum Unqueued<T> {
    Full(T),
    Closed(T),
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::new(QueueState { items: Vec::new(), is_closed: false }),
            // A queue of capacity 0 would block every `push` forever.
            capacity: capacity.max(1),
            items_added: Condvar::new(),
            items_taken: Condvar::new(),
        }
    }

    /// Ignores poisoning: the state is consistent between any two statements.
    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item; waits while the queue is full.
    pub(crate) fn push(&self, item: T) -> Result<(), Unqueued<T>> {
        let is_full = |state: &mut QueueState<T>| state.items.len() >= self.capacity && !state.is_closed;
        let state = self.items_taken.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        self.add(state, item)
    }

    /// Adds an item without waiting; fails if the queue is full.
    pub(crate) fn try_push(&self, item: T) -> Result<(), Unqueued<T>> {
        let state = self.lock();
        if state.items.len() >= self.capacity && !state.is_closed {
            return Err(Unqueued::Full(item));
        }
        self.add(state, item)
    }

    fn add(&self, mut state: MutexGuard<'_, QueueState<T>>, item: T) -> Result<(), Unqueued<T>> {
        if state.is_closed {
            return Err(Unqueued::Closed(item));
        }
        state.items.push(item);
        self.items_added.notify_one();
        Ok(())
    }

    /// Waits for an item and moves all items into `batch`. Returns `false` when the queue is closed
    /// and empty.
    pub(crate) fn take_all(&self, batch: &mut Vec<T>) -> bool {
        let is_idle = |state: &mut QueueState<T>| state.items.is_empty() && !state.is_closed;
        let mut state = self.items_added.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        batch.append(&mut state.items);
        self.items_taken.notify_all();
        !batch.is_empty()
    }

    /// Waits until the queue is closed, at most for `timeout`. Returns whether it was closed.
    pub(crate) fn wait_for_close(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while !state.is_closed {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return false;
            }
            state = self.items_added.wait_timeout(state, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.items_added.notify_all();
        self.items_taken.notify_all();
    }
}
