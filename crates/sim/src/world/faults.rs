//! Faults: they take effect at their time and end after their duration.

use super::full_disk::Failure;
use super::{Pending, World};
use quorate_core::{Duration, NodeId, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Loss, Observer, WorldEvent};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::replay_nodes::Condition;
use quorate_journal::settings::{Disk, DiskTrouble, Fault, TimedFault, Unsynced};
use quorate_journal::workload::ClientEvent;
use serde::Serialize;

/// The beginning or the end of a fault. The serial number relates the end to the beginning.
pub(super) enum FaultAction {
    Begin { serial: u64, fault: Fault, lasts: Option<Duration> },
    End { serial: u64, fault: Fault },
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Schedules a fault at its time. A fault at time zero takes effect before any node starts.
    pub fn schedule(&mut self, timed: TimedFault) {
        let TimedFault { at, fault, lasts } = timed;
        self.last_fault_serial += 1;
        let action = FaultAction::Begin { serial: self.last_fault_serial, fault, lasts };
        if at == Duration::ZERO && !self.started {
            self.initial_actions.push(action);
        } else {
            self.schedule_action(Time::ZERO + at, action);
        }
    }

    pub(super) fn schedule_action(&mut self, at: Time, action: FaultAction) {
        self.environment.pending_faults += 1;
        self.environment.push(at, Pending::Fault(Box::new(action)));
    }

    pub(super) fn apply_action(&mut self, action: FaultAction) {
        match action {
            FaultAction::Begin { serial, fault, lasts } => {
                if let Some(length) = lasts.filter(|_| !fault.is_delayed()) {
                    let end = FaultAction::End { serial, fault: fault.clone() };
                    self.schedule_action(self.environment.time + length, end);
                }
                self.begin_fault(serial, fault, lasts);
            }
            FaultAction::End { serial, fault } => self.end_fault(serial, &fault),
        }
    }

    fn begin_fault(&mut self, serial: u64, fault: Fault, lasts: Option<Duration>) {
        let text = fault.to_string();
        match fault {
            Fault::Crash { node, unsynced } => return self.crash(serial, node, unsynced),
            Fault::Restart { node, disk } => return self.restart(node, disk),
            Fault::Pause { node } => return self.pause(serial, node),
            Fault::Resume { node } => return self.resume(node),
            Fault::Disk { node, trouble: DiskTrouble::Full } => return self.fill_disk(serial, node, &text),
            Fault::Disk { node, trouble: DiskTrouble::Fails } => {
                return self.begin_disk_failure(node, Failure { serial, lasts }, &text);
            }
            Fault::Close { node } => self.report_closed_connection(node),
            Fault::Cut(cut) => self.environment.network.add_cut(serial, cut),
            Fault::Heal => self.environment.network.heal(),
            Fault::Skew { node, by } => self.change_clock(node, |clock, now| clock.skew(now, by.nanos())),
            Fault::Drift { node, by } => self.change_clock(node, |clock, now| clock.drift(now, by.parts())),
            Fault::Link { links, change } => self.environment.network.change_links(serial, links, change),
        }
        self.environment.observe_world(WorldEvent::Changed { text: &text });
    }

    /// Ends the effect of a fault, unless another fault has ended it before.
    fn end_fault(&mut self, serial: u64, fault: &Fault) {
        match fault {
            Fault::Crash { node, .. } if self.is_stopped_by(*node, serial) => self.restart(*node, Disk::Kept),
            Fault::Pause { node } if self.is_stopped_by(*node, serial) => self.resume(*node),
            Fault::Crash { .. } | Fault::Pause { .. } => {}
            Fault::Disk { node, trouble: DiskTrouble::Full } => {
                self.free_disk(serial, *node, &format!("end of {fault}"));
            }
            Fault::Disk { node, trouble: DiskTrouble::Fails } => {
                if self.is_stopped_by(*node, serial) {
                    self.restart(*node, Disk::Kept);
                }
            }
            Fault::Cut(_) | Fault::Link { .. } => {
                if self.environment.network.end_fault(serial) {
                    self.environment.observe_world(WorldEvent::Changed { text: &format!("end of {fault}") });
                }
            }
            // The fault syntax gives these no duration.
            Fault::Restart { .. }
            | Fault::Resume { .. }
            | Fault::Close { .. }
            | Fault::Heal
            | Fault::Skew { .. }
            | Fault::Drift { .. } => {}
        }
    }

    fn is_stopped_by(&self, node: NodeId, serial: u64) -> bool {
        self.slots.get(node.index()).is_some_and(|slot| slot.host.is_stopped_by(serial))
    }

    /// Crashes a node, unless it is already down.
    pub(super) fn crash(&mut self, serial: u64, node: NodeId, unsynced: Unsynced) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Down {
            return;
        }
        if slot.host.condition == Condition::Paused {
            self.environment.stalled -= slot.host.count_certain_inputs();
        }
        slot.host.stop(Condition::Down, serial);
        self.environment.armed_timers -= slot.host.remove_timers();
        let inbox = slot.host.take_inbox();
        let mut lost_writes = 0;
        if let Some(disk) = slot.host.disk() {
            let survivors = match unsynced {
                Unsynced::Lost => 0,
                Unsynced::Torn => self.environment.node_rng.below(disk.pending() + 1),
                Unsynced::Kept(count) => count.min(disk.pending()),
            };
            self.environment.disk_events -= usize::from(disk.syncing);
            lost_writes = disk.crash(survivors);
        }
        if let Some(faults) = slot.host.disk_faults() {
            let held = faults.crash();
            self.environment.disk_events -= held;
            self.environment.stalled -= held;
        }
        self.environment.client_events.push_back((node, ClientEvent::Crashed));
        self.environment.observe_world(WorldEvent::Crashed { node, lost_writes });
        for pending in inbox {
            self.drop_input(pending, Loss::Down);
        }
        self.report_closed_connection(node);
        self.send_death_notices(node, true);
    }

    /// Restarts a node, unless it is already up.
    fn restart(&mut self, node: NodeId, disk: Disk) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition != Condition::Down {
            return;
        }
        slot.host.condition = Condition::Up;
        slot.host.begin_next_incarnation();
        if disk == Disk::Blank {
            slot.host.wipe_disk();
        }
        slot.node = (self.create_node)(node);
        self.environment.client_events.push_back((node, ClientEvent::Restarted));
        self.boot(node);
        self.rejoin(node);
        self.send_death_notices(node, false);
    }

    /// Pauses a node. The input that it is processing is interrupted and processed again after the
    /// pause.
    fn pause(&mut self, serial: u64, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Up {
            self.environment.stalled += slot.host.count_certain_inputs();
            slot.host.stop(Condition::Paused, serial);
            self.environment.observe_world(WorldEvent::Paused { node });
        }
    }

    /// Resumes a node. It takes the inputs that arrived during the pause before any others,
    /// messages before timers, each in order of arrival.
    fn resume(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition != Condition::Paused {
            return;
        }
        slot.host.condition = Condition::Up;
        self.environment.stalled -= slot.host.count_certain_inputs();
        let mut inbox = slot.host.take_inbox();
        inbox.make_contiguous().sort_by_key(Pending::rank);
        self.environment.observe_world(WorldEvent::Resumed { node });
        for pending in inbox {
            // A failing disk may crash the node while it processes the waiting inputs.
            if !self.is_up(node) {
                self.drop_input(pending, Loss::Down);
            } else if self.environment.is_instant() {
                self.accept(pending);
            } else {
                self.enqueue(node, pending);
            }
        }
    }

    /// Changes a node's clock and reschedules its timers, whose true durations may have changed.
    fn change_clock(&mut self, node: NodeId, change: impl FnOnce(&mut NodeClock, Time)) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let now = self.environment.time;
        for (generation, remaining) in slot.host.change_clock(now, |clock| change(clock, now)) {
            self.environment.push(now + remaining, Pending::Timer { node, generation });
        }
    }
}
