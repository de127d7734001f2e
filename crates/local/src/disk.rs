//! A node's disk: a scribe with a real one, or none.

use quorate_core::{Protocol, WriteOf};
use quorate_store::{Refusal, Scribe, Storable, StoreError, Ticket};
use std::collections::VecDeque;

/// Where a node's saves go.
pub enum Disk<P: Protocol> {
    /// Nowhere: whatever is saved counts as durable, and is lost when the process ends.
    None,
    /// To a real disk.
    Scribe(Scribe<P::Durable>),
}

/// A disk, and the saves that it has no place for yet. A node never sleeps on its disk: it has heartbeats to send.
pub(crate) struct Desk<P: Protocol> {
    pub(crate) disk: Disk<P>,
    crowded: VecDeque<(Ticket, WriteOf<P>)>,
}

impl<P> Desk<P>
where
    P: Protocol,
    P::Durable: Storable + Send + 'static,
    WriteOf<P>: Send + 'static,
{
    pub(crate) fn new(disk: Disk<P>) -> Self {
        Self { disk, crowded: VecDeque::new() }
    }

    /// Takes the save with this number.
    pub(crate) fn save(&mut self, number: u64, write: WriteOf<P>) -> Result<(), DiskEnded> {
        if let Disk::Scribe(_) = &self.disk {
            self.crowded.push_back((Ticket(number), write));
        }
        self.hand_over()
    }

    /// Hands over what there is a place for.
    pub(crate) fn hand_over(&mut self) -> Result<(), DiskEnded> {
        let Disk::Scribe(scribe) = &self.disk else { return Ok(()) };
        while let Some((ticket, write)) = self.crowded.pop_front() {
            match scribe.try_save(ticket, write) {
                Ok(()) => {}
                Err(Refusal::Crowded(write)) => {
                    self.crowded.push_front((ticket, write));
                    break;
                }
                Err(Refusal::Ended(_)) => return Err(DiskEnded),
            }
        }
        Ok(())
    }
}

/// The disk takes nothing more.
pub(crate) struct DiskEnded;

/// Why a node ended, if its disk is why.
pub(crate) type Failure = Option<StoreError>;
