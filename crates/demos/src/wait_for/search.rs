//! From what is held and wanted to who waits for whom.
//!
//! A lock is given to one at a time, first come, first served: who wants it waits for all who hold it and for all who wanted it before. Who shares
//! it with others and wants it alone waits for the others; who has it alone and wants it once more waits for itself.
//!
//! Of a semaphore with p permits, who wants one waits until no more than p − 1 of those who hold one or wanted one before have it. Of any p of them,
//! then, one must let go. With one permit that is a lock; with no queue, a wait for any of the holders.

use super::name::Name;
use super::reason::Reason;
use super::situation::{Resource, Situation};
use quorate_core::deadlock::{Graph, Need, Policy};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

const MOST_WAITS: usize = 1_000_000;

#[derive(Debug, Error)]
pub enum Unanswerable {
    #[error(
        "The queue for {resource} is too long: who waits for whom in it comes to more than {MOST_WAITS} single waits."
    )]
    TooLarge { resource: Name },
    #[error("The victim cannot be chosen by '{policy}': nobody says {}.", missing(*policy, who))]
    Unknown { policy: Policy, who: Name },
}

fn missing(policy: Policy, who: &Name) -> String {
    match policy {
        Policy::Youngest => format!("when {who} began. Add a line such as '{who} began 12'"),
        Policy::LowestPriority => format!("what priority {who} has. Add a line such as '{who} has priority 3'"),
        Policy::FewestLocks => format!("what {who} holds"),
    }
}

pub(super) struct Search {
    pub(super) graph: Graph<Name>,
    /// The needs of each in the order in which the graph has them.
    reasons: BTreeMap<Name, Vec<(Need<Name>, Reason)>>,
    waits: usize,
}

impl Search {
    pub(super) fn of(situation: &Situation) -> Result<Self, Unanswerable> {
        let mut search = Self { graph: Graph::new(), reasons: BTreeMap::new(), waits: 0 };
        for (name, resource) in &situation.resources {
            for (place, who) in resource.queue.iter().enumerate() {
                let too_large = || Unanswerable::TooLarge { resource: name.clone() };
                let left = MOST_WAITS.saturating_sub(search.waits);
                let needs = needs(resource, place, who, left).ok_or_else(too_large)?;
                for need in needs {
                    search.add(who, need, Reason::Resource(name.clone()));
                }
            }
        }
        for (who, need) in &situation.waits {
            search.add(who, need.clone(), Reason::Process);
        }
        Ok(search)
    }

    fn add(&mut self, who: &Name, need: Need<Name>, reason: Reason) {
        self.waits += need.on().len();
        if !need.on().is_empty() {
            self.graph.wait(who.clone(), need.clone());
            self.reasons.entry(who.clone()).or_default().push((need, reason));
        }
    }

    pub(super) fn reason(&self, who: &Name, need: &Need<Name>) -> Reason {
        let reasons = self.reasons.get(who).map_or(&[][..], Vec::as_slice);
        let is_it = |own: &Need<Name>| match need.on() {
            [one] => !own.is_any() && own.on().contains(one),
            _ => own == need,
        };
        reasons.iter().find(|(own, _)| is_it(own)).map_or(Reason::Process, |(_, reason)| reason.clone())
    }
}

/// What somebody at a place in the queue waits for, unless that is more than so many single waits.
fn needs(resource: &Resource, place: usize, who: &Name, most: usize) -> Option<Vec<Need<Name>>> {
    let Some(permits) = resource.permits else {
        let shares = resource.holders.len() > 1;
        let mut others: Vec<Name> = Vec::new();
        let mut seen = BTreeSet::new();
        let holders = resource.ahead(place).filter(|holder| !(shares && *holder == who));
        others.extend(holders.filter(|holder| seen.insert(*holder)).cloned());
        return (others.len() <= most).then(|| vec![Need::All(others)]);
    };
    let ahead: Vec<&Name> = resource.ahead(place).collect();
    let permits = permits as usize;
    if ahead.len() < permits {
        return Some(Vec::new());
    }
    let ways = binomial(ahead.len(), permits, most)?;
    if ways.saturating_mul(permits) > most {
        return None;
    }
    if permits == 1 {
        return Some(vec![Need::All(ahead.into_iter().cloned().collect())]);
    }
    Some(choices(&ahead, permits).into_iter().map(any).collect())
}

/// One of these, each named once.
fn any(names: Vec<&Name>) -> Need<Name> {
    let mut several: Vec<Name> = Vec::new();
    for name in names {
        if !several.contains(name) {
            several.push(name.clone());
        }
    }
    if several.len() == 1 { Need::All(several) } else { Need::Any(several) }
}

/// In how many ways so many of several can be chosen, unless that is more than this.
fn binomial(of: usize, chosen: usize, most: usize) -> Option<usize> {
    let fewer = chosen.min(of - chosen.min(of));
    let mut ways: usize = 1;
    for step in 0..fewer {
        ways = ways.checked_mul(of - step)? / (step + 1);
        if ways > most {
            return None;
        }
    }
    Some(ways)
}

fn choices<'a>(of: &[&'a Name], chosen: usize) -> Vec<Vec<&'a Name>> {
    let mut ways: Vec<Vec<&Name>> = Vec::new();
    // Places in ascending order, counted on like the digits of a number.
    let mut places: Vec<usize> = (0..chosen).collect();
    loop {
        ways.push(places.iter().filter_map(|place| of.get(*place).copied()).collect());
        let last = places.iter().enumerate().rposition(|(digit, place)| place + (chosen - digit) < of.len());
        let Some(digit) = last else { return ways };
        let start = places.get(digit).map_or(0, |place| place + 1);
        for (place, value) in places.iter_mut().skip(digit).zip(start..) {
            *place = value;
        }
    }
}
