//! A log with a maximum number of lines per second, for events that any remote host can cause.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of lines of one severity in one window.
const MAX_LINES: u64 = 10;
/// Length of a window.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);

/// The severity of a line. Each severity has its own window, so that a flood of informational lines
/// does not suppress warnings and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Expected on any network, such as a dropped connection.
    Info,
    /// An operator should investigate, but not urgently.
    Warning,
    /// The node could not keep a guarantee.
    Error,
}

/// Writes at most [`MAX_LINES`] lines of a severity per [`WINDOW`] and reports how many it
/// suppressed, so that remote hosts cannot fill the disk with log lines.
#[derive(Debug)]
pub(crate) struct RateLimitedLog([Mutex<Window>; 3]);

#[derive(Debug)]
struct Window {
    started_at: Instant,
    /// Number of lines written.
    lines: u64,
    /// Number of lines suppressed.
    suppressed: u64,
}

impl RateLimitedLog {
    pub(crate) fn new() -> Self {
        Self([(); 3].map(|()| Mutex::new(Window { started_at: Instant::now(), lines: 0, suppressed: 0 })))
    }

    /// Writes a warning, unless the window is full.
    pub(crate) fn warn(&self, line: impl fmt::Display) {
        self.write(Severity::Warning, line);
    }

    /// Writes an informational line, unless the window is full.
    pub(crate) fn info(&self, line: impl fmt::Display) {
        self.write(Severity::Info, line);
    }

    /// Writes the line, unless the window of its severity is full.
    pub(crate) fn write(&self, severity: Severity, line: impl fmt::Display) {
        let mut window = self.window(severity);
        window.roll_over(severity);
        if window.lines < MAX_LINES {
            window.lines += 1;
            emit(severity, line);
        } else {
            window.suppressed += 1;
        }
    }

    /// Reports how many lines were suppressed in windows that have ended. Callers invoke it
    /// periodically; otherwise only the next line would report the end of a flood.
    pub(crate) fn report_suppressed(&self) {
        for severity in [Severity::Info, Severity::Warning, Severity::Error] {
            self.window(severity).roll_over(severity);
        }
    }

    fn window(&self, severity: Severity) -> MutexGuard<'_, Window> {
        // If a thread panicked while it held the lock, the counters it left are accurate enough.
        self.0[severity as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    /// Starts a new window if this one has ended, and logs how many lines it suppressed.
    fn roll_over(&mut self, severity: Severity) {
        if self.started_at.elapsed() < WINDOW {
            return;
        }
        if self.suppressed > 0 {
            emit(severity, format_args!("Suppressed {} more lines about connections and peers.", self.suppressed));
        }
        *self = Self { started_at: Instant::now(), lines: 0, suppressed: 0 };
    }
}

/// Writes a line to the log.
fn emit(severity: Severity, line: impl fmt::Display) {
    match severity {
        Severity::Info => tracing::info!("{line}"),
        Severity::Warning => tracing::warn!("{line}"),
        Severity::Error => tracing::error!("{line}"),
    }
}
