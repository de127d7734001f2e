//! Who gives up: deadlocks are decided one after the other, at one desk.
//!
//! A detector finds deadlocks where it finds them, several at once, and often the same one several times. If each were broken there and then, more would
//! give up than must: whoever was found in two deadlocks breaks both, and what is done about the second is done about a phantom. So all that is found
//! goes to one desk. It asks one process to give up, waits until that has happened, and only then looks at the next report. A report that names a wait
//! which is over by then is dismissed, and whoever found it looks again.
//!
//! ```text
//! RS-1  a deadlock is found       → tell it, if nobody is to give up; else send it to the desk
//! RS-2  it is heard of, or comes
//!       up at the desk            → dismiss it if a wait that it names is over: whoever found it is to look again
//! RS-3  it stands                 → choose who gives up, tell it, and have the victim told; the next one waits
//! RS-4  to give up                → tell the process, if it still waits; else say that it has
//! RS-5  the victim has given up   → say so to the desk
//! RS-6  that is heard at the desk → have whoever found it look again, for it may be in another one; take up the next report
//! RS-7  to look again             → do so, if one still waits
//! ```
//!
//! Why nothing is done about a phantom: nobody in a deadlock goes on until one of them gives up, and nobody gives up unless the desk says so. So what is
//! found is a deadlock, unless one whom it names gave up before or since. When the desk chooses a victim, nobody else has been chosen whose wait is not
//! over, and no wait that this report names is: so it is a deadlock, and stays one until the victim gives up.
//!
//! Assumes: nobody gives up unasked. The desk does not hear of one who does, and may have somebody else give up for what that one has broken already.

use super::ledger::Ledger;
use super::{Agent, Finding, Plan, Policy, Report, Spell};
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::node::NodeId;
use crate::protocol::Protocol;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// What sites tell each other of who gives up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Ruling {
    /// To the desk: this was found.
    Found(Report),
    /// To the victim's site: it is to give up.
    Doom(Report),
    /// To the desk: it has.
    Yielded { who: Agent, spell: Spell },
    /// To whoever found a deadlock: look again.
    Again { who: Agent, spell: Spell },
}

impl Describe for Ruling {
    fn kind(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Doom(_) => "doom",
            Self::Yielded { .. } => "yielded",
            Self::Again { .. } => "again",
        }
    }

    /// Not part of what it costs to find a deadlock.
    fn class(&self) -> Class {
        Class::Announcement
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Send(NodeId, Ruling),
    /// The rule of it that was applied, and why.
    Note(&'static str, &'static str, Agent),
    Tell(Finding),
    Look(Agent),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resolution {
    terms: Fixed<Terms>,
    doomed: BTreeMap<Agent, Spell>,
    /// At the desk: what was found and not looked at.
    queue: VecDeque<Report>,
    /// At the desk: what is being resolved.
    current: Option<Report>,
    /// At the desk: who has given up, and when last.
    over: BTreeMap<Agent, Spell>,
}

#[derive(Debug)]
struct Terms {
    me: NodeId,
    sites: usize,
    desk: NodeId,
    policy: Option<Policy>,
}

impl Resolution {
    pub(super) fn new(me: NodeId, plan: &Plan) -> Self {
        Self {
            terms: Fixed::new(Terms { me, sites: plan.sites, desk: plan.desk, policy: plan.victim }),
            doomed: BTreeMap::new(),
            queue: VecDeque::new(),
            current: None,
            over: BTreeMap::new(),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.terms.policy.is_some()
    }

    /// At the desk: whether somebody is to give up and has not.
    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some()
    }

    /// At the desk: whether somebody has given this wait up.
    pub(super) fn is_over(&self, who: Agent, spell: Spell) -> bool {
        self.over.get(&who).is_some_and(|over| spell <= *over)
    }

    /// RS-1.
    pub(super) fn found(&mut self, report: Report, ledger: &Ledger) -> Vec<Errand> {
        if self.terms.policy.is_none() {
            return [
                Errand::Note("RS-1", "tells of a deadlock that holds", report.by),
                Errand::Tell(Finding::Deadlock(report)),
            ]
            .into();
        }
        let mut errands = alloc::vec![Errand::Note("RS-1", "sends the desk a deadlock that holds", report.by)];
        self.post(self.terms.desk, Ruling::Found(report), ledger, &mut errands);
        errands
    }

    /// A ruling arrives. The desk hears of everyone from its own site only.
    pub(super) fn hear(&mut self, from: NodeId, ruling: Ruling, ledger: &Ledger) -> Vec<Errand> {
        let mut errands = Vec::new();
        let (at_desk, of_desk) = (self.terms.me == self.terms.desk, from == self.terms.desk);
        let is_for_us = match &ruling {
            Ruling::Found(report) => at_desk && report.by.site == from && self.knows(report),
            Ruling::Yielded { who, .. } => at_desk && who.site == from,
            Ruling::Doom(_) | Ruling::Again { .. } => of_desk,
        };
        if is_for_us {
            self.take(ruling, ledger, &mut errands);
        }
        errands
    }

    /// Whether all whom it names are at sites that there are.
    fn knows(&self, report: &Report) -> bool {
        report.waits.iter().all(|wait| wait.who.site.index() < self.terms.sites)
    }

    /// RS-5. Somebody here waits no longer.
    pub(super) fn ran(&mut self, who: Agent, spell: Spell, ledger: &Ledger) -> Vec<Errand> {
        let mut errands = Vec::new();
        if self.doomed.get(&who) == Some(&spell) {
            self.doomed.remove(&who);
            errands.push(Errand::Note("RS-5", "says that it has given up:", who));
            self.post(self.terms.desk, Ruling::Yielded { who, spell }, ledger, &mut errands);
        }
        errands
    }

    fn take(&mut self, ruling: Ruling, ledger: &Ledger, errands: &mut Vec<Errand>) {
        match ruling {
            Ruling::Found(report) => {
                self.queue.push_back(report);
                self.consider(ledger, errands);
            }
            Ruling::Doom(report) => self.doom(report, ledger, errands),
            Ruling::Yielded { who, spell } => self.conclude(who, spell, ledger, errands),
            Ruling::Again { who, spell } => again(who, spell, ledger, errands),
        }
    }

    /// RS-2. One at a time.
    fn consider(&mut self, ledger: &Ledger, errands: &mut Vec<Errand>) {
        while self.current.is_none()
            && let Some(report) = self.queue.pop_front()
        {
            if report.waits.iter().any(|wait| self.is_over(wait.who, wait.spell)) {
                errands.push(Errand::Note("RS-2", "dismisses what is broken already; it was found by", report.by));
                self.send_again(&report, ledger, errands);
                continue;
            }
            self.choose(report, ledger, errands);
        }
    }

    /// RS-3.
    fn choose(&mut self, report: Report, ledger: &Ledger, errands: &mut Vec<Errand>) {
        let Some(victim) = self.terms.policy.and_then(|policy| policy.choose(report.candidates())) else { return };
        let report = Report { victim: Some(victim), ..report };
        errands.push(Errand::Note("RS-3", "chooses who gives up:", victim));
        errands.push(Errand::Tell(Finding::Deadlock(report.clone())));
        self.current = Some(report.clone());
        self.post(victim.site, Ruling::Doom(report), ledger, errands);
    }

    /// RS-4.
    fn doom(&mut self, report: Report, ledger: &Ledger, errands: &mut Vec<Errand>) {
        let Some((who, spell)) = report.victim.and_then(|who| Some((who, report.spell(who)?))) else { return };
        if ledger.wait(who).is_none_or(|wait| wait.spell != spell) {
            errands.push(Errand::Note("RS-4", "waits no longer:", who));
            return self.post(self.terms.desk, Ruling::Yielded { who, spell }, ledger, errands);
        }
        errands.push(Errand::Note("RS-4", "is told to give up:", who));
        self.doomed.insert(who, spell);
        errands.push(Errand::Tell(Finding::Victim { who, report }));
    }

    /// RS-6.
    fn conclude(&mut self, who: Agent, spell: Spell, ledger: &Ledger, errands: &mut Vec<Errand>) {
        let is_current = |report: &mut Report| report.victim == Some(who) && report.spell(who) == Some(spell);
        let Some(report) = self.current.take_if(is_current) else { return };
        errands.push(Errand::Note("RS-6", "hears that it is resolved by", who));
        let over = self.over.entry(who).or_default();
        *over = spell.max(*over);
        if report.by != who {
            self.send_again(&report, ledger, errands);
        }
        self.consider(ledger, errands);
    }

    fn send_again(&mut self, report: &Report, ledger: &Ledger, errands: &mut Vec<Errand>) {
        let Report { by, during, .. } = *report;
        self.post(by.site, Ruling::Again { who: by, spell: during }, ledger, errands);
    }

    fn post(&mut self, to: NodeId, ruling: Ruling, ledger: &Ledger, errands: &mut Vec<Errand>) {
        if to == self.terms.me {
            self.take(ruling, ledger, errands);
        } else {
            errands.push(Errand::Send(to, ruling));
        }
    }
}

/// Does what is to be done. Returns who is to look again.
pub(super) fn carry_out<P: Protocol<Event = Finding>>(
    errands: Vec<Errand>,
    wrap: fn(Ruling) -> P::Message,
    out: &mut Effects<'_, P>,
) -> Vec<Agent> {
    let mut lookers = Vec::new();
    for errand in errands {
        match errand {
            Errand::Send(to, ruling) => out.send(to, wrap(ruling)),
            Errand::Note(rule, text, who) => out.note(rule, format_args!("{text} {who}")),
            Errand::Tell(finding) => out.emit(finding),
            Errand::Look(who) => lookers.push(who),
        }
    }
    lookers
}

/// RS-7.
fn again(who: Agent, spell: Spell, ledger: &Ledger, errands: &mut Vec<Errand>) {
    if ledger.wait(who).is_some_and(|wait| wait.spell == spell) {
        errands.push(Errand::Note("RS-7", "looks again:", who));
        errands.push(Errand::Look(who));
    }
}
