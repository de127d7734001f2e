//! A node's disk: durable writes, pending writes, and effects that must wait until writes are
//! durable.

use quorate_core::{Barrier, Durable, Effect, Protocol, WriteOf};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// The disk of one node, used by the simulator, the checker and the replay of a journal.
pub struct Disk<P: Protocol> {
    /// All durable writes, applied in order.
    durable: P::Durable,
    /// Writes that are not durable yet, oldest first.
    pending: VecDeque<WriteOf<P>>,
    /// Effects that wait for the pending writes.
    barrier: Barrier<P>,
    /// Number of durable saves of this incarnation.
    durable_saves: u64,
    /// Whether a sync is in progress. The driver sets it.
    pub is_syncing: bool,
}

impl<P: Protocol> Default for Disk<P> {
    fn default() -> Self {
        Self {
            durable: P::Durable::default(),
            pending: VecDeque::new(),
            barrier: Barrier::default(),
            durable_saves: 0,
            is_syncing: false,
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
            durable_saves: self.durable_saves,
            is_syncing: self.is_syncing,
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
        (self.durable_saves, self.is_syncing, &self.durable, &self.pending, &self.barrier)
            == (other.durable_saves, other.is_syncing, &other.durable, &other.pending, &other.barrier)
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
        (self.durable_saves, self.is_syncing, &self.durable, &self.pending, &self.barrier).hash(state);
    }
}

impl<P: Protocol> Disk<P> {
    /// Returns the effect if the driver may carry it out now. Otherwise keeps it until all writes
    /// before it are durable.
    pub fn admit(&mut self, effect: Effect<P>) -> Option<Effect<P>> {
        self.barrier.admit(effect)
    }

    /// Adds a pending write.
    pub fn write(&mut self, write: WriteOf<P>) {
        self.pending.push_back(write);
    }

    /// Returns how many saves of this incarnation will be durable after a sync of all pending
    /// writes, or `None` if no write is pending.
    pub fn saves_after_sync(&self) -> Option<u64> {
        (!self.pending.is_empty()).then(|| self.durable_saves + self.pending.len() as u64)
    }

    /// Makes the first `count` saves of this incarnation durable.
    pub fn sync(&mut self, count: u64) {
        while self.durable_saves < count
            && let Some(write) = self.pending.pop_front()
        {
            self.durable.apply(write);
            self.durable_saves += 1;
        }
        self.barrier.mark_durable(self.durable_saves);
    }

    /// Returns whether the disk can confirm the first `count` saves of this incarnation: the node
    /// made them all, and at least one is not durable yet.
    pub fn can_confirm(&self, count: u64) -> bool {
        (self.durable_saves + 1..=self.durable_saves + self.pending_writes()).contains(&count)
    }

    /// Removes and returns the next kept effect, if all writes before it are durable.
    pub fn release(&mut self) -> Option<Effect<P>> {
        self.barrier.release()
    }

    /// Number of writes that are not durable.
    pub fn pending_writes(&self) -> u64 {
        self.pending.len() as u64
    }

    /// Crashes the node: the first `survivors` pending writes still reach the disk, the others are
    /// lost. Returns the number of lost writes.
    pub fn crash(&mut self, survivors: u64) -> u64 {
        self.sync(self.durable_saves.saturating_add(survivors));
        let lost = self.pending_writes();
        self.pending.clear();
        self.barrier = Barrier::default();
        self.durable_saves = 0;
        self.is_syncing = false;
        lost
    }

    /// Returns the durable state that a starting node reads.
    pub fn contents(&self) -> P::Durable
    where
        P::Durable: Clone,
    {
        self.durable.clone()
    }

    /// Erases the disk. The next start reads [`Durable::wiped`].
    pub fn wipe(&mut self) {
        *self = Self { durable: P::Durable::wiped(), ..Self::default() };
    }
}
