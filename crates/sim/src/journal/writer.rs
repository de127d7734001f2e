//! Writes a journal as a run goes by.

use super::header::Header;
use super::line::{EffectLine, InputLine, Manner, MulticastLine, SendLine, WorldLine};
use crate::moment::{Done, Happening, Moment, Observer, Sent, Taken};
use serde::Serialize;
use std::io::{self, Write};

/// A journal under way. Bytes go out line by line; nothing is kept but the line in hand and a fingerprint.
pub struct Writer<W: Write> {
    out: W,
    line: Vec<u8>,
    /// Whether the line in hand is a step that may still get effects.
    open: Open,
    fingerprint: Fingerprint,
    lines: u64,
    failed: Option<io::Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Step { effects: usize },
}

impl<W: Write> Writer<W> {
    /// Begins a journal with its header.
    pub fn new(out: W, header: &Header) -> Self {
        let mut writer = Self {
            out,
            line: Vec::new(),
            open: Open::Nothing,
            fingerprint: Fingerprint::default(),
            lines: 0,
            failed: None,
        };
        writer.json(header);
        writer.end_line();
        writer
    }

    /// Completes the journal. The fingerprint is that of every byte written, and `lines` their number.
    pub fn finish(mut self) -> io::Result<(Fingerprint, u64)> {
        self.close();
        match self.failed {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok((self.fingerprint, self.lines))
            }
        }
    }

    /// Where the bytes go.
    pub fn out_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Completes the step in hand, so that its line can be read by whoever watches the output.
    pub fn close(&mut self) {
        if let Open::Step { .. } = std::mem::replace(&mut self.open, Open::Nothing) {
            self.line.extend_from_slice(b"]}");
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.line.push(b'\n');
        self.fingerprint.add(&self.line);
        self.lines += 1;
        if self.failed.is_none()
            && let Err(error) = self.out.write_all(&self.line)
        {
            self.failed = Some(error);
        }
        self.line.clear();
    }

    fn json(&mut self, value: &impl Serialize) {
        if let Err(error) = serde_json::to_writer(&mut self.line, value) {
            self.failed.get_or_insert(error.into());
        }
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into memory cannot fail.
        let _ = self.line.write_fmt(text);
    }

    fn effect<E: Serialize>(&mut self, effect: &Done<'_, E>) {
        let Open::Step { effects } = &mut self.open else { return };
        if *effects > 0 {
            self.line.push(b',');
        }
        *effects += 1;
        let text;
        let line = match effect {
            Done::Send { to, sent } => {
                EffectLine::Send(SendLine { id: sent.id, to: *to, manner: manner(sent), body: sent.body })
            }
            Done::Multicast { to, sent } => EffectLine::Multicast(MulticastLine {
                id: sent.id,
                to: to.others(sent.id.sender).collect(),
                manner: manner(sent),
                body: sent.body,
            }),
            Done::Save(write) => EffectLine::Save(*write),
            Done::SetTimer { timer, span } => {
                EffectLine::Timer { name: *timer, earliest: span.earliest.nanos(), latest: span.latest.nanos() }
            }
            Done::CancelTimer(timer) => EffectLine::Cancel(*timer),
            Done::Emit(event) => EffectLine::Emit(*event),
            Done::Rule { rule, text: arguments } => {
                text = arguments.to_string();
                EffectLine::Rule { id: *rule, text: text.as_str() }
            }
            Done::Handed { from, parcel } => EffectLine::Handed { from: *from, parcel: *parcel },
        };
        self.json(&line);
    }
}

fn manner<'a>(sent: &Sent<'a>) -> Manner<&'a str> {
    let Sent { kind, class, on_behalf_of, bytes, parcel, .. } = *sent;
    Manner { kind, class, on_behalf_of, bytes, parcel }
}

impl<W: Write, C: Serialize, E: Serialize> Observer<C, E> for Writer<W> {
    const SIZES: bool = true;

    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        match moment {
            Moment::Input { time, now, node, input } => {
                self.close();
                self.text(format_args!("{{\"time\":{},\"node\":{node},", time.nanos()));
                if now != time {
                    self.text(format_args!("\"clock\":{},", now.nanos()));
                }
                self.line.extend_from_slice(b"\"input\":");
                let line = match input {
                    Taken::Start { incarnation, blank } => {
                        InputLine::Start { incarnation: *incarnation, blank: *blank }
                    }
                    Taken::Command(command) => InputLine::Command(*command),
                    Taken::Message { id, kind, wrapped } => {
                        InputLine::Message { id: *id, kind: *kind, wrapped: *wrapped }
                    }
                    Taken::Timer(timer) => InputLine::Timer(*timer),
                    Taken::Saved(count) => InputLine::Saved(*count),
                    Taken::Suspect(node) => InputLine::Suspect(*node),
                    Taken::Trust(node) => InputLine::Trust(*node),
                    Taken::DiskFull => InputLine::DiskFull,
                    Taken::DiskFree => InputLine::DiskFree,
                    Taken::View(view) => InputLine::View((*view).clone()),
                };
                self.json(&line);
                self.line.extend_from_slice(b",\"effects\":[");
                self.open = Open::Step { effects: 0 };
            }
            Moment::Effect { effect, .. } => self.effect(effect),
            Moment::World { time, what } => {
                self.close();
                self.text(format_args!("{{\"time\":{},\"world\":", time.nanos()));
                let line = match what {
                    Happening::Lost { id, to, why } => WorldLine::Lost { id: *id, to: *to, why: *why },
                    Happening::Duplicated { id } => WorldLine::Duplicated { id: *id },
                    Happening::Crashed { node, lost_writes } => {
                        WorldLine::Crashed { node: *node, lost_writes: *lost_writes }
                    }
                    Happening::Paused { node } => WorldLine::Paused { node: *node },
                    Happening::Resumed { node } => WorldLine::Resumed { node: *node },
                    Happening::Changed { text } => WorldLine::Changed(*text),
                };
                self.json(&line);
                self.line.push(b'}');
                self.end_line();
            }
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
