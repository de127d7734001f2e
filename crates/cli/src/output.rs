//! Standard output, for as long as somebody reads it.

use std::io::{self, ErrorKind, StdoutLock, Write};
use std::path::Path;

/// Standard output. Whoever reads it may have seen enough before the end, as `head` has: the rest is dropped, and
/// the command still ends with its verdict.
pub(crate) struct Output(StdoutLock<'static>);

pub(crate) fn output() -> Output {
    Output(io::stdout().lock())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

/// A file's name, fit for a terminal: what does not print is escaped.
pub(crate) fn name(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

fn unless_closed<T>(result: io::Result<T>, otherwise: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(otherwise),
        result => result,
    }
}
