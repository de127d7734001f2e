//! Any sequence of calls, beside the plain search of the whole graph after each.

use super::reference::{OWNERS, assert_least, assert_real, closes};
use super::{WaitForGraph, WaitId};
use crate::deadlock::{Graph, Need, Shape};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_oneof, proptest};
use std::collections::BTreeMap;
use std::vec::Vec;

#[derive(Clone, Debug)]
enum Call {
    Wait(u8, Need<u8>),
    WaitAnyway(u8, Need<u8>),
    End(usize),
    Also(usize, u8),
    AlsoAnyway(usize, u8),
    LetGo(usize, u8),
    Forget(u8),
}

fn need() -> impl Strategy<Value = Need<u8>> {
    let on = prop::collection::vec(0..OWNERS, 0..4);
    let any = prop::collection::vec(0..OWNERS, 0..4);
    prop_oneof![3 => on.prop_map(Need::All), 2 => any.prop_map(Need::Any)]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => (0..OWNERS, need()).prop_map(|(who, need)| Call::Wait(who, need)),
        2 => (0..OWNERS, need()).prop_map(|(who, need)| Call::WaitAnyway(who, need)),
        3 => (0..30_usize).prop_map(Call::End),
        2 => (0..30_usize, 0..OWNERS).prop_map(|(wait, who)| Call::Also(wait, who)),
        1 => (0..30_usize, 0..OWNERS).prop_map(|(wait, who)| Call::AlsoAnyway(wait, who)),
        3 => (0..30_usize, 0..OWNERS).prop_map(|(wait, who)| Call::LetGo(wait, who)),
        1 => (0..OWNERS).prop_map(Call::Forget),
    ]
}

#[derive(Default)]
struct Beside {
    graph: WaitForGraph<u8>,
    waits: BTreeMap<WaitId, (u8, Need<u8>)>,
    /// Whether nobody was ever let into a deadlock, so that all answers are those of the plain search.
    is_strict: bool,
}

impl Beside {
    fn plain(&self) -> Graph<u8> {
        let mut plain = Graph::new();
        self.waits.values().for_each(|(who, need)| plain.wait(*who, need.clone()));
        plain
    }

    fn told(&self, found: Option<&crate::deadlock::Deadlock<u8>>, who: u8, need: &Need<u8>) {
        let plain = self.plain();
        assert_eq!(found.is_some(), closes(&plain, who, need), "{who} {need:?} in {plain:?}");
        if let Some(deadlock) = found {
            assert_real(deadlock, &plain, (who, need));
            if self.is_strict && deadlock.shape == Shape::Cycle {
                assert_least(deadlock, &plain, need);
            }
        }
        if self.is_strict {
            let mut after = plain;
            after.wait(who, need.clone());
            assert_eq!(found.is_some(), !after.stuck().is_empty(), "as the plain search says");
        }
    }

    fn wait_of(&self, place: usize) -> Option<WaitId> {
        self.waits.keys().nth(place % self.waits.len().max(1)).copied()
    }

    fn wait(&mut self, who: u8, need: Need<u8>) {
        let would = self.graph.would_deadlock(who, &need);
        self.told(would.as_ref(), who, &need);
        match self.graph.wait(who, need.clone()) {
            Ok(wait) => {
                assert_eq!(would, None);
                self.waits.insert(wait, (who, need));
            }
            Err(deadlock) => assert_eq!(Some(deadlock), would),
        }
    }

    fn also(&mut self, wait: WaitId, owner: u8, anyway: bool) {
        let (who, need) = self.waits[&wait].clone();
        let mut after = need.clone();
        match &mut after {
            Need::All(on) | Need::Any(on) => on.push(owner),
        }
        let new = Need::All([owner].into());
        let found = match anyway {
            true => self.graph.also_anyway(wait, owner),
            false => self.graph.also(wait, owner).err(),
        };
        match need {
            Need::Any(on) if !on.is_empty() => assert_eq!(found, None),
            Need::Any(_) | Need::All(_) => self.told(found.as_ref(), who, &new),
        }
        if found.is_none() || anyway {
            self.waits.insert(wait, (who, after));
        }
    }

    fn let_go(&mut self, wait: WaitId, owner: u8) {
        let named = self.waits[&wait].1.on().contains(&owner);
        let found = self.graph.let_go(wait, owner);
        let (who, need) = self.waits.get_mut(&wait).expect("it is there");
        remove(need, owner);
        if named {
            let (who, need) = (*who, need.clone());
            let plain = self.plain();
            assert_eq!(found.is_some(), closes(&plain, who, &need), "{who} {need:?} in {plain:?}");
            found.iter().for_each(|deadlock| assert_real(deadlock, &plain, (who, &need)));
        }
        if self.is_strict && found.is_some() {
            self.graph.end(wait);
            self.waits.remove(&wait);
        }
    }

    fn forget(&mut self, owner: u8) {
        let touched = self.graph.forget(owner);
        self.waits.retain(|_, (who, _)| *who != owner);
        let named = self.waits.iter().filter(|(_, (_, need))| need.on().contains(&owner)).map(|(wait, _)| *wait);
        assert_eq!(touched, named.collect::<Vec<_>>());
        self.waits.values_mut().for_each(|(_, need)| remove(need, owner));
        for wait in touched.into_iter().filter(|_| self.is_strict) {
            if self.graph.deadlock_of(self.waits[&wait].0).is_some() {
                self.graph.end(wait);
                self.waits.remove(&wait);
            }
        }
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Wait(who, need) => self.wait(who, need),
            Call::WaitAnyway(who, need) if self.is_strict => self.wait(who, need),
            Call::WaitAnyway(who, need) => {
                let (wait, found) = self.graph.wait_anyway(who, need.clone());
                self.told(found.as_ref(), who, &need);
                self.waits.insert(wait, (who, need));
            }
            Call::End(place) => {
                if let Some(wait) = self.wait_of(place) {
                    assert!(self.graph.end(wait));
                    self.waits.remove(&wait);
                }
            }
            Call::Also(place, owner) => self.wait_of(place).into_iter().for_each(|wait| self.also(wait, owner, false)),
            Call::AlsoAnyway(place, owner) => {
                self.wait_of(place).into_iter().for_each(|wait| self.also(wait, owner, !self.is_strict));
            }
            Call::LetGo(place, owner) => self.wait_of(place).into_iter().for_each(|wait| self.let_go(wait, owner)),
            Call::Forget(owner) => self.forget(owner),
        }
        self.graph.assert_sound();
        self.assert_same();
    }

    /// The graph has what it should have, and says of everyone what the plain search does.
    fn assert_same(&mut self) {
        let sorted = |graph: &Graph<u8>| {
            let needs = graph.waits().flat_map(|(who, needs)| needs.iter().map(|need| (*who, tidy(need))));
            let mut needs: Vec<_> = needs.collect();
            needs.sort();
            needs
        };
        let plain = self.plain();
        assert_eq!(sorted(&self.graph.snapshot()), sorted(&plain));
        if self.is_strict {
            assert!(plain.stuck().is_empty(), "{plain:?}");
        }
        for owner in 0..OWNERS {
            let is_in = plain.needs(&owner).iter().any(|need| closes(&plain, owner, need));
            assert_eq!(self.graph.deadlock_of(owner).is_some(), is_in, "{owner} in {plain:?}");
            let waiters = plain.waits().flat_map(|(_, needs)| needs).filter(|need| need.on().contains(&owner));
            assert_eq!(self.graph.waiters_of(owner).count(), waiters.count());
        }
    }
}

fn tidy(need: &Need<u8>) -> Need<u8> {
    let mut on = need.on().to_vec();
    on.sort_unstable();
    on.dedup();
    if matches!(need, Need::Any(_)) { Need::Any(on) } else { Need::All(on) }
}

fn remove(need: &mut Need<u8>, owner: u8) {
    match need {
        Need::All(on) | Need::Any(on) => on.retain(|name| *name != owner),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn nobody_is_ever_stuck_where_deadlocks_are_refused(calls in prop::collection::vec(call(), 0..50)) {
        let mut beside = Beside { is_strict: true, ..Beside::default() };
        calls.into_iter().for_each(|call| beside.call(call));
    }

    #[test]
    fn deadlocks_that_are_let_in_are_told_from_those_behind_them(calls in prop::collection::vec(call(), 0..50)) {
        let mut beside = Beside::default();
        calls.into_iter().for_each(|call| beside.call(call));
    }
}
