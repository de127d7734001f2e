//! Threads and the memory that they share: the effect of one instruction, and whole runs.

use super::Locking;
use super::program::{Instruction, Program};
use std::collections::VecDeque;
use std::fmt;

/// One of the threads, printed as a number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread(usize);

impl Thread {
    /// The thread with this index, from 0.
    pub const fn from_index(index: usize) -> Self {
        Self(index)
    }

    pub const fn index(self) -> usize {
        self.0
    }

    pub const fn number(self) -> usize {
        self.0 + 1
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// The thread of each step, in the order of steps. It prints as `1 1 2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Vec<Thread>);

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, thread) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            thread.fmt(f)?;
        }
        Ok(())
    }
}

/// A counter, and threads that each change it once.
#[derive(Clone, Debug)]
pub struct Race {
    initial_counter: i64,
    expected_counter: i64,
    programs: Vec<Program>,
}

/// The state of all threads and of the memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    memory: Memory,
    threads: Vec<ThreadState>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory {
    pub counter: i64,
    pub is_flag_set: bool,
    /// Whether the semaphore has its permit.
    pub has_permit: bool,
    /// The thread in the monitor.
    pub monitor: Option<Thread>,
    /// Whether a thread uses the counter: the condition that the monitor protects.
    pub is_busy: bool,
    /// The threads that wait on the condition, in the order in which they fell asleep.
    pub sleepers: VecDeque<Thread>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ThreadState {
    /// The index of the next instruction in the thread's program.
    instruction_index: usize,
    register: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub thread: Thread,
    pub act: Act,
}

/// The action of a thread in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Loads(i64),
    /// Added the first number to the register, which is now the second.
    Adds(i64, i64),
    Stores(i64),
    TestsAndSets,
    FindsClear,
    Spins,
    Sets,
    Clears,
    TakesPermit,
    SignalsSemaphore,
    Enters,
    FindsFree,
    /// Found the counter in use, left the monitor and fell asleep.
    Sleeps,
    Occupies,
    Vacates,
    /// Woke this thread, if any slept.
    Wakes(Option<Thread>),
    Exits,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} {}", self.thread, self.act)
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loads(value) => write!(f, "loads {value}"),
            Self::Adds(change, sum) if *change < 0 => write!(f, "subtracts {} and has {sum}", change.unsigned_abs()),
            Self::Adds(change, sum) => write!(f, "adds {change} and has {sum}"),
            Self::Stores(value) => write!(f, "stores {value}"),
            Self::TestsAndSets => f.write_str("atomically finds the flag clear and sets it"),
            Self::FindsClear => f.write_str("finds the flag clear"),
            Self::Spins => f.write_str("finds the flag set and tries again"),
            Self::Sets => f.write_str("sets the flag"),
            Self::Clears => f.write_str("clears the flag"),
            Self::TakesPermit => f.write_str("waits on the semaphore and has its permit"),
            Self::SignalsSemaphore => f.write_str("signals the semaphore and returns its permit"),
            Self::Enters => f.write_str("enters the monitor"),
            Self::FindsFree => f.write_str("finds the counter free"),
            Self::Sleeps => f.write_str("finds the counter in use, leaves the monitor and sleeps"),
            Self::Occupies => f.write_str("marks the counter as in use"),
            Self::Vacates => f.write_str("marks the counter as free"),
            Self::Wakes(Some(sleeper)) => write!(f, "signals, and thread {sleeper} wakes"),
            Self::Wakes(None) => f.write_str("signals, and no thread sleeps"),
            Self::Exits => f.write_str("leaves the monitor"),
        }
    }
}

impl Race {
    /// The standard race: the counter is 5, one thread adds 1, the other one subtracts 1.
    pub fn new(locking: Locking) -> Self {
        Self::with_changes(locking, 5, &[1, -1])
    }

    /// A race with this initial value of the counter, and a thread for each change.
    pub fn with_changes(locking: Locking, initial_counter: i64, changes: &[i64]) -> Self {
        let expected_counter = changes.iter().fold(initial_counter, |sum, change| sum.wrapping_add(*change));
        let programs = changes.iter().map(|change| Program::new(locking, *change)).collect();
        Self { initial_counter, expected_counter, programs }
    }

    /// The value of the counter at the end if no update is lost.
    pub const fn expected_counter(&self) -> i64 {
        self.expected_counter
    }

    pub fn threads(&self) -> impl Iterator<Item = Thread> + use<> {
        (0..self.programs.len()).map(Thread)
    }

    pub fn initial_state(&self) -> State {
        let memory = Memory {
            counter: self.initial_counter,
            is_flag_set: false,
            has_permit: true,
            monitor: None,
            is_busy: false,
            sleepers: VecDeque::new(),
        };
        State { memory, threads: vec![ThreadState::default(); self.programs.len()] }
    }

    pub fn is_over(&self, state: &State) -> bool {
        self.threads().all(|thread| self.next_instruction(state, thread).is_none())
    }

    /// Number of threads that have loaded the counter and not stored it yet.
    pub fn count_threads_inside(&self, state: &State) -> usize {
        let thread_states = self.programs.iter().zip(&state.threads);
        thread_states.filter(|(program, thread_state)| program.is_inside(thread_state.instruction_index)).count()
    }

    /// LO-2. The threads that can take the next step.
    pub fn ready_threads<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Thread> + 'a {
        self.threads().filter(|thread| self.can_continue(state, *thread))
    }

    /// LO-4, LO-5. A thread is blocked while there is no permit, while another thread is in the
    /// monitor, and while it sleeps.
    fn can_continue(&self, state: &State, thread: Thread) -> bool {
        let Memory { has_permit, monitor, sleepers, .. } = &state.memory;
        match self.next_instruction(state, thread) {
            None => false,
            Some(Instruction::Wait) => *has_permit,
            Some(Instruction::Enter) => monitor.is_none() && !sleepers.contains(&thread),
            Some(_) => true,
        }
    }

    fn next_instruction(&self, state: &State, thread: Thread) -> Option<Instruction> {
        let instruction_index = state.threads.get(thread.index())?.instruction_index;
        self.programs.get(thread.index())?.at(instruction_index)
    }

    /// Executes one instruction of this thread; `None` if it has ended or is blocked.
    pub fn step(&self, state: &mut State, thread: Thread) -> Option<Step> {
        let instruction = self.next_instruction(state, thread).filter(|_| self.can_continue(state, thread))?;
        let State { memory, threads } = state;
        let thread_state = threads.get_mut(thread.index())?;
        let act = memory.execute(thread, instruction, &mut thread_state.register);
        match act {
            Act::Spins => {}
            // When the thread wakes, it enters the monitor again and tests the condition again.
            Act::Sleeps => thread_state.instruction_index = thread_state.instruction_index.saturating_sub(1),
            _ => thread_state.instruction_index += 1,
        }
        Some(Step { thread, act })
    }

    /// A run of at most `max_steps` steps. `choose` picks the next thread by its index among those
    /// that can continue; an invalid index ends the run.
    pub fn run(&self, mut choose: impl FnMut(&[Thread]) -> usize, max_steps: usize) -> Run {
        let mut state = self.initial_state();
        let (mut steps, mut schedule) = (Vec::new(), Vec::new());
        let end = loop {
            let ready: Vec<_> = self.ready_threads(&state).collect();
            if ready.is_empty() {
                break if self.is_over(&state) { End::Completed } else { End::Stuck };
            }
            let next = ready.get(choose(&ready)).filter(|_| steps.len() < max_steps);
            let Some(step) = next.and_then(|thread| self.step(&mut state, *thread)) else { break End::Unfinished };
            schedule.push(step.thread);
            steps.push(step);
        };
        Run { schedule: Schedule(schedule), steps, end, counter: state.memory.counter }
    }

    /// The run with this schedule. It ends early if the schedule names a thread that cannot
    /// continue.
    pub fn run_schedule(&self, schedule: &Schedule) -> Run {
        const INVALID_INDEX: usize = usize::MAX;
        let mut threads = schedule.0.iter();
        let choose = |ready: &[Thread]| {
            threads.next().and_then(|thread| ready.iter().position(|other| other == thread)).unwrap_or(INVALID_INDEX)
        };
        self.run(choose, schedule.0.len())
    }
}

impl State {
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }
}

impl Memory {
    /// LO-1, LO-3, LO-4 and LO-5. Executes one instruction of a thread that can continue.
    fn execute(&mut self, thread: Thread, instruction: Instruction, register: &mut i64) -> Act {
        match instruction {
            Instruction::Load => {
                *register = self.counter;
                Act::Loads(*register)
            }
            Instruction::Add(change) => {
                *register = register.wrapping_add(change);
                Act::Adds(change, *register)
            }
            Instruction::Store => {
                self.counter = *register;
                Act::Stores(*register)
            }
            Instruction::TestAndSet => match core::mem::replace(&mut self.is_flag_set, true) {
                false => Act::TestsAndSets,
                true => Act::Spins,
            },
            Instruction::Test if self.is_flag_set => Act::Spins,
            Instruction::Test => Act::FindsClear,
            Instruction::Set => {
                self.is_flag_set = true;
                Act::Sets
            }
            Instruction::Clear => {
                self.is_flag_set = false;
                Act::Clears
            }
            Instruction::Wait => {
                self.has_permit = false;
                Act::TakesPermit
            }
            Instruction::Signal => {
                self.has_permit = true;
                Act::SignalsSemaphore
            }
            Instruction::Enter => {
                self.monitor = Some(thread);
                Act::Enters
            }
            Instruction::AwaitFree if self.is_busy => {
                self.monitor = None;
                self.sleepers.push_back(thread);
                Act::Sleeps
            }
            Instruction::AwaitFree => Act::FindsFree,
            Instruction::Occupy => {
                self.is_busy = true;
                Act::Occupies
            }
            Instruction::Vacate => {
                self.is_busy = false;
                Act::Vacates
            }
            Instruction::Wake => Act::Wakes(self.sleepers.pop_front()),
            Instruction::Exit => {
                self.monitor = None;
                Act::Exits
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub schedule: Schedule,
    pub steps: Vec<Step>,
    pub end: End,
    pub counter: i64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All threads have ended.
    Completed,
    /// No thread can continue, although some have not ended.
    Stuck,
    /// The schedule or the limit on steps ended the run.
    Unfinished,
}
