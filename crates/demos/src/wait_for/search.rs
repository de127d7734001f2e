//! Builds the wait-for graph from the holders and queues of resources.
//!
//! Several processes may share a lock, but every process in the queue wants it exclusively. The
//! queue is first come, first served: a process in it waits for all holders and for all processes
//! before it. A process that shares the lock with others and wants it exclusively waits for the
//! others; a process that holds it exclusively and wants it again waits for itself.
//!
//! For a semaphore with p permits, a process that wants one waits until at most p − 1 of the
//! holders and of the processes before it in the queue hold one. So of any p of them, one must
//! release. With one permit, it is a lock. For the first process in the queue, it is a wait for any
//! one of the holders.

use super::name::Name;
use super::reason::Reason;
use super::situation::{Resource, Situation};
use quorate_core::deadlock::{Graph, Need, Policy};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Maximum number of single waits that the queues of all resources may give together.
const MAX_WAITS: usize = 1_000_000;

#[derive(Debug, Error)]
pub enum SearchError {
    #[error("the graph is too large: with the queue for {resource}, it has more than {MAX_WAITS} waits.")]
    TooLarge { resource: Name },
    #[error("the victim cannot be chosen by '{policy}': the text does not say {}.", describe_missing(*policy, process))]
    Unknown { policy: Policy, process: Name },
}

fn describe_missing(policy: Policy, process: &Name) -> String {
    match policy {
        Policy::Youngest => format!("when {process} began. Add a line such as '{process} began 12'"),
        Policy::LowestPriority => format!("what priority {process} has. Add a line such as '{process} has priority 3'"),
        Policy::FewestLocks => format!("what {process} holds"),
    }
}

/// A wait-for graph, with the reason of each wait.
pub(super) struct Search {
    pub(super) graph: Graph<Name>,
    /// The needs of each process and their reasons, in the order in which the graph has the needs.
    reasons: BTreeMap<Name, Vec<(Need<Name>, Reason)>>,
    /// Number of single waits: pairs of a waiting process and a process that it waits for.
    waits: usize,
}

impl Search {
    pub(super) fn new(situation: &Situation) -> Result<Self, SearchError> {
        let mut search = Self { graph: Graph::new(), reasons: BTreeMap::new(), waits: 0 };
        for (name, resource) in &situation.resources {
            for (position, process) in resource.queue.iter().enumerate() {
                let too_large = || SearchError::TooLarge { resource: name.clone() };
                let remaining_waits = MAX_WAITS.saturating_sub(search.waits);
                let needs = queue_needs(resource, position, process, remaining_waits).ok_or_else(too_large)?;
                for need in needs {
                    search.add_wait(process, need, Reason::Resource(name.clone()));
                }
            }
        }
        for (process, need) in &situation.waits {
            search.add_wait(process, need.clone(), Reason::Process);
        }
        Ok(search)
    }

    fn add_wait(&mut self, process: &Name, need: Need<Name>, reason: Reason) {
        self.waits += need.awaited().len();
        if !need.awaited().is_empty() {
            self.graph.add_need(process.clone(), need.clone());
            self.reasons.entry(process.clone()).or_default().push((need, reason));
        }
    }

    /// Finds the reason for a need of a process. A need for one process may be part of a larger
    /// one.
    pub(super) fn find_reason(&self, process: &Name, need: &Need<Name>) -> Reason {
        let reasons = self.reasons.get(process).map_or(&[][..], Vec::as_slice);
        let is_wanted = |known: &Need<Name>| match need.awaited() {
            [single] => !known.has_alternatives() && known.awaited().contains(single),
            _ => known == need,
        };
        reasons.iter().find(|(known, _)| is_wanted(known)).map_or(Reason::Process, |(_, reason)| reason.clone())
    }
}

/// The needs of the process at a position in the queue; `None` if they are more than `max_waits`
/// single waits.
fn queue_needs(resource: &Resource, position: usize, process: &Name, max_waits: usize) -> Option<Vec<Need<Name>>> {
    let Some(permits) = resource.permits else {
        let is_shared = resource.holders.len() > 1;
        let mut others: Vec<Name> = Vec::new();
        let mut known_names = BTreeSet::new();
        // A sharer that wants the lock exclusively waits for the other sharers, but not for itself.
        let earlier = resource.processes_before(position).filter(|other| !(is_shared && *other == process));
        others.extend(earlier.filter(|other| known_names.insert(*other)).cloned());
        return (others.len() <= max_waits).then(|| vec![Need::All(others)]);
    };
    let earlier: Vec<&Name> = resource.processes_before(position).collect();
    let permits = permits as usize;
    if earlier.len() < permits {
        return Some(Vec::new());
    }
    let ways = binomial(earlier.len(), permits, max_waits)?;
    if ways.saturating_mul(permits) > max_waits {
        return None;
    }
    if permits == 1 {
        return Some(vec![Need::All(earlier.into_iter().cloned().collect())]);
    }
    Some(combinations(&earlier, permits).into_iter().map(need_any_of).collect())
}

/// A need for any one of these, each named once.
fn need_any_of(names: Vec<&Name>) -> Need<Name> {
    let mut distinct: Vec<Name> = Vec::new();
    for name in names {
        if !distinct.contains(name) {
            distinct.push(name.clone());
        }
    }
    if distinct.len() == 1 { Need::All(distinct) } else { Need::Any(distinct) }
}

/// The number of ways to choose `chosen` of `total`; `None` if it is more than `max` or
/// the calculation overflows.
fn binomial(total: usize, chosen: usize, max: usize) -> Option<usize> {
    let fewer = chosen.min(total - chosen.min(total));
    let mut ways: usize = 1;
    for step in 0..fewer {
        ways = ways.checked_mul(total - step)? / (step + 1);
        if ways > max {
            return None;
        }
    }
    Some(ways)
}

/// All ways to choose `chosen` of these names.
fn combinations<'a>(names: &[&'a Name], chosen: usize) -> Vec<Vec<&'a Name>> {
    let mut ways: Vec<Vec<&Name>> = Vec::new();
    // Indices in ascending order, counted up like the digits of a number.
    let mut indices: Vec<usize> = (0..chosen).collect();
    loop {
        ways.push(indices.iter().filter_map(|index| names.get(*index).copied()).collect());
        let last_increasable =
            indices.iter().enumerate().rposition(|(digit, index)| index + (chosen - digit) < names.len());
        let Some(digit) = last_increasable else { return ways };
        let start = indices.get(digit).map_or(0, |index| index + 1);
        for (index, value) in indices.iter_mut().skip(digit).zip(start..) {
            *index = value;
        }
    }
}
