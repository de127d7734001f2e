//! How inputs reach nodes: which get there at all, which must wait, and which are taken.

use super::host::Stepper;
use super::{Pending, World};
use quorate_core::{Describe, Incarnation, Input, NodeId, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Happening, Loss, MessageId, Observer, Taken};
use quorate_journal::puppets::Condition;
use serde::Serialize;

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// An input reaches its node: whether it gets there is decided now, when it is taken is not.
    #[inline]
    pub(super) fn arrive(&mut self, pending: Pending<P>) {
        let Some(node) = pending.node() else { return };
        let condition = self.slots.get(node.index()).map_or(Condition::Down, |slot| slot.host.condition);
        if condition == Condition::Down {
            return self.miss(pending, Loss::Down);
        }
        if let Pending::Message { from, to, .. } = pending
            && self.around.network.is_cut(from, to)
        {
            return self.miss(pending, Loss::Cut);
        }
        if condition == Condition::Up && self.around.is_instant() {
            self.accept(pending);
        } else {
            self.queue_up(node, pending);
        }
    }

    /// A node is busy with one input at a time, in the order they come.
    pub(super) fn queue_up(&mut self, node: NodeId, pending: Pending<P>) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.is_over(&pending) {
            return;
        }
        if slot.host.condition == Condition::Paused {
            self.around.stalled += usize::from(pending.is_certain());
        }
        slot.host.extras().inbox.push_back(pending);
        self.work(node);
    }

    /// Begins with the next input, if there is one and the node is free for it.
    fn work(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let Some(turn) = slot.host.begin_work() else { return };
        let done = self.around.time + self.around.node_dice.length(self.around.processing);
        self.around.push(done, Pending::Worked { node, turn });
    }

    /// An input's processing time has passed.
    pub(super) fn worked(&mut self, node: NodeId, turn: u32) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let Some(pending) = slot.host.end_work(turn) else { return };
        self.accept(pending);
        self.work(node);
    }

    /// An input that never reaches its node. The node's timers and syncs went down with it.
    pub(super) fn miss(&mut self, pending: Pending<P>, why: Loss) {
        match pending {
            Pending::Message { from, to, number, .. } => {
                self.around.under_way -= 1;
                let id = MessageId { sender: from, number };
                self.around.happens(Happening::Lost { id, to, why });
            }
            Pending::Command { .. } => self.around.planned -= 1,
            Pending::DiskNews { .. } => self.around.syncing -= 1,
            Pending::Start { .. }
            | Pending::Timer { .. }
            | Pending::Synced { .. }
            | Pending::Alarm { .. }
            | Pending::Worked { .. }
            | Pending::Notice(_)
            | Pending::Obituary(_)
            | Pending::Errand(_)
            | Pending::Fault(_) => {}
        }
    }

    /// A node that is up takes an input.
    #[inline]
    pub(super) fn accept(&mut self, pending: Pending<P>) {
        match pending {
            Pending::Message { from, to, number, message } => {
                self.around.under_way -= 1;
                let id = MessageId { sender: from, number };
                let seen =
                    Taken::Message { id, kind: message.kind(), wrapped: message.wrapped(), life: Incarnation::FIRST };
                self.tell(to, seen);
                self.step(to, Input::Message { from, message });
            }
            Pending::Timer { node, generation } => {
                let Some(timer) = self.slots.get_mut(node.index()).and_then(|slot| slot.host.fire(generation)) else {
                    return;
                };
                self.around.armed -= 1;
                self.tell(node, Taken::Timer(&timer));
                self.step(node, Input::Timer(timer));
            }
            Pending::Command { node, life, command } => {
                self.around.planned -= 1;
                let present = self.slots.get(node.index()).map(|slot| slot.host.incarnation());
                if life.is_none() || life == present {
                    self.tell(node, Taken::Command(&command));
                    self.step(node, Input::Command(command));
                }
            }
            Pending::Synced { node, incarnation, count } => self.synced(node, incarnation, count),
            Pending::DiskNews { node } => {
                self.around.syncing -= 1;
                self.tell_disk(node);
            }
            Pending::Start { node } => self.boot(node),
            Pending::Notice(notice) => self.hear_notice(*notice),
            Pending::Obituary(obituary) => self.hear_obituary(&obituary),
            // These are no inputs.
            Pending::Worked { .. } | Pending::Alarm { .. } | Pending::Errand(_) | Pending::Fault(_) => {}
        }
    }

    /// The disk confirms: what waited for it goes out, and the node is told.
    fn synced(&mut self, node: NodeId, incarnation: Incarnation, count: u64) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.incarnation() != incarnation {
            return;
        }
        if let Some(failure) = slot.host.take_failure() {
            return self.fail(node, failure);
        }
        self.around.syncing -= 1;
        if let Some(disk) = slot.host.disk() {
            disk.syncing = false;
            disk.sync(count);
        }
        self.tell(node, Taken::Saved(count));
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let mut stepper = Stepper { node, host: &mut slot.host, around: &mut self.around };
        stepper.release();
        self.step(node, Input::Saved(count));
    }

    /// A life begins, once the world has; that of a paused node begins when it goes on.
    pub(super) fn boot(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()).filter(|_| self.started) else { return };
        match slot.host.condition {
            Condition::Up => {}
            Condition::Paused => return slot.host.extras().inbox.push_back(Pending::Start { node }),
            Condition::Down => return,
        }
        let incarnation = slot.host.incarnation();
        let durable = slot.host.disk().map(|disk| disk.contents()).unwrap_or_default();
        let blank = slot.host.take_blank();
        self.tell(node, Taken::Start { incarnation, blank });
        self.step(node, Input::Start { durable, incarnation });
        self.tell_disk(node);
    }
}
