//! Nodes on strings: they take exactly the inputs they are given, with no network, clock or dice of their own.
//!
//! Messages are found by their ids, timers by their names, and the disk is what the given writes and crashes make of
//! it. A replay pulls the strings as a journal says, a counterexample as the checker found it.

use crate::Recordable;
use crate::disk::Disk;
use crate::moment::{Done, Happening, MessageId, Moment, Observer, Sent, Taken, receivers};
use quorate_core::{Describe, Effect, Effects, Incarnation, Input, NodeId, Note, Protocol, Sink, Time, WriteOf};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Whether a node can take inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Up,
    /// It stands still, and what arrives waits.
    Paused,
    Down,
}

/// A group of nodes that do what they are told, and an observer that sees what comes of it.
pub struct Puppets<P: Recordable, M, O> {
    make: M,
    hosts: Vec<Host<P>>,
    under_way: Post<P>,
    observer: O,
}

/// The messages under way: whom to, what they say, and how many copies may still arrive.
type Post<P> = BTreeMap<MessageId, (NodeId, <P as Protocol>::Message, u32)>;

struct Host<P: Recordable> {
    node: P,
    condition: Condition,
    /// The life that began last.
    life: Option<Incarnation>,
    sent: u64,
    timers: Vec<P::Timer>,
    disk: Disk<P>,
}

impl<P, M, O> Puppets<P, M, O>
where
    P: Recordable<Command: Clone>,
    WriteOf<P>: Serialize,
    M: Fn(NodeId) -> P,
    O: Observer<P::Command, P::Event>,
{
    /// So many nodes, none of which has started.
    pub fn new(nodes: usize, make: M, observer: O) -> Self {
        let host = |id| Host {
            node: make(id),
            condition: Condition::Down,
            life: None,
            sent: 0,
            timers: Vec::new(),
            disk: Disk::default(),
        };
        let hosts = (0..nodes).map(NodeId::from_index).map(host).collect();
        Self { make, hosts, under_way: BTreeMap::new(), observer }
    }

    /// The observer.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// The observer, and the end of the nodes.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// A node's state.
    pub fn node(&self, node: NodeId) -> Option<&P> {
        self.hosts.get(node.index()).map(|host| &host.node)
    }

    /// How many of a node's writes are not durable.
    pub fn pending_writes(&self, node: NodeId) -> u64 {
        self.hosts.get(node.index()).map_or(0, |host| host.disk.pending())
    }

    /// How many saves of its present life a sync of all that is pending confirms, if anything is.
    pub fn unsynced(&self, node: NodeId) -> Option<u64> {
        self.hosts.get(node.index()).and_then(|host| host.disk.unsynced())
    }

    /// The messages under way, those of a sender in the order in which they were sent.
    pub fn under_way(&self) -> impl Iterator<Item = (MessageId, NodeId, &P::Message)> {
        self.under_way.iter().map(|(id, (to, message, _))| (*id, *to, message))
    }

    /// The input as the node will take it, or why there is none.
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
            Taken::DiskFull => Input::DiskFull,
            Taken::DiskFree => Input::DiskFree,
            Taken::View(view) => Input::View((*view).clone()),
            Taken::Lease(until) => Input::Lease(*until),
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

    /// Gives a node an input at a true time and an instant of its own clock, or says why that cannot be.
    pub fn take(&mut self, time: Time, now: Time, node: NodeId, taken: &Taken<'_, P::Command>) -> Result<(), String> {
        let input = self.input(node, taken)?;
        self.tell_input(time, now, node, taken, &input);
        let Some(host) = self.hosts.get_mut(node.index()) else { return Ok(()) };
        let Host { node: protocol, sent, timers, disk, .. } = host;
        let released = matches!(input, Input::Saved(_));
        let mut sink =
            Strings { time, node, sent, timers, disk, under_way: &mut self.under_way, observer: &mut self.observer };
        if released {
            while let Some(effect) = sink.disk.release() {
                sink.carry_out(effect);
            }
        }
        protocol.step(now, input, &mut Effects::new(&mut sink));
        Ok(())
    }

    /// Tells of an input as it is, whatever is said of the message.
    fn tell_input(&mut self, time: Time, now: Time, node: NodeId, taken: &Taken<'_, P::Command>, input: &Input<P>) {
        let input = match (input, taken) {
            (Input::Message { message, .. }, Taken::Message { id, life, .. }) => {
                Taken::Message { id: *id, kind: message.kind(), wrapped: message.wrapped(), life: *life }
            }
            _ => *taken,
        };
        self.observer.observe(&Moment::Input { time, now, node, input });
    }

    /// Lets the world do something, or says why that cannot be.
    pub fn happen(&mut self, time: Time, what: &Happening<'_>) -> Result<(), String> {
        self.bring_about(what)?;
        self.observer.observe(&Moment::World { time, what: *what });
        Ok(())
    }

    fn bring_about(&mut self, what: &Happening<'_>) -> Result<(), String> {
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
            Happening::Ended { node } => {
                self.hosts.get_mut(node.index()).ok_or("there is no such node")?.condition = Condition::Down;
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

/// Tells what a node does, and keeps what it sends.
struct Strings<'a, P: Recordable, O> {
    time: Time,
    node: NodeId,
    sent: &'a mut u64,
    timers: &'a mut Vec<P::Timer>,
    disk: &'a mut Disk<P>,
    under_way: &'a mut Post<P>,
    observer: &'a mut O,
}

impl<P, O> Sink<P> for Strings<'_, P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
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
            Note::Told(told) => Done::Told(told),
            Note::HoldBack { count, names } => Done::HoldBack { count, names },
        });
    }
}

impl<P, O> Strings<'_, P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
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
        self.observer.observe(&moment);
    }
}
