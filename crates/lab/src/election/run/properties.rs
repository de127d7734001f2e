//! The properties that every election algorithm promises.

use super::leader_leases::LeaderLeases;
use super::{Agreement, Change, Expectation, change};
use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, NodeId, Time};
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::property::{Kind, Verdict, Violation};
use std::collections::BTreeMap;

/// Judges the properties of elections.
#[derive(Default)]
pub struct Properties {
    /// Several nodes may start, so a contest should occur.
    expects_contest: bool,
    nodes: Vec<Node>,
    agreement: Agreement,
    /// For each epoch, the winner that the first node reported.
    winners: BTreeMap<Epoch, Winner>,
    /// The last node that campaigned since the nodes last agreed.
    starter: Option<NodeId>,
    contested: bool,
    has_begun: bool,
    end: Time,
    /// Number of steps and world events so far. Violations refer to these lines.
    lines: u64,
    one_leader: Option<Violation>,
    epochs_grow: Option<Violation>,
    leases: Option<LeaderLeases>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The latest epoch that the node took part in or knew the winner of, in its current
    /// incarnation.
    epoch: Option<Epoch>,
    /// The latest epoch whose winner it knew, in any incarnation. An older result would mislead
    /// clients.
    latest_known_result: Option<Epoch>,
    /// When the node last began an election.
    since: Time,
}

/// The winner of an epoch, and the first node that reported it.
#[derive(Clone, Copy, Debug)]
struct Winner {
    leader: NodeId,
    reported_by: NodeId,
    since: Time,
}

impl Properties {
    pub fn new(nodes: usize, expects_contest: bool) -> Self {
        Self {
            expects_contest,
            nodes: vec![Node::default(); nodes],
            agreement: Agreement::new(nodes),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn with_leases(self, leases: bool) -> Self {
        Self { leases: leases.then(|| LeaderLeases::new(self.nodes.len())), ..self }
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { agreement: self.agreement.expecting(expectation), ..self }
    }

    pub fn end(&self) -> Time {
        self.end
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let always = |name, violation: &Option<Violation>| Verdict::judged(name, Kind::Always, violation.clone());
        let mut verdicts =
            vec![always("one-leader-an-epoch", &self.one_leader), always("epochs-grow", &self.epochs_grow)];
        verdicts.extend(self.leases.iter().map(|leases| always("one-master", leases.violation())));
        verdicts.push(Verdict::judged("agreed", Kind::Eventually, self.disagreement()));
        if self.expects_contest {
            verdicts.push(Verdict::sometimes("contested", self.contested));
        }
        verdicts
    }

    fn disagreement(&self) -> Option<Violation> {
        if !self.has_begun {
            // No client has started an election.
            return None;
        }
        let obstacle = self.agreement.obstacle()?;
        let since = self.nodes.iter().map(|node| node.since).max().unwrap_or(self.end);
        Some(Violation { time: self.end, line: self.lines, since, text: format!("{obstacle} at the end") })
    }

    fn record_campaign(&mut self, node: NodeId) {
        self.contested |= self.starter.is_some_and(|other| other != node);
        self.starter = Some(node);
    }

    fn record_participation(&mut self, time: Time, node: NodeId, epoch: Epoch) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.since = time;
        }
        let latest = self.nodes.get(node.index()).and_then(|state| state.epoch);
        self.check_growth(time, node, (epoch, latest), "takes part in");
    }

    fn record_result(&mut self, time: Time, node: NodeId, leader: NodeId, epoch: Epoch) {
        let latest = self.nodes.get(node.index()).and_then(|state| state.epoch.max(state.latest_known_result));
        self.check_growth(time, node, (epoch, latest), "knows the winner of");
        let since = self.nodes.get(node.index()).map_or(time, |state| state.since);
        let winner = *self.winners.entry(epoch).or_insert(Winner { leader, reported_by: node, since });
        if winner.leader != leader && self.one_leader.is_none() {
            let Winner { leader: other, reported_by, .. } = winner;
            let text = format!(
                "node {node} considers {leader} the leader of epoch {epoch}, but node {reported_by} considers {other} the leader"
            );
            let since = since.min(winner.since);
            self.one_leader = Some(Violation { time, line: self.lines, since, text });
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.latest_known_result = state.latest_known_result.max(Some(epoch));
        }
    }

    /// Checks that the epoch is not older than `latest`. A node that restarts without its disk may
    /// take part in an old epoch, but its known result must not become older.
    fn check_growth(&mut self, time: Time, node: NodeId, (epoch, latest): (Epoch, Option<Epoch>), action: &str) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        state.epoch = state.epoch.max(Some(epoch));
        if let Some(latest) = latest.filter(|latest| epoch < *latest)
            && self.epochs_grow.is_none()
        {
            let text = format!("node {node} {action} epoch {epoch}, but was in epoch {latest} before");
            self.epochs_grow = Some(Violation { time, line: self.lines, since: state.since, text });
        }
    }

    fn record_start(&mut self, node: NodeId) {
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.epoch = None;
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
        let Some((time, node, change)) = change(moment) else { return };
        self.agreement.change(node, change);
        self.has_begun |= matches!(change, Change::Campaigns | Change::BeginsElection(_) | Change::LearnsLeader { .. });
        match change {
            Change::Campaigns => self.record_campaign(node),
            Change::BeginsElection(epoch) => self.record_participation(time, node, epoch),
            Change::LearnsLeader { leader, epoch, until: _ } => self.record_result(time, node, leader, epoch),
            Change::Starts => self.record_start(node),
            Change::Crashes | Change::ExtendsLease { .. } | Change::LosesLeader => {}
        }
        if self.agreement.is_reached() {
            self.starter = None;
        }
    }
}
