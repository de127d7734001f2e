//! The first reading of a journal: whose life it is, how it begins and ends, and what it heard from whom.

use super::Source;
use super::error::GatherError;
use crate::moment::MessageId;
use crate::record::line::{EffectLine, InputLine, WorldLine};
use crate::record::reader::{Entry, Raw, Step};
use crate::record::{Header, Journal, JournalError, Live};
use crate::workload::Ending;
use quorate_core::{Group, Incarnation, NodeId, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Entries;
use std::io::{BufRead, Read};

/// A journal as it is read here: of commands, events and bodies only the text counts.
pub(super) type Lines<'a> = Journal<Box<dyn BufRead + 'a>>;
pub(super) type LiveEntry = Entry<Raw, Raw>;
pub(super) type LiveStep = Step<Raw, Raw>;

/// One journal after its first reading.
pub(super) struct Survey {
    /// Which of the files it is.
    pub(super) part: usize,
    pub(super) file: String,
    pub(super) torn: bool,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Not even a header: whoever began it was stopped at once.
    Nothing,
    Life(Box<LifeSurvey>),
    /// What was done to the nodes.
    World(Box<WorldSurvey>),
}

pub(super) struct WorldSurvey {
    pub(super) header: Header,
    pub(super) live: Live,
    pub(super) acts: Vec<Act>,
    /// How the run ended, if the parent came to its end.
    pub(super) ending: Option<Ending>,
}

/// What was done to the nodes, by the clock of its journal.
pub(super) struct Act {
    pub(super) time: Time,
    pub(super) what: WorldLine<String>,
}

pub(super) struct LifeSurvey {
    pub(super) header: Header,
    pub(super) live: Live,
    pub(super) node: NodeId,
    /// The number of the last whole line.
    pub(super) lines: u64,
    /// When it started, by its own clock, and whether its disk was empty; nothing if it never did.
    pub(super) start: Option<(Time, bool)>,
    pub(super) ended: bool,
    pub(super) sent: u64,
    /// How many writes it saved, and how many of these it knew to be durable.
    pub(super) saves: u64,
    pub(super) durable: u64,
    /// What it heard from each life of each node.
    pub(super) heard: BTreeMap<(NodeId, Incarnation), Heard>,
}

/// The messages that one life heard from another one: their numbers grow.
pub(super) struct Heard {
    pub(super) first: Receipt,
    pub(super) last: Receipt,
}

#[derive(Clone, Copy)]
pub(super) struct Receipt {
    /// Its number in its sender's life.
    pub(super) number: u64,
    pub(super) line: u64,
}

pub(super) fn open<S: Source>(source: &S) -> Result<Lines<'_>, GatherError> {
    let reader = source.open().map_err(|error| GatherError::Open { file: source.name(), error })?;
    Journal::open(reader).map_err(|error| GatherError::Journal { file: source.name(), error })
}

pub(super) fn survey<S: Source>((part, source): (usize, &S)) -> Result<Survey, GatherError> {
    let file = source.name();
    let mut journal = match open(source) {
        Ok(journal) => journal,
        Err(GatherError::Journal { error: JournalError::Empty | JournalError::Torn { line: 1 }, .. })
            if begins_as_journal(source) =>
        {
            return Ok(Survey { part, file, torn: true, content: Content::Nothing });
        }
        Err(error) => return Err(error),
    };
    let header = journal.header().clone();
    let Some(live) = header.live.clone() else { return Err(GatherError::NotLive { file }) };
    let mut content = match live.node {
        Some(node) => Content::Life(Box::new(LifeSurvey::new(&file, header, live, node)?)),
        None => Content::World(Box::new(WorldSurvey { header, live, acts: Vec::new(), ending: None })),
    };
    let torn = loop {
        match journal.next() {
            Ok(None) => break false,
            Err(JournalError::Torn { .. }) => break true,
            Err(error) => return Err(GatherError::Journal { file, error }),
            Ok(Some(entry)) => {
                let line = journal.line();
                content.add(line, entry).map_err(|reason| GatherError::Line { file: file.clone(), line, reason })?;
            }
        }
    };
    if let Content::World(world) = &mut content {
        world.ending = journal.ending();
    }
    Ok(Survey { part, file, torn, content })
}

/// Whether what little there is of a file could become a journal.
fn begins_as_journal<S: Source>(source: &S) -> bool {
    const BEGINNING: &[u8] = b"{\"journal\":";
    let mut bytes = Vec::new();
    let read = source.open().and_then(|reader| reader.take(BEGINNING.len() as u64).read_to_end(&mut bytes));
    read.is_ok() && BEGINNING.starts_with(&bytes)
}

impl Content {
    fn add(&mut self, line: u64, entry: LiveEntry) -> Result<(), String> {
        match (self, entry) {
            (Self::Nothing, _) => Ok(()),
            (Self::Life(life), Entry::Step(step)) => life.step(line, &step),
            (Self::Life(life), Entry::World { what, .. }) => life.world(line, &what),
            (Self::World(world), Entry::World { time, what }) => match what {
                WorldLine::Crashed { .. }
                | WorldLine::Paused { .. }
                | WorldLine::Resumed { .. }
                | WorldLine::Changed(_) => {
                    world.acts.push(Act { time, what });
                    Ok(())
                }
                WorldLine::Lost { .. } | WorldLine::Duplicated { .. } | WorldLine::Ended { .. } => {
                    Err("what becomes of messages, and that a node ended, only the nodes' own journals can tell".into())
                }
            },
            (Self::World(_), Entry::Step(_)) => {
                Err("this journal says that it is of the world alone, but here a node takes a step".into())
            }
        }
    }
}

impl LifeSurvey {
    fn new(file: &str, header: Header, live: Live, node: NodeId) -> Result<Self, GatherError> {
        if node.index() >= header.nodes {
            let reason = format!("it is of node {node}, but says there are {} nodes", header.nodes);
            return Err(GatherError::Line { file: file.to_owned(), line: 1, reason });
        }
        Ok(Self {
            header,
            live,
            node,
            lines: 1,
            start: None,
            ended: false,
            sent: 0,
            saves: 0,
            durable: 0,
            heard: BTreeMap::new(),
        })
    }

    fn step(&mut self, line: u64, step: &LiveStep) -> Result<(), String> {
        self.goes_on(line)?;
        if step.node != self.node {
            return Err(format!("here node {} takes a step, but the journal is of node {}", step.node, self.node));
        }
        self.input(line, step)?;
        for effect in &step.effects {
            match effect {
                EffectLine::Send(send) => self.sends(send.id, 1)?,
                EffectLine::Multicast(multicast) => self.sends(multicast.id, receivers(&multicast.to, self.node))?,
                EffectLine::Save(_) => self.saves += 1,
                EffectLine::Timer { .. }
                | EffectLine::Cancel(_)
                | EffectLine::Emit(_)
                | EffectLine::Rule { .. }
                | EffectLine::Handed { .. }
                | EffectLine::Waiting { .. }
                | EffectLine::View(_)
                | EffectLine::Lease(_) => {}
            }
        }
        Ok(())
    }

    fn input(&mut self, line: u64, step: &LiveStep) -> Result<(), String> {
        match (&step.input, self.start) {
            (InputLine::Start { incarnation, blank }, None) if *incarnation == self.live.incarnation => {
                self.start = Some((step.time, *blank));
            }
            (InputLine::Start { incarnation, .. }, _) => {
                let own = self.live.incarnation;
                return Err(format!(
                    "life {incarnation} starts here, but the journal is of life {own}, which starts once"
                ));
            }
            (_, None) => return Err("the node takes a step before it starts".into()),
            (InputLine::Message { id, life, .. }, Some(_)) => self.hears(line, *id, *life)?,
            (InputLine::Saved(count), Some(_)) => self.durable = self.durable.max(*count),
            (_, Some(_)) => {}
        }
        Ok(())
    }

    /// Links keep the order of messages, and repeat none.
    fn hears(&mut self, line: u64, id: MessageId, life: Incarnation) -> Result<(), String> {
        let receipt = Receipt { number: id.number, line };
        match self.heard.entry((id.sender, life)) {
            Entries::Vacant(place) => {
                place.insert(Heard { first: receipt, last: receipt });
            }
            Entries::Occupied(mut place) => {
                let last = std::mem::replace(&mut place.get_mut().last, receipt);
                if receipt.number <= last.number {
                    return Err(out_of_order(id, life, last, "on"));
                }
            }
        }
        Ok(())
    }

    fn world(&mut self, line: u64, what: &WorldLine<String>) -> Result<(), String> {
        self.goes_on(line)?;
        match what {
            WorldLine::Ended { node } if *node == self.node => self.ended = true,
            WorldLine::Changed(_) => {}
            WorldLine::Ended { .. }
            | WorldLine::Lost { .. }
            | WorldLine::Duplicated { .. }
            | WorldLine::Crashed { .. }
            | WorldLine::Paused { .. }
            | WorldLine::Resumed { .. } => return Err("no node can tell this of itself".into()),
        }
        Ok(())
    }

    fn goes_on(&mut self, line: u64) -> Result<(), String> {
        self.lines = line;
        if self.ended { Err("the life ended on the line before".into()) } else { Ok(()) }
    }

    /// Messages are numbered from 1 in the order in which they leave, or no number means anything.
    fn sends(&mut self, id: MessageId, messages: u64) -> Result<(), String> {
        let expected = MessageId { sender: self.node, number: self.sent + 1 };
        if id != expected {
            return Err(format!("message {id} leaves here, but the next one of this life is {expected}"));
        }
        self.sent += messages;
        Ok(())
    }
}

/// What to say of a message that arrives later than one that was sent after it, or that arrives again.
pub(super) fn out_of_order(id: MessageId, life: Incarnation, last: Receipt, place: &str) -> String {
    let (sender, line) = (id.sender, last.line);
    let after = if id.number == last.number {
        "for the second time, after it did".into()
    } else {
        format!("after {sender}.{}, which was sent later and arrived", last.number)
    };
    format!(
        "message {id} of life {life} arrives {after} {place} line {line}; links keep the order of messages, and repeat none"
    )
}

pub(super) fn receivers(to: &Group, sender: NodeId) -> u64 {
    to.others(sender).count() as u64
}
