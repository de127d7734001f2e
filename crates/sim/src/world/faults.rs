//! Faults: they take effect at their time and end after their duration.

use super::full_disk::Failure;
use super::turns::Turn;
use super::{PendingEvent, World};
use quorate_core::{Duration, NodeId, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Loss, Observer, WorldEvent};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::replay_nodes::Condition;
use quorate_journal::settings::{DiskTrouble, Fault, RestartDisk, TimedFault, UnsyncedSaves};
use quorate_journal::workload::ClientEvent;
use serde::Serialize;

/// The beginning or the end of a fault. The serial number relates the end to the beginning.
pub(super) enum FaultAction {
    Begin { serial: u64, fault: Fault, duration: Option<Duration> },
    End { serial: u64, fault: Fault },
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Schedules a fault at its time. A fault at time zero takes effect before any node starts,
    /// unless the world has already started.
    pub fn schedule_fault(&mut self, timed: TimedFault) {
        self.scheduled_faults.push(timed.clone());
        let serial = self.scheduled_faults.len() as u64;
        let TimedFault { at, fault, duration } = timed;
        let action = FaultAction::Begin { serial, fault, duration };
        if at == Duration::ZERO && !self.is_started {
            self.initial_actions.push(action);
        } else {
            self.schedule_action(Time::ZERO + at, action);
        }
    }

    /// Returns all faults that were scheduled so far, in this order.
    pub fn scheduled_faults(&self) -> &[TimedFault] {
        &self.scheduled_faults
    }

    pub(super) fn schedule_action(&mut self, at: Time, action: FaultAction) {
        self.environment.pending_faults += 1;
        self.environment.push(at, PendingEvent::Fault(Box::new(action)));
    }

    pub(super) fn apply_action(&mut self, action: FaultAction) {
        match action {
            FaultAction::Begin { serial, fault, duration } => {
                // A disk failure may wait for a sync; `fail_disk` then schedules the failure's end.
                if let Some(duration) = duration.filter(|_| !fault.may_be_delayed()) {
                    let end = FaultAction::End { serial, fault: fault.clone() };
                    self.schedule_action(self.environment.time + duration, end);
                }
                self.begin_fault(serial, fault, duration);
            }
            FaultAction::End { serial, fault } => self.end_fault(serial, &fault),
        }
    }

    fn begin_fault(&mut self, serial: u64, fault: Fault, duration: Option<Duration>) {
        let text = fault.to_string();
        match fault {
            Fault::Crash { node, unsynced } => return self.crash(serial, node, unsynced),
            Fault::Restart { node, disk } => return self.restart(node, disk),
            Fault::Pause { node } => return self.pause(serial, node),
            Fault::Resume { node } => return self.resume(node),
            Fault::Disk { node, trouble: DiskTrouble::Full } => return self.fill_disk(serial, node, &text),
            Fault::Disk { node, trouble: DiskTrouble::Fails } => {
                return self.begin_disk_failure(node, Failure { serial, duration }, &text);
            }
            Fault::Close { node } => self.report_closed_connection(node),
            Fault::Cut(cut) => self.environment.network.add_cut(serial, cut),
            Fault::Heal => self.environment.network.end_all_cuts(),
            Fault::Skew { node, by } => self.change_clock(node, |clock, now| clock.skew(now, by.nanos())),
            Fault::Drift { node, by } => self.change_clock(node, |clock, now| clock.drift(now, by.parts())),
            Fault::Link { links, change } => self.environment.network.change_links(serial, links, change),
        }
        self.environment.observe_world(WorldEvent::Changed { text: &text });
    }

    /// Ends the effect of a fault, unless an earlier event has ended it.
    fn end_fault(&mut self, serial: u64, fault: &Fault) {
        match fault {
            Fault::Crash { node, .. } if self.is_stopped_by(*node, serial) => self.restart(*node, RestartDisk::Kept),
            Fault::Pause { node } if self.is_stopped_by(*node, serial) => self.resume(*node),
            Fault::Crash { .. } | Fault::Pause { .. } => {}
            Fault::Disk { node, trouble: DiskTrouble::Full } => {
                self.free_disk(serial, *node, &format!("end of {fault}"));
            }
            Fault::Disk { node, trouble: DiskTrouble::Fails } => {
                if self.is_stopped_by(*node, serial) {
                    self.restart(*node, RestartDisk::Kept);
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

    /// Returns whether the fault with this serial number is the reason why the node is not up.
    fn is_stopped_by(&self, node: NodeId, serial: u64) -> bool {
        self.slots.get(node.index()).is_some_and(|slot| slot.host.is_stopped_by(serial))
    }

    /// Crashes a node, unless it is already down: drops its timers, its inputs, and those unsynced
    /// writes that `unsynced` does not keep, and notifies its client, the membership service and
    /// the other nodes.
    pub(super) fn crash(&mut self, serial: u64, node: NodeId, unsynced: UnsyncedSaves) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Down {
            return;
        }
        if slot.host.condition == Condition::Paused {
            self.environment.stalled_items -= slot.host.counted_inputs();
        }
        slot.host.stop(Condition::Down, serial);
        self.environment.open_turns -= slot.host.turn.drop_open();
        self.environment.armed_timers -= slot.host.remove_timers();
        let inbox = slot.host.take_inbox();
        let mut lost_writes = 0;
        if let Some(disk) = slot.host.disk() {
            let survivors = match unsynced {
                UnsyncedSaves::Lost => 0,
                UnsyncedSaves::Torn => self.environment.node_rng.below(disk.pending_writes() + 1),
                UnsyncedSaves::Kept(count) => count.min(disk.pending_writes()),
            };
            self.environment.disk_events -= usize::from(disk.is_syncing);
            lost_writes = disk.crash(survivors);
        }
        if let Some(faults) = slot.host.disk_faults() {
            let holding_disks = faults.crash();
            self.environment.disk_events -= holding_disks;
            self.environment.stalled_items -= holding_disks;
        }
        self.environment.client_events.push_back((node, ClientEvent::Crashed));
        self.environment.observe_world(WorldEvent::Crashed { node, lost_writes });
        for pending in inbox {
            self.drop_input(pending, Loss::Down);
        }
        self.report_closed_connection(node);
        let is_gone = true;
        self.send_crash_notices(node, is_gone);
    }

    /// Restarts a node, if it is down.
    fn restart(&mut self, node: NodeId, disk: RestartDisk) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition != Condition::Down {
            return;
        }
        slot.host.condition = Condition::Up;
        slot.host.begin_next_incarnation();
        if disk == RestartDisk::Blank {
            slot.host.wipe_disk();
        }
        slot.node = (self.create_node)(node);
        slot.host.turn = Turn::of_new_node(&slot.node);
        self.environment.client_events.push_back((node, ClientEvent::Restarted));
        self.boot(node);
        self.rejoin(node);
        let is_gone = false;
        self.send_crash_notices(node, is_gone);
    }

    /// Pauses a node, if it is up. The processing of an input is interrupted and begins again after
    /// the pause.
    fn pause(&mut self, serial: u64, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Up {
            self.environment.stalled_items += slot.host.counted_inputs();
            slot.host.stop(Condition::Paused, serial);
            self.environment.observe_world(WorldEvent::Paused { node });
        }
    }

    /// Resumes a paused node. The node takes the inputs in its inbox before any others, in the
    /// order of events at equal times: its start, disks, messages, timers, commands, each in order
    /// of arrival. They belong to the turn in which it was paused, if any.
    fn resume(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition != Condition::Paused {
            return;
        }
        slot.host.condition = Condition::Up;
        self.environment.stalled_items -= slot.host.counted_inputs();
        let mut inbox = slot.host.take_inbox();
        inbox.make_contiguous().sort_by_key(PendingEvent::priority);
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
        self.schedule_end_of_turn(node);
    }

    /// Changes a node's clock and reschedules its timers, whose true durations may have changed.
    fn change_clock(&mut self, node: NodeId, change: impl FnOnce(&mut NodeClock, Time)) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let now = self.environment.time;
        for (generation, remaining) in slot.host.change_clock(now, |clock| change(clock, now)) {
            self.environment.push(now + remaining, PendingEvent::Timer { node, generation });
        }
    }
}
