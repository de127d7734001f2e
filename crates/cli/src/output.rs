//! Standard output that tolerates a closed reader.

use std::io::{self, ErrorKind, StdoutLock, Write};
use std::path::Path;

/// Standard output. If the reader closes it early, as `head` does, the rest is dropped, and the
/// command still exits with its verdict.
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

/// Returns a path for display, with control characters escaped.
pub(crate) fn display_path(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

fn unless_closed<T>(result: io::Result<T>, if_closed: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(if_closed),
        result => result,
    }
}
