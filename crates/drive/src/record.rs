//! Observers whose record of a run survives the end of the process.

use quorate_journal::moment::Observer;
use std::io;

/// An observer that records a run. The engine flushes it before other processes can see the
/// recorded effects, so the record covers them even if the process is killed.
pub trait Recorder<C, E>: Observer<C, E> {
    /// Passes the record of all observed moments to the operating system.
    fn flush(&mut self) -> io::Result<()>;
}

/// Records nothing.
impl<C, E> Recorder<C, E> for () {
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
