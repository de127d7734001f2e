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
    false_reports: u64,
    aborts: u64,
    detector_messages: u64,
    resolution_messages: u64,
    /// When each deadlocked agent became deadlocked.
    deadlocked_since: BTreeMap<Agent, Time>,
    /// The delays from deadlocks to their reports.
    delays: Vec<Duration>,
}

impl Measures {
    pub fn summary(&self, unit: Duration, unit_name: &'static str) -> DeadlockSummary {
        let in_units = |length: &Duration| length.nanos() as f64 / unit.nanos().max(1) as f64;
        let max_delay = self.delays.iter().max().map(in_units);
        let sum: f64 = self.delays.iter().map(in_units).sum();
        let mean_delay = (!self.delays.is_empty()).then(|| sum / self.delays.len() as f64);
        DeadlockSummary {
            waits: self.waits,
            waits_between_sites: self.waits_between_sites,
            reported_deadlocks: self.reports.len() as u64,
            false_reports: self.false_reports,
            aborts: self.aborts,
            deadlocked_at_end: self
                .actual_waits
                .deadlocked_agents()
                .iter()
                .filter(|agent| !agent.is_resource())
                .map(ToString::to_string)
                .collect(),
            detector_messages: self.detector_messages,
            resolution_messages: self.resolution_messages,
            mean_delay,
            max_delay,
            delay_unit: unit_name,
            reports: self.reports.iter().take(MAX_REPORTS).map(ToString::to_string).collect(),
        }
    }

    fn count_messages(&mut self, class: Class, copies: u64) {
        match class {
            Class::Algorithm => self.detector_messages += copies,
            Class::Announcement => self.resolution_messages += copies,
            Class::Control => {}
        }
    }

    fn record_event(&mut self, time: Time, event: &Event) {
        match event {
            Event::Waits { agent, need, .. } => {
                self.waits += need.awaited().len() as u64;
                self.waits_between_sites +=
                    need.awaited().iter().filter(|other| other.site != agent.site).count() as u64;
            }
            Event::Deadlock(report) => {
                if self.actual_waits.find_objection(report).is_some() {
                    self.false_reports += 1;
                }
                let deadlocked_since =
                    report.waits.iter().filter_map(|wait| self.deadlocked_since.get(&wait.agent)).max();
                self.delays.extend(deadlocked_since.map(|start| time.since(*start)));
                self.reports.push(report.clone());
            }
            Event::Cancelled { .. } => self.aborts += 1,
            Event::Asked { .. }
            | Event::Answers { .. }
            | Event::Runs { .. }
            | Event::Withdrawn { .. }
            | Event::Victim { .. }
            | Event::Refused(_) => {}
        }
        self.actual_waits.record_event(event);
        // Only a new wait completes a deadlock, and only an abort ends one.
        if let Event::Waits { .. } | Event::Cancelled { .. } = event {
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
                self.count_messages(sent.class, u64::from(to != node));
            }
            Moment::Effect { node, effect: ObservedEffect::Multicast { to, sent }, .. } => {
                self.count_messages(sent.class, to.others(*node).count() as u64);
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
    /// Number of waits of one agent for one other agent.
    pub waits: u64,
    /// Of these, the waits for an agent of another site.
    pub waits_between_sites: u64,
    #[serde(rename = "deadlocks_told")]
    pub reported_deadlocks: u64,
    /// Number of reports that did not describe a deadlock when they were made.
    #[serde(rename = "phantoms_told")]
    pub false_reports: u64,
    #[serde(rename = "gave_up")]
    pub aborts: u64,
    #[serde(rename = "stuck_at_end")]
    pub deadlocked_at_end: Vec<String>,
    pub detector_messages: u64,
    pub resolution_messages: u64,
    /// Mean time from the last wait of a deadlock to its report.
    #[serde(rename = "delay_mean")]
    pub mean_delay: Option<f64>,
    #[serde(rename = "delay_most")]
    pub max_delay: Option<f64>,
    /// The unit of delays: `T`, one message time, under fixed latency; else `ms`.
    pub delay_unit: &'static str,
    /// The first few reports.
    pub reports: Vec<String>,
}
