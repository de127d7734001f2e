//! Ctrl-C: whoever interrupts a long search once is told what was found so far; the second time it ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interruption is waited for. Where no handler can be set, the program ends the first time.
pub(crate) fn watch() {
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Whether somebody interrupted the search.
pub(crate) fn came() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}
