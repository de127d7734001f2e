//! What goes wrong: faults begin at their time, and end if they last.

use super::full_disk::Failure;
use super::{Pending, World};
use quorate_core::{Duration, NodeId, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Happening, Loss, Observer};
use quorate_journal::node_clock::NodeClock;
use quorate_journal::puppets::Condition;
use quorate_journal::settings::{Disk, DiskTrouble, Fault, TimedFault, Unsynced};
use quorate_journal::workload::News;
use serde::Serialize;

/// Something that a fault does at one instant. The serial number ties its end to its beginning.
pub(super) enum Act {
    Begin { serial: u64, fault: Fault, lasts: Option<Duration> },
    End { serial: u64, fault: Fault },
}

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Lets a fault strike at its time; one without a time holds before any node starts.
    pub fn schedule(&mut self, timed: TimedFault) {
        let TimedFault { at, fault, lasts } = timed;
        self.faults += 1;
        let act = Act::Begin { serial: self.faults, fault, lasts };
        if at == Duration::ZERO && !self.started {
            self.at_start.push(act);
        } else {
            self.expect(Time::ZERO + at, act);
        }
    }

    pub(super) fn expect(&mut self, at: Time, act: Act) {
        self.around.troubles += 1;
        self.around.push(at, Pending::Fault(Box::new(act)));
    }

    pub(super) fn act(&mut self, act: Act) {
        match act {
            Act::Begin { serial, fault, lasts } => {
                if let Some(length) = lasts.filter(|_| !fault.is_delayed()) {
                    let end = Act::End { serial, fault: fault.clone() };
                    self.expect(self.around.time + length, end);
                }
                self.begin(serial, fault, lasts);
            }
            Act::End { serial, fault } => self.end(serial, &fault),
        }
    }

    fn begin(&mut self, serial: u64, fault: Fault, lasts: Option<Duration>) {
        let text = fault.to_string();
        match fault {
            Fault::Crash { node, unsynced } => return self.crash(serial, node, unsynced),
            Fault::Restart { node, disk } => return self.restart(node, disk),
            Fault::Pause { node } => return self.pause(serial, node),
            Fault::Resume { node } => return self.resume(node),
            Fault::Disk { node, trouble: DiskTrouble::Full } => return self.fill(serial, node, &text),
            Fault::Disk { node, trouble: DiskTrouble::Fails } => {
                return self.begin_failure(node, Failure { serial, lasts }, &text);
            }
            Fault::Close { node } => self.close(node),
            Fault::Cut(cut) => self.around.network.cut(serial, cut),
            Fault::Heal => self.around.network.heal(),
            Fault::Skew { node, by } => self.set_clock(node, |clock, now| clock.skew(now, by.nanos())),
            Fault::Drift { node, by } => self.set_clock(node, |clock, now| clock.drift(now, by.parts())),
            Fault::Link { links, change } => self.around.network.change(serial, links, change),
        }
        self.around.happens(Happening::Changed { text: &text });
    }

    /// What a fault did ends, unless something else has ended it before.
    fn end(&mut self, serial: u64, fault: &Fault) {
        match fault {
            Fault::Crash { node, .. } if self.is_stopped_by(*node, serial) => self.restart(*node, Disk::Kept),
            Fault::Pause { node } if self.is_stopped_by(*node, serial) => self.resume(*node),
            Fault::Crash { .. } | Fault::Pause { .. } => {}
            Fault::Disk { node, trouble: DiskTrouble::Full } => {
                self.empty(serial, *node, &format!("end of {fault}"));
            }
            Fault::Disk { node, trouble: DiskTrouble::Fails } => {
                if self.is_stopped_by(*node, serial) {
                    self.restart(*node, Disk::Kept);
                }
            }
            Fault::Cut(_) | Fault::Link { .. } => {
                if self.around.network.mend(serial) {
                    self.around.happens(Happening::Changed { text: &format!("end of {fault}") });
                }
            }
            // The fault language gives these no end.
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

    /// A node that is down already stays so.
    pub(super) fn crash(&mut self, serial: u64, node: NodeId, unsynced: Unsynced) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Down {
            return;
        }
        if slot.host.condition == Condition::Paused {
            self.around.stalled -= slot.host.waiting();
        }
        slot.host.stop(Condition::Down, serial);
        self.around.armed -= slot.host.disarm();
        let inbox = slot.host.take_inbox();
        let mut lost_writes = 0;
        if let Some(disk) = slot.host.disk() {
            let survivors = match unsynced {
                Unsynced::Lost => 0,
                Unsynced::Torn => self.around.node_dice.below(disk.pending() + 1),
                Unsynced::Kept(count) => count.min(disk.pending()),
            };
            self.around.syncing -= usize::from(disk.syncing);
            lost_writes = disk.crash(survivors);
        }
        if let Some(faults) = slot.host.disk_faults() {
            let held = faults.crash();
            self.around.syncing -= held;
            self.around.stalled -= held;
        }
        self.around.news.push_back((node, News::Crashed));
        self.around.happens(Happening::Crashed { node, lost_writes });
        for pending in inbox {
            self.miss(pending, Loss::Down);
        }
        self.close(node);
        self.pass_the_word(node, true);
    }

    /// A node that is up already stays as it is.
    fn restart(&mut self, node: NodeId, disk: Disk) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition != Condition::Down {
            return;
        }
        slot.host.condition = Condition::Up;
        slot.host.begin_next_life();
        if disk == Disk::Blank {
            slot.host.wipe_disk();
        }
        slot.node = (self.make)(node);
        self.around.news.push_back((node, News::Restarted));
        self.boot(node);
        self.come_back(node);
        self.pass_the_word(node, false);
    }

    /// The work under way is interrupted, and begins anew when the node goes on.
    fn pause(&mut self, serial: u64, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition == Condition::Up {
            self.around.stalled += slot.host.waiting();
            slot.host.stop(Condition::Paused, serial);
            self.around.happens(Happening::Paused { node });
        }
    }

    /// What came meanwhile is taken before anything else, messages before timers, each in the order they came.
    fn resume(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.condition != Condition::Paused {
            return;
        }
        slot.host.condition = Condition::Up;
        self.around.stalled -= slot.host.waiting();
        let mut inbox = slot.host.take_inbox();
        inbox.make_contiguous().sort_by_key(Pending::rank);
        self.around.happens(Happening::Resumed { node });
        for pending in inbox {
            // Its disk may fail it while it catches up.
            if !self.is_up(node) {
                self.miss(pending, Loss::Down);
            } else if self.around.is_instant() {
                self.accept(pending);
            } else {
                self.queue_up(node, pending);
            }
        }
    }

    fn set_clock(&mut self, node: NodeId, set: impl FnOnce(&mut NodeClock, Time)) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let now = self.around.time;
        for (generation, left) in slot.host.change_clock(now, |clock| set(clock, now)) {
            self.around.push(now + left, Pending::Timer { node, generation });
        }
    }
}
