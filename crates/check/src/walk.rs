//! Random walks, for state spaces too large to explore completely. The seed and a walk's number
//! determine the walk.

use crate::action::Action;
use crate::breadth::{OnProgress, Progress, SearchEnd, SearchOptions};
use crate::content::mix;
use crate::expand::{ComputingLookup, NO_BATCH, Successors, expand};
use crate::memory;
use crate::worker_group::{FingerprintPath, MakeWorkerModel, WorkerModel};
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

const REPORT_INTERVAL: Duration = Duration::from_millis(20);
/// Number of steps after which a walk checks whether it must stop.
const STEPS_BETWEEN_CHECKS: u64 = 4_096;

/// The findings of random walks.
pub(crate) struct WalkResult {
    pub(crate) progress: Progress,
    pub(crate) end: SearchEnd,
    /// The shortest violation of each property; of equally short ones, that of the walk with the
    /// lowest number. With `stop_at_first`, that of the walk with the lowest number, even if
    /// another one is shorter.
    pub(crate) violations: Vec<Option<FingerprintPath>>,
    /// Number of walks that were taken, including those that a stop cut short.
    pub(crate) finished_walks: u64,
}

/// The data that all threads share.
struct Shared {
    options: SearchOptions,
    walks: Walks,
    next_walk: AtomicU64,
    finished_walks: AtomicU64,
    taken_steps: AtomicU64,
    /// Number of steps of the longest walk.
    deepest: AtomicU64,
    should_stop: AtomicBool,
    /// The highest number of a walk that can still change the result.
    highest_needed: AtomicU64,
    /// For each property the number of states on the path, the number of the walk, and the path.
    violations: Mutex<Vec<Option<(usize, u64, FingerprintPath)>>>,
}

/// Takes random walks on several threads.
pub(crate) fn walk(
    make_model: MakeWorkerModel<'_>,
    property_count: usize,
    walks: Walks,
    options: SearchOptions,
    on_progress: OnProgress<'_>,
) -> WalkResult {
    let shared = Shared {
        options,
        walks,
        next_walk: AtomicU64::new(0),
        finished_walks: AtomicU64::new(0),
        taken_steps: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        should_stop: AtomicBool::new(false),
        highest_needed: AtomicU64::new(u64::MAX),
        violations: Mutex::new(vec![None; property_count]),
    };
    let running = AtomicUsize::new(options.threads);
    let main_thread = thread::current();
    let mut is_over_limit = false;
    thread::scope(|scope| {
        for _ in 0..options.threads {
            let work = || {
                let mut walker = Walker { shared: &shared, model: make_model(), successors: Successors::default() };
                walker.work();
                running.fetch_sub(1, Ordering::SeqCst);
                main_thread.unpark();
            };
            // If a thread cannot be started, the others take its walks.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                running.fetch_sub(1, Ordering::SeqCst);
            }
        }
        while running.load(Ordering::SeqCst) > 0 {
            thread::park_timeout(REPORT_INTERVAL);
            let progress = measure(&shared);
            is_over_limit |= progress.memory > options.memory_limit;
            if !on_progress(progress) || is_over_limit {
                shared.should_stop.store(true, Ordering::SeqCst);
            }
        }
    });
    let progress = measure(&shared);
    let violations = shared.violations.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_violated = violations.iter().any(Option::is_some);
    let end = match (is_over_limit, options.stop_at_first && is_violated) {
        (true, _) => SearchEnd::MemoryLimit,
        (false, true) => SearchEnd::FirstViolation,
        // Walks never show that every state was explored, so they are never complete.
        (false, false) => SearchEnd::Stopped,
    };
    let violations = violations.into_iter().map(|violation| violation.map(|(_, _, path)| path)).collect();
    WalkResult { progress, end, violations, finished_walks: shared.finished_walks.load(Ordering::SeqCst) }
}

fn measure(shared: &Shared) -> Progress {
    let steps = shared.taken_steps.load(Ordering::Relaxed);
    let depth = shared.deepest.load(Ordering::Relaxed);
    let queue = shared.walks.count.saturating_sub(shared.finished_walks.load(Ordering::Relaxed));
    let memory = memory::resident().unwrap_or(0);
    // Walks do not compare states, so they do not count distinct ones.
    Progress { states: 0, generated: steps, depth, queue, memory }
}

struct Walker<'a> {
    shared: &'a Shared,
    model: WorkerModel<'a>,
    successors: Successors,
}

impl Walker<'_> {
    fn work(&mut self) {
        loop {
            let number = self.shared.next_walk.fetch_add(1, Ordering::SeqCst);
            let highest_needed = self.shared.highest_needed.load(Ordering::SeqCst);
            if number >= self.shared.walks.count
                || number > highest_needed
                || self.shared.should_stop.load(Ordering::SeqCst)
            {
                return;
            }
            self.walk(number);
            self.shared.finished_walks.fetch_add(1, Ordering::SeqCst);
            let WorkerModel { system, stepper, .. } = &self.model;
            // This thread can number no more local states, messages or instants, or a node has more
            // moves than an action can encode. Other threads may take the remaining walks.
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
        let mut state = self.model.initial[draw_index(self.model.initial.len())].clone();
        let mut path = vec![self.model.system.fingerprint(&state)];
        for step in 0..self.shared.walks.steps {
            if step.is_multiple_of(STEPS_BETWEEN_CHECKS) && self.shared.should_stop.load(Ordering::Relaxed) {
                break;
            }
            let fingerprint = path.last().copied().unwrap_or_default();
            let WorkerModel { system, stepper, .. } = &mut self.model;
            let lookup = &mut ComputingLookup { system, stepper: &mut **stepper };
            // Computing missing outcomes never fails.
            let _ = expand(lookup, &state, fingerprint, NO_BATCH, &mut self.successors);
            for property in self.shared.options.terminal_checks.violated_properties(self.successors.summary) {
                self.record_violation(property, number, &path);
            }
            // Threads number states in different orders, but fingerprints are the same everywhere.
            self.successors.candidates.sort_by_key(|candidate| (candidate.fingerprint, candidate.action));
            if self.successors.candidates.is_empty() {
                break;
            }
            let candidate = self.successors.candidates[draw_index(self.successors.candidates.len())];
            path.push(candidate.fingerprint);
            for (property, action) in std::mem::take(&mut self.successors.violations) {
                if action == candidate.action {
                    self.record_violation(property, number, &path);
                }
            }
            let action = Action::unpack(candidate.action);
            // A step usually adds few messages.
            let mut next = Vec::with_capacity(state.len() + 4);
            self.model.system.apply_action(&state, action, candidate.outcome, &mut next);
            state = next;
            if self.model.system.is_visible(action, candidate.outcome) {
                let violated: Vec<u8> = self.model.system.violated_properties(&state).collect();
                for property in violated {
                    self.record_violation(property, number, &path);
                }
            }
        }
        self.shared.taken_steps.fetch_add(path.len() as u64 - 1, Ordering::Relaxed);
        self.shared.deepest.fetch_max(path.len() as u64 - 1, Ordering::Relaxed);
    }

    fn record_violation(&self, property: u8, walk: u64, path: &[u64]) {
        let mut violations = self.shared.violations.lock().unwrap_or_else(PoisonError::into_inner);
        let best = &mut violations[usize::from(property)];
        let stop_at_first = self.shared.options.stop_at_first;
        // With `stop_at_first`, the violation of the walk with the lowest number wins, whichever
        // thread took that walk.
        let sort_key =
            |length: usize, walk: u64| if stop_at_first { (walk, length) } else { (length as u64, walk as usize) };
        let is_better =
            best.as_ref().is_none_or(|(length, number, _)| sort_key(path.len(), walk) < sort_key(*length, *number));
        if is_better {
            *best = Some((path.len(), walk, FingerprintPath { fingerprints: path.to_vec() }));
        }
        if stop_at_first {
            self.shared.highest_needed.fetch_min(walk, Ordering::SeqCst);
        }
    }
}
