//! Gathers the journals that real nodes wrote, one file a life, into one journal with true causality.
//!
//! Every file is read twice: once to learn what is in it, once to be merged with the others.
//! A node's steps keep their order, no message arrives before it was sent, and otherwise the earlier of two steps comes
//! first. So one line of each node stands in memory, with what is under way and what the world did to the nodes, and
//! nothing else, however long the journals are.
//!
//! Journals of one machine have one clock. Those of several are put on a common scale by their wall clocks, and where
//! these contradict causality, times are raised; a node's own clock stays as it was, so that the result replays.

mod arrange;
mod error;
mod lives;
mod merge;
mod post;
mod survey;
mod track;

pub use error::GatherError;

use super::Writer;
use quorate_core::Time;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

/// A journal that can be read as often as wanted.
pub trait Source {
    /// What people call it: the name of its file.
    fn name(&self) -> String;

    /// Reads it from the beginning.
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

/// What was found in the journals, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gathered {
    /// How many lines the result has, with its header.
    pub lines: u64,
    pub nodes: usize,
    pub lives: usize,
    /// Of these, how many ended in good order.
    pub ended: usize,
    /// How many boots of machines they are from. Where it is one, all times compare as they are.
    pub boots: usize,
    pub sent: u64,
    /// How many of them were received.
    pub matched: u64,
    /// How many never arrived because their receiver went down first.
    pub lost: u64,
    /// How many never arrived although one that was sent after them did, between the same two lives. A link that carries
    /// everything skips none.
    pub skipped: u64,
    /// The first of these.
    #[serde(skip)]
    pub first_skipped: Option<Breach>,
    /// How many were still under way at the end.
    pub under_way: u64,
    /// How many writes a disk had confirmed, and did not have when the node's next life began.
    pub forgotten: u64,
    /// The first time that happened.
    #[serde(skip)]
    pub first_forgotten: Option<Breach>,
    /// How many steps got a later time than their node's clock said, because causality demands it.
    pub raised: u64,
    /// The files whose last line was cut off while it was written, and was left out.
    pub torn: Vec<String>,
    /// What is odd about the journals, a sentence each. None of it keeps them from being read.
    pub warnings: Vec<String>,
}

/// Something that a link or a disk promised and did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// When it showed, by the result's time.
    pub time: Time,
    /// What it was, as part of a sentence.
    pub text: String,
}

impl Gathered {
    fn skip(&mut self, time: Time, text: impl FnOnce() -> String) {
        self.skipped += 1;
        self.first_skipped.get_or_insert_with(|| Breach { time, text: text() });
    }

    fn forget(&mut self, writes: u64, time: Time, text: impl FnOnce() -> String) {
        if writes == 0 {
            return;
        }
        self.forgotten = self.forgotten.saturating_add(writes);
        if self.first_forgotten.as_ref().is_none_or(|first| time < first.time) {
            self.first_forgotten = Some(Breach { time, text: text() });
        }
    }

    fn warn_of_links(&mut self) {
        let Some(Breach { text, .. }) = &self.first_skipped else { return };
        let others = match self.skipped - 1 {
            0 => String::new(),
            1 => ", and so it is with 1 other".into(),
            others => format!(", and so it is with {others} others"),
        };
        let warning = format!("A link lost what it carried while both its nodes were up: {text}{others}.");
        self.warnings.push(warning);
    }

    /// Where all have one clock, nothing is received before it was sent. Files of two runs can look as if it were.
    fn warn_of_clocks(&mut self) {
        if self.boots > 1 || self.raised == 0 {
            return;
        }
        let steps = if self.raised == 1 { "1 step".into() } else { format!("{} steps", self.raised) };
        self.warnings.push(format!(
            "All journals are of one machine and one clock, but by that clock an effect came before its cause, and {steps} \
             had to be put later: the files may be of different runs."
        ));
    }
}

/// Gathers these journals into one.
///
/// They are the journals of all lives of all nodes, and perhaps one of what was done to them. Nothing is written if
/// they do not fit together, as far as that shows without merging them.
pub fn gather<S: Source>(parts: &[S], out: impl Write) -> Result<Gathered, GatherError> {
    let surveys = parts.iter().enumerate().map(survey::survey).collect::<Result<Vec<_>, _>>()?;
    let arrangement = arrange::arrange(surveys)?;
    let writer = Writer::new(out, &arrangement.header);
    merge::merge(parts, arrangement, writer)
}
