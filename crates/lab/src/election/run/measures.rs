//! Measures the cost figures of an election: messages, rounds, time.

use super::{Agreement, Change, Expectation, SuperPeerMeasures, SuperPeers, observed_change};
use quorate_core::election::{Command, Event, Overlay};
use quorate_core::{Class, Duration, Epoch, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Observer, Sent};
use serde::Serialize;
use std::collections::BTreeSet;

/// Messages, epochs and agreement so far.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    agreement: Agreement,
    /// When a node first campaigned or took part in an election.
    began_at: Option<Time>,
    /// When agreement was last reached or lost, or changed to another leader or epoch.
    agreement_changed_at: Option<Time>,
    epochs: BTreeSet<Epoch>,
    election_messages: u64,
    announcement_messages: u64,
    super_peers: Option<SuperPeerMeasures>,
}

impl Measures {
    pub fn new(nodes: usize) -> Self {
        Self { agreement: Agreement::new(nodes), ..Self::default() }
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { agreement: self.agreement.expecting(expectation), ..self }
    }

    /// Also measures the super-peers of an overlay.
    #[must_use]
    pub fn with_overlay(self, overlay: Overlay) -> Self {
        Self { super_peers: Some(SuperPeerMeasures::new(overlay)), ..self }
    }

    pub fn summary(&self, unit: Duration, unit_name: &'static str) -> ElectionSummary {
        let leader = self.agreement.leader();
        let agreed_at = self.agreement_changed_at.filter(|_| self.agreement.is_reached());
        let length = agreed_at.zip(self.began_at).map(|(agreed_at, began_at)| agreed_at.since(began_at));
        ElectionSummary {
            leader: leader.map(|(leader, _)| leader),
            epoch: leader.map(|(_, epoch)| epoch),
            election_messages: self.election_messages,
            announcement_messages: self.announcement_messages,
            rounds: self.epochs.len() as u64,
            time: length.map(|length| length.nanos() as f64 / unit.nanos().max(1) as f64),
            time_unit: unit_name,
            super_peers: self.super_peers.as_ref().map(|super_peers| super_peers.summary(&self.agreement)),
        }
    }

    fn count_messages(&mut self, sent: &Sent<'_>, copies: u64) {
        match sent.class {
            Class::Algorithm => self.election_messages += copies,
            Class::Announcement => self.announcement_messages += copies,
            Class::Control => {}
        }
    }
}

impl Observer<Command, Event> for Measures {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Effect { node, effect: ObservedEffect::Send { to, sent }, .. } => {
                self.count_messages(sent, u64::from(to != node));
            }
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. } => {
                self.count_messages(sent, to.others(*node).count() as u64);
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
        let Some((time, node, change)) = observed_change(moment) else { return };
        if let Change::Campaigns | Change::BeginsElection(_) = change {
            self.began_at.get_or_insert(time);
        }
        if let Change::BeginsElection(epoch) | Change::LearnsLeader { epoch, .. } = change {
            self.epochs.insert(epoch);
        }
        if let Some(super_peers) = &mut self.super_peers {
            super_peers.observe(node, change, &self.agreement);
        }
        let before = (self.agreement.is_reached(), self.agreement.leader());
        self.agreement.record_change(node, change);
        if (self.agreement.is_reached(), self.agreement.leader()) != before {
            self.agreement_changed_at = Some(time);
        }
    }
}

/// An election and its cost, as `--json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElectionSummary {
    /// The leader that every live node knows at the end, with its epoch.
    pub leader: Option<NodeId>,
    pub epoch: Option<Epoch>,
    pub election_messages: u64,
    pub announcement_messages: u64,
    /// Number of elections: epochs that nodes reported.
    pub rounds: u64,
    /// Time from the first campaign or election until the agreement that lasted to the end, if any.
    pub time: Option<f64>,
    /// The unit of the time: `T`, one message time, under fixed latency; else `ms`.
    pub time_unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub super_peers: Option<SuperPeers>,
}
