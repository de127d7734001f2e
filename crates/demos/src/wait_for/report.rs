//! What was found: the deadlocks, who is stuck behind them, and who has to give up.

use super::name::Name;
use super::reason::{Wait, list};
use super::search::{Search, Unanswerable};
use super::situation::Situation;
use quorate_core::Time;
use quorate_core::deadlock::{Deadlock, Need, Policy, Shape, Stake};
use quorate_journal::settings::nearest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

type Held<'a> = BTreeMap<&'a Name, Vec<&'a Name>>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub deadlocks: Vec<Found>,
    /// Those who are in no deadlock, and will wait for ever all the same.
    pub stuck_behind: Vec<Wait>,
    pub waiting: Vec<Wait>,
    pub free: Vec<Name>,
    pub policy: Policy,
    /// Who gives up, so that all go on: those of the first search, those of what a second one still finds, and so on.
    pub rounds: Vec<Round>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub shape: Shape,
    /// Who is in it, and why; a cycle in its order.
    pub waits: Vec<Wait>,
}

/// How often a graph is searched again: a crafted one could hide each of its deadlocks behind the one before.
const MOST_ROUNDS: usize = 100;

impl Found {
    /// Who is in it, each once.
    pub fn members(&self) -> Vec<&Name> {
        let mut members: Vec<&Name> = self.waits.iter().map(|wait| &wait.who).collect();
        members.dedup();
        members
    }
}

/// One search, and what it took to break the deadlocks that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    pub victims: Vec<Victim>,
    /// Who can go on after it, the victims aside: a new search says so.
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
    /// Searches it, and chooses victims until nobody is stuck.
    pub fn report(&self, policy: Policy) -> Result<Report, Unanswerable> {
        let search = Search::of(self)?;
        let stuck = search.graph.stuck();
        let deadlocks: Vec<Found> =
            search.graph.deadlocks().into_iter().map(|deadlock| self.found(&search, deadlock)).collect();
        let members: BTreeSet<&Name> = deadlocks.iter().flat_map(Found::members).collect();
        let behind = stuck.iter().filter(|who| !members.contains(who));
        let stuck_behind = behind.filter_map(|who| self.wait(&search, who, |on| stuck.contains(on))).collect();
        let others = || self.processes.keys().filter(|who| !stuck.contains(*who));
        let waiting = others().filter_map(|who| self.wait(&search, who, |_| true)).collect();
        let free = others().filter(|who| search.graph.needs(who).is_empty()).cloned().collect();
        let rounds = self.rounds(policy, search)?;
        Ok(Report { deadlocks, stuck_behind, waiting, free, policy, rounds, notes: self.notes() })
    }

    fn found(&self, search: &Search, Deadlock { shape, waits }: Deadlock<Name>) -> Found {
        let told = |(who, need): (Name, Need<Name>)| {
            let reason = search.reason(&who, &need);
            Wait::new(who, need, reason, self)
        };
        Found { shape, waits: waits.into_iter().map(told).collect() }
    }

    /// The first reason why somebody waits, of those whom this tells.
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

    /// Victims of every deadlock, until there is none, or for so many searches. Whoever gives up is stuck no more, so that it comes to an end.
    fn rounds(&self, policy: Policy, first: Search) -> Result<Vec<Round>, Unanswerable> {
        let (mut now, mut search) = (self.clone(), first);
        let mut rounds = Vec::new();
        loop {
            let deadlocks = search.graph.deadlocks();
            if deadlocks.is_empty() || rounds.len() == MOST_ROUNDS {
                return Ok(rounds);
            }
            let stuck = search.graph.stuck();
            let held = now.held();
            let victims =
                deadlocks.iter().map(|deadlock| now.victim(policy, deadlock, &held)).filter_map(Result::transpose);
            let victims = victims.collect::<Result<Vec<Victim>, Unanswerable>>()?;
            let given_up: BTreeSet<&Name> = victims.iter().map(|victim| &victim.who).collect();
            now.give_up(|who| given_up.contains(who));
            search = Search::of(&now)?;
            let still = search.graph.stuck();
            let freed = stuck.iter().filter(|who| !still.contains(*who) && !given_up.contains(who)).cloned().collect();
            let left = search.graph.deadlocks().len();
            rounds.push(Round { victims, freed, left });
        }
    }

    fn victim(
        &self,
        policy: Policy,
        deadlock: &Deadlock<Name>,
        held: &Held<'_>,
    ) -> Result<Option<Victim>, Unanswerable> {
        let mut of: Vec<Name> = deadlock.waits.iter().map(|(who, _)| who.clone()).collect();
        of.sort();
        of.dedup();
        let stakes = of.iter().map(|who| self.stake(policy, who, held)).collect::<Result<Vec<_>, _>>()?;
        let Some(who) = policy.choose(of.iter().cloned().zip(stakes.iter().copied())) else { return Ok(None) };
        let own = of.iter().position(|member| *member == who).and_then(|place| stakes.get(place));
        let is_tied = |stake: &&Stake| own.is_some_and(|own| worth(policy, own) == worth(policy, stake));
        let ties = stakes.iter().filter(is_tied).count();
        let why = own.map(|own| why(policy, own, ties, of.len())).unwrap_or_default();
        let lets_go = held.get(&who).into_iter().flatten().map(|name| Name::clone(name)).collect();
        Ok(Some(Victim { who, of, why, lets_go }))
    }

    /// What somebody would lose, as far as the policy looks at it.
    fn stake(&self, policy: Policy, who: &Name, held: &Held<'_>) -> Result<Stake, Unanswerable> {
        let known = self.processes.get(who).copied().unwrap_or_default();
        let is_known = match policy {
            Policy::Youngest => known.born.is_some(),
            Policy::LowestPriority => known.priority.is_some(),
            Policy::FewestLocks => true,
        };
        if !is_known {
            return Err(Unanswerable::Unknown { policy, who: who.clone() });
        }
        let locks = u32::try_from(held.get(who).map_or(0, Vec::len)).unwrap_or(u32::MAX);
        let born = Time::from_nanos(i64::from(known.born.unwrap_or_default()));
        Ok(Stake { born, locks, priority: known.priority.unwrap_or_default() })
    }

    /// Resources that somebody wants and nobody has, with a name like that of another.
    fn notes(&self) -> Vec<String> {
        let is_known = |name: &Name| {
            self.resources.get(name).is_some_and(|resource| !resource.holders.is_empty() || resource.permits.is_some())
        };
        let strange = self.resources.iter().filter(|(name, _)| !is_known(name));
        let note = |(name, _)| {
            let others = self.resources.keys().filter(|other| is_known(other)).map(Name::as_str);
            let meant = nearest(Name::as_str(name), others)?;
            Some(format!("Nobody holds {name}. Did you mean '{meant}'?"))
        };
        strange.filter_map(note).collect()
    }
}

fn worth(policy: Policy, stake: &Stake) -> i64 {
    match policy {
        Policy::Youngest => stake.born.nanos(),
        Policy::FewestLocks => i64::from(stake.locks),
        Policy::LowestPriority => i64::from(stake.priority),
    }
}

/// Why it is this one, of so many that are as good, in a deadlock of so many.
fn why(policy: Policy, own: &Stake, ties: usize, members: usize) -> String {
    let value = worth(policy, own);
    let reason = match policy {
        Policy::Youngest => format!("began last, at {value}"),
        Policy::FewestLocks if value == 0 => "holds no locks".to_owned(),
        Policy::FewestLocks => format!("holds the fewest locks: {value}"),
        Policy::LowestPriority => format!("has the lowest priority: {value}"),
    };
    match (ties, members) {
        (_, 1) => "is all alone in it".to_owned(),
        (1, _) => reason,
        (ties, members) if ties == members => format!("{reason}, as all do, and is the last by name"),
        (ties, _) => format!("{reason}, as {ties} do, and is the last of these by name"),
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
            [] => "all that others wait for".to_owned(),
            held => list(held, "and"),
        }
    }
}
