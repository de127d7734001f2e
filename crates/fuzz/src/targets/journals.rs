//! Journals of runs, and live journals (each of one incarnation of a real node) to be gathered into
//! one.

use crate::PathSignature;
use quorate_core::{election, mutex};
use quorate_journal::moment::{Moment, Observer};
use quorate_journal::record::Journal;
use quorate_journal::record::gather::{Source, gather as gather_journals};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead};

/// Maximum number of journals of an input. All others are ignored.
const MAX_JOURNALS: usize = 8;

/// The line between two journals of an input.
const SEPARATOR: &[u8] = b"----\n";

/// Parses a journal three times: with the commands and events of two families, and with any JSON.
pub fn read(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    read_as::<mutex::Command, mutex::Event>(input, &mut signature);
    read_as::<election::Command, election::Event>(input, &mut signature);
    read_as::<serde_json::Value, serde_json::Value>(input, &mut signature);
    signature
}

fn read_as<C: DeserializeOwned, E: DeserializeOwned>(input: &[u8], signature: &mut PathSignature) {
    let mut counter = MomentCounter { moments: 0 };
    match Journal::open(input) {
        Ok(mut journal) => {
            if let Err(error) = journal.show_all::<C, E>(&mut counter) {
                signature.record_message(error);
            }
        }
        Err(error) => signature.record_message(error),
    }
    signature.record_magnitude(counter.moments);
}

/// Gathers live journals that are separated by a line of hyphens. The result must be a valid
/// journal, or the journals must be rejected.
pub fn gather(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let parts: Vec<Part> =
        split(input).into_iter().take(MAX_JOURNALS).enumerate().map(|(index, text)| Part { index, text }).collect();
    let mut out = Vec::new();
    match gather_journals(&parts, &mut out) {
        Ok(gathered) => {
            signature.record_magnitude(gathered.lines as usize);
            signature.record_magnitude(gathered.received_messages as usize);
            gathered.warnings.iter().for_each(|warning| signature.record_message(warning));
            let mut counter = MomentCounter { moments: 0 };
            let mut journal = Journal::open(&out[..]).expect("a gathered journal has a header");
            journal
                .show_all::<serde_json::Value, serde_json::Value>(&mut counter)
                .expect("a gathered journal is valid");
        }
        Err(error) => signature.record_message(error),
    }
    signature
}

fn split(input: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = input;
    while let Some(index) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        parts.push(&rest[..index]);
        rest = &rest[index + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}

/// One of the journals in the input.
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

struct MomentCounter {
    moments: usize,
}

impl<C, E> Observer<C, E> for MomentCounter {
    fn observe(&mut self, _moment: &Moment<'_, C, E>) {
        self.moments += 1;
    }
}
