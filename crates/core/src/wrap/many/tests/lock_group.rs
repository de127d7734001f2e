//! A group of nodes that share named locks, on a network that may reorder messages.

use crate::fence::Fence;
use crate::mutex::{Command, Event, Links};
use crate::wrap::prelude::*;
use crate::wrap::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};

/// The nodes, the messages in flight, and the state of each lock as its clients see it.
pub(super) struct LockGroup<P: OneOfMany> {
    pub(super) nodes: Vec<Many<&'static str, P>>,
    /// Messages in flight, oldest first.
    pub(super) in_flight: Vec<InFlight<P>>,
    links: Links,
    /// The node that holds each lock.
    pub(super) holders: BTreeMap<&'static str, NodeId>,
    /// The pending requests, by lock and node.
    pub(super) waiting: BTreeSet<(&'static str, NodeId)>,
    /// The fences of each lock, in the order of its entries.
    pub(super) fences: BTreeMap<&'static str, Vec<Fence>>,
}

pub(super) struct InFlight<P: Protocol> {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) message: Named<&'static str, P::Message>,
}

impl<P: OneOfMany<Command = Command, Event = Event>> LockGroup<P> {
    pub(super) fn new(size: usize, new_lock: impl Fn(NodeId, Group) -> P) -> Self {
        let group = Group::of_size(size);
        let nodes = group.iter().map(|me| Many::new(new_lock(me, group.clone()), Limits::default())).collect();
        let (holders, waiting, fences) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut locks = Self { nodes, in_flight: Vec::new(), links: Links::AnyOrder, holders, waiting, fences };
        for me in group.iter() {
            locks.step(me, Input::Start { durable: ManyDurable::default(), incarnation: Incarnation::FIRST });
        }
        locks
    }

    /// The same group on FIFO links.
    pub(super) fn with_fifo_links(self) -> Self {
        Self { links: Links::Fifo, ..self }
    }

    /// Gives a command for lock `name` to the node with this number, counted from 1.
    pub(super) fn command(&mut self, node_number: usize, command: Command, name: &'static str) -> Vec<Event> {
        let node = NodeId::from_index(node_number - 1);
        if matches!(command, Command::Acquire | Command::Try) {
            self.waiting.insert((name, node));
        }
        self.step(node, Input::Command(Named { name, inner: command }))
    }

    /// Delivers the message at this index of `in_flight`, or on FIFO links the oldest one with the
    /// same sender and receiver.
    pub(super) fn deliver(&mut self, index: usize) {
        let InFlight { from, to, .. } = self.in_flight[index];
        let index = match self.links {
            Links::AnyOrder => index,
            Links::Fifo => {
                self.in_flight.iter().position(|other| (other.from, other.to) == (from, to)).unwrap_or(index)
            }
        };
        let InFlight { message, .. } = self.in_flight.remove(index);
        self.step(to, Input::Message { from, message });
    }

    /// Delivers every message in flight that `matches`, until none does.
    pub(super) fn deliver_all(&mut self, matches: impl Fn(&InFlight<P>) -> bool) {
        while let Some(index) = self.in_flight.iter().position(&matches) {
            self.deliver(index);
        }
    }

    /// Gives a node an input, queues the messages that it sends, and returns its events.
    fn step(&mut self, me: NodeId, input: Input<Many<&'static str, P>>) -> Vec<Event> {
        let mut effects = Vec::new();
        self.nodes[me.index()].step(Time::ZERO, input, &mut Effects::new(&mut effects));
        let mut events = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.in_flight.push(InFlight { from: me, to, message }),
                Effect::Multicast { to, message, .. } => {
                    let messages = to.others(me).map(|to| InFlight { from: me, to, message: message.clone() });
                    self.in_flight.extend(messages);
                }
                Effect::Emit { event: ManyEvent::Instance { name, event }, .. } => {
                    self.check_event(me, name, event);
                    events.push(event);
                }
                Effect::Emit { event: ManyEvent::TooManyNames { .. } | ManyEvent::NameTooLong { .. }, .. } => {
                    panic!("the test stays far below the limits");
                }
                // No timer fires here, and no node restarts.
                Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
        events
    }

    /// Records an event, and checks that each lock has at most one holder and that its fences
    /// increase.
    fn check_event(&mut self, me: NodeId, name: &'static str, event: Event) {
        match event {
            Event::Entered { fence, .. } => {
                let previous = self.holders.insert(name, me);
                assert_eq!(previous, None, "{me} enters {name}, which already has a holder");
                assert!(self.waiting.remove(&(name, me)), "{me} enters {name} without a request");
                let fences = self.fences.entry(name).or_default();
                assert!(fences.last() < Some(&fence), "{fence} comes after {fences:?}");
                fences.push(fence);
            }
            Event::Left => assert_eq!(self.holders.remove(name), Some(me)),
            Event::Denied | Event::Cancelled => assert!(self.waiting.remove(&(name, me))),
            Event::Extended { .. } | Event::Lost => panic!("{me} has no lease on {name}"),
            Event::Refused(refusal) => panic!("{me} refuses a command for {name}: {refusal}"),
        }
    }
}
