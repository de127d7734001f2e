//! The properties that every election algorithm promises, and the property of leases.

use super::leader_leases::LeaderLeases;
use super::{Agreement, Change, Expectation, observed_change};
use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, NodeId, Time};
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::{PropertyKind, Verdict, Violation};
use std::collections::BTreeMap;

/// Judges the properties of elections.
#[derive(Default)]
pub struct Properties {
    /// Whether several nodes may start elections, so that some run should be contested.
    expects_several_starters: bool,
    nodes: Vec<NodeRecord>,
    agreement: Agreement,
    /// For each epoch, the winner that was reported first.
    winners: BTreeMap<Epoch, Winner>,
    /// The last node that campaigned, if the nodes have not agreed since.
    last_starter: Option<NodeId>,
    /// Whether two nodes campaigned before the nodes agreed.
    is_contested: bool,
    has_begun: bool,
    end: Time,
    /// Number of trace lines so far: one for each step and each world event. Violations refer to
    /// them.
    lines: u64,
    leader_violation: Option<Violation>,
    epoch_violation: Option<Violation>,
    leases: Option<LeaderLeases>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeRecord {
    /// The latest epoch that the node took part in or knew the winner of, in its current
    /// incarnation.
    latest_epoch: Option<Epoch>,
    /// The latest epoch whose winner the node knew, in any incarnation. Clients rely on it, so no
    /// older result may follow.
    latest_known_result: Option<Epoch>,
    /// When the node last began to take part in an election.
    participating_since: Time,
}

/// The winner of an epoch, and the first node that reported it.
#[derive(Clone, Copy, Debug)]
struct Winner {
    leader: NodeId,
    reported_by: NodeId,
    /// When that node began to take part in the election.
    reporter_participating_since: Time,
}

impl Properties {
    pub fn new(nodes: usize, expects_several_starters: bool) -> Self {
        Self {
            expects_several_starters,
            nodes: vec![NodeRecord::default(); nodes],
            agreement: Agreement::new(nodes),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_leases(self, has_leases: bool) -> Self {
        Self { leases: has_leases.then(|| LeaderLeases::new(self.nodes.len())), ..self }
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { agreement: self.agreement.expecting(expectation), ..self }
    }

    pub fn end(&self) -> Time {
        self.end
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let always = |name, violation: &Option<Violation>| {
            Verdict::from_violation(name, PropertyKind::Always, violation.clone())
        };
        let mut verdicts =
            vec![always("one-leader-per-epoch", &self.leader_violation), always("epochs-grow", &self.epoch_violation)];
        verdicts.extend(self.leases.iter().map(|leases| always("one-leader-at-a-time", leases.violation())));
        verdicts.push(Verdict::from_violation("agreed", PropertyKind::Eventually, self.disagreement()));
        if self.expects_several_starters {
            verdicts.push(Verdict::sometimes("contested", self.is_contested));
        }
        verdicts
    }

    fn disagreement(&self) -> Option<Violation> {
        if !self.has_begun {
            return None;
        }
        let disagreement = self.agreement.describe_disagreement()?;
        let relevant_from = self.nodes.iter().map(|node| node.participating_since).max().unwrap_or(self.end);
        Some(Violation { time: self.end, line: self.lines, relevant_from, text: format!("{disagreement} at the end") })
    }

    fn record_campaign(&mut self, node: NodeId) {
        self.is_contested |= self.last_starter.is_some_and(|other| other != node);
        self.last_starter = Some(node);
    }

    fn record_participation(&mut self, time: Time, node: NodeId, epoch: Epoch) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.participating_since = time;
        }
        let latest = self.nodes.get(node.index()).and_then(|state| state.latest_epoch);
        self.check_growth(time, node, (epoch, latest), "takes part in");
    }

    fn record_result(&mut self, time: Time, node: NodeId, leader: NodeId, epoch: Epoch) {
        let latest = self.nodes.get(node.index()).and_then(|state| state.latest_epoch.max(state.latest_known_result));
        self.check_growth(time, node, (epoch, latest), "knows the winner of");
        let relevant_from = self.nodes.get(node.index()).map_or(time, |state| state.participating_since);
        let winner = *self.winners.entry(epoch).or_insert(Winner {
            leader,
            reported_by: node,
            reporter_participating_since: relevant_from,
        });
        if winner.leader != leader && self.leader_violation.is_none() {
            let Winner { leader: other, reported_by, .. } = winner;
            let text = format!(
                "node {node} considers {leader} the leader of epoch {epoch}, but node {reported_by} considers {other} the leader"
            );
            let relevant_from = relevant_from.min(winner.reporter_participating_since);
            self.leader_violation = Some(Violation { time, line: self.lines, relevant_from, text });
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.latest_known_result = state.latest_known_result.max(Some(epoch));
        }
    }

    /// Records the epoch, and checks that it is not older than `latest`. A node that restarts
    /// without its disk may take part in an old epoch, but its known result must not become older.
    fn check_growth(&mut self, time: Time, node: NodeId, (epoch, latest): (Epoch, Option<Epoch>), action: &str) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        state.latest_epoch = state.latest_epoch.max(Some(epoch));
        if let Some(latest) = latest.filter(|latest| epoch < *latest)
            && self.epoch_violation.is_none()
        {
            let text = format!("node {node} {action} epoch {epoch}, but was in epoch {latest} before");
            self.epoch_violation =
                Some(Violation { time, line: self.lines, relevant_from: state.participating_since, text });
        }
    }

    fn record_start(&mut self, node: NodeId) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.latest_epoch = None;
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        if let Some(leases) = &mut self.leases {
            leases.observe(moment, self.lines);
        }
        let Some((time, node, change)) = observed_change(moment) else { return };
        self.agreement.record_change(node, change);
        self.has_begun |= matches!(change, Change::Campaigns | Change::BeginsElection(_) | Change::LearnsLeader { .. });
        match change {
            Change::Campaigns => self.record_campaign(node),
            Change::BeginsElection(epoch) => self.record_participation(time, node, epoch),
            Change::LearnsLeader { leader, epoch, until: _ } => self.record_result(time, node, leader, epoch),
            Change::Starts => self.record_start(node),
            Change::Crashes | Change::ExtendsLease { .. } | Change::LosesLeader => {}
        }
        if self.agreement.is_reached() {
            self.last_starter = None;
        }
    }
}
