//! Ctrl-C: whoever interrupts a long search once is told what was found so far; the second time it ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// One wish may come as two signals: `timeout` sends one to the process and one to its group.
const ONE_WISH: Duration = Duration::from_millis(250);

/// From now on an interruption is waited for. Where no handler can be set, the program ends the first time.
pub(crate) fn watch() {
    let mut first = None;
    let _ = ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::SeqCst);
        if first.get_or_insert_with(Instant::now).elapsed() > ONE_WISH {
            std::process::exit(130);
        }
    });
}

/// Whether somebody interrupted the search.
pub(crate) fn came() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}
