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
    actual_waits: ActualWaits,
    waits: u64,
    waits_between_sites: u64,
    reports: Vec<Report>,
    phantoms: u64,
    aborts: u64,
    detector_messages: u64,
    resolution_messages: u64,
    deadlocked_since: BTreeMap<Agent, Time>,
    /// The delays from deadlocks to their reports.
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
            waits_between_sites: self.waits_between_sites,
            deadlocks_told: self.reports.len() as u64,
            phantoms_told: self.phantoms,
            gave_up: self.aborts,
            stuck_at_end: self
                .actual_waits
                .deadlocked_agents()
                .iter()
                .filter(|agent| !agent.is_resource())
                .map(ToString::to_string)
                .collect(),
            detector_messages: self.detector_messages,
            resolution_messages: self.resolution_messages,
            delay_mean: mean,
            delay_most: slowest,
            delay_unit: unit_name,
            reports: self.reports.iter().take(MAX_REPORTS).map(ToString::to_string).collect(),
        }
    }

    fn count(&mut self, class: Class, copies: u64) {
        match class {
            Class::Algorithm => self.detector_messages += copies,
            Class::Announcement => self.resolution_messages += copies,
            Class::Control => {}
        }
    }

    fn record_event(&mut self, time: Time, event: &Event) {
        match event {
            Event::Waits { agent, need, .. } => {
                self.waits += need.on().len() as u64;
                self.waits_between_sites += need.on().iter().filter(|other| other.site != agent.site).count() as u64;
            }
            Event::Deadlock(report) => {
                if self.actual_waits.objection(report).is_some() {
                    self.phantoms += 1;
                }
                let since = report.waits.iter().filter_map(|wait| self.deadlocked_since.get(&wait.agent)).max();
                self.delays.extend(since.map(|since| time.since(*since)));
                self.reports.push(report.clone());
            }
            Event::GaveUp { .. } => self.aborts += 1,
            Event::Asked { .. }
            | Event::Answers { .. }
            | Event::Runs { .. }
            | Event::Withdrawn { .. }
            | Event::Victim { .. }
            | Event::Refused(_) => {}
        }
        self.actual_waits.record_event(event);
        if let Event::Waits { .. } | Event::GaveUp { .. } = event {
            let deadlocked = self.actual_waits.deadlocked_agents();
            self.deadlocked_since.retain(|agent, _| deadlocked.contains(agent));
            for agent in deadlocked {
                self.deadlocked_since.entry(agent).or_insert(time);
            }
        }
    }
}

/// Maximum number of reports in a summary.
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
