//! The second reading: merges the journals in causal order, and otherwise by time.

use super::arrange::Arrangement;
use super::error::GatherError;
use super::in_flight::{InFlight, LiveMessageId, SendOutcome};
use super::node_stream::{NodeStream, StreamItem};
use super::survey::{LiveEntry, LiveStep};
use super::{GatherReport, Source};
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
    sources: &[S],
    arrangement: Arrangement,
    writer: Writer<W>,
) -> Result<GatherReport, GatherError> {
    let Arrangement { nodes, changes, ending, report, .. } = arrangement;
    let in_flight = InFlight::new(nodes.iter().map(|plan| plan.incarnations.as_slice()));
    let incarnations = nodes.iter().flat_map(|plan| &plan.incarnations);
    let sent_before = incarnations.map(|plan| ((plan.node, plan.incarnation), plan.sent_before)).collect();
    let cursor = |(index, plan)| NodeCursor {
        stream: NodeStream::new(sources, NodeId::from_index(index), plan),
        next_item: None,
        last_time: Time::from_nanos(i64::MIN),
    };
    let mut merge = Merge {
        cursors: nodes.into_iter().enumerate().map(cursor).collect(),
        ready: BinaryHeap::new(),
        ready_count: 0,
        waiting: BTreeMap::new(),
        changes,
        in_flight,
        sent_before,
        writer,
        report,
    };
    merge.run()?;
    merge.finish(ending)
}

struct Merge<'a, S, W: Write> {
    cursors: Vec<NodeCursor<'a, S>>,
    /// Items that can be written: time, sequence number, and index of the node. Of two items at the
    /// same time, the one that became ready first goes first, as in the simulator.
    ready: BinaryHeap<Reverse<(Time, u64, usize)>>,
    /// Number of items that have become ready so far, which is the last sequence number.
    ready_count: u64,
    /// For each message that a node's next item receives but whose send is not written yet, the
    /// index of that node.
    waiting: BTreeMap<LiveMessageId, usize>,
    changes: VecDeque<(Time, String)>,
    in_flight: InFlight,
    /// For each incarnation, the number of messages that earlier incarnations of its node sent.
    sent_before: BTreeMap<(NodeId, Incarnation), u64>,
    writer: Writer<W>,
    report: GatherReport,
}

struct NodeCursor<'a, S> {
    stream: NodeStream<'a, S>,
    /// The next item to write.
    next_item: Option<StreamItem>,
    /// The time that the last written item has in the result.
    last_time: Time,
}

impl<S: Source, W: Write> Merge<'_, S, W> {
    fn run(&mut self) -> Result<(), GatherError> {
        for index in 0..self.cursors.len() {
            self.advance(index)?;
        }
        while let Some(Reverse((time, _, index))) = self.ready.pop() {
            self.write_changes(time);
            let Some(item) = self.cursors.get_mut(index).and_then(|cursor| cursor.next_item.take()) else { continue };
            self.write_item(index, time, item)?;
            self.advance(index)?;
        }
        self.write_changes(Time::NEVER);
        let errors = self.cursors.iter().filter_map(cycle_error);
        errors.min_by_key(|(time, _)| *time).map_or(Ok(()), |(_, error)| Err(error))
    }

    fn finish(mut self, ending: Option<Ending>) -> Result<GatherReport, GatherError> {
        let (_, lines) = self.writer.finish_with(ending).map_err(GatherError::Write)?;
        self.report.lines = lines;
        self.report.in_flight = self.in_flight.count();
        self.report.warn_of_skipped_messages();
        self.report.warn_of_receipts_before_sends();
        Ok(self.report)
    }

    /// Fetches a node's next item. It is ready unless it receives a message whose send is not
    /// written yet.
    fn advance(&mut self, index: usize) -> Result<(), GatherError> {
        let Some(cursor) = self.cursors.get_mut(index) else { return Ok(()) };
        let Some(item) = cursor.stream.next()? else { return Ok(()) };
        let awaited = awaited_message(&item);
        let earliest = item.time.max(cursor.last_time);
        cursor.next_item = Some(item);
        match awaited {
            None => self.push_ready(earliest, index),
            Some(message) if !self.in_flight.was_sent(message) => {
                // A message has one receiver, so no two nodes can wait for it.
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
        let Some(send_time) = self.in_flight.send_time(message, cursor.stream.node()) else {
            return Err(self.impossible_receipt(index));
        };
        let time = cursor.next_item.as_ref().map_or(send_time, |item| item.time);
        self.push_ready(time.max(cursor.last_time).max(send_time), index);
        Ok(())
    }

    fn push_ready(&mut self, time: Time, index: usize) {
        self.ready_count += 1;
        self.ready.push(Reverse((time, self.ready_count, index)));
    }

    /// Writes the changes of the environment at this time or earlier.
    fn write_changes(&mut self, until: Time) {
        while self.changes.front().is_some_and(|(time, _)| *time <= until)
            && let Some((time, text)) = self.changes.pop_front()
        {
            self.write(&Entry::World { time, event: WorldLine::Changed(text) });
        }
    }

    fn write_item(&mut self, index: usize, time: Time, item: StreamItem) -> Result<(), GatherError> {
        let Some(cursor) = self.cursors.get_mut(index) else { return Ok(()) };
        cursor.last_time = time;
        let node = cursor.stream.node();
        match item.entry {
            Entry::World { event, .. } => {
                let goes_down = matches!(event, WorldLine::Crashed { .. } | WorldLine::Ended { .. });
                self.write(&Entry::World { time, event });
                if goes_down {
                    for message in self.in_flight.go_down(node) {
                        self.record_loss(time, message, node);
                    }
                }
                Ok(())
            }
            Entry::Step(step) => {
                self.report.delayed_steps += u64::from(time > item.time);
                self.write_step(index, LiveStep { time, ..step })
            }
        }
    }

    fn write_step(&mut self, index: usize, mut step: LiveStep) -> Result<(), GatherError> {
        let (time, node) = (step.time, step.node);
        match &mut step.input {
            InputLine::Start { .. } => self.in_flight.start(node),
            InputLine::Message { id, incarnation, .. } => {
                let message = LiveMessageId { sender: id.sender, incarnation: *incarnation, number: id.number };
                for skipped in self.in_flight.take_skipped(message, node) {
                    self.record_skip(time, skipped, message, node);
                }
                self.report.received_messages += u64::from(self.in_flight.arrive(message, node));
                *id = self.renumber(message);
                // The new number counts over all incarnations, which the first one indicates.
                *incarnation = Incarnation::FIRST;
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
                    let id = to_live_id(send.id, incarnation);
                    sent.push((id, send.to));
                    send.id = self.renumber(id);
                }
                EffectLine::Multicast(multicast) => {
                    let receivers = receivers(&multicast.to, multicast.id);
                    sent.extend(receivers.map(|(to, id)| (to_live_id(id, incarnation), to)));
                    multicast.id = self.renumber(to_live_id(multicast.id, incarnation));
                }
                EffectLine::Save(_)
                | EffectLine::Timer { .. }
                | EffectLine::Cancel(_)
                | EffectLine::Emit(_)
                | EffectLine::Rule { .. }
                | EffectLine::Delivered { .. }
                | EffectLine::HoldBack { .. }
                | EffectLine::View(_)
                | EffectLine::Lease(_) => {}
            }
        }
        sent.into_iter().map(|(message, to)| (message, to, self.in_flight.send(message, to, step.time))).collect()
    }

    fn record_loss(&mut self, time: Time, message: LiveMessageId, to: NodeId) {
        self.report.lost_messages += 1;
        let id = self.renumber(message);
        self.write(&Entry::World { time, event: WorldLine::Lost { id, to, cause: Loss::Down } });
    }

    /// Records the loss of a message that its link skipped: a later one has arrived. It is recorded
    /// as a random loss, from which the algorithm cannot distinguish it.
    fn record_skip(&mut self, time: Time, message: LiveMessageId, next: LiveMessageId, to: NodeId) {
        let (id, next) = (self.renumber(message), self.renumber(next));
        self.report.record_skipped_message(time, || {
            format!("message {id} never reached node {to}, but {next}, which was sent later, did")
        });
        self.write(&Entry::World { time, event: WorldLine::Lost { id, to, cause: Loss::Chance } });
    }

    /// Returns the id of a message that counts over all incarnations of its sender.
    fn renumber(&self, message: LiveMessageId) -> MessageId {
        let sent_before = self.sent_before.get(&(message.sender, message.incarnation)).copied().unwrap_or(0);
        MessageId { sender: message.sender, number: sent_before.saturating_add(message.number) }
    }

    fn write(&mut self, entry: &LiveEntry) {
        entry.show(&mut self.writer);
    }

    /// Returns the error for a receipt of a message that is not in flight to this node.
    fn impossible_receipt(&self, index: usize) -> GatherError {
        let cursor = self.cursors.get(index);
        let next_item = cursor.and_then(|cursor| cursor.next_item.as_ref());
        let message = next_item.and_then(awaited_message).map(|message| message.to_string()).unwrap_or_default();
        GatherError::InvalidLine {
            file: cursor
                .and_then(|cursor| cursor.stream.incarnation())
                .map(|plan| plan.file.clone())
                .unwrap_or_default(),
            line: next_item.map_or(0, |item| item.line),
            reason: format!("message {message} arrives, but it was not sent to this node or has already arrived"),
        }
    }
}

fn to_live_id(id: MessageId, incarnation: Incarnation) -> LiveMessageId {
    LiveMessageId { sender: id.sender, incarnation, number: id.number }
}

/// Returns the message that an item receives.
fn awaited_message(item: &StreamItem) -> Option<LiveMessageId> {
    match &item.entry {
        Entry::Step(LiveStep { input: InputLine::Message { id, incarnation, .. }, .. }) => {
            Some(to_live_id(*id, *incarnation))
        }
        Entry::Step(_) | Entry::World { .. } => None,
    }
}

/// Returns the error for a node that still waits for a message when no item is ready, with the time
/// of the receipt.
fn cycle_error<S: Source>(cursor: &NodeCursor<'_, S>) -> Option<(Time, GatherError)> {
    let (item, plan) = (cursor.next_item.as_ref()?, cursor.stream.incarnation()?);
    let message = awaited_message(item)?.to_string();
    Some((item.time, GatherError::CyclicWait { file: plan.file.clone(), line: item.line, message }))
}
