//! A protocol with boxed messages, timers and writes, so that all algorithms of a family have one
//! type.

use crate::disk::{AnyDurable, AnyWrite};
use crate::message::{AnyMessage, AnyTimer, ErasablePart};
use quorate_core::{Describe, Effect, Effects, Input, Note, Protocol, Sink, Time, WriteOf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// A node of any algorithm of the family with these commands and events. It can be cloned, compared
/// and hashed, as the checker requires, unless [`new_opaque`](Self::new_opaque) created it.
pub struct Erased<C, E> {
    pub(crate) node: Box<dyn Node<C, E>>,
}

impl<C: 'static, E: 'static> Erased<C, E> {
    pub fn new<P>(node: P) -> Self
    where
        P: Erasable<Command = C, Event = E>,
        WriteOf<P>: ErasableWrite,
    {
        Self { node: Box::new(Typed::<P, EraseDurable>::new(node)) }
    }

    /// Erases the type of a wrapper around an erased node, whose messages and timers are then
    /// erased twice.
    ///
    /// The saves of the inner node are written and read as if there were no wrapper. So the disk is
    /// the same with and without the wrapper, and the algorithm's own
    /// [`AnyCodec`](crate::AnyCodec) can read it.
    pub fn from_wrapper<W>(wrapper: W) -> Self
    where
        W: Erasable<Command = C, Event = E, Durable = AnyDurable>,
    {
        Self { node: Box::new(Typed::<W, PassThrough>::new(wrapper)) }
    }
}

/// A protocol whose messages, timers and durable state can be cloned, compared, hashed and
/// serialized.
pub trait HasErasableParts:
    Protocol<Message: Describe + ErasablePart, Timer: ErasablePart, Durable: ErasableDurable> + Send + Sync + 'static
{
}

impl<P> HasErasableParts for P where
    P: Protocol<Message: Describe + ErasablePart, Timer: ErasablePart, Durable: ErasableDurable>
        + Send
        + Sync
        + 'static
{
}

/// A protocol that can be erased and checked: its nodes can be cloned, compared and hashed too.
pub trait Erasable: HasErasableParts + Clone + Eq + Hash {}

impl<P: HasErasableParts + Clone + Eq + Hash> Erasable for P {}

/// Durable state that can be erased: it can be cloned, compared, hashed and serialized.
pub trait ErasableDurable: Clone + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<D: Clone + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static> ErasableDurable for D {}

/// A write that can be erased: it can be cloned, compared, hashed and serialized.
pub trait ErasableWrite: Serialize + DeserializeOwned + Clone + Eq + Hash + Send + Sync + 'static {}

impl<W: Serialize + DeserializeOwned + Clone + Eq + Hash + Send + Sync + 'static> ErasableWrite for W {}

impl<C: 'static, E: 'static> Protocol for Erased<C, E> {
    type Command = C;
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Event = E;
    type Durable = AnyDurable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        self.node.step(now, input, out);
    }

    fn uses_end_of_turn(&self) -> bool {
        self.node.uses_end_of_turn()
    }
}

/// A node without its type, for use in a box.
pub(crate) trait Node<C: 'static, E: 'static>: Send + Sync {
    fn step(&mut self, now: Time, input: Input<Erased<C, E>>, out: &mut Effects<'_, Erased<C, E>>);
    fn uses_end_of_turn(&self) -> bool;
    fn duplicate(&self) -> Box<dyn Node<C, E>>;
    fn as_any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<C: 'static, E: 'static> Clone for Erased<C, E> {
    fn clone(&self) -> Self {
        Self { node: self.node.duplicate() }
    }
}

impl<C: 'static, E: 'static> PartialEq for Erased<C, E> {
    fn eq(&self, other: &Self) -> bool {
        self.node.equals(other.node.as_any())
    }
}

impl<C: 'static, E: 'static> Eq for Erased<C, E> {}

impl<C: 'static, E: 'static> Hash for Erased<C, E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash_into(state);
    }
}

/// Returns whether the other value is of the same type and equal.
pub(crate) fn equal<T: Eq + 'static>(value: &T, other: &dyn Any) -> bool {
    other.downcast_ref::<T>().is_some_and(|other| value == other)
}

/// Converts between the durable state of a node and its erased form.
pub(crate) trait DurableConversion<P: Protocol>: Send + Sync + 'static {
    fn read(durable: AnyDurable) -> P::Durable;
    fn write(write: WriteOf<P>) -> AnyWrite;
}

/// Erases and restores the type of the durable state.
pub(crate) struct EraseDurable;

impl<P> DurableConversion<P> for EraseDurable
where
    P: HasErasableParts,
    WriteOf<P>: ErasableWrite,
{
    fn read(durable: AnyDurable) -> P::Durable {
        durable.into_typed()
    }

    fn write(write: WriteOf<P>) -> AnyWrite {
        AnyWrite::new::<P::Durable>(write)
    }
}

/// Passes on the durable state of an inner node, which is already erased.
struct PassThrough;

impl<P: Protocol<Durable = AnyDurable>> DurableConversion<P> for PassThrough {
    fn read(durable: AnyDurable) -> AnyDurable {
        durable
    }

    fn write(write: AnyWrite) -> AnyWrite {
        write
    }
}

/// A node with its type, as a [`Node`]. `D` converts its durable state.
pub(crate) struct Typed<P, D>(pub(crate) P, PhantomData<D>);

impl<P, D> Typed<P, D> {
    pub(crate) const fn new(node: P) -> Self {
        Self(node, PhantomData)
    }
}

impl<P, D> Node<P::Command, P::Event> for Typed<P, D>
where
    P: Erasable<Command: 'static, Event: 'static>,
    D: DurableConversion<P>,
{
    fn step(
        &mut self,
        now: Time,
        input: Input<Erased<P::Command, P::Event>>,
        out: &mut Effects<'_, Erased<P::Command, P::Event>>,
    ) {
        step_typed::<P, D>(&mut self.0, now, input, out);
    }

    fn uses_end_of_turn(&self) -> bool {
        self.0.uses_end_of_turn()
    }

    fn duplicate(&self) -> Box<dyn Node<P::Command, P::Event>> {
        Box::new(Self::new(self.0.clone()))
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }

    fn equals(&self, other: &dyn Any) -> bool {
        equal(&self.0, other)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

/// Steps a typed node with an erased input.
pub(crate) fn step_typed<P, D>(
    node: &mut P,
    now: Time,
    input: Input<Erased<P::Command, P::Event>>,
    out: &mut Effects<'_, Erased<P::Command, P::Event>>,
) where
    P: HasErasableParts<Command: 'static, Event: 'static>,
    D: DurableConversion<P>,
{
    let input = match input {
        Input::Start { durable, incarnation } => Input::Start { durable: D::read(durable), incarnation },
        Input::Command(command) => Input::Command(command),
        Input::Message { from, message } => match message.into_typed() {
            Some(message) => Input::Message { from, message },
            None => return note_foreign(out, "message"),
        },
        Input::Timer(timer) => match timer.into_typed() {
            Some(timer) => Input::Timer(timer),
            None => return note_foreign(out, "timer"),
        },
        Input::Saved(count) => Input::Saved(count),
        Input::Suspect(node) => Input::Suspect(node),
        Input::Trust(node) => Input::Trust(node),
        Input::DiskFull => Input::DiskFull,
        Input::DiskFree => Input::DiskFree,
        Input::View(view) => Input::View(view),
        Input::Lease(until) => Input::Lease(until),
        Input::EndOfTurn => Input::EndOfTurn,
    };
    node.step(now, input, &mut Effects::new(&mut Eraser::<_, _, D>::new(out)));
}

/// Notes that a node ignores an input of another algorithm, which only a faulty driver can pass to
/// it.
pub(crate) fn note_foreign<C: 'static, E: 'static>(out: &mut Effects<'_, Erased<C, E>>, input_kind: &str) {
    out.note("foreign", format_args!("ignores a {input_kind} of another algorithm"));
}

/// Erases the types of a node's effects and passes them on. `D` erases its writes.
pub(crate) struct Eraser<'a, 'b, C: 'static, E: 'static, D>(&'a mut Effects<'b, Erased<C, E>>, PhantomData<D>);

impl<'a, 'b, C: 'static, E: 'static, D> Eraser<'a, 'b, C, E, D> {
    pub(crate) const fn new(out: &'a mut Effects<'b, Erased<C, E>>) -> Self {
        Self(out, PhantomData)
    }
}

impl<P, D> Sink<P> for Eraser<'_, '_, P::Command, P::Event, D>
where
    P: HasErasableParts<Command: 'static, Event: 'static>,
    D: DurableConversion<P>,
{
    fn effect(&mut self, effect: Effect<P>) {
        self.0.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: AnyMessage::new(message), order },
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: AnyMessage::new(message), order }
            }
            Effect::Save(write) => Effect::Save(D::write(write)),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: AnyTimer::new(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(AnyTimer::new(timer)),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.0.pass_note(note);
    }
}
