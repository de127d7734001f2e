//! Gathers the journals that real nodes wrote, one file per incarnation, into one causally
//! consistent journal.
//!
//! Every file is read twice: first to survey its content, then to merge it with the others. A
//! node's steps keep their order, no message arrives before it was sent, and otherwise the earlier
//! of two steps comes first. Memory holds one line of each node, the messages in flight and the
//! injected faults, independent of the length of the journals.
//!
//! Journals from one boot of a machine share a clock. All others are related by their wall clocks.
//! Where the times contradict causality, the merged step gets a later time. The recorded readings
//! of a node's own clock are unchanged, so the result can be replayed.

mod arrange;
mod error;
mod in_flight;
mod incarnations;
mod merge;
mod node_stream;
mod survey;

pub use error::GatherError;

use super::Writer;
use quorate_core::Time;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

/// A journal that can be read repeatedly.
pub trait Source {
    /// Returns its name for error messages, such as a file name.
    fn name(&self) -> String;

    /// Opens it for reading from the beginning.
    fn open(&self) -> io::Result<Box<dyn BufRead + '_>>;
}

impl Source for PathBuf {
    fn name(&self) -> String {
        self.to_string_lossy().escape_debug().to_string()
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(BufReader::new(File::open(self)?)))
    }
}

/// Statistics and anomalies of the gathered journals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GatherReport {
    /// Number of lines of the result, including its header.
    pub lines: u64,
    pub nodes: usize,
    /// Number of incarnations of all nodes.
    #[serde(rename = "lives")]
    pub incarnations: usize,
    /// Number of incarnations that shut down cleanly.
    #[serde(rename = "ended")]
    pub clean_shutdowns: usize,
    /// Number of machine boots that the journals come from. If it is 1, all times are directly
    /// comparable.
    pub boots: usize,
    #[serde(rename = "sent")]
    pub sent_messages: u64,
    #[serde(rename = "matched")]
    pub received_messages: u64,
    /// Number of messages that never arrived because their receiver went down first.
    #[serde(rename = "lost")]
    pub lost_messages: u64,
    /// Number of messages that never arrived although a later message between the same two
    /// incarnations did. A reliable link skips no message.
    #[serde(rename = "skipped")]
    pub skipped_messages: u64,
    /// The first one in the order of the result.
    #[serde(skip)]
    pub first_skipped_message: Option<BrokenGuarantee>,
    /// Number of messages still in flight at the end.
    #[serde(rename = "under_way")]
    pub in_flight: u64,
    /// Number of writes that a disk had confirmed but did not contain when the next incarnation
    /// started.
    #[serde(rename = "forgotten")]
    pub forgotten_writes: u64,
    /// The earliest loss of confirmed writes.
    #[serde(skip)]
    pub first_forgotten_write: Option<BrokenGuarantee>,
    /// Number of steps that got a later time than by the node's clock, to preserve causality.
    #[serde(rename = "raised")]
    pub delayed_steps: u64,
    /// Files that are empty or whose truncated last line was dropped.
    #[serde(rename = "torn")]
    pub torn_files: Vec<String>,
    /// Anomalies that do not prevent reading the journals, as sentences.
    pub warnings: Vec<String>,
}

/// A violated guarantee of a link or a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenGuarantee {
    /// When the journals first show it, in the time of the result.
    pub time: Time,
    /// Its description, as part of a sentence.
    pub text: String,
}

impl GatherReport {
    fn record_skipped_message(&mut self, time: Time, text: impl FnOnce() -> String) {
        self.skipped_messages += 1;
        self.first_skipped_message.get_or_insert_with(|| BrokenGuarantee { time, text: text() });
    }

    /// Keeps the earliest loss, because losses are found node by node, not in the order of time.
    fn record_forgotten_writes(&mut self, writes: u64, time: Time, text: impl FnOnce() -> String) {
        if writes == 0 {
            return;
        }
        self.forgotten_writes = self.forgotten_writes.saturating_add(writes);
        if self.first_forgotten_write.as_ref().is_none_or(|first| time < first.time) {
            self.first_forgotten_write = Some(BrokenGuarantee { time, text: text() });
        }
    }

    fn warn_of_skipped_messages(&mut self) {
        let Some(BrokenGuarantee { text, .. }) = &self.first_skipped_message else { return };
        let others = match self.skipped_messages - 1 {
            0 => String::new(),
            others => format!(" (and {others} more like it)"),
        };
        let warning = format!("A link lost messages while both its nodes were up: {text}{others}.");
        self.warnings.push(warning);
    }

    /// Warns if journals with a single clock contain receipts before sends, which happens if the
    /// files belong to different runs.
    fn warn_of_receipts_before_sends(&mut self) {
        if self.boots > 1 || self.delayed_steps == 0 {
            return;
        }
        let steps = if self.delayed_steps == 1 { "1 step".into() } else { format!("{} steps", self.delayed_steps) };
        self.warnings.push(format!(
            "All journals come from one machine with one clock, but by that clock a message arrived before it was sent, \
             and {steps} had to be moved to a later time: the files may belong to different runs."
        ));
    }
}

/// Gathers the journals `sources` into one and writes it to `out`.
///
/// The sources are the journals of all incarnations of all nodes and, optionally, the journal of
/// the parent process (`quorate run`) that injected faults. If the first reading finds an
/// inconsistency, nothing is written. A later error leaves `out` incomplete.
pub fn gather<S: Source>(sources: &[S], out: impl Write) -> Result<GatherReport, GatherError> {
    let surveys = sources.iter().enumerate().map(survey::survey).collect::<Result<Vec<_>, _>>()?;
    let arrangement = arrange::arrange(surveys)?;
    let writer = Writer::new(out, &arrangement.header);
    merge::merge(sources, arrangement, writer)
}
