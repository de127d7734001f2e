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

    /// Makes writes wait for space. Returns the number of disks that begin to hold writes: 1 if no
    /// write waited before, otherwise 0.
    pub(super) fn hold_writes(&mut self) -> usize {
        usize::from(!std::mem::replace(&mut self.is_holding_writes, true))
    }

    /// Ends the waiting of writes. Returns the number of disks that held writes: 1 or 0.
    fn stop_holding_writes(&mut self) -> usize {
        usize::from(std::mem::take(&mut self.is_holding_writes))
    }

    /// Resets the state of a crashed node: its next incarnation was not notified yet, and no sync
    /// is left that could fail. Returns the number of disks that held writes: 1 or 0.
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
        self.send_disk_status(node);
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
            let holding_disks = faults.stop_holding_writes();
            self.environment.disk_events -= holding_disks;
            self.environment.stalled_items -= holding_disks;
            Stepper { node, host: &mut slot.host, environment: &mut self.environment }.begin_sync();
            self.send_disk_status(node);
        }
    }

    /// Sends a node a notification about its disk, which arrives at once. A node that has not
    /// started is notified at its start.
    fn send_disk_status(&mut self, node: NodeId) {
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

    /// Makes the sync in progress fail, unless an earlier fault already does. If no sync is in
    /// progress, the node crashes at once. Has no effect on a node that is down.
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
