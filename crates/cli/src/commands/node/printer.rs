//! Standard output and standard error of a node: written by threads of their own, so that a node never waits for whoever reads
//! them.

use crate::output::output;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;

/// So many lines wait for their reader at most.
const MOST_LINES: usize = 10_000;

/// How long a node that ends waits for its last lines to be read.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines on their way to whoever reads them. Copies lead to the same thread.
#[derive(Clone)]
pub(super) struct Printer {
    lines: SyncSender<Vec<u8>>,
    /// How many lines are not written yet.
    waiting: Arc<AtomicU64>,
    left_out: Arc<AtomicU64>,
}

impl Printer {
    pub(super) fn to_output() -> io::Result<Self> {
        Self::new("output", |bytes| output().write_all(bytes).and_then(|()| output().flush()))
    }

    pub(super) fn to_error() -> io::Result<Self> {
        Self::new("log", |bytes| io::stderr().write_all(bytes))
    }

    fn new(name: &str, write: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (lines, receiver) = sync_channel(MOST_LINES);
        let printer = Self { lines, waiting: Arc::default(), left_out: Arc::default() };
        let (waiting, left_out) = (Arc::clone(&printer.waiting), Arc::clone(&printer.left_out));
        std::thread::Builder::new().name(name.into()).spawn(move || work(&receiver, &waiting, &left_out, write))?;
        Ok(printer)
    }

    /// Prints bytes that end a line. If nobody reads, and too many wait already, they are left out and counted.
    pub(super) fn print(&self, line: Vec<u8>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        match self.lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                self.left_out.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Waits until everything is written, but not for ever: perhaps nobody reads.
    pub(super) fn finish(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.waiting.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn work(
    lines: &Receiver<Vec<u8>>,
    waiting: &AtomicU64,
    left_out: &AtomicU64,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) {
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                // Whoever does not listen any more misses it; the journal has it.
                let _ = write(&line);
                waiting.fetch_sub(1, Ordering::SeqCst);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let missing = left_out.swap(0, Ordering::SeqCst);
        if missing > 0 {
            tracing::warn!("{missing} lines were left out, because nobody read those before them.");
        }
    }
}

/// The log writes whole lines.
impl<'a> MakeWriter<'a> for Printer {
    type Writer = Line;
    fn make_writer(&'a self) -> Line {
        Line { printer: self.clone(), bytes: Vec::new() }
    }
}

/// A line that is being written, and printed when it is complete.
pub(super) struct Line {
    printer: Printer,
    bytes: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.printer.print(std::mem::take(&mut self.bytes));
    }
}
