//! Decides by brute force on the state graph whether a fair run starves a node.

use super::{Bounds, Maker, Obligation, State, World};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

struct StateGraph {
    states: Vec<Rc<State>>,
    edges: Vec<Vec<(usize, Vec<Obligation>)>>,
    due: Vec<Vec<Obligation>>,
}

/// Returns whether a run can end or cycle forever while the same node waits and no obligation
/// remains unmet forever.
pub(crate) fn starves(make: &Maker, bounds: &Bounds) -> bool {
    assert!(bounds.setup.timing.is_none(), "a time limit makes liveness undecidable");
    let graph = graph(make, bounds);
    (0..bounds.setup.nodes).any(|node| graph.starves(node))
}

fn graph(make: &Maker, bounds: &Bounds) -> StateGraph {
    let mut world = World::new(make, bounds);
    let mut graph = StateGraph { states: Vec::new(), edges: Vec::new(), due: Vec::new() };
    let mut numbers: HashMap<Rc<State>, usize> = HashMap::new();
    for state in world.initial() {
        let state = Rc::new(state);
        numbers.insert(Rc::clone(&state), graph.states.len());
        graph.states.push(state);
    }
    while let Some(state) = graph.states.get(graph.edges.len()).cloned() {
        let mut row = Vec::new();
        for edge in world.edges(&state) {
            let number = *numbers.entry(Rc::new(edge.to)).or_insert_with_key(|state| {
                graph.states.push(Rc::clone(state));
                graph.states.len() - 1
            });
            row.push((number, edge.meets));
        }
        graph.edges.push(row);
        graph.due.push(world.due(&state));
    }
    graph
}

impl StateGraph {
    fn starves(&self, node: usize) -> bool {
        let waits: Vec<bool> = self.states.iter().map(|state| state.waits(node)).collect();
        let ends = (0..self.states.len()).any(|state| waits[state] && self.due[state].is_empty());
        ends || self.components(&waits).iter().any(|component| self.is_fair(component))
    }

    /// Whether a run that visits all of a component forever, and nothing else, meets all its
    /// obligations.
    fn is_fair(&self, component: &BTreeSet<usize>) -> bool {
        let mut inner = component.iter().flat_map(|state| &self.edges[*state]).filter(|(to, _)| component.contains(to));
        if inner.clone().next().is_none() {
            return false;
        }
        let start = *component.first().unwrap();
        let always = |obligation: &&Obligation| component.iter().all(|state| self.due[*state].contains(obligation));
        let mut owed = self.due[start].iter().filter(always);
        owed.all(|obligation| inner.clone().any(|(_, meets)| meets.contains(obligation))) && inner.next().is_some()
    }

    /// Returns the strongly connected components of the states that count, by Kosaraju's algorithm.
    fn components(&self, counts: &[bool]) -> Vec<BTreeSet<usize>> {
        let forth: Vec<Vec<usize>> = self.edges.iter().map(|row| row.iter().map(|(to, _)| *to).collect()).collect();
        let mut back = vec![Vec::new(); forth.len()];
        for (from, row) in forth.iter().enumerate() {
            for to in row {
                back[*to].push(from);
            }
        }
        let mut order = Vec::new();
        let mut left: Vec<bool> = counts.to_vec();
        for start in 0..forth.len() {
            post_order(&forth, start, &mut left, &mut order);
        }
        let mut left: Vec<bool> = counts.to_vec();
        let mut components = Vec::new();
        for start in order.into_iter().rev() {
            let mut component = Vec::new();
            post_order(&back, start, &mut left, &mut component);
            if !component.is_empty() {
                components.push(component.into_iter().collect());
            }
        }
        components
    }
}

/// Appends the unvisited states reachable from `start` in post-order.
fn post_order(edges: &[Vec<usize>], start: usize, left: &mut [bool], order: &mut Vec<usize>) {
    if !std::mem::take(&mut left[start]) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((state, next)) = path.last_mut() {
        match edges[*state].get(*next) {
            Some(to) => {
                *next += 1;
                if std::mem::take(&mut left[*to]) {
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
