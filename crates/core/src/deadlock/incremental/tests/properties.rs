//! Random sequences of calls. After each call, the answers are compared with those of a reference
//! implementation and, if no deadlock stays in the graph, with those of the complete search. An
//! owner is a party that waits or is waited for.

use super::reference::{OWNERS, assert_minimal, assert_real, closes_deadlock};
use super::{WaitForGraph, WaitHandle};
use crate::deadlock::{Graph, Need, Shape};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_oneof, proptest};
use std::collections::BTreeMap;
use std::vec::Vec;

#[derive(Clone, Debug)]
enum Call {
    Wait(u8, Need<u8>),
    WaitAnyway(u8, Need<u8>),
    End(usize),
    AddOwner(usize, u8),
    AddOwnerAnyway(usize, u8),
    RemoveOwner(usize, u8),
    Forget(u8),
}

fn need() -> impl Strategy<Value = Need<u8>> {
    let awaited = prop::collection::vec(0..OWNERS, 0..4);
    prop_oneof![3 => awaited.clone().prop_map(Need::All), 2 => awaited.prop_map(Need::Any)]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => (0..OWNERS, need()).prop_map(|(waiter, need)| Call::Wait(waiter, need)),
        2 => (0..OWNERS, need()).prop_map(|(waiter, need)| Call::WaitAnyway(waiter, need)),
        3 => (0..30_usize).prop_map(Call::End),
        2 => (0..30_usize, 0..OWNERS).prop_map(|(wait, owner)| Call::AddOwner(wait, owner)),
        1 => (0..30_usize, 0..OWNERS).prop_map(|(wait, owner)| Call::AddOwnerAnyway(wait, owner)),
        3 => (0..30_usize, 0..OWNERS).prop_map(|(wait, owner)| Call::RemoveOwner(wait, owner)),
        1 => (0..OWNERS).prop_map(Call::Forget),
    ]
}

/// The incremental graph and a plain list of its waits. Calls name a wait by an index, which wraps
/// around the list.
#[derive(Default)]
struct Comparison {
    graph: WaitForGraph<u8>,
    waits: BTreeMap<WaitHandle, (u8, Need<u8>)>,
    /// Whether no deadlock stays in the graph: none is forced, and if the removal of an alternative
    /// makes a wait part of a deadlock, that wait ends. Then all answers equal those of the
    /// complete search.
    is_deadlock_free: bool,
}

impl Comparison {
    /// The same waits in a plain graph, for the reference implementation and the complete search.
    fn plain_graph(&self) -> Graph<u8> {
        let mut plain = Graph::new();
        self.waits.values().for_each(|(waiter, need)| plain.add_need(*waiter, need.clone()));
        plain
    }

    fn check_answer(&self, found: Option<&crate::deadlock::Deadlock<u8>>, waiter: u8, need: &Need<u8>) {
        let plain = self.plain_graph();
        assert_eq!(found.is_some(), closes_deadlock(&plain, waiter, need), "{waiter} {need:?} in {plain:?}");
        if let Some(deadlock) = found {
            assert_real(deadlock, &plain, (waiter, need));
            if self.is_deadlock_free && deadlock.shape == Shape::Cycle {
                assert_minimal(deadlock, &plain, need);
            }
        }
        if self.is_deadlock_free {
            let mut after = plain;
            after.add_need(waiter, need.clone());
            assert_eq!(found.is_some(), !after.stuck_agents().is_empty(), "as the complete search answers");
        }
    }

    /// Returns the wait at an index, which wraps around.
    fn nth_wait(&self, index: usize) -> Option<WaitHandle> {
        self.waits.keys().nth(index % self.waits.len().max(1)).copied()
    }

    fn wait(&mut self, waiter: u8, need: Need<u8>) {
        let expected = self.graph.would_deadlock(waiter, &need);
        self.check_answer(expected.as_ref(), waiter, &need);
        match self.graph.wait(waiter, need.clone()) {
            Ok(wait) => {
                assert_eq!(expected, None);
                self.waits.insert(wait, (waiter, need));
            }
            Err(deadlock) => assert_eq!(Some(deadlock), expected),
        }
    }

    fn add_owner(&mut self, wait: WaitHandle, owner: u8, is_forced: bool) {
        let (waiter, need) = self.waits[&wait].clone();
        let mut after = need.clone();
        match &mut after {
            Need::All(awaited) | Need::Any(awaited) => awaited.push(owner),
        }
        let new_edge = Need::All([owner].into());
        let found = match is_forced {
            true => self.graph.add_owner_anyway(wait, owner),
            false => self.graph.add_owner(wait, owner).err(),
        };
        match need {
            // One more alternative does not block the waiter.
            Need::Any(awaited) if !awaited.is_empty() => assert_eq!(found, None),
            Need::Any(_) | Need::All(_) => self.check_answer(found.as_ref(), waiter, &new_edge),
        }
        if found.is_none() || is_forced {
            self.waits.insert(wait, (waiter, after));
        }
    }

    fn remove_owner(&mut self, wait: WaitHandle, owner: u8) {
        let is_named = self.waits[&wait].1.awaited().contains(&owner);
        let found = self.graph.remove_owner(wait, owner);
        let (waiter, need) = self.waits.get_mut(&wait).expect("a known wait");
        remove(need, owner);
        if is_named {
            let (waiter, need) = (*waiter, need.clone());
            let plain = self.plain_graph();
            assert_eq!(found.is_some(), closes_deadlock(&plain, waiter, &need), "{waiter} {need:?} in {plain:?}");
            found.iter().for_each(|deadlock| assert_real(deadlock, &plain, (waiter, &need)));
        }
        if self.is_deadlock_free && found.is_some() {
            self.graph.end(wait);
            self.waits.remove(&wait);
        }
    }

    fn forget(&mut self, owner: u8) {
        let affected = self.graph.forget(owner);
        self.waits.retain(|_, (waiter, _)| *waiter != owner);
        let naming_waits =
            self.waits.iter().filter(|(_, (_, need))| need.awaited().contains(&owner)).map(|(wait, _)| *wait);
        assert_eq!(affected, naming_waits.collect::<Vec<_>>());
        self.waits.values_mut().for_each(|(_, need)| remove(need, owner));
        for wait in affected.into_iter().filter(|_| self.is_deadlock_free) {
            if self.graph.deadlock_of(self.waits[&wait].0).is_some() {
                self.graph.end(wait);
                self.waits.remove(&wait);
            }
        }
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::Wait(waiter, need) => self.wait(waiter, need),
            Call::WaitAnyway(waiter, need) if self.is_deadlock_free => self.wait(waiter, need),
            Call::WaitAnyway(waiter, need) => {
                let (wait, found) = self.graph.wait_anyway(waiter, need.clone());
                self.check_answer(found.as_ref(), waiter, &need);
                self.waits.insert(wait, (waiter, need));
            }
            Call::End(index) => {
                if let Some(wait) = self.nth_wait(index) {
                    assert!(self.graph.end(wait));
                    self.waits.remove(&wait);
                }
            }
            Call::AddOwner(index, owner) => {
                let is_forced = false;
                self.nth_wait(index).into_iter().for_each(|wait| self.add_owner(wait, owner, is_forced));
            }
            Call::AddOwnerAnyway(index, owner) => {
                let is_forced = !self.is_deadlock_free;
                self.nth_wait(index).into_iter().for_each(|wait| self.add_owner(wait, owner, is_forced));
            }
            Call::RemoveOwner(index, owner) => {
                self.nth_wait(index).into_iter().for_each(|wait| self.remove_owner(wait, owner));
            }
            Call::Forget(owner) => self.forget(owner),
        }
        self.graph.assert_sound();
        self.assert_same_as_plain_graph();
    }

    /// Asserts that the graph has the expected waits, and answers for all owners as the reference
    /// implementation does.
    fn assert_same_as_plain_graph(&mut self) {
        let sorted = |graph: &Graph<u8>| {
            let needs = graph.waits().flat_map(|(waiter, needs)| needs.iter().map(|need| (*waiter, normalized(need))));
            let mut needs: Vec<_> = needs.collect();
            needs.sort();
            needs
        };
        let plain = self.plain_graph();
        assert_eq!(sorted(&self.graph.snapshot()), sorted(&plain));
        if self.is_deadlock_free {
            assert!(plain.stuck_agents().is_empty(), "{plain:?}");
        }
        for owner in 0..OWNERS {
            let is_member = plain.needs(&owner).iter().any(|need| closes_deadlock(&plain, owner, need));
            assert_eq!(self.graph.deadlock_of(owner).is_some(), is_member, "{owner} in {plain:?}");
            let waiters = plain.waits().flat_map(|(_, needs)| needs).filter(|need| need.awaited().contains(&owner));
            assert_eq!(self.graph.waiters_of(owner).count(), waiters.count());
        }
    }
}

fn normalized(need: &Need<u8>) -> Need<u8> {
    let mut awaited = need.awaited().to_vec();
    awaited.sort_unstable();
    awaited.dedup();
    if matches!(need, Need::Any(_)) { Need::Any(awaited) } else { Need::All(awaited) }
}

fn remove(need: &mut Need<u8>, owner: u8) {
    match need {
        Need::All(awaited) | Need::Any(awaited) => awaited.retain(|name| *name != owner),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_owner_is_ever_stuck_if_deadlocks_are_refused(calls in prop::collection::vec(call(), 0..50)) {
        let mut comparison = Comparison { is_deadlock_free: true, ..Comparison::default() };
        calls.into_iter().for_each(|call| comparison.call(call));
    }

    #[test]
    fn forced_deadlocks_are_distinguished_from_waits_behind_them(calls in prop::collection::vec(call(), 0..50)) {
        let mut comparison = Comparison::default();
        calls.into_iter().for_each(|call| comparison.call(call));
    }
}
