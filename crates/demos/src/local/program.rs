//! The program of a thread: the three instructions that change the counter, with those of a lock
//! around them.

use super::Locking;
use std::ops::Range;

/// One atomic instruction of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instruction {
    /// Loads the counter into the thread's register.
    Load,
    /// Adds this change to the register.
    Add(i64),
    /// Stores the register into the counter.
    Store,
    /// Sets the flag, and continues if it was clear; otherwise repeats the instruction.
    TestAndSet,
    /// Continues if the flag is clear; otherwise repeats the instruction.
    Test,
    /// Sets the flag.
    Set,
    /// Clears the flag.
    Clear,
    /// Takes the semaphore's permit; blocks while there is none.
    Wait,
    Signal,
    /// Enters the monitor; blocks while another thread is in it.
    Enter,
    /// Continues if the counter is free; otherwise leaves the monitor and sleeps. When the thread
    /// wakes, it repeats the previous instruction, `Enter`.
    AwaitFree,
    /// Marks the counter as in use.
    Occupy,
    /// Marks the counter as free.
    Vacate,
    /// Wakes the thread that has slept longest, if any sleeps.
    Wake,
    Exit,
}

use Instruction::{
    Add, AwaitFree, Clear, Enter, Exit, Load, Occupy, Set, Signal, Store, Test, TestAndSet, Vacate, Wait, Wake,
};

/// The program of one thread, from its first instruction to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    /// The indices of the three instructions that must appear as one to the other threads.
    critical: Range<usize>,
}

impl Program {
    /// LO-1. Changes the counter by `change` under this lock.
    pub fn new(locking: Locking, change: i64) -> Self {
        let (before, after) = lock_instructions(locking);
        let critical = [Load, Add(change), Store];
        Self {
            instructions: [before, &critical, after].concat(),
            critical: before.len()..before.len() + critical.len(),
        }
    }

    /// The instruction at this index; `None` at the end.
    pub fn at(&self, index: usize) -> Option<Instruction> {
        self.instructions.get(index).copied()
    }

    /// Whether a thread whose next instruction has this index has loaded the counter, and not
    /// stored it yet.
    pub fn is_inside(&self, index: usize) -> bool {
        self.critical.start < index && index < self.critical.end
    }
}

/// LO-3, LO-4 and LO-5. The instructions before and after the critical ones.
const fn lock_instructions(locking: Locking) -> (&'static [Instruction], &'static [Instruction]) {
    match locking {
        Locking::None => (&[], &[]),
        Locking::TestAndSet => (&[TestAndSet], &[Clear]),
        Locking::TestThenSet => (&[Test, Set], &[Clear]),
        Locking::Semaphore => (&[Wait], &[Signal]),
        Locking::ConditionVariable => (&[Enter, AwaitFree, Occupy, Exit], &[Enter, Vacate, Wake, Exit]),
    }
}
