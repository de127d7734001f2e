//! The items of one node in order: the lines of its incarnations, its crashes and its pauses.

use super::Source;
use super::arrange::NodePlan;
use super::error::GatherError;
use super::incarnations::{IncarnationPlan, Pause};
use super::survey::{LiveEntry, LiveJournal, open};
use crate::record::line::{InputLine, WorldLine};
use crate::record::reader::{Entry, Step};
use quorate_core::{NodeId, Time};

/// Yields the items of one node.
pub(super) struct NodeStream<'a, S> {
    sources: &'a [S],
    node: NodeId,
    plan: NodePlan,
    /// Index of the current incarnation.
    current: usize,
    journal: Option<LiveJournal<'a>>,
    /// The next line of the current incarnation, with its time.
    next_line: Option<(Time, LiveEntry)>,
    state: NodeState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeState {
    Down,
    Up,
    Paused { until: Option<Time> },
}

/// A line of a node's journal, a crash, or the beginning or end of a pause, with its recorded time
/// on the common scale of all journals.
pub(super) struct StreamItem {
    pub(super) time: Time,
    pub(super) entry: LiveEntry,
    /// Its line number in the node's own journal, or 0 if it does not come from there.
    pub(super) line: u64,
}

impl<'a, S: Source> NodeStream<'a, S> {
    pub(super) fn new(sources: &'a [S], node: NodeId, plan: NodePlan) -> Self {
        Self { sources, node, plan, current: 0, journal: None, next_line: None, state: NodeState::Down }
    }

    pub(super) fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the current incarnation.
    pub(super) fn incarnation(&self) -> Option<&IncarnationPlan> {
        self.plan.incarnations.get(self.current)
    }

    /// Returns the next item, or `None` at the end of the last incarnation.
    pub(super) fn next(&mut self) -> Result<Option<StreamItem>, GatherError> {
        while self.current < self.plan.incarnations.len() {
            self.read_ahead()?;
            if let Some(item) = self.next_pause_event() {
                return Ok(Some(item));
            }
            let item = match self.next_line.take() {
                Some((time, entry)) => Some(self.line_item(time, entry)),
                None => self.end_incarnation(),
            };
            if item.is_some() {
                return Ok(item);
            }
        }
        Ok(None)
    }

    /// Reads the next line of the current incarnation, unless it is already read.
    fn read_ahead(&mut self) -> Result<(), GatherError> {
        let Some(plan) = self.plan.incarnations.get(self.current) else { return Ok(()) };
        let journal = match (&mut self.journal, self.sources.get(plan.source_index)) {
            (Some(journal), _) => journal,
            (journal, Some(source)) => journal.insert(open(source)?),
            (None, None) => return Ok(()),
        };
        if self.next_line.is_some() || journal.line() >= plan.last_line {
            return Ok(());
        }
        let entry = journal.next().map_err(|error| GatherError::Journal { file: plan.file.clone(), error })?;
        let Some(entry) = entry else {
            return Err(GatherError::FileChanged { file: plan.file.clone(), line: journal.line() + 1 });
        };
        let (Entry::Step(Step { time, .. }) | Entry::World { time, .. }) = &entry;
        self.next_line = Some((plan.shift.apply(*time), entry));
        Ok(())
    }

    /// Returns the item of a line, and updates whether the node is up.
    fn line_item(&mut self, time: Time, entry: LiveEntry) -> StreamItem {
        match &entry {
            Entry::Step(Step { input: InputLine::Start { .. }, .. }) => self.state = NodeState::Up,
            Entry::World { event: WorldLine::Ended { .. }, .. } => self.state = NodeState::Down,
            Entry::Step(_) | Entry::World { .. } => {}
        }
        StreamItem { time, entry, line: self.journal.as_ref().map_or(0, LiveJournal::line) }
    }

    /// Ends the current incarnation, with a crash unless it is the last one, shut down cleanly, and
    /// was not killed. An earlier one ends with a crash in any case, because a replay resets a
    /// node's disk only when the node crashes.
    fn end_incarnation(&mut self) -> Option<StreamItem> {
        let plan = self.plan.incarnations.get(self.current)?;
        let (killed_at, lost_writes) = (plan.killed_at, plan.lost_writes);
        let ends_without_crash =
            plan.shut_down_cleanly && killed_at.is_none() && self.current + 1 == self.plan.incarnations.len();
        self.current += 1;
        self.journal = None;
        self.state = NodeState::Down;
        // Without a recorded time, the crash follows the last step at once.
        let time = killed_at.unwrap_or(Time::from_nanos(i64::MIN));
        (!ends_without_crash).then(|| self.world_event(time, WorldLine::Crashed { node: self.node, lost_writes }))
    }

    /// Returns the next beginning or end of a pause, if it comes before the next line.
    ///
    /// A paused node takes no step. If the node took a step during the pause by its own clock, the
    /// pause is moved after the step.
    fn next_pause_event(&mut self) -> Option<StreamItem> {
        let next_line_time = self.next_line.as_ref().map(|(time, _)| *time);
        let end = next_line_time.unwrap_or_else(|| self.latest_end());
        match self.state {
            NodeState::Paused { until: Some(until) } if until <= end => {
                self.state = NodeState::Up;
                Some(self.world_event(until, WorldLine::Resumed { node: self.node }))
            }
            NodeState::Paused { .. } => None,
            NodeState::Up => {
                let Pause { from, to } = *self.plan.pauses.front()?;
                if from > end || to.is_none_or(|to| to > end) && next_line_time.is_some() {
                    return None;
                }
                self.plan.pauses.pop_front();
                self.state = NodeState::Paused { until: to };
                Some(self.world_event(from, WorldLine::Paused { node: self.node }))
            }
            NodeState::Down => {
                // A node that is down cannot be paused.
                while self.plan.pauses.front().is_some_and(|pause| pause.to.unwrap_or(pause.from) <= end) {
                    self.plan.pauses.pop_front();
                }
                None
            }
        }
    }

    /// Returns a time by which the current incarnation has certainly ended.
    fn latest_end(&self) -> Time {
        let next = self.plan.incarnations.get(self.current + 1).and_then(|plan| plan.started_at);
        self.incarnation().and_then(|plan| plan.killed_at).or(next).unwrap_or(Time::NEVER)
    }

    fn world_event(&self, time: Time, event: WorldLine<String>) -> StreamItem {
        StreamItem { time, entry: Entry::World { time, event }, line: 0 }
    }
}
