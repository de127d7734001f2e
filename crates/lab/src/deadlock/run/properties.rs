//! The properties that every deadlock detector promises.

use super::actual_waits::ActualWaits;
use super::emitted_event;
use quorate_core::deadlock::{Agent, Command, Event, Report, WaitId};
use quorate_core::{Class, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Observer, Sent};
use quorate_journal::property::{Kind, Verdict, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// Bound on the number of detection messages.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The kinds of messages that count.
    pub kinds: &'static [&'static str],
    /// Messages per wait between two sites.
    pub factor: u64,
}

/// Judges a run by the actual waits, which no detector can see.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    actual_waits: ActualWaits,
    resolves: bool,
    bound: Option<Bound>,
    /// Victims that have not aborted yet, with the reports that chose them.
    victims: BTreeMap<Agent, Report>,
    reported: BTreeSet<(Agent, WaitId)>,
    budget: MessageBudget,
    no_phantom: Option<Violation>,
    bounded: Option<Violation>,
    /// Whether a correct report was made.
    found_any: bool,
    /// When each agent last began to wait.
    waiting_since: BTreeMap<Agent, Time>,
    end: Time,
    /// Number of steps and world events so far. Violations refer to these lines.
    lines: u64,
}

/// The use of a report.
#[derive(Clone, Copy)]
enum ReportUse {
    Report,
    Victim(Agent),
}

/// The number of detection messages that each agent sent and may send.
#[derive(Clone, Debug, Default)]
struct MessageBudget {
    /// For each waiting agent, its number of waits between two sites.
    waits_of: BTreeMap<Agent, u64>,
    /// Sum of `waits_of`.
    open_waits: u64,
    /// Number of all waits between two sites so far.
    all_waits: u64,
    /// For each agent, the number of its detections, and the sum of the open waits at their starts
    /// minus all waits until then.
    detections: BTreeMap<Agent, (u64, i128)>,
    sent_messages: BTreeMap<Agent, u64>,
}

impl MessageBudget {
    fn begin_wait(&mut self, agent: Agent, remote: u64) {
        self.end_wait(agent);
        self.waits_of.insert(agent, remote);
        self.open_waits += remote;
        self.all_waits += remote;
        let (detections, offset) = self.detections.entry(agent).or_default();
        *detections += 1;
        *offset += i128::from(self.open_waits) - i128::from(self.all_waits);
    }

    fn end_wait(&mut self, agent: Agent) {
        self.open_waits -= self.waits_of.remove(&agent).unwrap_or(0);
    }

    /// The expected number of messages of all detections of one agent: one per wait that existed
    /// since the detection started.
    fn allowance(&self, agent: Agent) -> u64 {
        let (detections, offset) = self.detections.get(&agent).copied().unwrap_or_default();
        u64::try_from(i128::from(detections) * i128::from(self.all_waits) + offset).unwrap_or(0)
    }
}

impl Properties {
    pub fn new(resolves: bool, bound: Option<Bound>) -> Self {
        Self { resolves, bound, ..Self::default() }
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let missed = self.undetected_deadlock();
        let happened = self.found_any || missed.is_some();
        let mut verdicts = vec![
            Verdict::judged("no-phantom", Kind::Always, self.no_phantom.clone()),
            Verdict::judged("all-found", Kind::Eventually, missed),
        ];
        if self.bound.is_some() && !self.resolves {
            verdicts.push(Verdict::judged("within-bound", Kind::Always, self.bounded.clone()));
        }
        verdicts.push(Verdict::sometimes("deadlock", happened));
        verdicts
    }

    /// A deadlock at the end that was not reported, or not resolved although victims are chosen.
    fn undetected_deadlock(&self) -> Option<Violation> {
        let deadlocks = self.actual_waits.deadlocks();
        let is_reported = |agent: &Agent| self.reported.iter().any(|(other, _)| other == agent);
        let missed = deadlocks
            .iter()
            .find(|deadlock| self.resolves || !deadlock.waits.iter().any(|(agent, _)| is_reported(agent)))?;
        let since = missed
            .waits
            .iter()
            .filter_map(|(agent, _)| self.waiting_since.get(agent))
            .min()
            .copied()
            .unwrap_or(self.end);
        let waits: Vec<_> = missed.waits.iter().map(|(agent, need)| format!("{agent} waits for {need}")).collect();
        let text = format!("not detected: {}", waits.join(", "));
        Some(Violation { time: self.end, line: self.lines, since, text })
    }

    fn record_event(&mut self, time: Time, event: &Event) {
        match event {
            Event::Waits { agent, need, .. } => {
                self.waiting_since.insert(*agent, time);
                let remote = need.on().iter().filter(|other| other.site != agent.site).count() as u64;
                self.budget.begin_wait(*agent, remote);
            }
            Event::Runs { agent, .. } => self.budget.end_wait(*agent),
            Event::GaveUp { agent, .. } => {
                self.budget.end_wait(*agent);
                self.victims.remove(agent);
            }
            Event::Deadlock(report) => {
                self.found_any |= self.actual_waits.objection(report).is_none();
                self.reported.extend(report.waits.iter().map(|wait| (wait.agent, wait.wait_id)));
                self.judge(time, report, ReportUse::Report);
            }
            Event::Victim { agent, report } => {
                self.judge(time, report, ReportUse::Victim(*agent));
                self.victims.insert(*agent, report.clone());
            }
            Event::Asked { .. } | Event::Answers { .. } | Event::Withdrawn { .. } | Event::Refused(_) => {}
        }
        self.actual_waits.record_event(event);
        self.reported.retain(|(agent, _)| self.actual_waits.waits(*agent));
        if let Event::Answers { .. } | Event::GaveUp { .. } = event {
            for (agent, report) in self.victims.clone() {
                self.judge(time, &report, ReportUse::Victim(agent));
            }
        }
    }

    /// Checks that a report describes an actual deadlock.
    fn judge(&mut self, time: Time, report: &Report, used_as: ReportUse) {
        if self.no_phantom.is_some() {
            return;
        }
        let Some(objection) = self.actual_waits.objection(report) else { return };
        let since =
            report.waits.iter().filter_map(|wait| self.waiting_since.get(&wait.agent)).min().copied().unwrap_or(time);
        let text = match used_as {
            ReportUse::Report => format!("false deadlock report ({report}): {objection}"),
            ReportUse::Victim(agent) => {
                format!("{agent} is the victim of a false deadlock report ({report}): {objection}")
            }
        };
        self.no_phantom = Some(Violation { time, line: self.lines, since, text });
    }

    /// Checks the number of messages of a detection. The first word of a message's label names the
    /// agent whose detection it belongs to.
    fn count_message(&mut self, time: Time, sent: &Sent<'_>) {
        let counts = |bound: &Bound| sent.class == Class::Algorithm && bound.kinds.contains(&sent.kind);
        let Some(bound) = self.bound.filter(counts) else { return };
        let name = sent.label.map(ToString::to_string).unwrap_or_default();
        let Some(agent) = name.split(['→', ':']).next().and_then(|first| first.parse::<Agent>().ok()) else { return };
        let sent_messages = self.budget.sent_messages.entry(agent).or_default();
        *sent_messages += 1;
        let (sent_messages, maximum) = (*sent_messages, bound.factor * self.budget.allowance(agent));
        if sent_messages > maximum && self.bounded.is_none() {
            let text = format!("detections of {agent} sent {sent_messages} messages; expected at most {maximum}");
            self.bounded = Some(Violation { time, line: self.lines, since: Time::ZERO, text });
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
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
