//! Handles Ctrl-C and SIGTERM: the first signal stops a long command, which then reports its
//! results so far; the second one ends the program at once.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Signals within this time count as one: the program `timeout` sends one to the process and one to
/// its process group.
const SAME_REQUEST_WINDOW: Duration = Duration::from_millis(250);

/// Installs the handler. If that fails, the first signal ends the program.
pub(crate) fn install_handler() {
    let mut first_signal_at = None;
    let _ = ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::SeqCst);
        if first_signal_at.get_or_insert_with(Instant::now).elapsed() > SAME_REQUEST_WINDOW {
            // The conventional exit code of a process that SIGINT ends: 128 + 2.
            std::process::exit(130);
        }
    });
}

/// Whether a signal asked the command to stop.
pub(crate) fn was_requested() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// A signal asked the command to stop.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Fails if a signal asked the command to stop.
pub(crate) fn check() -> Result<(), Interrupted> {
    if was_requested() { Err(Interrupted) } else { Ok(()) }
}
