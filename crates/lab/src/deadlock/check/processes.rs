//! The users of the deadlock family: each process asks whom it likes, so many times, and lets go when it runs.
//!
//! Nobody need ask, but whoever runs lets go of what others wait for sooner or later, and whoever is told to give up does. So all graphs of a few
//! processes come about, in every order. What a user knows of its own process and of the resource of its site it shows; from what all show
//! follows who waits for whom in truth, which no detector sees.

use super::shown::{self, MOST_RESOURCES, MOST_SITES, MOST_SPELLS, Shown};
use crate::deadlock::run::Asking;
use quorate_check::{CheckError, Judge, Judged, News, Offer, Property, Story, Users};
use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Command, Event, Need, Report, Spell};
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub struct Askers {
    sites: usize,
    /// What there is to be taken; nothing where processes ask each other.
    resources: Vec<Agent>,
    rounds: u8,
    asking: Asking,
    /// How many others one asks at once, at most.
    fan_out: usize,
    /// Whether all take resources in the same order.
    in_order: bool,
    resolves: bool,
}

impl Askers {
    /// One process a site, each of which asks so often, for all of those it asks or for any of them.
    pub fn new(
        sites: usize,
        resources: Vec<Agent>,
        rounds: Option<u8>,
        (asking, fan_out, in_order): (Asking, usize, bool),
        resolves: bool,
    ) -> Result<Self, CheckError> {
        let is_spread = resources.iter().all(|resource| resource.number == 0);
        // A resource waits as often as it is granted.
        let spells = |rounds: u8| usize::from(rounds) * if resources.is_empty() { 1 } else { sites };
        let rounds = rounds.filter(|rounds| spells(*rounds) < usize::from(MOST_SPELLS));
        match rounds {
            Some(rounds) if sites <= MOST_SITES && resources.len() <= MOST_RESOURCES && is_spread => {
                Ok(Self { sites, resources, rounds, asking, fan_out, in_order, resolves })
            }
            Some(_) | None => {
                Err(CheckError::TooManyWaits { sites: MOST_SITES, resources: MOST_RESOURCES, rounds: MOST_SPELLS - 1 })
            }
        }
    }

    fn others(&self, user: &Asker) -> Vec<Agent> {
        if self.resources.is_empty() {
            let all = (0..self.sites).map(|site| Agent::process(NodeId::from_index(site), 0));
            return all.filter(|other| other.site != user.node).collect();
        }
        let is_next = |resource: &Agent| !self.in_order || user.owes.iter().all(|held| held < resource);
        let free = self.resources.iter().copied().filter(|resource| !user.owes.contains(resource));
        free.filter(is_next).collect()
    }

    fn needs(&self, user: &Asker) -> Vec<Need<Agent>> {
        let others = self.others(user);
        let mut needs = Vec::new();
        for chosen in 1_u32..1 << others.len() {
            let on: Vec<_> =
                others.iter().enumerate().filter(|(place, _)| chosen >> place & 1 == 1).map(|(_, on)| *on).collect();
            if on.len() > self.fan_out {
                continue;
            }
            let is_one = on.len() == 1;
            match self.asking {
                Asking::All => needs.push(Need::All(on)),
                Asking::Any => needs.push(Need::Any(on)),
                Asking::Mixed if is_one => needs.push(Need::All(on)),
                Asking::Mixed => needs.extend([Need::All(on.clone()), Need::Any(on)]),
            }
        }
        needs
    }

    fn number_of(&self, resource: Agent) -> Option<usize> {
        self.resources.iter().position(|known| *known == resource)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    node: NodeId,
    left: u8,
    spoke: bool,
    waits: bool,
    /// Who waits for its process, or what that has.
    owes: BTreeSet<Agent>,
    shown: Shown,
}

impl Asker {
    fn is_told(&mut self, event: &Event, users: &Askers) {
        match event {
            Event::Waits { who, spell, need } if who.is_resource() => {
                if let [holder] = need.on() {
                    self.shown.grants(holder.site, *spell);
                }
            }
            Event::Waits { spell, need, .. } => {
                self.waits = true;
                let place = |agent: &Agent| users.number_of(*agent).unwrap_or(agent.site.index());
                let on = need.on().iter().fold(0, |mask, agent| mask | 1_u64 << place(agent));
                self.shown.waits(*spell, on, need.is_any());
            }
            // The process has got the resource.
            Event::Asked { by, spell, .. } if by.is_resource() => {
                self.owes.insert(*by);
                if let Some(number) = users.number_of(*by) {
                    self.shown.receives(number, *spell);
                }
            }
            Event::Asked { who, by, .. } => {
                if !who.is_resource() {
                    self.owes.insert(*by);
                }
            }
            // To a resource: what it gives back.
            Event::Answers { to, spell, .. } if to.is_resource() => {
                self.owes.remove(to);
                if let Some(number) = users.number_of(*to) {
                    self.shown.returns(number, *spell);
                }
            }
            Event::Answers { who, to, spell } => {
                if !who.is_resource() {
                    self.owes.remove(to);
                }
                self.shown.lets_go(to.site, *spell);
            }
            Event::Runs { who, .. } if who.is_resource() => self.shown.is_free(),
            Event::Runs { .. } => self.goes_on(None),
            Event::GaveUp { spell, .. } => self.goes_on(Some(*spell)),
            Event::Withdrawn { who, by } => {
                if !who.is_resource() {
                    self.owes.remove(by);
                }
            }
            Event::Deadlock(report) if !users.resolves => self.shown.tells(members(report)),
            Event::Victim { .. } => self.shown.is_doomed(),
            Event::Deadlock(_) | Event::Refused(_) => {}
        }
    }

    fn goes_on(&mut self, given_up: Option<Spell>) {
        self.waits = false;
        self.shown.runs(given_up);
    }
}

fn members(report: &Report) -> u64 {
    let processes = report.waits.iter().filter(|wait| !wait.who.is_resource());
    processes.fold(0, |mask, wait| mask | 1_u64 << wait.who.site.index())
}

impl Users for Askers {
    type Command = Command;
    type Event = Event;
    type User = Asker;

    fn begin(&self, node: NodeId) -> Asker {
        let shown = Shown::new(self.resources.len());
        Asker { node, left: self.rounds, spoke: false, waits: false, owes: BTreeSet::new(), shown }
    }

    fn offers(&self, user: &Asker) -> Vec<Offer<Command>> {
        let offer = |command, obliged| Offer { command, obliged };
        if user.spoke {
            return Vec::new();
        }
        if user.waits {
            let gives_up = user.shown.has_to_give_up().then(|| offer(Command::GiveUp { process: 0 }, true));
            return gives_up.into_iter().collect();
        }
        let answers = user.owes.iter().map(|to| offer(Command::Answer { process: 0, to: *to }, true));
        let asks = if user.left > 0 { self.needs(user) } else { Vec::new() };
        let asks = asks.into_iter().map(|need| offer(Command::Ask { process: 0, need }, false));
        answers.chain(asks).collect()
    }

    fn hear(&self, user: &mut Asker, news: News<'_, Command, Event>, _story: &mut Story) {
        match news {
            News::Commands(command) => {
                user.spoke = true;
                if let Command::Ask { .. } = command {
                    user.left = user.left.saturating_sub(1);
                }
            }
            News::Told(event) => {
                user.spoke = false;
                user.is_told(event, self);
            }
            // A textbook group: nobody comes back, and nobody is told.
            News::Crashed | News::Restarted | News::Gone(_) | News::Back(_) => {}
        }
    }

    /// That a wait goes on for ever is what a detector is for.
    fn waits(&self, _user: &Asker) -> bool {
        false
    }

    fn facet(&self, user: &Asker, _acts: bool) -> u64 {
        user.shown.packed()
    }

    fn properties(&self) -> Vec<Property> {
        let phantom: Judge = if self.resolves { shown::victims_are_stuck } else { shown::told_are_stuck };
        let found: Judge = if self.resolves { shown::nobody_is_stuck } else { shown::stuck_are_told };
        vec![
            Property { name: "no-phantom", judged: Judged::ByState(phantom) },
            Property { name: "all-found", judged: Judged::ByEnds(found) },
        ]
    }
}
