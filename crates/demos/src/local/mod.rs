//! The race in one process, and the locks that end it.
//!
//! One thread runs `counter++` while another one runs `counter--`. Each looks like one step, but a processor takes
//! three: it loads the counter into a register, adds, and stores the sum. Threads that are at it together can load the
//! same value, and then one of the two stores is lost. A lock makes the three one, as far as the others can tell:
//! whoever finds it taken waits. Where threads share memory, an instruction that no other can interrupt is enough to
//! build one. Nodes that share nothing but a network need messages, which is what all other algorithms here are about.
//!
//! ```text
//! LO-1  counter++ or counter--  → load the counter, add, store the sum: three instructions
//! LO-2  any thread may be next  → after each instruction, whoever is not blocked and has not ended
//! LO-3  test-and-set            → one instruction reads a flag and sets it; if it was set, try again; clear it to leave
//! LO-4  semaphore               → wait: take the only permit, or block until it is there; signal to leave: put it back
//! LO-5  condition variable      → enter a monitor; while somebody is busy, wait, which leaves the monitor and sleeps;
//!                                 be busy and exit; to leave, be so no longer and signal, which wakes one who sleeps
//! ```
//!
//! Cost: 0 messages; 3 instructions unlocked, 5 with test-and-set or a semaphore, 11 with a condition variable, and more
//! for whoever has to wait. Of the 20 ways to interleave the two threads unlocked, 2 end with the right value.
//!
//! Assumes: memory takes one instruction after the other, and all threads see them in that order. Compilers and
//! processors that reorder instructions ask for more: the lock must keep the three between its own.
//!
//! When it fails: a thread that dies inside stops everyone. One that waits for a flag keeps a processor busy, and may
//! be unlucky for ever; blocked and sleeping ones cost nothing. A flag that is tested and set by two instructions is no
//! lock: both threads can find it clear.
//!
//! Departs from the book: a thread that a signal wakes looks again before it goes on, as it must where a third one can
//! be quicker. Sleepers wake in the order in which they fell asleep.

mod explore;
mod machine;
mod program;
#[cfg(test)]
mod tests;

pub use explore::{Ending, Outcomes, explore};
pub use machine::{Act, End, Memory, Race, Run, Schedule, State, Step, Thread};
pub use program::{Instruction, Program};

use quorate_core::about::Profile;
use std::fmt;

/// What the demonstration is called, and where it is explained.
pub const PROFILE: Profile = Profile {
    name: "local",
    class: "shared memory",
    summary: "counter++ beside counter-- in one process, and the locks that end the race",
    source: include_str!("mod.rs"),
    flaw: None,
    checkable: true,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locking {
    None,
    /// A flag that one instruction tests and sets.
    TestAndSet,
    Semaphore,
    ConditionVariable,
    /// A flag that one instruction tests and another one sets: a planted bug.
    TestThenSet,
}

/// No lock, and every lock that is one. The planted bug stands apart.
pub const LOCKINGS: [Locking; 4] = [Locking::None, Locking::TestAndSet, Locking::Semaphore, Locking::ConditionVariable];

impl Locking {
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::TestAndSet => "test-and-set",
            Self::Semaphore => "semaphore",
            Self::ConditionVariable => "condition-variable",
            Self::TestThenSet => "test-then-set",
        }
    }

    pub const fn protects(self) -> bool {
        match self {
            Self::None | Self::TestThenSet => false,
            Self::TestAndSet | Self::Semaphore | Self::ConditionVariable => true,
        }
    }
}

impl fmt::Display for Locking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
