//! Recovery of ring elections from crashes, slow nodes and restarts. The header of `circuit.rs`
//! lists the rules CI-1 to CI-12.

use super::{Body, Circuit, Contest, Dispute, Envelope, Phase, Repair, Run};
use crate::effects::Effects;
use crate::node::NodeId;
use crate::time::Span;

/// A timeout, named after the event that the node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The acknowledgement of the message with this number.
    Hop(u64),
    /// The end of the run.
    Run,
    /// The end of a conflict between nodes that disagree on which nodes are dead.
    Dispute,
}

impl<C: Contest> Circuit<C> {
    /// Sends a message of the run to a neighbour. If the repair uses timeouts, the neighbour must
    /// acknowledge it within two round trips: one for the message, one to allow for queueing.
    pub(super) fn send_hop(&mut self, to: NodeId, body: Body<C::Message>, out: &mut Effects<'_, Self>) {
        let needs_acknowledgement = self.plan.repair == Repair::Timeout && to != self.me;
        let number = needs_acknowledgement.then(|| {
            self.last_number += 1;
            self.unacknowledged.push((self.last_number, to));
            out.set_timer(Timer::Hop(self.last_number), Span::exactly(self.plan.bounds.round_trip().times(2)));
            self.last_number
        });
        out.send(to, Envelope { run: self.run.clone(), number, body });
    }

    pub(super) fn receive_acknowledgement(&mut self, number: u64, from: NodeId, out: &mut Effects<'_, Self>) {
        if let Some(index) = self.unacknowledged.iter().position(|sent| *sent == (number, from)) {
            self.unacknowledged.remove(index);
            out.cancel_timer(Timer::Hop(number));
        }
    }

    /// Stops waiting for acknowledgements of messages of an earlier run.
    pub(super) fn cancel_hops(&mut self, out: &mut Effects<'_, Self>) {
        for (number, _) in self.unacknowledged.drain(..) {
            out.cancel_timer(Timer::Hop(number));
        }
    }

    /// CI-9. Considers the neighbour dead that has not acknowledged this message, and starts the
    /// next epoch without it.
    pub(super) fn handle_hop_timeout(&mut self, number: u64, out: &mut Effects<'_, Self>) {
        let Some(index) = self.unacknowledged.iter().position(|(sent, _)| *sent == number) else { return };
        let (_, node) = self.unacknowledged.remove(index);
        out.note("CI-9", format_args!("node {node} does not acknowledge: considers it dead"));
        self.mark_dead(node);
        self.begin_next_run(out);
    }

    /// Sets the timeout of a run: the time of all hops of the contest plus one hop per member,
    /// doubled to allow for queueing, plus a margin of four hops.
    ///
    /// With a failure detector this timeout is only a fallback, for a run that stalls and that no
    /// report of the detector ends. It is eight times as long, so that the reports come first. A
    /// run without a majority elects no leader, so it needs no fallback.
    pub(super) fn set_run_timeout(&mut self, out: &mut Effects<'_, Self>) {
        let factor = match self.plan.repair {
            Repair::None => return,
            Repair::Timeout => 1,
            Repair::Detector if self.has_majority() => 8,
            Repair::Detector => return out.cancel_timer(Timer::Run),
        };
        let hops = C::max_hops(self.member_count()) + self.member_count() as u64;
        let hop = self.plan.bounds.message + self.plan.bounds.processing;
        out.set_timer(Timer::Run, Span::exactly(hop.times(factor * (2 * hops + 4))));
    }

    pub(super) fn cancel_run_timeout(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.cancel_timer(Timer::Run);
        }
    }

    /// CI-10. Starts the next epoch if the run has not ended in time.
    pub(super) fn handle_run_timeout(&mut self, out: &mut Effects<'_, Self>) {
        if let Phase::Contest = self.phase {
            out.note("CI-10", format_args!("epoch {} takes too long", self.run.epoch));
            self.begin_next_run(out);
        }
    }

    /// CI-11. Starts the next epoch after a restart.
    pub(super) fn restart_run_after_boot(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.note("CI-11", format_args!("has restarted, and begins epoch {}", self.run.next_epoch()));
            self.begin_next_run(out);
        }
    }

    /// CI-7, for a report of the failure detector.
    pub(super) fn suspect(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if self.plan.repair == Repair::Detector && node != self.me && self.plan.group.contains(node) {
            self.mark_dead(node);
            self.handle_death(node, out);
        }
    }

    /// CI-7. Starts the next epoch if a dead node is a member of the run in progress, or the
    /// leader.
    pub(super) fn handle_death(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        let needs_new_run = match self.phase {
            Phase::Idle => false,
            Phase::Contest => !self.run.left_out.contains(&node),
            Phase::Decided(leader) => leader == node,
        };
        if needs_new_run && self.plan.repair != Repair::None {
            out.note("CI-7", format_args!("node {node} is dead: begins epoch {}", self.run.next_epoch()));
            self.begin_next_run(out);
        }
    }

    /// CI-8. No longer considers the node dead. Starts the next epoch if the run leaves out the
    /// node, or is in progress.
    pub(super) fn trust(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::Detector {
            return;
        }
        self.dead.retain(|dead| *dead != node);
        let is_left_out = self.phase != Phase::Idle && self.run.left_out.contains(&node);
        if is_left_out || self.phase == Phase::Contest {
            out.note("CI-8", format_args!("node {node} is up again: begins epoch {}", self.run.next_epoch()));
            self.begin_next_run(out);
        }
    }

    fn mark_dead(&mut self, node: NodeId) {
        if let Err(index) = self.dead.binary_search(&node) {
            self.dead.insert(index, node);
        }
    }

    /// CI-4, after the node has joined a run. With timeouts, the node adopts the list of dead nodes
    /// of the run's starter, which knows of later crashes and restarts. With a detector, if this
    /// node considers a member dead, its detector or the starter's is out of date, and the run may
    /// never end.
    pub(super) fn compare_dead_nodes(&mut self, out: &mut Effects<'_, Self>) {
        match self.plan.repair {
            Repair::None => {}
            Repair::Timeout => self.dead.clone_from(&self.run.left_out),
            Repair::Detector => {
                if let Some(node) = self.dead.iter().find(|dead| !self.run.left_out.contains(dead)) {
                    out.note("CI-4", format_args!("takes part although member {node} is dead"));
                    self.wait_for_agreement(Dispute::DeadMember, out);
                }
            }
        }
    }

    /// CI-4. With timeouts, this node now considers only those nodes dead that the other run leaves
    /// out too. A dead node that the other run includes will miss a timeout again.
    pub(super) fn handle_conflicting_run(&mut self, other: &Run, out: &mut Effects<'_, Self>) {
        match self.plan.repair {
            Repair::None => return,
            Repair::Timeout => self.dead.retain(|dead| other.left_out.contains(dead)),
            Repair::Detector => {}
        }
        out.note("CI-4", format_args!("another run of epoch {} leaves out other nodes", self.run.epoch));
        self.wait_for_agreement(Dispute::ConflictingRuns, out);
    }

    /// Waits for a timeout before it starts the next epoch, so that epochs do not advance faster
    /// than the detector reports. A conflict of runs replaces a conflict about a dead member.
    fn wait_for_agreement(&mut self, dispute: Dispute, out: &mut Effects<'_, Self>) {
        if self.dispute.is_none() {
            out.set_timer(Timer::Dispute, Span::exactly(self.plan.bounds.round_trip()));
        }
        if self.dispute != Some(Dispute::ConflictingRuns) {
            self.dispute = Some(dispute);
        }
    }

    /// CI-4. Starts the next epoch if the conflict remains at the end of the timeout.
    pub(super) fn settle_dispute(&mut self, out: &mut Effects<'_, Self>) {
        let dispute = self.dispute.take();
        // Even if this run has ended, the nodes of a conflicting run may know no leader.
        if self.phase == Phase::Contest || dispute == Some(Dispute::ConflictingRuns) {
            out.note("CI-4", format_args!("begins epoch {}", self.run.next_epoch()));
            self.begin_next_run(out);
        }
    }

    pub(super) fn end_dispute(&mut self, out: &mut Effects<'_, Self>) {
        if self.dispute.take().is_some() {
            out.cancel_timer(Timer::Dispute);
        }
    }

    /// CI-12. Starts an epoch after `run`, which is later than this node's run, if this node cannot
    /// take part in `run`.
    pub(super) fn receive_later_epoch(&mut self, run: &Run, is_over: bool, out: &mut Effects<'_, Self>) {
        // If the run is in progress and includes this node, its messages still arrive here.
        let cannot_join = self.phase == Phase::Contest && is_over || run.left_out.contains(&self.me);
        if self.plan.repair != Repair::None && cannot_join && run.epoch > self.run.epoch {
            out.note("CI-12", format_args!("other nodes are at epoch {} already", run.epoch));
            self.run.epoch = run.epoch;
            self.begin_next_run(out);
        }
    }

    /// With timeouts, the sender of a message counts as alive; if it is dead, it will miss a
    /// timeout again. With a detector only its reports count, because a message of a dead node may
    /// still arrive.
    pub(super) fn record_alive(&mut self, node: NodeId) {
        if self.plan.repair == Repair::Timeout {
            self.dead.retain(|dead| *dead != node);
        }
    }

    /// CI-12. A live node that a run leaves out must learn of the run. If the node is dead, the
    /// message is lost without harm. With a detector no message is needed: the detector reports to
    /// all nodes that a node is alive.
    pub(super) fn notify_left_out(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair == Repair::Timeout {
            for node in &self.run.left_out {
                out.send(
                    *node,
                    Envelope { run: self.run.clone(), number: None, body: Body::Behind { is_over: false } },
                );
            }
        }
    }
}
