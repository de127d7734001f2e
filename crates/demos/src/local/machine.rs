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
    start: i64,
    right: i64,
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
    pub flag: bool,
    pub permit: bool,
    pub monitor: Option<Thread>,
    /// The condition that the monitor protects: whether a thread uses the counter.
    pub busy: bool,
    /// The threads that wait on the condition, in the order in which they fell asleep.
    pub sleepers: VecDeque<Thread>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ThreadState {
    next_instruction: usize,
    register: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub thread: Thread,
    pub act: Act,
}

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
            Self::TestsAndSets => f.write_str("finds the flag clear and sets it at once"),
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
        Self::of(locking, 5, &[1, -1])
    }

    /// A race with this initial value of the counter, and a thread for each change.
    pub fn of(locking: Locking, start: i64, changes: &[i64]) -> Self {
        let right = changes.iter().fold(start, |sum, change| sum.wrapping_add(*change));
        Self { start, right, programs: changes.iter().map(|change| Program::new(locking, *change)).collect() }
    }

    /// The value of the counter at the end if no update is lost.
    pub const fn expected(&self) -> i64 {
        self.right
    }

    pub fn threads(&self) -> impl Iterator<Item = Thread> + use<> {
        (0..self.programs.len()).map(Thread)
    }

    pub fn begin(&self) -> State {
        let memory = Memory {
            counter: self.start,
            flag: false,
            permit: true,
            monitor: None,
            busy: false,
            sleepers: VecDeque::new(),
        };
        State { memory, threads: vec![ThreadState::default(); self.programs.len()] }
    }

    pub fn is_over(&self, state: &State) -> bool {
        self.threads().all(|thread| self.next(state, thread).is_none())
    }

    pub fn inside(&self, state: &State) -> usize {
        let thread_states = self.programs.iter().zip(&state.threads);
        thread_states.filter(|(program, thread_state)| program.is_inside(thread_state.next_instruction)).count()
    }

    /// LO-2. The threads that can take the next step.
    pub fn ready<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Thread> + 'a {
        self.threads().filter(|thread| self.can_continue(state, *thread))
    }

    /// LO-4, LO-5. A thread is blocked while there is no permit, while another thread is in the
    /// monitor, and while it sleeps.
    fn can_continue(&self, state: &State, thread: Thread) -> bool {
        let Memory { permit, monitor, sleepers, .. } = &state.memory;
        match self.next(state, thread) {
            None => false,
            Some(Instruction::Wait) => *permit,
            Some(Instruction::Enter) => monitor.is_none() && !sleepers.contains(&thread),
            Some(_) => true,
        }
    }

    fn next(&self, state: &State, thread: Thread) -> Option<Instruction> {
        let next_instruction = state.threads.get(thread.index())?.next_instruction;
        self.programs.get(thread.index())?.at(next_instruction)
    }

    /// Executes one instruction of this thread; `None` if it has ended or is blocked.
    pub fn step(&self, state: &mut State, thread: Thread) -> Option<Step> {
        let instruction = self.next(state, thread).filter(|_| self.can_continue(state, thread))?;
        let State { memory, threads } = state;
        let thread_state = threads.get_mut(thread.index())?;
        let act = memory.take(thread, instruction, &mut thread_state.register);
        match act {
            Act::Spins => {}
            // When it wakes, it enters the monitor again and tests the condition again.
            Act::Sleeps => thread_state.next_instruction = thread_state.next_instruction.saturating_sub(1),
            _ => thread_state.next_instruction += 1,
        }
        Some(Step { thread, act })
    }

    /// A run of at most `most` steps. `choose` picks the next thread by its index among those that
    /// can continue.
    pub fn run(&self, mut choose: impl FnMut(&[Thread]) -> usize, most: usize) -> Run {
        let mut state = self.begin();
        let (mut steps, mut schedule) = (Vec::new(), Vec::new());
        let end = loop {
            let ready: Vec<_> = self.ready(&state).collect();
            if ready.is_empty() {
                break if self.is_over(&state) { End::Over } else { End::Stuck };
            }
            let step = ready.get(choose(&ready)).filter(|_| steps.len() < most);
            let Some(step) = step.and_then(|thread| self.step(&mut state, *thread)) else { break End::Open };
            schedule.push(step.thread);
            steps.push(step);
        };
        Run { schedule: Schedule(schedule), steps, end, counter: state.memory.counter }
    }

    /// The run with this schedule. It ends early if the schedule names a thread that cannot
    /// continue.
    pub fn run_schedule(&self, schedule: &Schedule) -> Run {
        let mut next = schedule.0.iter();
        let none = usize::MAX;
        let choose = |ready: &[Thread]| {
            next.next().and_then(|thread| ready.iter().position(|one| one == thread)).unwrap_or(none)
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
    fn take(&mut self, thread: Thread, instruction: Instruction, register: &mut i64) -> Act {
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
            Instruction::TestAndSet => match core::mem::replace(&mut self.flag, true) {
                false => Act::TestsAndSets,
                true => Act::Spins,
            },
            Instruction::Test if self.flag => Act::Spins,
            Instruction::Test => Act::FindsClear,
            Instruction::Set => {
                self.flag = true;
                Act::Sets
            }
            Instruction::Clear => {
                self.flag = false;
                Act::Clears
            }
            Instruction::Wait => {
                self.permit = false;
                Act::TakesPermit
            }
            Instruction::Signal => {
                self.permit = true;
                Act::SignalsSemaphore
            }
            Instruction::Enter => {
                self.monitor = Some(thread);
                Act::Enters
            }
            Instruction::AwaitFree if self.busy => {
                self.monitor = None;
                self.sleepers.push_back(thread);
                Act::Sleeps
            }
            Instruction::AwaitFree => Act::FindsFree,
            Instruction::Occupy => {
                self.busy = true;
                Act::Occupies
            }
            Instruction::Vacate => {
                self.busy = false;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Over,
    Stuck,
    Open,
}
