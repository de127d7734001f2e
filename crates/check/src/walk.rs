//! Random walks: for spaces too large to see all of. Each walk follows from the seed and its number alone.

use crate::action::Action;
use crate::breadth::{End, Orders, Progress, Watch};
use crate::content::mix;
use crate::expand::{Found, Learning, expand};
use crate::memory;
use crate::troupe::{Casting, Trace, Troupe};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How many walks to take, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walks {
    pub count: u64,
    /// How many steps each takes at most.
    pub steps: u64,
    pub seed: u64,
}

pub(crate) struct Walked {
    pub(crate) progress: Progress,
    pub(crate) end: End,
    /// The shortest breach of each property; of equally short ones that of the first walk.
    pub(crate) breaches: Vec<Option<Trace>>,
    pub(crate) walks: u64,
}

struct Shared {
    orders: Orders,
    walks: Walks,
    next: AtomicU64,
    done: AtomicU64,
    steps: AtomicU64,
    deepest: AtomicU64,
    stop: AtomicBool,
    /// Walks after this one are not wanted any more.
    last: AtomicU64,
    breaches: Mutex<Vec<Option<(usize, u64, Trace)>>>,
}

pub(crate) fn walk(casting: Casting<'_>, properties: usize, walks: Walks, orders: Orders, watch: Watch<'_>) -> Walked {
    let shared = Shared {
        orders,
        walks,
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        steps: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        last: AtomicU64::new(u64::MAX),
        breaches: Mutex::new(vec![None; properties]),
    };
    let running = AtomicUsize::new(orders.threads);
    let keeper = thread::current();
    let mut crowded = false;
    thread::scope(|scope| {
        for _ in 0..orders.threads {
            let work = || {
                let mut walker = Walker { shared: &shared, troupe: casting(), found: Found::default() };
                walker.work();
                running.fetch_sub(1, Ordering::SeqCst);
                keeper.unpark();
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                running.fetch_sub(1, Ordering::SeqCst);
            }
        }
        while running.load(Ordering::SeqCst) > 0 {
            thread::park_timeout(Duration::from_millis(20));
            let progress = measure(&shared);
            crowded |= progress.memory > orders.memory;
            if !watch(progress) || crowded {
                shared.stop.store(true, Ordering::SeqCst);
            }
        }
    });
    let progress = measure(&shared);
    let breaches = shared.breaches.into_inner().unwrap_or_else(PoisonError::into_inner);
    let breached = breaches.iter().any(Option::is_some);
    let end = match (crowded, orders.first && breached) {
        (true, _) => End::Memory,
        (false, true) => End::FirstBreach,
        (false, false) => End::Stopped,
    };
    let breaches = breaches.into_iter().map(|breach| breach.map(|(_, _, trace)| trace)).collect();
    Walked { progress, end, breaches, walks: shared.done.load(Ordering::SeqCst) }
}

fn measure(shared: &Shared) -> Progress {
    let steps = shared.steps.load(Ordering::Relaxed);
    let depth = shared.deepest.load(Ordering::Relaxed);
    let queue = shared.walks.count.saturating_sub(shared.done.load(Ordering::Relaxed));
    let memory = memory::resident().unwrap_or(0);
    Progress { states: 0, generated: steps, depth, queue, memory }
}

struct Walker<'a> {
    shared: &'a Shared,
    troupe: Troupe<'a>,
    found: Found,
}

impl Walker<'_> {
    fn work(&mut self) {
        loop {
            let number = self.shared.next.fetch_add(1, Ordering::SeqCst);
            let last = self.shared.last.load(Ordering::SeqCst);
            if number >= self.shared.walks.count || number > last || self.shared.stop.load(Ordering::SeqCst) {
                return;
            }
            self.walk(number);
            self.shared.done.fetch_add(1, Ordering::SeqCst);
            let Troupe { system, oracle, .. } = &self.troupe;
            if system.tables.is_full() || oracle.is_overrun() {
                return;
            }
        }
    }

    fn walk(&mut self, number: u64) {
        let mut chance = mix(self.shared.walks.seed ^ mix(number));
        let mut draw = |among: usize| {
            chance = mix(chance.wrapping_add(0x9e37_79b9_7f4a_7c15));
            ((u128::from(chance) * among as u128) >> 64) as usize
        };
        let mut state = self.troupe.initial[draw(self.troupe.initial.len())].clone();
        let mut path = vec![self.troupe.system.fingerprint(&state)];
        for step in 0..self.shared.walks.steps {
            if step.is_multiple_of(4_096) && self.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            let at = path.last().copied().unwrap_or_default();
            let Troupe { system, oracle, .. } = &mut self.troupe;
            let lookup = &mut Learning { system, oracle: &mut **oracle };
            // Whoever can learn knows everything.
            let _ = expand(lookup, &state, at, 0, &mut self.found);
            for property in self.shared.orders.stops.broken(self.found.sight) {
                self.breach(property, number, &path);
            }
            // Threads number things in different orders; fingerprints are the same everywhere.
            self.found.candidates.sort_by_key(|candidate| (candidate.fingerprint, candidate.action));
            if self.found.candidates.is_empty() {
                break;
            }
            let candidate = self.found.candidates[draw(self.found.candidates.len())];
            path.push(candidate.fingerprint);
            for (property, action) in std::mem::take(&mut self.found.breaches) {
                if action == candidate.action {
                    self.breach(property, number, &path);
                }
            }
            let action = Action::unpack(candidate.action);
            let mut next = Vec::with_capacity(state.len() + 4);
            self.troupe.system.succeed(&state, action, candidate.outcome, &mut next);
            state = next;
            if self.troupe.system.can_be_seen(action, candidate.outcome) {
                let broken: Vec<u8> = self.troupe.system.broken(&state).collect();
                for property in broken {
                    self.breach(property, number, &path);
                }
            }
        }
        self.shared.steps.fetch_add(path.len() as u64 - 1, Ordering::Relaxed);
        self.shared.deepest.fetch_max(path.len() as u64 - 1, Ordering::Relaxed);
    }

    fn breach(&self, property: u8, walk: u64, path: &[u64]) {
        let mut breaches = self.shared.breaches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut breaches[usize::from(property)];
        let first = self.shared.orders.first;
        // Whoever wants the first breach gets that of the first walk that has one, whichever thread took it.
        let rank = |length: usize, walk: u64| if first { (walk, length) } else { (length as u64, walk as usize) };
        let better = known.as_ref().is_none_or(|(length, number, _)| rank(path.len(), walk) < rank(*length, *number));
        if better {
            *known = Some((path.len(), walk, Trace { fingerprints: path.to_vec() }));
        }
        if first {
            self.shared.last.fetch_min(walk, Ordering::SeqCst);
        }
    }
}
