//! A node's disk: durable writes, pending writes, and effects that must wait until writes are
//! durable.

use quorate_core::{Barrier, Durable, Effect, Protocol, WriteOf};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// The disk of one node, used by the simulator, the checker and the replay of a journal.
pub struct Disk<P: Protocol> {
    /// The fold of all writes that are durable.
    durable: P::Durable,
    /// Writes that a crash now would lose, oldest first.
    pending: VecDeque<WriteOf<P>>,
    /// Effects that wait for the pending writes.
    barrier: Barrier<P>,
    /// Number of durable saves of this incarnation.
    synced: u64,
    /// Whether a sync is in progress.
    pub syncing: bool,
}

impl<P: Protocol> Default for Disk<P> {
    fn default() -> Self {
        Self {
            durable: P::Durable::default(),
            pending: VecDeque::new(),
            barrier: Barrier::default(),
            synced: 0,
            syncing: false,
        }
    }
}

// Implemented by hand for the checker: a derive would require these traits of the protocol itself.
impl<P: Protocol> Clone for Disk<P>
where
    P::Event: Clone,
    P::Durable: Clone,
    WriteOf<P>: Clone,
{
    fn clone(&self) -> Self {
        Self {
            durable: self.durable.clone(),
            pending: self.pending.clone(),
            barrier: self.barrier.clone(),
            synced: self.synced,
            syncing: self.syncing,
        }
    }
}

impl<P: Protocol> PartialEq for Disk<P>
where
    P::Durable: PartialEq,
    WriteOf<P>: PartialEq,
    Barrier<P>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        (self.synced, self.syncing, &self.durable, &self.pending, &self.barrier)
            == (other.synced, other.syncing, &other.durable, &other.pending, &other.barrier)
    }
}

impl<P: Protocol> Eq for Disk<P>
where
    P::Durable: Eq,
    WriteOf<P>: Eq,
    Barrier<P>: Eq,
{
}

impl<P: Protocol> Hash for Disk<P>
where
    P::Durable: Hash,
    WriteOf<P>: Hash,
    Barrier<P>: Hash,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.synced, self.syncing, &self.durable, &self.pending, &self.barrier).hash(state);
    }
}

impl<P: Protocol> Disk<P> {
    /// Returns the effect if the driver may carry it out now. Otherwise keeps it until its writes
    /// are durable.
    pub fn admit(&mut self, effect: Effect<P>) -> Option<Effect<P>> {
        self.barrier.admit(effect)
    }

    /// Adds a pending write.
    pub fn write(&mut self, write: WriteOf<P>) {
        self.pending.push_back(write);
    }

    /// Number of saves of this incarnation that are durable after a sync of all pending writes.
    /// `None` if no write is pending.
    pub fn saves_after_sync(&self) -> Option<u64> {
        (!self.pending.is_empty()).then(|| self.synced + self.pending.len() as u64)
    }

    /// Makes the first `count` saves of this incarnation durable.
    pub fn sync(&mut self, count: u64) {
        while self.synced < count
            && let Some(write) = self.pending.pop_front()
        {
            self.durable.apply(write);
            self.synced += 1;
        }
        self.barrier.durable(self.synced);
    }

    /// Returns whether the disk can confirm the first `count` saves of this incarnation: the node
    /// made them all, and at least one is not durable yet.
    pub fn can_confirm(&self, count: u64) -> bool {
        (self.synced + 1..=self.synced + self.pending()).contains(&count)
    }

    /// Returns the next effect whose writes are durable.
    pub fn release(&mut self) -> Option<Effect<P>> {
        self.barrier.release()
    }

    /// Number of writes that are not durable.
    pub fn pending(&self) -> u64 {
        self.pending.len() as u64
    }

    /// Crashes the node: the first `survivors` pending writes still reach the disk, the others are
    /// lost. Returns the number of lost writes.
    pub fn crash(&mut self, survivors: u64) -> u64 {
        self.sync(self.synced.saturating_add(survivors));
        let lost = self.pending();
        self.pending.clear();
        self.barrier = Barrier::default();
        self.synced = 0;
        self.syncing = false;
        lost
    }

    /// Returns the durable state that a starting node reads.
    pub fn contents(&self) -> P::Durable
    where
        P::Durable: Clone,
    {
        self.durable.clone()
    }

    /// Erases the disk.
    pub fn wipe(&mut self) {
        *self = Self { durable: P::Durable::wiped(), ..Self::default() };
    }
}
