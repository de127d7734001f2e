//! Depth-first search: little memory for large state spaces, but longer counterexamples.
//!
//! The search keeps only the fingerprint and the depth of each state, about sixteen bytes. Threads
//! search from different states; a thread that runs out of work takes some from another.

use crate::action::Action;
use crate::breadth::{End, OnProgress, Progress, SearchOptions};
use crate::expand::{Candidate, ComputingLookup, Successors, expand};
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
    pub(crate) layered: bool,
    pub(crate) kept_bytes: u64,
}

/// Number of tables of visited states, each with its own lock.
const SHARDS: usize = 64;
/// Number of steps after which a thread updates the shared counts.
const STEPS_BETWEEN_REPORTS: u32 = 1_024;

struct Shared {
    options: SearchOptions,
    /// The visited states, each with its depth.
    visited: Vec<Mutex<Table>>,
    /// Paths to states that no thread has expanded, each as its fingerprints.
    tasks: Mutex<VecDeque<Vec<u64>>>,
    /// Wakes idle threads when a task is added or the search ends.
    task_added: Condvar,
    idle_threads: AtomicUsize,
    states: AtomicU64,
    generated: AtomicU64,
    deepest: AtomicU64,
    /// Number of states on the stacks of all threads.
    frames_on_stacks: AtomicU64,
    not_layered: AtomicBool,
    stop: AtomicBool,
    end: Mutex<End>,
    violations: Mutex<Vec<Option<Trace>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn bytes(&self) -> u64 {
        self.visited.iter().map(|visited| lock(visited).bytes()).sum()
    }

    /// Returns the depth at which a state was seen before; `None` if it is new.
    fn add(&self, fingerprint: u64, depth: u32) -> Option<u32> {
        lock(&self.visited[fingerprint as usize % SHARDS]).add(fingerprint, depth)
    }

    /// Stops all threads. The first reason given is the one that counts.
    fn finish(&self, end: End) {
        let mut first = lock(&self.end);
        if *first == End::Complete {
            *first = end;
        }
        self.stop.store(true, Ordering::SeqCst);
        self.task_added.notify_all();
    }

    fn record_violation(&self, property: u8, fingerprints: Vec<u64>) {
        let mut violations = lock(&self.violations);
        let known = &mut violations[usize::from(property)];
        if known.as_ref().is_none_or(|known| fingerprints.len() < known.fingerprints.len()) {
            *known = Some(Trace { fingerprints });
        }
        if self.options.stop_at_first {
            self.finish(End::FirstViolation);
        }
    }

    /// Returns the next path to continue from; `None` when all threads are idle or the search
    /// stops.
    fn next_task(&self, threads: usize) -> Option<Vec<u64>> {
        let mut tasks = lock(&self.tasks);
        self.idle_threads.fetch_add(1, Ordering::SeqCst);
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return None;
            }
            if let Some(task) = tasks.pop_front() {
                self.idle_threads.fetch_sub(1, Ordering::SeqCst);
                return Some(task);
            }
            if self.idle_threads.load(Ordering::SeqCst) == threads {
                self.task_added.notify_all();
                return None;
            }
            tasks = self.task_added.wait(tasks).unwrap_or_else(PoisonError::into_inner);
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
        visited: (0..SHARDS).map(|_| Mutex::new(Table::new())).collect(),
        tasks: Mutex::default(),
        task_added: Condvar::new(),
        idle_threads: AtomicUsize::new(0),
        states: AtomicU64::new(0),
        generated: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        frames_on_stacks: AtomicU64::new(0),
        not_layered: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        end: Mutex::new(End::Complete),
        violations: Mutex::new(vec![None; properties]),
    };
    add_initial_states(&shared, make_group());
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
            if progress.memory > options.memory_limit {
                shared.finish(End::Memory);
            }
        }
    });
    progress = measure(&shared);
    on_progress(progress);
    let kept_bytes = shared.bytes();
    let layered = !shared.not_layered.load(Ordering::SeqCst);
    let end = *lock(&shared.end);
    let violations = std::mem::take(&mut *lock(&shared.violations));
    DepthResult { progress, end, violations, layered, kept_bytes }
}

fn measure(shared: &Shared) -> Progress {
    let frames_on_stacks = shared.frames_on_stacks.load(Ordering::Relaxed);
    Progress {
        states: shared.states.load(Ordering::Relaxed),
        generated: shared.generated.load(Ordering::Relaxed),
        depth: shared.deepest.load(Ordering::Relaxed),
        queue: frames_on_stacks,
        memory: memory::resident().unwrap_or(0).max(shared.bytes() + frames_on_stacks * FRAME_BYTES),
    }
}

/// Estimated memory of a state on a stack, in bytes.
const FRAME_BYTES: u64 = 400;

fn add_initial_states(shared: &Shared, worker_group: WorkerGroup<'_>) {
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
    remaining: Vec<Candidate>,
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
    /// States that are not in the shared counts yet.
    unreported_states: u64,
    /// Transitions that are not in the shared counts yet.
    unreported_transitions: u64,
    /// Number of frames of this stack that are in the shared counts.
    reported_frames: u64,
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
            unreported_states: 0,
            unreported_transitions: 0,
            reported_frames: 0,
        }
    }

    fn work(mut self) {
        while let Some(task) = self.shared.next_task(self.shared.options.threads) {
            if let Some(state) = self.reach(&task) {
                let fingerprint = task.last().copied().unwrap_or_default();
                self.prefix = task;
                self.prefix.pop();
                self.push(state, fingerprint);
                self.search();
            }
            self.report_counts();
        }
    }

    /// Follows a path that another thread found, and returns its last state.
    fn reach(&mut self, path: &[u64]) -> Option<Vec<u32>> {
        let (root, rest) = path.split_first()?;
        let system = &self.worker_group.system;
        let mut state = self.worker_group.initial.iter().find(|state| system.fingerprint(state) == *root)?.clone();
        let mut current = *root;
        for next in rest {
            self.expand(&state, current);
            let candidate = *self.found.candidates.iter().find(|candidate| candidate.fingerprint == *next)?;
            state = self.apply_action(&state, candidate);
            current = *next;
        }
        Some(state)
    }

    fn expand(&mut self, state: &[u32], fingerprint: u64) {
        let WorkerGroup { system, stepper, .. } = &mut self.worker_group;
        // Computing missing outcomes never fails.
        let _ =
            expand(&mut ComputingLookup { system, stepper: &mut **stepper }, state, fingerprint, 0, &mut self.found);
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
            let lookup = &mut ComputingLookup { system, stepper: &mut **stepper };
            needs_full_expansion =
                reducer.reduce(lookup, &state, fingerprint, self.stats, &mut self.found).unwrap_or(false);
            self.stats.add(std::mem::take(&mut reducer.new_stats));
        }
        self.unreported_transitions += self.found.candidates.len() as u64;
        let remaining = self.found.candidates.clone();
        self.stack.push(Frame { state, fingerprint, remaining, needs_full_expansion });
        self.deepest = self.deepest.max((self.prefix.len() + self.stack.len()) as u64 - 1);
        for property in self.shared.options.terminal.broken(summary) {
            self.shared.record_violation(property, self.path());
        }
        self.judge_steps(&violations);
        let ids_exhausted = self.found.overflow
            || self.worker_group.system.tables.is_full()
            || self.worker_group.stepper.has_too_many_moves();
        if ids_exhausted {
            self.shared.finish(End::IdsExhausted);
        }
    }

    fn search(&mut self) {
        let mut steps = 0_u32;
        while let Some(frame) = self.stack.last_mut() {
            let Some(candidate) = frame.remaining.pop() else {
                self.finish_frame();
                continue;
            };
            let depth = self.prefix.len() + self.stack.len();
            if self.visit(candidate, depth) {
                let parent = &self.stack[self.stack.len() - 1].state;
                let next = self.apply_action(parent, candidate);
                let is_visible =
                    self.worker_group.system.is_visible(Action::unpack(candidate.action), candidate.outcome);
                let broken: Vec<u8> =
                    if is_visible { self.worker_group.system.broken(&next).collect() } else { Vec::new() };
                self.push(next, candidate.fingerprint);
                for property in broken {
                    self.shared.record_violation(property, self.path());
                }
            }
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN_REPORTS) {
                self.report_counts();
                if self.shared.stop.load(Ordering::Relaxed) {
                    self.stack.clear();
                }
            }
            if self.shared.idle_threads.load(Ordering::Relaxed) > 0 {
                self.share_work();
            }
        }
    }

    /// Records a visit, and returns whether the state is new.
    fn visit(&mut self, candidate: Candidate, depth: usize) -> bool {
        match self.shared.add(candidate.fingerprint, depth as u32) {
            None => {
                self.unreported_states += 1;
                self.record_step_off_path();
                true
            }
            Some(before) => {
                if before == depth as u32 {
                    // The state is not on the current path, since every state there is less deep.
                    self.record_step_off_path();
                } else {
                    self.shared.not_layered.store(true, Ordering::Relaxed);
                }
                false
            }
        }
    }

    /// Records that an action of the last state leads to a state that is not on the path.
    fn record_step_off_path(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.needs_full_expansion = false;
        }
    }

    /// Removes the last state from the stack, unless it must be expanded fully because one node's
    /// actions alone may form a cycle.
    fn finish_frame(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        if frame.needs_full_expansion {
            self.expand(&frame.state, frame.fingerprint);
            self.unreported_transitions += self.found.candidates.len() as u64;
            self.stack.push(Frame { remaining: self.found.candidates.clone(), needs_full_expansion: false, ..frame });
            let violations = std::mem::take(&mut self.found.violations);
            self.judge_steps(&violations);
        }
    }

    /// Reports the steps from the last state that violate a property, if they are followed.
    fn judge_steps(&self, violations: &[(u8, u16)]) {
        for (property, action) in violations {
            let followed = self.found.candidates.iter().find(|candidate| candidate.action == *action);
            if let Some(candidate) = followed {
                let mut path = self.path();
                path.push(candidate.fingerprint);
                self.shared.record_violation(*property, path);
            }
        }
    }

    /// Gives away the work that this thread would do last.
    fn share_work(&mut self) {
        let Some(frame_index) = self.stack.iter().position(|frame| !frame.remaining.is_empty()) else { return };
        // This thread keeps the last candidate.
        if frame_index + 1 == self.stack.len() && self.stack[frame_index].remaining.len() < 2 {
            return;
        }
        let candidate = self.stack[frame_index].remaining.remove(0);
        let depth = self.prefix.len() + frame_index + 1;
        let needs_full_expansion = self.stack[frame_index].needs_full_expansion;
        if self.visit_from(frame_index, candidate, depth) {
            let mut path = self.prefix.clone();
            path.extend(self.stack[..=frame_index].iter().map(|frame| frame.fingerprint));
            path.push(candidate.fingerprint);
            self.judge_successor(frame_index, candidate, &path);
            lock(&self.shared.tasks).push_back(path);
            self.shared.task_added.notify_one();
        } else {
            self.stack[frame_index].needs_full_expansion = needs_full_expansion;
        }
    }

    /// Records a visit from a state that is not the last one on the stack.
    fn visit_from(&mut self, frame_index: usize, candidate: Candidate, depth: usize) -> bool {
        let last = self.stack.len() - 1;
        self.stack.swap(frame_index, last);
        let new = self.visit(candidate, depth);
        self.stack.swap(frame_index, last);
        new
    }

    fn judge_successor(&self, frame_index: usize, candidate: Candidate, path: &[u64]) {
        let action = Action::unpack(candidate.action);
        if self.worker_group.system.is_visible(action, candidate.outcome) {
            let next = self.apply_action(&self.stack[frame_index].state, candidate);
            for property in self.worker_group.system.broken(&next) {
                self.shared.record_violation(property, path.to_vec());
            }
        }
    }

    fn report_counts(&mut self) {
        let states = std::mem::take(&mut self.unreported_states);
        let generated = std::mem::take(&mut self.unreported_transitions);
        self.shared.states.fetch_add(states, Ordering::Relaxed);
        self.shared.generated.fetch_add(generated, Ordering::Relaxed);
        let before = std::mem::replace(&mut self.reported_frames, self.stack.len() as u64);
        self.shared.frames_on_stacks.fetch_add(self.reported_frames.wrapping_sub(before), Ordering::Relaxed);
        self.shared.deepest.fetch_max(self.deepest, Ordering::Relaxed);
    }
}
