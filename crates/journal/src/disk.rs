//! A node's disk: what is durable, what is on its way there, and what must wait for it.

use quorate_core::{Barrier, Durable, Effect, Protocol, WriteOf};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// The disk of one node. The simulator, the checker and the replay of a journal share it.
pub struct Disk<P: Protocol> {
    /// The fold of all writes that are durable.
    durable: P::Durable,
    /// Writes that a crash now would lose, oldest first.
    pending: VecDeque<WriteOf<P>>,
    /// What waits for them.
    barrier: Barrier<P>,
    /// How many saves of this life are durable.
    synced: u64,
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

// Written by hand, because a derive would ask these of the protocol itself. They are for the checker.
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
    /// Takes an effect and gives it back if it need not wait.
    pub fn admit(&mut self, effect: Effect<P>) -> Option<Effect<P>> {
        self.barrier.admit(effect)
    }

    /// Takes a write.
    pub fn write(&mut self, write: WriteOf<P>) {
        self.pending.push_back(write);
    }

    /// How many writes a sync that begins now would cover; nothing to do if there are none.
    pub fn unsynced(&self) -> Option<u64> {
        (!self.pending.is_empty()).then(|| self.synced + self.pending.len() as u64)
    }

    /// The first `count` saves of this life are durable.
    pub fn sync(&mut self, count: u64) {
        while self.synced < count
            && let Some(write) = self.pending.pop_front()
        {
            self.durable.apply(write);
            self.synced += 1;
        }
        self.barrier.durable(self.synced);
    }

    /// Whether the disk can confirm so many saves of this life: they were made, and not all of them are durable yet.
    pub fn can_confirm(&self, count: u64) -> bool {
        (self.synced + 1..=self.synced + self.pending()).contains(&count)
    }

    /// The next effect that need not wait any longer.
    pub fn release(&mut self) -> Option<Effect<P>> {
        self.barrier.release()
    }

    /// How many writes are not durable.
    pub fn pending(&self) -> u64 {
        self.pending.len() as u64
    }

    /// The node goes down, and this many of its pending writes reach the disk all the same. Tells how many are lost.
    pub fn crash(&mut self, survivors: u64) -> u64 {
        self.sync(self.synced.saturating_add(survivors));
        let lost = self.pending();
        self.pending.clear();
        self.barrier = Barrier::default();
        self.synced = 0;
        self.syncing = false;
        lost
    }

    /// What a node that starts now finds.
    pub fn contents(&self) -> P::Durable
    where
        P::Durable: Clone,
    {
        self.durable.clone()
    }

    /// Everything is gone.
    pub fn wipe(&mut self) {
        *self = Self { durable: P::Durable::wiped(), ..Self::default() };
    }
}
