//! A node's disk: a scribe with a real one, or none.

use quorate_core::Protocol;
use quorate_core::WriteOf;
use quorate_store::{Scribe, StoreError, Ticket};

/// Where a node's saves go.
pub enum Disk<P: Protocol> {
    /// Nowhere: whatever is saved counts as durable, and is lost when the process ends.
    None,
    /// To a real disk.
    Scribe(Scribe<P::Durable>),
}

impl<P> Disk<P>
where
    P: Protocol,
    P::Durable: quorate_store::Storable + Send + 'static,
    WriteOf<P>: Send + 'static,
{
    /// Takes the save with this number. Tells whether it is durable already.
    pub(crate) fn save(&self, number: u64, write: WriteOf<P>) -> Result<bool, DiskEnded> {
        match self {
            Self::None => Ok(true),
            Self::Scribe(scribe) => scribe.save(Ticket(number), write).map(|()| false).map_err(|_| DiskEnded),
        }
    }
}

/// The disk takes nothing more.
pub(crate) struct DiskEnded;

/// Why a node ended, if its disk is why.
pub(crate) type Failure = Option<StoreError>;
