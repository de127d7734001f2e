//! Queues with few edges answer as queues with all of them.

use super::super::queue::{Changes, Conflicts};
use super::{WaitForGraph, WaitId, all};
use crate::deadlock::Need;
use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};
use std::vec::Vec;

/// How a lock is asked for: with intentions for what is below it, as trees of locks have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Exclusive,
    Shared,
    IntentionExclusive,
    IntentionShared,
}

const MODES: [Mode; 4] = [Mode::Exclusive, Mode::Shared, Mode::IntentionExclusive, Mode::IntentionShared];

fn conflict(one: Mode, other: Mode) -> bool {
    match (one, other) {
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
    assert_eq!(conflicts().ahead((100, Mode::Shared), queue, [(0, Mode::Exclusive)]), [99]);
}

#[test]
fn readers_do_not_stand_for_each_other_but_a_writer_before_them_stands_for_all() {
    let queue = [(5, Mode::Shared), (4, Mode::IntentionShared), (3, Mode::Exclusive), (2, Mode::Shared)];
    let holders = [(1, Mode::Exclusive)];
    assert_eq!(conflicts().ahead((6, Mode::Exclusive), queue, holders), [5, 4, 3], "and 3 stands for all the others");
    assert_eq!(conflicts().ahead((6, Mode::Shared), queue, holders), [3]);
    assert_eq!(conflicts().ahead((3, Mode::Shared), queue, holders), [1], "nobody waits for itself");
}

#[test]
fn who_leaves_hands_on_what_it_stood_for() {
    let queue = [(2, Mode::Shared), (1, Mode::IntentionShared)];
    let holders = [(0, Mode::Exclusive)];
    let changes = conflicts().after(3, &[3], (4, Mode::Exclusive), queue, holders);
    assert_eq!(changes, Changes { also: [1, 2].into(), let_go: [3].into() });
    let changes = conflicts().after(3, &[2], (4, Mode::Exclusive), queue, holders);
    assert_eq!(changes, Changes { also: [].into(), let_go: [].into() });
    let upgrades = conflicts().after(0, &[0], (4, Mode::Exclusive), [], holders);
    assert_eq!(upgrades, Changes { also: [].into(), let_go: [].into() }, "it left the queue and holds on");
}

const OWNERS: u8 = 6;
const LOCKS: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Asked {
    owner: u8,
    mode: Mode,
    thin: WaitId,
    full: WaitId,
}

/// A lock: those who hold it, and its queue from the first to the last.
#[derive(Clone, Debug, Default)]
struct Lock {
    holders: Vec<(u8, Mode)>,
    queue: Vec<Asked>,
}

/// Some locks, with the fewest edges and with all of them.
#[derive(Default)]
struct Service {
    locks: [Lock; LOCKS],
    thin: WaitForGraph<u8>,
    full: WaitForGraph<u8>,
}

impl Lock {
    fn ahead(&self, place: usize) -> Vec<(u8, Mode)> {
        self.queue[..place].iter().rev().map(|asked| (asked.owner, asked.mode)).collect()
    }

    fn everyone(&self, (owner, mode): (u8, Mode), place: usize) -> Vec<u8> {
        let ahead = self.ahead(place).into_iter().chain(self.holders.iter().copied());
        ahead.filter(|(other, held)| *other != owner && conflict(mode, *held)).map(|(other, _)| other).collect()
    }
}

impl Service {
    fn ask(&mut self, lock: usize, owner: u8, mode: Mode) {
        let place = self.locks[lock].queue.len();
        let lock = &mut self.locks[lock];
        let thin = conflicts().ahead((owner, mode), lock.ahead(place), lock.holders.iter().copied());
        let full = lock.everyone((owner, mode), place);
        assert_eq!(thin.is_empty(), full.is_empty());
        if lock.queue.iter().any(|asked| asked.owner == owner) {
            return;
        }
        if full.is_empty() {
            lock.holders.push((owner, mode));
            return;
        }
        let answers = (self.thin.wait(owner, all(&thin)), self.full.wait(owner, all(&full)));
        match answers {
            (Ok(thin), Ok(full)) => lock.queue.push(Asked { owner, mode, thin, full }),
            (Err(_), Err(_)) => {}
            (thin, full) => panic!("{owner} {mode:?}: {thin:?} with few edges, {full:?} with all"),
        }
    }

    fn leave(&mut self, lock: usize, owner: u8) {
        let at = &mut self.locks[lock];
        at.holders.retain(|(holder, _)| *holder != owner);
        if let Some(place) = at.queue.iter().position(|asked| asked.owner == owner) {
            let gone = at.queue.remove(place);
            assert!(self.thin.end(gone.thin) && self.full.end(gone.full));
        }
        self.mend(lock, owner);
        self.grant(lock);
    }

    /// Those behind who waited for it get the edges that it stood for.
    fn mend(&mut self, lock: usize, left: u8) {
        let at = &self.locks[lock];
        for (place, asked) in at.queue.iter().enumerate() {
            let waits_for = self.thin.need(asked.thin).expect("it waits").on().to_vec();
            let who = (asked.owner, asked.mode);
            let holders = at.holders.iter().copied();
            let changes = conflicts().after(left, &waits_for, who, at.ahead(place), holders);
            for owner in changes.also {
                assert_eq!(self.thin.also(asked.thin, owner), Ok(()), "what it waited for by way of another one");
            }
            for owner in changes.let_go {
                self.thin.let_go(asked.thin, owner);
            }
            if !at.everyone(who, place).contains(&left) {
                self.full.let_go(asked.full, left);
            }
        }
    }

    /// Whoever is first and conflicts with no holder is let in.
    fn grant(&mut self, lock: usize) {
        let at = &mut self.locks[lock];
        while at.queue.first().is_some_and(|first| at.everyone((first.owner, first.mode), 0).is_empty()) {
            let first = at.queue.remove(0);
            assert_eq!(
                self.thin.need(first.thin).map(|need| need.on().len()),
                Some(0),
                "with few edges it is free too"
            );
            self.thin.end(first.thin);
            self.full.end(first.full);
            at.holders.push((first.owner, first.mode));
        }
    }

    /// Both graphs give everyone the same answers, whomever it asks about.
    fn assert_same(&mut self) {
        self.thin.assert_sound();
        assert!(self.thin.edges() <= self.full.edges());
        for (waiter, on) in (0..OWNERS).flat_map(|waiter| (0..OWNERS).map(move |on| (waiter, on))) {
            let need: Need<u8> = all(&[on]);
            let [thin, full] = [&mut self.thin, &mut self.full].map(|graph| graph.would_deadlock(waiter, &need));
            assert_eq!(thin.is_some(), full.is_some(), "{waiter} for {on} in {:?}", self.locks);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn queues_with_few_edges_answer_as_with_all(
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
