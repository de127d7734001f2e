//! Decides by brute force on the state graph whether a fair run starves a node.

use super::{Bounds, NodeFactory, Obligation, State, TransitionSystem};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

struct StateGraph {
    states: Vec<Rc<State>>,
    /// For each state, its successors with the obligations that the transition meets.
    edges: Vec<Vec<(usize, Vec<Obligation>)>>,
    /// For each state, the obligations of a fair run that are due in it.
    obligations: Vec<Vec<Obligation>>,
}

/// Returns whether a run can end or cycle forever while the same node waits and no obligation
/// remains unmet forever.
pub(crate) fn starves(factory: &NodeFactory, bounds: &Bounds) -> bool {
    assert!(bounds.setup.timing.is_none(), "a time limit makes liveness undecidable");
    let graph = explore_graph(factory, bounds);
    (0..bounds.setup.nodes).any(|node| graph.starves(node))
}

/// Explores all states, with their transitions and obligations.
fn explore_graph(factory: &NodeFactory, bounds: &Bounds) -> StateGraph {
    let mut system = TransitionSystem::new(factory, bounds);
    let mut graph = StateGraph { states: Vec::new(), edges: Vec::new(), obligations: Vec::new() };
    let mut indices: HashMap<Rc<State>, usize> = HashMap::new();
    for state in system.initial_states() {
        let state = Rc::new(state);
        indices.insert(Rc::clone(&state), graph.states.len());
        graph.states.push(state);
    }
    while let Some(state) = graph.states.get(graph.edges.len()).cloned() {
        let mut successors = Vec::new();
        for edge in system.all_edges(&state) {
            let index = *indices.entry(Rc::new(edge.to)).or_insert_with_key(|state| {
                graph.states.push(Rc::clone(state));
                graph.states.len() - 1
            });
            successors.push((index, edge.met_obligations));
        }
        graph.edges.push(successors);
        graph.obligations.push(system.obligations(&state));
    }
    graph
}

impl StateGraph {
    /// Whether a fair run starves this node.
    fn starves(&self, node: usize) -> bool {
        let is_waiting: Vec<bool> = self.states.iter().map(|state| state.is_waiting(node)).collect();
        let can_end_unserved =
            (0..self.states.len()).any(|state| is_waiting[state] && self.obligations[state].is_empty());
        can_end_unserved || self.components(&is_waiting).iter().any(|component| self.is_fair(component))
    }

    /// Whether a run can stay in a component forever, visit all its states again and again, and
    /// meet every obligation that all of them have.
    fn is_fair(&self, component: &BTreeSet<usize>) -> bool {
        let inner_edges =
            component.iter().flat_map(|state| &self.edges[*state]).filter(|(to, _)| component.contains(to));
        if inner_edges.clone().next().is_none() {
            return false;
        }
        let start = *component.first().unwrap();
        let is_permanent =
            |obligation: &&Obligation| component.iter().all(|state| self.obligations[*state].contains(obligation));
        let mut permanent_obligations = self.obligations[start].iter().filter(is_permanent);
        permanent_obligations.all(|obligation| inner_edges.clone().any(|(_, meets)| meets.contains(obligation)))
    }

    /// Returns the strongly connected components of the included states, by Kosaraju's algorithm.
    fn components(&self, included: &[bool]) -> Vec<BTreeSet<usize>> {
        let successors: Vec<Vec<usize>> =
            self.edges.iter().map(|row| row.iter().map(|(to, _)| *to).collect()).collect();
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, row) in successors.iter().enumerate() {
            for to in row {
                predecessors[*to].push(from);
            }
        }
        let mut order = Vec::new();
        let mut unvisited: Vec<bool> = included.to_vec();
        for start in 0..successors.len() {
            post_order(&successors, start, &mut unvisited, &mut order);
        }
        let mut unvisited: Vec<bool> = included.to_vec();
        let mut components = Vec::new();
        for start in order.into_iter().rev() {
            let mut component = Vec::new();
            post_order(&predecessors, start, &mut unvisited, &mut component);
            if !component.is_empty() {
                components.push(component.into_iter().collect());
            }
        }
        components
    }
}

/// Appends the unvisited states reachable from `start` to `order`, in post-order, and marks them as
/// visited.
fn post_order(edges: &[Vec<usize>], start: usize, unvisited: &mut [bool], order: &mut Vec<usize>) {
    if !std::mem::take(&mut unvisited[start]) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((state, next)) = path.last_mut() {
        match edges[*state].get(*next) {
            Some(to) => {
                *next += 1;
                if std::mem::take(&mut unvisited[*to]) {
                    path.push((*to, 0));
                }
            }
            None => {
                order.push(*state);
                path.pop();
            }
        }
    }
}
