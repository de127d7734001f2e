//! Opens the data folder of a node and recovers its durable state.

use crate::output::name;
use anyhow::{Context, bail};
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Counted, Disk, StartState};
use quorate_erased::{AnyCodec, AnyDurable};
use quorate_store::{
    ClusterId, DiskWriter, Origin, Owner, Report, RetryDelays, Settings, Store, StoreError, found_cluster, join, reseed,
};
use std::path::Path;

/// Durable state of the algorithm with the number of writes.
type CountedState = Counted<AnyDurable>;

/// Maximum number of writes queued for the disk.
const CAPACITY: usize = 1 << 16;

/// The state with which a node starts.
pub(super) struct Opened {
    pub(super) start_state: StartState<AnyDurable>,
    pub(super) disk: Disk<CountedState>,
    pub(super) writes: u64,
}

impl Opened {
    pub(super) fn without_disk(incarnation: Incarnation) -> Self {
        let start_state = StartState { durable: AnyDurable::default(), incarnation, is_blank: false };
        Self { start_state, disk: Disk::None, writes: 0 }
    }
}

/// Action on the data folder before it is opened.
#[derive(Clone, Copy)]
pub(super) enum FolderAction {
    /// None: the folder exists.
    Existing,
    /// Create it, for the first start of a node.
    New,
    /// Create it again, for a node that lost it.
    Lost,
}

pub(super) fn open(
    folder: &Path,
    action: FolderAction,
    cluster: ClusterId,
    node: NodeId,
    codec: AnyCodec,
    report: impl FnMut(Report) + Send + 'static,
) -> anyhow::Result<Opened> {
    let owner = Owner { cluster, node };
    match action {
        FolderAction::Existing => {}
        FolderAction::New => found_cluster::<CountedState>(folder, owner)?,
        FolderAction::Lost => match reseed::<CountedState>(folder, owner) {
            Ok(aside) => tracing::info!("The previous content of the data folder is now in {}.", name(&aside)),
            Err(StoreError::NotFound { .. }) => join::<CountedState>(folder, owner)?,
            Err(error) => return Err(error.into()),
        },
    }
    let (store, state, recovery) = match Store::<CountedState>::open(folder, owner, Settings::default()) {
        Err(StoreError::NotFound { .. }) => bail!(
            "There is no data folder at {}. For the first start of this node, create it with --new. If the folder was \
             lost, use --data-was-lost: the node has then forgotten its promises, and the group must admit it again.",
            name(folder)
        ),
        opened => opened?,
    };
    if recovery.torn_bytes > 0 {
        tracing::info!(
            "Removed {} bytes of an incomplete write from the end of the log. The write was never acknowledged, so no \
             data is lost.",
            recovery.torn_bytes
        );
    }
    let writes = state.count();
    let durable =
        codec.unseal(state.into_inner()).with_context(|| format!("Invalid data folder {}", folder.display()))?;
    // The folder replaces a lost one, and nothing has been written to it yet.
    let is_blank = writes == 0 && store.identity().origin != Origin::Founded;
    let start_state = StartState { durable, incarnation: recovery.incarnation, is_blank };
    let disk_writer = DiskWriter::start(store, CAPACITY, RetryDelays::default(), report)?;
    Ok(Opened { start_state, disk: Disk::Writer(disk_writer), writes })
}
