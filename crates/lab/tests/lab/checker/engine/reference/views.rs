//! Membership: lease expiries, decided views, and notifications of them.

use super::step::StepContext;
use super::{Edge, Obligation, State, World};
use quorate_core::{Epoch, Incarnation, Input, NodeId, Stay, Time, View};
use std::collections::BTreeSet;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lease {
    /// The group has no leases.
    None,
    Valid,
    Ended,
    /// The node was removed, is down or has restarted.
    Lost,
}

/// A view: its number and its members.
type NumberedView = (u64, BTreeSet<usize>);

/// The latest view, and the notifications still to be delivered.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Membership {
    latest: NumberedView,
    pub(super) news: BTreeSet<(NumberedView, usize)>,
}

impl Membership {
    pub(super) fn founding(nodes: usize) -> Self {
        Self { latest: (1, (0..nodes).collect()), news: BTreeSet::new() }
    }

    pub(super) fn view(&self) -> View {
        view(&self.latest)
    }

    pub(super) fn has(&self, node: usize) -> bool {
        self.latest.1.contains(&node)
    }
}

fn view((epoch, members): &NumberedView) -> View {
    let stay = Stay { incarnation: Incarnation::FIRST, since: Epoch(1) };
    View::new(Epoch(*epoch), members.iter().map(|node| (NodeId::from_index(*node), stay)))
}

impl State {
    /// Whether the group must continue without a node.
    fn is_lost(&self, node: usize) -> bool {
        let gone = self.nodes[node].protocol.is_none() || self.nodes[node].lease != Lease::Valid;
        gone && self.membership.as_ref().is_some_and(|membership| membership.has(node))
    }

    /// Whether a crash of a node would require a view change that nothing else requires.
    pub(super) fn costs_a_change(&self, node: usize) -> bool {
        self.membership.as_ref().is_some_and(|membership| membership.has(node))
            && self.nodes[node].lease == Lease::Valid
    }

    pub(super) fn membership_obligations(&self) -> Vec<Obligation> {
        let Some(membership) = &self.membership else { return vec![] };
        let notify = membership.news.iter().map(|((epoch, _), to)| Obligation::Notify(*epoch, *to));
        notify.chain((0..self.nodes.len()).filter(|node| self.is_lost(*node)).map(Obligation::Decide)).collect()
    }
}

impl World {
    pub(super) fn lease_edges(&mut self, state: &State, node: usize, edges: &mut Vec<Edge>) {
        let is_in = state.membership.as_ref().is_some_and(|membership| membership.has(node));
        let lease = state.nodes[node].lease;
        if is_in && lease == Lease::Valid && state.budgets.changes > 0 {
            edges.push(self.edge(state, node, false, |context| {
                context.state.budgets.changes -= 1;
                context.lease(Lease::Ended, Time::ZERO);
            }));
        }
        if is_in && lease == Lease::Ended {
            edges.push(self.edge(state, node, true, |context| context.lease(Lease::Valid, Time::NEVER)));
        }
    }

    /// Adds the transitions that decide views and notify nodes of them.
    pub(super) fn membership_edges(&mut self, state: &State, edges: &mut Vec<Edge>) {
        let (Some(membership), Some(terms)) = (&state.membership, self.bounds.setup.views) else { return };
        for node in membership.latest.1.clone() {
            let lost = state.is_lost(node);
            let impatient = !terms.waits_for_leases && state.budgets.changes > 0;
            if lost || impatient {
                edges.push(self.edge(state, node, lost, |context| {
                    context.state.budgets.changes -= u8::from(!lost);
                    context.meets.push(Obligation::Decide(node));
                    context.decide(node);
                }));
            }
        }
        for (numbered, to) in membership.news.clone() {
            edges.push(self.edge(state, to, true, |context| {
                context.meets.push(Obligation::Notify(numbered.0, to));
                context.receive_view(&numbered);
            }));
        }
    }
}

impl StepContext<'_> {
    fn lease(&mut self, lease: Lease, until: Time) {
        self.at().lease = lease;
        self.step(Input::Lease(until));
    }

    fn decide(&mut self, without: usize) {
        let may_return = self.state.budgets.restarts > 0;
        let there = |(_, node): &(usize, &Rc<super::Node>)| may_return || node.protocol.is_some();
        let there: Vec<usize> = self.state.nodes.iter().enumerate().filter(there).map(|(node, _)| node).collect();
        let membership = self.state.membership.as_mut().unwrap();
        membership.latest.0 += 1;
        membership.latest.1.remove(&without);
        membership.news.extend(there.into_iter().map(|to| (membership.latest.clone(), to)));
    }

    fn receive_view(&mut self, numbered: &NumberedView) {
        let to = self.node;
        self.state.membership.as_mut().unwrap().news.remove(&(numbered.clone(), to));
        if self.at().protocol.is_none() {
            return;
        }
        if !numbered.1.contains(&to) || self.at().life != Incarnation::FIRST {
            self.at().lease = Lease::Lost;
        }
        self.step(Input::View(view(numbered)));
    }
}
