//! Writes standard output and standard error of a node on separate threads, so that the node never
//! waits for their reader.

use crate::output::output;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of queued lines.
const MAX_QUEUED_LINES: usize = 10_000;

/// Maximum time that a stopping node waits until its last lines are written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Interval at which the writer thread looks for dropped lines while no line arrives.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// A queue of lines to a writer thread. Clones share the thread.
#[derive(Clone)]
pub(super) struct Printer {
    lines: SyncSender<Vec<u8>>,
    /// Number of lines not yet written.
    unwritten_lines: Arc<AtomicU64>,
    /// Number of lines dropped since the last warning.
    dropped_lines: Arc<AtomicU64>,
}

impl Printer {
    pub(super) fn to_output() -> io::Result<Self> {
        Self::new("output", |bytes| output().write_all(bytes).and_then(|()| output().flush()))
    }

    pub(super) fn to_error() -> io::Result<Self> {
        Self::new("log", |bytes| io::stderr().write_all(bytes))
    }

    fn new(name: &str, write: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (lines, receiver) = sync_channel(MAX_QUEUED_LINES);
        let printer = Self { lines, unwritten_lines: Arc::default(), dropped_lines: Arc::default() };
        let (unwritten_lines, dropped_lines) =
            (Arc::clone(&printer.unwritten_lines), Arc::clone(&printer.dropped_lines));
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || write_lines(&receiver, &unwritten_lines, &dropped_lines, write))?;
        Ok(printer)
    }

    /// Queues a line to print. If the queue is full, the line is dropped and counted.
    pub(super) fn print(&self, line: Vec<u8>) {
        self.unwritten_lines.fetch_add(1, Ordering::SeqCst);
        match self.lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.unwritten_lines.fetch_sub(1, Ordering::SeqCst);
                self.dropped_lines.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Waits until all lines are written, up to [`FLUSH_TIMEOUT`].
    pub(super) fn finish(&self) {
        let deadline = Instant::now() + FLUSH_TIMEOUT;
        while self.unwritten_lines.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Writes queued lines until the queue is closed, and logs how many lines were dropped.
fn write_lines(
    lines: &Receiver<Vec<u8>>,
    unwritten_lines: &AtomicU64,
    dropped_lines: &AtomicU64,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) {
    loop {
        match lines.recv_timeout(WARNING_INTERVAL) {
            Ok(line) => {
                // Ignore a closed reader: the node must not depend on it.
                let _ = write(&line);
                unwritten_lines.fetch_sub(1, Ordering::SeqCst);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let missing = dropped_lines.swap(0, Ordering::SeqCst);
        if missing > 0 {
            tracing::warn!("{missing} lines were dropped, because the reader was too slow.");
        }
    }
}

/// Lets the log write whole lines.
impl<'a> MakeWriter<'a> for Printer {
    type Writer = LogLine;
    fn make_writer(&'a self) -> LogLine {
        LogLine { printer: self.clone(), bytes: Vec::new() }
    }
}

/// A log line under construction, which is queued on drop.
pub(super) struct LogLine {
    printer: Printer,
    bytes: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        self.printer.print(std::mem::take(&mut self.bytes));
    }
}
