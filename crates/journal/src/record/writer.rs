//! Writes a journal as a run goes by.

use super::header::Header;
use super::lines::Lines;
use crate::moment::{Moment, Observer};
use crate::workload::Ending;
use serde::Serialize;
use std::io::{self, Write};

/// A journal under way. Bytes go out line by line; nothing is kept but the line in hand and a fingerprint.
pub struct Writer<W: Write> {
    out: W,
    lines: Lines,
    fingerprint: Fingerprint,
    failed: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Begins a journal with its header.
    pub fn new(out: W, header: &Header) -> Self {
        let mut writer = Self { out, lines: Lines::new(header), fingerprint: Fingerprint::default(), failed: None };
        writer.pass_on();
        writer
    }

    /// Completes the journal of which nobody says how its run ended.
    pub fn finish(self) -> io::Result<(Fingerprint, u64)> {
        self.finish_with(None)
    }

    /// Completes the journal, with an end mark if its format has one. The fingerprint is that of every byte written, and `lines` their number.
    pub fn finish_with(mut self, ending: Option<Ending>) -> io::Result<(Fingerprint, u64)> {
        self.lines.end(ending);
        self.pass_on();
        match self.failed {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok((self.fingerprint, self.lines.count()))
            }
        }
    }

    /// Where the bytes go.
    pub fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Completes the step in hand, so that its line can be read by whoever watches the output.
    pub fn close(&mut self) {
        self.lines.close();
        self.pass_on();
    }

    /// Lets complete lines go.
    fn pass_on(&mut self) {
        self.fingerprint.add(self.lines.bytes());
        if self.failed.is_none()
            && let Err(error) = self.lines.pour(&mut self.out)
        {
            self.failed = Some(error);
        }
        self.lines.forget();
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
            self.pass_on();
        }
    }
}

/// A hash of bytes that is the same on every machine and in every version: FNV-1a, 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds bytes.
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
        let of = |text: &str| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.add(text.as_bytes());
            fingerprint.to_string()
        };
        assert_eq!(of(""), "cbf29ce484222325");
        assert_eq!(of("a"), "af63dc4c8601ec8c");
        assert_eq!(of("foobar"), "85944171f73967e8");
    }
}
