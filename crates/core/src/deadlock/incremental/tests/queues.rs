//! Tests that queues with reduced edges give the same answers as queues with all edges. A request
//! covers the owners that it waits for: a request that waits for it needs no edges to these owners.
//! An owner is an agent that holds or requests the lock. An argument `queue` has the requests
//! ahead, the nearest first.

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

fn is_conflict(requested: Mode, ahead: Mode) -> bool {
    match (requested, ahead) {
        (Mode::Exclusive, _) | (_, Mode::Exclusive) => true,
        (Mode::Shared, Mode::IntentionExclusive) | (Mode::IntentionExclusive, Mode::Shared) => true,
        (Mode::Shared | Mode::IntentionShared, Mode::Shared | Mode::IntentionShared)
        | (Mode::IntentionExclusive, Mode::IntentionExclusive | Mode::IntentionShared)
        | (Mode::IntentionShared, Mode::IntentionExclusive) => false,
    }
}

fn mode_conflicts() -> Conflicts<'static, Mode, fn(Mode, Mode) -> bool> {
    Conflicts { modes: &MODES, is_conflict }
}

#[test]
fn a_request_behind_an_exclusive_queue_waits_for_the_last_of_it_only() {
    let queue: Vec<(u32, Mode)> = (1..100).rev().map(|owner| (owner, Mode::Exclusive)).collect();
    assert_eq!(mode_conflicts().awaited_owners((100, Mode::Shared), queue, [(0, Mode::Exclusive)]), [99]);
}

#[test]
fn readers_do_not_cover_each_other_but_a_writer_covers_all_ahead_of_it() {
    let queue = [(5, Mode::Shared), (4, Mode::IntentionShared), (3, Mode::Exclusive), (2, Mode::Shared)];
    let holders = [(1, Mode::Exclusive)];
    assert_eq!(
        mode_conflicts().awaited_owners((6, Mode::Exclusive), queue, holders),
        [5, 4, 3],
        "2 and 1 are omitted, because 3 waits for them"
    );
    assert_eq!(mode_conflicts().awaited_owners((6, Mode::Shared), queue, holders), [3]);
    assert_eq!(mode_conflicts().awaited_owners((3, Mode::Shared), queue, holders), [1], "no owner waits for itself");
}

#[test]
fn waiters_of_an_owner_that_leaves_get_the_edges_omitted_because_of_it() {
    let queue = [(2, Mode::Shared), (1, Mode::IntentionShared)];
    let holders = [(0, Mode::Exclusive)];
    let changes = mode_conflicts().changes_after(3, &[3], (4, Mode::Exclusive), queue, holders);
    assert_eq!(changes, Changes { added: [1, 2].into(), removed: [3].into() });
    // A request that did not wait for the leaver.
    let changes = mode_conflicts().changes_after(3, &[2], (4, Mode::Exclusive), queue, holders);
    assert_eq!(changes, Changes { added: [].into(), removed: [].into() });
    let unchanged = mode_conflicts().changes_after(0, &[0], (4, Mode::Exclusive), [], holders);
    assert_eq!(
        unchanged,
        Changes { added: [].into(), removed: [].into() },
        "owner 0 has left the queue but still holds the lock"
    );
}

const OWNERS: u8 = 6;
const LOCKS: usize = 3;

/// A queued request, with its wait in the graph of reduced edges and in that of all edges.
#[derive(Clone, Copy, Debug)]
struct QueuedRequest {
    owner: u8,
    mode: Mode,
    reduced_wait: WaitHandle,
    full_wait: WaitHandle,
}

/// A lock: its holders, and its queue from the first to the last.
#[derive(Clone, Debug, Default)]
struct Lock {
    holders: Vec<(u8, Mode)>,
    queue: Vec<QueuedRequest>,
}

/// Some locks, with a graph of reduced edges and one of all edges.
#[derive(Default)]
struct Service {
    locks: [Lock; LOCKS],
    reduced_graph: WaitForGraph<u8>,
    full_graph: WaitForGraph<u8>,
}

impl Lock {
    /// Returns the requests ahead of a position, the nearest first.
    fn requests_ahead(&self, position: usize) -> Vec<(u8, Mode)> {
        self.queue[..position].iter().rev().map(|queued| (queued.owner, queued.mode)).collect()
    }

    /// Returns the owners that a request at this position waits for, with no edge omitted.
    fn all_conflicting(&self, (owner, mode): (u8, Mode), position: usize) -> Vec<u8> {
        let ahead = self.requests_ahead(position).into_iter().chain(self.holders.iter().copied());
        ahead
            .filter(|(other, other_mode)| *other != owner && is_conflict(mode, *other_mode))
            .map(|(other, _)| other)
            .collect()
    }
}

impl Service {
    fn ask(&mut self, lock: usize, owner: u8, mode: Mode) {
        let lock_state = &mut self.locks[lock];
        let (position, holders) = (lock_state.queue.len(), lock_state.holders.iter().copied());
        let reduced_edges =
            mode_conflicts().awaited_owners((owner, mode), lock_state.requests_ahead(position), holders);
        let all_edges = lock_state.all_conflicting((owner, mode), position);
        assert_eq!(reduced_edges.is_empty(), all_edges.is_empty());
        if lock_state.queue.iter().any(|queued| queued.owner == owner) {
            return;
        }
        if all_edges.is_empty() {
            lock_state.holders.push((owner, mode));
            return;
        }
        let answers =
            (self.reduced_graph.wait(owner, all(&reduced_edges)), self.full_graph.wait(owner, all(&all_edges)));
        match answers {
            (Ok(reduced_wait), Ok(full_wait)) => {
                lock_state.queue.push(QueuedRequest { owner, mode, reduced_wait, full_wait });
            }
            (Err(_), Err(_)) => {}
            (reduced, full) => panic!("{owner} {mode:?}: {reduced:?} with reduced edges, {full:?} with all"),
        }
    }

    fn leave(&mut self, lock: usize, owner: u8) {
        let lock_state = &mut self.locks[lock];
        lock_state.holders.retain(|(holder, _)| *holder != owner);
        if let Some(position) = lock_state.queue.iter().position(|queued| queued.owner == owner) {
            let removed = lock_state.queue.remove(position);
            assert!(self.reduced_graph.end(removed.reduced_wait) && self.full_graph.end(removed.full_wait));
        }
        self.replace_edges(lock, owner);
        self.grant(lock);
    }

    /// Gives the requests that waited for the leaver the edges that were omitted because of it, and
    /// removes their edges to the leaver in both graphs, unless they still wait for it.
    fn replace_edges(&mut self, lock: usize, leaver: u8) {
        let lock_state = &self.locks[lock];
        for (position, queued) in lock_state.queue.iter().enumerate() {
            let previous_awaited =
                self.reduced_graph.need(queued.reduced_wait).expect("a queued request waits").awaited().to_vec();
            let request = (queued.owner, queued.mode);
            let holders = lock_state.holders.iter().copied();
            let changes = mode_conflicts().changes_after(
                leaver,
                &previous_awaited,
                request,
                lock_state.requests_ahead(position),
                holders,
            );
            for owner in changes.added {
                assert_eq!(
                    self.reduced_graph.add_owner(queued.reduced_wait, owner),
                    Ok(()),
                    "the request waited for the owner already, through the leaver"
                );
            }
            for owner in changes.removed {
                self.reduced_graph.remove_owner(queued.reduced_wait, owner);
            }
            if !lock_state.all_conflicting(request, position).contains(&leaver) {
                self.full_graph.remove_owner(queued.full_wait, leaver);
            }
        }
    }

    /// Grants requests from the head of the queue as long as they conflict with no holder.
    fn grant(&mut self, lock: usize) {
        let lock_state = &mut self.locks[lock];
        while lock_state
            .queue
            .first()
            .is_some_and(|first| lock_state.all_conflicting((first.owner, first.mode), 0).is_empty())
        {
            let first = lock_state.queue.remove(0);
            assert_eq!(
                self.reduced_graph.need(first.reduced_wait).map(|need| need.awaited().len()),
                Some(0),
                "the reduced wait is met too"
            );
            self.reduced_graph.end(first.reduced_wait);
            self.full_graph.end(first.full_wait);
            lock_state.holders.push((first.owner, first.mode));
        }
    }

    /// Asserts that both graphs give the same answer for every pair of owners.
    fn assert_same_answers(&mut self) {
        self.reduced_graph.assert_sound();
        assert!(self.reduced_graph.edge_count() <= self.full_graph.edge_count());
        for (waiter, awaited) in (0..OWNERS).flat_map(|waiter| (0..OWNERS).map(move |awaited| (waiter, awaited))) {
            let need: Need<u8> = all(&[awaited]);
            let [reduced, full] =
                [&mut self.reduced_graph, &mut self.full_graph].map(|graph| graph.would_deadlock(waiter, &need));
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
            // One call in three leaves a lock.
            if kind == 0 {
                service.leave(lock, owner);
            } else {
                service.ask(lock, owner, mode);
            }
            service.assert_same_answers();
        }
    }
}
