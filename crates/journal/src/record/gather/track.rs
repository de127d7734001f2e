//! What happens to one node, in its order: its lives line by line, its crashes, and when it stood still.

use super::Source;
use super::arrange::NodePlan;
use super::error::GatherError;
use super::lives::{Life, Pause};
use super::survey::{Lines, LiveEntry, open};
use crate::record::line::{InputLine, WorldLine};
use crate::record::reader::{Entry, Step};
use quorate_core::{NodeId, Time};

/// One node's part of the result.
pub(super) struct Track<'a, S> {
    parts: &'a [S],
    node: NodeId,
    plan: NodePlan,
    /// Which life is read.
    life: usize,
    journal: Option<Lines<'a>>,
    /// The next line of that life, and when it happened.
    ahead: Option<(Time, LiveEntry)>,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Down,
    Up,
    Still { until: Option<Time> },
}

/// Something that happens to a node, and when by its own clock on the common scale.
pub(super) struct Item {
    pub(super) time: Time,
    pub(super) entry: LiveEntry,
    /// The line that it stands on, if it is one of the life's own.
    pub(super) line: u64,
}

impl<'a, S: Source> Track<'a, S> {
    pub(super) fn new(parts: &'a [S], node: NodeId, plan: NodePlan) -> Self {
        Self { parts, node, plan, life: 0, journal: None, ahead: None, standing: Standing::Down }
    }

    pub(super) fn node(&self) -> NodeId {
        self.node
    }

    pub(super) fn life(&self) -> Option<&Life> {
        self.plan.lives.get(self.life)
    }

    /// What happens next; nothing at the end of the last life.
    pub(super) fn next(&mut self) -> Result<Option<Item>, GatherError> {
        while self.life < self.plan.lives.len() {
            self.look_ahead()?;
            if let Some(item) = self.stand_still() {
                return Ok(Some(item));
            }
            let item = match self.ahead.take() {
                Some((time, entry)) => Some(self.step(time, entry)),
                None => self.end_life(),
            };
            if item.is_some() {
                return Ok(item);
            }
        }
        Ok(None)
    }

    /// Reads the next line of the life, unless that was done.
    fn look_ahead(&mut self) -> Result<(), GatherError> {
        let Some(life) = self.plan.lives.get(self.life) else { return Ok(()) };
        let journal = match (&mut self.journal, self.parts.get(life.part)) {
            (Some(journal), _) => journal,
            (journal, Some(source)) => journal.insert(open(source)?),
            (None, None) => return Ok(()),
        };
        if self.ahead.is_some() || journal.line() >= life.lines {
            return Ok(());
        }
        let entry = journal.next().map_err(|error| GatherError::Journal { file: life.file.clone(), error })?;
        let Some(entry) = entry else {
            return Err(GatherError::Changed { file: life.file.clone(), line: journal.line() + 1 });
        };
        let (Entry::Step(Step { time, .. }) | Entry::World { time, .. }) = &entry;
        self.ahead = Some((life.shift.of(*time), entry));
        Ok(())
    }

    fn step(&mut self, time: Time, entry: LiveEntry) -> Item {
        match &entry {
            Entry::Step(Step { input: InputLine::Start { .. }, .. }) => self.standing = Standing::Up,
            Entry::World { what: WorldLine::Ended { .. }, .. } => self.standing = Standing::Down,
            Entry::Step(_) | Entry::World { .. } => {}
        }
        Item { time, entry, line: self.journal.as_ref().map_or(0, Lines::line) }
    }

    /// A life that did not end in good order crashed, and one that is followed by another must be down before that.
    fn end_life(&mut self) -> Option<Item> {
        let life = self.plan.lives.get(self.life)?;
        let (killed, lost_writes) = (life.killed, life.lost_writes);
        let is_over = life.ended && killed.is_none() && self.life + 1 == self.plan.lives.len();
        self.life += 1;
        self.journal = None;
        self.standing = Standing::Down;
        let time = killed.unwrap_or(Time::from_nanos(i64::MIN));
        (!is_over).then(|| self.act(time, WorldLine::Crashed { node: self.node, lost_writes }))
    }

    /// A node that stands still takes no step. If its own clock contradicts that, it stood still a little later.
    fn stand_still(&mut self) -> Option<Item> {
        let next = self.ahead.as_ref().map(|(time, _)| *time);
        let end = next.unwrap_or_else(|| self.end());
        match self.standing {
            Standing::Still { until: Some(until) } if until <= end => {
                self.standing = Standing::Up;
                Some(self.act(until, WorldLine::Resumed { node: self.node }))
            }
            Standing::Still { .. } => None,
            Standing::Up => {
                let Pause { from, to } = *self.plan.pauses.front()?;
                if from > end || to.is_none_or(|to| to > end) && next.is_some() {
                    return None;
                }
                self.plan.pauses.pop_front();
                self.standing = Standing::Still { until: to };
                Some(self.act(from, WorldLine::Paused { node: self.node }))
            }
            Standing::Down => {
                // Who is not there cannot stand still.
                while self.plan.pauses.front().is_some_and(|pause| pause.to.unwrap_or(pause.from) <= end) {
                    self.plan.pauses.pop_front();
                }
                None
            }
        }
    }

    /// When the life that is read is certainly over.
    fn end(&self) -> Time {
        let next = self.plan.lives.get(self.life + 1).and_then(|life| life.started);
        self.life().and_then(|life| life.killed).or(next).unwrap_or(Time::NEVER)
    }

    fn act(&self, time: Time, what: WorldLine<String>) -> Item {
        Item { time, entry: Entry::World { time, what }, line: 0 }
    }
}
