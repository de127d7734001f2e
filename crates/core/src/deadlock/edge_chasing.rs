//! Edge chasing (Chandy, Misra and Haas 1983, for those who wait for all whom they ask).
//!
//! Whoever begins to wait sends a probe after those it waits for. Each of them that waits too passes the probe on to all whom it waits for in turn. If
//! a probe comes back to the one who sent it, everyone on its way waits for the next one: a cycle, and in this model that is a deadlock. Nobody
//! needs to see the whole graph.
//!
//! ```text
//! EC-1  one begins to wait,
//!       or is to look            → send a probe after each one that it waits for
//! EC-2  a probe arrives          → drop it unless the receiver waits, owes the last one on its way an answer, and has not passed this look on yet;
//!                                  else pass it on to all for whom the receiver waits
//! EC-3  it is at its origin      → a deadlock: its way is the cycle
//! EC-4  one waits no longer      → forget which probes it has passed on
//! ```
//!
//! Cost: one look takes at most one probe for each wait of one site's process for another's: a process passes a look on once. For a deadlock of m processes
//! on n sites books write at most m(n−1)/2. That holds where each waits for one other and n is 3 or more, and where there is one process a site, no two wait
//! for each other, and nobody in it waits for one who is not: that one is sent a probe too. Else it may be more, and twice as many where everyone waits for
//! everyone: two processes on two sites that wait for each other take two probes, and the book says one. Probes within a site are no messages.
//!
//! Assumes: links keep the order of messages, so that a probe arrives after the request that it follows; every message arrives; no node dies.
//!
//! When it fails: a node that dies breaks the chain, and no deadlock behind it is found. On links that reorder, a probe may overtake the request it follows and be
//! dropped: then the deadlock is missed until somebody looks again.
//!
//! Departs from the paper: a probe names its whole way, so that the report can say who waits for whom and all who find the same deadlock choose the same
//! victim; in the paper it names three processes. Who gives up is decided at one desk (RS-1 to RS-7).

use super::ledger::Ledger;
use super::resolution::{Errand, Resolution, Ruling, carry_out};
use super::{Agent, Detector, Fact, Facts, Finding, Need, Plan, Report, Wait, Waiting};
use crate::about::Profile;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::model::Links;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Span, Time};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "deadlock-and",
        class: "edge chasing",
        summary: "a probe follows those who wait; if it comes back, they wait for each other",
        source: include_str!("edge_chasing.rs"),
        flaw: None,
        checkable: true,
    },
    waiting: Waiting::ForAll,
    links: Links::Fifo,
    formula: "≤ e (books: m(n−1)/2)",
    per_wait: Some(1),
    kinds: &["probe"],
};

/// One site's part of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EdgeChasing {
    place: Fixed<Place>,
    ledger: Ledger,
    resolution: Resolution,
    looks: BTreeMap<Agent, u64>,
    /// The latest look of another one that somebody here has passed on, since it began to wait.
    passed: BTreeMap<(Agent, Agent), u64>,
    /// Probes from one here to another one here. Between steps there are none.
    inside: VecDeque<Probe>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    patience: Duration,
}

/// What sites send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    Probe(Probe),
    Ruling(Ruling),
}

/// Follows those who wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Probe {
    pub look: u64,
    /// Its way: the origin first, each with the next one that it waits for. The last one's is the receiver.
    pub way: Vec<Wait>,
}

/// `P0→P1→P2`.
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wait in &self.way {
            write!(f, "{}→", wait.who)?;
        }
        self.way.last().map_or(Ok(()), |last| last.need.fmt(f))
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Probe(_) => "probe",
            Self::Ruling(ruling) => ruling.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Probe(probe) => Some(probe),
            Self::Ruling(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Probe(_) => Class::Algorithm,
            Self::Ruling(ruling) => ruling.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Probe(probe) => probe.way.first().map(|wait| wait.who.site),
            Self::Ruling(_) => None,
        }
    }
}

impl Detector for EdgeChasing {
    fn understands(&self, need: &Need<Agent>) -> bool {
        !need.is_any()
    }
}

impl EdgeChasing {
    /// A site's part, where nobody waits.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self {
            place: Fixed::new(Place { me, patience: plan.patience }),
            ledger: Ledger::default(),
            resolution: Resolution::new(me, plan),
            looks: BTreeMap::new(),
            passed: BTreeMap::new(),
            inside: VecDeque::new(),
        }
    }

    fn learn(&mut self, fact: Fact, out: &mut Effects<'_, Self>) {
        match fact {
            Fact::Blocks { who, spell, need, stake } => {
                self.ledger.block(Wait { who, spell, need, stake });
                if self.place.patience == Duration::ZERO {
                    self.look(who, out);
                } else {
                    out.set_timer(who, Span::exactly(self.place.patience));
                }
            }
            Fact::Eased { who, by, stake } => self.ledger.ease(who, by, stake),
            Fact::Runs { who } => self.run(who, out),
            Fact::Owes { who, to, spell } => self.ledger.owe(who, to, spell),
            Fact::Paid { who, to, spell } => self.ledger.pay(who, to, spell),
            Fact::Look { who } => self.look(who, out),
        }
    }

    /// EC-1.
    fn look(&mut self, who: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait) = self.ledger.wait(who).cloned() else { return };
        let look = self.looks.entry(who).or_default();
        *look = look.saturating_add(1);
        let look = *look;
        out.note("EC-1", format_args!("{who} sends a probe after {}", wait.need));
        self.pursue(&Probe { look, way: Vec::new() }, &wait, out);
    }

    /// One more on a probe's way: it goes on to all for whom that one waits.
    fn pursue(&mut self, probe: &Probe, wait: &Wait, out: &mut Effects<'_, Self>) {
        for next in wait.need.on() {
            let step = Wait { need: Need::All([*next].into()), ..wait.clone() };
            let way = probe.way.iter().cloned().chain([step]).collect();
            let probe = Probe { look: probe.look, way };
            if next.site == self.place.me {
                self.inside.push_back(probe);
            } else {
                out.send(next.site, Message::Probe(probe));
            }
        }
    }

    /// EC-2.
    fn follow(&mut self, probe: &Probe, out: &mut Effects<'_, Self>) {
        let (Some(origin), Some(last)) = (probe.way.first(), probe.way.last()) else { return };
        let [here] = *last.need.on() else { return };
        if !self.ledger.owes(here, last.who, last.spell) {
            return out.note("EC-2", format_args!("drops it: {here} has let {} go on", last.who));
        }
        let Some(wait) = self.ledger.wait(here).cloned() else {
            return out.note("EC-2", format_args!("drops it: {here} does not wait"));
        };
        if here == origin.who {
            return self.close(&wait, probe, out);
        }
        let passed = self.passed.entry((here, origin.who)).or_default();
        if *passed >= probe.look {
            return out.note("EC-2", format_args!("drops it: {here} has passed this look of {} on", origin.who));
        }
        *passed = probe.look;
        out.note("EC-2", format_args!("{here} waits for {}", wait.need));
        self.pursue(probe, &wait, out);
    }

    /// EC-3. Where its origin has begun another wait meanwhile, the way is none any more.
    fn close(&mut self, wait: &Wait, probe: &Probe, out: &mut Effects<'_, Self>) {
        if probe.way.first().is_none_or(|origin| origin.spell != wait.spell) {
            return out.note("EC-3", format_args!("drops it: {} has waited for something else then", wait.who));
        }
        out.note("EC-3", format_args!("it is back: {} waits for itself", wait.who));
        let errands = self.resolution.found(Report::cycle(wait, probe.way.clone()), &self.ledger);
        self.run_errands(errands, out);
    }

    /// EC-4.
    fn run(&mut self, who: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait) = self.ledger.run(who) else { return };
        self.passed.retain(|(here, _), _| *here != who);
        if self.place.patience > Duration::ZERO {
            out.cancel_timer(who);
        }
        let errands = self.resolution.ran(who, wait.spell, &self.ledger);
        self.run_errands(errands, out);
    }

    fn run_errands(&mut self, errands: Vec<Errand>, out: &mut Effects<'_, Self>) {
        for who in carry_out(errands, Message::Ruling, out) {
            self.look(who, out);
        }
    }
}

impl Protocol for EdgeChasing {
    type Command = Fact;
    type Message = Message;
    /// One who has waited for long enough to look.
    type Timer = Agent;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(fact) => self.learn(fact, out),
            Input::Message { from, message: Message::Probe(probe) } => {
                if probe.way.last().is_some_and(|last| last.who.site == from) {
                    self.follow(&probe, out);
                }
            }
            Input::Message { from, message: Message::Ruling(ruling) } => {
                let errands = self.resolution.hear(from, ruling, &self.ledger);
                self.run_errands(errands, out);
            }
            Input::Timer(who) => self.look(who, out),
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
        while let Some(probe) = self.inside.pop_front() {
            self.follow(&probe, out);
        }
    }
}
