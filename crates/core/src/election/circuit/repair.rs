//! Recovery of ring elections from crashes, slow nodes and restarts.

use super::{Body, Circuit, Contest, Dispute, Envelope, Repair, Run, Stage};
use crate::effects::Effects;
use crate::node::NodeId;
use crate::time::Span;

/// The event that a node waits for, with a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The acknowledgement of the message with this number.
    Hop(u64),
    Run,
    /// The end of a conflict between nodes that disagree on which nodes are dead.
    Dispute,
}

impl<C: Contest> Circuit<C> {
    /// Sends a message of the run to a neighbour. With timeouts, expects an acknowledgement.
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

    /// CI-9.
    pub(super) fn handle_hop_timeout(&mut self, number: u64, out: &mut Effects<'_, Self>) {
        let Some(index) = self.unacknowledged.iter().position(|(sent, _)| *sent == number) else { return };
        let (_, node) = self.unacknowledged.remove(index);
        out.note("CI-9", format_args!("{node} does not acknowledge: considers it dead"));
        self.mark_dead(node);
        self.begin(out);
    }

    /// Sets the timeout of a run: the time of all hops of the contest and the announcement, twice
    /// to allow for queueing, plus four hops.
    ///
    /// With a failure detector this is only a fallback, and eight times as long: it repeats a run
    /// that cannot end because two crashes hid each other. A run without a majority elects no
    /// leader, so it needs no fallback.
    pub(super) fn set_run_timeout(&mut self, out: &mut Effects<'_, Self>) {
        let factor = match self.plan.repair {
            Repair::None => return,
            Repair::Timeout => 1,
            Repair::Detector if self.has_majority() => 8,
            Repair::Detector => return out.cancel_timer(Timer::Run),
        };
        let hops = C::hops(self.members()) + self.members() as u64;
        let hop = self.plan.bounds.message + self.plan.bounds.processing;
        out.set_timer(Timer::Run, Span::exactly(hop.times(factor * (2 * hops + 4))));
    }

    pub(super) fn cancel_run_timeout(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.cancel_timer(Timer::Run);
        }
    }

    /// CI-10.
    pub(super) fn handle_run_timeout(&mut self, out: &mut Effects<'_, Self>) {
        if let Stage::Contest = self.stage {
            out.note("CI-10", format_args!("epoch {} takes too long", self.run.epoch));
            self.begin(out);
        }
    }

    /// CI-11.
    pub(super) fn restart_run_after_boot(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.note("CI-11", format_args!("has restarted, and begins epoch {}", self.run.next()));
            self.begin(out);
        }
    }

    pub(super) fn suspect(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if self.plan.repair == Repair::Detector && node != self.me && self.plan.group.contains(node) {
            self.mark_dead(node);
            self.handle_death(node, out);
        }
    }

    /// CI-7.
    pub(super) fn handle_death(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        let needs_new_run = match self.stage {
            Stage::Idle => false,
            Stage::Contest => !self.run.without.contains(&node),
            Stage::Decided(leader) => leader == node,
        };
        if needs_new_run && self.plan.repair != Repair::None {
            out.note("CI-7", format_args!("{node} is dead: begins epoch {}", self.run.next()));
            self.begin(out);
        }
    }

    /// CI-8.
    pub(super) fn trust(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::Detector {
            return;
        }
        self.dead.retain(|dead| *dead != node);
        let is_left_out = self.stage != Stage::Idle && self.run.without.contains(&node);
        if is_left_out || self.stage == Stage::Contest {
            out.note("CI-8", format_args!("{node} is up again: begins epoch {}", self.run.next()));
            self.begin(out);
        }
    }

    fn mark_dead(&mut self, node: NodeId) {
        if let Err(index) = self.dead.binary_search(&node) {
            self.dead.insert(index, node);
        }
    }

    /// CI-4. Called after the node has joined a run. With timeouts, the node adopts the list of
    /// dead nodes of the run's starter, which knows of later crashes and restarts. With a detector,
    /// if this node considers a member dead, its detector or the starter's is out of date, and the
    /// run may never end.
    pub(super) fn compare_deaths(&mut self, out: &mut Effects<'_, Self>) {
        match self.plan.repair {
            Repair::None => {}
            Repair::Timeout => self.dead.clone_from(&self.run.without),
            Repair::Detector => {
                if let Some(node) = self.dead.iter().find(|dead| !self.run.without.contains(dead)) {
                    out.note("CI-4", format_args!("takes part although member {node} is dead"));
                    self.wait_for_agreement(Dispute::Death, out);
                }
            }
        }
    }

    /// CI-4. With timeouts, this node now considers only nodes dead that the other run leaves out
    /// too: the others will time out again if they are dead.
    pub(super) fn handle_conflicting_run(&mut self, other: &Run, out: &mut Effects<'_, Self>) {
        match self.plan.repair {
            Repair::None => return,
            Repair::Timeout => self.dead.retain(|dead| other.without.contains(dead)),
            Repair::Detector => {}
        }
        out.note("CI-4", format_args!("another run of epoch {} leaves out other nodes", self.run.epoch));
        self.wait_for_agreement(Dispute::Runs, out);
    }

    /// Starts a timeout before the next try, so that epochs do not advance faster than the detector
    /// reports. A conflict of runs outlasts one about a death.
    fn wait_for_agreement(&mut self, dispute: Dispute, out: &mut Effects<'_, Self>) {
        if self.dispute.is_none() {
            out.set_timer(Timer::Dispute, Span::exactly(self.plan.bounds.round_trip()));
        }
        if self.dispute != Some(Dispute::Runs) {
            self.dispute = Some(dispute);
        }
    }

    /// CI-4.
    pub(super) fn settle_dispute(&mut self, out: &mut Effects<'_, Self>) {
        let dispute = self.dispute.take();
        if self.stage == Stage::Contest || dispute == Some(Dispute::Runs) {
            out.note("CI-4", format_args!("begins epoch {}", self.run.next()));
            self.begin(out);
        }
    }

    pub(super) fn end_dispute(&mut self, out: &mut Effects<'_, Self>) {
        if self.dispute.take().is_some() {
            out.cancel_timer(Timer::Dispute);
        }
    }

    /// CI-12.
    pub(super) fn receive_later_epoch(&mut self, run: &Run, is_over: bool, out: &mut Effects<'_, Self>) {
        // This node still receives the messages of a run that is in progress and includes it.
        let cannot_join = self.stage == Stage::Contest && is_over || run.without.contains(&self.me);
        if self.plan.repair != Repair::None && cannot_join && run.epoch > self.run.epoch {
            out.note("CI-12", format_args!("other nodes are at epoch {} already", run.epoch));
            self.run.epoch = run.epoch;
            self.begin(out);
        }
    }

    /// With timeouts, a node that sends is alive. A detector is better informed: a message of a
    /// dead node may still arrive.
    pub(super) fn record_alive(&mut self, node: NodeId) {
        if self.plan.repair == Repair::Timeout {
            self.dead.retain(|dead| *dead != node);
        }
    }

    /// CI-12. A live node that a run leaves out must learn that it is behind. If it is dead, the
    /// message is lost without harm. A detector needs no such message: it reports to all nodes that
    /// a node is alive.
    pub(super) fn notify_left_out(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair == Repair::Timeout {
            for node in &self.run.without {
                out.send(
                    *node,
                    Envelope { run: self.run.clone(), number: None, body: Body::Behind { is_over: false } },
                );
            }
        }
    }
}
