//! A race between two threads of one process, and the locks that prevent it.
//!
//! One thread runs `counter++` while another one runs `counter--`. Each looks like one step, but a
//! processor takes three: it loads the counter into a register, adds, and stores the sum. If both
//! threads load the same value, one of the two stores is lost. A lock makes the three instructions
//! appear as one to the other threads: a thread that finds it taken waits. Where threads share
//! memory, one atomic instruction is enough to build a lock. Nodes that share nothing but a network
//! need messages; all other algorithms here are about that.
//!
//! ```text
//! LO-1  counter++ or counter--  → load the counter, add, store the sum: three instructions
//! LO-2  any thread may be next  → after each instruction, any thread that is not blocked and has not
//!                                 ended
//! LO-3  test-and-set            → one instruction reads a flag and sets it; if it was set, try again;
//!                                 to release, clear it
//! LO-4  semaphore               → wait: take the only permit, or block until it is there; to release,
//!                                 signal: put it back
//! LO-5  condition variable      → enter a monitor; while the counter is in use, wait, which leaves the
//!                                 monitor and sleeps; mark it as in use and exit; to release, enter,
//!                                 mark it as free, signal to wake a sleeper
//! ```
//!
//! Cost: 0 messages; 3 instructions unlocked, 5 with test-and-set or a semaphore, 11 with a
//! condition variable, and more for a thread that has to wait. Of the 20 ways to interleave the two
//! threads unlocked, 2 end with the right value.
//!
//! Assumes: memory executes one instruction after the other, and all threads see them in that
//! order. Where compilers and processors reorder instructions, the lock must also keep the three
//! instructions between its own.
//!
//! When it fails: a thread that dies in the critical section blocks all others forever. A thread
//! that spins on a flag keeps a processor busy, and may starve; blocked and sleeping threads cost
//! nothing. A flag that is tested and set by two instructions is no lock: both threads can find it
//! clear.
//!
//! Departs from the textbook: a thread that a signal wakes tests the condition again before it
//! continues, as it must where a third thread can be quicker. Sleepers wake in the order in which
//! they fell asleep.

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

/// The demonstration's name, and the source of its explanation.
pub const PROFILE: Profile = Profile {
    name: "local",
    class: "shared memory",
    summary: "counter++ concurrent with counter-- in one process, and the locks that end the race",
    source: include_str!("mod.rs"),
    flaw: None,
    is_checkable: true,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Locking {
    None,
    /// A flag that one instruction tests and sets.
    TestAndSet,
    Semaphore,
    ConditionVariable,
    /// A flag that one instruction tests and another one sets: a seeded bug.
    TestThenSet,
}

/// The lockings that are compared by default: none, and every correct lock.
pub const DEFAULT_LOCKINGS: [Locking; 4] =
    [Locking::None, Locking::TestAndSet, Locking::Semaphore, Locking::ConditionVariable];

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

    /// Whether the counter always ends with the expected value.
    pub const fn prevents_race(self) -> bool {
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
