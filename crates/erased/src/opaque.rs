//! Nodes whose state cannot be cloned, such as those with an external Raft engine: they can be run,
//! but not checked.

use crate::erased::{ErasableWrite, EraseDurable, Erased, HasErasableParts, Node, step_typed};
use quorate_core::{Effects, Input, Time, WriteOf};
use std::any::Any;
use std::hash::Hasher;

impl<C: 'static, E: 'static> Erased<C, E> {
    /// Erases the type of a protocol whose nodes cannot be copied, compared or hashed.
    ///
    /// The simulator and replay treat such a node like any other. Do not pass it to a checker,
    /// which clones nodes: a clone is a placeholder that ignores every input and emits a note. Set
    /// `is_checkable: false` in the algorithm's profile.
    pub fn new_opaque<P>(node: P) -> Self
    where
        P: HasErasableParts<Command = C, Event = E>,
        WriteOf<P>: ErasableWrite,
    {
        Self { node: Box::new(Opaque(node)) }
    }
}

/// A node that cannot be cloned, compared or hashed.
struct Opaque<P>(P);

impl<P> Node<P::Command, P::Event> for Opaque<P>
where
    P: HasErasableParts<Command: 'static, Event: 'static>,
    WriteOf<P>: ErasableWrite,
{
    fn step(
        &mut self,
        now: Time,
        input: Input<Erased<P::Command, P::Event>>,
        out: &mut Effects<'_, Erased<P::Command, P::Event>>,
    ) {
        step_typed::<P, EraseDurable>(&mut self.0, now, input, out);
    }

    fn uses_end_of_turn(&self) -> bool {
        self.0.uses_end_of_turn()
    }

    fn duplicate(&self) -> Box<dyn Node<P::Command, P::Event>> {
        Box::new(ClonePlaceholder)
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }

    /// An opaque node is equal to itself only, since its state cannot be compared.
    fn equals(&self, other: &dyn Any) -> bool {
        std::ptr::addr_eq(&raw const self.0, std::ptr::from_ref(other))
    }

    /// Adds nothing, because the state cannot be hashed.
    fn hash_into(&self, _hasher: &mut dyn Hasher) {}
}

/// The clone of a node that cannot be cloned.
struct ClonePlaceholder;

impl<C: 'static, E: 'static> Node<C, E> for ClonePlaceholder {
    fn step(&mut self, _now: Time, _input: Input<Erased<C, E>>, out: &mut Effects<'_, Erased<C, E>>) {
        out.note(
            "opaque",
            format_args!("ignores an input: this is a clone, and nodes of this algorithm cannot be cloned"),
        );
    }

    fn uses_end_of_turn(&self) -> bool {
        false
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

    fn hash_into(&self, _hasher: &mut dyn Hasher) {}
}
