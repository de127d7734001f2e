//! The first reading of a live journal, which checks the journal and collects what the merge must
//! know in advance. The journal's writer is one incarnation of a node, or the parent process that
//! injected faults.

use super::Source;
use super::error::GatherError;
use crate::moment::MessageId;
use crate::record::line::{EffectLine, InputLine, WorldLine};
use crate::record::reader::{Entry, RawJson, Step};
use crate::record::{Header, Journal, JournalError, LiveHeader};
use crate::workload::Ending;
use quorate_core::{Group, Incarnation, NodeId, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;
use std::io::{BufRead, Read};

/// A journal of one process.
pub(super) type LiveJournal<'a> = Journal<Box<dyn BufRead + 'a>>;
/// A line of a live journal, whose commands, events and bodies are kept as text.
pub(super) type LiveEntry = Entry<RawJson, RawJson>;
pub(super) type LiveStep = Step<RawJson, RawJson>;

/// One journal after its first reading.
pub(super) struct Survey {
    /// Index of its file.
    pub(super) source_index: usize,
    pub(super) file: String,
    /// Whether the file is empty or its last line is truncated.
    pub(super) is_torn: bool,
    pub(super) content: SurveyContent,
}

pub(super) enum SurveyContent {
    /// No complete header: the process was killed before it wrote one.
    NoHeader,
    Incarnation(Box<IncarnationSurvey>),
    /// The faults that the parent process injected.
    World(Box<WorldSurvey>),
}

pub(super) struct WorldSurvey {
    pub(super) header: Header,
    pub(super) live: LiveHeader,
    pub(super) faults: Vec<InjectedFault>,
    /// How the run ended, if the parent process recorded it.
    pub(super) ending: Option<Ending>,
}

/// A fault that the parent process injected, with its time by the journal's clock.
pub(super) struct InjectedFault {
    pub(super) time: Time,
    pub(super) event: WorldLine<String>,
}

pub(super) struct IncarnationSurvey {
    pub(super) header: Header,
    pub(super) live: LiveHeader,
    pub(super) node: NodeId,
    /// The number of the last complete line.
    pub(super) last_line: u64,
    /// When it started, by the journal's clock, and whether its disk was empty although the node
    /// had saved before. `None` if it never started.
    pub(super) start: Option<(Time, bool)>,
    pub(super) shut_down_cleanly: bool,
    pub(super) sent_messages: u64,
    /// Number of writes issued.
    pub(super) issued_writes: u64,
    /// Number of writes confirmed by the disk.
    pub(super) confirmed_writes: u64,
    /// The messages received from each incarnation of each node.
    pub(super) received: BTreeMap<(NodeId, Incarnation), ReceiptRange>,
}

/// The first and the last message that one incarnation received from another. The numbers increase.
pub(super) struct ReceiptRange {
    pub(super) first: Receipt,
    pub(super) last: Receipt,
}

#[derive(Clone, Copy)]
pub(super) struct Receipt {
    /// The message's number within the sender's incarnation.
    pub(super) number: u64,
    /// The line of the receiver's journal.
    pub(super) line: u64,
}

/// Opens a journal and reads its header.
pub(super) fn open<S: Source>(source: &S) -> Result<LiveJournal<'_>, GatherError> {
    let reader = source.open().map_err(|error| GatherError::Open { file: source.name(), error })?;
    Journal::open(reader).map_err(|error| GatherError::Journal { file: source.name(), error })
}

/// Reads a whole journal. Fails if one of its lines is invalid, but not if the last line is
/// truncated.
pub(super) fn survey<S: Source>((source_index, source): (usize, &S)) -> Result<Survey, GatherError> {
    let file = source.name();
    let mut journal = match open(source) {
        Ok(journal) => journal,
        Err(GatherError::Journal { error: JournalError::Empty | JournalError::Torn { line: 1 }, .. })
            if begins_as_journal(source) =>
        {
            return Ok(Survey { source_index, file, is_torn: true, content: SurveyContent::NoHeader });
        }
        Err(error) => return Err(error),
    };
    let header = journal.header().clone();
    let Some(live) = header.live.clone() else { return Err(GatherError::NotLive { file }) };
    let mut content = match live.node {
        Some(node) => SurveyContent::Incarnation(Box::new(IncarnationSurvey::new(&file, header, live, node)?)),
        None => SurveyContent::World(Box::new(WorldSurvey { header, live, faults: Vec::new(), ending: None })),
    };
    let is_torn = loop {
        match journal.next() {
            Ok(None) => break false,
            Err(JournalError::Torn { .. }) => break true,
            Err(error) => return Err(GatherError::Journal { file, error }),
            Ok(Some(entry)) => {
                let line = journal.line();
                content.add(line, entry).map_err(|reason| GatherError::InvalidLine {
                    file: file.clone(),
                    line,
                    reason,
                })?;
            }
        }
    };
    if let SurveyContent::World(world) = &mut content {
        world.ending = journal.ending();
    }
    Ok(Survey { source_index, file, is_torn, content })
}

/// Returns whether a file without a complete header is empty or begins like a journal.
fn begins_as_journal<S: Source>(source: &S) -> bool {
    const BEGINNING: &[u8] = b"{\"journal\":";
    let mut bytes = Vec::new();
    let read = source.open().and_then(|reader| reader.take(BEGINNING.len() as u64).read_to_end(&mut bytes));
    read.is_ok() && BEGINNING.starts_with(&bytes)
}

impl SurveyContent {
    fn add(&mut self, line: u64, entry: LiveEntry) -> Result<(), String> {
        match (self, entry) {
            (Self::NoHeader, _) => Ok(()),
            (Self::Incarnation(survey), Entry::Step(step)) => survey.add_step(line, &step),
            (Self::Incarnation(survey), Entry::World { event, .. }) => survey.add_world_event(line, &event),
            (Self::World(world), Entry::World { time, event }) => match event {
                WorldLine::Crashed { .. }
                | WorldLine::Paused { .. }
                | WorldLine::Resumed { .. }
                | WorldLine::Changed(_) => {
                    world.faults.push(InjectedFault { time, event });
                    Ok(())
                }
                WorldLine::Lost { .. } | WorldLine::Duplicated { .. } | WorldLine::Ended { .. } => {
                    Err("the parent process cannot record the fate of messages or the end of a node".into())
                }
            },
            (Self::World(_), Entry::Step(_)) => {
                Err("the journal is one of world events only, but here a node takes a step".into())
            }
        }
    }
}

impl IncarnationSurvey {
    fn new(file: &str, header: Header, live: LiveHeader, node: NodeId) -> Result<Self, GatherError> {
        if node.index() >= header.nodes {
            let reason = format!("the journal is one of node {node}, but declares {} nodes", header.nodes);
            return Err(GatherError::InvalidLine { file: file.to_owned(), line: 1, reason });
        }
        Ok(Self {
            header,
            live,
            node,
            last_line: 1,
            start: None,
            shut_down_cleanly: false,
            sent_messages: 0,
            issued_writes: 0,
            confirmed_writes: 0,
            received: BTreeMap::new(),
        })
    }

    fn add_step(&mut self, line: u64, step: &LiveStep) -> Result<(), String> {
        self.record_line(line)?;
        if step.node != self.node {
            return Err(format!("node {} takes a step, but the journal is one of node {}", step.node, self.node));
        }
        self.record_input(line, step)?;
        for effect in &step.effects {
            match effect {
                EffectLine::Send(send) => self.record_sends(send.id, 1)?,
                EffectLine::Multicast(multicast) => {
                    self.record_sends(multicast.id, count_receivers(&multicast.to, self.node))?;
                }
                EffectLine::Save(_) => self.issued_writes += 1,
                EffectLine::Timer { .. }
                | EffectLine::Cancel(_)
                | EffectLine::Emit(_)
                | EffectLine::Rule { .. }
                | EffectLine::Delivered { .. }
                | EffectLine::HoldBack { .. }
                | EffectLine::View(_)
                | EffectLine::Lease(_) => {}
            }
        }
        Ok(())
    }

    fn record_input(&mut self, line: u64, step: &LiveStep) -> Result<(), String> {
        match (&step.input, self.start) {
            (InputLine::Start { incarnation, is_disk_blank }, None) if *incarnation == self.live.incarnation => {
                self.start = Some((step.time, *is_disk_blank));
            }
            (InputLine::Start { incarnation, .. }, _) => {
                let expected = self.live.incarnation;
                return Err(format!(
                    "incarnation {incarnation} starts, but the journal is one of incarnation {expected}, which starts once"
                ));
            }
            (_, None) => return Err("the node takes a step before it starts".into()),
            (InputLine::Message { id, incarnation, .. }, Some(_)) => self.record_receipt(line, *id, *incarnation)?,
            (InputLine::Saved(count), Some(_)) => self.confirmed_writes = self.confirmed_writes.max(*count),
            (_, Some(_)) => {}
        }
        Ok(())
    }

    /// Records a received message, and checks that links keep the order of messages and repeat
    /// none.
    fn record_receipt(&mut self, line: u64, id: MessageId, incarnation: Incarnation) -> Result<(), String> {
        let receipt = Receipt { number: id.number, line };
        match self.received.entry((id.sender, incarnation)) {
            MapEntry::Vacant(entry) => {
                entry.insert(ReceiptRange { first: receipt, last: receipt });
            }
            MapEntry::Occupied(mut entry) => {
                let last = std::mem::replace(&mut entry.get_mut().last, receipt);
                if receipt.number <= last.number {
                    return Err(describe_order_violation(id, incarnation, last, "on"));
                }
            }
        }
        Ok(())
    }

    fn add_world_event(&mut self, line: u64, event: &WorldLine<String>) -> Result<(), String> {
        self.record_line(line)?;
        match event {
            WorldLine::Ended { node } if *node == self.node => self.shut_down_cleanly = true,
            // The merge copies it to the result.
            WorldLine::Changed(_) => {}
            WorldLine::Ended { .. }
            | WorldLine::Lost { .. }
            | WorldLine::Duplicated { .. }
            | WorldLine::Crashed { .. }
            | WorldLine::Paused { .. }
            | WorldLine::Resumed { .. } => return Err("a node cannot record this event about itself".into()),
        }
        Ok(())
    }

    /// Records that this line was read, and checks that the node had not shut down before.
    fn record_line(&mut self, line: u64) -> Result<(), String> {
        self.last_line = line;
        if self.shut_down_cleanly { Err("the node shut down on the line before".into()) } else { Ok(()) }
    }

    /// Records sent messages, and checks that they are numbered from 1 in sending order.
    fn record_sends(&mut self, id: MessageId, messages: u64) -> Result<(), String> {
        let expected = MessageId { sender: self.node, number: self.sent_messages + 1 };
        if id != expected {
            return Err(format!("message {id} is sent, but the next number of this incarnation is {expected}"));
        }
        self.sent_messages += messages;
        Ok(())
    }
}

/// Returns the reason for rejecting a message that arrives twice, or after a message that was sent
/// later. `location` introduces the line number of the earlier receipt: `on` or `in FILE,`.
pub(super) fn describe_order_violation(
    id: MessageId,
    incarnation: Incarnation,
    last: Receipt,
    location: &str,
) -> String {
    let (sender, line) = (id.sender, last.line);
    let after = if id.number == last.number {
        "a second time; it first arrived".into()
    } else {
        format!("after {sender}.{}, which was sent later and arrived", last.number)
    };
    format!(
        "message {id} of incarnation {incarnation} arrives {after} {location} line {line}; links keep the order of messages \
         and repeat none"
    )
}

pub(super) fn count_receivers(to: &Group, sender: NodeId) -> u64 {
    to.others(sender).count() as u64
}
