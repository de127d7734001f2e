//! A group of nodes that share named locks, on a network that reorders unless it is told to keep the order.

use crate::fence::Fence;
use crate::mutex::{Command, Event, Links};
use crate::wrap::prelude::*;
use crate::wrap::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};

pub(super) struct Table<P: OneOfMany> {
    pub(super) nodes: Vec<Many<&'static str, P>>,
    /// What was sent and has not arrived, oldest first.
    pub(super) under_way: Vec<Letter<P>>,
    links: Links,
    pub(super) inside: BTreeMap<&'static str, NodeId>,
    pub(super) waiting: BTreeSet<(&'static str, NodeId)>,
    pub(super) fences: BTreeMap<&'static str, Vec<Fence>>,
}

pub(super) struct Letter<P: Protocol> {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) message: Named<&'static str, P::Message>,
}

impl<P: OneOfMany<Command = Command, Event = Event>> Table<P> {
    pub(super) fn new(size: usize, make: impl Fn(NodeId, Group) -> P) -> Self {
        let group = Group::of_size(size);
        let nodes = group.iter().map(|me| Many::new(make(me, group.clone()), Limits::default())).collect();
        let (inside, waiting, fences) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let mut table = Self { nodes, under_way: Vec::new(), links: Links::AnyOrder, inside, waiting, fences };
        for me in group.iter() {
            table.step(me, Input::Start { durable: ManyDurable::default(), incarnation: Incarnation::FIRST });
        }
        table
    }

    /// The same on links that keep the order.
    pub(super) fn in_order(self) -> Self {
        Self { links: Links::Fifo, ..self }
    }

    pub(super) fn ask(&mut self, node: usize, command: Command, name: &'static str) -> Vec<Event> {
        let node = NodeId::from_index(node - 1);
        if matches!(command, Command::Acquire | Command::Try) {
            self.waiting.insert((name, node));
        }
        self.step(node, Input::Command(Named { name, inner: command }))
    }

    pub(super) fn deliver(&mut self, place: usize) {
        let Letter { from, to, .. } = self.under_way[place];
        let place = match self.links {
            Links::AnyOrder => place,
            Links::Fifo => self.under_way.iter().position(|old| (old.from, old.to) == (from, to)).unwrap_or(place),
        };
        let Letter { message, .. } = self.under_way.remove(place);
        self.step(to, Input::Message { from, message });
    }

    /// Delivers everything under way that fits, until nothing does.
    pub(super) fn deliver_all(&mut self, fits: impl Fn(&Letter<P>) -> bool) {
        while let Some(place) = self.under_way.iter().position(&fits) {
            self.deliver(place);
        }
    }

    fn step(&mut self, me: NodeId, input: Input<Many<&'static str, P>>) -> Vec<Event> {
        let mut effects = Vec::new();
        self.nodes[me.index()].step(Time::ZERO, input, &mut Effects::new(&mut effects));
        let mut events = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.under_way.push(Letter { from: me, to, message }),
                Effect::Multicast { to, message, .. } => {
                    let letters = to.others(me).map(|to| Letter { from: me, to, message: message.clone() });
                    self.under_way.extend(letters);
                }
                Effect::Emit { event: ManyEvent::Of { name, event }, .. } => {
                    self.witness(me, name, event);
                    events.push(event);
                }
                Effect::Emit { event: ManyEvent::Full { .. } | ManyEvent::BadName { .. }, .. } => {
                    panic!("no limit is near");
                }
                Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
        events
    }

    /// Checks what must always hold of a lock: one inside, and fences that grow.
    fn witness(&mut self, me: NodeId, name: &'static str, event: Event) {
        match event {
            Event::Entered { fence, .. } => {
                let other = self.inside.insert(name, me);
                assert_eq!(other, None, "{me} enters {name}, which is not free");
                assert!(self.waiting.remove(&(name, me)), "{me} enters {name} unasked");
                let fences = self.fences.entry(name).or_default();
                assert!(fences.last() < Some(&fence), "{fence} comes after {fences:?}");
                fences.push(fence);
            }
            Event::Left => assert_eq!(self.inside.remove(name), Some(me)),
            Event::Denied | Event::Cancelled => assert!(self.waiting.remove(&(name, me))),
            Event::Extended { .. } | Event::Lost => panic!("{me} has no lease on {name}"),
            Event::Refused(refusal) => panic!("{me} refuses to touch {name}: {refusal}"),
        }
    }
}
