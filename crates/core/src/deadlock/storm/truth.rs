//! Who truly waits for whom, kept from what users are told.

use crate::deadlock::{Agent, Event, Graph, Need, Report, Spell, Wait};
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::String;
use std::vec::Vec;

#[derive(Default)]
pub(super) struct Truth {
    waits: BTreeMap<Agent, (Spell, Need<Agent>)>,
    pub(super) history: BTreeSet<(Agent, Spell, Agent)>,
    latest: BTreeMap<Agent, Spell>,
    /// The resources that are on their way to somebody who has given up: they come back by themselves.
    returning: BTreeSet<Agent>,
    held: BTreeSet<(Agent, Agent, Spell)>,
    /// Everyone's latest wait that was told as part of a deadlock.
    told: BTreeSet<(Agent, Spell)>,
}

impl Truth {
    /// What a user is told changes the graph, or must agree with it.
    pub(super) fn hear(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Waits { who, spell, need } => {
                self.latest.insert(*who, *spell);
                self.history.extend(need.on().iter().map(|on| (*who, *spell, *on)));
                if !self.returning.remove(who) {
                    self.waits.insert(*who, (*spell, need.clone()));
                }
            }
            Event::Answers { who, to, spell } => {
                let is_waited_for = self.eases(*who, *to, *spell);
                if who.is_resource() && !is_waited_for {
                    self.returning.insert(*who);
                }
            }
            Event::Asked { who, by, spell } => {
                self.held.insert((*who, *by, *spell));
            }
            Event::Runs { who, .. } => drop(self.waits.remove(who)),
            Event::GaveUp { who, .. } => {
                self.waits.remove(who);
                let held = &self.held;
                let is_on_its_way = |resource: &Agent, spell: Spell, need: &Need<Agent>| {
                    resource.is_resource() && need.on() == [*who] && !held.contains(&(*who, *resource, spell))
                };
                self.waits.retain(|resource, (spell, need)| !is_on_its_way(resource, *spell, need));
            }
            Event::Deadlock(report) => {
                self.must_hold(report)?;
                self.told.extend(report.waits.iter().map(|wait| (wait.who, wait.spell)));
            }
            Event::Victim { who, report } => {
                self.must_hold(report)?;
                if report.victim != Some(*who) || report.spell(*who).is_none() {
                    return Err(format!("{who} is no part of it: {report}"));
                }
            }
            Event::Withdrawn { .. } | Event::Refused(_) => {}
        }
        Ok(())
    }

    /// One has let another go on. Tells whether that one waited for it.
    fn eases(&mut self, who: Agent, to: Agent, spell: Spell) -> bool {
        let Some((_, need)) = self.waits.get_mut(&to).filter(|(current, _)| *current == spell) else { return false };
        let is_waited_for = need.on().contains(&who);
        let is_met = match need {
            Need::All(on) => {
                on.retain(|agent| *agent != who);
                on.is_empty()
            }
            Need::Any(_) => is_waited_for,
        };
        if is_met {
            self.waits.remove(&to);
        }
        is_waited_for
    }

    /// A report must be true at this instant: every wait that it names is there, nobody in it has a way out, and nobody else is to blame.
    fn must_hold(&self, report: &Report) -> Result<(), String> {
        let members: BTreeSet<Agent> = report.waits.iter().map(|wait| wait.who).collect();
        let is_there = |wait: &Wait| {
            let Some((_, need)) = self.waits.get(&wait.who).filter(|(spell, _)| *spell == wait.spell) else {
                return false;
            };
            let on = wait.need.on();
            let is_whole = !need.is_any() || need.on().len() == on.len();
            !on.is_empty() && is_whole && on.iter().all(|on| need.on().contains(on) && members.contains(on))
        };
        match report.waits.iter().find(|wait| !is_there(wait)) {
            Some(wait) => Err(format!("a phantom: {report}; but {} does not wait so", wait.who)),
            None if members.is_empty() => Err("a deadlock of nobody".into()),
            None => Ok(()),
        }
    }

    pub(super) fn spell(&self, who: Agent) -> Option<Spell> {
        self.waits.get(&who).map(|(spell, _)| *spell)
    }

    /// Somebody's latest time of waiting, whether or not it is over.
    pub(super) fn latest(&self, who: Agent) -> Option<Spell> {
        self.latest.get(&who).copied()
    }

    fn graph(&self) -> Graph<Agent> {
        let mut graph = Graph::new();
        for (who, (_, need)) in &self.waits {
            graph.wait(*who, need.clone());
        }
        graph
    }

    pub(super) fn stuck(&self) -> Vec<Agent> {
        self.graph().stuck().into_iter().collect()
    }

    /// A deadlock, or a cycle that alone would be one, of which no member's wait was ever told.
    pub(super) fn missed(&self) -> Option<Vec<Agent>> {
        let is_told = |who: &Agent| self.spell(*who).is_some_and(|spell| self.told.contains(&(*who, spell)));
        let graph = self.graph();
        let cycles = self.waits.keys().filter_map(|who| graph.cycle(who));
        let deadlocks = graph.deadlocks().into_iter().map(|one| one.waits.into_iter().map(|(who, _)| who).collect());
        deadlocks.chain(cycles).find(|members: &Vec<Agent>| !members.iter().any(is_told))
    }
}
