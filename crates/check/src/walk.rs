//! Random walks, for state spaces too large to explore completely. The seed and a walk's number
//! determine the walk.

use crate::action::Action;
use crate::breadth::{End, OnProgress, Progress, SearchOptions};
use crate::content::mix;
use crate::expand::{ComputingLookup, Successors, expand};
use crate::memory;
use crate::worker_group::{MakeWorkerGroup, Trace, WorkerGroup};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The number and length of random walks, and their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walks {
    pub count: u64,
    /// Maximum number of steps of each walk.
    pub steps: u64,
    pub seed: u64,
}

pub(crate) struct WalkResult {
    pub(crate) progress: Progress,
    pub(crate) end: End,
    /// The shortest violation of each property; of equally short ones, that of the walk with the
    /// lowest number.
    pub(crate) violations: Vec<Option<Trace>>,
    pub(crate) walks: u64,
}

struct Shared {
    options: SearchOptions,
    walks: Walks,
    next: AtomicU64,
    done: AtomicU64,
    steps: AtomicU64,
    deepest: AtomicU64,
    stop: AtomicBool,
    /// Walks with a higher number are not needed any more.
    highest_needed: AtomicU64,
    /// For each property the length of the path, the number of the walk, and the path.
    violations: Mutex<Vec<Option<(usize, u64, Trace)>>>,
}

pub(crate) fn walk(
    make_group: MakeWorkerGroup<'_>,
    properties: usize,
    walks: Walks,
    options: SearchOptions,
    on_progress: OnProgress<'_>,
) -> WalkResult {
    let shared = Shared {
        options,
        walks,
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        steps: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        highest_needed: AtomicU64::new(u64::MAX),
        violations: Mutex::new(vec![None; properties]),
    };
    let running = AtomicUsize::new(options.threads);
    let main_thread = thread::current();
    let mut over_limit = false;
    thread::scope(|scope| {
        for _ in 0..options.threads {
            let work = || {
                let mut walker = Walker { shared: &shared, worker_group: make_group(), found: Successors::default() };
                walker.work();
                running.fetch_sub(1, Ordering::SeqCst);
                main_thread.unpark();
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                running.fetch_sub(1, Ordering::SeqCst);
            }
        }
        while running.load(Ordering::SeqCst) > 0 {
            thread::park_timeout(Duration::from_millis(20));
            let progress = measure(&shared);
            over_limit |= progress.memory > options.memory_limit;
            if !on_progress(progress) || over_limit {
                shared.stop.store(true, Ordering::SeqCst);
            }
        }
    });
    let progress = measure(&shared);
    let violations = shared.violations.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_violated = violations.iter().any(Option::is_some);
    let end = match (over_limit, options.stop_at_first && is_violated) {
        (true, _) => End::Memory,
        (false, true) => End::FirstViolation,
        (false, false) => End::Stopped,
    };
    let violations = violations.into_iter().map(|violation| violation.map(|(_, _, trace)| trace)).collect();
    WalkResult { progress, end, violations, walks: shared.done.load(Ordering::SeqCst) }
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
    worker_group: WorkerGroup<'a>,
    found: Successors,
}

impl Walker<'_> {
    fn work(&mut self) {
        loop {
            let number = self.shared.next.fetch_add(1, Ordering::SeqCst);
            let highest_needed = self.shared.highest_needed.load(Ordering::SeqCst);
            if number >= self.shared.walks.count || number > highest_needed || self.shared.stop.load(Ordering::SeqCst) {
                return;
            }
            self.walk(number);
            self.shared.done.fetch_add(1, Ordering::SeqCst);
            let WorkerGroup { system, stepper, .. } = &self.worker_group;
            if system.tables.is_full() || stepper.has_too_many_moves() {
                return;
            }
        }
    }

    fn walk(&mut self, number: u64) {
        let mut random = mix(self.shared.walks.seed ^ mix(number));
        let mut draw_index = |count: usize| {
            random = mix(random.wrapping_add(0x9e37_79b9_7f4a_7c15));
            ((u128::from(random) * count as u128) >> 64) as usize
        };
        let mut state = self.worker_group.initial[draw_index(self.worker_group.initial.len())].clone();
        let mut path = vec![self.worker_group.system.fingerprint(&state)];
        for step in 0..self.shared.walks.steps {
            if step.is_multiple_of(4_096) && self.shared.stop.load(Ordering::Relaxed) {
                break;
            }
            let fingerprint = path.last().copied().unwrap_or_default();
            let WorkerGroup { system, stepper, .. } = &mut self.worker_group;
            let lookup = &mut ComputingLookup { system, stepper: &mut **stepper };
            // Computing missing outcomes never fails.
            let _ = expand(lookup, &state, fingerprint, 0, &mut self.found);
            for property in self.shared.options.terminal.broken(self.found.summary) {
                self.record_violation(property, number, &path);
            }
            // Threads number states in different orders, but fingerprints are the same everywhere.
            self.found.candidates.sort_by_key(|candidate| (candidate.fingerprint, candidate.action));
            if self.found.candidates.is_empty() {
                break;
            }
            let candidate = self.found.candidates[draw_index(self.found.candidates.len())];
            path.push(candidate.fingerprint);
            for (property, action) in std::mem::take(&mut self.found.violations) {
                if action == candidate.action {
                    self.record_violation(property, number, &path);
                }
            }
            let action = Action::unpack(candidate.action);
            let mut next = Vec::with_capacity(state.len() + 4);
            self.worker_group.system.apply_action(&state, action, candidate.outcome, &mut next);
            state = next;
            if self.worker_group.system.is_visible(action, candidate.outcome) {
                let broken: Vec<u8> = self.worker_group.system.broken(&state).collect();
                for property in broken {
                    self.record_violation(property, number, &path);
                }
            }
        }
        self.shared.steps.fetch_add(path.len() as u64 - 1, Ordering::Relaxed);
        self.shared.deepest.fetch_max(path.len() as u64 - 1, Ordering::Relaxed);
    }

    fn record_violation(&self, property: u8, walk: u64, path: &[u64]) {
        let mut violations = self.shared.violations.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut violations[usize::from(property)];
        let stop_at_first = self.shared.options.stop_at_first;
        // With `stop_at_first`, the violation of the walk with the lowest number wins, whichever
        // thread took that walk.
        let rank =
            |length: usize, walk: u64| if stop_at_first { (walk, length) } else { (length as u64, walk as usize) };
        let is_better =
            known.as_ref().is_none_or(|(length, number, _)| rank(path.len(), walk) < rank(*length, *number));
        if is_better {
            *known = Some((path.len(), walk, Trace { fingerprints: path.to_vec() }));
        }
        if stop_at_first {
            self.shared.highest_needed.fetch_min(walk, Ordering::SeqCst);
        }
    }
}
