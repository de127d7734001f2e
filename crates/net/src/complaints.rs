//! Log lines about what strangers and peers do, of which there may be many: so many a second, and then how many more
//! there were.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many lines of a weight are written in one window.
const MOST_LINES: u64 = 10;
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// How much a line matters. Each has a window of its own, so that a flood of what is harmless hides nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Nothing unusual on a network.
    Mention,
    /// Somebody should look at it, some time.
    Warning,
    /// Something that was promised could not be kept.
    Error,
}

/// A place to complain. A flood of strangers fills no disk with log lines, and none goes unmentioned.
#[derive(Debug)]
pub(crate) struct Complaints([Mutex<Window>; 3]);

#[derive(Debug)]
struct Window {
    began: Instant,
    lines: u64,
    unwritten: u64,
}

impl Complaints {
    pub(crate) fn new() -> Self {
        Self([(); 3].map(|()| Mutex::new(Window { began: Instant::now(), lines: 0, unwritten: 0 })))
    }

    /// Writes a warning, unless too many were written just now.
    pub(crate) fn write(&self, line: impl fmt::Display) {
        self.weigh(Weight::Warning, line);
    }

    /// Writes what is nothing unusual, unless too much of it was written just now.
    pub(crate) fn mention(&self, line: impl fmt::Display) {
        self.weigh(Weight::Mention, line);
    }

    /// Writes the line, unless too many were written just now.
    pub(crate) fn weigh(&self, weight: Weight, line: impl fmt::Display) {
        let mut window = self.window(weight);
        window.turn(weight);
        if window.lines < MOST_LINES {
            window.lines += 1;
            put(weight, line);
        } else {
            window.unwritten += 1;
        }
    }

    /// Tells how many lines were left out of windows that are over. Somebody calls this now and then, or else the end
    /// of a flood would be told only by the next.
    pub(crate) fn sum_up(&self) {
        for weight in [Weight::Mention, Weight::Warning, Weight::Error] {
            self.window(weight).turn(weight);
        }
    }

    fn window(&self, weight: Weight) -> MutexGuard<'_, Window> {
        // A thread that panicked while it held this left numbers that are good enough.
        self.0[weight as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn turn(&mut self, weight: Weight) {
        if self.began.elapsed() < WINDOW {
            return;
        }
        if self.unwritten > 0 {
            put(weight, format_args!("{} more lines about connections were left out.", self.unwritten));
        }
        *self = Self { began: Instant::now(), lines: 0, unwritten: 0 };
    }
}

fn put(weight: Weight, line: impl fmt::Display) {
    match weight {
        Weight::Mention => tracing::info!("{line}"),
        Weight::Warning => tracing::warn!("{line}"),
        Weight::Error => tracing::error!("{line}"),
    }
}
