//! Nodes for replays: they take exactly the inputs they are given, without a network, a clock or
//! random numbers.
//!
//! Inputs name messages by their ids and timers by their values. The content of a disk follows from
//! the writes of the node and the given inputs and crashes. A replay takes the inputs from a
//! journal; a counterexample takes them from the checker.

use crate::Recordable;
use crate::disk::Disk;
use crate::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent, receivers};
use quorate_core::{Describe, Effect, Effects, Incarnation, Input, NodeId, Note, Protocol, Sink, Time, WriteOf};
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Whether a node can take inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Up,
    /// The node takes no inputs until it resumes.
    Paused,
    Down,
}

/// The `needs_size` of [`Sent::new`]: a replay compares sizes with those in its journal.
const NEEDS_SIZES: bool = true;

/// A group of nodes that take given inputs, and an observer that sees the resulting moments.
pub struct ReplayNodes<P: Recordable, M, O> {
    make_node: M,
    hosts: Vec<Host<P>>,
    in_flight: InFlight<P>,
    observer: O,
}

/// Messages in flight: receiver, message, and the number of copies that may still arrive.
type InFlight<P> = BTreeMap<MessageId, (NodeId, <P as Protocol>::Message, u32)>;

struct Host<P: Recordable> {
    node: P,
    condition: Condition,
    /// The latest incarnation, or `None` before the first start.
    incarnation: Option<Incarnation>,
    /// Number of transmissions in all incarnations.
    sent_count: u64,
    /// The timers that are set.
    timers: Vec<P::Timer>,
    disk: Disk<P>,
}

impl<P, M, O> ReplayNodes<P, M, O>
where
    P: Recordable<Command: Clone>,
    WriteOf<P>: Serialize,
    M: Fn(NodeId) -> P,
    O: Observer<P::Command, P::Event>,
{
    /// Creates `nodes` nodes, none of which has started.
    pub fn new(nodes: usize, make_node: M, observer: O) -> Self {
        let host = |id| Host {
            node: make_node(id),
            condition: Condition::Down,
            incarnation: None,
            sent_count: 0,
            timers: Vec::new(),
            disk: Disk::default(),
        };
        let hosts = (0..nodes).map(NodeId::from_index).map(host).collect();
        Self { make_node, hosts, in_flight: BTreeMap::new(), observer }
    }

    /// Returns the observer of the replayed moments.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Returns the observer and drops the nodes.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Returns a node's state.
    pub fn node(&self, node: NodeId) -> Option<&P> {
        self.hosts.get(node.index()).map(|host| &host.node)
    }

    /// Number of a node's writes that are not durable.
    pub fn pending_writes(&self, node: NodeId) -> u64 {
        self.hosts.get(node.index()).map_or(0, |host| host.disk.pending_writes())
    }

    /// Returns how many saves of a node's current incarnation will be durable after a sync of all
    /// pending writes, or `None` if no write is pending.
    pub fn saves_after_sync(&self, node: NodeId) -> Option<u64> {
        self.hosts.get(node.index()).and_then(|host| host.disk.saves_after_sync())
    }

    /// Returns the messages in flight with their receivers, grouped by sender in sending order.
    pub fn in_flight(&self) -> impl Iterator<Item = (MessageId, NodeId, &P::Message)> {
        self.in_flight.iter().map(|(id, (to, message, _))| (*id, *to, message))
    }

    /// Applies a given input to the node's host: a start makes a new node, a message or timer is
    /// removed, a confirmed save becomes durable. Returns the input for the protocol, or the reason
    /// why the node cannot take it, in which case nothing changes.
    fn apply_input(&mut self, node: NodeId, input: &ObservedInput<'_, P::Command>) -> Result<Input<P>, String> {
        let host = self.hosts.get_mut(node.index()).ok_or("the group has no such node")?;
        match (host.condition, input) {
            (Condition::Up, ObservedInput::Start { .. }) => return Err(format!("node {node} is already up")),
            (Condition::Up, _) | (Condition::Down, ObservedInput::Start { .. }) => {}
            (Condition::Paused, _) => return Err(format!("node {node} is paused")),
            (Condition::Down, _) => return Err(format!("node {node} is down")),
        }
        Ok(match input {
            ObservedInput::Start { incarnation, is_disk_blank } => {
                if host.incarnation.is_some_and(|latest| latest >= *incarnation) {
                    return Err(format!("incarnation {incarnation} of node {node} has already started"));
                }
                host.incarnation = Some(*incarnation);
                host.condition = Condition::Up;
                if *is_disk_blank {
                    host.disk.wipe();
                }
                host.timers.clear();
                host.node = (self.make_node)(node);
                Input::Start { durable: host.disk.contents(), incarnation: *incarnation }
            }
            ObservedInput::Command(command) => Input::Command((*command).clone()),
            ObservedInput::Message { id, .. } => {
                let message = self.remove_copy(*id, node)?;
                Input::Message { from: id.sender, message }
            }
            ObservedInput::Timer(body) => {
                let name = serde_json::to_string(body).map_err(|error| error.to_string())?;
                let matches = |timer: &P::Timer| serde_json::to_string(timer).is_ok_and(|text| text == name);
                let index = host
                    .timers
                    .iter()
                    .position(matches)
                    .ok_or_else(|| format!("node {node} has not set timer {name}"))?;
                Input::Timer(host.timers.swap_remove(index))
            }
            ObservedInput::Saved(count) => {
                if !host.disk.can_confirm(*count) {
                    return Err(format!("node {node} has no pending save {count}"));
                }
                host.disk.sync(*count);
                Input::Saved(*count)
            }
            ObservedInput::Suspect(peer) => Input::Suspect(*peer),
            ObservedInput::Trust(peer) => Input::Trust(*peer),
            ObservedInput::DiskFull => Input::DiskFull,
            ObservedInput::DiskFree => Input::DiskFree,
            ObservedInput::View(view) => Input::View((*view).clone()),
            ObservedInput::Lease(until) => Input::Lease(*until),
            ObservedInput::EndOfTurn => Input::EndOfTurn,
        })
    }

    /// Removes one copy of a message in flight to node `to` and returns the message.
    fn remove_copy(&mut self, id: MessageId, to: NodeId) -> Result<P::Message, String> {
        match self.in_flight.entry(id) {
            Entry::Occupied(mut entry) if entry.get().0 == to => {
                let (_, message, copies) = entry.get_mut();
                *copies -= 1;
                Ok(if *copies > 0 { message.clone() } else { entry.remove().1 })
            }
            Entry::Occupied(_) | Entry::Vacant(_) => Err(format!("no message {id} to node {to} is in flight")),
        }
    }

    /// Gives a node an input at the true time `time`, when its own clock shows `now`. Returns the
    /// reason if the node cannot take it.
    pub fn give_input(
        &mut self,
        time: Time,
        now: Time,
        node: NodeId,
        input: &ObservedInput<'_, P::Command>,
    ) -> Result<(), String> {
        let protocol_input = self.apply_input(node, input)?;
        self.observe_input(time, now, node, input, &protocol_input);
        let Some(host) = self.hosts.get_mut(node.index()) else { return Ok(()) };
        let Host { node: protocol, sent_count, timers, disk, .. } = host;
        let confirms_saves = matches!(protocol_input, Input::Saved(_));
        let mut sink = ReplaySink {
            time,
            node,
            sent_count,
            timers,
            disk,
            in_flight: &mut self.in_flight,
            observer: &mut self.observer,
        };
        // Effects of earlier steps that waited for these saves come before those of this step.
        if confirms_saves {
            while let Some(effect) = sink.disk.release() {
                sink.carry_out(effect);
            }
        }
        protocol.step(now, protocol_input, &mut Effects::new(&mut sink));
        Ok(())
    }

    /// Shows an input to the observer. The kind of a message comes from the message itself: a
    /// journal may give a former name of the kind, and the checker gives none.
    fn observe_input(
        &mut self,
        time: Time,
        now: Time,
        node: NodeId,
        input: &ObservedInput<'_, P::Command>,
        protocol_input: &Input<P>,
    ) {
        let input = match (protocol_input, input) {
            (Input::Message { message, .. }, ObservedInput::Message { id, incarnation, .. }) => {
                ObservedInput::Message {
                    id: *id,
                    kind: message.kind(),
                    is_wrapped: message.is_wrapped(),
                    incarnation: *incarnation,
                }
            }
            _ => *input,
        };
        self.observer.observe(&Moment::Input { time, now, node, input });
    }

    /// Applies a world event. Returns the reason if it is impossible in the current state.
    pub fn apply_world_event(&mut self, time: Time, event: &WorldEvent<'_>) -> Result<(), String> {
        self.apply_unobserved(event)?;
        self.observer.observe(&Moment::World { time, event: *event });
        Ok(())
    }

    /// Applies a world event without showing it to the observer.
    fn apply_unobserved(&mut self, event: &WorldEvent<'_>) -> Result<(), String> {
        match event {
            WorldEvent::Lost { id, to, .. } => self.remove_copy(*id, *to).map(|_| ()),
            WorldEvent::Duplicated { id } => {
                let (_, _, copies) =
                    self.in_flight.get_mut(id).ok_or_else(|| format!("no message {id} is in flight"))?;
                *copies += 1;
                Ok(())
            }
            WorldEvent::Crashed { node, lost_writes } => {
                let host = self.hosts.get_mut(node.index()).ok_or("the group has no such node")?;
                host.condition = Condition::Down;
                let survivors = host.disk.pending_writes().checked_sub(*lost_writes).ok_or_else(|| {
                    format!(
                        "node {node} cannot lose {lost_writes} writes: it has {} pending",
                        host.disk.pending_writes()
                    )
                })?;
                host.disk.crash(survivors);
                Ok(())
            }
            WorldEvent::Ended { node } => {
                self.hosts.get_mut(node.index()).ok_or("the group has no such node")?.condition = Condition::Down;
                Ok(())
            }
            WorldEvent::Paused { node } => self.change_condition(*node, Condition::Up, Condition::Paused),
            WorldEvent::Resumed { node } => self.change_condition(*node, Condition::Paused, Condition::Up),
            WorldEvent::Changed { .. } => Ok(()),
        }
    }

    /// Changes the condition of a node from `from` to `to`. Does nothing if it is not `from`.
    fn change_condition(&mut self, node: NodeId, from: Condition, to: Condition) -> Result<(), String> {
        let host = self.hosts.get_mut(node.index()).ok_or("the group has no such node")?;
        // A node that is paused before it starts stays down.
        if host.condition == from {
            host.condition = to;
        }
        Ok(())
    }
}

/// Shows a node's effects to the observer, puts the messages that it sends in flight, and updates
/// its timers and disk.
struct ReplaySink<'a, P: Recordable, O> {
    time: Time,
    node: NodeId,
    sent_count: &'a mut u64,
    timers: &'a mut Vec<P::Timer>,
    disk: &'a mut Disk<P>,
    in_flight: &'a mut InFlight<P>,
    observer: &'a mut O,
}

impl<P, O> Sink<P> for ReplaySink<'_, P, O>
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
        self.observe(match note {
            Note::Rule { rule, text } => ObservedEffect::Rule { rule, text },
            Note::Delivered { from, payload } => ObservedEffect::Delivered { from, payload_id: payload },
            Note::Membership(note) => ObservedEffect::Membership(note),
            Note::HoldBack { count, names } => ObservedEffect::HoldBack { count, names },
        });
    }
}

impl<P, O> ReplaySink<'_, P, O>
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
{
    /// Carries out an effect that need not wait for writes any more.
    fn carry_out(&mut self, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message, .. } => {
                let id = self.reserve_ids(1);
                self.observe(ObservedEffect::Send { to, sent: Sent::new(id, &message, NEEDS_SIZES) });
                self.in_flight.insert(id, (to, message, 1));
            }
            Effect::Multicast { to, message, .. } => {
                let first = self.reserve_ids(to.others(self.node).count() as u64);
                self.observe(ObservedEffect::Multicast { to: &to, sent: Sent::new(first, &message, NEEDS_SIZES) });
                self.in_flight.extend(receivers(&to, first).map(|(to, id)| (id, (to, message.clone(), 1))));
            }
            Effect::Save(write) => {
                self.observe(ObservedEffect::Save(&write));
                self.disk.write(write);
            }
            Effect::SetTimer { timer, span } => {
                self.observe(ObservedEffect::SetTimer { timer: &timer, span });
                self.timers.retain(|other| *other != timer);
                self.timers.push(timer);
            }
            Effect::CancelTimer(timer) => {
                // No driver records the cancellation of a timer that is not set.
                if self.timers.contains(&timer) {
                    self.observe(ObservedEffect::CancelTimer(&timer));
                    self.timers.retain(|other| *other != timer);
                }
            }
            Effect::Emit { event, .. } => self.observe(ObservedEffect::Emit(&event)),
        }
    }

    /// Reserves ids for this many transmissions and returns the first.
    fn reserve_ids(&mut self, transmissions: u64) -> MessageId {
        let id = MessageId { sender: self.node, number: *self.sent_count + 1 };
        *self.sent_count += transmissions;
        id
    }

    fn observe(&mut self, effect: ObservedEffect<'_, P::Event>) {
        let moment: Moment<'_, P::Command, P::Event> = Moment::Effect { time: self.time, node: self.node, effect };
        self.observer.observe(&moment);
    }
}
