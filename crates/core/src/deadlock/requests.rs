//! Processes that ask each other, and wait: what a detector is fed by.
//!
//! A process asks others, and waits until all of them, or any of them, have let go. Whoever waits does nothing else: it lets go of nothing. This is the model of the
//! papers: a wait is there from the moment when a process asks until the other one lets go, whether or not word of it has arrived.
//!
//! ```text
//! RQ-1  a process asks           → number this time of waiting, send each one asked a request, and tell the detector
//! RQ-2  a request arrives        → note who waits, and tell the detector
//! RQ-3  a process lets go        → send an answer, and tell the detector
//! RQ-4  an answer arrives        → wait for one less; go on if that was enough, and withdraw what is not needed any more
//! RQ-5  a process gives up       → withdraw what it asked, and go on
//! RQ-6  a request is withdrawn   → forget it, and tell the detector
//! RQ-7  the detector tells       → pass it on to the user
//! ```
//!
//! Requests, answers and what is withdrawn are counted as control messages: they are not what it costs to find a deadlock.

use super::{Agent, Command, Detector, Event, Fact, Need, Plan, Refusal, Spell, Stake};
use crate::adapt;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// A site with its processes and its part of a detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requests<D> {
    place: Fixed<Place>,
    processes: Vec<Process>,
    detector: D,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    plan: Arc<Plan>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    spells: Spell,
    need: Option<Need<Agent>>,
    owes: BTreeMap<Agent, Spell>,
    /// When it first asked.
    born: Option<Time>,
}

/// What sites send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message<M> {
    /// I wait for you.
    Request(Letter),
    /// I have let go.
    Answer(Letter),
    /// I wait for you no longer.
    Withdraw(Letter),
    Detector(M),
}

/// Between whom it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Letter {
    pub from: Agent,
    pub to: Agent,
    /// Which time of waiting it is, of the one who waits.
    pub spell: Spell,
}

/// `P0→P1`.
impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.from, self.to)
    }
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Answer(_) => "let-go",
            Self::Withdraw(_) => "withdraw",
            Self::Detector(message) => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Request(letter) | Self::Answer(letter) | Self::Withdraw(letter) => Some(letter),
            Self::Detector(message) => message.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Request(_) | Self::Answer(_) | Self::Withdraw(_) => Class::Control,
            Self::Detector(message) => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Request(letter) | Self::Withdraw(letter) => Some(letter.from.site),
            Self::Answer(letter) => Some(letter.to.site),
            Self::Detector(message) => message.on_behalf_of(),
        }
    }
}

impl<D: Detector> Requests<D> {
    /// A site whose processes run.
    pub fn new(me: NodeId, plan: Arc<Plan>, detector: D) -> Self {
        let processes = alloc::vec![Process::default(); usize::from(plan.processes_at(me))];
        Self { place: Fixed::new(Place { me, plan }), processes, detector }
    }

    fn command(&mut self, now: Time, command: Command, out: &mut Effects<'_, Self>) {
        let number = command.process();
        let Some(process) = self.processes.get(usize::from(number)) else {
            return out.emit(Event::Refused(Refusal::NoSuchProcess));
        };
        let who = Agent::process(self.place.me, number);
        let waits = process.need.is_some();
        match command {
            Command::Ask { .. } | Command::Answer { .. } if waits => out.emit(Event::Refused(Refusal::Waiting)),
            Command::GiveUp { .. } | Command::Look { .. } if !waits => out.emit(Event::Refused(Refusal::NotWaiting)),
            Command::Ask { need, .. } => match self.objection(who, &need) {
                Some(refusal) => out.emit(Event::Refused(refusal)),
                None => self.ask(now, who, need, out),
            },
            Command::Answer { to, .. } => self.let_go(now, who, to, out),
            Command::GiveUp { .. } => self.give_up(now, who, out),
            Command::Look { .. } => self.tell(now, Fact::Look { who }, out),
        }
    }

    fn exists(&self, agent: Agent) -> bool {
        !agent.is_resource() && agent.number < self.place.plan.processes_at(agent.site)
    }

    fn objection(&self, who: Agent, need: &Need<Agent>) -> Option<Refusal> {
        let on = need.on();
        let is_twice = |(place, agent): (usize, &Agent)| on.iter().take(place).any(|other| other == agent);
        if on.is_empty()
            || on.contains(&who)
            || !on.iter().all(|agent| self.exists(*agent))
            || on.iter().enumerate().any(is_twice)
        {
            return Some(Refusal::NobodyToAsk);
        }
        (!self.detector.understands(need)).then_some(Refusal::OtherModel)
    }

    /// RQ-1. The detector hears of it when the requests are on their way, so that whatever it sends comes after them.
    fn ask(&mut self, now: Time, who: Agent, need: Need<Agent>, out: &mut Effects<'_, Self>) {
        let Some(process) = self.processes.get_mut(usize::from(who.number)) else { return };
        process.spells = process.spells.next();
        process.need = Some(need.clone());
        process.born.get_or_insert(now);
        let spell = process.spells;
        let stake = self.stake(who);
        out.note("RQ-1", format_args!("{who} asks {need}"));
        out.emit(Event::Waits { who, spell, need: need.clone() });
        for to in need.on() {
            self.post(now, Message::Request(Letter { from: who, to: *to, spell }), *to, out);
        }
        self.tell(now, Fact::Blocks { who, spell, need, stake }, out);
    }

    /// What a process would lose by giving up: what others wait for is what it holds.
    fn stake(&self, who: Agent) -> Stake {
        let process = self.processes.get(usize::from(who.number));
        let (born, locks) = process.map_or((None, 0), |process| (process.born, process.owes.len() as u32));
        Stake { born: born.unwrap_or_default(), locks, priority: self.place.plan.priority(who.site, who.number) }
    }

    /// RQ-2.
    fn is_asked(&mut self, now: Time, letter: Letter, out: &mut Effects<'_, Self>) {
        let Letter { from, to, spell } = letter;
        let Some(process) = self.processes.get_mut(usize::from(to.number)) else { return };
        process.owes.insert(from, spell);
        out.note("RQ-2", format_args!("{from} waits for {to}"));
        out.emit(Event::Asked { who: to, by: from, spell });
        self.tell(now, Fact::Owes { who: to, to: from, spell }, out);
    }

    /// RQ-3.
    fn let_go(&mut self, now: Time, who: Agent, to: Agent, out: &mut Effects<'_, Self>) {
        let process = self.processes.get_mut(usize::from(who.number));
        let Some(spell) = process.and_then(|process| process.owes.remove(&to)) else {
            return out.emit(Event::Refused(Refusal::NotOwed));
        };
        out.note("RQ-3", format_args!("{who} lets {to} go on"));
        out.emit(Event::Answers { who, to, spell });
        self.tell(now, Fact::Paid { who, to, spell }, out);
        self.post(now, Message::Answer(Letter { from: who, to, spell }), to, out);
    }

    /// RQ-4.
    fn is_answered(&mut self, now: Time, letter: Letter, out: &mut Effects<'_, Self>) {
        let Letter { from, to, spell } = letter;
        let process = self.processes.get_mut(usize::from(to.number)).filter(|process| process.spells == spell);
        let Some(Process { need: Some(need), .. }) = process else {
            return out.note("RQ-4", format_args!("{to} does not wait for it any more"));
        };
        if !need.on().contains(&from) {
            return out.note("RQ-4", format_args!("{to} did not ask {from}"));
        }
        if let Need::All(on) = need
            && on.len() > 1
        {
            on.retain(|agent| *agent != from);
            out.note("RQ-4", format_args!("{to} still waits for {need}"));
            let stake = self.stake(to);
            return self.tell(now, Fact::Eased { who: to, by: from, stake }, out);
        }
        out.note("RQ-4", format_args!("{to} goes on"));
        self.go_on(now, to, Some(from), out);
        out.emit(Event::Runs { who: to, spell });
    }

    /// RQ-5.
    fn give_up(&mut self, now: Time, who: Agent, out: &mut Effects<'_, Self>) {
        let Some(spell) = self.processes.get(usize::from(who.number)).map(|process| process.spells) else { return };
        out.note("RQ-5", format_args!("{who} gives up"));
        out.emit(Event::GaveUp { who, spell });
        self.go_on(now, who, None, out);
    }

    /// It waits no longer; those who have not answered are told so.
    fn go_on(&mut self, now: Time, who: Agent, answered: Option<Agent>, out: &mut Effects<'_, Self>) {
        let Some(process) = self.processes.get_mut(usize::from(who.number)) else { return };
        let Some(need) = process.need.take() else { return };
        let spell = process.spells;
        for to in need.on().iter().filter(|to| Some(**to) != answered) {
            self.post(now, Message::Withdraw(Letter { from: who, to: *to, spell }), *to, out);
        }
        self.tell(now, Fact::Runs { who }, out);
    }

    /// RQ-6.
    fn is_withdrawn(&mut self, now: Time, letter: Letter, out: &mut Effects<'_, Self>) {
        let Letter { from, to, spell } = letter;
        let Some(process) = self.processes.get_mut(usize::from(to.number)) else { return };
        if process.owes.get(&from) != Some(&spell) {
            return out.note("RQ-6", format_args!("{to} has let {from} go on already"));
        }
        process.owes.remove(&from);
        out.note("RQ-6", format_args!("{from} waits for {to} no longer"));
        out.emit(Event::Withdrawn { who: to, by: from });
        self.tell(now, Fact::Paid { who: to, to: from, spell }, out);
    }

    fn take(&mut self, now: Time, from: NodeId, message: Message<D::Message>, out: &mut Effects<'_, Self>) {
        let is_sound = |letter: &Letter| {
            letter.from.site == from
                && self.exists(letter.from)
                && letter.to.site == self.place.me
                && self.exists(letter.to)
        };
        match message {
            Message::Request(letter) if is_sound(&letter) => self.is_asked(now, letter, out),
            Message::Answer(letter) if is_sound(&letter) => self.is_answered(now, letter, out),
            Message::Withdraw(letter) if is_sound(&letter) => self.is_withdrawn(now, letter, out),
            Message::Request(letter) | Message::Answer(letter) | Message::Withdraw(letter) => {
                out.note("RQ-2", format_args!("ignores {letter}, which {from} brought"));
            }
            Message::Detector(message) => self.pass(now, Input::Message { from, message }, out),
        }
    }

    /// To another site a message, within one a plain call.
    fn post(&mut self, now: Time, message: Message<D::Message>, to: Agent, out: &mut Effects<'_, Self>) {
        if to.site == self.place.me {
            self.take(now, to.site, message, out);
        } else {
            out.send(to.site, message);
        }
    }

    fn tell(&mut self, now: Time, fact: Fact, out: &mut Effects<'_, Self>) {
        self.pass(now, Input::Command(fact), out);
    }

    /// RQ-7.
    fn pass(&mut self, now: Time, input: Input<D>, out: &mut Effects<'_, Self>) {
        for finding in adapt::pass(&mut self.detector, now, input, Message::Detector, out) {
            out.emit(Event::from(finding));
        }
    }
}

impl<D: Detector> Protocol for Requests<D> {
    type Command = Command;
    type Message = Message<D::Message>;
    type Timer = D::Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => self.command(now, command, out),
            Input::Message { from, message } => self.take(now, from, message, out),
            Input::Timer(timer) => self.pass(now, Input::Timer(timer), out),
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
