//! Depth-first search: little memory for large state spaces, but longer counterexamples.
//!
//! Of a visited state, the search keeps only the fingerprint and the depth, about sixteen bytes.
//! Threads search from different states, and give some of their states to idle threads.

use crate::action::Action;
use crate::breadth::{OnProgress, Progress, SearchEnd, SearchOptions};
use crate::expand::{Candidate, ComputingLookup, NO_BATCH, Successors, expand};
use crate::memory;
use crate::reduce::{Reducer, ReductionStats};
use crate::table::FingerprintTable;
use crate::worker_group::{FingerprintPath, MakeWorkerModel, WorkerModel};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The findings of a depth-first search.
pub(crate) struct DepthResult {
    pub(crate) progress: Progress,
    pub(crate) end: SearchEnd,
    /// For each property, the shortest path found to a violation.
    pub(crate) violations: Vec<Option<FingerprintPath>>,
    /// Whether every path found to a state has the same length, so no run returns to an earlier
    /// state.
    pub(crate) is_layered: bool,
    /// Memory use of the visited states at the end, in bytes.
    pub(crate) kept_bytes: u64,
}

/// Number of tables of visited states, each with its own lock.
const SHARDS: usize = 64;
/// Number of steps after which a thread updates the shared counts.
const STEPS_BETWEEN_REPORTS: u32 = 1_024;
const REPORT_INTERVAL: Duration = Duration::from_millis(20);

/// The data that all threads of a search share.
struct Shared {
    options: SearchOptions,
    /// The visited states, each with its depth.
    visited: Vec<Mutex<FingerprintTable>>,
    /// Paths to states that no thread has expanded, each as the fingerprints of its states.
    tasks: Mutex<VecDeque<Vec<u64>>>,
    /// Wakes idle threads when a task is added or the search ends.
    task_added: Condvar,
    idle_threads: AtomicUsize,
    states: AtomicU64,
    /// Number of transitions found by expanding states, plus the initial states.
    generated: AtomicU64,
    /// Number of steps of the longest path followed.
    deepest: AtomicU64,
    /// Number of states on the stacks of all threads.
    frames_on_stacks: AtomicU64,
    /// Whether every path found to a state has the same length.
    is_layered: AtomicBool,
    should_stop: AtomicBool,
    end: Mutex<SearchEnd>,
    violations: Mutex<Vec<Option<FingerprintPath>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn bytes(&self) -> u64 {
        self.visited.iter().map(|visited| lock(visited).bytes()).sum()
    }

    /// Adds a visited state. Returns the depth at which it was visited first; `None` if it is new.
    fn add(&self, fingerprint: u64, depth: u32) -> Option<u32> {
        lock(&self.visited[fingerprint as usize % SHARDS]).add(fingerprint, depth)
    }

    /// Stops all threads, and records why the search ends. Only the first reason counts.
    fn finish(&self, end: SearchEnd) {
        let mut recorded_end = lock(&self.end);
        if *recorded_end == SearchEnd::Complete {
            *recorded_end = end;
        }
        // The lock keeps a thread in `next_task` from missing the notification between its look at
        // `should_stop` and its wait.
        let _tasks = lock(&self.tasks);
        self.should_stop.store(true, Ordering::SeqCst);
        self.task_added.notify_all();
    }

    fn record_violation(&self, property: u8, fingerprints: Vec<u64>) {
        let mut violations = lock(&self.violations);
        let shortest = &mut violations[usize::from(property)];
        if shortest.as_ref().is_none_or(|shortest| fingerprints.len() < shortest.fingerprints.len()) {
            *shortest = Some(FingerprintPath { fingerprints });
        }
        if self.options.stop_at_first {
            self.finish(SearchEnd::FirstViolation);
        }
    }

    /// Returns the next path to continue from; `None` when all threads are idle or the search
    /// stops.
    fn next_task(&self, threads: usize) -> Option<Vec<u64>> {
        let mut tasks = lock(&self.tasks);
        self.idle_threads.fetch_add(1, Ordering::SeqCst);
        loop {
            if self.should_stop.load(Ordering::SeqCst) {
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
    make_model: MakeWorkerModel<'_>,
    property_count: usize,
    options: SearchOptions,
    on_progress: OnProgress<'_>,
) -> DepthResult {
    let shared = Shared {
        options,
        visited: (0..SHARDS).map(|_| Mutex::new(FingerprintTable::new())).collect(),
        tasks: Mutex::default(),
        task_added: Condvar::new(),
        idle_threads: AtomicUsize::new(0),
        states: AtomicU64::new(0),
        generated: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        frames_on_stacks: AtomicU64::new(0),
        is_layered: AtomicBool::new(true),
        should_stop: AtomicBool::new(false),
        end: Mutex::new(SearchEnd::Complete),
        violations: Mutex::new(vec![None; property_count]),
    };
    add_initial_states(&shared, make_model());
    let running = AtomicUsize::new(options.threads);
    let main_thread = thread::current();
    let mut progress = Progress::default();
    thread::scope(|scope| {
        for _ in 0..options.threads {
            let work = || {
                DepthWorker::new(&shared, make_model()).work();
                running.fetch_sub(1, Ordering::SeqCst);
                main_thread.unpark();
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                running.fetch_sub(1, Ordering::SeqCst);
                shared.finish(SearchEnd::Stopped);
            }
        }
        while running.load(Ordering::SeqCst) > 0 {
            thread::park_timeout(REPORT_INTERVAL);
            progress = measure(&shared);
            if !on_progress(progress) {
                shared.finish(SearchEnd::Stopped);
            }
            if progress.memory > options.memory_limit {
                shared.finish(SearchEnd::MemoryLimit);
            }
        }
    });
    progress = measure(&shared);
    on_progress(progress);
    let kept_bytes = shared.bytes();
    let is_layered = shared.is_layered.load(Ordering::SeqCst);
    let end = *lock(&shared.end);
    let violations = std::mem::take(&mut *lock(&shared.violations));
    DepthResult { progress, end, violations, is_layered, kept_bytes }
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

fn add_initial_states(shared: &Shared, model: WorkerModel<'_>) {
    for state in &model.initial {
        let fingerprint = model.system.fingerprint(state);
        shared.generated.fetch_add(1, Ordering::Relaxed);
        if shared.add(fingerprint, 0).is_none() {
            shared.states.fetch_add(1, Ordering::Relaxed);
            for property in model.system.violated_properties(state) {
                shared.record_violation(property, vec![fingerprint]);
            }
            lock(&shared.tasks).push_back(vec![fingerprint]);
        }
    }
}

/// A state on the stack, and the candidates still to be followed from it: the transitions that its
/// expansion found.
struct Frame {
    /// The words that encode the state.
    state: Vec<u32>,
    fingerprint: u64,
    remaining: Vec<Candidate>,
    /// Whether only one node's actions are followed, and every state that they have led to so far
    /// may be on the current path.
    needs_full_expansion: bool,
}

struct DepthWorker<'a> {
    shared: &'a Shared,
    model: WorkerModel<'a>,
    /// Leaves out orders of steps that lead to the same states; `None` if the search must not.
    reducer: Option<Reducer>,
    stats: ReductionStats,
    /// The successors of the state expanded last.
    successors: Successors,
    /// The fingerprints of the path that leads to the first state on the stack.
    prefix: Vec<u64>,
    stack: Vec<Frame>,
    /// Number of steps of the longest path that this thread followed.
    deepest: u64,
    /// States that are not in the shared counts yet.
    unreported_states: u64,
    /// Transitions that are not in the shared counts yet.
    unreported_transitions: u64,
    /// Number of frames of this stack that are in the shared counts.
    reported_frames: u64,
}

impl<'a> DepthWorker<'a> {
    fn new(shared: &'a Shared, model: WorkerModel<'a>) -> Self {
        // With several threads, chance decides which thread reaches a state first, so a reduced
        // search would not be reproducible.
        let reducer = (shared.options.reduce && shared.options.threads == 1).then(Reducer::default);
        Self {
            shared,
            model,
            reducer,
            stats: ReductionStats::default(),
            successors: Successors::default(),
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
            if let Some(state) = self.follow_path(&task) {
                let fingerprint = task.last().copied().unwrap_or_default();
                self.prefix = task;
                self.prefix.pop();
                self.push(state, fingerprint);
                self.search();
            }
            self.report_counts();
        }
    }

    /// Follows a path from an initial state and returns its last state; `None` if the path is empty
    /// or cannot be followed.
    fn follow_path(&mut self, path: &[u64]) -> Option<Vec<u32>> {
        let (root, rest) = path.split_first()?;
        let system = &self.model.system;
        let mut state = self.model.initial.iter().find(|state| system.fingerprint(state) == *root)?.clone();
        let mut current = *root;
        for next in rest {
            self.expand(&state, current);
            let candidate = *self.successors.candidates.iter().find(|candidate| candidate.fingerprint == *next)?;
            state = self.apply_action(&state, candidate);
            current = *next;
        }
        Some(state)
    }

    fn expand(&mut self, state: &[u32], fingerprint: u64) {
        let WorkerModel { system, stepper, .. } = &mut self.model;
        // Computing missing outcomes never fails.
        let _ = expand(
            &mut ComputingLookup { system, stepper: &mut **stepper },
            state,
            fingerprint,
            NO_BATCH,
            &mut self.successors,
        );
    }

    fn apply_action(&self, state: &[u32], candidate: Candidate) -> Vec<u32> {
        // A step usually adds few messages.
        let mut next = Vec::with_capacity(state.len() + 4);
        self.model.system.apply_action(state, Action::unpack(candidate.action), candidate.outcome, &mut next);
        next
    }

    fn path(&self) -> Vec<u64> {
        self.prefix.iter().copied().chain(self.stack.iter().map(|frame| frame.fingerprint)).collect()
    }

    /// Expands a state, pushes it onto the stack, and records the violations by its steps or by a
    /// run that ends there.
    fn push(&mut self, state: Vec<u32>, fingerprint: u64) {
        self.expand(&state, fingerprint);
        let summary = self.successors.summary;
        let violations = std::mem::take(&mut self.successors.violations);
        let mut needs_full_expansion = false;
        if let Some(reducer) = &mut self.reducer {
            let WorkerModel { system, stepper, .. } = &mut self.model;
            let lookup = &mut ComputingLookup { system, stepper: &mut **stepper };
            needs_full_expansion =
                reducer.reduce(lookup, &state, fingerprint, self.stats, &mut self.successors).unwrap_or(false);
            self.stats.add(std::mem::take(&mut reducer.new_stats));
        }
        self.unreported_transitions += self.successors.candidates.len() as u64;
        let remaining = self.successors.candidates.clone();
        self.stack.push(Frame { state, fingerprint, remaining, needs_full_expansion });
        self.deepest = self.deepest.max((self.prefix.len() + self.stack.len()) as u64 - 1);
        for property in self.shared.options.terminal_checks.violated_properties(summary) {
            self.shared.record_violation(property, self.path());
        }
        self.judge_steps(&violations);
        let ids_exhausted = self.successors.has_too_many_messages
            || self.model.system.tables.is_full()
            || self.model.stepper.has_too_many_moves();
        if ids_exhausted {
            self.shared.finish(SearchEnd::IdsExhausted);
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
                let is_visible = self.model.system.is_visible(Action::unpack(candidate.action), candidate.outcome);
                let violated: Vec<u8> =
                    if is_visible { self.model.system.violated_properties(&next).collect() } else { Vec::new() };
                self.push(next, candidate.fingerprint);
                for property in violated {
                    self.shared.record_violation(property, self.path());
                }
            }
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN_REPORTS) {
                self.report_counts();
                if self.shared.should_stop.load(Ordering::Relaxed) {
                    self.stack.clear();
                }
            }
            if self.shared.idle_threads.load(Ordering::Relaxed) > 0 {
                self.share_work();
            }
        }
    }

    /// Records a visit to the successor that `candidate` describes, and returns whether it is new.
    fn visit(&mut self, candidate: Candidate, depth: usize) -> bool {
        match self.shared.add(candidate.fingerprint, depth as u32) {
            None => {
                self.unreported_states += 1;
                self.record_step_off_path();
                true
            }
            Some(first_depth) => {
                if first_depth == depth as u32 {
                    // The state is not on the current path, since every state there is less deep.
                    self.record_step_off_path();
                } else {
                    self.shared.is_layered.store(false, Ordering::Relaxed);
                }
                false
            }
        }
    }

    /// Records that an action of the last state on the stack leads to a state that is not on the
    /// current path.
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
            self.unreported_transitions += self.successors.candidates.len() as u64;
            self.stack.push(Frame {
                remaining: self.successors.candidates.clone(),
                needs_full_expansion: false,
                ..frame
            });
            let violations = std::mem::take(&mut self.successors.violations);
            self.judge_steps(&violations);
        }
    }

    /// Records the violations by steps from the last state on the stack, as far as the search
    /// follows those steps.
    fn judge_steps(&self, violations: &[(u8, u16)]) {
        for (property, action) in violations {
            let followed = self.successors.candidates.iter().find(|candidate| candidate.action == *action);
            if let Some(candidate) = followed {
                let mut path = self.path();
                path.push(candidate.fingerprint);
                self.shared.record_violation(*property, path);
            }
        }
    }

    /// Gives the candidate that this thread would follow last to an idle thread, if its state is
    /// new.
    fn share_work(&mut self) {
        let Some(frame_index) = self.stack.iter().position(|frame| !frame.remaining.is_empty()) else { return };
        // This thread would run out of work if it gave away the only candidate of its top frame.
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
            // The current path continues beyond this frame, so the known state may be on it even if
            // its depth is the same.
            self.stack[frame_index].needs_full_expansion = needs_full_expansion;
        }
    }

    /// Does what `visit` does, for a successor of any state on the stack.
    fn visit_from(&mut self, frame_index: usize, candidate: Candidate, depth: usize) -> bool {
        // `visit` updates the last frame, so this frame takes its place during the call.
        let last_index = self.stack.len() - 1;
        self.stack.swap(frame_index, last_index);
        let is_new = self.visit(candidate, depth);
        self.stack.swap(frame_index, last_index);
        is_new
    }

    fn judge_successor(&self, frame_index: usize, candidate: Candidate, path: &[u64]) {
        let action = Action::unpack(candidate.action);
        if self.model.system.is_visible(action, candidate.outcome) {
            let next = self.apply_action(&self.stack[frame_index].state, candidate);
            for property in self.model.system.violated_properties(&next) {
                self.shared.record_violation(property, path.to_vec());
            }
        }
    }

    fn report_counts(&mut self) {
        let states = std::mem::take(&mut self.unreported_states);
        let generated = std::mem::take(&mut self.unreported_transitions);
        self.shared.states.fetch_add(states, Ordering::Relaxed);
        self.shared.generated.fetch_add(generated, Ordering::Relaxed);
        let reported_before = std::mem::replace(&mut self.reported_frames, self.stack.len() as u64);
        self.shared.frames_on_stacks.fetch_add(self.reported_frames.wrapping_sub(reported_before), Ordering::Relaxed);
        self.shared.deepest.fetch_max(self.deepest, Ordering::Relaxed);
    }
}
