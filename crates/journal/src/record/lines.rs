//! An in-memory buffer of journal lines.

use super::header::Header;
use super::line::{EffectLine, EndLine, InputLine, Metadata, MulticastLine, SendLine, WorldLine};
use crate::moment::{Body, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use crate::workload::Ending;
use quorate_core::{Class, MembershipNote};
use serde::{Serialize, Serializer};
use std::fmt;
use std::io::{self, Write};

/// Buffers the lines of a journal until they are written out.
///
/// A driver of a real process records many steps and then writes all lines to a file at once with
/// [`flush_to`](Self::flush_to). The buffer is reused, so most lines cost no allocation.
#[derive(Default)]
pub struct Lines {
    bytes: Vec<u8>,
    last_line: LastLine,
    /// Whether the journal's format has an end mark.
    has_end_mark: bool,
    /// Number of lines so far, including those already written out.
    count: u64,
    first_error: Option<io::Error>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum LastLine {
    #[default]
    Complete,
    /// A step that may get further effects.
    OpenStep { effect_count: usize },
}

impl Lines {
    /// Starts a journal with its header.
    pub fn new(header: &Header) -> Self {
        let mut lines = Self { has_end_mark: header.has_end_mark(), ..Self::default() };
        lines.write_json(header);
        lines.end_line();
        lines
    }

    /// Number of lines so far, including those already written out.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Completes the line of the last step, which gets no further effects.
    pub fn close(&mut self) {
        if let LastLine::OpenStep { .. } = std::mem::take(&mut self.last_line) {
            self.bytes.extend_from_slice(b"]}");
            self.end_line();
        }
    }

    /// Completes the journal with an end mark that records how the run ended. Writes no end mark if
    /// the format has none.
    pub fn end(&mut self, ending: Option<Ending>) {
        self.close();
        if self.has_end_mark {
            self.write_json(&EndLine { line_count: self.count + 1, ending });
            self.end_line();
        }
    }

    /// Returns the buffered lines. The last one may be incomplete.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Completes the last line, writes all buffered lines at once and clears the buffer.
    ///
    /// After an error the buffer keeps its lines, and the output may end in the middle of one.
    pub fn flush_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.close();
        if let Some(error) = self.first_error.take() {
            return Err(error);
        }
        if !self.bytes.is_empty() {
            out.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Discards all buffered lines.
    pub(super) fn discard(&mut self) {
        self.bytes.clear();
    }

    /// Returns whether all lines are complete.
    pub(super) fn is_closed(&self) -> bool {
        self.last_line == LastLine::Complete
    }

    fn end_line(&mut self) {
        self.bytes.push(b'\n');
        self.count += 1;
    }

    fn write_json(&mut self, value: &impl Serialize) {
        if let Err(error) = serde_json::to_writer(&mut self.bytes, value) {
            self.first_error.get_or_insert(error.into());
        }
    }

    fn write_text(&mut self, text: fmt::Arguments<'_>) {
        // Writing into memory cannot fail.
        let _ = self.bytes.write_fmt(text);
    }

    fn write_effect<E: Serialize>(&mut self, effect: &ObservedEffect<'_, E>) {
        // An effect belongs to the line of a step, so one that follows no step cannot be written.
        let LastLine::OpenStep { effect_count } = &mut self.last_line else { return };
        if *effect_count > 0 {
            self.bytes.push(b',');
        }
        *effect_count += 1;
        let line: EffectLine<Body<'_>, &str, Text<'_>, &E> = match effect {
            ObservedEffect::Send { to, sent } => {
                EffectLine::Send(SendLine { id: sent.id, to: *to, metadata: metadata(sent), body: sent.body })
            }
            ObservedEffect::Multicast { to, sent } => EffectLine::Multicast(MulticastLine {
                id: sent.id,
                to: to.others(sent.id.sender).collect(),
                metadata: metadata(sent),
                body: sent.body,
            }),
            ObservedEffect::Save(write) => EffectLine::Save(*write),
            ObservedEffect::SetTimer { timer, span } => {
                EffectLine::Timer { name: *timer, earliest: span.earliest.nanos(), latest: span.latest.nanos() }
            }
            ObservedEffect::CancelTimer(timer) => EffectLine::Cancel(*timer),
            ObservedEffect::Emit(event) => EffectLine::Emit(*event),
            ObservedEffect::Rule { rule, text } => EffectLine::Rule { id: *rule, text: Text(text) },
            ObservedEffect::Delivered { from, payload_id } => {
                EffectLine::Delivered { from: *from, payload_id: *payload_id }
            }
            ObservedEffect::HoldBack { count, names } => EffectLine::HoldBack { count: *count, names: Text(names) },
            ObservedEffect::Membership(MembershipNote::View(view)) => EffectLine::View((*view).clone()),
            ObservedEffect::Membership(MembershipNote::Lease(until)) => EffectLine::Lease(*until),
        };
        self.write_json(&line);
    }

    fn write_input<C: Serialize>(&mut self, input: &ObservedInput<'_, C>) {
        let line: InputLine<Body<'_>, &str, &C> = match input {
            ObservedInput::Start { incarnation, is_disk_blank } => {
                InputLine::Start { incarnation: *incarnation, is_disk_blank: *is_disk_blank }
            }
            ObservedInput::Command(command) => InputLine::Command(*command),
            ObservedInput::Message { id, kind, is_wrapped, incarnation } => {
                InputLine::Message { id: *id, kind: *kind, is_wrapped: *is_wrapped, incarnation: *incarnation }
            }
            ObservedInput::Timer(timer) => InputLine::Timer(*timer),
            ObservedInput::Saved(count) => InputLine::Saved(*count),
            ObservedInput::Suspect(node) => InputLine::Suspect(*node),
            ObservedInput::Trust(node) => InputLine::Trust(*node),
            ObservedInput::DiskFull => InputLine::DiskFull,
            ObservedInput::DiskFree => InputLine::DiskFree,
            ObservedInput::View(view) => InputLine::View((*view).clone()),
            ObservedInput::Lease(until) => InputLine::Lease(*until),
            ObservedInput::EndOfTurn => InputLine::EndOfTurn,
        };
        self.write_json(&line);
    }

    fn write_world_event(&mut self, event: &WorldEvent<'_>) {
        let line = match event {
            WorldEvent::Lost { id, to, cause } => WorldLine::Lost { id: *id, to: *to, cause: *cause },
            WorldEvent::Duplicated { id } => WorldLine::Duplicated { id: *id },
            WorldEvent::Crashed { node, lost_writes } => WorldLine::Crashed { node: *node, lost_writes: *lost_writes },
            WorldEvent::Ended { node } => WorldLine::Ended { node: *node },
            WorldEvent::Paused { node } => WorldLine::Paused { node: *node },
            WorldEvent::Resumed { node } => WorldLine::Resumed { node: *node },
            WorldEvent::Changed { text } => WorldLine::Changed(*text),
        };
        self.write_json(&line);
    }
}

fn metadata<'a>(sent: &Sent<'a>) -> Metadata<&'a str, Text<'a>> {
    let Sent { kind, label, class, on_behalf_of, bytes, payload_id, is_retransmission, .. } = *sent;
    let is_first_transmission = class == Class::Control && payload_id.is_some() && !is_retransmission;
    Metadata { kind, label: label.map(Text), class, on_behalf_of, bytes, payload_id, is_first_transmission }
}

/// A text that is formatted while it is serialized.
struct Text<'a>(&'a dyn fmt::Display);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

impl<C: Serialize, E: Serialize> Observer<C, E> for Lines {
    fn reads_sizes(&self) -> bool {
        true
    }

    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        match moment {
            Moment::Input { time, now, node, input } => {
                self.close();
                self.write_text(format_args!("{{\"time\":{},\"node\":{node},", time.nanos()));
                if now != time {
                    self.write_text(format_args!("\"clock\":{},", now.nanos()));
                }
                self.bytes.extend_from_slice(b"\"input\":");
                self.write_input(input);
                self.bytes.extend_from_slice(b",\"effects\":[");
                self.last_line = LastLine::OpenStep { effect_count: 0 };
            }
            Moment::Effect { effect, .. } => self.write_effect(effect),
            Moment::World { time, event } => {
                self.close();
                self.write_text(format_args!("{{\"time\":{},\"world\":", time.nanos()));
                self.write_world_event(event);
                self.bytes.push(b'}');
                self.end_line();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use crate::record::{Fingerprint, Journal, Writer};
    use serde_json::Value;

    const JOURNAL: &str = concat!(
        r#"{"journal":2,"algorithm":"a","family":"f","nodes":2,"seed":7,"run":null}"#,
        "\n",
        r#"{"time":0,"node":1,"input":{"start":{"incarnation":0}},"effects":[{"rule":{"id":"A-1","text":"\"→"}}]}"#,
        "\n",
        r#"{"time":5,"node":1,"clock":3,"input":{"message":{"id":"2.4","kind":"k","life":2}},"effects":[{"save":1}]}"#,
        "\n",
        r#"{"time":6,"world":{"ended":{"node":1}}}"#,
        "\n",
        r#"{"end":5}"#,
        "\n",
    );

    #[test]
    fn a_flush_writes_each_line_once() {
        let mut journal = Journal::open(JOURNAL.as_bytes()).unwrap();
        let mut lines = Lines::new(journal.header());
        let (mut out, mut length_after_flush) = (Vec::new(), None);
        while journal.show::<Value, Value>(&mut lines).unwrap() {
            // The step of line 3 may still get effects; a flush completes it.
            if journal.line() == 3 {
                lines.flush_to(&mut out).unwrap();
                length_after_flush = Some(out.len());
            }
        }
        lines.end(None);
        lines.flush_to(&mut out).unwrap();
        lines.flush_to(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), JOURNAL);
        assert_eq!(length_after_flush, JOURNAL.find("{\"time\":6"));
        assert_eq!(lines.count(), 5);
    }

    #[test]
    fn a_writer_writes_the_same_bytes_and_hashes_them() {
        let mut journal = Journal::open(JOURNAL.as_bytes()).unwrap();
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, journal.header());
        journal.show_all::<Value, Value>(&mut writer).unwrap();
        let mut hash = Fingerprint::default();
        hash.add(JOURNAL.as_bytes());
        assert_eq!(writer.finish().unwrap(), (hash, 5));
        assert_eq!(String::from_utf8(out).unwrap(), JOURNAL);
    }

    #[test]
    fn a_failed_flush_keeps_its_lines() {
        let journal = Journal::open(JOURNAL.as_bytes()).unwrap();
        let mut lines = Lines::new(journal.header());
        let mut too_small: &mut [u8] = &mut [0; 9];
        assert!(lines.flush_to(&mut too_small).is_err());
        assert!(!lines.bytes().is_empty());
    }
}
