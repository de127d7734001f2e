//! The properties that every deadlock detector promises, and the bound on messages that some
//! promise.

use super::actual_waits::ActualWaits;
use super::emitted_event;
use quorate_core::deadlock::{Agent, Command, Event, Report};
use quorate_core::{Class, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Observer, Sent};
use quorate_journal::property::{PropertyKind, Verdict, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// Bound on the number of detection messages.
#[derive(Clone, Copy, Debug)]
pub struct MessageBound {
    /// The kinds of messages that count.
    pub kinds: &'static [&'static str],
    /// Messages that one detection may send per wait between two sites.
    pub messages_per_wait: u64,
}

/// Judges a run by the actual waits, which no detector can see.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    actual_waits: ActualWaits,
    has_victims: bool,
    bound: Option<MessageBound>,
    /// Victims that have not aborted yet, with the reports that chose them. A report must remain
    /// correct until its victim aborts.
    pending_victims: BTreeMap<Agent, Report>,
    /// Agents of deadlock reports that have not stopped waiting since.
    reported_agents: BTreeSet<Agent>,
    budget: MessageBudget,
    false_report: Option<Violation>,
    exceeded_bound: Option<Violation>,
    /// Whether a correct report was made. Detectors report each deadlock before they ask its victim
    /// to abort, so the reports of victims need not count.
    has_correct_report: bool,
    /// When each agent last began to wait.
    waiting_since: BTreeMap<Agent, Time>,
    end: Time,
    /// Number of trace lines so far: one for each step and each world event. Violations refer to
    /// them.
    lines: u64,
}

/// Whether a report only announces a deadlock, or also chose a victim.
#[derive(Clone, Copy)]
enum ReportUse {
    Announcement,
    Victim(Agent),
}

/// The number of detection messages that each agent sent and may send.
#[derive(Clone, Debug, Default)]
struct MessageBudget {
    /// For each waiting agent, its number of waits between two sites.
    waits_by_agent: BTreeMap<Agent, u64>,
    /// Sum of `waits_by_agent`.
    current_waits: u64,
    /// Number of waits between two sites so far, including ended ones.
    total_waits: u64,
    /// For each agent, the number of its detections, one for each time that it began to wait, and
    /// an offset: the sum over these detections of `current_waits - total_waits`, both as they were
    /// when the detection started.
    detections: BTreeMap<Agent, (u64, i128)>,
    sent_messages: BTreeMap<Agent, u64>,
}

impl MessageBudget {
    fn begin_wait(&mut self, agent: Agent, remote_waits: u64) {
        self.end_wait(agent);
        self.waits_by_agent.insert(agent, remote_waits);
        self.current_waits += remote_waits;
        self.total_waits += remote_waits;
        let (detections, offset) = self.detections.entry(agent).or_default();
        *detections += 1;
        *offset += i128::from(self.current_waits) - i128::from(self.total_waits);
    }

    fn end_wait(&mut self, agent: Agent) {
        self.current_waits -= self.waits_by_agent.remove(&agent).unwrap_or(0);
    }

    /// Counts, for each detection of the agent, the waits between two sites that existed at its
    /// start or have begun since. Returns the sum over all detections.
    fn waits_during_detections(&self, agent: Agent) -> u64 {
        let (detections, offset) = self.detections.get(&agent).copied().unwrap_or_default();
        u64::try_from(i128::from(detections) * i128::from(self.total_waits) + offset).unwrap_or(0)
    }
}

impl Properties {
    pub fn new(has_victims: bool, bound: Option<MessageBound>) -> Self {
        Self { has_victims, bound, ..Self::default() }
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let missed = self.remaining_deadlock();
        let has_deadlocked = self.has_correct_report || missed.is_some();
        let mut verdicts = vec![
            Verdict::from_violation("no-phantom", PropertyKind::Always, self.false_report.clone()),
            Verdict::from_violation("all-found", PropertyKind::Eventually, missed),
        ];
        // The bound allows an agent one detection each time that it begins to wait, but after an
        // abort the resolver asks agents that still wait to start another.
        if self.bound.is_some() && !self.has_victims {
            verdicts.push(Verdict::from_violation("within-bound", PropertyKind::Always, self.exceeded_bound.clone()));
        }
        verdicts.push(Verdict::sometimes("deadlock", has_deadlocked));
        verdicts
    }

    /// A deadlock at the end that was not reported, or not resolved although victims are chosen.
    fn remaining_deadlock(&self) -> Option<Violation> {
        let deadlocks = self.actual_waits.deadlocks();
        let is_reported = |agent: &Agent| self.reported_agents.contains(agent);
        let missed = deadlocks
            .iter()
            .find(|deadlock| self.has_victims || !deadlock.waits.iter().any(|(agent, _)| is_reported(agent)))?;
        let relevant_from = missed
            .waits
            .iter()
            .filter_map(|(agent, _)| self.waiting_since.get(agent))
            .min()
            .copied()
            .unwrap_or(self.end);
        let waits: Vec<_> = missed.waits.iter().map(|(agent, need)| format!("{agent} waits for {need}")).collect();
        let problem = if self.has_victims { "not resolved" } else { "not detected" };
        let text = format!("{problem}: {}", waits.join(", "));
        Some(Violation { time: self.end, line: self.lines, relevant_from, text })
    }

    fn record_event(&mut self, time: Time, event: &Event) {
        match event {
            Event::Waits { agent, need, .. } => {
                self.waiting_since.insert(*agent, time);
                let remote_waits = need.awaited().iter().filter(|other| other.site != agent.site).count() as u64;
                self.budget.begin_wait(*agent, remote_waits);
            }
            Event::Runs { agent, .. } => self.budget.end_wait(*agent),
            Event::Cancelled { agent, .. } => {
                self.budget.end_wait(*agent);
                self.pending_victims.remove(agent);
            }
            Event::Deadlock(report) => {
                self.has_correct_report |= self.actual_waits.find_objection(report).is_none();
                self.reported_agents.extend(report.waits.iter().map(|wait| wait.agent));
                self.judge(time, report, ReportUse::Announcement);
            }
            Event::Victim { agent, report } => {
                self.judge(time, report, ReportUse::Victim(*agent));
                self.pending_victims.insert(*agent, report.clone());
            }
            Event::Asked { .. } | Event::Answers { .. } | Event::Withdrawn { .. } | Event::Refused(_) => {}
        }
        self.actual_waits.record_event(event);
        self.reported_agents.retain(|agent| self.actual_waits.is_waiting(*agent));
        if let Event::Answers { .. } | Event::Cancelled { .. } = event {
            for (agent, report) in self.pending_victims.clone() {
                self.judge(time, &report, ReportUse::Victim(agent));
            }
        }
    }

    /// Records a violation unless the report describes an actual deadlock.
    fn judge(&mut self, time: Time, report: &Report, used_as: ReportUse) {
        if self.false_report.is_some() {
            return;
        }
        let Some(objection) = self.actual_waits.find_objection(report) else { return };
        let relevant_from =
            report.waits.iter().filter_map(|wait| self.waiting_since.get(&wait.agent)).min().copied().unwrap_or(time);
        let text = match used_as {
            ReportUse::Announcement => format!("false deadlock report ({report}): {objection}"),
            ReportUse::Victim(agent) => {
                format!("{agent} is the victim of a false deadlock report ({report}): {objection}")
            }
        };
        self.false_report = Some(Violation { time, line: self.lines, relevant_from, text });
    }

    /// Counts a message of a detection and checks the bound. A message's label begins with the
    /// agent whose detection it belongs to: `P1→P2` or `P1: P2→P3`.
    fn count_message(&mut self, time: Time, sent: &Sent<'_>) {
        let is_counted = |bound: &MessageBound| sent.class == Class::Algorithm && bound.kinds.contains(&sent.kind);
        let Some(bound) = self.bound.filter(is_counted) else { return };
        let label = sent.label.map(ToString::to_string).unwrap_or_default();
        let Some(agent) = label.split(['→', ':']).next().and_then(|first| first.parse::<Agent>().ok()) else {
            return;
        };
        let sent_messages = self.budget.sent_messages.entry(agent).or_default();
        *sent_messages += 1;
        let (sent_messages, maximum) =
            (*sent_messages, bound.messages_per_wait * self.budget.waits_during_detections(agent));
        if sent_messages > maximum && self.exceeded_bound.is_none() {
            let text = format!("detections of {agent} sent {sent_messages} messages; expected at most {maximum}");
            self.exceeded_bound = Some(Violation { time, line: self.lines, relevant_from: Time::ZERO, text });
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
            // Detectors never multicast, so only sends count.
            Moment::Effect { time, node, effect: ObservedEffect::Send { to, sent } } if to != node => {
                self.count_message(*time, sent);
            }
            Moment::Effect { .. } | Moment::Input { .. } | Moment::World { .. } => {}
        }
        if let Some((time, _, event)) = emitted_event(moment) {
            self.record_event(time, event);
        }
    }
}
