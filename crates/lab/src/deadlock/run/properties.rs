//! What must hold of a detector, whichever it is.

use super::told;
use super::truth::Truth;
use quorate_core::deadlock::{Agent, Command, Event, Report, Spell};
use quorate_core::{Class, Time};
use quorate_journal::moment::{Done, Moment, Observer, Sent};
use quorate_journal::property::{Kind, Verdict, Violation};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The kinds of messages that count.
    pub kinds: &'static [&'static str],
    /// How many of them for each wait between two sites.
    pub factor: u64,
}

/// Judges a run against the truth, which no detector sees.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    truth: Truth,
    resolves: bool,
    bound: Option<Bound>,
    /// Who was told to give up and has not.
    doomed: BTreeMap<Agent, Report>,
    told: BTreeSet<(Agent, Spell)>,
    toll: Toll,
    no_phantom: Option<Violation>,
    bounded: Option<Violation>,
    found_any: bool,
    begun: BTreeMap<Agent, Time>,
    end: Time,
    lines: u64,
}

#[derive(Clone, Copy)]
enum Act {
    Tells,
    Dooms(Agent),
}

#[derive(Clone, Debug, Default)]
struct Toll {
    /// For each one who waits, how many waits between two sites it has.
    open: BTreeMap<Agent, u64>,
    alive: u64,
    ever: u64,
    /// For each one, how many looks it began, and how many waits there were by then less all there had ever been.
    looks: BTreeMap<Agent, (u64, i128)>,
    spent: BTreeMap<Agent, u64>,
}

impl Toll {
    fn begins(&mut self, who: Agent, remote: u64) {
        self.ends(who);
        self.open.insert(who, remote);
        self.alive += remote;
        self.ever += remote;
        let (looks, head_start) = self.looks.entry(who).or_default();
        *looks += 1;
        *head_start += i128::from(self.alive) - i128::from(self.ever);
    }

    fn ends(&mut self, who: Agent) {
        self.alive -= self.open.remove(&who).unwrap_or(0);
    }

    /// One message for each wait that there has been since a look began, for all looks of one.
    fn allowance(&self, who: Agent) -> u64 {
        let (looks, head_start) = self.looks.get(&who).copied().unwrap_or_default();
        u64::try_from(i128::from(looks) * i128::from(self.ever) + head_start).unwrap_or(0)
    }
}

impl Properties {
    pub fn new(resolves: bool, bound: Option<Bound>) -> Self {
        Self { resolves, bound, ..Self::default() }
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let missed = self.missed();
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

    /// A deadlock that is there at the end although somebody was to give up, or of which nobody was told.
    fn missed(&self) -> Option<Violation> {
        let deadlocks = self.truth.deadlocks();
        let is_told = |who: &Agent| self.told.iter().any(|(agent, _)| agent == who);
        let missed = deadlocks.iter().find(|one| self.resolves || !one.waits.iter().any(|(who, _)| is_told(who)))?;
        let since = missed.waits.iter().filter_map(|(who, _)| self.begun.get(who)).min().copied().unwrap_or(self.end);
        let waits: Vec<_> = missed.waits.iter().map(|(who, need)| format!("{who} waits for {need}")).collect();
        let text = format!("nobody has found that {}", waits.join(", "));
        Some(Violation { time: self.end, line: self.lines, since, text })
    }

    fn hear(&mut self, time: Time, event: &Event) {
        match event {
            Event::Waits { who, need, .. } => {
                self.begun.insert(*who, time);
                let remote = need.on().iter().filter(|agent| agent.site != who.site).count() as u64;
                self.toll.begins(*who, remote);
            }
            Event::Runs { who, .. } => self.toll.ends(*who),
            Event::GaveUp { who, .. } => {
                self.toll.ends(*who);
                self.doomed.remove(who);
            }
            Event::Deadlock(report) => {
                self.found_any |= self.truth.objection(report).is_none();
                self.told.extend(report.waits.iter().map(|wait| (wait.who, wait.spell)));
                self.judge(time, report, Act::Tells);
            }
            Event::Victim { who, report } => {
                self.judge(time, report, Act::Dooms(*who));
                self.doomed.insert(*who, report.clone());
            }
            Event::Asked { .. } | Event::Answers { .. } | Event::Withdrawn { .. } | Event::Refused(_) => {}
        }
        self.truth.hear(event);
        self.told.retain(|(who, _)| self.truth.waits(*who));
        if let Event::Answers { .. } | Event::GaveUp { .. } = event {
            for (who, report) in self.doomed.clone() {
                self.judge(time, &report, Act::Dooms(who));
            }
        }
    }

    fn judge(&mut self, time: Time, report: &Report, act: Act) {
        if self.no_phantom.is_some() {
            return;
        }
        let Some(objection) = self.truth.objection(report) else { return };
        let since = report.waits.iter().filter_map(|wait| self.begun.get(&wait.who)).min().copied().unwrap_or(time);
        let text = match act {
            Act::Tells => format!("a phantom is told ({report}), but {objection}"),
            Act::Dooms(who) => format!("{who} is to give up for a phantom ({report}), but {objection}"),
        };
        self.no_phantom = Some(Violation { time, line: self.lines, since, text });
    }

    /// A message says whose look it belongs to in the first word of what it is called.
    fn count(&mut self, time: Time, sent: &Sent<'_>) {
        let counts = |bound: &Bound| sent.class == Class::Algorithm && bound.kinds.contains(&sent.kind);
        let Some(bound) = self.bound.filter(counts) else { return };
        let name = sent.label.map(ToString::to_string).unwrap_or_default();
        let Some(who) = name.split(['→', ':']).next().and_then(|first| first.parse::<Agent>().ok()) else { return };
        let spent = self.toll.spent.entry(who).or_default();
        *spent += 1;
        let (spent, most) = (*spent, bound.factor * self.toll.allowance(who));
        if spent > most && self.bounded.is_none() {
            let text = format!("looks of {who} have taken {spent} messages, and {most} should do");
            self.bounded = Some(Violation { time, line: self.lines, since: Time::ZERO, text });
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        match moment {
            Moment::Effect { time, node, effect: Done::Send { to, sent } } if to != node => self.count(*time, sent),
            Moment::Effect { .. } | Moment::Input { .. } | Moment::World { .. } => {}
        }
        if let Some((time, _, event)) = told(moment) {
            self.hear(time, event);
        }
    }
}
