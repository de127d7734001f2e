//! The second reading: merges the journals in causal order, by time.

use super::arrange::Arrangement;
use super::error::GatherError;
use super::in_flight::{InFlight, LiveMessageId, SendOutcome};
use super::node_stream::{Item, NodeStream};
use super::survey::{LiveEntry, LiveStep};
use super::{Gathered, Source};
use crate::moment::{Loss, MessageId, receivers};
use crate::record::Writer;
use crate::record::line::{EffectLine, InputLine, WorldLine};
use crate::record::reader::Entry;
use crate::workload::Ending;
use quorate_core::{Incarnation, NodeId, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::Write;

/// Merges the journals and returns the statistics.
pub(super) fn merge<S: Source, W: Write>(
    parts: &[S],
    arrangement: Arrangement,
    writer: Writer<W>,
) -> Result<Gathered, GatherError> {
    let Arrangement { nodes, changes, ending, found, .. } = arrangement;
    let in_flight = InFlight::new(nodes.iter().map(|plan| plan.incarnations.as_slice()));
    let incarnations = nodes.iter().flat_map(|plan| &plan.incarnations);
    let bases = incarnations.map(|plan| ((plan.node, plan.incarnation), plan.base)).collect();
    let cursor = |(index, plan)| NodeCursor {
        stream: NodeStream::new(parts, NodeId::from_index(index), plan),
        head: None,
        time: Time::from_nanos(i64::MIN),
    };
    let mut merge = Merge {
        cursors: nodes.into_iter().enumerate().map(cursor).collect(),
        ready: BinaryHeap::new(),
        ready_count: 0,
        waiting: BTreeMap::new(),
        changes,
        in_flight,
        bases,
        writer,
        found,
    };
    merge.run()?;
    merge.finish(ending)
}

struct Merge<'a, S, W: Write> {
    cursors: Vec<NodeCursor<'a, S>>,
    /// Items that can be written: time, sequence number, and index of the node. Of two items at the
    /// same time, the one that became ready first goes first, as in the simulator.
    ready: BinaryHeap<Reverse<(Time, u64, usize)>>,
    /// Number of items that have become ready so far.
    ready_count: u64,
    /// The nodes whose next item is the receipt of a message that was not sent yet.
    waiting: BTreeMap<LiveMessageId, usize>,
    changes: VecDeque<(Time, String)>,
    in_flight: InFlight,
    /// Number of messages that a node sent before each of its incarnations.
    bases: BTreeMap<(NodeId, Incarnation), u64>,
    writer: Writer<W>,
    found: Gathered,
}

struct NodeCursor<'a, S> {
    stream: NodeStream<'a, S>,
    /// The next item to write.
    head: Option<Item>,
    /// The time of the last written item in the result.
    time: Time,
}

impl<S: Source, W: Write> Merge<'_, S, W> {
    fn run(&mut self) -> Result<(), GatherError> {
        for index in 0..self.cursors.len() {
            self.advance(index)?;
        }
        while let Some(Reverse((time, _, index))) = self.ready.pop() {
            self.write_changes(time);
            let Some(item) = self.cursors.get_mut(index).and_then(|cursor| cursor.head.take()) else { continue };
            self.write_item(index, time, item)?;
            self.advance(index)?;
        }
        self.write_changes(Time::NEVER);
        self.cursors.iter().filter_map(stuck).min_by_key(|(time, _)| *time).map_or(Ok(()), |(_, error)| Err(error))
    }

    fn finish(mut self, ending: Option<Ending>) -> Result<Gathered, GatherError> {
        let (_, lines) = self.writer.finish_with(ending).map_err(GatherError::Write)?;
        self.found.lines = lines;
        self.found.under_way = self.in_flight.count();
        self.found.warn_of_links();
        self.found.warn_of_clocks();
        Ok(self.found)
    }

    /// Fetches a node's next item. It is ready unless it receives a message that was not sent yet.
    fn advance(&mut self, index: usize) -> Result<(), GatherError> {
        let Some(cursor) = self.cursors.get_mut(index) else { return Ok(()) };
        let Some(item) = cursor.stream.next()? else { return Ok(()) };
        let awaited = awaited(&item);
        let earliest = item.time.max(cursor.time);
        cursor.head = Some(item);
        match awaited {
            None => self.push_ready(earliest, index),
            Some(message) if !self.in_flight.was_sent(message) => {
                if self.waiting.insert(message, index).is_some() {
                    return Err(self.impossible_receipt(index));
                }
            }
            Some(message) => self.push_receipt(index, message)?,
        }
        Ok(())
    }

    /// Makes the receipt of a sent message ready, no earlier than it was sent.
    fn push_receipt(&mut self, index: usize, message: LiveMessageId) -> Result<(), GatherError> {
        let Some(cursor) = self.cursors.get(index) else { return Ok(()) };
        let Some(sent_at) = self.in_flight.sent_at(message, cursor.stream.node()) else {
            return Err(self.impossible_receipt(index));
        };
        let time = cursor.head.as_ref().map_or(sent_at, |item| item.time);
        self.push_ready(time.max(cursor.time).max(sent_at), index);
        Ok(())
    }

    fn push_ready(&mut self, time: Time, index: usize) {
        self.ready_count += 1;
        self.ready.push(Reverse((time, self.ready_count, index)));
    }

    fn write_changes(&mut self, until: Time) {
        while self.changes.front().is_some_and(|(time, _)| *time <= until)
            && let Some((time, text)) = self.changes.pop_front()
        {
            self.write(&Entry::World { time, event: WorldLine::Changed(text) });
        }
    }

    fn write_item(&mut self, index: usize, time: Time, item: Item) -> Result<(), GatherError> {
        let Some(cursor) = self.cursors.get_mut(index) else { return Ok(()) };
        cursor.time = time;
        let node = cursor.stream.node();
        match item.entry {
            Entry::World { event, .. } => {
                let is_down = matches!(event, WorldLine::Crashed { .. } | WorldLine::Ended { .. });
                self.write(&Entry::World { time, event });
                if is_down {
                    for message in self.in_flight.go_down(node) {
                        self.record_loss(time, message, node);
                    }
                }
                Ok(())
            }
            Entry::Step(step) => {
                self.found.raised += u64::from(time > item.time);
                self.step(index, LiveStep { time, ..step })
            }
        }
    }

    fn step(&mut self, index: usize, mut step: LiveStep) -> Result<(), GatherError> {
        let (time, node) = (step.time, step.node);
        match &mut step.input {
            InputLine::Start { .. } => self.in_flight.start(node),
            InputLine::Message { id, life, .. } => {
                let message = LiveMessageId { sender: id.sender, incarnation: *life, number: id.number };
                for skipped in self.in_flight.take_skipped(message, node) {
                    self.record_skip(time, skipped, message, node);
                }
                self.found.matched += u64::from(self.in_flight.arrive(message, node));
                *id = self.renumbered(message);
                *life = Incarnation::FIRST;
            }
            _ => {}
        }
        let plan = self.cursors.get(index).and_then(|cursor| cursor.stream.incarnation());
        let incarnation = plan.map(|plan| plan.incarnation).unwrap_or_default();
        let sent = self.send_all(incarnation, &mut step);
        self.write(&Entry::Step(step));
        for (message, to, outcome) in sent {
            if let SendOutcome::Lost = outcome {
                self.record_loss(time, message, to);
            }
            if let Some(receiver) = self.waiting.remove(&message) {
                self.push_receipt(receiver, message)?;
            }
        }
        Ok(())
    }

    /// Adds the messages of a step to those in flight, and renumbers them over all incarnations.
    fn send_all(&mut self, incarnation: Incarnation, step: &mut LiveStep) -> Vec<(LiveMessageId, NodeId, SendOutcome)> {
        let mut sent = Vec::new();
        for effect in &mut step.effects {
            match effect {
                EffectLine::Send(send) => {
                    let id = live_id(send.id, incarnation);
                    sent.push((id, send.to));
                    send.id = self.renumbered(id);
                }
                EffectLine::Multicast(multicast) => {
                    let receivers = receivers(&multicast.to, multicast.id);
                    sent.extend(receivers.map(|(to, id)| (live_id(id, incarnation), to)));
                    multicast.id = self.renumbered(live_id(multicast.id, incarnation));
                }
                EffectLine::Save(_)
                | EffectLine::Timer { .. }
                | EffectLine::Cancel(_)
                | EffectLine::Emit(_)
                | EffectLine::Rule { .. }
                | EffectLine::Handed { .. }
                | EffectLine::Waiting { .. }
                | EffectLine::View(_)
                | EffectLine::Lease(_) => {}
            }
        }
        sent.into_iter().map(|(message, to)| (message, to, self.in_flight.send(message, to, step.time))).collect()
    }

    fn record_loss(&mut self, time: Time, message: LiveMessageId, to: NodeId) {
        self.found.lost += 1;
        let id = self.renumbered(message);
        self.write(&Entry::World { time, event: WorldLine::Lost { id, to, why: Loss::Down } });
    }

    /// Records a message that its link skipped: a later one has arrived. The algorithm cannot
    /// distinguish this from a lossy network.
    fn record_skip(&mut self, time: Time, message: LiveMessageId, next: LiveMessageId, to: NodeId) {
        let (id, next) = (self.renumbered(message), self.renumbered(next));
        self.found
            .skip(time, || format!("message {id} never reached node {to}, but {next}, which was sent later, did"));
        self.write(&Entry::World { time, event: WorldLine::Lost { id, to, why: Loss::Chance } });
    }

    fn renumbered(&self, message: LiveMessageId) -> MessageId {
        let base = self.bases.get(&(message.sender, message.incarnation)).copied().unwrap_or(0);
        MessageId { sender: message.sender, number: base.saturating_add(message.number) }
    }

    fn write(&mut self, entry: &LiveEntry) {
        entry.show(&mut self.writer);
    }

    /// Returns the error for a receipt of a message that is not in flight to this node.
    fn impossible_receipt(&self, index: usize) -> GatherError {
        let cursor = self.cursors.get(index);
        let head = cursor.and_then(|cursor| cursor.head.as_ref());
        let message = head.and_then(awaited).map(|message| message.to_string()).unwrap_or_default();
        GatherError::Line {
            file: cursor
                .and_then(|cursor| cursor.stream.incarnation())
                .map(|plan| plan.file.clone())
                .unwrap_or_default(),
            line: head.map_or(0, |item| item.line),
            reason: format!("message {message} arrives, but it was not sent to this node or has already arrived"),
        }
    }
}

fn live_id(id: MessageId, incarnation: Incarnation) -> LiveMessageId {
    LiveMessageId { sender: id.sender, incarnation, number: id.number }
}

/// Returns the message that an item receives.
fn awaited(item: &Item) -> Option<LiveMessageId> {
    match &item.entry {
        Entry::Step(LiveStep { input: InputLine::Message { id, life, .. }, .. }) => Some(live_id(*id, *life)),
        Entry::Step(_) | Entry::World { .. } => None,
    }
}

/// Returns the error for a node that still waits for a message when no item is ready.
fn stuck<S: Source>(cursor: &NodeCursor<'_, S>) -> Option<(Time, GatherError)> {
    let (item, plan) = (cursor.head.as_ref()?, cursor.stream.incarnation()?);
    let message = awaited(item)?.to_string();
    Some((item.time, GatherError::Cycle { file: plan.file.clone(), line: item.line, message }))
}
