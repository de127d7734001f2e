//! Reconstructs the syncs of disks and their durations. A journal records only completed syncs.

use super::saturating_difference;
use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Direction;
use std::collections::BTreeMap;

/// The disks of all nodes.
#[derive(Default)]
pub(super) struct Disks {
    disks: BTreeMap<NodeId, Disk>,
    /// The node of the current step. A sync begins when the step has ended.
    stepping_node: Option<NodeId>,
    /// Number of syncs that have begun on all disks.
    sync_count: u64,
}

#[derive(Default)]
struct Disk {
    /// Number of saves in this incarnation.
    save_count: u64,
    /// Number of these saves that are durable.
    durable_saves: u64,
    sync_count: u64,
    /// When the pending sync began, and its position among the syncs of all disks.
    pending_sync: Option<(Duration, u64)>,
    /// Number of active faults that fill the disk.
    full_faults: u32,
}

impl Disks {
    pub(super) fn begin_step(&mut self, node: NodeId) {
        self.stepping_node = Some(node);
    }

    pub(super) fn record_save(&mut self, node: NodeId) {
        self.disks.entry(node).or_default().save_count += 1;
    }

    /// Ends the current step, if there is one, and begins a sync if the step saved anything.
    pub(super) fn end_step(&mut self, now: Duration) {
        if let Some(node) = self.stepping_node.take() {
            self.begin_sync(node, now);
        }
    }

    fn begin_sync(&mut self, node: NodeId, now: Duration) {
        let Some(disk) = self.disks.get_mut(&node) else { return };
        if disk.save_count > disk.durable_saves && disk.pending_sync.is_none() && disk.full_faults == 0 {
            self.sync_count += 1;
            disk.sync_count += 1;
            disk.pending_sync = Some((now, self.sync_count));
        }
    }

    /// The position of the node's pending sync among all syncs; 0 if there is none.
    pub(super) fn sync_position(&self, node: NodeId) -> u64 {
        self.disks.get(&node).and_then(|disk| disk.pending_sync).map_or(0, |(_, position)| position)
    }

    /// Records a completed sync, after which `durable` saves of the incarnation are durable.
    /// Returns the direction that repeats the sync's duration; `None` if no sync was pending.
    pub(super) fn record_sync(&mut self, node: NodeId, at: Duration, durable: u64) -> Option<Direction> {
        let disk = self.disks.get_mut(&node)?;
        disk.durable_saves = disk.durable_saves.max(durable);
        let (began, _) = disk.pending_sync.take()?;
        Some(Direction::Sync { node, number: disk.sync_count, duration: saturating_difference(at, began) })
    }

    /// Records a crash: the pending sync did not complete. Returns the number of saves that were
    /// not durable.
    pub(super) fn record_crash(&mut self, node: NodeId, at: Duration, directions: &mut Vec<Direction>) -> u64 {
        if self.stepping_node == Some(node) {
            self.end_step(at);
        }
        let Some(disk) = self.disks.get_mut(&node) else { return 0 };
        let pending = disk.save_count - disk.durable_saves.min(disk.save_count);
        directions.extend(disk.incomplete_sync(node, at));
        (disk.save_count, disk.durable_saves) = (0, 0);
        pending
    }

    pub(super) fn record_full(&mut self, node: NodeId) {
        self.disks.entry(node).or_default().full_faults += 1;
    }

    pub(super) fn record_freed(&mut self, node: NodeId, now: Duration) {
        if let Some(disk) = self.disks.get_mut(&node) {
            disk.full_faults = disk.full_faults.saturating_sub(1);
        }
        self.begin_sync(node, now);
    }

    /// Ends the recording: pending syncs did not complete.
    pub(super) fn finish(&mut self, at: Duration, directions: &mut Vec<Direction>) {
        for (node, disk) in &mut self.disks {
            directions.extend(disk.incomplete_sync(*node, at));
        }
    }
}

impl Disk {
    /// The direction that keeps the pending sync from completing until after `at`.
    fn incomplete_sync(&mut self, node: NodeId, at: Duration) -> Option<Direction> {
        let (began, _) = self.pending_sync.take()?;
        let duration = saturating_difference(at, began) + Duration::from_millis(1);
        Some(Direction::Sync { node, number: self.sync_count, duration })
    }
}
