//! A protocol whose messages, timers and writes are boxed, so that all algorithms of a family have one type.

#[cfg(test)]
mod tests;

use quorate_core::{
    Class, Describe, Durable, Effect, Effects, Input, NodeId, Note, Parcel, Protocol, Sink, Time, WriteOf,
};
use serde::{Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Any algorithm of the family with these commands and events. It can be copied, compared and hashed, as the checker
/// asks.
pub struct Erased<C, E> {
    pub(crate) node: Box<dyn Node<C, E>>,
}

impl<C: 'static, E: 'static> Erased<C, E> {
    /// Erases the type of a protocol.
    pub fn new<P>(node: P) -> Self
    where
        P: Erasable<Command = C, Event = E>,
        WriteOf<P>: ErasableWrite,
    {
        Self { node: Box::new(Typed(node)) }
    }
}

/// A protocol whose messages, timers and writes can be copied, compared, hashed and written down.
pub trait Parts:
    Protocol<
        Message: Describe + Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static,
        Timer: Serialize + fmt::Debug + Hash + Send + Sync + 'static,
        Durable: Clone + Eq + Hash + Send + Sync + 'static,
    > + Send
    + Sync
    + 'static
{
}

impl<P> Parts for P where
    P: Protocol<
            Message: Describe + Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static,
            Timer: Serialize + fmt::Debug + Hash + Send + Sync + 'static,
            Durable: Clone + Eq + Hash + Send + Sync + 'static,
        > + Send
        + Sync
        + 'static
{
}

/// A protocol that can be erased and checked: its nodes can be copied, compared and hashed like their parts.
pub trait Erasable: Parts + Clone + Eq + Hash {}

impl<P: Parts + Clone + Eq + Hash> Erasable for P {}

/// A write that can be erased.
pub trait ErasableWrite: Serialize + Clone + Eq + Hash + Send + Sync + 'static {}

impl<W: Serialize + Clone + Eq + Hash + Send + Sync + 'static> ErasableWrite for W {}

impl<C: 'static, E: 'static> Protocol for Erased<C, E> {
    type Command = C;
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Event = E;
    type Durable = AnyDurable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        self.node.step(now, input, out);
    }
}

/// A node of any type.
pub(crate) trait Node<C: 'static, E: 'static>: Send + Sync {
    fn step(&mut self, now: Time, input: Input<Erased<C, E>>, out: &mut Effects<'_, Erased<C, E>>);
    fn duplicate(&self) -> Box<dyn Node<C, E>>;
    fn as_any(&self) -> &dyn Any;
    fn equals(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
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
        self.node.feed(state);
    }
}

/// Whether the other one is of the same type and equal.
fn equal<T: Eq + 'static>(one: &T, other: &dyn Any) -> bool {
    other.downcast_ref::<T>().is_some_and(|other| one == other)
}

struct Typed<P>(P);

impl<P> Node<P::Command, P::Event> for Typed<P>
where
    P: Erasable<Command: 'static, Event: 'static>,
    WriteOf<P>: ErasableWrite,
{
    fn step(
        &mut self,
        now: Time,
        input: Input<Erased<P::Command, P::Event>>,
        out: &mut Effects<'_, Erased<P::Command, P::Event>>,
    ) {
        take(&mut self.0, now, input, out);
    }

    fn duplicate(&self) -> Box<dyn Node<P::Command, P::Event>> {
        Box::new(Self(self.0.clone()))
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
    fn equals(&self, other: &dyn Any) -> bool {
        equal(&self.0, other)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

/// Lets a typed node take an input whose type was erased.
pub(crate) fn take<P>(
    node: &mut P,
    now: Time,
    input: Input<Erased<P::Command, P::Event>>,
    out: &mut Effects<'_, Erased<P::Command, P::Event>>,
) where
    P: Parts<Command: 'static, Event: 'static>,
    WriteOf<P>: ErasableWrite,
{
    let input = match input {
        Input::Start { durable, incarnation } => Input::Start { durable: durable.typed::<P::Durable>(), incarnation },
        Input::Command(command) => Input::Command(command),
        Input::Message { from, message } => match message.typed() {
            Some(message) => Input::Message { from, message },
            None => return foreign(out, "message"),
        },
        Input::Timer(timer) => match timer.typed() {
            Some(timer) => Input::Timer(timer),
            None => return foreign(out, "timer"),
        },
        Input::Saved(count) => Input::Saved(count),
        Input::Suspect(node) => Input::Suspect(node),
        Input::Trust(node) => Input::Trust(node),
        Input::DiskFull => Input::DiskFull,
        Input::DiskFree => Input::DiskFree,
        Input::View(view) => Input::View(view),
    };
    node.step(now, input, &mut Effects::new(&mut Eraser(out)));
}

/// A driver that mixes up two algorithms is at fault, not the node; the trace shows it.
fn foreign<C: 'static, E: 'static>(out: &mut Effects<'_, Erased<C, E>>, what: &str) {
    out.note("foreign", format_args!("ignores a {what} of another algorithm"));
}

/// Passes a node's effects on with their types erased.
struct Eraser<'a, 'b, C: 'static, E: 'static>(&'a mut Effects<'b, Erased<C, E>>);

impl<P> Sink<P> for Eraser<'_, '_, P::Command, P::Event>
where
    P: Parts<Command: 'static, Event: 'static>,
    WriteOf<P>: ErasableWrite,
{
    fn effect(&mut self, effect: Effect<P>) {
        self.0.put(match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: AnyMessage::new(message), order },
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: AnyMessage::new(message), order }
            }
            Effect::Save(write) => Effect::Save(AnyWrite(Box::new(TypedWrite::<P::Durable>(write)))),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: AnyTimer::new(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(AnyTimer::new(timer)),
            Effect::Emit { event, order } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.0.pass_note(note);
    }
}

/// A message of any algorithm. Copies share it.
#[derive(Clone)]
pub struct AnyMessage(Arc<dyn MessageObject>);

trait MessageObject: Describe + erased_serde::Serialize + Part {}

impl<M: Describe + erased_serde::Serialize + Part> MessageObject for M {}

/// What messages and timers have in common: they can be printed, compared and hashed whatever their type.
trait Part: fmt::Debug + Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
}

impl<T: fmt::Debug + Any + Send + Sync + Eq + Hash> Part for T {
    fn equals(&self, other: &dyn Any) -> bool {
        equal(self, other)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl AnyMessage {
    fn new<M: Describe + Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static>(message: M) -> Self {
        Self(Arc::new(message))
    }

    fn typed<M: Clone + Send + Sync + 'static>(self) -> Option<M> {
        let any: Arc<dyn Any + Send + Sync> = self.0;
        any.downcast().ok().map(Arc::unwrap_or_clone)
    }
}

impl PartialEq for AnyMessage {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.equals(other)
    }
}

impl Eq for AnyMessage {}

impl Hash for AnyMessage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

impl Describe for AnyMessage {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }
    fn class(&self) -> Class {
        self.0.class()
    }
    fn on_behalf_of(&self) -> Option<NodeId> {
        self.0.on_behalf_of()
    }
    fn parcel(&self) -> Option<Parcel> {
        self.0.parcel()
    }
    fn wrapped(&self) -> bool {
        self.0.wrapped()
    }
}

impl Serialize for AnyMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

impl fmt::Debug for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A timer's name in any algorithm.
#[derive(Clone)]
pub struct AnyTimer(Arc<dyn TimerObject>);

trait TimerObject: erased_serde::Serialize + Part {}

impl<T: erased_serde::Serialize + Part> TimerObject for T {}

impl AnyTimer {
    fn new<T: Serialize + fmt::Debug + Eq + Hash + Send + Sync + 'static>(timer: T) -> Self {
        Self(Arc::new(timer))
    }

    fn typed<T: Clone + Send + Sync + 'static>(self) -> Option<T> {
        let any: Arc<dyn Any + Send + Sync> = self.0;
        any.downcast().ok().map(Arc::unwrap_or_clone)
    }
}

impl PartialEq for AnyTimer {
    fn eq(&self, other: &Self) -> bool {
        let other: &dyn Any = &*other.0;
        self.0.equals(other)
    }
}

impl Eq for AnyTimer {}

impl Hash for AnyTimer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

impl Serialize for AnyTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

impl fmt::Debug for AnyTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A write of any algorithm.
pub struct AnyWrite(Box<dyn WriteObject>);

trait WriteObject: erased_serde::Serialize + Send + Sync {
    /// What this write is applied to before there was any other.
    fn empty(&self) -> Box<dyn DurableObject>;
    /// What it is applied to when it is the first since the disk was lost.
    fn wiped(&self) -> Box<dyn DurableObject>;
    fn duplicate(&self) -> Box<dyn WriteObject>;
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
}

struct TypedWrite<D: Durable>(D::Write);

impl<D> WriteObject for TypedWrite<D>
where
    D: Durable<Write: ErasableWrite> + Clone + Eq + Hash + Send + Sync + 'static,
{
    fn empty(&self) -> Box<dyn DurableObject> {
        Box::new(TypedDurable(D::default()))
    }
    fn wiped(&self) -> Box<dyn DurableObject> {
        Box::new(TypedDurable(D::wiped()))
    }
    fn duplicate(&self) -> Box<dyn WriteObject> {
        Box::new(Self(self.0.clone()))
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
    fn equals(&self, other: &dyn Any) -> bool {
        equal(&self.0, other)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

impl<D: Durable<Write: Serialize>> Serialize for TypedWrite<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for AnyWrite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

impl Clone for AnyWrite {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}

impl PartialEq for AnyWrite {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other.0.as_any())
    }
}

impl Eq for AnyWrite {}

impl Hash for AnyWrite {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.feed(state);
    }
}

/// What any algorithm keeps on its disk; the first write tells what it is.
#[derive(Default)]
pub struct AnyDurable(Content);

/// Until there is a write, nobody knows of which algorithm the disk is.
#[derive(Default)]
enum Content {
    #[default]
    Empty,
    Wiped,
    Written(Box<dyn DurableObject>),
}

trait DurableObject: Send + Sync {
    fn apply(&mut self, write: Box<dyn Any>);
    fn duplicate(&self) -> Box<dyn DurableObject>;
    fn as_any(&self) -> &dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn feed(&self, hasher: &mut dyn Hasher);
}

struct TypedDurable<D>(D);

impl<D> DurableObject for TypedDurable<D>
where
    D: Durable<Write: 'static> + Clone + Eq + Hash + Send + Sync + 'static,
{
    fn apply(&mut self, write: Box<dyn Any>) {
        if let Ok(write) = write.downcast() {
            self.0.apply(*write);
        }
    }
    fn duplicate(&self) -> Box<dyn DurableObject> {
        Box::new(Self(self.0.clone()))
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }
    fn equals(&self, other: &dyn Any) -> bool {
        equal(&self.0, other)
    }
    fn feed(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

impl AnyDurable {
    /// What another algorithm wrote is as good as nothing.
    fn typed<D: Durable + 'static>(self) -> D {
        match self.0 {
            Content::Empty => D::default(),
            Content::Wiped => D::wiped(),
            Content::Written(durable) => durable.into_any().downcast().map(|durable| *durable).unwrap_or_default(),
        }
    }
}

impl Clone for AnyDurable {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Content::Empty => Content::Empty,
            Content::Wiped => Content::Wiped,
            Content::Written(durable) => Content::Written(durable.duplicate()),
        })
    }
}

impl PartialEq for AnyDurable {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Content::Written(one), Content::Written(other)) => one.equals(other.as_any()),
            (Content::Empty, Content::Empty) | (Content::Wiped, Content::Wiped) => true,
            (Content::Empty | Content::Wiped | Content::Written(_), _) => false,
        }
    }
}

impl Eq for AnyDurable {}

impl Hash for AnyDurable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Content::Empty => 0_u8.hash(state),
            Content::Written(durable) => {
                1_u8.hash(state);
                durable.feed(state);
            }
            Content::Wiped => 2_u8.hash(state),
        }
    }
}

impl Durable for AnyDurable {
    type Write = AnyWrite;
    fn apply(&mut self, AnyWrite(write): AnyWrite) {
        let mut durable = match std::mem::take(&mut self.0) {
            Content::Empty => write.empty(),
            Content::Wiped => write.wiped(),
            Content::Written(durable) => durable,
        };
        durable.apply(write.into_any());
        self.0 = Content::Written(durable);
    }
    fn wiped() -> Self {
        Self(Content::Wiped)
    }
}
