//! What a node finds on its disk when it starts.

use crate::output::name;
use anyhow::{Context, bail};
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Counted, Disk, Found};
use quorate_erased::{AnyCodec, AnyDurable};
use quorate_store::{
    ClusterId, Origin, Owner, Patience, Report, Scribe, Settings, Store, StoreError, found, join, reseed,
};
use std::path::Path;

/// What is kept: what the algorithm saved, and how many writes that were.
type Kept = Counted<AnyDurable>;

/// So many writes wait for the disk at most.
const CAPACITY: usize = 1 << 16;

/// What a node starts with.
pub(super) struct Opened {
    pub(super) found: Found<AnyDurable>,
    pub(super) disk: Disk<Kept>,
    pub(super) writes: u64,
}

impl Opened {
    pub(super) fn nothing(incarnation: Incarnation) -> Self {
        let found = Found { durable: AnyDurable::default(), incarnation, is_blank: false };
        Self { found, disk: Disk::None, writes: 0 }
    }
}

/// What is done with the data folder before it is opened.
#[derive(Clone, Copy)]
pub(super) enum Begin {
    /// Nothing: it is there.
    AsItIs,
    /// It is made, for a node that never lived.
    New,
    /// It is made anew, for a node that lived and lost it.
    Lost,
}

pub(super) fn open(
    folder: &Path,
    begin: Begin,
    cluster: ClusterId,
    node: NodeId,
    codec: AnyCodec,
    tell: impl FnMut(Report) + Send + 'static,
) -> anyhow::Result<Opened> {
    let owner = Owner { cluster, node };
    match begin {
        Begin::AsItIs => {}
        Begin::New => found::<Kept>(folder, owner)?,
        Begin::Lost => match reseed::<Kept>(folder, owner) {
            Ok(aside) => tracing::info!("What was in the data folder is in {} now.", name(&aside)),
            Err(StoreError::NotThere { .. }) => join::<Kept>(folder, owner)?,
            Err(error) => return Err(error.into()),
        },
    }
    let (store, kept, recovery) = match Store::<Kept>::open(folder, owner, Settings::default()) {
        Err(StoreError::NotThere { .. }) => bail!(
            "There is no data folder at {}. If this node has never lived before, begin one with --new; if it has, and the \
             folder is gone, say so with --data-was-lost: what it promised is forgotten, and the group must let it in again.",
            name(folder)
        ),
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
    // A folder that was begun anew and has no write yet is what is left of a lost one.
    let is_blank = writes == 0 && store.identity().origin != Origin::Founded;
    let found = Found { durable, incarnation: recovery.incarnation, is_blank };
    let scribe = Scribe::start(store, CAPACITY, Patience::default(), tell)?;
    Ok(Opened { found, disk: Disk::Scribe(scribe), writes })
}
