//! Many resources side by side: one instance of a protocol per name.
//!
//! Every command, message, timer and save carries the name of the instance it belongs to. A node
//! creates an instance when a name comes into use, and forgets the instance once it holds nothing
//! but its floor, so a name costs memory only while it is in use. The floor is the state that must
//! outlive forgotten instances, such as the largest clock reading and the largest fence. A node
//! keeps one floor for all names, in memory, and every later instance starts from it.
//!
//! ```text
//! MA-1  a command or message for an unused name     → create an instance: a copy of the template,
//!                                                     which first receives the node's start, view,
//!                                                     lease and suspicions, and a full disk, as
//!                                                     inputs
//! MA-2  an input for a name                         → its instance handles it; the effects carry the
//!                                                     name
//! MA-3  an instance holds only its floor            → raise the template to that floor, and forget
//!                                                     the instance, unless it has a timer set or
//!                                                     ever saved something
//! MA-4  a suspicion, view, lease or disk state      → pass it to every instance, and keep it for
//!                                                     later ones; pass the end of a turn to every
//!                                                     instance
//! MA-5  saves become durable                        → report to each instance how many of its own
//!                                                     are durable
//! MA-6  too many names, or too long a name          → refuse the command, drop the message
//! MA-7  the node starts                             → create an instance for each name that ever
//!                                                     saved something; if the disk was ever lost,
//!                                                     every instance starts with the durable state
//!                                                     that marks a lost disk
//! ```
//!
//! Cost: no message of its own.
//!
//! Assumes: what the inner protocol assumes. All nodes have the same limits. A peer's messages may
//! create twice as many instances as the peer may have names in use, since messages of names that
//! it no longer uses may still be in flight; the node drops messages that would create more.
//!
//! When it fails: the floor is not durable, so after a crash the node knows the past only of names
//! whose instances saved something. It never forgets these instances: a protocol that saves needs
//! room for every name it is ever used with.

mod named;
#[cfg(test)]
mod tests;

pub use named::{ManyDurable, ManyEvent, Named};

use crate::wrap::prelude::*;

/// A peer's messages may create at most this multiple of [`Limits::max_names`] instances.
const PEER_FACTOR: usize = 2;

/// A protocol that can be one of many: a node can forget an instance that holds only its floor.
pub trait OneOfMany: Protocol + Clone {
    /// State that must outlive a forgotten instance, such as the largest clock reading and the
    /// largest fence.
    type Floor: Clone + Default;

    /// Returns whether the node could forget this instance now, except for its floor, without a
    /// visible effect.
    fn holds_only_floor(&self) -> bool;

    /// Returns the floor that a later instance must start from.
    fn floor(&self) -> Self::Floor;

    /// Raises this instance's floor to at least `floor`.
    fn raise_floor(&mut self, floor: &Self::Floor);
}

/// One node with an instance of a protocol for each name in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Many<Name, P: OneOfMany> {
    limits: Fixed<Limits>,
    /// The initial state of an instance. Its floor is at least that of every forgotten instance.
    template: P,
    instances: BTreeMap<Name, Instance<P, P::Timer>>,
    /// Number of instances that use each quota. Quotas without instances are left out.
    instance_counts: BTreeMap<Quota, usize>,
    incarnation: Option<Incarnation>,
    view: Option<View>,
    /// The instant until which the node may act in its view.
    lease: Option<Time>,
    suspected: BTreeSet<NodeId>,
    disk_is_full: bool,
    /// Whether the disk of an earlier incarnation was lost, and with it perhaps some saves.
    was_wiped: bool,
    /// The names of saves that are not durable yet, in the order of the saves.
    pending_saves: VecDeque<Name>,
    /// Number of saves of this incarnation that are durable.
    durable_saves: u64,
}

/// Limits of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of names that the commands of one node may have in use at a time.
    pub max_names: usize,
    /// Maximum length of a name, in bytes.
    pub max_name_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_names: 1_024, max_name_bytes: 256 }
    }
}

/// One instance, with its timers and saves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Instance<P, T> {
    protocol: P,
    quota: Quota,
    /// Timers that are set.
    timers: Vec<T>,
    /// Whether the instance ever saved something, in this incarnation or an earlier one.
    has_saved: bool,
    /// Number of its saves of this incarnation that are durable.
    durable_saves: u64,
}

/// The limit that an instance counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Quota {
    /// This node's own limit: a command has used the instance, or an earlier incarnation of the
    /// node saved its state.
    Local,
    /// The limit of the peer whose message created the instance.
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
            Input::Command(Named { name, inner }) => self.handle_command(now, name, inner, out),
            Input::Message { from, message: Named { name, inner } } => self.receive(now, from, name, inner, out),
            Input::Timer(Named { name, inner }) => self.receive_timer(now, name, inner, out),
            Input::Saved(count) => self.handle_saved(now, count, out),
            Input::Suspect(node) => {
                self.suspected.insert(node);
                self.step_all(now, || Input::Suspect(node), out);
            }
            Input::Trust(node) => {
                self.suspected.remove(&node);
                self.step_all(now, || Input::Trust(node), out);
            }
            Input::DiskFull => {
                self.disk_is_full = true;
                self.step_all(now, || Input::DiskFull, out);
            }
            Input::DiskFree => {
                self.disk_is_full = false;
                self.step_all(now, || Input::DiskFree, out);
            }
            Input::View(view) => {
                self.view = Some(view.clone());
                self.step_all(now, || Input::View(view.clone()), out);
            }
            Input::Lease(until) => {
                self.lease = Some(until);
                self.step_all(now, || Input::Lease(until), out);
            }
            Input::EndOfTurn => self.step_all(now, || Input::EndOfTurn, out),
        }
        self.assert_invariants();
    }

    fn uses_end_of_turn(&self) -> bool {
        self.template.uses_end_of_turn()
    }
}

impl<Name, P: OneOfMany> Many<Name, P> {
    /// Creates a node without instances. Each instance will start as a copy of `template`.
    pub fn new(template: P, limits: Limits) -> Self {
        Self {
            limits: Fixed::new(limits),
            template,
            instances: BTreeMap::new(),
            instance_counts: BTreeMap::new(),
            incarnation: None,
            view: None,
            lease: None,
            suspected: BTreeSet::new(),
            disk_is_full: false,
            was_wiped: false,
            pending_saves: VecDeque::new(),
            durable_saves: 0,
        }
    }

    /// Returns the number of instances, which is also the number of names in use.
    pub fn instance_count(&self) -> usize {
        self.instances.len()
    }

    /// Returns the instance with this name, if there is one.
    pub fn instance(&self, name: &Name) -> Option<&P>
    where
        Name: Ord,
    {
        self.instances.get(name).map(|instance| &instance.protocol)
    }
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> Many<Name, P> {
    /// MA-7. Starts an incarnation with the durable state. If this value ran an earlier
    /// incarnation, it keeps only the limits and the template, whose floor may have been raised.
    fn start(
        &mut self,
        now: Time,
        durable: ManyDurable<Name, P::Durable>,
        incarnation: Incarnation,
        out: &mut Effects<'_, Self>,
    ) {
        let ManyDurable { instances: saved_states, was_wiped } = durable;
        *self = Self { incarnation: Some(incarnation), was_wiped, ..Self::new(self.template.clone(), *self.limits) };
        for (name, saved_state) in saved_states {
            self.create(now, &name, Quota::Local, Some(saved_state), out);
        }
    }

    /// MA-1. The new instance first receives the inputs that it missed. `durable` is the state that
    /// an instance of this name saved earlier, if one did.
    fn create(
        &mut self,
        now: Time,
        name: &Name,
        quota: Quota,
        durable: Option<P::Durable>,
        out: &mut Effects<'_, Self>,
    ) {
        let has_saved = durable.is_some();
        let protocol = self.template.clone();
        let mut instance = Instance { protocol, quota, timers: Vec::new(), has_saved, durable_saves: 0 };
        if let Some(incarnation) = self.incarnation {
            let durable = durable.unwrap_or_else(|| named::initial_durable(self.was_wiped));
            let start = Input::Start { durable, incarnation };
            instance.step(now, name, start, &mut self.pending_saves, out);
        }
        if let Some(view) = &self.view {
            instance.step(now, name, Input::View(view.clone()), &mut self.pending_saves, out);
        }
        if let Some(until) = self.lease {
            instance.step(now, name, Input::Lease(until), &mut self.pending_saves, out);
        }
        for node in &self.suspected {
            instance.step(now, name, Input::Suspect(*node), &mut self.pending_saves, out);
        }
        if self.disk_is_full {
            instance.step(now, name, Input::DiskFull, &mut self.pending_saves, out);
        }
        self.instances.insert(name.clone(), instance);
        self.add_to_quota(quota);
    }

    /// MA-2, MA-6. An instance that a peer's message created counts against this node's limit
    /// instead once a command uses it.
    fn handle_command(&mut self, now: Time, name: Name, command: P::Command, out: &mut Effects<'_, Self>) {
        if self.is_too_long(&name) {
            return out.emit(ManyEvent::NameTooLong { name });
        }
        let quota = self.instances.get(&name).map(|instance| instance.quota);
        if quota != Some(Quota::Local) && !self.has_room(Quota::Local) {
            return out.emit(ManyEvent::TooManyNames { name });
        }
        match quota {
            None => self.create(now, &name, Quota::Local, None, out),
            Some(quota) => self.move_to_quota(&name, quota, Quota::Local),
        }
        self.step_instance(now, &name, Input::Command(command), out);
    }

    /// MA-2, MA-6.
    fn receive(&mut self, now: Time, from: NodeId, name: Name, message: P::Message, out: &mut Effects<'_, Self>) {
        if self.is_too_long(&name) {
            return out.note("MA-6", format_args!("drops a message from {from}: the name of its instance is too long"));
        }
        if !self.instances.contains_key(&name) {
            if !self.has_room(Quota::Peer(from)) {
                return out.note("MA-6", format_args!("drops a message from {from}: too many names are in use"));
            }
            self.create(now, &name, Quota::Peer(from), None, out);
        }
        self.step_instance(now, &name, Input::Message { from, message }, out);
    }

    /// MA-2. A timer that is not set is ignored.
    fn receive_timer(&mut self, now: Time, name: Name, timer: P::Timer, out: &mut Effects<'_, Self>) {
        let Some(instance) = self.instances.get_mut(&name) else { return };
        let Some(index) = instance.timers.iter().position(|pending| *pending == timer) else { return };
        instance.timers.swap_remove(index);
        self.step_instance(now, &name, Input::Timer(timer), out);
    }

    /// MA-5.
    fn handle_saved(&mut self, now: Time, count: u64, out: &mut Effects<'_, Self>) {
        let mut names = BTreeSet::new();
        while self.durable_saves < count
            && let Some(name) = self.pending_saves.pop_front()
        {
            self.durable_saves += 1;
            if let Some(instance) = self.instances.get_mut(&name) {
                instance.durable_saves += 1;
            }
            names.insert(name);
        }
        for name in names {
            let Some(instance) = self.instances.get(&name) else { continue };
            self.step_instance(now, &name, Input::Saved(instance.durable_saves), out);
        }
    }

    /// MA-2, MA-3. Steps the instance, if there is one, and then forgets it if possible.
    fn step_instance(&mut self, now: Time, name: &Name, input: Input<P>, out: &mut Effects<'_, Self>) {
        let Some(instance) = self.instances.get_mut(name) else { return };
        instance.step(now, name, input, &mut self.pending_saves, out);
        if instance.is_forgettable() {
            self.template.raise_floor(&instance.protocol.floor());
            let quota = instance.quota;
            self.instances.remove(name);
            self.remove_from_quota(quota);
        }
    }

    /// MA-4.
    fn step_all(&mut self, now: Time, input: impl Fn() -> Input<P>, out: &mut Effects<'_, Self>) {
        let names: Vec<_> = self.instances.keys().cloned().collect();
        for name in names {
            self.step_instance(now, &name, input(), out);
        }
    }

    fn is_too_long(&self, name: &Name) -> bool {
        name.as_ref().len() > self.limits.max_name_bytes
    }

    fn has_room(&self, quota: Quota) -> bool {
        let maximum = match quota {
            Quota::Local => self.limits.max_names,
            Quota::Peer(_) => self.limits.max_names.saturating_mul(PEER_FACTOR),
        };
        self.instance_counts.get(&quota).is_none_or(|count| *count < maximum)
    }

    fn move_to_quota(&mut self, name: &Name, from: Quota, to: Quota) {
        if let Some(instance) = self.instances.get_mut(name) {
            instance.quota = to;
            self.remove_from_quota(from);
            self.add_to_quota(to);
        }
    }

    fn add_to_quota(&mut self, quota: Quota) {
        *self.instance_counts.entry(quota).or_default() += 1;
    }

    fn remove_from_quota(&mut self, quota: Quota) {
        if let Some(count) = self.instance_counts.get_mut(&quota) {
            *count -= 1;
            if *count == 0 {
                self.instance_counts.remove(&quota);
            }
        }
    }

    fn assert_invariants(&self) {
        debug_assert_eq!(
            self.instance_counts.values().sum::<usize>(),
            self.instances.len(),
            "every instance counts against one quota"
        );
        debug_assert!(self.instance_counts.values().all(|count| *count > 0), "a quota without instances is left out");
        debug_assert!(
            self.pending_saves.iter().all(|name| self.instances.contains_key(name)),
            "an instance that saved is not forgotten"
        );
    }
}

impl<P: OneOfMany> Instance<P, P::Timer> {
    fn step<Name: Ord + Clone + AsRef<str>>(
        &mut self,
        now: Time,
        name: &Name,
        input: Input<P>,
        pending_saves: &mut VecDeque<Name>,
        out: &mut Effects<'_, Many<Name, P>>,
    ) {
        let mut sink =
            NamingSink { name, timers: &mut self.timers, has_saved: &mut self.has_saved, pending_saves, out };
        self.protocol.step(now, input, &mut Effects::new(&mut sink));
    }

    /// MA-3. Saves outlive this incarnation, so an instance that saved something is kept.
    fn is_forgettable(&self) -> bool {
        self.timers.is_empty() && !self.has_saved && self.protocol.holds_only_floor()
    }
}

/// Receives the effects of an instance, and adds its name to them.
struct NamingSink<'a, 'b, Name: Ord + Clone + AsRef<str>, P: OneOfMany> {
    name: &'a Name,
    timers: &'a mut Vec<P::Timer>,
    has_saved: &'a mut bool,
    pending_saves: &'a mut VecDeque<Name>,
    out: &'a mut Effects<'b, Many<Name, P>>,
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> NamingSink<'_, '_, Name, P> {
    fn add_name<T>(&self, inner: T) -> Named<Name, T> {
        Named { name: self.name.clone(), inner }
    }
}

impl<Name: Ord + Clone + AsRef<str>, P: OneOfMany> Sink<P> for NamingSink<'_, '_, Name, P> {
    fn effect(&mut self, effect: Effect<P>) {
        let effect = match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: self.add_name(message), order },
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: self.add_name(message), order }
            }
            Effect::Save(write) => {
                *self.has_saved = true;
                self.pending_saves.push_back(self.name.clone());
                Effect::Save(self.add_name(write))
            }
            Effect::SetTimer { timer, span } => {
                if !self.timers.contains(&timer) {
                    self.timers.push(timer.clone());
                }
                Effect::SetTimer { timer: self.add_name(timer), span }
            }
            Effect::CancelTimer(timer) => {
                self.timers.retain(|pending| *pending != timer);
                Effect::CancelTimer(self.add_name(timer))
            }
            Effect::Emit { event, order } => {
                Effect::Emit { event: ManyEvent::Instance { name: self.name.clone(), event }, order }
            }
        };
        self.out.put(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        match note {
            Note::Rule { rule, text } => self.out.note(rule, format_args!("{}: {text}", self.name.as_ref())),
            Note::Delivered { .. } | Note::Membership(_) | Note::HoldBack { .. } => self.out.pass_note(note),
        }
    }
}
