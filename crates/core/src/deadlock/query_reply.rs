//! Queries and replies (Chandy, Misra and Haas 1983, for those who wait for any of those whom they ask).
//!
//! Here a cycle alone is no deadlock: one of those asked may go on and answer. So whoever begins to wait asks all whom it waits for whether they wait too. Each of
//! them that does asks on, and replies when all whom it asked have replied; one that runs says nothing. If all replies come back, everyone who could
//! ever wake the first one up waits, and waits only for others who do: a knot.
//!
//! ```text
//! QR-1  one begins to wait,
//!       or is to look            → send a query to all whom it waits for
//! QR-2  a query arrives at one
//!       who waits                → if this look is new to it, send a query to all whom it waits for; if not, reply at once. One who runs says nothing
//! QR-3  a reply arrives          → if it is the last one that was missing, reply to who asked first; whoever has begun it has found a deadlock
//! QR-4  one waits no longer      → forget the queries that it has not replied to
//! ```
//!
//! Cost: one look takes at most 2 messages for each wait of one site's process for another's, a query and a reply. Those within a site are no messages.
//!
//! Assumes: links keep the order of messages, so that whoever is woken hears of that before a reply that was sent later; every message arrives; no node dies.
//!
//! When it fails: a node that dies never replies, and no deadlock that it is part of is found. On links that reorder, a reply may overtake the word that wakes
//! its receiver, and a deadlock may be told that is none.
//!
//! Departs from the paper: replies name who waits for whom, so that the report can. Who gives up is decided at one desk (RS-1 to RS-7).

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
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// The line of the book's table.
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "deadlock-or",
        class: "diffusion",
        summary: "whoever waits asks all it waits for whether they wait too; if all reply, nobody can wake it",
        source: include_str!("query_reply.rs"),
        flaw: None,
        checkable: true,
    },
    waiting: Waiting::ForAny,
    links: Links::Fifo,
    formula: "≤ 2e",
    per_wait: Some(2),
    kinds: &["query", "reply"],
};

/// One site's part of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryReply {
    place: Fixed<Place>,
    ledger: Ledger,
    resolution: Resolution,
    looks: BTreeMap<Agent, u64>,
    /// What each one here takes part in since it began to wait, by whose look it is.
    pub(crate) parts: BTreeMap<(Agent, Agent), Part>,
    /// What goes from one here to another one here. Between steps there is nothing.
    inside: VecDeque<Message>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    patience: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    look: u64,
    /// Who asked first; nobody if it has begun itself.
    asked_by: Option<Agent>,
    missing: BTreeSet<Agent>,
    /// Who waits, as far as replies have told.
    gathered: Vec<Wait>,
}

/// What sites send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    /// Do you wait?
    Query(Letter),
    /// I do, and so do all whom I wait for.
    Reply {
        letter: Letter,
        /// Who waits, as far as that was not told to others.
        gathered: Vec<Wait>,
    },
    Ruling(Ruling),
}

/// Which look it is, and between whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Letter {
    pub by: Agent,
    pub look: u64,
    pub from: Agent,
    pub to: Agent,
}

/// `P0: P1→P2`.
impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}→{}", self.by, self.from, self.to)
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Query(_) => "query",
            Self::Reply { .. } => "reply",
            Self::Ruling(ruling) => ruling.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Query(letter) | Self::Reply { letter, .. } => Some(letter),
            Self::Ruling(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Query(_) | Self::Reply { .. } => Class::Algorithm,
            Self::Ruling(ruling) => ruling.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Query(letter) | Self::Reply { letter, .. } => Some(letter.by.site),
            Self::Ruling(_) => None,
        }
    }
}

impl Detector for QueryReply {
    fn understands(&self, need: &Need<Agent>) -> bool {
        need.is_any() || need.on().len() == 1
    }
}

impl QueryReply {
    /// A site's part, where nobody waits.
    pub fn new(me: NodeId, plan: &Plan) -> Self {
        Self {
            place: Fixed::new(Place { me, patience: plan.patience }),
            ledger: Ledger::default(),
            resolution: Resolution::new(me, plan),
            looks: BTreeMap::new(),
            parts: BTreeMap::new(),
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
            Fact::Runs { who } => self.run(who, out),
            Fact::Look { who } => self.look(who, out),
            // Whom somebody lets go on, that one hears before any reply; and one answer of several is enough.
            Fact::Eased { .. } | Fact::Owes { .. } | Fact::Paid { .. } => {}
        }
    }

    /// QR-1.
    fn look(&mut self, who: Agent, out: &mut Effects<'_, Self>) {
        if self.ledger.wait(who).is_none() {
            return;
        }
        let look = self.looks.entry(who).or_default();
        *look = look.saturating_add(1);
        let look = *look;
        out.note("QR-1", format_args!("{who} asks all whom it waits for whether they wait"));
        self.spread(who, who, look, None, out);
    }

    /// Somebody takes part in a look: it asks all whom it waits for.
    fn spread(&mut self, who: Agent, by: Agent, look: u64, asked_by: Option<Agent>, out: &mut Effects<'_, Self>) {
        let on = self.ledger.on(who);
        let part = Part { look, asked_by, missing: on.iter().copied().collect(), gathered: Vec::new() };
        self.parts.insert((who, by), part);
        for to in on {
            self.post(Message::Query(Letter { by, look, from: who, to }), to, out);
        }
    }

    /// QR-2.
    fn answer(&mut self, letter: Letter, out: &mut Effects<'_, Self>) {
        let Letter { by, look, from, to } = letter;
        if self.ledger.wait(to).is_none() {
            return out.note("QR-2", format_args!("says nothing: {to} does not wait"));
        }
        match self.parts.get(&(to, by)) {
            Some(part) if part.look > look => out.note("QR-2", format_args!("says nothing: {by} looks anew")),
            Some(part) if part.look == look => {
                out.note("QR-2", format_args!("replies at once: {to} takes part in this look of {by}"));
                let letter = Letter { by, look, from: to, to: from };
                self.post(Message::Reply { letter, gathered: Vec::new() }, from, out);
            }
            Some(_) | None => {
                out.note("QR-2", format_args!("{to} waits, and asks on"));
                self.spread(to, by, look, Some(from), out);
            }
        }
    }

    /// QR-3.
    fn gather(&mut self, letter: Letter, gathered: Vec<Wait>, out: &mut Effects<'_, Self>) {
        let Letter { by, look, from, to } = letter;
        let Some(wait) = self.ledger.wait(to).cloned() else {
            return out.note("QR-3", format_args!("ignores it: {to} does not wait any more"));
        };
        let part = self.parts.get_mut(&(to, by)).filter(|part| part.look == look);
        let Some(part) = part.filter(|part| part.missing.contains(&from)) else {
            return out.note("QR-3", format_args!("ignores it: {to} takes no part in that look of {by}"));
        };
        part.missing.remove(&from);
        part.gathered.extend(gathered);
        if !part.missing.is_empty() {
            return out.note("QR-3", format_args!("{to} still waits for {} more", part.missing.len()));
        }
        let mut gathered = core::mem::take(&mut part.gathered);
        gathered.push(wait.clone());
        match part.asked_by {
            Some(asked_by) => {
                out.note("QR-3", format_args!("{to} has all replies, and replies"));
                let letter = Letter { by, look, from: to, to: asked_by };
                self.post(Message::Reply { letter, gathered }, asked_by, out);
            }
            None => {
                out.note("QR-3", format_args!("{to} has all replies: nobody can wake it"));
                for report in Report::among(&wait, &gathered) {
                    let errands = self.resolution.found(report, &self.ledger);
                    self.run_errands(errands, out);
                }
            }
        }
    }

    /// QR-4.
    fn run(&mut self, who: Agent, out: &mut Effects<'_, Self>) {
        let Some(wait) = self.ledger.run(who) else { return };
        self.parts.retain(|(here, _), _| *here != who);
        if self.place.patience > Duration::ZERO {
            out.cancel_timer(who);
        }
        let errands = self.resolution.ran(who, wait.spell, &self.ledger);
        self.run_errands(errands, out);
    }

    fn take(&mut self, message: Message, from: NodeId, out: &mut Effects<'_, Self>) {
        match message {
            Message::Query(letter) if letter.from.site == from => self.answer(letter, out),
            Message::Reply { letter, gathered } if letter.from.site == from => self.gather(letter, gathered, out),
            Message::Query(letter) | Message::Reply { letter, .. } => {
                out.note("QR-2", format_args!("ignores {letter}, which {from} brought"));
            }
            Message::Ruling(ruling) => {
                let errands = self.resolution.hear(from, ruling, &self.ledger);
                self.run_errands(errands, out);
            }
        }
    }

    fn run_errands(&mut self, errands: Vec<Errand>, out: &mut Effects<'_, Self>) {
        for who in carry_out(errands, Message::Ruling, out) {
            self.look(who, out);
        }
    }

    fn post(&mut self, message: Message, to: Agent, out: &mut Effects<'_, Self>) {
        if to.site == self.place.me {
            self.inside.push_back(message);
        } else {
            out.send(to.site, message);
        }
    }
}

impl Protocol for QueryReply {
    type Command = Fact;
    type Message = Message;
    /// One who has waited for long enough to look.
    type Timer = Agent;
    type Event = Finding;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(fact) => self.learn(fact, out),
            Input::Message { from, message } => self.take(message, from, out),
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
        while let Some(message) = self.inside.pop_front() {
            self.take(message, self.place.me, out);
        }
    }
}
