//! Depth-first search: little memory for large spaces, at the price of longer counterexamples.
//!
//! Of each state only the fingerprint and the depth are kept, some sixteen bytes. Threads search side by side from
//! different states; one that runs out of work gets some of another's.

use crate::action::Action;
use crate::breadth::{End, Orders, Progress, Watch};
use crate::expand::{Candidate, Found, Learning, expand};
use crate::memory;
use crate::reduce::{Reducer, Yield};
use crate::table::Table;
use crate::troupe::{Casting, Trace, Troupe};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub(crate) struct Dug {
    pub(crate) progress: Progress,
    pub(crate) end: End,
    pub(crate) breaches: Vec<Option<Trace>>,
    /// Every path to a state has the same length, so that no run comes back to where it was.
    pub(crate) graded: bool,
    pub(crate) kept_bytes: u64,
}

const SHARDS: usize = 64;

struct Shared {
    orders: Orders,
    /// The states that were seen, each with its depth.
    seen: Vec<Mutex<Table>>,
    /// Paths to states that nobody has expanded, each by its fingerprints.
    tasks: Mutex<VecDeque<Vec<u64>>>,
    news: Condvar,
    idle: AtomicUsize,
    states: AtomicU64,
    generated: AtomicU64,
    deepest: AtomicU64,
    stacks: AtomicU64,
    ungraded: AtomicBool,
    stop: AtomicBool,
    end: Mutex<End>,
    breaches: Mutex<Vec<Option<Trace>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn bytes(&self) -> u64 {
        self.seen.iter().map(|seen| lock(seen).bytes()).sum()
    }

    /// The depth at which a state was seen before, if it was.
    fn add(&self, fingerprint: u64, depth: u32) -> Option<u32> {
        lock(&self.seen[fingerprint as usize % SHARDS]).add(fingerprint, depth)
    }

    fn finish(&self, end: End) {
        let mut first = lock(&self.end);
        if *first == End::Complete {
            *first = end;
        }
        self.stop.store(true, Ordering::SeqCst);
        self.news.notify_all();
    }

    fn breach(&self, property: u8, fingerprints: Vec<u64>) {
        let mut breaches = lock(&self.breaches);
        let known = &mut breaches[usize::from(property)];
        if known.as_ref().is_none_or(|known| fingerprints.len() < known.fingerprints.len()) {
            *known = Some(Trace { fingerprints });
        }
        if self.orders.first {
            self.finish(End::FirstBreach);
        }
    }

    /// The next path to go on from; none when everybody is done.
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
                self.news.notify_all();
                return None;
            }
            tasks = self.news.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(crate) fn dig(casting: Casting<'_>, properties: usize, orders: Orders, watch: Watch<'_>) -> Dug {
    let shared = Shared {
        orders,
        seen: (0..SHARDS).map(|_| Mutex::new(Table::new())).collect(),
        tasks: Mutex::default(),
        news: Condvar::new(),
        idle: AtomicUsize::new(0),
        states: AtomicU64::new(0),
        generated: AtomicU64::new(0),
        deepest: AtomicU64::new(0),
        stacks: AtomicU64::new(0),
        ungraded: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        end: Mutex::new(End::Complete),
        breaches: Mutex::new(vec![None; properties]),
    };
    begin(&shared, casting());
    let running = AtomicUsize::new(orders.threads);
    let keeper = thread::current();
    let mut progress = Progress::default();
    thread::scope(|scope| {
        for _ in 0..orders.threads {
            let work = || {
                Digger::new(&shared, casting()).work();
                running.fetch_sub(1, Ordering::SeqCst);
                keeper.unpark();
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                running.fetch_sub(1, Ordering::SeqCst);
                shared.finish(End::Stopped);
            }
        }
        while running.load(Ordering::SeqCst) > 0 {
            thread::park_timeout(Duration::from_millis(20));
            progress = measure(&shared);
            if !watch(progress) {
                shared.finish(End::Stopped);
            }
            if progress.memory > orders.memory {
                shared.finish(End::Memory);
            }
        }
    });
    progress = measure(&shared);
    watch(progress);
    let kept_bytes = shared.bytes();
    let graded = !shared.ungraded.load(Ordering::SeqCst);
    let end = *lock(&shared.end);
    let breaches = std::mem::take(&mut *lock(&shared.breaches));
    Dug { progress, end, breaches, graded, kept_bytes }
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

/// About how much memory a state on a stack takes.
const FRAME: u64 = 400;

fn begin(shared: &Shared, troupe: Troupe<'_>) {
    for state in &troupe.initial {
        let fingerprint = troupe.system.fingerprint(state);
        shared.generated.fetch_add(1, Ordering::Relaxed);
        if shared.add(fingerprint, 0).is_none() {
            shared.states.fetch_add(1, Ordering::Relaxed);
            for property in troupe.system.broken(state) {
                shared.breach(property, vec![fingerprint]);
            }
            lock(&shared.tasks).push_back(vec![fingerprint]);
        }
    }
}

/// A state on the stack, and what is still to be followed from it.
struct Frame {
    state: Vec<u32>,
    fingerprint: u64,
    left: Vec<Candidate>,
    /// Only one node's actions are followed, and so far they led only to states that may be on the way here.
    barren: bool,
}

struct Digger<'a> {
    shared: &'a Shared,
    troupe: Troupe<'a>,
    reducer: Option<Reducer>,
    worth: Yield,
    found: Found,
    /// The fingerprints that lead to the first state on the stack.
    prefix: Vec<u64>,
    stack: Vec<Frame>,
    deepest: u64,
    /// States and transitions that the others do not know of yet.
    unreported: (u64, u64),
    /// How much of the stack the others know of.
    reported: u64,
}

impl<'a> Digger<'a> {
    fn new(shared: &'a Shared, troupe: Troupe<'a>) -> Self {
        // What is left out depends on who comes first, and with several threads that is up to chance.
        let reducer = (shared.orders.reduce && shared.orders.threads == 1).then(Reducer::default);
        Self {
            shared,
            troupe,
            reducer,
            worth: Yield::default(),
            found: Found::default(),
            prefix: Vec::new(),
            stack: Vec::new(),
            deepest: 0,
            unreported: (0, 0),
            reported: 0,
        }
    }

    fn work(mut self) {
        while let Some(task) = self.shared.task(self.shared.orders.threads) {
            if let Some(state) = self.reach(&task) {
                let fingerprint = task.last().copied().unwrap_or_default();
                self.prefix = task;
                self.prefix.pop();
                self.push(state, fingerprint);
                self.dig();
            }
            self.report();
        }
    }

    /// Goes along a path that another thread found.
    fn reach(&mut self, path: &[u64]) -> Option<Vec<u32>> {
        let (root, rest) = path.split_first()?;
        let system = &self.troupe.system;
        let mut state = self.troupe.initial.iter().find(|state| system.fingerprint(state) == *root)?.clone();
        let mut at = *root;
        for next in rest {
            self.expand(&state, at);
            let candidate = *self.found.candidates.iter().find(|candidate| candidate.fingerprint == *next)?;
            state = self.succeed(&state, candidate);
            at = *next;
        }
        Some(state)
    }

    fn expand(&mut self, state: &[u32], fingerprint: u64) {
        let Troupe { system, oracle, .. } = &mut self.troupe;
        // Whoever can learn knows everything.
        let _ = expand(&mut Learning { system, oracle: &mut **oracle }, state, fingerprint, 0, &mut self.found);
    }

    fn succeed(&self, state: &[u32], candidate: Candidate) -> Vec<u32> {
        let mut next = Vec::with_capacity(state.len() + 4);
        self.troupe.system.succeed(state, Action::unpack(candidate.action), candidate.outcome, &mut next);
        next
    }

    fn path(&self) -> Vec<u64> {
        self.prefix.iter().copied().chain(self.stack.iter().map(|frame| frame.fingerprint)).collect()
    }

    fn push(&mut self, state: Vec<u32>, fingerprint: u64) {
        self.expand(&state, fingerprint);
        let sight = self.found.sight;
        let breaches = std::mem::take(&mut self.found.breaches);
        let mut barren = false;
        if let Some(reducer) = &mut self.reducer {
            let Troupe { system, oracle, .. } = &mut self.troupe;
            let lookup = &mut Learning { system, oracle: &mut **oracle };
            barren = reducer.reduce(lookup, &state, fingerprint, self.worth, &mut self.found).unwrap_or(false);
            self.worth.add(std::mem::take(&mut reducer.fresh));
        }
        self.unreported.1 += self.found.candidates.len() as u64;
        let left = self.found.candidates.clone();
        self.stack.push(Frame { state, fingerprint, left, barren });
        self.deepest = self.deepest.max((self.prefix.len() + self.stack.len()) as u64 - 1);
        for property in self.shared.orders.stops.broken(sight) {
            self.shared.breach(property, self.path());
        }
        self.judge_steps(&breaches);
        let overrun = self.found.overflow || self.troupe.system.tables.is_full() || self.troupe.oracle.is_overrun();
        if overrun {
            self.shared.finish(End::Numbers);
        }
    }

    fn dig(&mut self) {
        let mut steps = 0_u32;
        while let Some(frame) = self.stack.last_mut() {
            let Some(candidate) = frame.left.pop() else {
                self.leave();
                continue;
            };
            let depth = self.prefix.len() + self.stack.len();
            if self.enter(candidate, depth) {
                let parent = &self.stack[self.stack.len() - 1].state;
                let next = self.succeed(parent, candidate);
                let seen = self.troupe.system.can_be_seen(Action::unpack(candidate.action), candidate.outcome);
                let broken: Vec<u8> = if seen { self.troupe.system.broken(&next).collect() } else { Vec::new() };
                self.push(next, candidate.fingerprint);
                for property in broken {
                    self.shared.breach(property, self.path());
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

    /// Whether nobody was in the state before.
    fn enter(&mut self, candidate: Candidate, depth: usize) -> bool {
        match self.shared.add(candidate.fingerprint, depth as u32) {
            None => {
                self.unreported.0 += 1;
                self.follow_on();
                true
            }
            Some(before) => {
                if before == depth as u32 {
                    // It is not on the way here, since every state on it is less deep.
                    self.follow_on();
                } else {
                    self.shared.ungraded.store(true, Ordering::Relaxed);
                }
                false
            }
        }
    }

    /// What is followed from the last state leads on.
    fn follow_on(&mut self) {
        if let Some(frame) = self.stack.last_mut() {
            frame.barren = false;
        }
    }

    /// All is followed from the last state, unless one node's actions alone may go in circles.
    fn leave(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        if frame.barren {
            self.expand(&frame.state, frame.fingerprint);
            self.unreported.1 += self.found.candidates.len() as u64;
            self.stack.push(Frame { left: self.found.candidates.clone(), barren: false, ..frame });
            let breaches = std::mem::take(&mut self.found.breaches);
            self.judge_steps(&breaches);
        }
    }

    /// Tells of the steps from the last state that break a property, if they are followed.
    fn judge_steps(&self, breaches: &[(u8, u16)]) {
        for (property, action) in breaches {
            let led_to = self.found.candidates.iter().find(|candidate| candidate.action == *action);
            if let Some(candidate) = led_to {
                let mut path = self.path();
                path.push(candidate.fingerprint);
                self.shared.breach(*property, path);
            }
        }
    }

    /// Gives away what would be followed last.
    fn share(&mut self) {
        let Some(place) = self.stack.iter().position(|frame| !frame.left.is_empty()) else { return };
        // The last one is our own.
        if place + 1 == self.stack.len() && self.stack[place].left.len() < 2 {
            return;
        }
        let candidate = self.stack[place].left.remove(0);
        let depth = self.prefix.len() + place + 1;
        let barren = self.stack[place].barren;
        if self.enter_at(place, candidate, depth) {
            let mut path = self.prefix.clone();
            path.extend(self.stack[..=place].iter().map(|frame| frame.fingerprint));
            path.push(candidate.fingerprint);
            self.judge(place, candidate, &path);
            lock(&self.shared.tasks).push_back(path);
            self.shared.news.notify_one();
        } else {
            self.stack[place].barren = barren;
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
        if self.troupe.system.can_be_seen(action, candidate.outcome) {
            let next = self.succeed(&self.stack[place].state, candidate);
            for property in self.troupe.system.broken(&next) {
                self.shared.breach(property, path.to_vec());
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
