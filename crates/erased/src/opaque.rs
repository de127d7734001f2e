//! Nodes whose state cannot be copied, such as an engine from elsewhere: they can be run, but not checked.

use crate::erased::{ErasableWrite, Erased, Node, Packed, Parts, take};
use quorate_core::{Effects, Input, Time, WriteOf};
use std::any::Any;
use std::hash::Hasher;

impl<C: 'static, E: 'static> Erased<C, E> {
    /// Erases the type of a protocol whose nodes cannot be copied, compared or hashed.
    ///
    /// Such a node is simulated and replayed like any other. A checker, which copies nodes, must not be given one: a copy
    /// is an empty seat, which ignores every input with a note. The algorithm's profile says so (`checkable`).
    pub fn opaque<P>(node: P) -> Self
    where
        P: Parts<Command = C, Event = E>,
        WriteOf<P>: ErasableWrite,
    {
        Self { node: Box::new(Opaque(node)) }
    }
}

struct Opaque<P>(P);

impl<P> Node<P::Command, P::Event> for Opaque<P>
where
    P: Parts<Command: 'static, Event: 'static>,
    WriteOf<P>: ErasableWrite,
{
    fn step(
        &mut self,
        now: Time,
        input: Input<Erased<P::Command, P::Event>>,
        out: &mut Effects<'_, Erased<P::Command, P::Event>>,
    ) {
        take::<P, Packed>(&mut self.0, now, input, out);
    }

    fn duplicate(&self) -> Box<dyn Node<P::Command, P::Event>> {
        Box::new(EmptySeat)
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }

    /// Nobody can tell whether two of them are alike; one is like itself.
    fn equals(&self, other: &dyn Any) -> bool {
        std::ptr::addr_eq(&raw const self.0, std::ptr::from_ref(other))
    }

    fn feed(&self, _hasher: &mut dyn Hasher) {}
}

/// Where a copy of a node would be that cannot be copied.
struct EmptySeat;

impl<C: 'static, E: 'static> Node<C, E> for EmptySeat {
    fn step(&mut self, _now: Time, _input: Input<Erased<C, E>>, out: &mut Effects<'_, Erased<C, E>>) {
        out.note(
            "opaque",
            format_args!("ignores an input: nodes of this algorithm cannot be copied, and this is a copy"),
        );
    }

    fn duplicate(&self) -> Box<dyn Node<C, E>> {
        Box::new(Self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.is::<Self>()
    }

    fn feed(&self, _hasher: &mut dyn Hasher) {}
}
