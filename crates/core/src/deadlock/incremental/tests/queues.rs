//! Tests that queues with reduced edges give the same answers as queues with all edges.

use super::super::queue::{Changes, Conflicts};
use super::{WaitForGraph, WaitHandle, all};
use crate::deadlock::Need;
use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};
use std::vec::Vec;

/// The lock modes, with intention modes as in hierarchical locking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Exclusive,
    Shared,
    IntentionExclusive,
    IntentionShared,
}

const MODES: [Mode; 4] = [Mode::Exclusive, Mode::Shared, Mode::IntentionExclusive, Mode::IntentionShared];

fn conflict(requested: Mode, ahead: Mode) -> bool {
    match (requested, ahead) {
        (Mode::Exclusive, _) | (_, Mode::Exclusive) => true,
        (Mode::Shared, Mode::IntentionExclusive) | (Mode::IntentionExclusive, Mode::Shared) => true,
        (Mode::Shared | Mode::IntentionShared, Mode::Shared | Mode::IntentionShared)
        | (Mode::IntentionExclusive, Mode::IntentionExclusive | Mode::IntentionShared)
        | (Mode::IntentionShared, Mode::IntentionExclusive) => false,
    }
}

fn conflicts() -> Conflicts<'static, Mode, fn(Mode, Mode) -> bool> {
    Conflicts { modes: &MODES, conflict }
}

#[test]
fn an_exclusive_queue_has_one_edge_each() {
    let queue: Vec<(u32, Mode)> = (1..100).rev().map(|owner| (owner, Mode::Exclusive)).collect();
    assert_eq!(conflicts().waits_for((100, Mode::Shared), queue, [(0, Mode::Exclusive)]), [99]);
}

#[test]
fn readers_do_not_cover_each_other_but_a_writer_before_them_covers_all() {
    let queue = [(5, Mode::Shared), (4, Mode::IntentionShared), (3, Mode::Exclusive), (2, Mode::Shared)];
    let holders = [(1, Mode::Exclusive)];
    assert_eq!(conflicts().waits_for((6, Mode::Exclusive), queue, holders), [5, 4, 3], "3 covers all the others");
    assert_eq!(conflicts().waits_for((6, Mode::Shared), queue, holders), [3]);
    assert_eq!(conflicts().waits_for((3, Mode::Shared), queue, holders), [1], "no owner waits for itself");
}

#[test]
fn an_owner_that_leaves_hands_its_edges_on() {
    let queue = [(2, Mode::Shared), (1, Mode::IntentionShared)];
    let holders = [(0, Mode::Exclusive)];
    let changes = conflicts().changes_after(3, &[3], (4, Mode::Exclusive), queue, holders);
    assert_eq!(changes, Changes { added: [1, 2].into(), removed: [3].into() });
    let changes = conflicts().changes_after(3, &[2], (4, Mode::Exclusive), queue, holders);
    assert_eq!(changes, Changes { added: [].into(), removed: [].into() });
    let unchanged = conflicts().changes_after(0, &[0], (4, Mode::Exclusive), [], holders);
    assert_eq!(
        unchanged,
        Changes { added: [].into(), removed: [].into() },
        "it left the queue and still holds the lock"
    );
}

const OWNERS: u8 = 6;
const LOCKS: usize = 3;

/// A queue entry, with its wait in both graphs.
#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: u8,
    mode: Mode,
    reduced: WaitHandle,
    full: WaitHandle,
}

/// A lock: its holders, and its queue from the first to the last.
#[derive(Clone, Debug, Default)]
struct Lock {
    holders: Vec<(u8, Mode)>,
    queue: Vec<Entry>,
}

/// Some locks, with a graph of reduced edges and one of all edges.
#[derive(Default)]
struct Service {
    locks: [Lock; LOCKS],
    reduced: WaitForGraph<u8>,
    full: WaitForGraph<u8>,
}

impl Lock {
    fn ahead(&self, position: usize) -> Vec<(u8, Mode)> {
        self.queue[..position].iter().rev().map(|entry| (entry.owner, entry.mode)).collect()
    }

    fn all_conflicting(&self, (owner, mode): (u8, Mode), position: usize) -> Vec<u8> {
        let ahead = self.ahead(position).into_iter().chain(self.holders.iter().copied());
        ahead.filter(|(other, held)| *other != owner && conflict(mode, *held)).map(|(other, _)| other).collect()
    }
}

impl Service {
    fn ask(&mut self, lock: usize, owner: u8, mode: Mode) {
        let position = self.locks[lock].queue.len();
        let lock = &mut self.locks[lock];
        let reduced = conflicts().waits_for((owner, mode), lock.ahead(position), lock.holders.iter().copied());
        let full = lock.all_conflicting((owner, mode), position);
        assert_eq!(reduced.is_empty(), full.is_empty());
        if lock.queue.iter().any(|entry| entry.owner == owner) {
            return;
        }
        if full.is_empty() {
            lock.holders.push((owner, mode));
            return;
        }
        let answers = (self.reduced.wait(owner, all(&reduced)), self.full.wait(owner, all(&full)));
        match answers {
            (Ok(reduced), Ok(full)) => lock.queue.push(Entry { owner, mode, reduced, full }),
            (Err(_), Err(_)) => {}
            (reduced, full) => panic!("{owner} {mode:?}: {reduced:?} with reduced edges, {full:?} with all"),
        }
    }

    fn leave(&mut self, lock: usize, owner: u8) {
        let lock_state = &mut self.locks[lock];
        lock_state.holders.retain(|(holder, _)| *holder != owner);
        if let Some(position) = lock_state.queue.iter().position(|entry| entry.owner == owner) {
            let removed = lock_state.queue.remove(position);
            assert!(self.reduced.end(removed.reduced) && self.full.end(removed.full));
        }
        self.hand_on_edges(lock, owner);
        self.grant(lock);
    }

    /// Gives the entries behind that waited for the owner the edges that it represented.
    fn hand_on_edges(&mut self, lock: usize, leaver: u8) {
        let lock_state = &self.locks[lock];
        for (position, entry) in lock_state.queue.iter().enumerate() {
            let waits_for = self.reduced.need(entry.reduced).expect("a queued entry waits").on().to_vec();
            let request = (entry.owner, entry.mode);
            let holders = lock_state.holders.iter().copied();
            let changes = conflicts().changes_after(leaver, &waits_for, request, lock_state.ahead(position), holders);
            for owner in changes.added {
                assert_eq!(self.reduced.add_owner(entry.reduced, owner), Ok(()), "an edge that existed indirectly");
            }
            for owner in changes.removed {
                self.reduced.remove_owner(entry.reduced, owner);
            }
            if !lock_state.all_conflicting(request, position).contains(&leaver) {
                self.full.remove_owner(entry.full, leaver);
            }
        }
    }

    /// Grants the first entries that conflict with no holder.
    fn grant(&mut self, lock: usize) {
        let lock_state = &mut self.locks[lock];
        while lock_state
            .queue
            .first()
            .is_some_and(|first| lock_state.all_conflicting((first.owner, first.mode), 0).is_empty())
        {
            let first = lock_state.queue.remove(0);
            assert_eq!(
                self.reduced.need(first.reduced).map(|need| need.on().len()),
                Some(0),
                "the reduced wait is met too"
            );
            self.reduced.end(first.reduced);
            self.full.end(first.full);
            lock_state.holders.push((first.owner, first.mode));
        }
    }

    /// Asserts that both graphs answer every question alike.
    fn assert_same(&mut self) {
        self.reduced.assert_sound();
        assert!(self.reduced.edges() <= self.full.edges());
        for (waiter, awaited) in (0..OWNERS).flat_map(|waiter| (0..OWNERS).map(move |awaited| (waiter, awaited))) {
            let need: Need<u8> = all(&[awaited]);
            let [reduced, full] = [&mut self.reduced, &mut self.full].map(|graph| graph.would_deadlock(waiter, &need));
            assert_eq!(reduced.is_some(), full.is_some(), "{waiter} for {awaited} in {:?}", self.locks);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn queues_with_reduced_edges_answer_as_with_all(
        calls in prop::collection::vec((0..3_u8, 0..LOCKS, 0..OWNERS, (0..MODES.len()).prop_map(|mode| MODES[mode])), 0..60),
    ) {
        let mut service = Service::default();
        for (kind, lock, owner, mode) in calls {
            if kind == 0 {
                service.leave(lock, owner);
            } else {
                service.ask(lock, owner, mode);
            }
            service.assert_same();
        }
    }
}
