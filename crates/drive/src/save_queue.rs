//! A node's disk, and the saves that wait for it.

use quorate_core::{Protocol, WriteOf};
use quorate_store::{DiskWriter, NotSaved, Report, SaveId, Storable};
use std::collections::VecDeque;

/// The destination of a node's saves.
pub enum Disk<D: quorate_core::Durable> {
    /// No disk: saves count as durable immediately, and are lost when the process ends.
    None,
    /// A thread writes the saves to a disk.
    Writer(DiskWriter<D>),
}

/// A disk, and the saves that its queue has no space for yet. A node never waits long for its disk,
/// because it must send heartbeats.
pub(crate) struct SaveQueue<P: Protocol, D: quorate_core::Durable> {
    pub(crate) disk: Disk<D>,
    waiting: VecDeque<WriteOf<P>>,
    /// Number of the last save of this incarnation. The numbers are the ids of the saves.
    last: u64,
}

impl<P, D> SaveQueue<P, D>
where
    P: Protocol,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    WriteOf<P>: Send + 'static,
{
    pub(crate) fn new(disk: Disk<D>) -> Self {
        Self { disk, waiting: VecDeque::new(), last: 0 }
    }

    /// Queues the next save until it is [submitted](Self::submit) or [written](Self::save_inline).
    /// Does nothing without a disk.
    pub(crate) fn enqueue(&mut self, write: WriteOf<P>) {
        if let Disk::Writer(_) = &self.disk {
            self.last += 1;
            self.waiting.push_back(write);
        }
    }

    /// Submits queued saves to the disk, oldest first, until the disk's queue is full. Fails if the
    /// disk's thread has ended.
    pub(crate) fn submit(&mut self) -> Result<(), DiskEnded> {
        let Disk::Writer(disk_writer) = &self.disk else { return Ok(()) };
        while let Some(write) = self.waiting.pop_front() {
            let id = SaveId(self.last - self.waiting.len() as u64);
            match disk_writer.try_save(id, write) {
                Ok(()) => {}
                Err(NotSaved::QueueFull(write)) => {
                    self.waiting.push_front(write);
                    break;
                }
                Err(NotSaved::Ended(_)) => return Err(DiskEnded),
            }
        }
        Ok(())
    }

    /// Whether saves wait that are probably quicker to write inline, given that this many saves are
    /// durable. If earlier ones are not, the disk's thread is busy with them.
    pub(crate) fn suits_inline(&self, durable: u64) -> bool {
        let Disk::Writer(disk_writer) = &self.disk else { return false };
        !self.waiting.is_empty() && self.last - self.waiting.len() as u64 == durable && disk_writer.is_quick()
    }

    /// Makes all waiting saves durable before it returns, and returns the report; all earlier ones
    /// must be durable. `None` if that would take more than a short sync; then they still wait.
    pub(crate) fn save_inline(&mut self) -> Option<Report> {
        let Disk::Writer(disk_writer) = &self.disk else { return None };
        let report = disk_writer.save_inline(SaveId(self.last), self.waiting.make_contiguous())?;
        self.waiting.clear();
        Some(report)
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
