//! Who is in: leases that end, views that are decided, and nodes that are told of them.

use super::step::Doing;
use super::{Debt, Edge, State, World};
use quorate_core::{Epoch, Incarnation, Input, NodeId, Stay, Time, View};
use std::collections::BTreeSet;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lease {
    /// Nobody has any.
    None,
    Valid,
    Ended,
    /// It is out, or down, or back from the dead.
    Lost,
}

/// A view by its number and its members.
type Named = (u64, BTreeSet<usize>);

/// The latest view, and who has yet to be told of it and of those before.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Club {
    latest: Named,
    pub(super) news: BTreeSet<(Named, usize)>,
}

impl Club {
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

fn view((epoch, members): &Named) -> View {
    let stay = Stay { incarnation: Incarnation::FIRST, since: Epoch(1) };
    View::new(Epoch(*epoch), members.iter().map(|node| (NodeId::from_index(*node), stay)))
}

impl State {
    /// Whether the group must go on without a node.
    fn is_lost(&self, node: usize) -> bool {
        let gone = self.nodes[node].protocol.is_none() || self.nodes[node].lease != Lease::Valid;
        gone && self.club.as_ref().is_some_and(|club| club.has(node))
    }

    /// Whether a crash of a node would make a view due that nothing else has made due.
    pub(super) fn costs_a_change(&self, node: usize) -> bool {
        self.club.as_ref().is_some_and(|club| club.has(node)) && self.nodes[node].lease == Lease::Valid
    }

    pub(super) fn due_of_club(&self) -> Vec<Debt> {
        let Some(club) = &self.club else { return vec![] };
        let told = club.news.iter().map(|((epoch, _), to)| Debt::Tell(*epoch, *to));
        told.chain((0..self.nodes.len()).filter(|node| self.is_lost(*node)).map(Debt::Decide)).collect()
    }
}

impl World {
    pub(super) fn lease_edges(&mut self, state: &State, node: usize, edges: &mut Vec<Edge>) {
        let is_in = state.club.as_ref().is_some_and(|club| club.has(node));
        let lease = state.nodes[node].lease;
        if is_in && lease == Lease::Valid && state.budgets.changes > 0 {
            edges.push(self.edge(state, node, false, |doing| {
                doing.state.budgets.changes -= 1;
                doing.lease(Lease::Ended, Time::ZERO);
            }));
        }
        if is_in && lease == Lease::Ended {
            edges.push(self.edge(state, node, true, |doing| doing.lease(Lease::Valid, Time::NEVER)));
        }
    }

    /// Views are decided, and nodes are told of them.
    pub(super) fn club_edges(&mut self, state: &State, edges: &mut Vec<Edge>) {
        let (Some(club), Some(terms)) = (&state.club, self.bounds.setup.views) else { return };
        for node in club.latest.1.clone() {
            let lost = state.is_lost(node);
            let rash = !terms.waits && state.budgets.changes > 0;
            if lost || rash {
                edges.push(self.edge(state, node, lost, |doing| {
                    doing.state.budgets.changes -= u8::from(!lost);
                    doing.pays.push(Debt::Decide(node));
                    doing.decide(node);
                }));
            }
        }
        for (named, to) in club.news.clone() {
            edges.push(self.edge(state, to, true, |doing| {
                doing.pays.push(Debt::Tell(named.0, to));
                doing.hear(&named);
            }));
        }
    }
}

impl Doing<'_> {
    fn lease(&mut self, lease: Lease, until: Time) {
        self.at().lease = lease;
        self.step(Input::Lease(until));
    }

    fn decide(&mut self, without: usize) {
        let may_return = self.state.budgets.restarts > 0;
        let there = |(_, node): &(usize, &Rc<super::Node>)| may_return || node.protocol.is_some();
        let there: Vec<usize> = self.state.nodes.iter().enumerate().filter(there).map(|(node, _)| node).collect();
        let club = self.state.club.as_mut().unwrap();
        club.latest.0 += 1;
        club.latest.1.remove(&without);
        club.news.extend(there.into_iter().map(|to| (club.latest.clone(), to)));
    }

    fn hear(&mut self, named: &Named) {
        let to = self.node;
        self.state.club.as_mut().unwrap().news.remove(&(named.clone(), to));
        if self.at().protocol.is_none() {
            return;
        }
        if !named.1.contains(&to) || self.at().life != Incarnation::FIRST {
            self.at().lease = Lease::Lost;
        }
        self.step(Input::View(view(named)));
    }
}
