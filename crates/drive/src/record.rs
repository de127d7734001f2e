//! Who records a run while it happens.

use quorate_journal::moment::Observer;
use std::io;

/// An observer whose record must be safe from the end of the process before others see what it is about.
pub trait Record<C, E>: Observer<C, E> {
    /// Hands everything that was observed to the operating system.
    fn flush(&mut self) -> io::Result<()>;
}

/// Records nothing, and costs nothing.
impl<C, E> Record<C, E> for () {
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
