//! Replays a journal: every node takes the recorded inputs again, and must do again what is recorded.
//!
//! It does not matter which driver wrote the journal. Messages are found by their ids, timers by their names, and
//! the disk is what the recorded writes and crashes made of it; so the replay needs neither seed nor network.

use crate::journal::{Header, Journal, JournalError, Writer};
use crate::moment::{Done, Happening, MessageId, Moment, Observer, Sent, Taken, receivers};
use crate::world::disk::Disk;
use crate::world::{Condition, Simulated};
use quorate_core::{Describe, Effect, Effects, Incarnation, Input, NodeId, Note, Protocol, Sink, Time, WriteOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::BufRead;

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A node does something else than it did.
    #[error(
        "Line {line} does not replay: the algorithm does something else now, or the journal was altered.\n  \
         recorded: {recorded}\n  replayed: {replayed}"
    )]
    Differs {
        /// The line in the journal.
        line: u64,
        /// What stands there.
        recorded: String,
        /// What happens now.
        replayed: String,
    },
    /// The journal asks for something that cannot be.
    #[error("Line {line} cannot be replayed: {reason}.")]
    Impossible {
        /// The line in the journal.
        line: u64,
        /// Why.
        reason: String,
    },
}

/// Replays every line, and shows each to an observer too. Returns the number of lines.
pub fn replay<P, R, O>(
    journal: &mut Journal<R>,
    make: impl Fn(NodeId) -> P,
    observer: &mut O,
) -> Result<u64, ReplayError>
where
    P: Simulated<Command: Clone + DeserializeOwned, Event: DeserializeOwned>,
    WriteOf<P>: Serialize,
    R: BufRead,
    O: Observer<P::Command, P::Event>,
{
    let mut replayer = Replayer::new(journal.header(), make);
    loop {
        replayer.writer.out_mut().clear();
        if !journal.show(&mut Both { first: &mut replayer, second: observer })? {
            return Ok(journal.line());
        }
        if let Some(reason) = replayer.impossible.take() {
            return Err(ReplayError::Impossible { line: journal.line(), reason });
        }
        replayer.writer.close();
        let replayed = replayer.writer.out_mut().strip_suffix(b"\n").unwrap_or_default();
        if replayed != journal.text().as_bytes() {
            return Err(ReplayError::Differs {
                line: journal.line(),
                recorded: journal.text().to_owned(),
                replayed: String::from_utf8_lossy(replayed).into_owned(),
            });
        }
    }
}

struct Both<'a, A, B> {
    first: &'a mut A,
    second: &'a mut B,
}

impl<C, E, A: Observer<C, E>, B: Observer<C, E>> Observer<C, E> for Both<'_, A, B> {
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        self.first.observe(moment);
        self.second.observe(moment);
    }
}

struct Replayer<P: Simulated, M> {
    make: M,
    hosts: Vec<Host<P>>,
    under_way: Post<P>,
    writer: Writer<Vec<u8>>,
    impossible: Option<String>,
}

/// The messages under way: whom to, what they say, and how many copies may still arrive.
type Post<P> = HashMap<MessageId, (NodeId, <P as Protocol>::Message, u32)>;

struct Host<P: Simulated> {
    node: P,
    condition: Condition,
    /// The life that began last.
    life: Option<Incarnation>,
    sent: u64,
    timers: Vec<P::Timer>,
    disk: Disk<P>,
}

impl<P, M> Replayer<P, M>
where
    P: Simulated<Command: Clone>,
    WriteOf<P>: Serialize,
    M: Fn(NodeId) -> P,
{
    fn new(header: &Header, make: M) -> Self {
        let nodes = (0..header.nodes).map(NodeId::from_index);
        let host = |id| Host {
            node: make(id),
            condition: Condition::Down,
            life: None,
            sent: 0,
            timers: Vec::new(),
            disk: Disk::default(),
        };
        let hosts = nodes.map(host).collect();
        let writer = Writer::new(Vec::new(), header);
        Self { make, hosts, under_way: HashMap::new(), writer, impossible: None }
    }

    /// The recorded input as the node will take it, or why there is none.
    fn input(&mut self, node: NodeId, taken: &Taken<'_, P::Command>) -> Result<Input<P>, String> {
        let host = self.hosts.get_mut(node.index()).ok_or("there is no such node")?;
        match (host.condition, taken) {
            (Condition::Up, Taken::Start { .. }) => return Err(format!("node {node} is up, and starts only once")),
            (Condition::Up, _) | (Condition::Down, Taken::Start { .. }) => {}
            (Condition::Paused, _) => return Err(format!("node {node} is paused")),
            (Condition::Down, _) => return Err(format!("node {node} is down")),
        }
        Ok(match taken {
            Taken::Start { incarnation, blank } => {
                if host.life.is_some_and(|life| life >= *incarnation) {
                    return Err(format!("life {incarnation} of node {node} began before"));
                }
                host.life = Some(*incarnation);
                host.condition = Condition::Up;
                if *blank {
                    host.disk.wipe();
                }
                host.timers.clear();
                host.node = (self.make)(node);
                Input::Start { durable: host.disk.contents(), incarnation: *incarnation }
            }
            Taken::Command(command) => Input::Command((*command).clone()),
            Taken::Message { id, .. } => {
                let message = self.arrive(*id, node)?;
                Input::Message { from: id.sender, message }
            }
            Taken::Timer(body) => {
                let name = serde_json::to_string(body).map_err(|error| error.to_string())?;
                let fits = |timer: &P::Timer| serde_json::to_string(timer).is_ok_and(|text| text == name);
                let place = host.timers.iter().position(fits).ok_or_else(|| format!("no timer {name} is set"))?;
                Input::Timer(host.timers.swap_remove(place))
            }
            Taken::Saved(count) => {
                if !host.disk.can_confirm(*count) {
                    return Err(format!("node {node} has no save {count} that waits for its disk"));
                }
                host.disk.sync(*count);
                Input::Saved(*count)
            }
            Taken::Suspect(peer) => Input::Suspect(*peer),
            Taken::Trust(peer) => Input::Trust(*peer),
            Taken::View(view) => Input::View((*view).clone()),
        })
    }

    /// One copy of a message is no longer under way.
    fn arrive(&mut self, id: MessageId, at: NodeId) -> Result<P::Message, String> {
        match self.under_way.entry(id) {
            Entry::Occupied(mut entry) if entry.get().0 == at => {
                let (_, message, copies) = entry.get_mut();
                *copies -= 1;
                Ok(if *copies > 0 { message.clone() } else { entry.remove().1 })
            }
            Entry::Occupied(_) | Entry::Vacant(_) => Err(format!("no message {id} to node {at} is under way")),
        }
    }

    /// Writes an input down as it is, whatever the journal says of the message.
    fn write_input(&mut self, moment: &Moment<'_, P::Command, P::Event>, input: &Input<P>) {
        let (Input::Message { message, .. }, Moment::Input { time, now, node, input: Taken::Message { id, .. } }) =
            (input, moment)
        else {
            return self.writer.observe(moment);
        };
        let input = Taken::Message { id: *id, kind: message.kind(), wrapped: message.wrapped() };
        let moment: Moment<'_, P::Command, P::Event> = Moment::Input { time: *time, now: *now, node: *node, input };
        self.writer.observe(&moment);
    }

    fn step(&mut self, time: Time, now: Time, node: NodeId, input: Input<P>) {
        let Some(host) = self.hosts.get_mut(node.index()) else { return };
        let Host { node: protocol, sent, timers, disk, .. } = host;
        let released = matches!(input, Input::Saved(_));
        let mut sink =
            Echo { time, node, sent, timers, disk, under_way: &mut self.under_way, writer: &mut self.writer };
        if released {
            while let Some(effect) = sink.disk.release() {
                sink.carry_out(effect);
            }
        }
        protocol.step(now, input, &mut Effects::new(&mut sink));
    }

    fn happen(&mut self, what: &Happening<'_>) -> Result<(), String> {
        match what {
            Happening::Lost { id, to, .. } => self.arrive(*id, *to).map(|_| ()),
            Happening::Duplicated { id } => {
                let (_, _, copies) =
                    self.under_way.get_mut(id).ok_or_else(|| format!("no message {id} is under way"))?;
                *copies += 1;
                Ok(())
            }
            Happening::Crashed { node, lost_writes } => {
                let host = self.hosts.get_mut(node.index()).ok_or("there is no such node")?;
                host.condition = Condition::Down;
                let survivors = host.disk.pending().checked_sub(*lost_writes).ok_or_else(|| {
                    format!("node {node} cannot lose {lost_writes} writes: {} wait for its disk", host.disk.pending())
                })?;
                host.disk.crash(survivors);
                Ok(())
            }
            Happening::Paused { node } => self.turn(*node, Condition::Up, Condition::Paused),
            Happening::Resumed { node } => self.turn(*node, Condition::Paused, Condition::Up),
            Happening::Changed { .. } => Ok(()),
        }
    }

    fn turn(&mut self, node: NodeId, from: Condition, to: Condition) -> Result<(), String> {
        let host = self.hosts.get_mut(node.index()).ok_or("there is no such node")?;
        // One that is paused before it starts is not up, and need not be held back.
        if host.condition == from {
            host.condition = to;
        }
        Ok(())
    }
}

impl<P, M> Observer<P::Command, P::Event> for Replayer<P, M>
where
    P: Simulated<Command: Clone>,
    WriteOf<P>: Serialize,
    M: Fn(NodeId) -> P,
{
    fn observe(&mut self, moment: &Moment<'_, P::Command, P::Event>) {
        match moment {
            Moment::Input { time, now, node, input } => match self.input(*node, input) {
                Ok(taken) => {
                    self.write_input(moment, &taken);
                    self.step(*time, *now, *node, taken);
                }
                Err(reason) => self.impossible = Some(reason),
            },
            // What the journal says a node did is compared with what it does now, line by line.
            Moment::Effect { .. } => {}
            Moment::World { what, .. } => {
                self.impossible = self.happen(what).err();
                self.writer.observe(moment);
            }
        }
    }
}

/// Writes down what a node does now, and keeps what it sends.
struct Echo<'a, P: Simulated> {
    time: Time,
    node: NodeId,
    sent: &'a mut u64,
    timers: &'a mut Vec<P::Timer>,
    disk: &'a mut Disk<P>,
    under_way: &'a mut Post<P>,
    writer: &'a mut Writer<Vec<u8>>,
}

impl<P> Sink<P> for Echo<'_, P>
where
    P: Simulated,
    WriteOf<P>: Serialize,
{
    fn effect(&mut self, effect: Effect<P>) {
        if let Some(effect) = self.disk.admit(effect) {
            self.carry_out(effect);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        self.tell(match note {
            Note::Rule { rule, text } => Done::Rule { rule, text },
            Note::Handed { from, parcel } => Done::Handed { from, parcel },
        });
    }
}

impl<P> Echo<'_, P>
where
    P: Simulated,
    WriteOf<P>: Serialize,
{
    fn carry_out(&mut self, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, .. } => {
                let id = self.number(1);
                self.tell(Done::Send { to, sent: Sent::of(id, &message, true) });
                self.under_way.insert(id, (to, message, 1));
            }
            Effect::Multicast { to, message, .. } => {
                let first = self.number(to.others(self.node).count() as u64);
                self.tell(Done::Multicast { to: &to, sent: Sent::of(first, &message, true) });
                self.under_way.extend(receivers(&to, first).map(|(to, id)| (id, (to, message.clone(), 1))));
            }
            Effect::Save(write) => {
                self.tell(Done::Save(&write));
                self.disk.write(write);
            }
            Effect::SetTimer { timer, span } => {
                self.tell(Done::SetTimer { timer: &timer, span });
                self.timers.retain(|set| *set != timer);
                self.timers.push(timer);
            }
            Effect::CancelTimer(timer) => {
                if self.timers.contains(&timer) {
                    self.tell(Done::CancelTimer(&timer));
                    self.timers.retain(|set| *set != timer);
                }
            }
            Effect::Emit { event, .. } => self.tell(Done::Emit(&event)),
        }
    }

    fn number(&mut self, transmissions: u64) -> MessageId {
        let id = MessageId { sender: self.node, number: *self.sent + 1 };
        *self.sent += transmissions;
        id
    }

    fn tell(&mut self, effect: Done<'_, P::Event>) {
        let moment: Moment<'_, P::Command, P::Event> = Moment::Effect { time: self.time, node: self.node, effect };
        self.writer.observe(&moment);
    }
}
