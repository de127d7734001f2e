//! Leases of leaders: no two may be valid at the same true time.

use super::{Change, observed_change};
use quorate_core::election::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::clocks::Clocks;
use quorate_journal::moment::{Moment, WorldEvent};
use quorate_journal::property::Violation;

/// Observes leaderships with an expiry. Each is valid from the instant at which its node learns of
/// it until the node's clock shows the expiry, the node gives it up, or the node crashes.
pub(super) struct LeaderLeases {
    clocks: Clocks,
    leases: Vec<Option<LeaderLease>>,
    violation: Option<Violation>,
}

/// The lease of a node that is the leader.
#[derive(Clone, Copy, Debug)]
struct LeaderLease {
    /// When the node became the leader, in true time.
    since: Time,
    /// The expiry on the node's own clock.
    until: Time,
}

impl LeaderLeases {
    pub(super) fn new(nodes: usize) -> Self {
        Self { clocks: Clocks::new(nodes), leases: vec![None; nodes], violation: None }
    }

    pub(super) const fn violation(&self) -> &Option<Violation> {
        &self.violation
    }

    /// Observes a moment at this line of the trace.
    pub(super) fn observe(&mut self, moment: &Moment<'_, Command, Event>, line: u64) {
        self.clocks.observe(moment);
        if let Moment::World { time, event: WorldEvent::Changed { .. } } = moment {
            self.check_all(*time, line);
        }
        let Some((time, node, change)) = observed_change(moment) else { return };
        let Some(lease) = self.leases.get_mut(node.index()) else { return };
        match change {
            Change::LearnsLeader { leader, until, .. } if leader == node => {
                *lease = Some(LeaderLease { since: time, until });
                self.check(time, node, "became the leader", line);
            }
            Change::ExtendsLease { until } => {
                if let Some(lease) = lease {
                    lease.until = until;
                    self.check(time, node, "extended its leadership", line);
                }
            }
            Change::BeginsElection(_)
            | Change::LearnsLeader { .. }
            | Change::LosesLeader
            | Change::Crashes
            | Change::Starts => *lease = None,
            Change::Campaigns => {}
        }
    }

    fn valid_lease(&self, node: NodeId, time: Time) -> Option<LeaderLease> {
        let lease = (*self.leases.get(node.index())?)?;
        (self.clocks.at(node, time) < lease.until).then_some(lease)
    }

    /// Records the first violation: the leases of this node and of another are both valid at
    /// `time`, when the node performs `action`, such as "became the leader".
    fn check(&mut self, time: Time, node: NodeId, action: &str, line: u64) {
        let Some(lease) = self.valid_lease(node, time).filter(|_| self.violation.is_none()) else { return };
        let others = (0..self.leases.len()).map(NodeId::from_index).filter(|other| *other != node);
        let mut conflicts = others.filter_map(|other| Some((other, self.valid_lease(other, time)?)));
        let Some((other, other_lease)) = conflicts.next() else { return };
        let text = format!(
            "node {node} {action} while node {other}, the leader since {}, had a lease until {} on its clock",
            other_lease.since, other_lease.until
        );
        self.violation = Some(Violation { time, line, relevant_from: lease.since.min(other_lease.since), text });
    }

    /// Checks the leases of all nodes, because a clock that was set back may make an expired lease
    /// valid again.
    fn check_all(&mut self, time: Time, line: u64) {
        for index in 0..self.leases.len() {
            self.check(time, NodeId::from_index(index), "was the leader after a clock change", line);
        }
    }
}
