//! Measures the cost of deadlock detection.

use super::actual_waits::ActualWaits;
use super::emitted_event;
use quorate_core::deadlock::{Agent, Command, Event, Report};
use quorate_core::{Class, Duration, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Observer};
use serde::Serialize;
use std::collections::BTreeMap;

/// Waits, reports and messages so far.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    truth: ActualWaits,
    waits: u64,
    /// Number of waits between two sites.
    remote: u64,
    reports: Vec<Report>,
    phantoms: u64,
    victims: u64,
    detector: u64,
    /// Messages that resolve deadlocks.
    rulings: u64,
    stuck_since: BTreeMap<Agent, Time>,
    delays: Vec<Duration>,
}

impl Measures {
    pub fn summary(&self, unit: Duration, unit_name: &'static str) -> DeadlockSummary {
        let in_units = |length: &Duration| length.nanos() as f64 / unit.nanos().max(1) as f64;
        let slowest = self.delays.iter().max().map(in_units);
        let sum: f64 = self.delays.iter().map(in_units).sum();
        let mean = (!self.delays.is_empty()).then(|| sum / self.delays.len() as f64);
        DeadlockSummary {
            waits: self.waits,
            waits_between_sites: self.remote,
            deadlocks_told: self.reports.len() as u64,
            phantoms_told: self.phantoms,
            gave_up: self.victims,
            stuck_at_end: self
                .truth
                .deadlocked_agents()
                .iter()
                .filter(|agent| !agent.is_resource())
                .map(ToString::to_string)
                .collect(),
            detector_messages: self.detector,
            resolution_messages: self.rulings,
            delay_mean: mean,
            delay_most: slowest,
            delay_unit: unit_name,
            reports: self.reports.iter().take(MAX_REPORTS).map(ToString::to_string).collect(),
        }
    }

    fn count(&mut self, class: Class, copies: u64) {
        match class {
            Class::Algorithm => self.detector += copies,
            Class::Announcement => self.rulings += copies,
            Class::Control => {}
        }
    }

    fn record_event(&mut self, time: Time, event: &Event) {
        match event {
            Event::Waits { agent, need, .. } => {
                self.waits += need.on().len() as u64;
                self.remote += need.on().iter().filter(|other| other.site != agent.site).count() as u64;
            }
            Event::Deadlock(report) => {
                if self.truth.objection(report).is_some() {
                    self.phantoms += 1;
                }
                let since = report.waits.iter().filter_map(|wait| self.stuck_since.get(&wait.agent)).max();
                self.delays.extend(since.map(|since| time.since(*since)));
                self.reports.push(report.clone());
            }
            Event::GaveUp { .. } => self.victims += 1,
            Event::Asked { .. }
            | Event::Answers { .. }
            | Event::Runs { .. }
            | Event::Withdrawn { .. }
            | Event::Victim { .. }
            | Event::Refused(_) => {}
        }
        self.truth.record_event(event);
        if let Event::Waits { .. } | Event::GaveUp { .. } = event {
            let stuck = self.truth.deadlocked_agents();
            self.stuck_since.retain(|agent, _| stuck.contains(agent));
            for agent in stuck {
                self.stuck_since.entry(agent).or_insert(time);
            }
        }
    }
}

const MAX_REPORTS: usize = 20;

impl Observer<Command, Event> for Measures {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Effect { node, effect: ObservedEffect::Send { to, sent }, .. } => {
                self.count(sent.class, u64::from(to != node));
            }
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. } => {
                self.count(sent.class, to.others(*node).count() as u64);
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
        if let Some((time, _, event)) = emitted_event(moment) {
            self.record_event(time, event);
        }
    }
}

/// Deadlocks and the cost of their detection, as `--json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeadlockSummary {
    pub waits: u64,
    pub waits_between_sites: u64,
    pub deadlocks_told: u64,
    /// Number of reports that did not describe a deadlock when they were made.
    pub phantoms_told: u64,
    pub gave_up: u64,
    pub stuck_at_end: Vec<String>,
    pub detector_messages: u64,
    pub resolution_messages: u64,
    /// Mean time from the last wait of a deadlock to its report.
    pub delay_mean: Option<f64>,
    pub delay_most: Option<f64>,
    /// The unit of delays: `T`, one message time, under fixed latency; else `ms`.
    pub delay_unit: &'static str,
    /// The first few reports.
    pub reports: Vec<String>,
}
