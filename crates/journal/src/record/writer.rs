//! Writes a journal during a run.

use super::header::Header;
use super::lines::Lines;
use crate::moment::{Moment, Observer};
use crate::workload::Ending;
use serde::Serialize;
use std::io::{self, Write};

/// Writes a journal line by line. Keeps only the current line and a hash of all bytes in memory.
pub struct Writer<W: Write> {
    out: W,
    lines: Lines,
    fingerprint: Fingerprint,
    /// The first error of the output. Later lines are counted but not written.
    first_error: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Starts a journal with its header. An error of `out` is returned by [`finish`](Self::finish).
    pub fn new(out: W, header: &Header) -> Self {
        let mut writer =
            Self { out, lines: Lines::new(header), fingerprint: Fingerprint::default(), first_error: None };
        writer.write_lines();
        writer
    }

    /// Completes the journal without recording how the run ended.
    pub fn finish(self) -> io::Result<(Fingerprint, u64)> {
        self.finish_with(None)
    }

    /// Completes the journal, with an end mark if its format has one. Returns the fingerprint of
    /// all bytes and the number of lines, or the first error of the output.
    pub fn finish_with(mut self, ending: Option<Ending>) -> io::Result<(Fingerprint, u64)> {
        self.lines.end(ending);
        self.write_lines();
        match self.first_error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok((self.fingerprint, self.lines.count()))
            }
        }
    }

    /// Returns the output to which the writer writes lines.
    pub fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Completes and writes the line of the last step.
    pub fn close(&mut self) {
        self.lines.close();
        self.write_lines();
    }

    /// Writes the buffered lines, unless an earlier write failed.
    fn write_lines(&mut self) {
        self.fingerprint.add(self.lines.bytes());
        if self.first_error.is_none()
            && let Err(error) = self.lines.flush_to(&mut self.out)
        {
            self.first_error = Some(error);
        }
        self.lines.discard();
    }
}

impl<W: Write, C: Serialize, E: Serialize> Observer<C, E> for Writer<W> {
    fn reads_sizes(&self) -> bool {
        true
    }

    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        if !matches!(moment, Moment::Effect { .. }) {
            self.close();
        }
        self.lines.observe(moment);
        if self.lines.is_closed() {
            self.write_lines();
        }
    }
}

/// A 64-bit FNV-1a hash, which is the same on every machine and in every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Includes these bytes in the fingerprint.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    /// The published test vectors of FNV-1a.
    #[test]
    fn fingerprints_are_fnv_1a() {
        let hash = |text: &str| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.add(text.as_bytes());
            fingerprint.to_string()
        };
        assert_eq!(hash(""), "cbf29ce484222325");
        assert_eq!(hash("a"), "af63dc4c8601ec8c");
        assert_eq!(hash("foobar"), "85944171f73967e8");
    }
}
