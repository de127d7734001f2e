//! Builds the wait-for graph from the holders and queues of resources.
//!
//! A lock is granted to one process at a time, first come, first served: a process that wants it
//! waits for all holders and for all processes before it in the queue. A process that shares it
//! with others and wants it exclusively waits for the others; a process that holds it exclusively
//! and wants it again waits for itself.
//!
//! For a semaphore with p permits, a process that wants one waits until at most p − 1 of the
//! holders and of the processes before it in the queue hold one. So of any p of them, one must
//! release. With one permit that is a lock; without a queue, it is a wait for any of the holders.

use super::name::Name;
use super::reason::Reason;
use super::situation::{Resource, Situation};
use quorate_core::deadlock::{Graph, Need, Policy};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

const MAX_WAITS: usize = 1_000_000;

#[derive(Debug, Error)]
pub enum SearchError {
    #[error("the queue for {resource} is too long: it gives more than {MAX_WAITS} single waits.")]
    TooLarge { resource: Name },
    #[error("the victim cannot be chosen by '{policy}': the text does not say {}.", missing(*policy, who))]
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
    /// The needs of each process, in the order in which the graph has them.
    reasons: BTreeMap<Name, Vec<(Need<Name>, Reason)>>,
    waits: usize,
}

impl Search {
    pub(super) fn of(situation: &Situation) -> Result<Self, SearchError> {
        let mut search = Self { graph: Graph::new(), reasons: BTreeMap::new(), waits: 0 };
        for (name, resource) in &situation.resources {
            for (place, who) in resource.queue.iter().enumerate() {
                let too_large = || SearchError::TooLarge { resource: name.clone() };
                let left = MAX_WAITS.saturating_sub(search.waits);
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

/// The needs of the process at a place in the queue; `None` if they are more than `most` single
/// waits.
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

/// A need for any one of these, each named once.
fn any(names: Vec<&Name>) -> Need<Name> {
    let mut several: Vec<Name> = Vec::new();
    for name in names {
        if !several.contains(name) {
            several.push(name.clone());
        }
    }
    if several.len() == 1 { Need::All(several) } else { Need::Any(several) }
}

/// The number of ways to choose `chosen` of `of`; `None` if it is more than `most`.
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
    // Indices in ascending order, counted up like the digits of a number.
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
