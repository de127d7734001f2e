//! Many resources side by side: one instance of a protocol per name.
//!
//! Every command, message, timer and write bears the name of the instance it belongs to. An instance comes into
//! being when its name is first heard of and is forgotten when it is idle, so that a name costs something only
//! while it is in use. What must outlive the forgotten ones, such as the largest clock reading and the largest
//! fence, is one floor for the whole node, and every later instance starts from it.
//!
//! ```text
//! MA-1  a command or a message, first for its name  → an instance is born: a copy of the template, which is told
//!                                                     of the node's start, its view, whom it suspects
//!                                                     and of a full disk
//! MA-2  an input for a name                         → its instance takes it; what that causes bears the name
//! MA-3  an instance is idle after a step            → raise the template to its floor and forget it, unless it
//!                                                     has a timer set or ever saved something
//! MA-4  news of a peer, of the view or of the disk  → tell every instance, and remember it for those to be born
//! MA-5  saves become durable                        → tell each instance how many of its own
//! MA-6  a name too many or too long                 → refuse the command, drop the message
//! MA-7  the node starts                             → each name that ever saved something is born with that;
//!                                                     if the disk was lost, any other is told so at its birth
//! ```
//!
//! Cost: no message of its own.
//!
//! Assumes: what the protocol inside assumes. All nodes have the same limits. A peer may bring to life twice as many
//! instances as it may have names in use, since what it has done with may still be under way; if it can have more
//! than that under way, messages are lost.
//!
//! When it fails: the floor is not durable, so after a restart only names that saved something know of their past.
//! These are never forgotten: a protocol that saves needs room for every name it is ever used with.

mod named;
#[cfg(test)]
mod tests;

pub use named::{ManyDurable, ManyEvent, Named};

use crate::wrap::prelude::*;

/// How many times as many instances a peer may bring to life as it may have names in use itself.
const UNDER_WAY: usize = 2;

/// What a protocol offers to be one of many: its idle instances can be forgotten.
pub trait OneOfMany: Protocol + Clone {
    /// What must outlive a forgotten instance, such as the largest clock reading and the largest fence.
    type Floor: Clone + Default;

    /// Whether forgetting this instance now, all but its floor, changes nothing that anyone can see.
    fn is_idle(&self) -> bool;

    /// What a later instance must not fall below.
    fn floor(&self) -> Self::Floor;

    /// Lifts this instance to at least that floor.
    fn raise(&mut self, floor: &Self::Floor);
}

/// One node of as many instances of a protocol as there are names in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Many<Name, P: OneOfMany> {
    limits: Fixed<Limits>,
    /// What an instance is when it is born. It has the floor of all that were forgotten.
    template: P,
    instances: BTreeMap<Name, Instance<P, P::Timer>>,
    /// How many instances each maker has.
    made: BTreeMap<Maker, usize>,
    life: Option<Incarnation>,
    view: Option<View>,
    /// Up to when the node may act in its view.
    lease: Option<Time>,
    suspected: BTreeSet<NodeId>,
    disk_is_full: bool,
    /// Whether an earlier life's disk was lost, and with it what any instance may have saved.
    was_wiped: bool,
    /// Whose saves are not durable yet, in the order they were asked for.
    unsaved: VecDeque<Name>,
    /// How many saves since the start are durable.
    saved: u64,
}

/// How much a node takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many names the commands of one node may have in use at a time.
    pub names: usize,
    /// How long a name may be, in bytes.
    pub name_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { names: 1_024, name_bytes: 256 }
    }
}

/// One instance, with what it has under way outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Instance<P, T> {
    protocol: P,
    maker: Maker,
    timers: Vec<T>,
    /// Whether it ever saved something, in this life or in an earlier one.
    keeps: bool,
    /// How many of its saves since the start are durable.
    saved: u64,
}

/// Whose limit an instance counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Maker {
    Us,
    /// The peer's whose message brought it to life.
    Peer(NodeId),
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> Protocol for Many<Name, P> {
    type Command = Named<Name, P::Command>;
    type Message = Named<Name, P::Message>;
    type Timer = Named<Name, P::Timer>;
    type Event = ManyEvent<Name, P::Event>;
    type Durable = ManyDurable<Name, P::Durable>;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => self.start(now, durable, incarnation, out),
            Input::Command(Named { name, inner }) => self.command(now, name, inner, out),
            Input::Message { from, message: Named { name, inner } } => self.receive(now, from, name, inner, out),
            Input::Timer(Named { name, inner }) => self.wake(now, name, inner, out),
            Input::Saved(count) => self.confirm(now, count, out),
            Input::Suspect(node) => {
                self.suspected.insert(node);
                self.tell_all(now, || Input::Suspect(node), out);
            }
            Input::Trust(node) => {
                self.suspected.remove(&node);
                self.tell_all(now, || Input::Trust(node), out);
            }
            Input::DiskFull => {
                self.disk_is_full = true;
                self.tell_all(now, || Input::DiskFull, out);
            }
            Input::DiskFree => {
                self.disk_is_full = false;
                self.tell_all(now, || Input::DiskFree, out);
            }
            Input::View(view) => {
                self.view = Some(view.clone());
                self.tell_all(now, || Input::View(view.clone()), out);
            }
            Input::Lease(until) => {
                self.lease = Some(until);
                self.tell_all(now, || Input::Lease(until), out);
            }
        }
        self.assert_invariants();
    }
}

impl<Name, P: OneOfMany> Many<Name, P> {
    /// A node with no name in use, whose instances are all born like this template.
    pub fn new(template: P, limits: Limits) -> Self {
        Self {
            limits: Fixed::new(limits),
            template,
            instances: BTreeMap::new(),
            made: BTreeMap::new(),
            life: None,
            view: None,
            lease: None,
            suspected: BTreeSet::new(),
            disk_is_full: false,
            was_wiped: false,
            unsaved: VecDeque::new(),
            saved: 0,
        }
    }

    /// How many instances there are at present.
    pub fn live(&self) -> usize {
        self.instances.len()
    }

    /// The instance with this name, if there is one at present.
    pub fn get(&self, name: &Name) -> Option<&P>
    where
        Name: Ord,
    {
        self.instances.get(name).map(|instance| &instance.protocol)
    }
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> Many<Name, P> {
    /// MA-7. A life begins with what was durable and nothing else.
    fn start(
        &mut self,
        now: Time,
        durable: ManyDurable<Name, P::Durable>,
        incarnation: Incarnation,
        out: &mut Effects<'_, Self>,
    ) {
        let ManyDurable { parts, was_wiped } = durable;
        *self = Self { life: Some(incarnation), was_wiped, ..Self::new(self.template.clone(), *self.limits) };
        for (name, part) in parts {
            self.bear(now, &name, Maker::Us, Some(part), out);
        }
    }

    /// MA-1. A newborn instance is told what it missed.
    fn bear(&mut self, now: Time, name: &Name, maker: Maker, durable: Option<P::Durable>, out: &mut Effects<'_, Self>) {
        let keeps = durable.is_some();
        let protocol = self.template.clone();
        let mut newborn = Instance { protocol, maker, timers: Vec::new(), keeps, saved: 0 };
        if let Some(incarnation) = self.life {
            let durable = durable.unwrap_or_else(|| named::unsaved(self.was_wiped));
            let start = Input::Start { durable, incarnation };
            newborn.step(now, name, start, &mut self.unsaved, out);
        }
        if let Some(view) = &self.view {
            newborn.step(now, name, Input::View(view.clone()), &mut self.unsaved, out);
        }
        if let Some(until) = self.lease {
            newborn.step(now, name, Input::Lease(until), &mut self.unsaved, out);
        }
        for node in &self.suspected {
            newborn.step(now, name, Input::Suspect(*node), &mut self.unsaved, out);
        }
        if self.disk_is_full {
            newborn.step(now, name, Input::DiskFull, &mut self.unsaved, out);
        }
        self.instances.insert(name.clone(), newborn);
        self.count(maker);
    }

    /// MA-2, MA-6. A name that a peer brought to life counts for us too once we use it.
    fn command(&mut self, now: Time, name: Name, command: P::Command, out: &mut Effects<'_, Self>) {
        if self.is_too_long(&name) {
            return out.emit(ManyEvent::BadName { name });
        }
        let maker = self.instances.get(&name).map(|instance| instance.maker);
        if maker != Some(Maker::Us) && !self.has_room(Maker::Us) {
            return out.emit(ManyEvent::Full { name });
        }
        match maker {
            None => self.bear(now, &name, Maker::Us, None, out),
            Some(maker) => self.hand_over(&name, maker, Maker::Us),
        }
        self.pass(now, &name, Input::Command(command), out);
    }

    /// MA-2, MA-6.
    fn receive(&mut self, now: Time, from: NodeId, name: Name, message: P::Message, out: &mut Effects<'_, Self>) {
        if self.is_too_long(&name) {
            return out.note("MA-6", format_args!("drops a message from {from}: its name is too long"));
        }
        if !self.instances.contains_key(&name) {
            if !self.has_room(Maker::Peer(from)) {
                return out.note("MA-6", format_args!("drops a message from {from} for one name too many"));
            }
            self.bear(now, &name, Maker::Peer(from), None, out);
        }
        self.pass(now, &name, Input::Message { from, message }, out);
    }

    /// MA-2. A timer that its instance has not set, or not any more, is nobody's.
    fn wake(&mut self, now: Time, name: Name, timer: P::Timer, out: &mut Effects<'_, Self>) {
        let Some(instance) = self.instances.get_mut(&name) else { return };
        let Some(place) = instance.timers.iter().position(|set| *set == timer) else { return };
        instance.timers.swap_remove(place);
        self.pass(now, &name, Input::Timer(timer), out);
    }

    /// MA-5.
    fn confirm(&mut self, now: Time, count: u64, out: &mut Effects<'_, Self>) {
        let mut whose = BTreeSet::new();
        while self.saved < count
            && let Some(name) = self.unsaved.pop_front()
        {
            self.saved += 1;
            if let Some(instance) = self.instances.get_mut(&name) {
                instance.saved += 1;
            }
            whose.insert(name);
        }
        for name in whose {
            let Some(instance) = self.instances.get(&name) else { continue };
            self.pass(now, &name, Input::Saved(instance.saved), out);
        }
    }

    /// MA-2. The instance takes an input, and is forgotten if nothing keeps it any longer.
    fn pass(&mut self, now: Time, name: &Name, input: Input<P>, out: &mut Effects<'_, Self>) {
        let Some(instance) = self.instances.get_mut(name) else { return };
        instance.step(now, name, input, &mut self.unsaved, out);
        if instance.is_forgettable() {
            self.template.raise(&instance.protocol.floor());
            let maker = instance.maker;
            self.instances.remove(name);
            self.discount(maker);
        }
    }

    /// MA-4.
    fn tell_all(&mut self, now: Time, input: impl Fn() -> Input<P>, out: &mut Effects<'_, Self>) {
        let names: Vec<_> = self.instances.keys().cloned().collect();
        for name in names {
            self.pass(now, &name, input(), out);
        }
    }

    fn is_too_long(&self, name: &Name) -> bool {
        name.as_ref().len() > self.limits.name_bytes
    }

    fn has_room(&self, maker: Maker) -> bool {
        let most = match maker {
            Maker::Us => self.limits.names,
            Maker::Peer(_) => self.limits.names.saturating_mul(UNDER_WAY),
        };
        self.made.get(&maker).is_none_or(|count| *count < most)
    }

    fn hand_over(&mut self, name: &Name, from: Maker, to: Maker) {
        if let Some(instance) = self.instances.get_mut(name) {
            instance.maker = to;
            self.discount(from);
            self.count(to);
        }
    }

    fn count(&mut self, maker: Maker) {
        *self.made.entry(maker).or_default() += 1;
    }

    fn discount(&mut self, maker: Maker) {
        if let Some(count) = self.made.get_mut(&maker) {
            *count -= 1;
            if *count == 0 {
                self.made.remove(&maker);
            }
        }
    }

    fn assert_invariants(&self) {
        debug_assert_eq!(self.made.values().sum::<usize>(), self.instances.len(), "every instance counts for someone");
        debug_assert!(self.made.values().all(|count| *count > 0), "whoever has no instance leaves no trace");
        debug_assert!(self.unsaved.iter().all(|name| self.instances.contains_key(name)), "who saved is not forgotten");
    }
}

impl<P: OneOfMany> Instance<P, P::Timer> {
    fn step<Name: Ord + Clone + AsRef<str>>(
        &mut self,
        now: Time,
        name: &Name,
        input: Input<P>,
        unsaved: &mut VecDeque<Name>,
        out: &mut Effects<'_, Many<Name, P>>,
    ) {
        let mut label = Label { name, timers: &mut self.timers, keeps: &mut self.keeps, unsaved, out };
        self.protocol.step(now, input, &mut Effects::new(&mut label));
    }

    /// MA-3. What was saved outlives this life, so whoever saved something stays to answer for it.
    fn is_forgettable(&self) -> bool {
        self.timers.is_empty() && !self.keeps && self.protocol.is_idle()
    }
}

/// Where the effects of an instance go: they get its name.
struct Label<'a, 'b, Name: Ord + Clone + AsRef<str>, P: OneOfMany> {
    name: &'a Name,
    timers: &'a mut Vec<P::Timer>,
    keeps: &'a mut bool,
    unsaved: &'a mut VecDeque<Name>,
    out: &'a mut Effects<'b, Many<Name, P>>,
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> Label<'_, '_, Name, P> {
    fn named<T>(&self, inner: T) -> Named<Name, T> {
        Named { name: self.name.clone(), inner }
    }
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> Sink<P> for Label<'_, '_, Name, P> {
    fn effect(&mut self, effect: Effect<P>) {
        let effect = match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: self.named(message), order },
            Effect::Multicast { to, message, order } => Effect::Multicast { to, message: self.named(message), order },
            Effect::Save(write) => {
                *self.keeps = true;
                self.unsaved.push_back(self.name.clone());
                Effect::Save(self.named(write))
            }
            Effect::SetTimer { timer, span } => {
                if !self.timers.contains(&timer) {
                    self.timers.push(timer.clone());
                }
                Effect::SetTimer { timer: self.named(timer), span }
            }
            Effect::CancelTimer(timer) => {
                self.timers.retain(|set| *set != timer);
                Effect::CancelTimer(self.named(timer))
            }
            Effect::Emit { event, order } => {
                Effect::Emit { event: ManyEvent::Of { name: self.name.clone(), event }, order }
            }
        };
        self.out.put(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        match note {
            Note::Rule { rule, text } => self.out.note(rule, format_args!("{}: {text}", self.name.as_ref())),
            Note::Handed { .. } | Note::Told(_) | Note::HoldBack { .. } => self.out.pass_note(note),
        }
    }
}
