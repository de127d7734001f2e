//! How elections on a ring get over a crash: what is done when somebody is dead, late or back.

use super::{Body, Circuit, Contest, Dispute, Letter, Repair, Run, Stage};
use crate::effects::Effects;
use crate::node::NodeId;
use crate::time::Span;

/// What a node waits for, where silence is evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The acknowledgement of the message of this number.
    Hop(u64),
    Run,
    /// Whether two who disagree on who is dead have come to agree by then.
    Dispute,
}

impl<C: Contest> Circuit<C> {
    /// Sends a message of the run to a neighbour.
    pub(super) fn hand(&mut self, to: NodeId, body: Body<C::Message>, out: &mut Effects<'_, Self>) {
        let is_watched = self.plan.repair == Repair::Timeout && to != self.me;
        let number = is_watched.then(|| {
            self.sent += 1;
            self.unacknowledged.push((self.sent, to));
            out.set_timer(Timer::Hop(self.sent), Span::exactly(self.plan.bounds.answer().times(2)));
            self.sent
        });
        out.send(to, Letter { run: self.run.clone(), number, body });
    }

    pub(super) fn acknowledged(&mut self, number: u64, from: NodeId, out: &mut Effects<'_, Self>) {
        if let Some(place) = self.unacknowledged.iter().position(|sent| *sent == (number, from)) {
            self.unacknowledged.remove(place);
            out.cancel_timer(Timer::Hop(number));
        }
    }

    /// What was sent in an earlier run is of no interest any more.
    pub(super) fn forget_hops(&mut self, out: &mut Effects<'_, Self>) {
        for (number, _) in self.unacknowledged.drain(..) {
            out.cancel_timer(Timer::Hop(number));
        }
    }

    /// CI-9.
    pub(super) fn miss_hop(&mut self, number: u64, out: &mut Effects<'_, Self>) {
        let Some(place) = self.unacknowledged.iter().position(|(sent, _)| *sent == number) else { return };
        let (_, node) = self.unacknowledged.remove(place);
        out.note("CI-9", format_args!("{node} does not acknowledge: it is dead"));
        self.mark(node);
        self.begin(out);
    }

    /// A run must be over by then: every hop of it, and as much again for those who wait in a queue.
    ///
    /// Where a detector tells, that is a second line: a run that cannot end because two deaths hid each other is done again, much later.
    pub(super) fn allow_time(&mut self, out: &mut Effects<'_, Self>) {
        let patience = match self.plan.repair {
            Repair::None => return,
            Repair::Timeout => 1,
            Repair::Detector if self.counts() => 8,
            Repair::Detector => return out.cancel_timer(Timer::Run),
        };
        let hops = C::hops(self.members()) + self.members() as u64;
        let hop = self.plan.bounds.message + self.plan.bounds.processing;
        out.set_timer(Timer::Run, Span::exactly(hop.times(patience * (2 * hops + 4))));
    }

    pub(super) fn end_time(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.cancel_timer(Timer::Run);
        }
    }

    /// CI-10.
    pub(super) fn miss_end(&mut self, out: &mut Effects<'_, Self>) {
        if let Stage::Contest = self.stage {
            out.note("CI-10", format_args!("epoch {} takes too long", self.run.epoch));
            self.begin(out);
        }
    }

    /// CI-11.
    pub(super) fn boot_again(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair != Repair::None {
            out.note("CI-11", format_args!("is back, and begins epoch {}", self.run.next()));
            self.begin(out);
        }
    }

    pub(super) fn suspect(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        if self.plan.repair == Repair::Detector && node != self.me && self.plan.group.contains(node) {
            self.mark(node);
            self.bury(node, out);
        }
    }

    /// CI-7.
    pub(super) fn bury(&mut self, node: NodeId, out: &mut Effects<'_, Self>) {
        let matters = match self.stage {
            Stage::Idle => false,
            Stage::Contest => !self.run.without.contains(&node),
            Stage::Over(leader) => leader == node,
        };
        if matters && self.plan.repair != Repair::None {
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
            out.note("CI-8", format_args!("{node} is back: begins epoch {}", self.run.next()));
            self.begin(out);
        }
    }

    fn mark(&mut self, node: NodeId) {
        if let Err(place) = self.dead.binary_search(&node) {
            self.dead.insert(place, node);
        }
    }

    /// CI-4. A node has just joined a run. Where timeouts tell, whoever began it knew better who is dead: it has heard of later deaths and of
    /// those who are back. Where a detector tells and the node knows of a dead member, one of the two is behind, and the run may never end.
    pub(super) fn compare_deaths(&mut self, out: &mut Effects<'_, Self>) {
        match self.plan.repair {
            Repair::None => {}
            Repair::Timeout => self.dead.clone_from(&self.run.without),
            Repair::Detector => {
                if let Some(node) = self.dead.iter().find(|dead| !self.run.without.contains(dead)) {
                    out.note("CI-4", format_args!("takes part although {node} is dead"));
                    self.wait_for_agreement(Dispute::Death, out);
                }
            }
        }
    }

    /// CI-4. Where timeouts tell, only those are left out whom both leave out: the others will be missed again if they are dead.
    pub(super) fn differ(&mut self, other: &Run, out: &mut Effects<'_, Self>) {
        match self.plan.repair {
            Repair::None => return,
            Repair::Timeout => self.dead.retain(|dead| other.without.contains(dead)),
            Repair::Detector => {}
        }
        out.note("CI-4", format_args!("another run of epoch {} leaves out others", self.run.epoch));
        self.wait_for_agreement(Dispute::Runs, out);
    }

    /// Those who disagree wait for a moment before they try again, so that epochs do not race ahead of the detector.
    fn wait_for_agreement(&mut self, dispute: Dispute, out: &mut Effects<'_, Self>) {
        if self.dispute.is_none() {
            out.set_timer(Timer::Dispute, Span::exactly(self.plan.bounds.answer()));
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
    pub(super) fn hear_of_later(&mut self, run: &Run, is_over: bool, out: &mut Effects<'_, Self>) {
        // A run that is under way with this node in it comes by.
        let matters = self.stage == Stage::Contest && is_over || run.without.contains(&self.me);
        if self.plan.repair != Repair::None && matters && run.epoch > self.run.epoch {
            out.note("CI-12", format_args!("others are at epoch {} already", run.epoch));
            self.run.epoch = run.epoch;
            self.begin(out);
        }
    }

    /// Whoever speaks lives, where silence is death. A detector knows more: what the dead sent may still be under way.
    pub(super) fn see_alive(&mut self, node: NodeId) {
        if self.plan.repair == Repair::Timeout {
            self.dead.retain(|dead| *dead != node);
        }
    }

    /// CI-12. Whoever is left out of a run and lives must know that it is behind. To the dead this is one more message that nobody reads.
    /// A detector needs no such help: it tells everyone that one lives.
    pub(super) fn tell_the_dead(&mut self, out: &mut Effects<'_, Self>) {
        if self.plan.repair == Repair::Timeout {
            for node in &self.run.without {
                out.send(*node, Letter { run: self.run.clone(), number: None, body: Body::Behind { is_over: false } });
            }
        }
    }
}
