//! How inputs reach nodes: which are dropped, which wait, and which the node takes.

use super::host::Stepper;
use super::{PendingEvent, World};
use quorate_core::{Describe, Incarnation, Input, NodeId, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::{Loss, MessageId, ObservedInput, Observer, WorldEvent};
use quorate_journal::replay_nodes::Condition;
use serde::Serialize;

impl<P, O> World<P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Handles an input that arrives at its node: drops it, lets the node take it, or enqueues it.
    #[inline]
    pub(super) fn arrive(&mut self, pending: PendingEvent<P>) {
        let Some(node) = pending.node() else { return };
        let condition = self.slots.get(node.index()).map_or(Condition::Down, |slot| slot.host.condition);
        if condition == Condition::Down {
            return self.drop_input(pending, Loss::Down);
        }
        if let PendingEvent::Message { from, to, .. } = pending
            && self.environment.network.is_cut(from, to)
        {
            return self.drop_input(pending, Loss::Cut);
        }
        if condition == Condition::Up && self.environment.is_instant() {
            self.accept(pending);
        } else {
            self.enqueue(node, pending);
        }
    }

    /// Adds an input to the node's inbox. The node processes one input at a time, in order of
    /// arrival.
    pub(super) fn enqueue(&mut self, node: NodeId, pending: PendingEvent<P>) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.is_stale(&pending) {
            return;
        }
        if slot.host.condition == Condition::Paused {
            self.environment.stalled_items += usize::from(pending.is_counted());
        }
        slot.host.rare_state_mut().inbox.push_back(pending);
        self.start_next_input(node);
    }

    /// Starts to process the next input, if there is one and the node is idle.
    fn start_next_input(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let Some(interruptions) = slot.host.start_processing() else { return };
        let done_at = self.environment.time + self.environment.node_rng.draw_latency(self.environment.processing);
        self.environment.push(done_at, PendingEvent::ProcessingDone { node, interruptions });
    }

    /// Lets a node take an input whose processing time has passed.
    pub(super) fn finish_input(&mut self, node: NodeId, interruptions: u32) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let Some(pending) = slot.host.finish_processing(interruptions) else { return };
        self.accept(pending);
        self.start_next_input(node);
        // The accepted input may have been void, and the last one of the turn.
        self.schedule_end_of_turn(node);
    }

    /// Drops an input of a node that is down or cut off. The crash has already removed the node's
    /// timers and syncs.
    pub(super) fn drop_input(&mut self, pending: PendingEvent<P>, cause: Loss) {
        match pending {
            PendingEvent::Message { from, to, number, .. } => {
                self.environment.messages_in_flight -= 1;
                let id = MessageId { sender: from, number };
                self.environment.observe_world(WorldEvent::Lost { id, to, cause });
            }
            PendingEvent::Command { .. } => self.environment.planned_items -= 1,
            PendingEvent::DiskStatus { .. } => self.environment.disk_events -= 1,
            PendingEvent::Start { .. }
            | PendingEvent::Timer { .. }
            | PendingEvent::Synced { .. }
            | PendingEvent::Alarm { .. }
            | PendingEvent::ProcessingDone { .. }
            | PendingEvent::EndOfTurn { .. }
            | PendingEvent::MembershipNotice(_)
            | PendingEvent::CrashNotice(_)
            | PendingEvent::Membership(_)
            | PendingEvent::Fault(_) => {}
        }
    }

    /// Lets a node that is up take an input.
    #[inline]
    pub(super) fn accept(&mut self, pending: PendingEvent<P>) {
        match pending {
            PendingEvent::Message { from, to, number, message } => {
                self.environment.messages_in_flight -= 1;
                let id = MessageId { sender: from, number };
                let observed = ObservedInput::Message {
                    id,
                    kind: message.kind(),
                    is_wrapped: message.is_wrapped(),
                    // `FIRST` says that message numbers count over all incarnations of the sender.
                    incarnation: Incarnation::FIRST,
                };
                self.observe_input(to, observed);
                self.step(to, Input::Message { from, message });
            }
            PendingEvent::Timer { node, generation } => {
                let Some(timer) = self.slots.get_mut(node.index()).and_then(|slot| slot.host.take_timer(generation))
                else {
                    return;
                };
                self.environment.armed_timers -= 1;
                self.observe_input(node, ObservedInput::Timer(&timer));
                self.step(node, Input::Timer(timer));
            }
            PendingEvent::Command { node, incarnation, command } => {
                self.environment.planned_items -= 1;
                let current_incarnation = self.slots.get(node.index()).map(|slot| slot.host.incarnation());
                if incarnation.is_none() || incarnation == current_incarnation {
                    self.observe_input(node, ObservedInput::Command(&command));
                    self.step(node, Input::Command(command));
                }
            }
            PendingEvent::Synced { node, incarnation, count } => self.complete_sync(node, incarnation, count),
            PendingEvent::DiskStatus { node } => {
                self.environment.disk_events -= 1;
                self.notify_disk_status(node);
            }
            PendingEvent::Start { node } => self.boot(node),
            PendingEvent::MembershipNotice(notice) => self.receive_notice(*notice),
            PendingEvent::CrashNotice(notice) => self.receive_crash_notice(&notice),
            // These are not inputs.
            PendingEvent::ProcessingDone { .. }
            | PendingEvent::EndOfTurn { .. }
            | PendingEvent::Alarm { .. }
            | PendingEvent::Membership(_)
            | PendingEvent::Fault(_) => {}
        }
    }

    /// Completes a sync: carries out the effects that waited for it and notifies the node. If the
    /// disk fails instead, crashes the node.
    fn complete_sync(&mut self, node: NodeId, incarnation: Incarnation, count: u64) {
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        if slot.host.incarnation() != incarnation {
            return;
        }
        if let Some(failure) = slot.host.take_disk_failure() {
            return self.fail_disk(node, failure);
        }
        self.environment.disk_events -= 1;
        if let Some(disk) = slot.host.disk() {
            disk.is_syncing = false;
            disk.sync(count);
        }
        self.observe_input(node, ObservedInput::Saved(count));
        let Some(slot) = self.slots.get_mut(node.index()) else { return };
        let mut stepper = Stepper { node, host: &mut slot.host, environment: &mut self.environment };
        stepper.carry_out_durable();
        self.step(node, Input::Saved(count));
    }

    /// Starts the node's current incarnation, if the world has started. A paused node starts when
    /// it resumes.
    pub(super) fn boot(&mut self, node: NodeId) {
        let Some(slot) = self.slots.get_mut(node.index()).filter(|_| self.is_started) else { return };
        match slot.host.condition {
            Condition::Up => {}
            Condition::Paused => return slot.host.rare_state_mut().inbox.push_back(PendingEvent::Start { node }),
            Condition::Down => return,
        }
        let incarnation = slot.host.incarnation();
        let durable = slot.host.disk().map(|disk| disk.contents()).unwrap_or_default();
        let is_disk_blank = slot.host.take_blank_flag();
        self.observe_input(node, ObservedInput::Start { incarnation, is_disk_blank });
        self.step(node, Input::Start { durable, incarnation });
        self.notify_disk_status(node);
    }
}
