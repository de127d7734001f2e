//! Journals, whole and in parts.

use crate::Trail;
use quorate_core::{election, mutex};
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::record::Journal;
use quorate_journal::record::gather::{Source, gather as put_together};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead};

/// A line of this alone stands between two journals.
const SEAM: &[u8] = b"----\n";

pub fn read(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    show::<mutex::Command, mutex::Event>(input, &mut trail);
    show::<election::Command, election::Event>(input, &mut trail);
    show::<serde_json::Value, serde_json::Value>(input, &mut trail);
    trail
}

fn show<C: DeserializeOwned, E: DeserializeOwned>(input: &[u8], trail: &mut Trail) {
    let mut watcher = Watcher { moments: 0 };
    match Journal::open(input) {
        Ok(mut journal) => {
            if let Err(error) = journal.show_all::<C, E>(&mut watcher) {
                trail.say(error);
            }
        }
        Err(error) => trail.say(error),
    }
    trail.about(watcher.moments);
}

/// Live journals with a line of hyphens between each two: what comes of them is a journal, or they are refused.
pub fn gather(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let parts: Vec<Part> =
        split(input).into_iter().take(8).enumerate().map(|(index, text)| Part { index, text }).collect();
    let mut out = Vec::new();
    match put_together(&parts, &mut out) {
        Ok(gathered) => {
            trail.about(gathered.lines as usize);
            trail.about(gathered.matched as usize);
            gathered.warnings.iter().for_each(|warning| trail.say(warning));
            let mut watcher = Watcher { moments: 0 };
            let mut journal = Journal::open(&out[..]).expect("what was gathered has a header");
            journal
                .show_all::<serde_json::Value, serde_json::Value>(&mut watcher)
                .expect("what was gathered is a journal");
        }
        Err(error) => trail.say(error),
    }
    trail
}

fn split(input: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = input;
    while let Some(place) = rest.windows(SEAM.len()).position(|window| window == SEAM) {
        parts.push(&rest[..place]);
        rest = &rest[place + SEAM.len()..];
    }
    parts.push(rest);
    parts
}

struct Part<'a> {
    index: usize,
    text: &'a [u8],
}

impl Source for Part<'_> {
    fn name(&self) -> String {
        format!("part {}", self.index)
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(self.text))
    }
}

struct Watcher {
    moments: usize,
}

impl<C, E> Observer<C, E> for Watcher {
    fn observe(&mut self, _moment: &Moment<'_, C, E>) {
        self.moments += 1;
    }
}
