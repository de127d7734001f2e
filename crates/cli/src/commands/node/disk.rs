//! What a node finds on its disk when it starts.

use anyhow::Context;
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Counted, Disk};
use quorate_registry::{AnyCodec, AnyDurable};
use quorate_store::{ClusterId, Owner, Patience, Report, Scribe, Settings, Store, StoreError, found, join, reseed};
use std::path::Path;

/// What is kept: what the algorithm saved, and how many writes that were.
type Kept = Counted<AnyDurable>;

/// So many writes wait for the disk at most.
const CAPACITY: usize = 1 << 16;

/// What a node starts with.
pub(super) struct Found {
    pub(super) durable: AnyDurable,
    pub(super) incarnation: Incarnation,
    pub(super) disk: Disk<Kept>,
    /// How many writes of earlier lives are there.
    pub(super) writes: u64,
}

impl Found {
    /// There is no disk.
    pub(super) fn nothing(incarnation: Incarnation) -> Self {
        Self { durable: AnyDurable::default(), incarnation, disk: Disk::None, writes: 0 }
    }
}

/// Opens the data folder, or makes it.
pub(super) fn open(
    folder: &Path,
    was_lost: bool,
    cluster: ClusterId,
    node: NodeId,
    codec: AnyCodec,
    tell: impl FnMut(Report) + Send + 'static,
) -> anyhow::Result<Found> {
    let owner = Owner { cluster, node };
    if was_lost {
        match reseed::<Kept>(folder, owner) {
            Ok(_) => {}
            Err(StoreError::NotThere { .. }) => join::<Kept>(folder, owner)?,
            Err(error) => return Err(error.into()),
        }
    }
    let (store, kept, recovery) = match Store::<Kept>::open(folder, owner, Settings::default()) {
        Err(StoreError::NotThere { .. }) => {
            found::<Kept>(folder, owner)?;
            Store::<Kept>::open(folder, owner, Settings::default())?
        }
        opened => opened?,
    };
    if recovery.torn_bytes > 0 {
        tracing::info!(
            "{} bytes of a write that was never acknowledged were cut off the log. Nothing that counts is lost.",
            recovery.torn_bytes
        );
    }
    let writes = kept.count();
    let durable =
        codec.unseal(kept.into_inner()).with_context(|| format!("In the data folder {}", folder.display()))?;
    let scribe = Scribe::start(store, CAPACITY, Patience::default(), tell)?;
    Ok(Found { durable, incarnation: recovery.incarnation, disk: Disk::Scribe(scribe), writes })
}
