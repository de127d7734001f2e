//! An ordered multicast, as the registry knows it.

use crate::registry::Maker;
use quorate_core::NodeId;
use quorate_core::multicast::{Command, Event, Facts, Plan, Several};
use quorate_core::wrap::Viewed;
use quorate_erased::{AnyCodec, Erasable, Erased, ErasedInViews};
use std::sync::Arc;

pub type MulticastNode = Erased<Command, Event>;

/// A node of any ordered multicast, before anything is put around it.
pub type MulticastInViews = ErasedInViews<Command, Event>;

pub struct MulticastEntry {
    pub facts: &'static Facts,
    pub make: Maker<Arc<Plan>, MulticastInViews>,
    pub codec: AnyCodec,
}

impl MulticastEntry {
    /// A node in those of these groups that it is a member of. They never change.
    pub fn several(&self, me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode {
        self.in_each(me, plans, |node| node)
    }

    /// The same in views that the node is told from outside.
    pub fn several_viewed(&self, me: NodeId, plans: &[Arc<Plan>]) -> MulticastNode {
        self.in_each(me, plans, |node| Viewed::new(me, node))
    }

    fn in_each<P>(&self, me: NodeId, plans: &[Arc<Plan>], wrap: impl Fn(MulticastInViews) -> P) -> MulticastNode
    where
        Several<P>: Erasable<Command = Command, Event = Event, Durable = ()>,
    {
        let ours = plans.iter().filter(|plan| plan.members.contains(me));
        Erased::new(Several::new(ours.map(|plan| (plan.id, plan.members.clone(), wrap((self.make)(me, plan))))))
    }
}
