//! Observers that record a run durably.

use quorate_journal::moment::Observer;
use std::io;

/// An observer whose record must survive the end of the process before other processes see the
/// recorded effects.
pub trait Record<C, E>: Observer<C, E> {
    /// Writes all observed moments to the operating system.
    fn flush(&mut self) -> io::Result<()>;
}

/// Records nothing.
impl<C, E> Record<C, E> for () {
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
