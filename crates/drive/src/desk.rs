//! A node's disk, and the saves on their way to it.

use quorate_core::{Protocol, WriteOf};
use quorate_store::{Refusal, Scribe, Storable, Ticket};
use std::collections::VecDeque;

/// Where a node's saves go.
pub enum Disk<D: quorate_core::Durable> {
    /// Nowhere: whatever is saved counts as durable, and is lost when the process ends.
    None,
    Scribe(Scribe<D>),
}

/// A disk, and the saves that it has no place for yet. A node never sleeps on its disk: it has heartbeats to send.
pub(crate) struct Desk<P: Protocol, D: quorate_core::Durable> {
    pub(crate) disk: Disk<D>,
    waiting: VecDeque<(Ticket, WriteOf<P>)>,
}

impl<P, D> Desk<P, D>
where
    P: Protocol,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    WriteOf<P>: Send + 'static,
{
    pub(crate) fn new(disk: Disk<D>) -> Self {
        Self { disk, waiting: VecDeque::new() }
    }

    /// Takes the save with this number. It stays here until [`hand_over`](Self::hand_over).
    pub(crate) fn save(&mut self, number: u64, write: WriteOf<P>) {
        if let Disk::Scribe(_) = &self.disk {
            self.waiting.push_back((Ticket(number), write));
        }
    }

    pub(crate) fn hand_over(&mut self) -> Result<(), DiskEnded> {
        let Disk::Scribe(scribe) = &self.disk else { return Ok(()) };
        while let Some((ticket, write)) = self.waiting.pop_front() {
            match scribe.try_save(ticket, write) {
                Ok(()) => {}
                Err(Refusal::Crowded(write)) => {
                    self.waiting.push_front((ticket, write));
                    break;
                }
                Err(Refusal::Ended(_)) => return Err(DiskEnded),
            }
        }
        Ok(())
    }
}

impl<P, D> Desk<P, D>
where
    P: Protocol,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    WriteOf<P>: Send + 'static,
{
    /// Hands over what there is a place for and waits for it. Tells how many writes there was none for.
    pub(crate) fn close(&mut self) -> usize {
        // A disk that has ended has told why; here it only counts what it did not take.
        let _ = self.hand_over();
        self.disk = Disk::None;
        self.waiting.len()
    }
}

pub(crate) struct DiskEnded;
