//! The result of a search: the deadlocks, the processes stuck behind them, and the victims.

use super::name::Name;
use super::reason::{Wait, list};
use super::search::{Search, SearchError};
use super::situation::Situation;
use quorate_core::Time;
use quorate_core::deadlock::{AbortCost, Deadlock, Need, Policy, Shape};
use quorate_journal::settings::nearest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

type Held<'a> = BTreeMap<&'a Name, Vec<&'a Name>>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub deadlocks: Vec<FoundDeadlock>,
    /// Processes that are in no deadlock but wait forever, because they wait for one that is.
    pub stuck_behind: Vec<Wait>,
    pub waiting: Vec<Wait>,
    pub free: Vec<Name>,
    pub policy: Policy,
    /// The victims, whose abort lets all others continue: those of the first search, those of what
    /// a second one still finds, and so on.
    pub rounds: Vec<Round>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundDeadlock {
    pub shape: Shape,
    /// Its members and their waits; a cycle in its order.
    pub waits: Vec<Wait>,
}

/// Maximum number of searches: a malicious graph could hide each of its deadlocks behind the
/// previous one.
const MAX_ROUNDS: usize = 100;

impl FoundDeadlock {
    /// Its members, each once.
    pub fn members(&self) -> Vec<&Name> {
        let mut members: Vec<&Name> = self.waits.iter().map(|wait| &wait.who).collect();
        members.dedup();
        members
    }
}

/// One search, and the victims that break the deadlocks that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    pub victims: Vec<Victim>,
    /// The processes that can continue afterwards, without the victims, as a new search confirms.
    pub freed: Vec<Name>,
    pub left: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Victim {
    pub who: Name,
    pub of: Vec<Name>,
    pub why: String,
    pub lets_go: Vec<Name>,
}

impl Situation {
    /// Searches the graph, and chooses victims until no process is stuck.
    pub fn report(&self, policy: Policy) -> Result<Report, SearchError> {
        let search = Search::of(self)?;
        let stuck = search.graph.stuck();
        let deadlocks: Vec<FoundDeadlock> =
            search.graph.deadlocks().into_iter().map(|deadlock| self.found(&search, deadlock)).collect();
        let members: BTreeSet<&Name> = deadlocks.iter().flat_map(FoundDeadlock::members).collect();
        let behind = stuck.iter().filter(|who| !members.contains(who));
        let stuck_behind = behind.filter_map(|who| self.wait(&search, who, |on| stuck.contains(on))).collect();
        let others = || self.processes.keys().filter(|who| !stuck.contains(*who));
        let waiting = others().filter_map(|who| self.wait(&search, who, |_| true)).collect();
        let free = others().filter(|who| search.graph.needs(who).is_empty()).cloned().collect();
        let rounds = self.rounds(policy, search)?;
        Ok(Report { deadlocks, stuck_behind, waiting, free, policy, rounds, notes: self.notes() })
    }

    fn found(&self, search: &Search, Deadlock { shape, waits }: Deadlock<Name>) -> FoundDeadlock {
        let explain = |(who, need): (Name, Need<Name>)| {
            let reason = search.reason(&who, &need);
            Wait::new(who, need, reason, self)
        };
        FoundDeadlock { shape, waits: waits.into_iter().map(explain).collect() }
    }

    /// The first wait of a process, restricted to the processes that `is_one` accepts.
    fn wait(&self, search: &Search, who: &Name, is_one: impl Fn(&Name) -> bool) -> Option<Wait> {
        let needs = search.graph.needs(who);
        let all = needs.iter().filter(|need| !need.is_any()).map(|need| {
            let on: Vec<Name> = need.on().iter().filter(|on| is_one(on)).cloned().collect();
            Need::All(on)
        });
        let any = needs.iter().filter(|need| need.is_any() && need.on().iter().all(&is_one)).cloned();
        let need = all.chain(any).find(|need| !need.on().is_empty())?;
        let one = Need::All(need.on().iter().take(1).cloned().collect());
        let reason = search.reason(who, if need.is_any() { &need } else { &one });
        Some(Wait::new(who.clone(), need, reason, self))
    }

    /// Chooses a victim of every deadlock until there is none, or for at most `MAX_ROUNDS`
    /// searches. Each round makes progress, because its victims are no longer stuck.
    fn rounds(&self, policy: Policy, first: Search) -> Result<Vec<Round>, SearchError> {
        let (mut now, mut search) = (self.clone(), first);
        let mut rounds = Vec::new();
        loop {
            let deadlocks = search.graph.deadlocks();
            if deadlocks.is_empty() || rounds.len() == MAX_ROUNDS {
                return Ok(rounds);
            }
            let stuck = search.graph.stuck();
            let held = now.held();
            let victims =
                deadlocks.iter().map(|deadlock| now.victim(policy, deadlock, &held)).filter_map(Result::transpose);
            let victims = victims.collect::<Result<Vec<Victim>, SearchError>>()?;
            let aborted: BTreeSet<&Name> = victims.iter().map(|victim| &victim.who).collect();
            now.abort(|who| aborted.contains(who));
            search = Search::of(&now)?;
            let still = search.graph.stuck();
            let freed = stuck.iter().filter(|who| !still.contains(*who) && !aborted.contains(who)).cloned().collect();
            let left = search.graph.deadlocks().len();
            rounds.push(Round { victims, freed, left });
        }
    }

    fn victim(
        &self,
        policy: Policy,
        deadlock: &Deadlock<Name>,
        held: &Held<'_>,
    ) -> Result<Option<Victim>, SearchError> {
        let mut of: Vec<Name> = deadlock.waits.iter().map(|(who, _)| who.clone()).collect();
        of.sort();
        of.dedup();
        let costs = of.iter().map(|who| self.abort_cost(policy, who, held)).collect::<Result<Vec<_>, _>>()?;
        let Some(who) = policy.choose(of.iter().cloned().zip(costs.iter().copied())) else { return Ok(None) };
        let own = of.iter().position(|member| *member == who).and_then(|place| costs.get(place));
        let is_tied =
            |abort_cost: &&AbortCost| own.is_some_and(|own| cost_value(policy, own) == cost_value(policy, abort_cost));
        let ties = costs.iter().filter(is_tied).count();
        let why = own.map(|own| why(policy, own, ties, of.len())).unwrap_or_default();
        let lets_go = held.get(&who).into_iter().flatten().map(|name| Name::clone(name)).collect();
        Ok(Some(Victim { who, of, why, lets_go }))
    }

    /// The cost of aborting a process, as far as the policy needs it.
    fn abort_cost(&self, policy: Policy, who: &Name, held: &Held<'_>) -> Result<AbortCost, SearchError> {
        let known = self.processes.get(who).copied().unwrap_or_default();
        let is_known = match policy {
            Policy::Youngest => known.born.is_some(),
            Policy::LowestPriority => known.priority.is_some(),
            Policy::FewestLocks => true,
        };
        if !is_known {
            return Err(SearchError::Unknown { policy, who: who.clone() });
        }
        let locks = u32::try_from(held.get(who).map_or(0, Vec::len)).unwrap_or(u32::MAX);
        let born = Time::from_nanos(i64::from(known.born.unwrap_or_default()));
        Ok(AbortCost { born, locks, priority: known.priority.unwrap_or_default() })
    }

    /// Notes on wanted resources without a holder whose name resembles another one's.
    fn notes(&self) -> Vec<String> {
        let is_known = |name: &Name| {
            self.resources.get(name).is_some_and(|resource| !resource.holders.is_empty() || resource.permits.is_some())
        };
        let strange = self.resources.iter().filter(|(name, _)| !is_known(name));
        let note = |(name, _)| {
            let others = self.resources.keys().filter(|other| is_known(other)).map(Name::as_str);
            let meant = nearest(Name::as_str(name), others)?;
            Some(format!("No process holds {name}. Did you mean '{meant}'?"))
        };
        strange.filter_map(note).collect()
    }
}

fn cost_value(policy: Policy, abort_cost: &AbortCost) -> i64 {
    match policy {
        Policy::Youngest => abort_cost.born.nanos(),
        Policy::FewestLocks => i64::from(abort_cost.locks),
        Policy::LowestPriority => i64::from(abort_cost.priority),
    }
}

/// Explains the choice of this victim, given the number of ties and of members.
fn why(policy: Policy, own: &AbortCost, ties: usize, members: usize) -> String {
    let value = cost_value(policy, own);
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
    pub fn is_free(&self) -> bool {
        self.deadlocks.is_empty()
    }
}

impl Victim {
    pub fn lets_go(&self) -> String {
        match &self.lets_go[..] {
            [] => "everything that others wait for".to_owned(),
            held => list(held, "and"),
        }
    }
}
