//! Measures a server from inside its process: messages by kind, syncs, and processor time.

use super::message::{Counters, Machine};
use quorate_core::{Codec, Describe, Malformed};
use quorate_net::{Handle, Postcard};
use quorate_replica::{Command, Event, Message, Replica};
use quorate_store::AppendCount;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a server counts, shared by its threads.
pub(super) struct Meter {
    append_count: AppendCount,
    answered_index: AtomicU64,
    received: Mutex<BTreeMap<&'static str, u64>>,
}

impl Meter {
    pub(super) fn new(append_count: AppendCount) -> Self {
        Self { append_count, answered_index: AtomicU64::new(0), received: Mutex::default() }
    }

    /// Records the answers among these events.
    pub(super) fn record_answers(&self, events: &[Event<Machine>]) {
        for event in events {
            if let Event::Answered { index, .. } = event {
                self.answered_index.fetch_max(*index, Ordering::Relaxed);
            }
        }
    }

    fn count_message(&self, message: &Message) {
        let kind = match message {
            // Without entries, an append tells the follower the commit index.
            Message::Append { entries, .. } if entries.is_empty() => "commit",
            other => other.kind(),
        };
        *self.received.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
    }

    /// The counters now.
    pub(super) fn read(&self, handle: &Handle<Command<Machine>>) -> Counters {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        Counters {
            answered_index: self.answered_index.load(Ordering::Relaxed),
            syncs: self.append_count.get(),
            messages_sent: handle.traffic().messages_sent,
            received: received.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            processor_nanos: processor_nanos(),
        }
    }
}

/// Encodes messages as `Postcard` does, and counts those that it decodes.
pub(super) struct CountingCodec(pub(super) Arc<Meter>);

impl Codec<Replica<Machine>> for CountingCodec {
    fn encode(&self, message: &Message, into: &mut Vec<u8>) -> Result<(), Malformed> {
        Codec::<Replica<Machine>>::encode(&Postcard, message, into)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Message, Malformed> {
        let message = Codec::<Replica<Machine>>::decode(&Postcard, bytes)?;
        self.0.count_message(&message);
        Ok(message)
    }
}

/// The time for which all threads of this process have run on a processor, in nanoseconds.
pub(super) fn processor_nanos() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)).unwrap_or_default()
}
