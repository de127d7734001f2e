//! A node's disk, and the saves that wait for it.

use quorate_core::{Protocol, WriteOf};
use quorate_store::{DiskWriter, NotSaved, SaveId, Storable};
use std::collections::VecDeque;

/// The destination of a node's saves.
pub enum Disk<D: quorate_core::Durable> {
    /// No disk: saves count as durable immediately, and are lost when the process ends.
    None,
    /// A thread writes the saves to a disk.
    Writer(DiskWriter<D>),
}

/// A disk, and the saves that its queue has no space for yet. A node never blocks on its disk,
/// because it must send heartbeats.
pub(crate) struct SaveQueue<P: Protocol, D: quorate_core::Durable> {
    pub(crate) disk: Disk<D>,
    waiting: VecDeque<(SaveId, WriteOf<P>)>,
}

impl<P, D> SaveQueue<P, D>
where
    P: Protocol,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    WriteOf<P>: Send + 'static,
{
    pub(crate) fn new(disk: Disk<D>) -> Self {
        Self { disk, waiting: VecDeque::new() }
    }

    /// Queues a save until [`submit`](Self::submit). `number` counts the saves of this incarnation
    /// and becomes the save's id. Does nothing without a disk.
    pub(crate) fn enqueue(&mut self, number: u64, write: WriteOf<P>) {
        if let Disk::Writer(_) = &self.disk {
            self.waiting.push_back((SaveId(number), write));
        }
    }

    /// Submits queued saves to the disk, oldest first, until the disk's queue is full. Fails if the
    /// disk's thread has ended.
    pub(crate) fn submit(&mut self) -> Result<(), DiskEnded> {
        let Disk::Writer(disk_writer) = &self.disk else { return Ok(()) };
        while let Some((id, write)) = self.waiting.pop_front() {
            match disk_writer.try_save(id, write) {
                Ok(()) => {}
                Err(NotSaved::QueueFull(write)) => {
                    self.waiting.push_front((id, write));
                    break;
                }
                Err(NotSaved::Ended(_)) => return Err(DiskEnded),
            }
        }
        Ok(())
    }

    /// Submits as many saves as the disk's queue can hold and waits until they are durable, or
    /// until the disk's thread gives up because the disk is full or failed. Returns the number of
    /// saves that were not submitted.
    pub(crate) fn close(&mut self) -> usize {
        // If the disk's thread has ended, it has already reported why.
        let _ = self.submit();
        // Dropping the writer waits for its thread.
        self.disk = Disk::None;
        self.waiting.len()
    }
}

/// The disk's thread has ended.
pub(crate) struct DiskEnded;
