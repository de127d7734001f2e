//! Captures the log of all nodes of a test.

use crate::within;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// The log of all nodes on this thread, on which every task of a test runs. Recording ends when the
/// value is dropped.
pub(crate) struct Log {
    lines: Arc<Lines>,
    _guard: DefaultGuard,
}

#[derive(Default)]
struct Lines {
    written: Mutex<Vec<String>>,
    line_written: Notify,
}

/// The subscriber that records the log lines and ignores spans.
struct Recorder(Arc<Lines>);

impl Log {
    pub(crate) fn new() -> Self {
        let lines = Arc::new(Lines::default());
        let guard = tracing::subscriber::set_default(Recorder(Arc::clone(&lines)));
        Self { lines, _guard: guard }
    }

    /// Waits for a line that contains all of these parts.
    pub(crate) async fn wait_for_line(&self, parts: &[&str]) -> String {
        let waiting = async {
            loop {
                // Created before the search, so that a line written meanwhile wakes this task.
                let line_written = self.lines.line_written.notified();
                if let Some(line) = self.all().into_iter().find(|line| parts.iter().all(|part| line.contains(part))) {
                    return line;
                }
                line_written.await;
            }
        };
        match tokio::time::timeout(crate::DEADLINE, waiting).await {
            Ok(line) => line,
            Err(_) => panic!("no log line contains {parts:?}:\n{}", self.all().join("\n")),
        }
    }

    /// Waits until `count` lines contain this part.
    pub(crate) async fn wait_for_lines(&self, count: usize, part: &str) {
        let waiting = async {
            loop {
                let line_written = self.lines.line_written.notified();
                if self.count(part) >= count {
                    return;
                }
                line_written.await;
            }
        };
        within(&format!("{count} lines with '{part}'"), waiting).await;
    }

    pub(crate) fn count(&self, part: &str) -> usize {
        self.all().iter().filter(|line| line.contains(part)).count()
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.lines.written.lock().unwrap().clone()
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("quorate")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().level().to_string());
        event.record(&mut text);
        self.0.written.lock().unwrap().push(text.0);
        self.0.line_written.notify_waiters();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The level of a log line, then its message.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.push_str(&format!(" {value:?}"));
        }
    }
}
