//! Resources behind locks, each with a coordinator of its own: what a detector is fed by.
//!
//! A process asks for resources, and each of them is a lock of the mutex family (`mutex::central`): its coordinator grants one request at a time. A
//! process waits for a resource until it is granted, and a resource that somebody holds waits for that one to let go. So there is one kind of wait, and a
//! detector need not know of locks. Two processes that take two resources in opposite orders are the oldest deadlock there is, and no
//! coordinator sees more than half of it.
//!
//! ```text
//! LK-1  a process asks           → ask the coordinators of all these resources, and tell the detector
//! LK-2  a request arrives        → the resource is waited for: tell the detector
//! LK-3  a resource is granted    → it has let the process go on, and waits for it from now on; free again, it waits for nobody
//! LK-4  the grant arrives        → the process has it: wait for one less, or go on. One that was given up goes back by itself
//! LK-5  a process lets go        → give the resource back
//! LK-6  a process gives up       → give all requests back, and go on with what it has
//! LK-7  the detector tells       → pass it on to the user
//! ```
//!
//! The locks' messages are counted as control messages: they are not what it costs to find a deadlock.

use super::{Agent, Command, Detector, Event, Fact, Need, Plan, Refusal, Spell, Stake};
use crate::adapt;
use crate::describe::{Class, Describe};
use crate::effects::Effects;
use crate::fixed::Fixed;
use crate::group::Group;
use crate::mutex;
use crate::mutex::central::{self, Central, Ticket};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

#[cfg(test)]
mod tests;

/// A site with its process, its part of every lock, and its part of a detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locks<D> {
    place: Fixed<Place>,
    locks: Vec<Lock>,
    process: Process,
    detector: D,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    plan: Arc<Plan>,
    resources: Vec<Agent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lock {
    lock: Central,
    /// At its coordinator: who waits for it, and which time of waiting that is.
    asked: BTreeMap<NodeId, Spell>,
    /// At its coordinator: which time it is that it waits for somebody to let go.
    spell: Spell,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    spells: Spell,
    need: Option<Vec<Agent>>,
    /// What it has, each with which of the resource's times of waiting that is.
    has: BTreeMap<Agent, Spell>,
    /// When it first asked.
    born: Option<Time>,
}

/// What sites send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message<M> {
    Lock(LockMessage),
    Detector(M),
}

/// A message of one of the locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LockMessage {
    pub lock: u16,
    /// How often the sender's process has waited.
    pub spell: Spell,
    pub message: central::Message,
    pub resource: Agent,
}

/// A timer of a lock, or of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Timer<T> {
    Lock(u16, central::Timer),
    Detector(T),
}

/// `R1`.
impl fmt::Display for LockMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(f)
    }
}

impl<M: Describe> Describe for Message<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Lock(lock) => lock.message.kind(),
            Self::Detector(message) => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Lock(lock) => Some(lock),
            Self::Detector(message) => message.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Lock(_) => Class::Control,
            Self::Detector(message) => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Lock(lock) => lock.message.on_behalf_of(),
            Self::Detector(message) => message.on_behalf_of(),
        }
    }
}

impl<D: Detector> Locks<D> {
    /// A site whose process runs and holds nothing.
    pub fn new(me: NodeId, plan: Arc<Plan>, detector: D) -> Self {
        let group = Group::of_size(plan.sites);
        let lock = |coordinator: &NodeId| Lock {
            lock: Central::with_coordinator(me, group.clone(), *coordinator),
            asked: BTreeMap::new(),
            spell: Spell::default(),
        };
        let locks = plan.resources.iter().map(lock).collect();
        let resources = plan.resources().collect();
        Self { place: Fixed::new(Place { me, plan, resources }), locks, process: Process::default(), detector }
    }

    fn me(&self) -> Agent {
        Agent::process(self.place.me, 0)
    }

    fn number_of(&self, resource: Agent) -> Option<usize> {
        self.place.resources.iter().position(|known| *known == resource)
    }

    fn command(&mut self, now: Time, command: Command, out: &mut Effects<'_, Self>) {
        let waits = self.process.need.is_some();
        match command {
            command if command.process() != 0 => out.emit(Event::Refused(Refusal::NoSuchProcess)),
            Command::Ask { .. } | Command::Answer { .. } if waits => out.emit(Event::Refused(Refusal::Waiting)),
            Command::GiveUp { .. } | Command::Look { .. } if !waits => out.emit(Event::Refused(Refusal::NotWaiting)),
            Command::Ask { need, .. } => match self.objection(&need) {
                Some(refusal) => out.emit(Event::Refused(refusal)),
                None => self.ask(now, need, out),
            },
            Command::Answer { to, .. } => self.let_go(now, to, out),
            Command::GiveUp { .. } => self.give_up(now, out),
            Command::Look { .. } => self.tell(now, Fact::Look { who: self.me() }, out),
        }
    }

    fn objection(&self, need: &Need<Agent>) -> Option<Refusal> {
        let on = need.on();
        let is_wrong = |(place, resource): (usize, &Agent)| {
            let is_twice = on.iter().take(place).any(|other| other == resource);
            is_twice || self.number_of(*resource).is_none() || self.process.has.contains_key(resource)
        };
        if on.is_empty() || on.iter().enumerate().any(is_wrong) {
            return Some(Refusal::NobodyToAsk);
        }
        (need.is_any() || !self.detector.understands(need)).then_some(Refusal::OtherModel)
    }

    /// LK-1. The detector hears of it when the requests are on their way, so that whatever it sends comes after them.
    fn ask(&mut self, now: Time, need: Need<Agent>, out: &mut Effects<'_, Self>) {
        let who = self.me();
        self.process.spells = self.process.spells.next();
        self.process.need = Some(need.on().to_vec());
        let spell = self.process.spells;
        self.process.born.get_or_insert(now);
        out.note("LK-1", format_args!("{who} asks for {need}"));
        out.emit(Event::Waits { who, spell, need: need.clone() });
        for resource in need.on() {
            let Some(number) = self.number_of(*resource) else { continue };
            if resource.site == self.place.me {
                self.is_asked(now, number, who.site, spell, out);
            }
            self.pass_lock(now, number, Input::Command(mutex::Command::Acquire), out);
        }
        // What its own site coordinates it may have got by now. It waits for the rest.
        if let Some(rest) = self.process.need.clone() {
            self.tell(now, Fact::Blocks { who, spell, need: Need::All(rest), stake: self.stake() }, out);
        }
    }

    fn stake(&self) -> Stake {
        let Process { born, has, .. } = &self.process;
        let priority = self.place.plan.priority(self.place.me, 0);
        Stake { born: born.unwrap_or_default(), locks: has.len() as u32, priority }
    }

    /// LK-2.
    fn is_asked(&mut self, now: Time, number: usize, by: NodeId, spell: Spell, out: &mut Effects<'_, Self>) {
        let (Some(lock), Some(who)) = (self.locks.get_mut(number), self.place.resources.get(number).copied()) else {
            return;
        };
        lock.asked.insert(by, spell);
        let by = Agent::process(by, 0);
        out.note("LK-2", format_args!("{by} waits for {who}"));
        out.emit(Event::Asked { who, by, spell });
        self.tell(now, Fact::Owes { who, to: by, spell }, out);
    }

    /// LK-3. Returns the wait that has begun, if any. The detector is to hear of it when the process knows that it has the resource: that one
    /// waits for it no longer, and is waited for instead.
    fn observe(
        &mut self,
        now: Time,
        number: usize,
        before: Option<Ticket>,
        out: &mut Effects<'_, Self>,
    ) -> Option<Fact> {
        let (lock, who) = (self.locks.get_mut(number)?, self.place.resources.get(number).copied()?);
        let (after, fence) = (lock.lock.holder(), lock.lock.fence());
        if before == after {
            return None;
        }
        if before.is_some() {
            let spell = lock.spell;
            out.note("LK-3", format_args!("{who} is free"));
            out.emit(Event::Runs { who, spell });
            self.tell(now, Fact::Runs { who }, out);
        }
        let ticket = after?;
        let lock = self.locks.get_mut(number)?;
        let asked = lock.asked.remove(&ticket.node).unwrap_or_default();
        let spell = Spell(fence.counter);
        lock.spell = spell;
        let holder = Agent::process(ticket.node, 0);
        out.note("LK-3", format_args!("{who} is granted to {holder}"));
        out.emit(Event::Answers { who, to: holder, spell: asked });
        self.tell(now, Fact::Paid { who, to: holder, spell: asked }, out);
        let need = Need::All([holder].into());
        out.emit(Event::Waits { who, spell, need: need.clone() });
        Some(Fact::Blocks { who, spell, need, stake: Stake::default() })
    }

    /// LK-4.
    fn enter(&mut self, now: Time, Entry { number, spell }: Entry, out: &mut Effects<'_, Self>) {
        let (who, Some(resource)) = (self.me(), self.place.resources.get(number).copied()) else { return };
        self.process.has.insert(resource, spell);
        out.note("LK-4", format_args!("{who} has {resource}"));
        out.emit(Event::Asked { who, by: resource, spell });
        self.tell(now, Fact::Owes { who, to: resource, spell }, out);
        let Some(need) = &mut self.process.need else { return };
        need.retain(|other| *other != resource);
        if !need.is_empty() {
            let stake = self.stake();
            return self.tell(now, Fact::Eased { who, by: resource, stake }, out);
        }
        self.process.need = None;
        self.tell(now, Fact::Runs { who }, out);
        out.emit(Event::Runs { who, spell: self.process.spells });
    }

    /// LK-4. The lock has given it back.
    fn return_unused(&mut self, now: Time, number: usize, spell: Spell, out: &mut Effects<'_, Self>) {
        let (who, Some(to)) = (self.me(), self.place.resources.get(number).copied()) else { return };
        out.note("LK-4", format_args!("{who} has given up {to} before"));
        self.tell(now, Fact::Paid { who, to, spell }, out);
    }

    /// LK-5.
    fn let_go(&mut self, now: Time, resource: Agent, out: &mut Effects<'_, Self>) {
        let who = self.me();
        let (Some(spell), Some(number)) = (self.process.has.remove(&resource), self.number_of(resource)) else {
            return out.emit(Event::Refused(Refusal::NotOwed));
        };
        out.note("LK-5", format_args!("{who} lets go of {resource}"));
        out.emit(Event::Answers { who, to: resource, spell });
        self.tell(now, Fact::Paid { who, to: resource, spell }, out);
        self.pass_lock(now, number, Input::Command(mutex::Command::Release), out);
    }

    /// LK-6.
    fn give_up(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Some(need) = self.process.need.take() else { return };
        let (who, spell) = (self.me(), self.process.spells);
        out.note("LK-6", format_args!("{who} gives up"));
        out.emit(Event::GaveUp { who, spell });
        for resource in need {
            let Some(number) = self.number_of(resource) else { continue };
            if resource.site == self.place.me {
                self.is_withdrawn(now, number, who.site, out);
            }
            self.pass_lock(now, number, Input::Command(mutex::Command::Cancel), out);
        }
        self.tell(now, Fact::Runs { who }, out);
    }

    /// LK-6. Of a request that was granted, the lock itself knows more.
    fn is_withdrawn(&mut self, now: Time, number: usize, by: NodeId, out: &mut Effects<'_, Self>) {
        let (Some(lock), Some(who)) = (self.locks.get_mut(number), self.place.resources.get(number).copied()) else {
            return;
        };
        let Some(spell) = lock.asked.remove(&by) else { return };
        let by = Agent::process(by, 0);
        out.note("LK-6", format_args!("{by} waits for {who} no longer"));
        out.emit(Event::Withdrawn { who, by });
        self.tell(now, Fact::Paid { who, to: by, spell }, out);
    }

    fn take(&mut self, now: Time, from: NodeId, message: LockMessage, out: &mut Effects<'_, Self>) {
        let LockMessage { lock, spell, message, resource } = message;
        let number = usize::from(lock);
        if self.place.resources.get(number) != Some(&resource) {
            return out.note("LK-2", format_args!("ignores a message of {resource}, which is not known"));
        }
        let is_sound = match &message {
            central::Message::Request { ticket, .. } | central::Message::Release { ticket, .. } => {
                resource.site == self.place.me && ticket.node == from
            }
            central::Message::Grant { ticket, .. } | central::Message::Denied { ticket } => {
                resource.site == from && ticket.node == self.place.me
            }
        };
        if !is_sound {
            return out.note("LK-2", format_args!("ignores a message of {resource}, which {from} brought"));
        }
        let granted = match &message {
            central::Message::Request { .. } => {
                self.is_asked(now, number, from, spell, out);
                None
            }
            central::Message::Release { .. } => {
                self.is_withdrawn(now, number, from, out);
                None
            }
            central::Message::Grant { fence, .. } => Some(Spell(fence.counter)),
            central::Message::Denied { .. } => None,
        };
        let has_entered = self.pass_lock(now, number, Input::Message { from, message }, out);
        if let Some(spell) = granted.filter(|_| !has_entered) {
            self.return_unused(now, number, spell, out);
        }
    }

    /// A lock takes an input. Tells whether it has let the process in.
    fn pass_lock(&mut self, now: Time, number: usize, input: Input<Central>, out: &mut Effects<'_, Self>) -> bool {
        let (Some(lock), Some(resource)) = (self.locks.get_mut(number), self.place.resources.get(number).copied())
        else {
            return false;
        };
        let spell = self.process.spells;
        let before = lock.lock.holder();
        let number_sent = u16::try_from(number).unwrap_or(u16::MAX);
        let wrap = |message| Message::Lock(LockMessage { lock: number_sent, spell, message, resource });
        let timer = |timer| Timer::Lock(number_sent, timer);
        let told = adapt::pass_with(&mut lock.lock, now, input, (wrap, timer), out);
        let held = self.observe(now, number, before, out);
        let entry = told.into_iter().find_map(|event| match event {
            mutex::Event::Entered { fence, .. } => Some(Entry { number, spell: Spell(fence.counter) }),
            mutex::Event::Extended { .. }
            | mutex::Event::Lost
            | mutex::Event::Left
            | mutex::Event::Denied
            | mutex::Event::Cancelled
            | mutex::Event::Refused(_) => None,
        });
        let has_entered = entry.is_some();
        if let Some(entry) = entry {
            self.enter(now, entry, out);
        }
        if let Some(fact) = held {
            self.tell(now, fact, out);
        }
        has_entered
    }

    fn tell(&mut self, now: Time, fact: Fact, out: &mut Effects<'_, Self>) {
        self.pass(now, Input::Command(fact), out);
    }

    /// LK-7.
    fn pass(&mut self, now: Time, input: Input<D>, out: &mut Effects<'_, Self>) {
        for finding in adapt::pass_with(&mut self.detector, now, input, (Message::Detector, Timer::Detector), out) {
            out.emit(Event::from(finding));
        }
    }
}

struct Entry {
    number: usize,
    /// Which time it is that the resource waits.
    spell: Spell,
}

impl<D: Detector> Protocol for Locks<D> {
    type Command = Command;
    type Message = Message<D::Message>;
    type Timer = Timer<D::Timer>;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(command) => self.command(now, command, out),
            Input::Message { from, message: Message::Lock(message) } => self.take(now, from, message, out),
            Input::Message { from, message: Message::Detector(message) } => {
                self.pass(now, Input::Message { from, message }, out);
            }
            Input::Timer(Timer::Detector(timer)) => self.pass(now, Input::Timer(timer), out),
            Input::Timer(Timer::Lock(number, timer)) => {
                self.pass_lock(now, usize::from(number), Input::Timer(timer), out);
            }
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
