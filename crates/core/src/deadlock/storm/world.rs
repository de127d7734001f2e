//! Sites, links that keep the order of messages, and users.

use super::Dice;
use super::truth::Truth;
use crate::deadlock::{Agent, Command, Event, Need, Plan, Spell, central, edge_chasing, locks, query_reply, requests};
use crate::effects::{Effect, Effects};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::{Duration, Time};
use core::fmt::Debug;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

#[derive(Clone, Copy)]
pub(super) enum Asks {
    One,
    All,
    Any,
    Either,
}

pub(super) enum Sight {
    /// It follows a wait.
    Onward { by: Agent, look: u64, who: Agent, on: Agent },
    /// It goes back along one.
    Back { by: Agent, look: u64, who: Agent, on: Agent },
}

pub(super) trait Seen {
    fn seen(&self) -> Option<Sight>;
}

impl Seen for edge_chasing::Message {
    fn seen(&self) -> Option<Sight> {
        let Self::Probe(probe) = self else { return None };
        let (first, last) = (probe.way.first()?, probe.way.last()?);
        Some(Sight::Onward { by: first.who, look: probe.look, who: last.who, on: *last.need.on().first()? })
    }
}

impl Seen for query_reply::Message {
    fn seen(&self) -> Option<Sight> {
        match self {
            Self::Query(letter) => {
                Some(Sight::Onward { by: letter.by, look: letter.look, who: letter.from, on: letter.to })
            }
            Self::Reply { letter, .. } => {
                Some(Sight::Back { by: letter.by, look: letter.look, who: letter.to, on: letter.from })
            }
            Self::Ruling(_) => None,
        }
    }
}

impl Seen for central::Message {
    fn seen(&self) -> Option<Sight> {
        None
    }
}

impl<M: Seen> Seen for requests::Message<M> {
    fn seen(&self) -> Option<Sight> {
        match self {
            Self::Detector(message) => message.seen(),
            Self::Request(_) | Self::Answer(_) | Self::Withdraw(_) => None,
        }
    }
}

impl<M: Seen> Seen for locks::Message<M> {
    fn seen(&self) -> Option<Sight> {
        match self {
            Self::Detector(message) => message.seen(),
            Self::Lock(_) => None,
        }
    }
}

pub(super) struct World<'a, P: Protocol> {
    plan: &'a Plan,
    asks: Asks,
    sites: Vec<P>,
    links: BTreeMap<(NodeId, NodeId), VecDeque<P::Message>>,
    timers: Vec<(NodeId, P::Timer)>,
    truth: Truth,
    now: Time,
    steps: u64,
    waiting: BTreeSet<Agent>,
    owing: BTreeSet<(Agent, Agent)>,
    doomed: BTreeSet<Agent>,
    /// What every look has cost so far, by the waits that it has followed and come back along.
    onward: BTreeSet<(Agent, u64, Agent, Spell, Agent)>,
    ways: BTreeMap<(Agent, u64, Agent, Agent), i64>,
    /// What happened, if anybody wants to know.
    trace: Option<Vec<String>>,
}

impl<'a, P> World<'a, P>
where
    P: Protocol<Command = Command, Event = Event, Durable = (), Message: Seen + Debug, Timer: Debug>,
{
    pub(super) fn new(plan: &'a Plan, asks: Asks, make: impl Fn(NodeId) -> P) -> Self {
        Self {
            plan,
            asks,
            sites: (0..plan.sites).map(|site| make(NodeId::from_index(site))).collect(),
            links: BTreeMap::new(),
            timers: Vec::new(),
            truth: Truth::default(),
            now: Time::ZERO,
            steps: 0,
            waiting: BTreeSet::new(),
            owing: BTreeSet::new(),
            doomed: BTreeSet::new(),
            onward: BTreeSet::new(),
            ways: BTreeMap::new(),
            trace: None,
        }
    }

    /// A storm, and the peace after it. Tells how many steps it took, or what went wrong and, if it is to tell, how it came to that.
    pub(super) fn storm(mut self, dice: &mut Dice, gusts: usize, tells: bool) -> Result<u64, String> {
        self.trace = tells.then(Vec::new);
        let told = self.blow(dice, gusts).and_then(|()| self.calm(dice));
        let trace = self.trace.unwrap_or_default().join("\n");
        told.map(|()| self.steps).map_err(|wrong| format!("{wrong}\n{trace}"))
    }

    fn blow(&mut self, dice: &mut Dice, gusts: usize) -> Result<(), String> {
        for _ in 0..gusts {
            match dice.below(10) {
                0 | 1 => self.ask(dice)?,
                2 => self.answer(dice)?,
                3 => self.obey(dice)?,
                4 => self.fire(dice)?,
                _ => self.deliver(dice)?,
            }
        }
        Ok(())
    }

    /// Nobody asks any more. Where nobody is to give up, whatever is stuck was told; else everyone gets what it waits for.
    fn calm(&mut self, dice: &mut Dice) -> Result<(), String> {
        loop {
            while self.is_busy() {
                self.deliver(dice)?;
                self.fire(dice)?;
            }
            if self.doomed.is_empty()
                && let Some(missed) = self.truth.missed()
            {
                return Err(format!("nobody has told that these are stuck: {missed:?}"));
            }
            let before = self.steps;
            for _ in 0..self.doomed.len() {
                self.obey(dice)?;
            }
            if dice.below(2) == 0 || before == self.steps {
                self.answer(dice)?;
            }
            if before == self.steps {
                break;
            }
        }
        let stuck = self.truth.stuck();
        if self.plan.victim.is_some() && !(stuck.is_empty() && self.waiting.is_empty()) {
            return Err(format!("{stuck:?} are stuck, and nobody does anything about it"));
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        !self.timers.is_empty() || self.links.values().any(|link| !link.is_empty())
    }

    fn ask(&mut self, dice: &mut Dice) -> Result<(), String> {
        let idle: Vec<_> = self.plan.all_processes().filter(|who| !self.waiting.contains(who)).collect();
        let Some(who) = pick(&idle, dice) else { return Ok(()) };
        let mut others: Vec<Agent> = if self.plan.resources.is_empty() {
            self.plan.all_processes().filter(|other| *other != who).collect()
        } else {
            self.plan.resources().filter(|other| !self.owing.contains(&(who, *other))).collect()
        };
        let most = match self.asks {
            Asks::One => 1,
            Asks::All | Asks::Any | Asks::Either => 1 + dice.below(3),
        };
        while others.len() > most {
            others.remove(dice.below(others.len()));
        }
        if others.is_empty() {
            return Ok(());
        }
        let is_any = match self.asks {
            Asks::One | Asks::All => false,
            Asks::Any => true,
            Asks::Either => dice.below(2) == 0,
        };
        let need = if is_any { Need::Any(others) } else { Need::All(others) };
        self.command(who.site, Command::Ask { process: who.number, need })
    }

    /// Somebody who runs lets somebody go on who waits for it.
    fn answer(&mut self, dice: &mut Dice) -> Result<(), String> {
        let able: Vec<_> = self.owing.iter().copied().filter(|(who, _)| self.is_able(*who)).collect();
        let Some((who, to)) = pick(&able, dice) else { return Ok(()) };
        self.command(who.site, Command::Answer { process: who.number, to })
    }

    fn is_able(&self, who: Agent) -> bool {
        !who.is_resource() && !self.waiting.contains(&who)
    }

    fn obey(&mut self, dice: &mut Dice) -> Result<(), String> {
        let doomed: Vec<_> = self.doomed.iter().copied().collect();
        let Some(who) = pick(&doomed, dice) else { return Ok(()) };
        self.doomed.remove(&who);
        if !self.waiting.contains(&who) {
            return Err(format!("{who} was told to give up, and does not wait"));
        }
        self.command(who.site, Command::GiveUp { process: who.number })
    }

    fn fire(&mut self, dice: &mut Dice) -> Result<(), String> {
        if self.timers.is_empty() {
            return Ok(());
        }
        let (site, timer) = self.timers.remove(dice.below(self.timers.len()));
        self.step(site, Input::Timer(timer))
    }

    fn deliver(&mut self, dice: &mut Dice) -> Result<(), String> {
        let full: Vec<_> = self.links.iter().filter(|(_, link)| !link.is_empty()).map(|(ends, _)| *ends).collect();
        let Some((from, to)) = pick(&full, dice) else { return Ok(()) };
        let Some(message) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return Ok(()) };
        self.step(to, Input::Message { from, message })
    }

    fn command(&mut self, site: NodeId, command: Command) -> Result<(), String> {
        self.step(site, Input::Command(command))
    }

    fn step(&mut self, site: NodeId, input: Input<P>) -> Result<(), String> {
        self.steps += 1;
        self.now += Duration::from_millis(1);
        if let Some(trace) = &mut self.trace {
            trace.push(match &input {
                Input::Command(command) => format!("{site} {command}"),
                Input::Message { from, message } => format!("{from} > {site} {message:?}"),
                other => format!("{site} {other:?}"),
            });
        }
        let mut effects: Vec<Effect<P>> = Vec::new();
        self.sites[site.index()].step(self.now, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => {
                    if to == site || to.index() >= self.plan.sites {
                        return Err(format!("{site} sends to {to}"));
                    }
                    self.count(site, &message)?;
                    self.links.entry((site, to)).or_default().push_back(message);
                }
                Effect::SetTimer { timer, .. } => {
                    self.timers.retain(|set| *set != (site, timer.clone()));
                    self.timers.push((site, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|set| *set != (site, timer.clone())),
                Effect::Emit { event, .. } => self.hear(&event)?,
                Effect::Multicast { .. } | Effect::Save(_) => return Err("does what no detector does".into()),
            }
        }
        Ok(())
    }

    fn hear(&mut self, event: &Event) -> Result<(), String> {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("    {event}"));
        }
        match event {
            Event::Waits { who, .. } => {
                self.waiting.extend((!who.is_resource()).then_some(*who));
            }
            Event::Runs { who, .. } | Event::GaveUp { who, .. } => {
                self.waiting.remove(who);
                if matches!(event, Event::Runs { .. }) && self.doomed.remove(who) {
                    return Err(format!("{who} was told to give up, and goes on"));
                }
            }
            Event::Asked { who, by, .. } => {
                self.owing.insert((*who, *by));
            }
            Event::Answers { who, to, .. } | Event::Withdrawn { who, by: to } => {
                self.owing.remove(&(*who, *to));
            }
            Event::Victim { who, .. } => {
                if !self.doomed.insert(*who) {
                    return Err(format!("{who} is told twice to give up"));
                }
            }
            Event::Deadlock(_) => {}
            Event::Refused(refusal) => return Err(refusal.to_string()),
        }
        self.truth.hear(event)
    }

    /// A look follows each wait between two sites once at most, and comes back along it once at most.
    fn count(&mut self, site: NodeId, message: &P::Message) -> Result<(), String> {
        match message.seen() {
            Some(Sight::Onward { by, look, who, on }) => {
                let Some(spell) = self.truth.latest(who) else { return Err(format!("{who} never waited")) };
                let is_new = self.onward.insert((by, look, who, spell, on));
                *self.ways.entry((by, look, who, on)).or_default() += 1;
                let is_wait = self.truth.history.contains(&(who, spell, on));
                if !is_new || !is_wait || who.site != site || on.site == site {
                    return Err(format!("look {look} of {by} follows {who}→{on} of {spell} again, or for nothing"));
                }
            }
            Some(Sight::Back { by, look, who, on }) => {
                let left = self.ways.entry((by, look, who, on)).or_default();
                *left -= 1;
                if *left < 0 || on.site != site || who.site == site {
                    return Err(format!("look {look} of {by} comes back along {who}→{on} too often"));
                }
            }
            None => {}
        }
        Ok(())
    }
}

fn pick<T: Copy>(of: &[T], dice: &mut Dice) -> Option<T> {
    (!of.is_empty()).then(|| of[dice.below(of.len())])
}
