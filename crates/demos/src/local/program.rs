//! What a thread runs: the three instructions that change the counter, with those of a lock around them.

use super::Locking;
use std::ops::Range;

/// What a thread does at a time. No other thread can interrupt it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instruction {
    /// The counter goes into the thread's register.
    Load,
    /// The register changes by so much.
    Add(i64),
    /// The register goes into the counter.
    Store,
    /// Sets the flag, and goes on if it was clear; else the same again.
    TestAndSet,
    /// Goes on if the flag is clear; else the same again.
    Test,
    Set,
    Clear,
    /// Takes the semaphore's permit; blocks while there is none.
    Wait,
    Signal,
    /// Enters the monitor; blocks while another thread is in it.
    Enter,
    /// Goes on if nobody is busy; else leaves the monitor, sleeps, and when it wakes begins with the instruction before.
    AwaitFree,
    Occupy,
    Vacate,
    /// Wakes the one that has slept longest, if any sleeps.
    Wake,
    Exit,
}

use Instruction::{
    Add, AwaitFree, Clear, Enter, Exit, Load, Occupy, Set, Signal, Store, Test, TestAndSet, Vacate, Wait, Wake,
};

/// What one thread runs, from its first instruction to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
    /// Where the three instructions stand that must not be interrupted.
    critical: Range<usize>,
}

impl Program {
    /// LO-1. Changes the counter by so much under this lock.
    pub fn new(locking: Locking, change: i64) -> Self {
        let (before, after) = brackets(locking);
        let critical = [Load, Add(change), Store];
        Self {
            instructions: [before, &critical, after].concat(),
            critical: before.len()..before.len() + critical.len(),
        }
    }

    /// The instruction at this place; nothing if that is the end.
    pub fn at(&self, place: usize) -> Option<Instruction> {
        self.instructions.get(place).copied()
    }

    /// Whether a thread whose next instruction is at this place has loaded the counter, and not stored it yet.
    pub fn is_inside(&self, place: usize) -> bool {
        self.critical.start < place && place < self.critical.end
    }
}

/// LO-3, LO-4 and LO-5. What stands before and after the critical instructions.
const fn brackets(locking: Locking) -> (&'static [Instruction], &'static [Instruction]) {
    match locking {
        Locking::None => (&[], &[]),
        Locking::TestAndSet => (&[TestAndSet], &[Clear]),
        Locking::TestThenSet => (&[Test, Set], &[Clear]),
        Locking::Semaphore => (&[Wait], &[Signal]),
        Locking::ConditionVariable => (&[Enter, AwaitFree, Occupy, Exit], &[Enter, Vacate, Wake, Exit]),
    }
}
