//! Who leads by a lease, and up to when: no two may at any true instant.

use super::{Change, change};
use quorate_core::election::{Command, Event};
use quorate_core::{NodeId, Time};
use quorate_journal::clocks::Clocks;
use quorate_journal::moment::{Happening, Moment};
use quorate_journal::property::Violation;

/// Watches leaderships that have an end. Each is valid from the instant at which its node learns of it until its node's own clock shows
/// its end, and no longer than the node stands by it.
pub(super) struct Reigns {
    clocks: Clocks,
    reigns: Vec<Option<Reign>>,
    breach: Option<Violation>,
}

#[derive(Clone, Copy, Debug)]
struct Reign {
    since: Time,
    /// On its node's own clock.
    until: Time,
}

impl Reigns {
    pub(super) fn new(nodes: usize) -> Self {
        Self { clocks: Clocks::new(nodes), reigns: vec![None; nodes], breach: None }
    }

    pub(super) const fn breach(&self) -> &Option<Violation> {
        &self.breach
    }

    pub(super) fn observe(&mut self, moment: &Moment<'_, Command, Event>, line: u64) {
        self.clocks.observe(moment);
        if let Moment::World { time, what: Happening::Changed { .. } } = moment {
            self.look_at_all(*time, line);
        }
        let Some((time, node, change)) = change(moment) else { return };
        let Some(reign) = self.reigns.get_mut(node.index()) else { return };
        match change {
            Change::Learns { leader, until, .. } if leader == node => {
                *reign = Some(Reign { since: time, until });
                self.look(time, node, "became the leader", line);
            }
            Change::Extends { until } => {
                if let Some(reign) = reign {
                    reign.until = until;
                    self.look(time, node, "went on as the leader", line);
                }
            }
            Change::Begins(_) | Change::Learns { .. } | Change::Ends | Change::Dies | Change::Boots => *reign = None,
            Change::Campaigns => {}
        }
    }

    fn valid(&self, node: NodeId, time: Time) -> Option<Reign> {
        let reign = (*self.reigns.get(node.index())?)?;
        (self.clocks.at(node, time) < reign.until).then_some(reign)
    }

    fn look(&mut self, time: Time, node: NodeId, came: &str, line: u64) {
        let Some(ours) = self.valid(node, time).filter(|_| self.breach.is_none()) else { return };
        let others = (0..self.reigns.len()).map(NodeId::from_index).filter(|other| *other != node);
        let mut valid = others.filter_map(|other| Some((other, self.valid(other, time)?)));
        let Some((other, theirs)) = valid.next() else { return };
        let text = format!(
            "node {node} {came} while node {other}, the leader since {}, was so until {} of its clock",
            theirs.since, theirs.until
        );
        self.breach = Some(Violation { time, line, since: ours.since.min(theirs.since), text });
    }

    /// A clock that was put back may make a leadership valid again that was over.
    fn look_at_all(&mut self, time: Time, line: u64) {
        for index in 0..self.reigns.len() {
            self.look(time, NodeId::from_index(index), "was the leader, by a clock that was changed,", line);
        }
    }
}
