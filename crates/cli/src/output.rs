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
        ignore_closed_reader(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        ignore_closed_reader(self.0.flush(), ())
    }
}

/// Returns a path for display, with control characters escaped.
pub(crate) fn display_path(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// Replaces the error of a closed reader by a success with this value.
fn ignore_closed_reader<T>(result: io::Result<T>, value_if_closed: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(value_if_closed),
        result => result,
    }
}
