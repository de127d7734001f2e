//! The result of a search: the deadlocks, the processes stuck behind them, and the victims.

use super::name::Name;
use super::reason::{Wait, format_list};
use super::search::{Search, SearchError};
use super::situation::Situation;
use quorate_core::Time;
use quorate_core::deadlock::{AbortCost, Deadlock, Need, Policy, Shape};
use quorate_journal::settings::nearest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The resources that each process holds.
type HeldResources<'a> = BTreeMap<&'a Name, Vec<&'a Name>>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub deadlocks: Vec<FoundDeadlock>,
    /// Processes that are in no deadlock but wait forever, directly or indirectly for one that is.
    pub stuck_behind: Vec<Wait>,
    /// Processes that wait, but not forever.
    pub waiting: Vec<Wait>,
    /// Processes that wait for nothing.
    pub free: Vec<Name>,
    pub policy: Policy,
    /// The victims, whose abort lets all others continue: those of the first search, then those of
    /// a second search without the first victims, and so on, for at most `MAX_ROUNDS` searches.
    pub rounds: Vec<Round>,
    /// Suggestions about resources that no process holds.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundDeadlock {
    pub shape: Shape,
    /// The members of the deadlock and their waits, in the order of the cycle if it is one.
    pub waits: Vec<Wait>,
}

/// Maximum number of searches: a malicious graph could hide each of its deadlocks behind the
/// previous one.
const MAX_ROUNDS: usize = 100;

impl FoundDeadlock {
    /// The members of the deadlock, each once.
    pub fn members(&self) -> Vec<&Name> {
        let mut members: Vec<&Name> = self.waits.iter().map(|wait| &wait.process).collect();
        // All waits of one member are adjacent.
        members.dedup();
        members
    }
}

/// One search, and the victims that break the deadlocks that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    pub victims: Vec<Victim>,
    /// The processes that can continue once the victims have aborted.
    pub freed: Vec<Name>,
    /// Number of deadlocks that a new search still finds.
    #[serde(rename = "left")]
    pub remaining_deadlocks: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Victim {
    #[serde(rename = "who")]
    pub process: Name,
    /// The members of the deadlock that the abort of this process breaks.
    #[serde(rename = "of")]
    pub deadlock_members: Vec<Name>,
    /// Why the policy chose this process.
    #[serde(rename = "why")]
    pub reason: String,
    /// The resources that the abort releases.
    #[serde(rename = "lets_go")]
    pub released: Vec<Name>,
}

impl Situation {
    /// Searches the graph, and chooses victims until no process is stuck, or for at most
    /// `MAX_ROUNDS` searches. Fails if the queues give too many waits, or if the situation lacks
    /// what the policy compares, such as when a member of a deadlock began.
    pub fn report(&self, policy: Policy) -> Result<Report, SearchError> {
        let search = Search::new(self)?;
        let stuck = search.graph.stuck_agents();
        let deadlocks: Vec<FoundDeadlock> =
            search.graph.deadlocks().into_iter().map(|deadlock| self.explain_deadlock(&search, deadlock)).collect();
        let members: BTreeSet<&Name> = deadlocks.iter().flat_map(FoundDeadlock::members).collect();
        let not_members = stuck.iter().filter(|process| !members.contains(process));
        let stuck_behind = not_members
            .filter_map(|process| self.first_wait(&search, process, |awaited| stuck.contains(awaited)))
            .collect();
        let others = || self.processes.keys().filter(|process| !stuck.contains(*process));
        let waiting = others().filter_map(|process| self.first_wait(&search, process, |_| true)).collect();
        let free = others().filter(|process| search.graph.needs(process).is_empty()).cloned().collect();
        let rounds = self.choose_victims(policy, search)?;
        Ok(Report { deadlocks, stuck_behind, waiting, free, policy, rounds, notes: self.suggest_similar_names() })
    }

    fn explain_deadlock(&self, search: &Search, Deadlock { shape, waits }: Deadlock<Name>) -> FoundDeadlock {
        let explain = |(process, need): (Name, Need<Name>)| {
            let reason = search.find_reason(&process, &need);
            Wait::new(process, need, reason, self)
        };
        FoundDeadlock { shape, waits: waits.into_iter().map(explain).collect() }
    }

    /// The first wait of a process, restricted to the processes that `is_included` accepts. A wait
    /// for any one of several processes counts only if `is_included` accepts all of them, and only
    /// if no other wait counts.
    fn first_wait(&self, search: &Search, process: &Name, is_included: impl Fn(&Name) -> bool) -> Option<Wait> {
        let needs = search.graph.needs(process);
        let needs_for_all = needs.iter().filter(|need| !need.has_alternatives()).map(|need| {
            let awaited: Vec<Name> = need.awaited().iter().filter(|name| is_included(name)).cloned().collect();
            Need::All(awaited)
        });
        let needs_for_any =
            needs.iter().filter(|need| need.has_alternatives() && need.awaited().iter().all(&is_included)).cloned();
        let need = needs_for_all.chain(needs_for_any).find(|need| !need.awaited().is_empty())?;
        // The need may be only a part of a known one, which any one process of the part identifies.
        let first_only = Need::All(need.awaited().iter().take(1).cloned().collect());
        let reason = search.find_reason(process, if need.has_alternatives() { &need } else { &first_only });
        Some(Wait::new(process.clone(), need, reason, self))
    }

    /// Chooses a victim of every deadlock until there is none, or for at most `MAX_ROUNDS`
    /// searches. Each round makes progress, because its victims are no longer stuck.
    fn choose_victims(&self, policy: Policy, first_search: Search) -> Result<Vec<Round>, SearchError> {
        let (mut remaining, mut search) = (self.clone(), first_search);
        let mut rounds = Vec::new();
        loop {
            let deadlocks = search.graph.deadlocks();
            if deadlocks.is_empty() || rounds.len() == MAX_ROUNDS {
                return Ok(rounds);
            }
            let stuck = search.graph.stuck_agents();
            let held_resources = remaining.held_resources();
            let victims = deadlocks
                .iter()
                .map(|deadlock| remaining.choose_victim(policy, deadlock, &held_resources))
                .filter_map(Result::transpose);
            let victims = victims.collect::<Result<Vec<Victim>, SearchError>>()?;
            let aborted: BTreeSet<&Name> = victims.iter().map(|victim| &victim.process).collect();
            remaining.abort(|process| aborted.contains(process));
            search = Search::new(&remaining)?;
            let still_stuck = search.graph.stuck_agents();
            let freed = stuck
                .iter()
                .filter(|process| !still_stuck.contains(*process) && !aborted.contains(process))
                .cloned()
                .collect();
            let remaining_deadlocks = search.graph.deadlocks().len();
            rounds.push(Round { victims, freed, remaining_deadlocks });
        }
    }

    /// Chooses the victim of one deadlock; `None` only if the deadlock has no members.
    fn choose_victim(
        &self,
        policy: Policy,
        deadlock: &Deadlock<Name>,
        held: &HeldResources<'_>,
    ) -> Result<Option<Victim>, SearchError> {
        let mut members: Vec<Name> = deadlock.waits.iter().map(|(process, _)| process.clone()).collect();
        members.sort();
        members.dedup();
        let costs =
            members.iter().map(|process| self.abort_cost(policy, process, held)).collect::<Result<Vec<_>, _>>()?;
        let Some(process) = policy.choose(members.iter().cloned().zip(costs.iter().copied())) else { return Ok(None) };
        let victim_cost = members.iter().position(|member| *member == process).and_then(|index| costs.get(index));
        let is_tied = |abort_cost: &&AbortCost| {
            victim_cost.is_some_and(|cost| cost_value(policy, cost) == cost_value(policy, abort_cost))
        };
        let ties = costs.iter().filter(is_tied).count();
        let reason = victim_cost.map(|cost| explain_choice(policy, cost, ties, members.len())).unwrap_or_default();
        let released = held.get(&process).into_iter().flatten().map(|name| Name::clone(name)).collect();
        Ok(Some(Victim { process, deadlock_members: members, reason, released }))
    }

    /// The cost of aborting a process, as far as the policy needs it.
    fn abort_cost(&self, policy: Policy, process: &Name, held: &HeldResources<'_>) -> Result<AbortCost, SearchError> {
        let attributes = self.processes.get(process).copied().unwrap_or_default();
        let is_known = match policy {
            Policy::Youngest => attributes.start_time.is_some(),
            Policy::LowestPriority => attributes.priority.is_some(),
            Policy::FewestLocks => true,
        };
        if !is_known {
            return Err(SearchError::Unknown { policy, process: process.clone() });
        }
        let locks = u32::try_from(held.get(process).map_or(0, Vec::len)).unwrap_or(u32::MAX);
        // The unit does not matter, because policies only compare these times.
        let started_at = Time::from_nanos(i64::from(attributes.start_time.unwrap_or_default()));
        Ok(AbortCost { started_at, locks, priority: attributes.priority.unwrap_or_default() })
    }

    /// For each resource that has neither a holder nor a number of permits, suggests the resource
    /// with a similar name that has one of them, if there is any.
    fn suggest_similar_names(&self) -> Vec<String> {
        let is_declared = |name: &Name| {
            self.resources.get(name).is_some_and(|resource| !resource.holders.is_empty() || resource.permits.is_some())
        };
        let undeclared = self.resources.iter().filter(|(name, _)| !is_declared(name));
        let suggestion = |(name, _)| {
            let others = self.resources.keys().filter(|other| is_declared(other)).map(Name::as_str);
            let similar = nearest(Name::as_str(name), others)?;
            Some(format!("No process holds {name}. Did you mean '{similar}'?"))
        };
        undeclared.filter_map(suggestion).collect()
    }
}

/// The part of the cost that the policy compares.
fn cost_value(policy: Policy, abort_cost: &AbortCost) -> i64 {
    match policy {
        Policy::Youngest => abort_cost.started_at.nanos(),
        Policy::FewestLocks => i64::from(abort_cost.locks),
        Policy::LowestPriority => i64::from(abort_cost.priority),
    }
}

/// Explains the choice of this victim, given the number of ties and of members.
fn explain_choice(policy: Policy, victim_cost: &AbortCost, ties: usize, members: usize) -> String {
    let value = cost_value(policy, victim_cost);
    let reason = match policy {
        Policy::Youngest => format!("began last, at {value}"),
        Policy::FewestLocks if value == 0 => "holds no locks".to_owned(),
        Policy::FewestLocks => format!("holds the fewest locks: {value}"),
        Policy::LowestPriority => format!("has the lowest priority: {value}"),
    };
    match (ties, members) {
        (_, 1) => "is the only member".to_owned(),
        (1, _) => reason,
        (ties, members) if ties == members => format!("{reason}; all are tied, and its name sorts last"),
        (ties, _) => format!("{reason}; {ties} are tied, and its name sorts last among them"),
    }
}

impl Report {
    pub fn is_deadlock_free(&self) -> bool {
        self.deadlocks.is_empty()
    }
}

impl Victim {
    /// The resources that the victim releases, as a list; a general phrase if it holds none, so
    /// that others wait for the victim itself.
    pub fn describe_released(&self) -> String {
        match &self.released[..] {
            [] => "everything that others wait for".to_owned(),
            held => format_list(held, "and"),
        }
    }
}
