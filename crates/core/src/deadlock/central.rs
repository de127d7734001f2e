//! A central detector (Ho and Ramamoorthy 1982, mended by asking again).
//!
//! Every site reports to one of them who begins to wait and who goes on, and that one looks at the whole graph. But reports take time, and what it sees is what was:
//! one report says that a process waits, and another one, still under way, that somebody has let it go on long before. The cycle that the detector
//! sees then never was: a phantom. So it asks those who are waited for, before it believes what it sees. If none of them has let go, all those waits
//! were there together at the instant when it asked.
//!
//! ```text
//! CD-1  one begins to wait,
//!       is eased, or goes on     → report it to the detector
//! CD-2  a report arrives         → keep it, and search what is known, unless an answer is awaited or somebody is to give up
//! CD-3  a deadlock is seen       → ask the sites of all who are waited for in it whether they have let go
//! CD-4  asked so                 → say which of these waits one has let go of, as soon as word of all of them has arrived
//! CD-5  all have answered        → if none has let go, it is a deadlock; else strike what is out of date, and search again
//! ```
//!
//! Cost: 1 message for each time that somebody begins to wait or goes on, or is eased; for each deadlock that is seen, up to 2 for each site in it.
//!
//! Why it is right: whoever is told to wait had begun before the detector asked, and whoever has not let go when it is asked had not done so before. So at the instant of
//! asking every one of these waits was there. Nobody who is part of a deadlock goes on, unless somebody gives up, which the detector itself decides.
//!
//! Assumes: links keep the order of messages; every message arrives; no node dies.
//!
//! When it fails: without its detector the group finds no deadlock. All reports go there, and it is the bottleneck.
//!
//! Departs from the paper: there all sites are asked twice for all they know, and waits that are in both answers are believed. Two different waits of the same process for the same
//! other one look alike then. Here each time of waiting has a number, and only those are asked whom it concerns.

use super::ledger::Ledger;
use super::resolution::{Errand, Resolution, Ruling, carry_out};
use super::{Agent, Detector, Fact, Facts, Finding, Need, Plan, Report, Spell, Stake, Wait, Waiting};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::model::Links;
use crate::node::NodeId;
use crate::protocol::{Input, Never, Protocol};
use crate::time::Time;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "deadlock-central",
        class: "central",
        summary: "all sites report to one, which sees the whole graph and asks before it believes",
        source: include_str!("central.rs"),
        flaw: None,
        checkable: true,
    },
    waiting: Waiting::Either,
    links: Links::Fifo,
    formula: "1 a change, 2 a site",
    per_wait: None,
    kinds: &["ask", "answer"],
};

/// One site's part of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    place: Fixed<Place>,
    ledger: Ledger,
    resolution: Resolution,
    /// The latest wait of another one that somebody here has let go of.
    settled: BTreeMap<(Agent, Agent), Spell>,
    /// What was asked and is not answered: word of one of these waits has not arrived.
    question: Option<Question>,
    desk: Desk,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    sites: usize,
    desk: NodeId,
    belief: Belief,
}

/// What a central detector makes of what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// It asks those concerned first.
    Confirmed,
    /// It believes it, and phantoms with it.
    AtOnce,
}

/// What the detector knows. At other sites it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Desk {
    waits: BTreeMap<Agent, Wait>,
    /// Whose latest wait was told as part of a deadlock, where nobody gives up.
    told: BTreeMap<Agent, Spell>,
    round: u64,
    inquiry: Option<Inquiry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    round: u64,
    edges: Vec<Edge>,
}

/// A deadlock that was seen, and sites that were asked whether it is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inquiry {
    report: Report,
    missing: BTreeSet<NodeId>,
    /// The waits that are out of date.
    void: BTreeSet<Edge>,
}

/// One waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Edge {
    pub who: Agent,
    pub spell: Spell,
    pub on: Agent,
}

/// What sites send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    /// To the detector: one begins to wait.
    Waits(Wait),
    /// To the detector: one of those whom it waits for has let go.
    Eased { edge: Edge, stake: Stake },
    /// To the detector: it waits no longer.
    Runs { who: Agent, spell: Spell },
    /// From the detector: are these waits still there?
    Ask { round: u64, edges: Vec<Edge> },
    /// To the detector: all but these.
    Answer { round: u64, void: Vec<Edge> },
    /// Which process gives up.
    Ruling(Ruling),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Waits(_) => "waits",
            Self::Eased { .. } => "eased",
            Self::Runs { .. } => "runs",
            Self::Ask { .. } => "ask",
            Self::Answer { .. } => "answer",
            Self::Ruling(ruling) => ruling.kind(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Ruling(ruling) => ruling.class(),
            Self::Waits(_) | Self::Eased { .. } | Self::Runs { .. } | Self::Ask { .. } | Self::Answer { .. } => {
                Class::Algorithm
            }
        }
    }
}

impl Detector for Central {
    fn understands(&self, _need: &Need<Agent>) -> bool {
        true
    }
}

impl Central {
    /// A site's part, where nobody waits.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self::believing(me, plan, Belief::Confirmed)
    }

    /// A site's part, whose detector makes this of what it sees.
    pub fn believing(me: NodeId, plan: &Plan, belief: Belief) -> Self {
        Self {
            place: Fixed::new(Place { me, sites: plan.sites, desk: plan.desk, belief }),
            ledger: Ledger::default(),
            resolution: Resolution::new(me, plan),
            settled: BTreeMap::new(),
            question: None,
            desk: Desk::default(),
        }
    }

    /// CD-1.
    fn learn(&mut self, fact: Fact, out: &mut Effects<'_, Self>) {
        match fact {
            Fact::Blocks { who, spell, need, stake } => {
                let wait = Wait { who, spell, need, stake };
                self.ledger.block(wait.clone());
                out.note("CD-1", format_args!("reports that {who} waits for {}", wait.need));
                self.post(Message::Waits(wait), self.place.desk, out);
            }
            Fact::Eased { who, by, stake } => {
                self.ledger.ease(who, by, stake);
                let Some(spell) = self.ledger.wait(who).map(|wait| wait.spell) else { return };
                out.note("CD-1", format_args!("reports that {by} has let {who} go on"));
                self.post(Message::Eased { edge: Edge { who, spell, on: by }, stake }, self.place.desk, out);
            }
            Fact::Runs { who } => {
                let Some(Wait { spell, .. }) = self.ledger.run(who) else { return };
                out.note("CD-1", format_args!("reports that {who} goes on"));
                self.post(Message::Runs { who, spell }, self.place.desk, out);
                let errands = self.resolution.ran(who, spell, &self.ledger);
                Self::run_errands(errands, out);
                // Where it was the detector's own process that has given up, no ruling arrives: the next deadlock comes up here.
                self.search(out);
            }
            Fact::Paid { who, to, spell } => {
                let settled = self.settled.entry((who, to)).or_default();
                *settled = spell.max(*settled);
                self.ledger.pay(who, to, spell);
                self.testify(out);
            }
            Fact::Owes { who, to, spell } => {
                self.ledger.owe(who, to, spell);
                self.testify(out);
            }
            Fact::Look { .. } => self.search(out),
        }
    }

    /// CD-2.
    fn hear(&mut self, report: impl FnOnce(&mut BTreeMap<Agent, Wait>), out: &mut Effects<'_, Self>) {
        if self.place.me == self.place.desk {
            report(&mut self.desk.waits);
            self.search(out);
        }
    }

    fn search(&mut self, out: &mut Effects<'_, Self>) {
        // What is heard again of a wait that somebody has given up is not worth a look.
        let resolution = &self.resolution;
        self.desk.waits.retain(|_, wait| !resolution.is_over(wait.who, wait.spell));
        while self.place.me == self.place.desk && self.desk.inquiry.is_none() && !self.resolution.is_busy() {
            let Some(report) = self.desk.untold() else { return };
            match self.place.belief {
                Belief::AtOnce => self.believe(report, out),
                Belief::Confirmed => self.inquire(report, out),
            }
        }
    }

    /// CD-3.
    fn inquire(&mut self, report: Report, out: &mut Effects<'_, Self>) {
        out.note("CD-3", format_args!("asks whether it is so: {report}"));
        let mut edges: BTreeMap<NodeId, Vec<Edge>> = BTreeMap::new();
        for Wait { who, spell, need, .. } in &report.waits {
            for on in need.on() {
                edges.entry(on.site).or_default().push(Edge { who: *who, spell: *spell, on: *on });
            }
        }
        self.desk.round = self.desk.round.saturating_add(1);
        let round = self.desk.round;
        let missing = edges.keys().copied().collect();
        self.desk.inquiry = Some(Inquiry { report, missing, void: BTreeSet::new() });
        // The detector's own site is asked last: it answers at once, and may be the only one.
        let own = edges.remove(&self.place.me);
        for (site, edges) in edges {
            out.send(site, Message::Ask { round, edges });
        }
        if let Some(edges) = own {
            self.question = Some(Question { round, edges });
            self.testify(out);
        }
    }

    /// CD-4. A wait of which no word has arrived may be withdrawn again before it does.
    fn testify(&mut self, out: &mut Effects<'_, Self>) {
        let is_void =
            |edge: &Edge| self.settled.get(&(edge.on, edge.who)).is_some_and(|settled| edge.spell <= *settled);
        let is_known = |edge: &Edge| is_void(edge) || self.ledger.owes(edge.on, edge.who, edge.spell);
        let Some(Question { round, edges }) = self.question.take_if(|asked| asked.edges.iter().all(is_known)) else {
            return;
        };
        let void: Vec<_> = edges.into_iter().filter(is_void).collect();
        out.note("CD-4", format_args!("has let go of {} of them", void.len()));
        self.post(Message::Answer { round, void }, self.place.desk, out);
    }

    /// CD-5.
    fn weigh(&mut self, from: NodeId, round: u64, void: Vec<Edge>, out: &mut Effects<'_, Self>) {
        let Some(inquiry) = self.desk.inquiry.as_mut().filter(|_| round == self.desk.round) else { return };
        if !inquiry.missing.remove(&from) {
            return out.note("CD-5", format_args!("ignores what {from} says: it was not asked"));
        }
        inquiry.void.extend(void);
        if !inquiry.missing.is_empty() {
            return;
        }
        let Some(Inquiry { report, void, .. }) = self.desk.inquiry.take() else { return };
        if void.is_empty() {
            out.note("CD-5", format_args!("nobody has let go: it is so"));
            self.believe(report, out);
        } else {
            out.note("CD-5", format_args!("it was a phantom: {} of these waits are over", void.len()));
            for edge in void {
                self.desk.strike(edge);
            }
        }
        self.search(out);
    }

    fn believe(&mut self, report: Report, out: &mut Effects<'_, Self>) {
        if !self.resolution.is_wanted() {
            self.desk.told.extend(report.waits.iter().map(|wait| (wait.who, wait.spell)));
        }
        let errands = self.resolution.found(report, &self.ledger);
        Self::run_errands(errands, out);
    }

    fn take(&mut self, from: NodeId, message: Message, out: &mut Effects<'_, Self>) {
        match message {
            Message::Waits(wait) if wait.who.site == from && self.knows(&wait.need) => {
                self.hear(|waits| drop(waits.insert(wait.who, wait)), out);
            }
            Message::Eased { edge, stake } if edge.who.site == from => {
                if self.place.me == self.place.desk {
                    out.note("CD-2", format_args!("strikes that {} waits for {}", edge.who, edge.on));
                    self.desk.strike(edge);
                    if let Some(wait) = self.desk.waits.get_mut(&edge.who).filter(|wait| wait.spell == edge.spell) {
                        wait.stake = stake;
                    }
                    self.search(out);
                }
            }
            Message::Runs { who, spell } if who.site == from => {
                let is_it = move |_: &Agent, wait: &mut Wait| wait.who != who || wait.spell > spell;
                self.hear(|waits| waits.retain(is_it), out);
            }
            Message::Ask { round, edges } if from == self.place.desk => {
                self.question = Some(Question { round, edges });
                self.testify(out);
            }
            Message::Answer { round, void } => self.weigh(from, round, void, out),
            Message::Ruling(ruling) => {
                let errands = self.resolution.hear(from, ruling, &self.ledger);
                Self::run_errands(errands, out);
                self.search(out);
            }
            Message::Waits(_) | Message::Eased { .. } | Message::Runs { .. } | Message::Ask { .. } => {
                out.note("CD-2", format_args!("ignores what {from} says of others"));
            }
        }
    }

    /// Whether all whom somebody waits for are at sites that there are.
    fn knows(&self, need: &Need<Agent>) -> bool {
        need.on().iter().all(|on| on.site.index() < self.place.sites)
    }

    /// The detector looks whenever it hears anything, so nobody need be told to look again.
    fn run_errands(errands: Vec<Errand>, out: &mut Effects<'_, Self>) {
        carry_out(errands, Message::Ruling, out);
    }

    fn post(&mut self, message: Message, to: NodeId, out: &mut Effects<'_, Self>) {
        if to == self.place.me {
            self.take(to, message, out);
        } else {
            out.send(to, message);
        }
    }
}

impl Desk {
    /// A deadlock among all that is known, of which not every member's wait was part of one that was told. Where one was told and nobody gives
    /// up, others may be behind it: one of several reasons to be stuck hides the rest.
    fn untold(&self) -> Option<Report> {
        let waits: Vec<Wait> = self.waits.values().cloned().collect();
        let by = waits.first()?;
        let is_untold = |wait: &Wait| self.told.get(&wait.who) != Some(&wait.spell);
        let report = Report::among(by, &waits).into_iter().find(|report| report.waits.iter().any(is_untold));
        let behind = || waits.iter().filter(|wait| is_untold(wait)).find_map(|wait| Report::around(wait, &waits));
        let report = report.or_else(|| (!self.told.is_empty()).then(behind).flatten())?;
        let first = report.waits.first()?;
        Some(Report { by: first.who, during: first.spell, ..report })
    }

    /// A wait for somebody is over. Whoever needs only one of several will go on.
    fn strike(&mut self, edge: Edge) {
        let Some(wait) = self.waits.get_mut(&edge.who).filter(|wait| wait.spell == edge.spell) else { return };
        match &mut wait.need {
            Need::All(on) => on.retain(|agent| *agent != edge.on),
            Need::Any(on) if on.contains(&edge.on) => on.clear(),
            Need::Any(_) => {}
        }
    }
}

impl Protocol for Central {
    type Command = Fact;
    type Message = Message;
    type Timer = Never;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(fact) => self.learn(fact, out),
            Input::Message { from, message } => self.take(from, message, out),
            Input::Timer(never) => match never {},
            // A textbook group: nothing is saved, nobody is suspected, and the members never change.
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
