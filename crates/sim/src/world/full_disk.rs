//! Disks that take no more writes for a while, and disks that fail.

use super::faults::Act;
use super::host::Stepper;
use super::{Pending, World};
use quorate_core::{Duration, Input, NodeId, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Happening, Observer, Taken};
use quorate_journal::puppets::Condition;
use quorate_journal::settings::{DiskTrouble, Fault, Unsynced};
use serde::Serialize;

/// What is wrong with one node's disk. It outlives the node's lives, for it is the disk's and not the node's.
#[derive(Default)]
pub(super) struct DiskFaults {
    /// The serial numbers of the faults by which the disk is full.
    full_by: Vec<u64>,
    /// Whether the node, in its present life, knows the disk as full.
    known: bool,
    /// Whether writes wait for room.
    holds: bool,
    /// What the sync under way meets when it would be complete.
    pub(super) failure: Option<Failure>,
}

/// A disk's failure: it takes its node down.
#[derive(Clone, Copy)]
pub(super) struct Failure {
    pub(super) serial: u64,
    /// How long the node is down, if not for good.
    pub(super) lasts: Option<Duration>,
}

impl DiskFaults {
    pub(super) fn is_full(&self) -> bool {
        !self.full_by.is_empty()
    }

    /// Writes wait for room from now on. Tells how many disks do so that did not before: one or none.
    pub(super) fn hold(&mut self) -> usize {
        usize::from(!std::mem::replace(&mut self.holds, true))
    }

    /// Nothing waits for room any longer. Tells how many disks did: one or none.
    fn let_go(&mut self) -> usize {
        usize::from(std::mem::take(&mut self.holds))
    }

    /// The node goes down: its next life knows nothing, and there is no sync left that could fail. Tells how many
    /// disks held writes: one or none.
    pub(super) fn crash(&mut self) -> usize {
        self.known = false;
        self.failure = None;
        self.let_go()
    }
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// The disk takes no more writes. A sync under way is still completed.
    pub(super) fn fill(&mut self, serial: u64, node: NodeId, text: &str) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        slot.host.disk_faults_mut().full_by.push(serial);
        self.around.happens(Happening::Changed { text });
        self.announce_disk(node);
    }

    /// One reason less for the disk to be full. If it was the last one, the disk begins with what waited, whatever the
    /// node does.
    pub(super) fn empty(&mut self, serial: u64, node: NodeId, text: &str) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let faults = slot.host.disk_faults_mut();
        faults.full_by.retain(|other| *other != serial);
        let is_free = !faults.is_full();
        self.around.happens(Happening::Changed { text });
        if is_free {
            let held = faults.let_go();
            self.around.syncing -= held;
            self.around.stalled -= held;
            Stepper { node, host: &mut slot.host, around: &mut self.around }.begin_sync();
            self.announce_disk(node);
        }
    }

    /// The node is to learn how its disk is; one that has not booted yet learns it when it does.
    fn announce_disk(&mut self, node: NodeId) {
        if self.started {
            self.around.syncing += 1;
            self.arrive(Pending::DiskNews { node });
        }
    }

    /// A node that is up learns how its disk is, unless it knows.
    pub(super) fn tell_disk(&mut self, node: NodeId) {
        let Some(faults) = self.slots.get_mut(node.index()).and_then(|slot| slot.host.disk_faults()) else { return };
        let is_full = faults.is_full();
        if std::mem::replace(&mut faults.known, is_full) == is_full {
            return;
        }
        let (taken, input) =
            if is_full { (Taken::DiskFull, Input::DiskFull) } else { (Taken::DiskFree, Input::DiskFree) };
        self.tell(node, taken);
        self.step(node, input);
    }

    /// The sync under way will fail instead of being complete; if there is none, the node goes down at once.
    pub(super) fn begin_failure(&mut self, node: NodeId, failure: Failure, text: &str) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Down {
            return;
        }
        self.around.happens(Happening::Changed { text });
        if slot.host.disk().is_some_and(|disk| disk.syncing) {
            slot.host.disk_faults_mut().failure.get_or_insert(failure);
        } else {
            self.fail(node, failure);
        }
    }

    /// A node cannot know what a failed disk kept of its last writes, so it stops, and finds out when it restarts.
    pub(super) fn fail(&mut self, node: NodeId, failure: Failure) {
        let Failure { serial, lasts } = failure;
        self.crash(serial, node, Unsynced::Torn);
        if let Some(length) = lasts {
            let fault = Fault::Disk { node, trouble: DiskTrouble::Fails };
            self.expect(self.around.time + length, Act::End { serial, fault });
        }
    }
}
