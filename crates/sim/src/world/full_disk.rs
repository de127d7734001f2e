//! Full disks, which accept no more writes for some time, and failing disks.

use super::faults::FaultAction;
use super::host::Stepper;
use super::{PendingEvent, World};
use quorate_core::{Duration, Input, NodeId, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{ObservedInput, Observer, WorldEvent};
use quorate_journal::replay_nodes::Condition;
use quorate_journal::settings::{DiskTrouble, Fault, UnsyncedSaves};
use serde::Serialize;

/// The faults of one node's disk. They belong to the disk and survive restarts of the node.
#[derive(Default)]
pub(super) struct DiskFaults {
    /// The serial numbers of the faults that make the disk full.
    filled_by: Vec<u64>,
    /// Whether the node's current incarnation was notified that the disk is full.
    is_reported_full: bool,
    /// Whether writes wait for space.
    is_holding_writes: bool,
    /// The failure in which the sync in progress will end.
    pub(super) failure: Option<Failure>,
}

/// A failure of a disk, which crashes its node.
#[derive(Clone, Copy)]
pub(super) struct Failure {
    /// The serial number of the fault.
    pub(super) serial: u64,
    /// How long the node stays down, or `None` if it does not restart.
    pub(super) duration: Option<Duration>,
}

impl DiskFaults {
    pub(super) fn is_full(&self) -> bool {
        !self.filled_by.is_empty()
    }

    /// Makes writes wait for space. Returns 1 if none waited before, otherwise 0.
    pub(super) fn hold_writes(&mut self) -> usize {
        usize::from(!std::mem::replace(&mut self.is_holding_writes, true))
    }

    /// Ends the waiting of writes. Returns 1 if any waited, otherwise 0.
    fn stop_holding_writes(&mut self) -> usize {
        usize::from(std::mem::take(&mut self.is_holding_writes))
    }

    /// Resets the state of a crashed node: its next incarnation was not notified yet, and no sync
    /// is left that could fail. Returns 1 if writes waited for space, otherwise 0.
    pub(super) fn crash(&mut self) -> usize {
        self.is_reported_full = false;
        self.failure = None;
        self.stop_holding_writes()
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Makes a disk full: it accepts no more writes. A sync in progress still completes.
    pub(super) fn fill_disk(&mut self, serial: u64, node: NodeId, text: &str) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        slot.host.disk_faults_mut().filled_by.push(serial);
        self.environment.observe_world(WorldEvent::Changed { text });
        self.schedule_disk_status(node);
    }

    /// Ends one fault that makes a disk full. If it was the last one, the disk syncs the waiting
    /// writes, even if the node is paused.
    pub(super) fn free_disk(&mut self, serial: u64, node: NodeId, text: &str) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let faults = slot.host.disk_faults_mut();
        faults.filled_by.retain(|other| *other != serial);
        let is_free = !faults.is_full();
        self.environment.observe_world(WorldEvent::Changed { text });
        if is_free {
            let held_count = faults.stop_holding_writes();
            self.environment.disk_events -= held_count;
            self.environment.stalled_items -= held_count;
            Stepper { node, host: &mut slot.host, environment: &mut self.environment }.begin_sync();
            self.schedule_disk_status(node);
        }
    }

    /// Schedules a notification of the node about its disk. A node that has not started is notified
    /// at its start.
    fn schedule_disk_status(&mut self, node: NodeId) {
        if self.is_started {
            self.environment.disk_events += 1;
            self.arrive(PendingEvent::DiskStatus { node });
        }
    }

    /// Notifies a node that is up whether its disk is full, unless it already knows.
    pub(super) fn notify_disk_status(&mut self, node: NodeId) {
        let Some(faults) = self.slots.get_mut(node.index()).and_then(|slot| slot.host.disk_faults()) else { return };
        let is_full = faults.is_full();
        if std::mem::replace(&mut faults.is_reported_full, is_full) == is_full {
            return;
        }
        let (observed, input) = if is_full {
            (ObservedInput::DiskFull, Input::DiskFull)
        } else {
            (ObservedInput::DiskFree, Input::DiskFree)
        };
        self.observe_input(node, observed);
        self.step(node, input);
    }

    /// Makes the sync in progress fail. If there is none, the node crashes at once.
    pub(super) fn begin_disk_failure(&mut self, node: NodeId, failure: Failure, text: &str) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Down {
            return;
        }
        self.environment.observe_world(WorldEvent::Changed { text });
        if slot.host.disk().is_some_and(|disk| disk.is_syncing) {
            slot.host.disk_faults_mut().failure.get_or_insert(failure);
        } else {
            self.fail_disk(node, failure);
        }
    }

    /// Crashes a node whose disk fails. The node cannot know which of its last writes the disk
    /// kept, so it stops and reads the disk again when it restarts.
    pub(super) fn fail_disk(&mut self, node: NodeId, failure: Failure) {
        let Failure { serial, duration } = failure;
        self.crash(serial, node, UnsyncedSaves::Torn);
        if let Some(duration) = duration {
            let fault = Fault::Disk { node, trouble: DiskTrouble::Fails };
            self.schedule_action(self.environment.time + duration, FaultAction::End { serial, fault });
        }
    }
}
