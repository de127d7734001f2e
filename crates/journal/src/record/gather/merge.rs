//! The second reading: what is free to go next, by time.

use super::arrange::Arrangement;
use super::error::GatherError;
use super::post::{Fate, Letter, Post};
use super::survey::{LiveEntry, LiveStep};
use super::track::{Item, Track};
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

/// Merges the journals, and tells what was found.
pub(super) fn merge<S: Source, W: Write>(
    parts: &[S],
    arrangement: Arrangement,
    writer: Writer<W>,
) -> Result<Gathered, GatherError> {
    let Arrangement { nodes, changes, ending, found, .. } = arrangement;
    let post = Post::new(nodes.iter().map(|plan| plan.lives.as_slice()));
    let lives = nodes.iter().flat_map(|plan| &plan.lives);
    let bases = lives.map(|life| ((life.node, life.incarnation), life.base)).collect();
    let lane = |(index, plan)| Lane {
        track: Track::new(parts, NodeId::from_index(index), plan),
        head: None,
        time: Time::from_nanos(i64::MIN),
    };
    let mut merge = Merge {
        lanes: nodes.into_iter().enumerate().map(lane).collect(),
        free: BinaryHeap::new(),
        freed: 0,
        waiting: BTreeMap::new(),
        changes,
        post,
        bases,
        writer,
        found,
    };
    merge.run()?;
    merge.finish(ending)
}

struct Merge<'a, S, W: Write> {
    lanes: Vec<Lane<'a, S>>,
    /// When each next item happens that may go, and whose it is. Of two at the same time, the one that was free first goes
    /// first, as in the simulator.
    free: BinaryHeap<Reverse<(Time, u64, usize)>>,
    /// How many items were free so far.
    freed: u64,
    /// Who waits for a message that was not sent yet.
    waiting: BTreeMap<Letter, usize>,
    changes: VecDeque<(Time, String)>,
    post: Post,
    /// How many messages a node sent before each of its lives.
    bases: BTreeMap<(NodeId, Incarnation), u64>,
    writer: Writer<W>,
    found: Gathered,
}

struct Lane<'a, S> {
    track: Track<'a, S>,
    head: Option<Item>,
    /// When the last item happened in the result.
    time: Time,
}

impl<S: Source, W: Write> Merge<'_, S, W> {
    fn run(&mut self) -> Result<(), GatherError> {
        for place in 0..self.lanes.len() {
            self.advance(place)?;
        }
        while let Some(Reverse((time, _, place))) = self.free.pop() {
            self.tell_changes(time);
            let Some(item) = self.lanes.get_mut(place).and_then(|lane| lane.head.take()) else { continue };
            self.tell(place, time, item)?;
            self.advance(place)?;
        }
        self.tell_changes(Time::NEVER);
        self.lanes.iter().filter_map(stuck).min_by_key(|(time, _)| *time).map_or(Ok(()), |(_, error)| Err(error))
    }

    fn finish(mut self, ending: Option<Ending>) -> Result<Gathered, GatherError> {
        let (_, lines) = self.writer.finish_with(ending).map_err(GatherError::Write)?;
        self.found.lines = lines;
        self.found.under_way = self.post.under_way();
        self.found.warn_of_links();
        self.found.warn_of_clocks();
        Ok(self.found)
    }

    /// Fetches a node's next item, and lets it go unless it waits for a message.
    fn advance(&mut self, place: usize) -> Result<(), GatherError> {
        let Some(lane) = self.lanes.get_mut(place) else { return Ok(()) };
        let Some(item) = lane.track.next()? else { return Ok(()) };
        let awaited = awaited(&item);
        let earliest = item.time.max(lane.time);
        lane.head = Some(item);
        match awaited {
            None => self.release(earliest, place),
            Some(letter) if !self.post.has_left(letter) => {
                if self.waiting.insert(letter, place).is_some() {
                    return Err(self.never_arrives(place));
                }
            }
            Some(letter) => self.hand_over(place, letter)?,
        }
        Ok(())
    }

    /// A message has left that a node waits for: it can be received, at the earliest when it was sent.
    fn hand_over(&mut self, place: usize, letter: Letter) -> Result<(), GatherError> {
        let Some(lane) = self.lanes.get(place) else { return Ok(()) };
        let Some(sent_at) = self.post.sent_at(letter, lane.track.node()) else { return Err(self.never_arrives(place)) };
        let time = lane.head.as_ref().map_or(sent_at, |item| item.time);
        self.release(time.max(lane.time).max(sent_at), place);
        Ok(())
    }

    fn release(&mut self, time: Time, place: usize) {
        self.freed += 1;
        self.free.push(Reverse((time, self.freed, place)));
    }

    fn tell_changes(&mut self, until: Time) {
        while self.changes.front().is_some_and(|(time, _)| *time <= until)
            && let Some((time, text)) = self.changes.pop_front()
        {
            self.write(&Entry::World { time, what: WorldLine::Changed(text) });
        }
    }

    fn tell(&mut self, place: usize, time: Time, item: Item) -> Result<(), GatherError> {
        let Some(lane) = self.lanes.get_mut(place) else { return Ok(()) };
        lane.time = time;
        let node = lane.track.node();
        match item.entry {
            Entry::World { what, .. } => {
                let is_down = matches!(what, WorldLine::Crashed { .. } | WorldLine::Ended { .. });
                self.write(&Entry::World { time, what });
                if is_down {
                    for letter in self.post.goes_down(node) {
                        self.lose(time, letter, node);
                    }
                }
                Ok(())
            }
            Entry::Step(step) => {
                self.found.raised += u64::from(time > item.time);
                self.step(place, LiveStep { time, ..step })
            }
        }
    }

    fn step(&mut self, place: usize, mut step: LiveStep) -> Result<(), GatherError> {
        let (time, node) = (step.time, step.node);
        match &mut step.input {
            InputLine::Start { .. } => self.post.starts(node),
            InputLine::Message { id, life, .. } => {
                let letter = Letter { sender: id.sender, life: *life, number: id.number };
                for skipped in self.post.skipped(letter, node) {
                    self.skip(time, skipped, letter, node);
                }
                self.found.matched += u64::from(self.post.arrive(letter, node));
                *id = self.renumbered(letter);
                *life = Incarnation::FIRST;
            }
            _ => {}
        }
        let life = self.lanes.get(place).and_then(|lane| lane.track.life()).map(|life| life.incarnation);
        let sent = self.send_all(life.unwrap_or_default(), &mut step);
        self.write(&Entry::Step(step));
        for (letter, to, fate) in sent {
            if let Fate::Lost = fate {
                self.lose(time, letter, to);
            }
            if let Some(receiver) = self.waiting.remove(&letter) {
                self.hand_over(receiver, letter)?;
            }
        }
        Ok(())
    }

    /// Puts what a step sends under way, and numbers it over all lives.
    fn send_all(&mut self, life: Incarnation, step: &mut LiveStep) -> Vec<(Letter, NodeId, Fate)> {
        let mut sent = Vec::new();
        for effect in &mut step.effects {
            match effect {
                EffectLine::Send(send) => {
                    sent.push((letter(send.id, life), send.to));
                    send.id = self.renumbered(letter(send.id, life));
                }
                EffectLine::Multicast(multicast) => {
                    sent.extend(receivers(&multicast.to, multicast.id).map(|(to, id)| (letter(id, life), to)));
                    multicast.id = self.renumbered(letter(multicast.id, life));
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
        sent.into_iter().map(|(letter, to)| (letter, to, self.post.send(letter, to, step.time))).collect()
    }

    fn lose(&mut self, time: Time, letter: Letter, to: NodeId) {
        self.found.lost += 1;
        let id = self.renumbered(letter);
        self.write(&Entry::World { time, what: WorldLine::Lost { id, to, why: Loss::Down } });
    }

    /// A link has passed a message by: what was sent after it is there. No algorithm can tell that from a lossy network.
    fn skip(&mut self, time: Time, letter: Letter, next: Letter, to: NodeId) {
        let (id, next) = (self.renumbered(letter), self.renumbered(next));
        self.found
            .skip(time, || format!("message {id} never reached node {to}, but {next} did, which was sent after it"));
        self.write(&Entry::World { time, what: WorldLine::Lost { id, to, why: Loss::Chance } });
    }

    fn renumbered(&self, letter: Letter) -> MessageId {
        let base = self.bases.get(&(letter.sender, letter.life)).copied().unwrap_or(0);
        MessageId { sender: letter.sender, number: base.saturating_add(letter.number) }
    }

    fn write(&mut self, entry: &LiveEntry) {
        entry.show(&mut self.writer);
    }

    /// A message arrives that is not on its way to this node.
    fn never_arrives(&self, place: usize) -> GatherError {
        let lane = self.lanes.get(place);
        let head = lane.and_then(|lane| lane.head.as_ref());
        let message = head.and_then(awaited).map(|letter| letter.to_string()).unwrap_or_default();
        GatherError::Line {
            file: lane.and_then(|lane| lane.track.life()).map(|life| life.file.clone()).unwrap_or_default(),
            line: head.map_or(0, |item| item.line),
            reason: format!("message {message} arrives, but it was not sent to this node, or arrived before"),
        }
    }
}

fn letter(id: MessageId, life: Incarnation) -> Letter {
    Letter { sender: id.sender, life, number: id.number }
}

/// The message that a step begins with.
fn awaited(item: &Item) -> Option<Letter> {
    match &item.entry {
        Entry::Step(LiveStep { input: InputLine::Message { id, life, .. }, .. }) => Some(letter(*id, *life)),
        Entry::Step(_) | Entry::World { .. } => None,
    }
}

/// What a node still waits for when nobody can go on.
fn stuck<S: Source>(lane: &Lane<'_, S>) -> Option<(Time, GatherError)> {
    let (item, life) = (lane.head.as_ref()?, lane.track.life()?);
    let message = awaited(item)?.to_string();
    Some((item.time, GatherError::Circle { file: life.file.clone(), line: item.line, message }))
}
