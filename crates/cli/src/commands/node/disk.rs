//! Opens the data folder of a node and recovers its durable state.

use crate::output::display_path;
use anyhow::{Context, anyhow, bail};
use quorate_core::{Incarnation, NodeId};
use quorate_drive::{Counted, Disk, StartState};
use quorate_erased::{AnyCodec, AnyDurable};
use quorate_store::{
    ClusterId, DiskWriter, Origin, Owner, Report, RetryDelays, Settings, Store, StoreError, create_founder,
    create_joiner, replace_lost_log,
};
use std::path::Path;

/// Durable state of the algorithm, and the number of writes to it so far.
type CountedState = Counted<AnyDurable>;

/// Maximum number of writes queued for the disk.
const MAX_QUEUED_WRITES: usize = 1 << 16;

/// The recovered state of a node, and the disk for its further writes.
pub(super) struct OpenedDisk {
    pub(super) start_state: StartState<AnyDurable>,
    pub(super) disk: Disk<CountedState>,
    /// Number of writes before this start.
    pub(super) writes: u64,
}

impl OpenedDisk {
    /// For a node without a data folder, whose algorithm has no durable state.
    pub(super) fn without_disk(incarnation: Incarnation) -> Self {
        let start_state = StartState { durable: AnyDurable::default(), incarnation, is_disk_blank: false };
        Self { start_state, disk: Disk::None, writes: 0 }
    }
}

/// How to prepare the data folder before it is opened.
#[derive(Clone, Copy)]
pub(super) enum FolderAction {
    /// Do nothing: the folder exists.
    UseExisting,
    /// Create the folder, for the first start of a node.
    CreateNew,
    /// Create an empty log, and the folder if it is missing, for a node that lost its data. What is
    /// left of the old log is set aside.
    ReplaceLost,
}

/// Adds to an error of the store which options of `quorate node` to check or to use.
fn with_advice(error: StoreError) -> anyhow::Error {
    let advice = match error {
        StoreError::Foreign { .. } => {
            " A cluster is one group that runs one algorithm: check --group, --id and the algorithm."
        }
        StoreError::BadIdentity { .. } | StoreError::NoLog { .. } | StoreError::Damaged { .. } => {
            " To re-seed it, start it with --data-was-lost."
        }
        _ => "",
    };
    anyhow!("{error}{advice}")
}

/// Prepares and opens the data folder, and recovers the state in it. `report` receives the result
/// of every later write.
pub(super) fn open(
    folder: &Path,
    action: FolderAction,
    cluster: ClusterId,
    node: NodeId,
    codec: AnyCodec,
    report: impl FnMut(Report) + Send + 'static,
) -> anyhow::Result<OpenedDisk> {
    let owner = Owner { cluster, node };
    match action {
        FolderAction::UseExisting => {}
        FolderAction::CreateNew => match create_founder::<CountedState>(folder, owner) {
            Err(StoreError::AlreadyExists { .. }) => bail!(
                "{} is already a data folder. It was not changed; to continue with it, omit --new.",
                display_path(folder)
            ),
            created => created.map_err(with_advice)?,
        },
        FolderAction::ReplaceLost => match replace_lost_log::<CountedState>(folder, owner) {
            Ok(old_log) => {
                tracing::info!("Moved the previous content of the data folder to {}.", display_path(&old_log));
            }
            Err(StoreError::NotFound { .. }) => create_joiner::<CountedState>(folder, owner)?,
            Err(error) => return Err(with_advice(error)),
        },
    }
    let (store, state, recovery) = match Store::<CountedState>::open(folder, owner, Settings::default()) {
        Err(StoreError::NotFound { .. }) => bail!(
            "there is no data folder at {}. For the first start of this node, create it with --new. If the folder was \
             lost, use --data-was-lost: the node has then forgotten its promises, and the group must admit it again.",
            display_path(folder)
        ),
        opened => opened.map_err(with_advice)?,
    };
    if recovery.torn_bytes > 0 {
        tracing::info!(
            "Removed {} bytes of an incomplete write from the end of the log. The write was never acknowledged, so no \
             data is lost.",
            recovery.torn_bytes
        );
    }
    let writes = state.write_count();
    let durable =
        codec.unseal(state.into_inner()).with_context(|| format!("invalid data folder {}", display_path(folder)))?;
    // The node is blank if its folder replaces a lost one and nothing has been written to it yet.
    let is_blank = writes == 0 && store.identity().origin != Origin::Founded;
    let start_state = StartState { durable, incarnation: recovery.incarnation, is_disk_blank: is_blank };
    let disk_writer = DiskWriter::start(store, MAX_QUEUED_WRITES, RetryDelays::default(), report)?;
    Ok(OpenedDisk { start_state, disk: Disk::Writer(disk_writer), writes })
}
