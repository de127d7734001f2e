//! The wait-for graph, searched afresh: who waits for whom, who is stuck for ever, and why.
//!
//! Whoever waits for nobody runs, and sooner or later lets go of what others wait for. So does everyone whose needs are met by those who do;
//! taken together, all these are free (the graph is *reduced*). The rest is stuck. If everyone waits for all, that is because of a cycle;
//! if everyone waits for any, because of a knot: a set whose members can all reach each other and nobody else.
//!
//! This is the plain way, and the one that others are measured by: it looks at the whole graph each time.

mod components;
#[cfg(test)]
mod tests;

use super::Need;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use components::ends;

/// Who waits for whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Graph<N> {
    needs: BTreeMap<N, Vec<Need<N>>>,
}

impl<N> Default for Graph<N> {
    fn default() -> Self {
        Self { needs: BTreeMap::new() }
    }
}

/// Some who are stuck because of each other, and of nobody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Deadlock<N> {
    pub shape: Shape,
    /// Each with what it waits for within the deadlock. In a cycle each waits for the next one, and the last for the first.
    pub waits: Vec<(N, Need<N>)>,
}

/// What keeps a deadlock together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Shape {
    /// Each waits for the next one.
    Cycle,
    /// Some wait for any of several, and all of those are in it.
    Knot,
}

impl Shape {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycle => "cycle",
            Self::Knot => "knot",
        }
    }
}

impl<N: Ord + Clone> Graph<N> {
    /// Nobody waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more need of somebody.
    pub fn wait(&mut self, who: N, need: Need<N>) {
        if !need.on().is_empty() {
            self.needs.entry(who).or_default().push(need);
        }
    }

    /// It waits for nobody any more.
    pub fn stop(&mut self, who: &N) {
        self.needs.remove(who);
    }

    /// Who waits, and for whom.
    pub fn waits(&self) -> impl Iterator<Item = (&N, &[Need<N>])> {
        self.needs.iter().map(|(who, needs)| (who, needs.as_slice()))
    }

    /// What somebody needs.
    pub fn needs(&self, who: &N) -> &[Need<N>] {
        self.needs.get(who).map_or(&[], Vec::as_slice)
    }

    /// Everyone who waits or is waited for.
    pub fn members(&self) -> BTreeSet<&N> {
        let named = self.needs.values().flatten().flat_map(|need| need.on());
        self.needs.keys().chain(named).collect()
    }

    /// All who will wait for ever unless somebody gives up.
    pub fn stuck(&self) -> BTreeSet<N> {
        let mut waiters: BTreeMap<&N, Vec<&N>> = BTreeMap::new();
        for (who, need) in self.needs.iter().flat_map(|(who, needs)| needs.iter().map(move |need| (who, need))) {
            for on in need.on() {
                waiters.entry(on).or_default().push(who);
            }
        }
        let mut stuck: BTreeSet<&N> = self.needs.keys().collect();
        let mut freed: Vec<&N> = waiters.keys().copied().filter(|on| !stuck.contains(on)).collect();
        while let Some(free) = freed.pop() {
            for who in waiters.get(free).into_iter().flatten() {
                let met = self.needs(who).iter().all(|need| need.is_met(|on| !stuck.contains(on)));
                if met && stuck.remove(who) {
                    freed.push(who);
                }
            }
        }
        stuck.into_iter().cloned().collect()
    }

    /// Every deadlock, each with those alone who bring it about: all others who are stuck wait for one of these. Where somebody has several
    /// reasons to be stuck, one of them is told.
    pub fn deadlocks(&self) -> Vec<Deadlock<N>> {
        let stuck = self.stuck();
        let reasons: BTreeMap<&N, Vec<Need<N>>> = stuck.iter().map(|who| (who, self.reason(who, &stuck))).collect();
        let successors =
            reasons.iter().map(|(who, needs)| (*who, needs.iter().flat_map(Need::on).collect::<Vec<_>>())).collect();
        ends(&successors).into_iter().filter_map(|members| told(&members, &reasons)).collect()
    }

    /// The deadlocks that somebody is one of those who bring it about: the cycle through it, if there is one, else the knot that it is in.
    pub fn deadlock_of(&self, who: &N) -> Option<Deadlock<N>> {
        if let Some(cycle) = self.cycle(who) {
            let next = cycle.iter().skip(1).chain(cycle.first()).cloned();
            let waits = cycle.iter().cloned().zip(next).map(|(who, next)| (who, Need::All([next].into()))).collect();
            return Some(Deadlock { shape: Shape::Cycle, waits });
        }
        self.deadlocks().into_iter().find(|deadlock| deadlock.waits.iter().any(|(member, _)| member == who))
    }

    /// A shortest way from somebody back to itself along needs of which one alone stops it.
    pub fn cycle(&self, who: &N) -> Option<Vec<N>> {
        let next = |of: &N| self.needs(of).iter().filter(|need| !need.is_any()).flat_map(Need::on);
        let mut before: BTreeMap<&N, &N> = BTreeMap::new();
        let (start, _) = self.needs.get_key_value(who)?;
        let mut level = alloc::vec![start];
        while !level.is_empty() {
            let mut further = Vec::new();
            for at in level {
                for on in next(at) {
                    if on == start {
                        let mut cycle = alloc::vec![at.clone()];
                        let mut here = at;
                        while let Some(earlier) = before.get(here) {
                            cycle.push((*earlier).clone());
                            here = earlier;
                        }
                        cycle.reverse();
                        return Some(cycle);
                    }
                    if !before.contains_key(on) {
                        before.insert(on, at);
                        further.push(on);
                    }
                }
            }
            level = further;
        }
        None
    }

    /// Why somebody is stuck: one who is stuck too and for whom it waits in any case, or else a need of which all are stuck.
    fn reason(&self, who: &N, stuck: &BTreeSet<N>) -> Vec<Need<N>> {
        let needs = self.needs(who);
        let one = needs.iter().filter(|need| !need.is_any()).flat_map(Need::on).find(|on| stuck.contains(on));
        if let Some(one) = one {
            return alloc::vec![Need::All([one.clone()].into())];
        }
        let unmet = needs.iter().find(|need| !need.is_met(|on| !stuck.contains(on)));
        unmet.cloned().into_iter().collect()
    }
}

/// A deadlock as it is told: a cycle in order, a knot by its members.
fn told<N: Ord + Clone>(members: &[&N], reasons: &BTreeMap<&N, Vec<Need<N>>>) -> Option<Deadlock<N>> {
    let needs = |who: &N| reasons.get(who).map_or(&[][..], Vec::as_slice);
    let is_cycle = members.iter().all(|who| needs(who).iter().map(|need| need.on().len()).sum::<usize>() == 1);
    let first = *members.iter().min()?;
    let mut waits = Vec::new();
    if is_cycle {
        let mut at = first;
        loop {
            let need = needs(at).first()?;
            waits.push((at.clone(), need.clone()));
            at = need.on().first()?;
            if at == first || waits.len() > members.len() {
                break;
            }
        }
        return Some(Deadlock { shape: Shape::Cycle, waits });
    }
    let mut sorted = members.to_vec();
    sorted.sort();
    for who in sorted {
        waits.extend(needs(who).iter().map(|need| (who.clone(), need.clone())));
    }
    Some(Deadlock { shape: Shape::Knot, waits })
}
