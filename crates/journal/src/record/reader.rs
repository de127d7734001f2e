//! Reads a journal line by line and shows its moments to observers.

use super::header::{FORMAT, Header};
use super::line::{EffectLine, EndLine, InputLine, Metadata, WorldLine};
use crate::moment::{Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use crate::words;
use crate::workload::Ending;
use quorate_core::MembershipNote;
use quorate_core::{Class, Duration, NodeId, Span, Time};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::fmt::Display;
use std::io::{BufRead, Read};

/// Why a journal cannot be read. The lines shown before the error are valid.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("the journal is empty: it has no header line.")]
    Empty,
    #[error("this is not a journal: its first line is not a header ({0}). The option --trace FILE writes journals.")]
    NoHeader(String),
    #[error("the journal has format {found}, but this program reads formats up to {FORMAT}. Use a newer quorate.")]
    TooNew { found: u32 },
    #[error("line {line} of the journal is malformed: {reason}. All lines before it are valid.")]
    Malformed { line: u64, reason: String },
    #[error(
        "line {line} of the journal is malformed: the file is truncated in the middle of this line. All lines before it \
         are valid."
    )]
    Torn { line: u64 },
    #[error(
        "the journal is truncated after line {line}: its end mark is missing. Either the file was cut off, or the program \
         that wrote it was killed. All lines are valid, but the rest of the run is unknown. Record the run again, or copy \
         the file again."
    )]
    NoEnd { line: u64 },
    #[error("cannot read the journal: {0}.")]
    Io(#[from] std::io::Error),
}

/// A reader of a journal.
pub struct Journal<R> {
    input: R,
    header: Header,
    /// The number of the line read last.
    line: u64,
    /// The text of the line read last.
    buffer: String,
    /// The end mark, if it was read.
    end_mark: Option<EndLine>,
}

/// A value as its text in the journal, so that writing it again gives the same bytes.
pub(super) type RawJson = Box<RawValue>;

pub(super) enum Entry<C, E> {
    Step(Step<C, E>),
    World { time: Time, event: WorldLine<String> },
}

pub(super) struct Step<C, E> {
    pub(super) time: Time,
    /// The reading of the node's own clock.
    pub(super) now: Time,
    pub(super) node: NodeId,
    pub(super) input: InputLine<RawJson, String, C>,
    pub(super) effects: Vec<EffectLine<RawJson, String, String, E>>,
}

impl<C, E> Entry<C, E> {
    pub(super) fn show(&self, observer: &mut impl Observer<C, E>) {
        match self {
            Self::Step(Step { time, now, node, input, effects }) => {
                show_input(*time, *now, *node, input, observer);
                for effect in effects {
                    show_effect(*time, *node, effect, observer);
                }
            }
            Self::World { time, event } => show_world(*time, event, observer),
        }
    }
}

/// A line before it is known to be a valid step or world event.
#[derive(Deserialize)]
#[serde(bound(deserialize = "C: DeserializeOwned, E: DeserializeOwned"))]
struct UncheckedLine<C, E> {
    time: i64,
    node: Option<NodeId>,
    clock: Option<i64>,
    input: Option<InputLine<RawJson, String, C>>,
    effects: Option<Vec<EffectLine<RawJson, String, String, E>>>,
    world: Option<WorldLine<String>>,
}

impl<R: BufRead> Journal<R> {
    /// Opens a journal and reads its header.
    pub fn open(mut input: R) -> Result<Self, JournalError> {
        let mut buffer = String::new();
        if read_line(&mut input, &mut buffer, 1)? == 0 {
            return Err(JournalError::Empty);
        }
        // The version alone: the header of a newer format may have other fields.
        #[derive(Deserialize)]
        struct Format {
            journal: u32,
        }
        let format: Format =
            serde_json::from_str(&buffer).map_err(|error| JournalError::NoHeader(parser_message(&error)))?;
        if format.journal > FORMAT {
            return Err(JournalError::TooNew { found: format.journal });
        }
        let header = serde_json::from_str(&buffer).map_err(|error| JournalError::NoHeader(parser_message(&error)))?;
        Ok(Self { input, header, line: 1, buffer, end_mark: None })
    }

    /// Returns the journal's first line, which describes the run.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the text of the line read last, without its newline.
    pub fn text(&self) -> &str {
        self.buffer.trim_end_matches('\n')
    }

    /// Returns the number of the line read last. The header is line 1; the end mark is the last
    /// line.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns how the run ended, if the end mark was read and records it.
    pub fn ending(&self) -> Option<Ending> {
        self.end_mark.as_ref().and_then(|mark| mark.ending)
    }

    /// Shows the moments of the next line to an observer. Returns false at the end of the journal.
    pub fn show<C, E>(&mut self, observer: &mut impl Observer<C, E>) -> Result<bool, JournalError>
    where
        C: DeserializeOwned,
        E: DeserializeOwned,
    {
        let entry = self.next::<C, E>()?;
        if let Some(entry) = &entry {
            entry.show(observer);
        }
        Ok(entry.is_some())
    }

    /// Reads the next line. Returns `None` at the end of the journal.
    pub(super) fn next<C, E>(&mut self) -> Result<Option<Entry<C, E>>, JournalError>
    where
        C: DeserializeOwned,
        E: DeserializeOwned,
    {
        if self.end_mark.is_some() {
            return Ok(None);
        }
        self.buffer.clear();
        if read_line(&mut self.input, &mut self.buffer, self.line + 1)? == 0 {
            let is_truncated = self.header.needs_end_mark();
            return if is_truncated { Err(JournalError::NoEnd { line: self.line }) } else { Ok(None) };
        }
        self.line += 1;
        if self.header.has_end_mark() && EndLine::is_end_mark(&self.buffer) {
            self.end_mark = Some(self.parse_end_mark()?);
            return Ok(None);
        }
        let malformed = |reason: String| JournalError::Malformed { line: self.line, reason };
        if self.buffer.trim().is_empty() {
            return Err(malformed("it is blank".into()));
        }
        let line: UncheckedLine<C, E> =
            serde_json::from_str(&self.buffer).map_err(|error| malformed(parser_message_within_line(&error)))?;
        let time = Time::from_nanos(line.time);
        match (line.world, line.node, line.input) {
            (Some(event), None, None) => {
                self.check_node(node_of(&event))?;
                Ok(Some(Entry::World { time, event }))
            }
            (None, Some(node), Some(input)) => {
                self.check_node(Some(node))?;
                let now = Time::from_nanos(line.clock.unwrap_or(line.time));
                let effects = line.effects.unwrap_or_default();
                Ok(Some(Entry::Step(Step { time, now, node, input, effects })))
            }
            (_, _, _) => Err(malformed("it is neither a step of a node nor a world event".into())),
        }
    }

    /// Shows all remaining lines to an observer.
    pub fn show_all<C, E>(&mut self, observer: &mut impl Observer<C, E>) -> Result<(), JournalError>
    where
        C: DeserializeOwned,
        E: DeserializeOwned,
    {
        while self.show(observer)? {}
        Ok(())
    }

    /// Parses the end mark, and checks that it has the right line number and is the last line.
    fn parse_end_mark(&mut self) -> Result<EndLine, JournalError> {
        let malformed = |line: u64, reason: String| JournalError::Malformed { line, reason };
        let mark: EndLine = serde_json::from_str(&self.buffer)
            .map_err(|error| malformed(self.line, parser_message_within_line(&error)))?;
        if mark.line_count != self.line {
            let end = mark.line_count;
            let reason =
                format!("it is the end mark of a journal with {end} lines, so lines were removed or added before it");
            return Err(malformed(self.line, reason));
        }
        if self.input.fill_buf()?.is_empty() {
            return Ok(mark);
        }
        Err(malformed(self.line + 1, "it follows the end mark, which must be the last line".into()))
    }

    fn check_node(&self, node: Option<NodeId>) -> Result<(), JournalError> {
        let missing = node.filter(|node| node.index() >= self.header.nodes);
        missing.map_or(Ok(()), |node| {
            let reason = format!("it names node {node}, but the header declares {} nodes", self.header.nodes);
            Err(JournalError::Malformed { line: self.line, reason })
        })
    }
}

/// Returns the parser's message without the line number, which is always 1: the parser sees a
/// single line.
fn parser_message_within_line(error: &serde_json::Error) -> String {
    parser_message(error).replace(" at line 1 column ", " at column ")
}

/// Maximum length of a parser's message in characters, without its position.
const MAX_REASON_CHARS: usize = 300;

/// Returns the parser's message, escaped and shortened: it may quote arbitrary input.
fn parser_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = words::escape_controls(&text);
    match text.char_indices().nth(MAX_REASON_CHARS) {
        // Keep the position, which comes last.
        Some((end, _)) => {
            let position = text.rfind(" at line ").map_or("", |start| &text[start.max(end)..]);
            format!("{}…{position}", &text[..end])
        }
        None => text.into_owned(),
    }
}

/// Maximum length of a line in bytes; a file with a longer line is not a journal.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Reads a line. Returns [`JournalError::Torn`] if the last line has no newline, because the file
/// was truncated while the line was written.
fn read_line(input: &mut impl BufRead, buffer: &mut String, line: u64) -> Result<usize, JournalError> {
    let malformed = |reason: &str| JournalError::Malformed { line, reason: reason.into() };
    let mut bytes = std::mem::take(buffer).into_bytes();
    let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if read as u64 == MAX_LINE_BYTES {
        return Err(malformed("it is longer than 64 MiB"));
    }
    let is_torn = read > 0 && !bytes.ends_with(b"\n");
    match String::from_utf8(bytes) {
        Ok(text) => *buffer = text,
        // The line may be truncated in the middle of a multi-byte character.
        Err(error) if is_torn && error.utf8_error().error_len().is_none() => {}
        Err(_) => return Err(malformed("it is not valid UTF-8")),
    }
    if is_torn { Err(JournalError::Torn { line }) } else { Ok(read) }
}

/// Returns the node that a world event is about. The header must declare it; receivers of messages
/// are not checked.
fn node_of(event: &WorldLine<String>) -> Option<NodeId> {
    match event {
        WorldLine::Lost { id, .. } | WorldLine::Duplicated { id } => Some(id.sender),
        WorldLine::Crashed { node, .. }
        | WorldLine::Ended { node }
        | WorldLine::Paused { node }
        | WorldLine::Resumed { node } => Some(*node),
        WorldLine::Changed(_) => None,
    }
}

fn show_world<C, E>(time: Time, event: &WorldLine<String>, observer: &mut impl Observer<C, E>) {
    let event = match event {
        WorldLine::Lost { id, to, cause } => WorldEvent::Lost { id: *id, to: *to, cause: *cause },
        WorldLine::Duplicated { id } => WorldEvent::Duplicated { id: *id },
        WorldLine::Crashed { node, lost_writes } => WorldEvent::Crashed { node: *node, lost_writes: *lost_writes },
        WorldLine::Ended { node } => WorldEvent::Ended { node: *node },
        WorldLine::Paused { node } => WorldEvent::Paused { node: *node },
        WorldLine::Resumed { node } => WorldEvent::Resumed { node: *node },
        WorldLine::Changed(text) => WorldEvent::Changed { text },
    };
    observer.observe(&Moment::World { time, event });
}

fn show_input<C, E>(
    time: Time,
    now: Time,
    node: NodeId,
    input: &InputLine<RawJson, String, C>,
    observer: &mut impl Observer<C, E>,
) {
    let input = match input {
        InputLine::Start { incarnation, is_disk_blank } => {
            ObservedInput::Start { incarnation: *incarnation, is_disk_blank: *is_disk_blank }
        }
        InputLine::Command(command) => ObservedInput::Command(command),
        InputLine::Message { id, kind, is_wrapped, incarnation } => {
            ObservedInput::Message { id: *id, kind, is_wrapped: *is_wrapped, incarnation: *incarnation }
        }
        InputLine::Timer(timer) => ObservedInput::Timer(timer),
        InputLine::Saved(count) => ObservedInput::Saved(*count),
        InputLine::Suspect(node) => ObservedInput::Suspect(*node),
        InputLine::Trust(node) => ObservedInput::Trust(*node),
        InputLine::DiskFull => ObservedInput::DiskFull,
        InputLine::DiskFree => ObservedInput::DiskFree,
        InputLine::View(view) => ObservedInput::View(view),
        InputLine::Lease(until) => ObservedInput::Lease(*until),
        InputLine::EndOfTurn => ObservedInput::EndOfTurn,
    };
    observer.observe(&Moment::Input { time, now, node, input });
}

fn show_effect<C, E>(
    time: Time,
    node: NodeId,
    effect: &EffectLine<RawJson, String, String, E>,
    observer: &mut impl Observer<C, E>,
) {
    let mut show = |effect: ObservedEffect<'_, E>| observer.observe(&Moment::Effect { time, node, effect });
    match effect {
        EffectLine::Send(line) => {
            show(ObservedEffect::Send { to: line.to, sent: to_sent(line.id, &line.metadata, &line.body) });
        }
        EffectLine::Multicast(line) => {
            show(ObservedEffect::Multicast { to: &line.to, sent: to_sent(line.id, &line.metadata, &line.body) });
        }
        EffectLine::Save(write) => show(ObservedEffect::Save(write)),
        EffectLine::Timer { name, earliest, latest } => {
            let span = Span { earliest: Duration::from_nanos(*earliest), latest: Duration::from_nanos(*latest) };
            show(ObservedEffect::SetTimer { timer: name, span });
        }
        EffectLine::Cancel(timer) => show(ObservedEffect::CancelTimer(timer)),
        EffectLine::Emit(event) => show(ObservedEffect::Emit(event)),
        EffectLine::Rule { id, text } => show(ObservedEffect::Rule { rule: id, text: format_args!("{text}") }),
        EffectLine::Delivered { from, payload_id } => {
            show(ObservedEffect::Delivered { from: *from, payload_id: *payload_id });
        }
        EffectLine::HoldBack { count, names } => {
            show(ObservedEffect::HoldBack { count: *count, names: format_args!("{names}") });
        }
        EffectLine::View(view) => show(ObservedEffect::Membership(MembershipNote::View(view))),
        EffectLine::Lease(until) => show(ObservedEffect::Membership(MembershipNote::Lease(*until))),
    }
}

fn to_sent<'a>(id: crate::moment::MessageId, metadata: &'a Metadata<String, String>, body: &'a RawJson) -> Sent<'a> {
    Sent {
        id,
        kind: &metadata.kind,
        label: metadata.label.as_ref().map(|label| label as &dyn Display),
        class: metadata.class,
        on_behalf_of: metadata.on_behalf_of,
        bytes: metadata.bytes,
        payload_id: metadata.payload_id,
        is_retransmission: metadata.class == Class::Control
            && metadata.payload_id.is_some()
            && !metadata.is_first_transmission,
        body,
    }
}
