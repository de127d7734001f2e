//! Nodes of any algorithm that can move from one view to the next.
//!
//! The wrappers for views are put around a node *after* its type is erased. So each wrapper is
//! compiled once per family of algorithms, and not once per algorithm.

use crate::diskless::{DisklessSink, step_node};
use crate::erased::{Erasable, EraseDurable, Erased, Eraser, Node, Typed, note_foreign};
use crate::message::{AnyMessage, AnyReport, AnyTimer, ErasablePart};
use quorate_core::membership::LeaseTerms;
use quorate_core::wrap::{InViews, Leased, Viewed};
use quorate_core::{Effects, Group, Input, NodeId, Protocol, Time, View};
use quorate_replica::membership::{Member, Plan};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// A node of any algorithm of the family with these commands and events that supports view changes.
pub struct ErasedInViews<C, E> {
    node: Box<dyn NodeInViews<C, E>>,
}

/// A protocol that supports view changes, and can be erased and checked.
pub trait ErasableInViews: Erasable<Durable = ()> + InViews<Report: ErasablePart> {}

impl<P: Erasable<Durable = ()> + InViews<Report: ErasablePart>> ErasableInViews for P {}

impl<C: 'static, E: 'static> ErasedInViews<C, E> {
    pub fn new<P: ErasableInViews<Command = C, Event = E>>(node: P) -> Self {
        Self { node: Box::new(Typed::<P, EraseDurable>::new(node)) }
    }

    /// Returns the node for a group that never changes.
    pub fn in_fixed_group(self) -> Erased<C, E> {
        Erased { node: self.node }
    }
}

impl<C, E> ErasedInViews<C, E>
where
    C: Clone + Eq + Hash + Send + Sync + 'static,
    E: Leased<C> + 'static,
{
    /// Returns the node `me` in views and with leases that the driver provides.
    pub fn in_views(self, me: NodeId) -> Erased<C, E> {
        Erased::new(Viewed::new(me, self))
    }

    /// Returns the node `me` of a group that keeps its own membership in a replicated log, with
    /// these lease terms and this random seed.
    pub fn with_own_membership(self, me: NodeId, founders: &Group, seed: u64, terms: LeaseTerms) -> Erased<C, E> {
        // A member's replica contains a Raft engine, which cannot be cloned.
        Erased::new_opaque(Member::new(me, self, Plan { terms, ..Plan::new(founders, seed) }))
    }
}

/// A node without its type that supports view changes. The methods are those of [`InViews`].
trait NodeInViews<C: 'static, E: 'static>: Node<C, E> {
    fn duplicate_in_views(&self) -> Box<dyn NodeInViews<C, E>>;
    fn report(&self) -> AnyReport;
    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, AnyReport>,
        out: &mut Effects<'_, Erased<C, E>>,
    );
    fn is_holder(&self) -> bool;
    fn forget(&mut self, me: NodeId, is_released: bool);
    fn lost_event(&self) -> E;
    fn wants_to_leave(&self) -> bool;
    fn handle_renewal(&mut self, now: Time, out: &mut Effects<'_, Erased<C, E>>);
    fn max_queued_commands(&self) -> usize;
    fn refusal_event(&mut self, command: &C) -> Option<E>;
}

/// Forwards to the inner node the methods whose signatures need no conversion of types.
macro_rules! forward_methods {
    ($node:tt, $command:ty, $event:ty) => {
        fn is_holder(&self) -> bool {
            self.$node.is_holder()
        }
        fn forget(&mut self, me: NodeId, is_released: bool) {
            self.$node.forget(me, is_released);
        }
        fn lost_event(&self) -> $event {
            self.$node.lost_event()
        }
        fn wants_to_leave(&self) -> bool {
            self.$node.wants_to_leave()
        }
        fn max_queued_commands(&self) -> usize {
            self.$node.max_queued_commands()
        }
        fn refusal_event(&mut self, command: &$command) -> Option<$event> {
            self.$node.refusal_event(command)
        }
    };
}

impl<P> NodeInViews<P::Command, P::Event> for Typed<P, EraseDurable>
where
    P: ErasableInViews<Command: 'static, Event: 'static>,
{
    fn duplicate_in_views(&self) -> Box<dyn NodeInViews<P::Command, P::Event>> {
        Box::new(Self::new(self.0.clone()))
    }

    fn report(&self) -> AnyReport {
        AnyReport::new(self.0.report())
    }

    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, AnyReport>,
        out: &mut Effects<'_, Erased<P::Command, P::Event>>,
    ) {
        let to_typed = |(node, report): (&NodeId, &AnyReport)| Some((*node, report.as_typed::<P::Report>()?.clone()));
        let typed_reports: BTreeMap<NodeId, P::Report> = reports.iter().filter_map(to_typed).collect();
        if typed_reports.len() < reports.len() {
            note_foreign(out, "report");
        }
        self.0.resume(now, me, view, &typed_reports, &mut Effects::new(&mut Eraser::<_, _, EraseDurable>::new(out)));
    }

    forward_methods!(0, P::Command, P::Event);

    fn handle_renewal(&mut self, now: Time, out: &mut Effects<'_, Erased<P::Command, P::Event>>) {
        self.0.handle_renewal(now, &mut Effects::new(&mut Eraser::<_, _, EraseDurable>::new(out)));
    }
}

impl<C: 'static, E: 'static> Clone for ErasedInViews<C, E> {
    fn clone(&self) -> Self {
        Self { node: self.node.duplicate_in_views() }
    }
}

impl<C: 'static, E: 'static> PartialEq for ErasedInViews<C, E> {
    fn eq(&self, other: &Self) -> bool {
        self.node.equals(other.node.as_any())
    }
}

impl<C: 'static, E: 'static> Eq for ErasedInViews<C, E> {}

impl<C: 'static, E: 'static> Hash for ErasedInViews<C, E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash_into(state);
    }
}

impl<C: 'static, E: 'static> Protocol for ErasedInViews<C, E> {
    type Command = C;
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Event = E;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        step_node(&mut *self.node, now, input, out);
    }

    fn uses_end_of_turn(&self) -> bool {
        self.node.uses_end_of_turn()
    }
}

impl<C: 'static, E: Leased<C> + 'static> InViews for ErasedInViews<C, E> {
    type Report = AnyReport;

    fn report(&self) -> AnyReport {
        self.node.report()
    }

    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, AnyReport>,
        out: &mut Effects<'_, Self>,
    ) {
        self.node.resume(now, me, view, reports, &mut Effects::new(&mut DisklessSink(out)));
    }

    forward_methods!(node, C, E);

    fn handle_renewal(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.node.handle_renewal(now, &mut Effects::new(&mut DisklessSink(out)));
    }
}
