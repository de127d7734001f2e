//! Nodes of any algorithm that can go from one view to the next.
//!
//! What puts a node into views wraps it *after* its type is erased. So each wrapper is compiled once a family, and only the algorithm
//! itself once an algorithm.

use crate::diskless::{Passage, take};
use crate::erased::{Erasable, Erased, Eraser, Node, Packed, Typed, foreign};
use crate::message::{AnyMessage, AnyReport, AnyTimer, ErasablePart};
use quorate_core::membership::Terms;
use quorate_core::wrap::{InViews, Leased, Viewed};
use quorate_core::{Effects, Group, Input, NodeId, Protocol, Time, View};
use quorate_replica::membership::{Member, Plan};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Any algorithm of the family with these commands and events that can go on when its group changes.
pub struct ErasedInViews<C, E> {
    node: Box<dyn NodeInViews<C, E>>,
}

/// A protocol that can go from view to view, and be erased and checked.
pub trait ErasableInViews: Erasable<Durable = ()> + InViews<Report: ErasablePart> {}

impl<P: Erasable<Durable = ()> + InViews<Report: ErasablePart>> ErasableInViews for P {}

impl<C: 'static, E: 'static> ErasedInViews<C, E> {
    pub fn new<P: ErasableInViews<Command = C, Event = E>>(node: P) -> Self {
        Self { node: Box::new(Typed::<P, Packed>::new(node)) }
    }

    /// The node in a group that never changes.
    pub fn bare(self) -> Erased<C, E> {
        Erased { node: self.node }
    }
}

impl<C, E> ErasedInViews<C, E>
where
    C: Clone + Eq + Hash + Send + Sync + 'static,
    E: Leased<C> + 'static,
{
    /// The node `me`, which is told views and leases from outside.
    pub fn viewed(self, me: NodeId) -> Erased<C, E> {
        Erased::new(Viewed::new(me, self))
    }

    /// The node `me` of a group that keeps its membership itself, by a replicated log, on these terms and with this seed.
    pub fn member(self, me: NodeId, founders: &Group, seed: u64, terms: Terms) -> Erased<C, E> {
        Erased::opaque(Member::new(me, self, Plan { terms, ..Plan::new(founders, seed) }))
    }
}

/// A node of any type that can go from view to view.
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
    fn holds(&self) -> bool;
    fn forget(&mut self, me: NodeId, ends: bool);
    fn lost(&self) -> E;
    fn departs(&self) -> bool;
    fn thaw(&mut self, now: Time, out: &mut Effects<'_, Erased<C, E>>);
    fn keeps(&self) -> usize;
    fn refused(&mut self, command: &C) -> Option<E>;
}

/// Passes on to the node inside what has no type to erase.
macro_rules! pass_on {
    ($node:tt, $command:ty, $event:ty) => {
        fn holds(&self) -> bool {
            self.$node.holds()
        }
        fn forget(&mut self, me: NodeId, ends: bool) {
            self.$node.forget(me, ends);
        }
        fn lost(&self) -> $event {
            self.$node.lost()
        }
        fn departs(&self) -> bool {
            self.$node.departs()
        }
        fn keeps(&self) -> usize {
            self.$node.keeps()
        }
        fn refused(&mut self, command: &$command) -> Option<$event> {
            self.$node.refused(command)
        }
    };
}

impl<P> NodeInViews<P::Command, P::Event> for Typed<P, Packed>
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
        let typed = |(node, report): (&NodeId, &AnyReport)| Some((*node, report.peek::<P::Report>()?.clone()));
        let known: BTreeMap<NodeId, P::Report> = reports.iter().filter_map(typed).collect();
        if known.len() < reports.len() {
            foreign(out, "report");
        }
        self.0.resume(now, me, view, &known, &mut Effects::new(&mut Eraser::<_, _, Packed>::new(out)));
    }

    pass_on!(0, P::Command, P::Event);

    fn thaw(&mut self, now: Time, out: &mut Effects<'_, Erased<P::Command, P::Event>>) {
        self.0.thaw(now, &mut Effects::new(&mut Eraser::<_, _, Packed>::new(out)));
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
        self.node.feed(state);
    }
}

impl<C: 'static, E: 'static> Protocol for ErasedInViews<C, E> {
    type Command = C;
    type Message = AnyMessage;
    type Timer = AnyTimer;
    type Event = E;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        take(&mut *self.node, now, input, out);
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
        self.node.resume(now, me, view, reports, &mut Effects::new(&mut Passage(out)));
    }

    pass_on!(node, C, E);

    fn thaw(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.node.thaw(now, &mut Effects::new(&mut Passage(out)));
    }
}
