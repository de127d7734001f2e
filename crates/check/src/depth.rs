//! Depth-first search: little memory for large state spaces, but longer counterexamples.
//!
//! The search keeps only the fingerprint and the depth of each state, about sixteen bytes. Threads
//! search from different states; a thread that runs out of work takes some from another.

use crate::action::Action;
use crate::breadth::{End, OnProgress, Progress, SearchOptions};
use crate::expand::{Candidate, Learning, Successors, expand};
use crate::memory;
use crate::reduce::{Reducer, ReductionStats};
use crate::table::Table;
use crate::worker_group::{MakeWorkerGroup, Trace, WorkerGroup};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub(crate) struct DepthResult {
    pub(crate) progress: Progress,
    pub(crate) end: End,
    pub(crate) violations: Vec<Option<Trace>>,
    /// Whether every path to a state has the same length, so that no run returns to an earlier
    /// state.
    pub(crate) graded: bool,
    pub(crate) kept_bytes: u64,
}

const SHARDS: usize = 64;

struct Shared {
    options: SearchOptions,
    /// The visited states, each with its depth.
    seen: Vec<Mutex<Table>>,
    /// Paths to states that no thread has expanded, each as its fingerprints.
    tasks: Mutex<VecDeque<Vec<u64>>>,
    wake: Condvar,
    idle: AtomicUsize,
    states: AtomicU64,
    generated: AtomicU64,
    deepest: AtomicU64,
    stacks: AtomicU64,
    ungraded: AtomicBool,
    stop: AtomicBool,
    end: Mutex<End>,
    violations: Mutex<Vec<Option<Trace>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn bytes(&self) -> u64 {
        self.seen.iter().map(|seen| lock(seen).bytes()).sum()
    }

    /// Returns the depth at which a state was seen before; `None` if it is new.
    fn add(&self, fingerprint: u64, depth: u32) -> Option<u32> {
        lock(&self.seen[fingerprint as usize % SHARDS]).add(fingerprint, depth)
    }

    fn finish(&self, end: End) {
        let mut first = lock(&self.end);
        if *first == End::Complete {
            *first = end;
        }
        self.stop.store(true, Ordering::SeqCst);
        self.wake.notify_all();
    }

    fn record_violation(&self, property: u8, fingerprints: Vec<u64>) {
        let mut violations = lock(&self.violations);
        let known = &mut violations[usize::from(property)];
        if known.as_ref().is_none_or(|known| fingerprints.len() < known.fingerprints.len()) {
            *known = Some(Trace { fingerprints });
        }
        if self.options.first {
            self.finish(End::FirstViolation);
        }
    }

    /// Returns the next path to continue from; `None` when all threads are idle or the search
    /// stops.
    fn task(&self, threads: usize) -> Option<Vec<u64>> {
        let mut tasks = lock(&self.tasks);
        self.idle.fetch_add(1, Ordering::SeqCst);
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return None;
            }
            if let Some(task) = tasks.pop_front() {
                self.idle.fetch_sub(1, Ordering::SeqCst);
                return Some(task);
            }
            if self.idle.load(Ordering::SeqCst) == threads {
                self.wake.notify_all();
                return None;
            }
            tasks = self.wake.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(crate) fn search_depth_first(
    make_group: MakeWorkerGroup<'_>,
    properties: usize,
    options: SearchOptions,
    on_progress: OnProgress<'_>,
) -> DepthResult {
    let shared = Shared {
        options,
        seen: (0..SHARDS).map(|_| Mutex::new(Table::new())).collect(),
        tasks: Mutex::default(),
        wake: Condvar::new(),
        idle: AtomicUsize::new(0),
        states: AtomicU64::new(0),
        generated: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        stacks: AtomicU64::new(0),
        ungraded: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        end: Mutex::new(End::Complete),
        violations: Mutex::new(vec![None; properties]),
    };
    begin(&shared, make_group());
    let running = AtomicUsize::new(options.threads);
    let main_thread = thread::current();
    let mut progress = Progress::default();
    thread::scope(|scope| {
        for _ in 0..options.threads {
            let work = || {
                DepthWorker::new(&shared, make_group()).work();
                running.fetch_sub(1, Ordering::SeqCst);
                main_thread.unpark();
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                running.fetch_sub(1, Ordering::SeqCst);
                shared.finish(End::Stopped);
            }
        }
        while running.load(Ordering::SeqCst) > 0 {
            thread::park_timeout(Duration::from_millis(20));
            progress = measure(&shared);
            if !on_progress(progress) {
                shared.finish(End::Stopped);
            }
            if progress.memory > options.memory {
                shared.finish(End::Memory);
            }
        }
    });
    progress = measure(&shared);
    on_progress(progress);
    let kept_bytes = shared.bytes();
    let graded = !shared.ungraded.load(Ordering::SeqCst);
    let end = *lock(&shared.end);
    let violations = std::mem::take(&mut *lock(&shared.violations));
    DepthResult { progress, end, violations, graded, kept_bytes }
}

fn measure(shared: &Shared) -> Progress {
    let stacks = shared.stacks.load(Ordering::Relaxed);
    Progress {
        states: shared.states.load(Ordering::Relaxed),
        generated: shared.generated.load(Ordering::Relaxed),
        depth: shared.deepest.load(Ordering::Relaxed),
        queue: stacks,
        memory: memory::resident().unwrap_or(0).max(shared.bytes() + stacks * FRAME),
    }
}

/// Estimated memory of a state on a stack, in bytes.
const FRAME: u64 = 400;

fn begin(shared: &Shared, worker_group: WorkerGroup<'_>) {
    for state in &worker_group.initial {
        let fingerprint = worker_group.system.fingerprint(state);
        shared.generated.fetch_add(1, Ordering::Relaxed);
        if shared.add(fingerprint, 0).is_none() {
            shared.states.fetch_add(1, Ordering::Relaxed);
            for property in worker_group.system.broken(state) {
                shared.record_violation(property, vec![fingerprint]);
            }
            lock(&shared.tasks).push_back(vec![fingerprint]);
        }
    }
}

/// A state on the stack, and the candidates still to be followed from it.
struct Frame {
    state: Vec<u32>,
    fingerprint: u64,
    left: Vec<Candidate>,
    /// Whether only one node's actions are followed, and all of them so far led to states that may
    /// be on the current path.
    needs_full_expansion: bool,
}

struct DepthWorker<'a> {
    shared: &'a Shared,
    worker_group: WorkerGroup<'a>,
    reducer: Option<Reducer>,
    stats: ReductionStats,
    found: Successors,
    /// The fingerprints of the path that leads to the first state on the stack.
    prefix: Vec<u64>,
    stack: Vec<Frame>,
    deepest: u64,
    /// States and transitions that are not in the shared counts yet.
    unreported: (u64, u64),
    /// The part of the stack that is in the shared counts.
    reported: u64,
}

impl<'a> DepthWorker<'a> {
    fn new(shared: &'a Shared, worker_group: WorkerGroup<'a>) -> Self {
        // With several threads, chance decides which thread reaches a state first, so a reduced
        // search would not be reproducible.
        let reducer = (shared.options.reduce && shared.options.threads == 1).then(Reducer::default);
        Self {
            shared,
            worker_group,
            reducer,
            stats: ReductionStats::default(),
            found: Successors::default(),
            prefix: Vec::new(),
            stack: Vec::new(),
            deepest: 0,
            unreported: (0, 0),
            reported: 0,
        }
    }

    fn work(mut self) {
        while let Some(task) = self.shared.task(self.shared.options.threads) {
            if let Some(state) = self.reach(&task) {
                let fingerprint = task.last().copied().unwrap_or_default();
                self.prefix = task;
                self.prefix.pop();
                self.push(state, fingerprint);
                self.search();
            }
            self.report();
        }
    }

    /// Follows a path that another thread found.
    fn reach(&mut self, path: &[u64]) -> Option<Vec<u32>> {
        let (root, rest) = path.split_first()?;
        let system = &self.worker_group.system;
        let mut state = self.worker_group.initial.iter().find(|state| system.fingerprint(state) == *root)?.clone();
        let mut at = *root;
        for next in rest {
            self.expand(&state, at);
            let candidate = *self.found.candidates.iter().find(|candidate| candidate.fingerprint == *next)?;
            state = self.apply_action(&state, candidate);
            at = *next;
        }
        Some(state)
    }

    fn expand(&mut self, state: &[u32], fingerprint: u64) {
        let WorkerGroup { system, stepper, .. } = &mut self.worker_group;
        // Computing missing outcomes never fails.
        let _ = expand(&mut Learning { system, stepper: &mut **stepper }, state, fingerprint, 0, &mut self.found);
    }

    fn apply_action(&self, state: &[u32], candidate: Candidate) -> Vec<u32> {
        let mut next = Vec::with_capacity(state.len() + 4);
        self.worker_group.system.apply_action(state, Action::unpack(candidate.action), candidate.outcome, &mut next);
        next
    }

    fn path(&self) -> Vec<u64> {
        self.prefix.iter().copied().chain(self.stack.iter().map(|frame| frame.fingerprint)).collect()
    }

    fn push(&mut self, state: Vec<u32>, fingerprint: u64) {
        self.expand(&state, fingerprint);
        let summary = self.found.summary;
        let violations = std::mem::take(&mut self.found.violations);
        let mut needs_full_expansion = false;
        if let Some(reducer) = &mut self.reducer {
            let WorkerGroup { system, stepper, .. } = &mut self.worker_group;
            let lookup = &mut Learning { system, stepper: &mut **stepper };
            needs_full_expansion =
                reducer.reduce(lookup, &state, fingerprint, self.stats, &mut self.found).unwrap_or(false);
            self.stats.add(std::mem::take(&mut reducer.fresh));
        }
        self.unreported.1 += self.found.candidates.len() as u64;
        let left = self.found.candidates.clone();
        self.stack.push(Frame { state, fingerprint, left, needs_full_expansion });
        self.deepest = self.deepest.max((self.prefix.len() + self.stack.len()) as u64 - 1);
        for property in self.shared.options.terminal.broken(summary) {
            self.shared.record_violation(property, self.path());
        }
        self.judge_steps(&violations);
        let overrun = self.found.overflow
            || self.worker_group.system.tables.is_full()
            || self.worker_group.stepper.has_too_many_moves();
        if overrun {
            self.shared.finish(End::IdsExhausted);
        }
    }

    fn search(&mut self) {
        let mut steps = 0_u32;
        while let Some(frame) = self.stack.last_mut() {
            let Some(candidate) = frame.left.pop() else {
                self.leave();
                continue;
            };
            let depth = self.prefix.len() + self.stack.len();
            if self.enter(candidate, depth) {
                let parent = &self.stack[self.stack.len() - 1].state;
                let next = self.apply_action(parent, candidate);
                let seen = self.worker_group.system.is_visible(Action::unpack(candidate.action), candidate.outcome);
                let broken: Vec<u8> = if seen { self.worker_group.system.broken(&next).collect() } else { Vec::new() };
                self.push(next, candidate.fingerprint);
                for property in broken {
                    self.shared.record_violation(property, self.path());
                }
            }
            steps += 1;
            if steps.is_multiple_of(1_024) {
                self.report();
                if self.shared.stop.load(Ordering::Relaxed) {
                    self.stack.clear();
                }
            }
            if self.shared.idle.load(Ordering::Relaxed) > 0 {
                self.share();
            }
        }
    }

    /// Records a visit, and returns whether the state is new.
    fn enter(&mut self, candidate: Candidate, depth: usize) -> bool {
        match self.shared.add(candidate.fingerprint, depth as u32) {
            None => {
                self.unreported.0 += 1;
                self.follow_on();
                true
            }
            Some(before) => {
                if before == depth as u32 {
                    // The state is not on the current path, since every state there is less deep.
                    self.follow_on();
                } else {
                    self.shared.ungraded.store(true, Ordering::Relaxed);
                }
                false
            }
        }
    }

    /// Records that an action of the last state leads to a state that is not on the path.
    fn follow_on(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.needs_full_expansion = false;
        }
    }

    /// Removes the last state from the stack, unless it must be expanded fully because one node's
    /// actions alone may form a cycle.
    fn leave(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        if frame.needs_full_expansion {
            self.expand(&frame.state, frame.fingerprint);
            self.unreported.1 += self.found.candidates.len() as u64;
            self.stack.push(Frame { left: self.found.candidates.clone(), needs_full_expansion: false, ..frame });
            let violations = std::mem::take(&mut self.found.violations);
            self.judge_steps(&violations);
        }
    }

    /// Reports the steps from the last state that violate a property, if they are followed.
    fn judge_steps(&self, violations: &[(u8, u16)]) {
        for (property, action) in violations {
            let led_to = self.found.candidates.iter().find(|candidate| candidate.action == *action);
            if let Some(candidate) = led_to {
                let mut path = self.path();
                path.push(candidate.fingerprint);
                self.shared.record_violation(*property, path);
            }
        }
    }

    /// Gives away the work that this thread would do last.
    fn share(&mut self) {
        let Some(place) = self.stack.iter().position(|frame| !frame.left.is_empty()) else { return };
        // This thread keeps the last candidate.
        if place + 1 == self.stack.len() && self.stack[place].left.len() < 2 {
            return;
        }
        let candidate = self.stack[place].left.remove(0);
        let depth = self.prefix.len() + place + 1;
        let needs_full_expansion = self.stack[place].needs_full_expansion;
        if self.enter_at(place, candidate, depth) {
            let mut path = self.prefix.clone();
            path.extend(self.stack[..=place].iter().map(|frame| frame.fingerprint));
            path.push(candidate.fingerprint);
            self.judge(place, candidate, &path);
            lock(&self.shared.tasks).push_back(path);
            self.shared.wake.notify_one();
        } else {
            self.stack[place].needs_full_expansion = needs_full_expansion;
        }
    }

    fn enter_at(&mut self, place: usize, candidate: Candidate, depth: usize) -> bool {
        let last = self.stack.len() - 1;
        self.stack.swap(place, last);
        let new = self.enter(candidate, depth);
        self.stack.swap(place, last);
        new
    }

    fn judge(&self, place: usize, candidate: Candidate, path: &[u64]) {
        let action = Action::unpack(candidate.action);
        if self.worker_group.system.is_visible(action, candidate.outcome) {
            let next = self.apply_action(&self.stack[place].state, candidate);
            for property in self.worker_group.system.broken(&next) {
                self.shared.record_violation(property, path.to_vec());
            }
        }
    }

    fn report(&mut self) {
        let (states, generated) = std::mem::take(&mut self.unreported);
        self.shared.states.fetch_add(states, Ordering::Relaxed);
        self.shared.generated.fetch_add(generated, Ordering::Relaxed);
        let before = std::mem::replace(&mut self.reported, self.stack.len() as u64);
        self.shared.stacks.fetch_add(self.reported.wrapping_sub(before), Ordering::Relaxed);
        self.shared.deepest.fetch_max(self.deepest, Ordering::Relaxed);
    }
}
