//! Membership for the reference explorer: lease expiries, decided views, and notifications of them.

use super::step::StepContext;
use super::{Edge, Obligation, State, TransitionSystem};
use quorate_core::{Epoch, Incarnation, Input, NodeId, Stay, Time, View};
use std::collections::BTreeSet;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lease {
    /// The group has no leases.
    None,
    Valid,
    Expired,
    /// The node has learned of its removal, is down or has restarted.
    Lost,
}

/// A view: its number and its members.
type NumberedView = (u64, BTreeSet<usize>);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Membership {
    latest: NumberedView,
    /// Each pending notification: a view and the node that will receive it.
    pub(super) notifications: BTreeSet<(NumberedView, usize)>,
}

impl Membership {
    /// The first view, with all nodes.
    pub(super) fn founding(nodes: usize) -> Self {
        Self { latest: (1, (0..nodes).collect()), notifications: BTreeSet::new() }
    }

    pub(super) fn view(&self) -> View {
        to_view(&self.latest)
    }

    pub(super) fn has_member(&self, node: usize) -> bool {
        self.latest.1.contains(&node)
    }
}

fn to_view((epoch, members): &NumberedView) -> View {
    // Nodes are never re-admitted, so every stay began in the first view.
    let stay = Stay { incarnation: Incarnation::FIRST, since: Epoch(1) };
    View::new(Epoch(*epoch), members.iter().map(|node| (NodeId::from_index(*node), stay)))
}

impl State {
    /// Whether the membership must remove a node: a member that is down or has no valid lease.
    fn must_be_removed(&self, node: usize) -> bool {
        let is_inactive = self.nodes[node].protocol.is_none() || self.nodes[node].lease != Lease::Valid;
        is_inactive && self.membership.as_ref().is_some_and(|membership| membership.has_member(node))
    }

    /// Whether a crash of a node would use up a view change: whether it is a member with a valid
    /// lease.
    pub(super) fn crash_costs_view_change(&self, node: usize) -> bool {
        self.membership.as_ref().is_some_and(|membership| membership.has_member(node))
            && self.nodes[node].lease == Lease::Valid
    }

    pub(super) fn membership_obligations(&self) -> Vec<Obligation> {
        let Some(membership) = &self.membership else { return vec![] };
        let notify =
            membership.notifications.iter().map(|((epoch, _), to)| Obligation::Notify { epoch: *epoch, node: *to });
        notify
            .chain(
                (0..self.nodes.len())
                    .filter(|node| self.must_be_removed(*node))
                    .map(|node| Obligation::DecideViewWithout { node }),
            )
            .collect()
    }
}

impl TransitionSystem {
    pub(super) fn add_lease_edges(&mut self, state: &State, node: usize, edges: &mut Vec<Edge>) {
        let is_member = state.membership.as_ref().is_some_and(|membership| membership.has_member(node));
        let lease = state.nodes[node].lease;
        if is_member && lease == Lease::Valid && state.budgets.view_changes > 0 {
            edges.push(self.make_fault_edge(state, node, |context| {
                context.state.budgets.view_changes -= 1;
                context.set_lease(Lease::Expired, Time::ZERO);
            }));
        }
        if is_member && lease == Lease::Expired {
            edges.push(self.make_regular_edge(state, node, |context| context.set_lease(Lease::Valid, Time::NEVER)));
        }
    }

    /// Adds the transitions that decide views and notify nodes of them.
    pub(super) fn add_membership_edges(&mut self, state: &State, edges: &mut Vec<Edge>) {
        let (Some(membership), Some(views)) = (&state.membership, self.bounds.setup.views) else { return };
        for node in membership.latest.1.clone() {
            let must_be_removed = state.must_be_removed(node);
            let may_be_removed_early = !views.waits_for_leases && state.budgets.view_changes > 0;
            if must_be_removed || may_be_removed_early {
                edges.push(self.make_edge(state, node, must_be_removed, |context| {
                    // The crash or the lease expiry has already paid for a required removal.
                    context.state.budgets.view_changes -= u8::from(!must_be_removed);
                    context.met_obligations.push(Obligation::DecideViewWithout { node });
                    context.decide_view_without(node);
                }));
            }
        }
        for (view, to) in membership.notifications.clone() {
            edges.push(self.make_regular_edge(state, to, |context| {
                context.met_obligations.push(Obligation::Notify { epoch: view.0, node: to });
                context.receive_view(&view);
            }));
        }
    }
}

impl StepContext<'_> {
    fn set_lease(&mut self, lease: Lease, until: Time) {
        self.node_mut().lease = lease;
        self.step(Input::Lease(until));
    }

    fn decide_view_without(&mut self, removed: usize) {
        let may_return = self.state.budgets.restarts > 0;
        let can_receive = |(_, node): &(usize, &Rc<super::Node>)| may_return || node.protocol.is_some();
        let receivers: Vec<usize> =
            self.state.nodes.iter().enumerate().filter(can_receive).map(|(node, _)| node).collect();
        let membership = self.state.membership.as_mut().unwrap();
        let (epoch, members) = &mut membership.latest;
        *epoch += 1;
        members.remove(&removed);
        membership.notifications.extend(receivers.into_iter().map(|to| (membership.latest.clone(), to)));
    }

    fn receive_view(&mut self, numbered_view: &NumberedView) {
        let to = self.node;
        self.state.membership.as_mut().unwrap().notifications.remove(&(numbered_view.clone(), to));
        if self.node_mut().protocol.is_none() {
            return;
        }
        if !numbered_view.1.contains(&to) || self.node_mut().incarnation != Incarnation::FIRST {
            self.node_mut().lease = Lease::Lost;
        }
        self.step(Input::View(to_view(numbered_view)));
    }
}
